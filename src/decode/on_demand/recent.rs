//! The clients of the last events, by the text that tells of them: of most events it was read before, to the letter,
//! and comparing it takes a tenth of reading it.
//!
//! The naive twin is reading: an equal text has equal fields.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::fields::ClientFields;
use super::scan::Scan;
use crate::k8s::event::ClientText;

/// How many are remembered at first, and at most.
const FIRST_SLOTS: usize = 1 << 4;
const SLOTS: usize = 1 << 12;
/// Longer texts are not remembered, in bytes.
const MAX_TEXT: usize = 1 << 10;
/// How much is looked at to tell apart the clients of one user, in bytes.
const LOOK: usize = 16;
/// What all begin with.
const START: &[u8] = br#","user":{"username":""#;

/// The clients of the last events.
#[derive(Debug, Default)]
pub struct RecentClients {
    /// By a hash of the user's name.
    users: Vec<User>,
    /// By a hash of the user's name and of what tells its clients apart.
    known: Vec<Known>,
    /// How often a slot was filled.
    filled: usize,
}

/// A user, of whom several clients may be known: the pods of one ServiceAccount.
#[derive(Debug, Default, Clone)]
struct User {
    hash: u64,
    /// Where the texts of its clients differ: at this offset or before it.
    differ: usize,
    /// The text of one of them.
    text: Vec<u8>,
}

/// A client.
#[derive(Debug, Default, Clone)]
struct Known {
    text: Vec<u8>,
    /// Its fields, by their places in the text.
    fields: ClientFields,
    name: Option<ClientText>,
}

impl RecentClients {
    /// Takes what tells of the client with `read`, or passes over it where the same was read before.
    pub(super) fn take(
        &mut self,
        scan: &mut Scan<'_>,
        read: impl FnOnce(&mut Scan<'_>) -> Option<ClientFields>,
    ) -> Option<(ClientFields, Option<ClientText>)> {
        let (start, rest) = (scan.mark(), scan.rest());
        let Some(hash) = user_hash(scan) else { return read(scan).map(|fields| (fields, None)) };
        let known = self.slot(hash, rest).map(|slot| &self.known[slot]);
        if let Some(known) = known.filter(|known| !known.text.is_empty() && rest.starts_with(&known.text)) {
            scan.back_to(start as usize + known.text.len());
            return Some((known.fields.moved(start), known.name));
        }
        scan.back_to(start as usize);
        let fields = read(scan)?;
        let text = &rest[..scan.at() - start as usize];
        if text.len() <= MAX_TEXT {
            self.remember(hash, text, fields.moved(start.wrapping_neg()));
        }
        Some((fields, None))
    }

    /// The slot of a client, by what follows where those of its user differ.
    fn slot(&self, hash: u64, text: &[u8]) -> Option<usize> {
        let user = self.users.get(hash as usize & self.users.len().checked_sub(1)?)?;
        let apart = if user.hash == hash { text.get(user.differ..).unwrap_or_default() } else { &[] };
        let mut hasher = FxHasher::default();
        hasher.write_u64(hash);
        hasher.write(&apart[..apart.len().min(LOOK)]);
        Some((hasher.finish() >> 20) as usize & (self.known.len() - 1))
    }

    fn remember(&mut self, hash: u64, text: &[u8], fields: ClientFields) {
        self.grow();
        let last = self.users.len() - 1;
        let user = &mut self.users[hash as usize & last];
        if user.hash == hash {
            let same = user.text.iter().zip(text).take_while(|(own, other)| own == other).count();
            user.differ = user.differ.min(same);
        } else {
            user.hash = hash;
            user.differ = text.len();
            user.text.clear();
            user.text.extend_from_slice(text);
        }
        if let Some(slot) = self.slot(hash, text) {
            let known = &mut self.known[slot];
            known.text.clear();
            known.text.extend_from_slice(text);
            known.fields = fields;
            known.name = Some(ClientText::another());
        }
    }

    /// Makes room where as many slots were filled as there are, and forgets what they held.
    fn grow(&mut self) {
        self.filled += 1;
        if self.filled > self.known.len() && self.known.len() < SLOTS {
            let slots = (2 * self.known.len()).max(FIRST_SLOTS);
            self.known = vec![Known::default(); slots];
            self.users = vec![User::default(); slots];
            self.filled = 1;
        }
    }
}

/// A hash of the user's name, which is taken.
fn user_hash(scan: &mut Scan<'_>) -> Option<u64> {
    let name = scan.string_behind(START)?;
    let mut hasher = FxHasher::default();
    hasher.write(scan.bytes(name));
    Some(hasher.finish() | 1)
}
