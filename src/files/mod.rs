//! Files that people write: YAML with positions, and all errors of a file at once.

pub mod error;
pub(crate) mod partial;
pub(crate) mod yaml;

pub use error::FileError;
pub use error::FileErrors;
pub(crate) use error::{FilePosition, expected};

/// Reads a file of at most `most` bytes. Never reads more, because the file may be endless.
///
/// # Errors
/// The file cannot be read, or is longer than `most`.
pub(crate) fn read_up_to(path: &std::path::Path, most: usize) -> std::io::Result<Vec<u8>> {
    use std::io::Read;

    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(std::io::Error::other(format!("the file is longer than the limit of {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_file_is_read_up_to_the_limit() {
        let error = read_up_to(std::path::Path::new("/dev/zero"), 1_000).expect_err("it has no end");
        assert_eq!(error.to_string(), "the file is longer than the limit of 1000 bytes");
        assert_eq!(read_up_to(std::path::Path::new("/dev/null"), 0).expect("it is empty"), b"");
    }
}
