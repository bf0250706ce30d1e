//! Tracks which lines of a container's output continue in a later line. It looks only at the bytes of the lines. Both
//! the code that cuts blocks and the code that joins parts depend on it. If their results differed, the report would
//! depend on the block size.

use super::envelope::{cri, docker};

/// An unfinished line must continue within this number of lines. Lines of the other output stream count too.
const LINES_BACK: usize = 256;

/// The output streams whose last line is unfinished.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnfinishedLines {
    /// For each stream: how many lines ago its unfinished line was. It is 1 for the last line, and 0 if the stream has
    /// no unfinished line.
    since: [usize; 2],
}

impl UnfinishedLines {
    /// Records the next line. A line that no container runtime wrote ends all unfinished lines.
    pub(crate) fn line(&mut self, line: &[u8]) {
        let Some((stream, is_unfinished)) = part_of(line) else {
            *self = Self::default();
            return;
        };
        for since in &mut self.since {
            *since = if (1..LINES_BACK).contains(since) { *since + 1 } else { 0 };
        }
        self.since[stream] = usize::from(is_unfinished);
    }

    #[must_use]
    pub(crate) fn is_open(self, stream: usize) -> bool {
        self.since[stream] > 0
    }
}

/// Whether an output stream has an unfinished line at the end of a text. Passing each line of the text to an
/// [`UnfinishedLines`] gives the same result.
#[must_use]
pub(crate) fn ends_unfinished(body: &[u8]) -> bool {
    let mut seen = [false; 2];
    let mut end = body.len();
    for _ in 0..LINES_BACK {
        let start = memchr::memrchr(b'\n', &body[..end]).map_or(0, |feed| feed + 1);
        match part_of(&body[start..end]) {
            Some((stream, true)) if !seen[stream] => return true,
            Some((stream, _)) => seen[stream] = true,
            None => return false,
        }
        if start == 0 || seen == [true; 2] {
            return false;
        }
        end = start - 1;
    }
    false
}

/// The output stream of a container runtime's line, and whether the line is unfinished.
fn part_of(line: &[u8]) -> Option<(usize, bool)> {
    match line.first()? {
        b'{' => docker::part_of(line),
        byte if byte.is_ascii_digit() => cri::part_of(line),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(kind: u8) -> String {
        let cri = |stream: &str, tag: &str| format!("2026-01-01T00:00:00Z {stream} {tag} x\n");
        let docker = |text: &str, stream: &str| {
            format!("{{\"log\":\"{text}\",\"stream\":\"{stream}\",\"time\":\"2026-01-01T00:00:00Z\"}}\n")
        };
        match kind {
            0 => cri("stdout", "P"),
            1 => cri("stdout", "F"),
            2 => cri("stderr", "P"),
            3 => cri("stderr", "F"),
            4 => docker(&"x".repeat(16 << 10), "stdout"),
            5 => docker("x\\n", "stdout"),
            6 => docker(&"x".repeat(16 << 10), "stderr"),
            7 => docker("x\\n", "stderr"),
            8 => "{}\n".to_owned(),
            _ => "hello\n".to_owned(),
        }
    }

    proptest! {
        #[test]
        fn ends_unfinished_matches_unfinished_lines(
            kinds in prop::collection::vec(prop_oneof![0_u8..4, 0_u8..10], 0..12),
            repeat in prop_oneof![Just(1_usize), 250_usize..260],
        ) {
            let (mut unfinished, mut text) = (UnfinishedLines::default(), String::new());
            for kind in kinds {
                for _ in 0..if kind == 3 { repeat } else { 1 } {
                    let line = line(kind);
                    unfinished.line(line.trim_end().as_bytes());
                    text += &line;
                    let open = unfinished.is_open(0) || unfinished.is_open(1);
                    prop_assert_eq!(ends_unfinished(text.trim_end().as_bytes()), open);
                }
            }
        }
    }
}
