//! `ListOptions` as a client wrote them into a query.

use std::borrow::Cow;

use super::go_url::query_pairs;
use super::selector::{field_terms, label_selector_is_valid};

/// The keys that a LIST, WATCH or deletecollection reads from its query.
///
/// Source: k8s.io/apimachinery `pkg/apis/meta/v1/zz_generated.conversion.go:autoConvert_url_Values_To_v1_ListOptions`.
pub const LIST_OPTION_KEYS: [&str; 11] = [
    "labelSelector",
    "fieldSelector",
    "watch",
    "allowWatchBookmarks",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
    "limit",
    "continue",
    "sendInitialEvents",
    "shardSelector",
];

/// Keys that are no `ListOptions` and yet are no mistake on a read or a deletecollection: output forms, the
/// request's deadline, `DeleteOptions`, and parameters of older servers.
const OTHER_KNOWN_KEYS: [&str; 13] = [
    "pretty",
    "timeout",
    "includeObject",
    "dryRun",
    "gracePeriodSeconds",
    "orphanDependents",
    "propagationPolicy",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "fieldManager",
    "fieldValidation",
    "export",
    "exact",
    "includeUninitialized",
];

/// Ignored keys that are kept of one query. A client may send millions, and more than a few are no slip.
pub const MAX_UNKNOWN_KEYS: usize = 256;

/// A query as the server decodes it: the first value of each key it knows; a key is known only in its exact case.
///
/// An absent string and an empty one are the same to the server, so both are empty here.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub struct ListOptions<'a> {
    /// `labelSelector`, not parsed.
    pub label_selector: Cow<'a, str>,
    /// `fieldSelector`, not parsed.
    pub field_selector: Cow<'a, str>,
    /// `watch`: anything but `0` and `false` is true, the empty string too.
    pub watch: bool,
    /// `allowWatchBookmarks`, read as `watch`.
    pub allow_watch_bookmarks: bool,
    /// `resourceVersion`, not parsed.
    pub resource_version: Cow<'a, str>,
    /// `resourceVersionMatch`, not parsed.
    pub resource_version_match: Cow<'a, str>,
    /// `timeoutSeconds` is present and no integer: the server answers 400.
    pub timeout_seconds_invalid: bool,
    /// `limit`.
    pub limit: LimitParameter,
    /// `continue`, not decoded.
    pub continue_token: Cow<'a, str>,
    /// `sendInitialEvents`, read as `watch`; `None` if absent.
    pub send_initial_events: Option<bool>,
    /// `timeout`, the deadline of a request that is no watch; no list option, and not parsed.
    pub timeout: Option<Cow<'a, str>>,
    /// `dryRun=All`: a write is checked and not stored.
    pub dry_run: bool,
    /// The first [`MAX_UNKNOWN_KEYS`] keys that the server ignores without a word, in the order of the query.
    pub unknown_keys: Vec<Cow<'a, str>>,
}

/// The value of `limit=`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum LimitParameter {
    /// Not in the query.
    #[default]
    Absent,
    /// An integer; zero and below mean no limit.
    Value(i64),
    /// Present and no integer (an empty one too): the server answers 400.
    Invalid,
}

impl<'a> ListOptions<'a> {
    /// Reads a raw query (the part behind the first `?`).
    #[must_use]
    pub fn parse(query: &'a str) -> Self {
        let mut options = Self::default();
        if query.is_empty() {
            return options;
        }
        let mut seen: u16 = 0;
        for (key, value) in query_pairs(query) {
            let Some(index) = index_of(&key) else {
                if key == "timeout" {
                    options.timeout.get_or_insert(value);
                } else if key == "dryRun" {
                    options.dry_run |= value == "All";
                } else if !OTHER_KNOWN_KEYS.contains(&key.as_ref())
                    && options.unknown_keys.len() < MAX_UNKNOWN_KEYS
                {
                    options.unknown_keys.push(key);
                }
                continue;
            };
            if seen & (1 << index) == 0 {
                seen |= 1 << index;
                options.set(index, value);
            }
        }
        options
    }

    /// Whether the server can decode the query; where it can't, it answers 400 and knows the request by its path
    /// and `watch` alone.
    #[must_use]
    pub fn is_decodable(&self) -> bool {
        self.limit != LimitParameter::Invalid
            && !self.timeout_seconds_invalid
            && (self.label_selector.is_empty() || label_selector_is_valid(&self.label_selector))
            && (self.field_selector.is_empty() || field_terms(&self.field_selector).is_some())
    }

