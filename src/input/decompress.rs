//! Decompresses every byte before damage. The readers of flate2 and zstd lose some of these bytes. If one of their
//! calls finds damage, it returns only an error. The bytes that it decompressed before the damage are lost.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder, InBuffer, Operation as _, OutBuffer};

/// log2 of gzip's largest window in bytes.
const GZIP_WINDOW: u8 = 15;
/// The length of a block header of zstd, in bytes.
const ZSTD_BLOCK_HEADER: usize = 3;

/// The result of one call of a decompressor.
pub(super) struct DecompressStep {
    read: usize,
    written: usize,
    /// Whether a member or a frame has ended.
    ends: io::Result<bool>,
}

/// A compression format. A stream is a sequence of members (gzip) or frames (zstd).
pub(super) trait Decompressor {
    /// Decompresses some of the input. `is_first` is true at the start of a member or frame.
    fn step(&mut self, input: &[u8], output: &mut [u8], is_first: bool) -> DecompressStep;
}

pub(super) struct Gzip(Decompress);

impl Gzip {
    pub(crate) fn new() -> Self {
        Self(Decompress::new_gzip(GZIP_WINDOW))
    }
}

impl Decompressor for Gzip {
    fn step(&mut self, input: &[u8], output: &mut [u8], is_first: bool) -> DecompressStep {
        if is_first {
            *self = Self::new();
        }
        let before = (self.0.total_in(), self.0.total_out());
        let status = self.0.decompress(input, output, FlushDecompress::None);
        let since = |before: u64, now: u64| usize::try_from(now - before).unwrap_or(usize::MAX);
        DecompressStep {
            read: since(before.0, self.0.total_in()),
            written: since(before.1, self.0.total_out()),
            ends: status
                .map(|status| status == Status::StreamEnd)
                .map_err(|error| io::Error::new(ErrorKind::InvalidData, error)),
        }
    }
}

pub(super) struct Zstd {
    decoder: Decoder<'static>,
    /// The number of bytes that the decoder expects next.
    wanted: usize,
}

impl Zstd {
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { decoder: Decoder::new()?, wanted: 0 })
    }

    fn run(&mut self, input: &mut InBuffer<'_>, output: &mut OutBuffer<'_, [u8]>) -> io::Result<bool> {
        self.wanted = self.decoder.run(input, output)?;
        Ok(self.wanted == 0)
    }
}

impl Decompressor for Zstd {
    fn step(&mut self, input: &[u8], output: &mut [u8], is_first: bool) -> DecompressStep {
        if is_first && let Err(error) = self.decoder.reinit() {
            return DecompressStep { read: 0, written: 0, ends: Err(error) };
        }
        // On an error, zstd does not say how much it wrote. So valid output and an error must not come from the same
        // call. Pass at most one zstd block per call. `wanted` also counts the header of the next block, so subtract
        // the length of this header.
        let most = self.wanted.saturating_sub(ZSTD_BLOCK_HEADER).max(1);
        let mut input = InBuffer::around(&input[..most.min(input.len())]);
        let mut output = OutBuffer::around(output);
        let ends = self.run(&mut input, &mut output);
        let (read, written) = if ends.is_ok() { (input.pos(), output.pos()) } else { (0, 0) };
        DecompressStep { read, written, ends }
    }
}

/// A reader of decompressed bytes.
pub(super) struct DecompressedReader<R, P> {
    packed: R,
    decompressor: P,
    /// True if the position is between two members or frames.
    is_between: bool,
    /// An error that is returned after all bytes before it.
    error: Option<io::Error>,
}

impl<R: BufRead, P: Decompressor> DecompressedReader<R, P> {
    pub(crate) fn new(packed: R, decompressor: P) -> Self {
        Self { packed, decompressor, is_between: true, error: None }
    }
}

