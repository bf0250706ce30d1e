//! The clients of the last events, by the text that tells of them: of most events it was read before, to the letter,
//! and comparing it takes a tenth of reading it.
//!
//! The naive twin is reading: an equal text has equal fields.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::objects::ClientFields;
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
    /// Where the texts of its clients begin to differ, if several are known.
    differ: Option<usize>,
    /// The text of one of them.
    text: Vec<u8>,
}

/// A client.
#[derive(Debug, Default, Clone)]
struct Known {
    /// By this it has its slot.
    hash: u64,
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
        let known = self.known.get(slot_of(self.hash(hash, rest), &self.known));
        if let Some(known) = known.filter(|known| !known.text.is_empty() && rest.starts_with(&known.text)) {
            scan.back_to(start as usize + known.text.len());
            return Some((known.fields.moved(start), known.name));
        }
        scan.back_to(start as usize);
        let fields = read(scan)?;
        let length = scan.at() - start as usize;
        if length <= MAX_TEXT {
            self.remember(hash, rest, length, fields.moved(start.wrapping_neg()));
        }
        Some((fields, None))
    }

    /// The hash of a client, by what follows where those of its user differ. `rest` begins with its text.
    fn hash(&self, hash: u64, rest: &[u8]) -> u64 {
        let user = self.users.get(slot_of(hash, &self.users));
        let differ = user.and_then(|user| user.differ.filter(|_| user.hash == hash));
        let apart = differ.and_then(|at| rest.get(at..)).unwrap_or_default();
        let mut hasher = FxHasher::default();
        hasher.write_u64(hash);
        hasher.write(&apart[..apart.len().min(LOOK)]);
        hasher.finish()
    }

    /// Keeps what was read of the first so many bytes.
    fn remember(&mut self, hash: u64, rest: &[u8], length: usize, fields: ClientFields) {
        self.grow();
        let text = &rest[..length];
        let slot = slot_of(hash, &self.users);
        let user = &mut self.users[slot];
        if user.hash != hash {
            user.hash = hash;
            user.differ = None;
            user.text.clear();
            user.text.extend_from_slice(text);
        } else if user.text != text {
            let same = user.text.iter().zip(text).take_while(|(own, other)| own == other).count();
            user.differ = Some(user.differ.map_or(same, |before| before.min(same)));
        }
        let hash = self.hash(hash, rest);
        let slot = slot_of(hash, &self.known);
        let known = &mut self.known[slot];
        known.hash = hash;
        known.text.clear();
        known.text.extend_from_slice(text);
        known.fields = fields;
        known.name = Some(ClientText::another());
    }

    /// Makes room where a quarter as many slots were filled as there are: few must share one.
    fn grow(&mut self) {
        self.filled += 1;
        if 4 * self.filled > self.known.len() && self.known.len() < SLOTS {
            let slots = (4 * self.known.len()).max(FIRST_SLOTS);
            self.known = spread(&mut self.known, slots, |known| known.hash);
            self.users = spread(&mut self.users, slots, |user| user.hash);
        }
    }
}

/// The slot that a hash chooses of a power of two.
fn slot_of<T>(hash: u64, slots: &[T]) -> usize {
    (hash >> 20) as usize & slots.len().saturating_sub(1)
}

/// The same in more slots.
fn spread<T: Default + Clone>(old: &mut Vec<T>, slots: usize, hash: impl Fn(&T) -> u64) -> Vec<T> {
    let mut new = vec![T::default(); slots];
    for entry in old.drain(..) {
        let slot = slot_of(hash(&entry), &new);
        new[slot] = entry;
    }
    new
}

/// A hash of the user's name, which is taken.
fn user_hash(scan: &mut Scan<'_>) -> Option<u64> {
    let name = scan.string_behind(START)?;
    let mut hasher = FxHasher::default();
    hasher.write(scan.bytes(name));
    Some(hasher.finish() | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(user: u32, pod: u32, request: u32) -> String {
        format!(
            r#","user":{{"username":"system:serviceaccount:a:{user}","uid":"u","extra":{{"id":["{pod:05}-x"]}}}},"userAgent":"a","objectRef":{{"name":"{request:09}"}}"#
        )
    }

    fn is_read(recent: &mut RecentClients, text: &str) -> bool {
        let mut was_read = false;
        let mut scan = Scan::new(text).expect("a short text");
        let taken = recent.take(&mut scan, |scan| {
            was_read = true;
            scan.back_to(text.find(",\"objectRef\"").expect("it is there"));
            Some(ClientFields::default())
        });
        assert!(taken.is_some());
        assert_eq!(&text[scan.at()..scan.at() + 12], ",\"objectRef\"");
        was_read
    }

    #[test]
    fn most_clients_are_read_once() {
        let mut recent = RecentClients::default();
        let read = |recent: &mut RecentClients, round: u32| {
            let events = (0..10).flat_map(|user| (0..60).map(move |pod| (user, pod)));
            let again = events.filter(|(user, pod)| is_read(recent, &event(*user, *pod, round * pod)));
            again.count()
        };
        let mut reads = Vec::new();
        for round in 0..6 {
            reads.push(read(&mut recent, round));
        }
        // 600 clients in 4,096 slots: some share one.
        assert!(reads[0] == 600 && reads[5] < 150, "{reads:?}");
    }
}
