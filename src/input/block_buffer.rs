//! A block's memory while it is filled. It is used again, so that no more of it is set to zero than a stream needs.

use std::io::{ErrorKind, Read};

/// The most that is read at once, in bytes. That much memory is made ready at first: of thousands of files most may be
/// small.
const AT_ONCE: usize = 128 << 10;

/// The bytes of a block while it is filled: a part of its memory, which is longer.
pub(super) struct BlockBuffer<'a> {
    /// All of it.
    pub memory: &'a mut Vec<u8>,
    /// How much of it is filled, in bytes.
    pub length: usize,
}

impl BlockBuffer<'_> {
    pub fn bytes(&self) -> &[u8] {
        &self.memory[..self.length]
    }

    fn make_room(&mut self, more: usize) {
        let length = self.length + more;
        if self.memory.len() < length {
            self.memory.reserve_exact(length - self.memory.len());
            self.memory.resize(length, 0);
        }
    }

    /// Makes sure that so many bytes fit without moving those that are there. Memory is taken as it is filled.
    pub fn reserve(&mut self, bytes: usize) {
        self.memory.reserve_exact(bytes.saturating_sub(self.memory.len()));
    }

    pub fn append(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len());
        self.memory[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    pub fn drop_front(&mut self, bytes: usize) {
        self.memory.copy_within(bytes..self.length, 0);
        self.length -= bytes;
    }

    /// Reads so many bytes; whether there were as many. Pipes give little at a time. All of it is waited for, so that
    /// what stands there is looked at once.
    pub fn read(&mut self, reader: &mut impl Read, more: usize) -> std::io::Result<bool> {
        let end = self.length + more;
        self.memory.reserve_exact(end.saturating_sub(self.memory.len()));
        while self.length < end {
            let room = (end - self.length).min(AT_ONCE);
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