impl<R: BufRead, P: Decompressor> Read for DecompressedReader<R, P> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        if output.is_empty() {
            return Ok(0);
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        loop {
            let (input, failed) = match self.packed.fill_buf() {
                Ok(input) => (input, None),
                Err(error) => (&[][..], Some(error)),
            };
            let is_end = input.is_empty();
            if is_end && self.is_between {
                return failed.map_or(Ok(0), Err);
            }
            // Even without input, the decompressor may have output that did not fit before.
            let step = self.decompressor.step(input, output, self.is_between);
            self.packed.consume(step.read);
            let error = match step.ends {
                Ok(ends) => {
                    self.is_between = ends;
                    failed
                }
                Err(error) => Some(error),
            };
            if step.written > 0 {
                self.error = error;
                return Ok(step.written);
            }
            if let Some(error) = error {
                return Err(error);
            }
            if is_end && !self.is_between {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::io::Write as _;

    fn text(length: usize) -> Vec<u8> {
        (0..)
            .flat_map(|n: usize| format!("{n:x}-{:x} ", n * 7919 % 65_521).into_bytes())
            .take(length)
            .collect()
    }

    pub(in crate::input) fn gzip(text: &[u8], level: u32) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
        encoder.write_all(text).expect("writes to memory");
        encoder.finish().expect("writes to memory")
    }

    /// Returns the bytes, read a few at a time, and the error after them.
    fn read(packed: &[u8], decompressor: impl Decompressor, at_once: usize) -> (Vec<u8>, Option<ErrorKind>) {
        let mut stream = DecompressedReader::new(packed, decompressor);
        let (mut buffer, mut all) = (vec![0; at_once], Vec::new());
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return (all, None),
                Ok(read) => all.extend_from_slice(&buffer[..read]),
                Err(error) => return (all, Some(error.kind())),
            }
        }
    }

    #[test]
    fn members_and_frames_are_decompressed() {
        let text = text(700_000);
        let (first, second) = text.split_at(400_000);
        let members = [gzip(first, 6), gzip(b"", 6), gzip(second, 0)].concat();
        let frame = |text: &[u8]| zstd::encode_all(text, 3).expect("zstd");
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9];
        let frames = [&*frame(first), &skippable, &frame(b""), &frame(second)].concat();
        for at_once in [1 << 10, 4_099, 128 << 10, 1 << 20] {
            assert!(read(&members, Gzip::new(), at_once) == (text.clone(), None), "gzip, {at_once}");
            let zstd = Zstd::new().expect("memory");
            assert!(read(&frames, zstd, at_once) == (text.clone(), None), "zstd, {at_once}");
        }
    }

    #[test]
    fn every_byte_before_damage_is_decompressed() {
        let text = text(500_000);
        // Stored blocks have a header of 5 bytes, which contains the length twice. The first stored block follows the
        // member's header of 10 bytes.
        let mut stored = gzip(&text, 0);
        let length = |at: usize| usize::from(u16::from_le_bytes([stored[at + 1], stored[at + 2]]));
        let first = length(10);
        let second = first + length(10 + 5 + first);
        stored[10 + 2 * 5 + second + 3] ^= 0xff;
        // zstd stores random bytes in raw blocks of 128 KiB, each after a header of 3 bytes.
        let noise: Vec<u8> =
            (0..400_000_u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        let noise: Vec<u8> =
            noise.iter().zip(&text).map(|(noise, text)| noise.wrapping_mul(31) ^ text).collect();
        let mut frame = zstd::encode_all(&*noise, 1).expect("zstd");
        let raw = memchr::memmem::find(&frame, &noise[..64]).expect("a raw block");
        let third = raw - 3 + 2 * (3 + (128 << 10));
        assert_eq!(frame[third + 3..][..64], noise[256 << 10..][..64], "the third block is raw too");
        frame[third] |= 6;
        for at_once in [1 << 10, 4_099, 128 << 10, 1 << 20] {
            let (read_of, error) = read(&stored, Gzip::new(), at_once);
            assert_eq!((read_of.len(), error), (second, Some(ErrorKind::InvalidData)), "gzip, {at_once}");
            assert!(read_of == text[..second]);
            let (read_of, error) = read(&frame, Zstd::new().expect("memory"), at_once);
            assert_eq!((read_of.len(), error), (256 << 10, Some(ErrorKind::Other)), "zstd, {at_once}");
            assert!(read_of == noise[..256 << 10]);
        }
    }

    #[test]
    fn truncated_stream_yields_its_bytes() {
        let text = text(300_000);
        let stored = gzip(&text, 0);
        let frame = zstd::encode_all(&*text, 1).expect("zstd");
        for at_once in [999, 128 << 10] {
            let (read_of, error) = read(&stored[..10 + 5 + 5_000], Gzip::new(), at_once);
            assert!(error == Some(ErrorKind::UnexpectedEof) && read_of == text[..5_000]);
            assert_eq!(read(&stored[..stored.len() - 1], Gzip::new(), at_once).0.len(), text.len());
            let (read_of, error) = read(&frame[..frame.len() - 1], Zstd::new().expect("memory"), at_once);
            assert_eq!((read_of.len(), error), (256 << 10, Some(ErrorKind::UnexpectedEof)));
        }
        let garbage = [&*stored, b"garbage"].concat();
        assert_eq!(read(&garbage, Gzip::new(), 4_096).1, Some(ErrorKind::InvalidData));
    }

    #[test]
    fn io_error_follows_the_bytes_before_it() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(ErrorKind::PermissionDenied.into())
            }
        }
        let text = text(300_000);
        for (packed, is_gzip) in [(gzip(&text, 0), true), (zstd::encode_all(&*text, 1).expect("zstd"), false)]
        {
            let half = &packed[..packed.len() * 3 / 4];
            let failing = io::BufReader::new(half.chain(Fails));
            let mut stream: Box<dyn Read> = if is_gzip {
                Box::new(DecompressedReader::new(failing, Gzip::new()))
            } else {
                Box::new(DecompressedReader::new(failing, Zstd::new().expect("memory")))
            };
            let (mut buffer, mut all) = (vec![0; 999], 0);
            let error = loop {
                match stream.read(&mut buffer) {
                    Ok(read) => all += read,
                    Err(error) => break error,
                }
            };
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            assert!(all >= 128 << 10, "{all}");
        }
    }
}
