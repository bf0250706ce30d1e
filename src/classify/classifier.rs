//! From records to requests. Who asks and what is asked repeat, so that both are remembered under a hash of all that
//! they are found out from: the fast path of a request is two looks into tables.
//!
//! The naive twin is a classifier that has not seen anything yet.

use super::access;
use super::asker::Asker;
use super::event::{self, Request};
use super::fingerprint::{Fingerprints, Keys};
use super::question::{AskedOnce, Question};
use super::template::Template;
use crate::decode::klog::AccessLine;
use crate::input::Place;
use crate::k8s::event::ClientText;
use crate::k8s::timestamp::RecentMinute;
use crate::k8s::{Event, Stage};

/// How many askers and how many questions are remembered at first, and at most: some megabytes.
const FIRST_SLOTS: usize = 1 << 4;
const SLOTS: usize = 1 << 13;
/// For how many texts that tell of a client it is remembered what that is known by.
const TEXTS: usize = 1 << 12;
/// What is made of longer texts, in bytes, is not remembered.
const MAX_TEXT: usize = 2 << 10;

/// Makes requests of records.
#[derive(Debug, Default)]
pub struct Classifier {
    prints: Fingerprints,
    askers: Remembered<Asker>,
    questions: Remembered<Question>,
    templates: Remembered<Question>,
    asked: AskedOnce,
    /// What the askers of texts are known by, which are told apart by their numbers.
    texts: Vec<(Option<ClientText>, u64)>,
    minute: RecentMinute,
}

impl Classifier {
    /// A classifier that knows records by these fingerprints.
    #[must_use]
    pub fn new(prints: Fingerprints) -> Self {
        Self { prints, ..Self::default() }
    }

    /// Makes a request of an event. `stage` is the event's.
    pub fn event<'e>(&'e mut self, event: &'e Event<'_>, stage: Stage, place: Place) -> Request<'e> {
        let object = event::object_without_target(event);
        let keys =
            Keys { asker: self.asker_key(event), question: self.prints.question(event, object.as_ref()) };
        let asker = self.askers.get(keys.asker, Asker::size(event), |asker| asker.become_that_of(event));
        let texts = event.request_uri.len() + object.as_ref().map_or(0, Question::size);
        let question = self.questions.get(keys.question, texts, |question| {
            *question = by_template(&self.prints, &mut self.templates, event, || {
                Question::of(event, object.as_ref(), &mut self.asked)
            });
        });
        let times = event::Times::of(event, stage, &mut self.minute);
        event::request(event, asker, question, keys, stage, times, place)
    }

    /// What the asker is known by.
    fn asker_key(&mut self, event: &Event<'_>) -> u64 {
        let Some(text) = event.as_written.client else { return self.prints.asker(event) };
        let slot = usize::try_from(text.number()).unwrap_or(usize::MAX) % TEXTS;
        if self.texts.is_empty() {
            self.texts.resize(TEXTS, (None, 0));
        }
        let known = &mut self.texts[slot];
        if known.0 != Some(text) {
            *known = (Some(text), self.prints.asker(event));
        }
        known.1
    }

    /// Makes a request of an access line. `ended` is the line's own time in microseconds since 1970.
    pub fn line<'e>(&'e mut self, line: &'e AccessLine<'_>, ended: Option<i64>, place: Place) -> Request<'e> {
        let keys = self.prints.line_keys(line);
        let texts = line.user_agent.len() + line.source.len();
        let asker = self.askers.get(keys.asker, texts, |asker| asker.become_that_of_line(line));
        let question = self.questions.get(keys.question, line.uri.len(), |question| {
            *question = Question::of_line(line, &mut self.asked);
        });
        access::request(line, asker, question, keys, ended, place)
    }
}

/// What is asked by an event, found out from what another one asked that differs in names alone; or else as `find`
/// finds it.
fn by_template(
    prints: &Fingerprints,
    known: &mut Remembered<Question>,
    event: &Event<'_>,
    find: impl FnOnce() -> Question,
) -> Question {
    let Some(template) = Template::of(&event.request_uri) else { return find() };
    let key = prints.template(&event.verb, &template);
    if let Some(alike) = known.find(key) {
        return alike.by(&template);
    }
    let question = find();
    let size = template.pieces.map(str::len).iter().sum::<usize>();
    if question.by_template && size <= MAX_TEXT {
        known.put(key, question.clone());
    }
    question
}

/// What was made of the texts of the last records, in pairs of slots that their hashes choose.
#[derive(Debug)]
struct Remembered<V> {
    pairs: Vec<Pair>,
    /// Two for each pair.
    values: Vec<V>,
    /// How often a slot was filled.
    filled: usize,
    /// What is not remembered.
    passing: V,
}

/// Of what two slots hold; 0 for nothing.
#[derive(Debug, Default, Clone, Copy)]
struct Pair {
    keys: [u64; 2],
    /// The slot that was asked for last: the other one gives way.
    last: usize,
}