    fn set(&mut self, index: usize, value: Cow<'a, str>) {
        match LIST_OPTION_KEYS[index] {
            "labelSelector" => self.label_selector = value,
            "fieldSelector" => self.field_selector = value,
            "watch" => self.watch = truthy(&value),
            "allowWatchBookmarks" => self.allow_watch_bookmarks = truthy(&value),
            "resourceVersion" => self.resource_version = value,
            "resourceVersionMatch" => self.resource_version_match = value,
            "timeoutSeconds" => self.timeout_seconds_invalid = value.parse::<i64>().is_err(),
            "limit" => self.limit = value.parse().map_or(LimitParameter::Invalid, LimitParameter::Value),
            "continue" => self.continue_token = value,
            "sendInitialEvents" => self.send_initial_events = Some(truthy(&value)),
            // shardSelector (1.36, alpha, off) does not change where a read is answered from.
            _ => {}
        }
    }
}

/// The place of a key in [`LIST_OPTION_KEYS`].
fn index_of(key: &str) -> Option<usize> {
    // Keys of one length differ in their first letter, but for the two selectors; so one comparison is enough.
    LIST_OPTION_KEYS.iter().position(|known| known.len() == key.len() && *known == key)
}

/// Source: k8s.io/apimachinery `pkg/runtime/conversion.go:Convert_Slice_string_To_bool`.
fn truthy(value: &str) -> bool {
    value != "0" && !value.eq_ignore_ascii_case("false")
}

/// Whether a key is one that a server reads from some request's query.
#[must_use]
pub fn is_known_key(key: &str) -> bool {
    index_of(key).is_some() || OTHER_KNOWN_KEYS.contains(&key) || key == "timeout"
}

/// The list option that an ignored key was meant to be, if it is one but for its case, for one slip of the keyboard
/// (`limits`), or in a longer word for two (`filedSelector`, `resourceversoin`).
#[must_use]
pub fn meant_key(unknown: &str) -> Option<&'static str> {
    LIST_OPTION_KEYS.into_iter().find(|known| unknown.eq_ignore_ascii_case(known)).or_else(|| {
        LIST_OPTION_KEYS.into_iter().find(|known| {
            // Two slips in a word of five letters are another word.
            let slips = if known.len() >= 8 { 2 } else { 1 };
            unknown.len().abs_diff(known.len()) <= slips
                && strsim::osa_distance(&unknown.to_ascii_lowercase(), &known.to_ascii_lowercase()) <= slips
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_wins_even_if_it_is_empty() {
        assert_eq!(ListOptions::parse("limit=5&limit=6").limit, LimitParameter::Value(5));
        assert_eq!(ListOptions::parse("resourceVersion=&resourceVersion=0").resource_version, "");
        assert!(!ListOptions::parse("watch=false&watch=true").watch);
    }

    #[test]
    fn only_zero_and_false_are_false() {
        for (query, watch) in [
            ("watch", true),
            ("watch=", true),
            ("watch=no", true),
            ("watch=t", true),
            ("watch=0", false),
            ("watch=FALSE", false),
            ("Watch=true", false),
        ] {
            assert_eq!(ListOptions::parse(query).watch, watch, "{query}");
        }
        assert_eq!(ListOptions::parse("sendInitialEvents=false").send_initial_events, Some(false));
    }

    #[test]
    fn integers_are_those_of_gos_parse_int() {
        for (query, limit) in [
            ("limit=05", LimitParameter::Value(5)),
            ("limit=-1", LimitParameter::Value(-1)),
            ("limit=%2B5", LimitParameter::Value(5)),
            ("limit=+5", LimitParameter::Invalid),
            ("limit=", LimitParameter::Invalid),
            ("limit=5.0", LimitParameter::Invalid),
            ("limit=99999999999999999999", LimitParameter::Invalid),
            ("LimitParameter=5", LimitParameter::Absent),
        ] {
            assert_eq!(ListOptions::parse(query).limit, limit, "{query}");
        }
    }

    #[test]
    fn unknown_keys_of_one_query_have_a_bound() {
        let query = format!("{}limit=5", "x&".repeat(2 * MAX_UNKNOWN_KEYS));
        let options = ListOptions::parse(&query);
        assert_eq!(options.unknown_keys.len(), MAX_UNKNOWN_KEYS);
        assert_eq!(options.limit, LimitParameter::Value(5), "known keys are read to the end");
    }

    #[test]
    fn unknown_keys_are_kept_and_the_meant_one_is_named() {
        let options = ListOptions::parse("filedSelector=a&labelselector=b&pretty=true&_=1&limit=5");
        assert_eq!(options.unknown_keys, ["filedSelector", "labelselector", "_"]);
        assert_eq!(meant_key("filedSelector"), Some("fieldSelector"));
        assert_eq!(meant_key("labelselector"), Some("labelSelector"));
        assert_eq!(meant_key("resourceversion"), Some("resourceVersion"));
        assert_eq!(meant_key("labelSelectors"), Some("labelSelector"));
        assert_eq!(meant_key("LimitParameter"), Some("limit"));
        assert_eq!(meant_key("_"), None);
        assert_eq!(meant_key("limits"), Some("limit"));
        assert_eq!(meant_key("wacth"), Some("watch"));
        assert_eq!(meant_key("lists"), None);
    }
}
