//! Caches the clients of recent events, keyed by the raw JSON of `user` through `userAgent`. Most events repeat this
//! text exactly. Comparing the text takes a tenth of the time of parsing it.
//!
//! Tests compare the cache with the parser: equal texts have equal fields.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::cursor::JsonCursor;
use super::objects::ClientFields;
use crate::cache::Cache;
use crate::k8s::event::CallerId;

/// In bytes. Longer texts are not cached.
const MAX_TEXT: usize = 1 << 10;
/// The number of bytes that distinguish the clients of one user. These bytes begin where the texts of the clients
/// first differ.
const DISTINGUISHING_BYTES: usize = 16;
/// The start of every cached text.
const START: &[u8] = br#","user":{"username":""#;

/// Caches the clients of recent events.
#[derive(Debug, Default)]
pub struct CachedCallers {
    /// The users, by a hash of the user name.
    users: Cache<CachedUser>,
    /// The clients, by a hash of the user name and the bytes that distinguish the user's clients.
    callers: Cache<CachedCaller>,
}

/// A user, who may have several clients: for example, all pods with one ServiceAccount.
#[derive(Debug, Default, Clone)]
struct CachedUser {
    /// The first offset at which the texts of the user's clients differ. `None` if only one client is cached.
    first_difference: Option<usize>,
    /// The text of one of the user's clients. The texts of other clients are compared with it to find
    /// `first_difference`.
    text: String,
}

#[derive(Debug, Default, Clone)]
struct CachedCaller {
    text: String,
    /// The positions of the fields in `text`.
    client: ClientFields,
    id: Option<CallerId>,
    /// Annotations from one of the client's requests. kubetoll does not need them, and skips equal annotations of
    /// later requests without parsing them. Empty if none are cached.
    annotations: Vec<u8>,
}

/// The slot of a client that is cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallerSlot {
    index: usize,
    pub(super) id: CallerId,
}

impl CachedCallers {
    /// Returns the client at the cursor, and moves the cursor past it. Parses the client if it is not cached;
    /// otherwise also returns its slot.
    pub(super) fn pass(&mut self, cursor: &mut JsonCursor<'_>) -> Option<(ClientFields, Option<CallerSlot>)> {
        let (start, rest) = (cursor.mark(), cursor.rest());
        let Some(hash) = user_hash(cursor) else { return Some((ClientFields::take(cursor)?, None)) };
        let key = self.hash(hash, rest);
        if let Some(index) = self.callers.slot(key)
            && let cached = self.callers.at(index)
            && let Some(id) = cached.id
            && rest.starts_with(cached.text.as_bytes())
        {
            cursor.back_to(start as usize + cached.text.len());
            return Some((cached.client.moved(start), Some(CallerSlot { index, id })));
        }
        cursor.back_to(start as usize);
        let client = ClientFields::take(cursor)?;
        let text = cursor.since(start);
        if text.len() <= MAX_TEXT
            && !client.has_escapes()
            && let Ok(text) = std::str::from_utf8(text)
        {
            self.insert(hash, rest, text, client.moved(start.wrapping_neg()));
        }
        Some((client, None))
    }

    /// Moves the cursor over the annotations if they equal the client's cached annotations. Returns whether they are
    /// equal.
    pub(super) fn skips_annotations(&self, slot: Option<CallerSlot>, cursor: &mut JsonCursor<'_>) -> bool {
        let Some(CallerSlot { index, .. }) = slot else { return false };
        let same = &self.callers.at(index).annotations;
        !same.is_empty() && cursor.take_literal(same)
    }

    /// Caches annotations that contain nothing that kubetoll needs. Later events with the same annotations are then
    /// faster.
    pub(super) fn keep_annotations(&mut self, slot: Option<CallerSlot>, text: &[u8]) {
        if let Some(CallerSlot { index, .. }) = slot.filter(|_| text.len() <= MAX_TEXT) {
            let own = &mut self.callers.at_mut(index).annotations;
            own.clear();
            own.extend_from_slice(text);
        }
    }