impl<V: Default> Default for Remembered<V> {
    fn default() -> Self {
        Self { pairs: Vec::new(), values: Vec::new(), filled: 0, passing: V::default() }
    }
}

impl<V: Default> Remembered<V> {
    /// What was made of the texts with this hash, or what `fill` makes of them. `size` says how long they are, in bytes.
    fn get(&mut self, key: u64, size: usize, fill: impl FnOnce(&mut V)) -> &V {
        if size > MAX_TEXT {
            self.passing = V::default();
            fill(&mut self.passing);
            return &self.passing;
        }
        let slot = self.slot(key).unwrap_or_else(|| {
            let slot = self.free(key);
            fill(&mut self.values[slot]);
            slot
        });
        &self.values[slot]
    }

    /// What was made of the texts with this hash.
    fn find(&mut self, key: u64) -> Option<&V> {
        self.slot(key).map(|slot| &self.values[slot])
    }

    /// Remembers what was made of the texts with this hash, which is not known.
    fn put(&mut self, key: u64, value: V) {
        let slot = self.free(key);
        self.values[slot] = value;
    }

    /// A slot for what is not known.
    fn free(&mut self, key: u64) -> usize {
        self.grow();
        let at = self.pair(key);
        let pair = &mut self.pairs[at];
        pair.last = 1 - pair.last;
        pair.keys[pair.last] = key;
        2 * at + pair.last
    }

    /// The slot that holds what is asked for.
    fn slot(&mut self, key: u64) -> Option<usize> {
        let at = self.pair(key);
        let pair = self.pairs.get_mut(at)?;
        pair.last = pair.keys.iter().position(|own| *own == key)?;
        Some(2 * at + pair.last)
    }

    /// The pair of a key; there is a power of two of them.
    fn pair(&self, key: u64) -> usize {
        (key >> 32) as usize & self.pairs.len().saturating_sub(1)
    }

    /// Makes room where as many slots were filled as there are, and forgets what they held.
    fn grow(&mut self) {
        self.filled += 1;
        if self.filled > self.values.len() && self.values.len() < SLOTS {
            let slots = (2 * self.values.len()).max(FIRST_SLOTS);
            self.pairs = vec![Pair::default(); slots / 2];
            self.values.resize_with(slots, V::default);
            self.filled = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLACE: Place = Place { source: 0, offset: 0, line: 1 };

    fn json(user: u8, agent: &str, uri: &str, verb: &str, second: u32) -> String {
        format!(
            r#"{{"auditID":"a","stage":"ResponseComplete","verb":"{verb}","requestURI":"{uri}","userAgent":"{agent}",
            "user":{{"username":"u{user}","extra":{{"authentication.kubernetes.io/pod-name":["p{}"]}}}},
            "sourceIPs":["10.0.0.{}"],"responseStatus":{{"code":200}},
            "requestReceivedTimestamp":"2026-01-01T00:{:02}:{:02}.000001Z","stageTimestamp":"2026-01-01T01:00:00.000000Z"}}"#,
            user % 3,
            user % 5,
            second / 60 % 60,
            second % 60,
        )
    }

    proptest! {
        #[test]
        fn what_is_remembered_is_what_is_found_out_anew(
            records in prop::collection::vec(
                (
                    0_u8..40,
                    prop_oneof![Just("kubelet/v1.30.0 (linux/amd64) kubernetes/1"), Just("curl"), Just("")],
                    prop_oneof![
                        (0_u16..300).prop_map(|n| format!("/api/v1/namespaces/n{n}/pods?limit=5")),
                        concat!(
                            "/(api/v1|apis/apps/v1)(/watch|/proxy)?(/namespaces/[a-c%])?/(pods|namespaces|status)(/[a-c]{1,2})?",
                            "(/(log|status|finalize|proxy))?(/|//x|/y/z)?",
                            "(\\?(limit=5|watch=1|fieldSelector=metadata[.]name%3D[ab]|labelSelector=[ab]|continue=x|limits=1)?)?",
                        ),
                        Just(String::new()),
                        Just("/api/%zz".to_owned()),
                        Just(format!("/apis/{}?fieldSelector=a%3Db", "x".repeat(3_000))),
                    ],
                    prop_oneof![Just("list"), Just("get"), Just("watch")],
                    0_u32..3_600,
                ),
                1..400,
            ),
        ) {
            let prints = Fingerprints::default();
            let mut classifier = Classifier::new(prints.clone());
            for (user, agent, uri, verb, second) in records {
                let json = json(user, agent, &uri, verb, second);
                let event: Event<'_> = serde_json::from_str(&json).expect("an event");
                let mut naive = Classifier::new(prints.clone());
                let anew = naive.event(&event, Stage::ResponseComplete, PLACE);
                let own = classifier.event(&event, Stage::ResponseComplete, PLACE);
                prop_assert_eq!(format!("{own:?}"), format!("{anew:?}"));
                prop_assert_eq!(prints.event(&event, &own), prints.event(&event, &anew));
            }
        }
    }
}
