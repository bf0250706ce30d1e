//! The memory of a block while the block is filled. The memory is reused and grows only as needed, so that little of
//! it must be set to zero.

use std::io::{ErrorKind, Read};

/// The maximum size of one read, in bytes. A new buffer begins with this size: if there are thousands of input files,
/// many may be small.
const MAX_READ: usize = 128 << 10;

/// Fills the start of a block's memory.
pub(super) struct BlockBuffer<'a> {
    /// All memory of the block. Only its first `length` bytes are valid.
    pub(crate) memory: &'a mut Vec<u8>,
    /// The number of valid bytes.
    pub(crate) length: usize,
}

impl BlockBuffer<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[..self.length]
    }

    fn make_room(&mut self, more: usize) {
        let length = self.length + more;
        if self.memory.len() < length {
            self.memory.reserve_exact(length - self.memory.len());
            self.memory.resize(length, 0);
        }
    }

    /// Reserves memory, so that growth to `bytes` bytes does not move the data. The operating system provides the
    /// memory only when it is used.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.memory.reserve_exact(bytes.saturating_sub(self.memory.len()));
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len());
        self.memory[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    pub(crate) fn drop_front(&mut self, bytes: usize) {
        self.memory.copy_within(bytes..self.length, 0);
        self.length -= bytes;
    }

    /// Reads `more` bytes. Returns false if the stream ended before that. A pipe returns few bytes at a time. This
    /// function waits for all bytes, so that the caller searches them only once.
    pub(crate) fn read(&mut self, reader: &mut impl Read, more: usize) -> std::io::Result<bool> {
        let end = self.length + more;
        self.memory.reserve_exact(end.saturating_sub(self.memory.len()));
        while self.length < end {
            let room = (end - self.length).min(MAX_READ);
            if self.memory.len() < self.length + room {
                self.make_room((end - self.length).min(self.length.max(room)));
            }
            match reader.read(&mut self.memory[self.length..][..room]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.length += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
