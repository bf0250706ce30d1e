//! Lines that a container runtime wrote in parts, put together again: by their output stream, as the parts of two
//! may alternate.

/// The parts of the lines at hand, by output stream.
#[derive(Debug, Default)]
pub struct LineParts {
    open: [PendingLine; 2],
}

#[derive(Debug, Default)]
struct PendingLine {
    text: Vec<u8>,
    length: usize,
    count: u64,
    is_too_long: bool,
}

/// A line that came in parts.
#[derive(Debug, Default)]
pub struct JoinedLine {
    /// How long the parts are together, in bytes.
    pub length: usize,
    /// The parts before the last one, put together; empty if they were longer than the cap.
    pub text: Vec<u8>,
    /// How many parts there were before the last one.
    pub count: u64,
    /// They were longer than the cap.
    pub is_too_long: bool,
}

impl LineParts {
    /// Keeps a part that another goes on, which may begin in the middle of a letter. All parts of a line together may be as long as `cap` bytes.
    pub fn add(&mut self, stream: usize, text: &[u8], cap: usize) {
        let open = &mut self.open[stream];
        open.count += 1;
        open.length += text.len();
        if open.text.len() + text.len() > cap {
            open.is_too_long = true;
            open.text = Vec::new();
        }
        if !open.is_too_long {
            open.text.extend_from_slice(text);
        }
    }

    /// Whether there are parts of a line of which the last one has not come.
    #[must_use]
    pub fn is_open(&self, stream: usize) -> bool {
        self.open[stream].count > 0
    }

    /// The parts of a line of which the last one has come, if there are any.
    pub fn take(&mut self, stream: usize) -> Option<JoinedLine> {
        let open = &mut self.open[stream];
        (open.count > 0).then(|| {
            let PendingLine { text, length, count, is_too_long } = std::mem::take(open);
            JoinedLine { length, text, count, is_too_long }
        })
    }
}
