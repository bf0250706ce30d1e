//! A file in blocks of whole lines.

use std::io::Read;

use anyhow::bail;

/// How much is read at once, in bytes. A longer line makes the block larger.
pub const SIZE: usize = 1 << 20;

/// Gives each block of whole lines; how many bytes there were.
pub fn each(mut from: impl Read, mut take: impl FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<u64> {
    let mut buffer = vec![0; SIZE];
    // The number of bytes in the buffer that begin an incomplete line.
    let mut kept = 0;
    let mut passed = 0;
    loop {
        if kept == buffer.len() {
            buffer.resize(kept * 2, 0);
        }
        let length = from.read(&mut buffer[kept..])?;
        if length == 0 {
            if kept > 0 {
                bail!("the last line has no line feed");
            }
            return Ok(passed);
        }
        passed += length as u64;
        let end = kept + length;
        match memchr::memrchr(b'\n', &buffer[kept..end]) {
            None => kept = end,
            Some(at) => {
                let whole = kept + at + 1;
                take(&buffer[..whole])?;
                buffer.copy_within(whole..end, 0);
                kept = end - whole;
            }
        }
    }
}

/// Gives each line without its line feed; how many bytes there were.
pub fn each_line(from: impl Read, mut take: impl FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<u64> {
    each(from, |block| {
        let mut begin = 0;
        for end in memchr::memchr_iter(b'\n', block) {
            take(&block[begin..end])?;
            begin = end + 1;
        }
        Ok(())
    })
}
