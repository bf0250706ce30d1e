//! Parses `ListOptions` from the query of a request.

use std::borrow::Cow;

use super::go_url::query_pairs;
use super::selector::{field_terms, label_selector_is_valid};

/// The query keys that the server reads for LIST, WATCH and deletecollection.
///
/// Source: k8s.io/apimachinery `pkg/apis/meta/v1/zz_generated.conversion.go:autoConvert_url_Values_To_v1_ListOptions`.
pub(crate) const LIST_OPTION_KEYS: [&str; 11] = [
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

/// Other valid query keys of a read or a deletecollection: output options, the timeout of the request,
/// `DeleteOptions`, and parameters of older servers.
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

/// The maximum number of ignored keys that are kept for one query. A client can send millions of keys, but at most a
/// few are typos.
pub(crate) const MAX_UNKNOWN_KEYS: usize = 256;

/// A query as the server decodes it. The first value of each key wins, and keys are case-sensitive.
///
/// The server treats an absent string as an empty one, so both are empty here.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub struct ListOptions<'a> {
    /// `labelSelector`, not parsed.
    pub(crate) label_selector: Cow<'a, str>,
    /// `fieldSelector`, not parsed.
    pub(crate) field_selector: Cow<'a, str>,
    /// `watch`: every value except `0` and `false` is true, even the empty string.
    pub(crate) watch: bool,
    /// `allowWatchBookmarks`, parsed like `watch`.
    pub(crate) allow_watch_bookmarks: bool,
    /// `resourceVersion`, not parsed.
    pub(crate) resource_version: Cow<'a, str>,
    /// `resourceVersionMatch`, not parsed.
    pub(crate) resource_version_match: Cow<'a, str>,
    /// `timeoutSeconds` is present but not an integer: the server returns 400.
    pub(crate) timeout_seconds_invalid: bool,
    pub(crate) limit: LimitParameter,
    /// `continue`, not decoded.
    pub(crate) continue_token: Cow<'a, str>,
    /// `sendInitialEvents`, parsed like `watch`; `None` if absent.
    pub(crate) send_initial_events: Option<bool>,
    /// `timeout`, not parsed: the deadline of a request that is not a watch. `timeout` is not a list option.
    pub(crate) timeout: Option<Cow<'a, str>>,
    /// The query has `dryRun=All`: the server checks a write but does not store it.
    pub(crate) dry_run: bool,
    /// The first [`MAX_UNKNOWN_KEYS`] keys that the server silently ignores, in query order.
    pub(crate) unknown_keys: Vec<Cow<'a, str>>,
}

/// The value of `limit=`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitParameter {
    /// The query has no `limit`.
    #[default]
    Absent,
    /// An integer. Zero and below mean no limit.
    Value(i64),
    /// Empty or not an integer: the server returns 400.
    Invalid,
}

impl<'a> ListOptions<'a> {
    /// Parses a raw query (the part after the first `?`).
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

    /// Whether the server can decode the query. If not, it returns 400, and resolves the request from its path and
    /// `watch` only.
    #[must_use]
    pub(crate) fn is_decodable(&self) -> bool {
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
            // shardSelector (1.36, alpha, off by default) does not change where a read is served from.
            _ => {}
        }
    }
}

/// The index of a key in [`LIST_OPTION_KEYS`].
fn index_of(key: &str) -> Option<usize> {
    // Keys of equal length nearly always differ in the first letter, so a failed comparison ends early.
    LIST_OPTION_KEYS.iter().position(|option| option.len() == key.len() && *option == key)
}

/// Parses a boolean parameter.
///
/// Source: k8s.io/apimachinery `pkg/runtime/conversion.go:Convert_Slice_string_To_bool`.
fn truthy(value: &str) -> bool {
    value != "0" && !value.eq_ignore_ascii_case("false")
}

/// Whether the server reads this query key for any request.
#[must_use]
pub(crate) fn is_known_key(key: &str) -> bool {
    index_of(key).is_some() || OTHER_KNOWN_KEYS.contains(&key) || key == "timeout"
}

/// Returns the list option that an ignored key resembles.
///
/// The ignored key may differ in case and have one typo (`limits`). In words of 8 letters and more it may have two
/// typos (`filedSelector`, `resourceversoin`).
#[must_use]
pub(crate) fn similar_list_option(unknown: &str) -> Option<&'static str> {
    LIST_OPTION_KEYS.into_iter().find(|option| unknown.eq_ignore_ascii_case(option)).or_else(|| {
        LIST_OPTION_KEYS.into_iter().find(|option| {
            // Two typos can turn a short word into another word.
            let typos = if option.len() >= 8 { 2 } else { 1 };
            unknown.len().abs_diff(option.len()) <= typos
                && strsim::osa_distance(&unknown.to_ascii_lowercase(), &option.to_ascii_lowercase()) <= typos
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_a_key_wins_even_if_empty() {
        assert_eq!(ListOptions::parse("limit=5&limit=6").limit, LimitParameter::Value(5));
        assert_eq!(ListOptions::parse("resourceVersion=&resourceVersion=0").resource_version, "");
        assert!(!ListOptions::parse("watch=false&watch=true").watch);
    }

    #[test]
    fn a_boolean_is_false_only_for_0_and_false() {
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
    fn limit_accepts_the_integers_of_gos_parse_int() {
        for (query, limit) in [
            ("limit=05", LimitParameter::Value(5)),
            ("limit=-1", LimitParameter::Value(-1)),
            ("limit=%2B5", LimitParameter::Value(5)),
            ("limit=+5", LimitParameter::Invalid),
            ("limit=", LimitParameter::Invalid),
            ("limit=5.0", LimitParameter::Invalid),
            ("limit=99999999999999999999", LimitParameter::Invalid),
            ("Limit=5", LimitParameter::Absent),
        ] {
            assert_eq!(ListOptions::parse(query).limit, limit, "{query}");
        }
    }

    #[test]
    fn unknown_keys_of_a_query_are_bounded() {
        let query = format!("{}limit=5", "x&".repeat(2 * MAX_UNKNOWN_KEYS));
        let options = ListOptions::parse(&query);
        assert_eq!(options.unknown_keys.len(), MAX_UNKNOWN_KEYS);
        assert_eq!(options.limit, LimitParameter::Value(5), "known keys are read to the end");
    }

    #[test]
    fn a_misspelled_key_resembles_its_list_option() {
        let options = ListOptions::parse("filedSelector=a&labelselector=b&pretty=true&_=1&limit=5");
        assert_eq!(options.unknown_keys, ["filedSelector", "labelselector", "_"]);
        assert_eq!(similar_list_option("filedSelector"), Some("fieldSelector"));
        assert_eq!(similar_list_option("labelselector"), Some("labelSelector"));
        assert_eq!(similar_list_option("resourceversion"), Some("resourceVersion"));
        assert_eq!(similar_list_option("labelSelectors"), Some("labelSelector"));
        assert_eq!(similar_list_option("Limit"), Some("limit"));
        assert_eq!(similar_list_option("_"), None);
        assert_eq!(similar_list_option("limits"), Some("limit"));
        assert_eq!(similar_list_option("wacth"), Some("watch"));
        assert_eq!(similar_list_option("lists"), None);
    }
}
