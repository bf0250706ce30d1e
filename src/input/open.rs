//! Opens a source as a stream of decompressed bytes. The first bytes show the compression; the file name does not
//! matter.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::decompress::{DecompressedReader, Gzip, Zstd};

/// The maximum number of bytes that are read from the disk at once.
const READ_SIZE: usize = 256 << 10;

/// The file became shorter while kubetoll read it.
#[derive(Debug, thiserror::Error)]
#[error("the file became shorter while it was read")]
pub(super) struct Shrunk;

impl Shrunk {
    pub(super) fn is(error: &io::Error) -> bool {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()).is_some()
    }
}

/// A stream of decompressed bytes.
pub(super) type Stream = Box<dyn Read + Send>;

/// Opens a file, or standard input. `progress` counts the bytes read before decompression.
///
/// A file is read up to its length at this time. So reading ends even if the log still grows.
///
/// Also returns whether reading includes decompression, which takes time.
pub(super) fn open(path: Option<&Path>, progress: Arc<AtomicU64>) -> io::Result<(Stream, bool)> {
    let raw: Stream = match path {
        Some(path) => {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            // Virtual files of the kernel (/proc) have length 0.
            match metadata.len() {
                length if metadata.is_file() && length > 0 => Box::new(SizedFile { file, left: length }),
                _ => Box::new(file),
            }
        }
        None => Box::new(io::stdin()),
    };
    decompressed(CountingReader { inner: raw, count: progress })
}

/// Reads and decompresses a whole file. Returns `None` if it has more than `most` bytes after decompression.
///
/// # Errors
/// The file can't be read or decompressed.
pub(crate) fn read_whole(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    open(Some(path), Arc::default())?.0.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// A file up to the length that it had when it was opened.
struct SizedFile {
    file: File,
    left: u64,
}

impl Read for SizedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.by_ref().take(self.left).read(buffer)?;
        if n == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::Error::other(Shrunk));
        }
        self.left -= n as u64;
        Ok(n)
    }
}

/// Detects gzip (any number of members) and zstd (any number of frames), and decompresses them.
fn decompressed(mut raw: impl Read + Send + 'static) -> io::Result<(Stream, bool)> {
    let mut magic = Vec::with_capacity(4);
    raw.by_ref().take(4).read_to_end(&mut magic)?;
    let gzip = magic.starts_with(&[0x1f, 0x8b]);
    let zstd = magic == [0x28, 0xb5, 0x2f, 0xfd]
        || (magic.len() == 4 && (0x50..=0x5f).contains(&magic[0]) && magic[1..] == [0x2a, 0x4d, 0x18]);
    let stream = Cursor::new(magic).chain(raw);
    let packed = |stream| BufReader::with_capacity(READ_SIZE, stream);
    let bytes: Stream = if gzip {
        Box::new(DecompressedReader::new(packed(stream), Gzip::new()))
    } else if zstd {
        Box::new(DecompressedReader::new(packed(stream), Zstd::new()?))
    } else {
        Box::new(stream)
    };
    Ok((bytes, gzip || zstd))
}

struct CountingReader<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decompress::tests::gzip;
    use super::*;
    use std::io::Write;

    fn read(bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        decompressed(Cursor::new(bytes))?.0.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn file_is_read_up_to_its_length_when_opened() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(b"0123456789").expect("writes");
        let (mut stream, _) = open(Some(file.path()), Arc::default()).expect("opens");
        file.write_all(b"more").expect("writes");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("reads");
        assert_eq!(text, "0123456789");
        let (mut stream, _) = open(Some(file.path()), Arc::default()).expect("opens");
        file.as_file().set_len(6).expect("shrinks");
        let error = stream.read_to_string(&mut text).expect_err("it shrank");
        assert!(Shrunk::is(&error));
    }

    #[test]
    fn damaged_stream_yields_the_same_bytes_for_any_read_size() {
        struct Trickle(Cursor<Vec<u8>>, usize);
        impl Read for Trickle {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let most = buffer.len().min(self.1);
                self.0.read(&mut buffer[..most])
            }
        }
        let text = (0..200_000).fold(String::new(), |text, n| text + &n.to_string() + " ");
        let mut damaged = gzip(text.as_bytes(), 1);
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0xff);
        let read = |step| {
            let (mut stream, _) =
                decompressed(Trickle(Cursor::new(damaged.clone()), step)).expect("a stream");
            let (mut buffer, mut all) = (vec![0; 128 << 10], 0);
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                all += read;
            }
            all
        };
        let whole = read(usize::MAX);
        assert!(whole > 100_000, "{whole}");
        for step in [1_000, 4_097, 30_000, 65_536] {
            assert_eq!(read(step), whole, "{step}");
        }
    }

    #[test]
    fn compression_is_detected_from_the_first_bytes() {
        assert_eq!(read(b"plain".to_vec()).expect("plain"), "plain");
        assert_eq!(read(Vec::new()).expect("empty"), "");
        assert_eq!(read(b"\x1f".to_vec()).expect("short"), "\u{1f}");
        let members = [gzip(b"one ", 1), gzip(b"two", 1)].concat();
        assert_eq!(read(members).expect("gzip"), "one two");
        let frame = |text: &str| zstd::encode_all(text.as_bytes(), 1).expect("zstd");
        assert_eq!(read([frame("one "), frame("two")].concat()).expect("zstd"), "one two");
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9];
        assert_eq!(read([skippable.to_vec(), frame("x")].concat()).expect("skippable"), "x");
    }
}
