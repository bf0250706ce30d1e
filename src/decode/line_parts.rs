//! Joins lines that a container runtime wrote in parts. Parts of stdout and stderr may alternate, so each stream has
//! its own state.

/// The unfinished line of each output stream.
#[derive(Debug, Default)]
pub(crate) struct LineParts {
    open: [JoinedLine; 2],
}

/// All parts of a line except the last one.
#[derive(Debug, Default)]
pub(crate) struct JoinedLine {
    /// The total length of the parts, in bytes.
    pub(crate) length: usize,
    /// The joined parts. Empty if they exceed the cap.
    pub(crate) text: Vec<u8>,
    /// The number of parts, without the last one.
    pub(crate) count: u64,
    /// True if the parts exceed the cap.
    pub(crate) is_too_long: bool,
}

impl LineParts {
    /// Adds a part. The part may begin inside a UTF-8 character. If the parts of a line together exceed `cap` bytes,
    /// their text is dropped.
    pub(crate) fn add(&mut self, stream: usize, text: &[u8], cap: usize) {
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

    /// Whether a stream has an unfinished line.
    #[must_use]
    pub(crate) fn is_open(&self, stream: usize) -> bool {
        self.open[stream].count > 0
    }

    /// Takes the unfinished line of a stream, if there is one.
    pub(crate) fn take(&mut self, stream: usize) -> Option<JoinedLine> {
        let open = &mut self.open[stream];
        (open.count > 0).then(|| std::mem::take(open))
    }
}