    /// Returns the key of a client. Many clients can have the same user name, so the hash of
    /// the user name (`hash`) is not enough. The result also covers a few bytes of `rest`, the text of the event from
    /// the client on. These bytes begin at the first offset where the texts of the user's clients differ.
    fn hash(&mut self, hash: u64, rest: &[u8]) -> u64 {
        let user = self.users.slot(hash).map(|slot| self.users.at(slot));
        let first_difference = user.and_then(|user| user.first_difference);
        let distinguishing = first_difference.and_then(|at| rest.get(at..)).unwrap_or_default();
        let mut hasher = FxHasher::default();
        hasher.write_u64(hash);
        hasher.write(&distinguishing[..distinguishing.len().min(DISTINGUISHING_BYTES)]);
        hasher.finish()
    }

    /// Adds a parsed client to the cache. `hash` is the hash of the user name, and `text` is the client's text.
    /// `rest` is the text of the event from the client on.
    fn insert(&mut self, hash: u64, rest: &[u8], text: &str, client: ClientFields) {
        if let Some(slot) = self.users.slot(hash) {
            let user = self.users.at_mut(slot);
            if user.text != text {
                let same =
                    user.text.bytes().zip(text.bytes()).take_while(|(own, other)| own == other).count();
                user.first_difference = Some(user.first_difference.map_or(same, |before| before.min(same)));
            }
        } else {
            let slot = self.users.free(hash);
            *self.users.at_mut(slot) = CachedUser { first_difference: None, text: text.to_owned() };
        }
        let key = self.hash(hash, rest);
        let slot = self.callers.slot(key).unwrap_or_else(|| self.callers.free(key));
        let cached = self.callers.at_mut(slot);
        cached.text.clear();
        cached.text.push_str(text);
        cached.client = client;
        cached.id = Some(CallerId::next());
        cached.annotations.clear();
    }
}

/// Parses the user name, and returns its hash.
fn user_hash(cursor: &mut JsonCursor<'_>) -> Option<u64> {
    let name = cursor.string_after(START)?;
    let mut hasher = FxHasher::default();
    hasher.write(cursor.bytes(name));
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

    fn pass(recent: &mut CachedCallers, text: &str) -> Option<CallerId> {
        let mut cursor = JsonCursor::new(text).expect("a short text");
        let (client, slot) = recent.pass(&mut cursor).expect("a client");
        assert_eq!(&text[cursor.at()..cursor.at() + 12], ",\"objectRef\"");
        let mut alone = JsonCursor::new(text).expect("a short text");
        assert_eq!(Some(client), ClientFields::take(&mut alone));
        slot.map(|slot| slot.id)
    }

    fn is_read(recent: &mut CachedCallers, text: &str) -> bool {
        pass(recent, text).is_none()
    }

    #[test]
    fn most_clients_are_parsed_once() {
        let mut recent = CachedCallers::default();
        let read = |recent: &mut CachedCallers, round: u32| {
            let events = (0..10).flat_map(|user| (0..60).map(move |pod| (user, pod)));
            let again = events.filter(|(user, pod)| is_read(recent, &event(*user, *pod, round * pod)));
            again.count()
        };
        let mut reads = Vec::new();
        for round in 0..6 {
            reads.push(read(&mut recent, round));
        }
        // The 600 clients have 4,096 slots, but some share one.
        assert!(reads[0] == 600 && reads[5] < 150, "{reads:?}");
    }

    #[test]
    fn a_cached_client_is_evicted_by_another_in_its_slot() {
        let mut recent = CachedCallers::default();
        let mut met = Vec::new();
        for user in 0..9 {
            let text = event(user, 0, 0);
            assert!(is_read(&mut recent, &text));
            if let Some(id) = pass(&mut recent, &text) {
                met.push((id, text));
            }
        }
        assert_eq!(met.len(), 9);
        let again: Vec<Option<CallerId>> = met.iter().map(|(_, text)| pass(&mut recent, text)).collect();
        assert!(again.iter().zip(&met).any(|(id, (own, _))| *id == Some(*own)), "{again:?}");
        assert!(again.contains(&None), "the cache grew: {again:?}");
        assert!(again.iter().zip(&met).all(|(id, (own, _))| id.is_none_or(|id| id == *own)));
    }
}
