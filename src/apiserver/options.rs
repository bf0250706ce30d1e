//! The options of a query as classes. Values with the same effect are in one class.

use super::resources::{self, FieldLabel};
use crate::k8s::list_options::{self, ListOptions, similar_list_option};
use crate::k8s::selector::{field_terms, label_selector_is_valid};
use crate::k8s::{ContinueToken, RequestInfo, Verb, go_duration};

/// The options of a query, each reduced to a class. Values with the same effect on the verdict are in one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub struct Options {
    pub(crate) resource_version: ResourceVersion,
    pub(crate) resource_version_match: ResourceVersionMatch,
    pub limit: Limit,
    /// The class of the `continue` token.
    pub(crate) page: Page,
    /// The value of `watch` in the query.
    pub(crate) watch: bool,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) allow_watch_bookmarks: bool,
    pub(crate) label_selector: Selector,
    pub(crate) field_selector: Selector,
    /// The field selector has fields other than `metadata.name` and `metadata.namespace`.
    pub(crate) selects_other_fields: bool,
    /// The field selector selects one name.
    pub(crate) selects_name: bool,
    /// Whether the field selector has a field that the resource does not support.
    pub(crate) unsupported_field: UnsupportedField,
    /// Whether the field selector narrows the read to one key.
    pub(crate) single: Single,
    /// Whether the field selector reduces the objects that the server scans.
    pub(crate) narrows: Narrows,
    /// `timeoutSeconds` is not an integer.
    pub(crate) timeout_seconds_invalid: bool,
    /// `timeout` is not a duration.
    pub(crate) timeout_invalid: bool,
    /// The path names an object, but the field selector does not select that name.
    pub(crate) name_conflict: bool,
    /// A write with `dryRun=All`: the server checks the write but does not store it.
    pub(crate) dry_run: bool,
    /// The method is HEAD.
    pub(crate) head: bool,
    /// The path begins with `//`.
    pub(crate) double_slash: bool,
    /// The list options that ignored keys resemble. Bit *i* is for `LIST_OPTION_KEYS[i]`.
    pub(crate) misspelled: u16,
    /// The query has ignored keys that resemble no list option.
    pub(crate) other_unknown_keys: bool,
}

/// A class of `resourceVersion`. The server compares with the text `0`, so `00` has its own class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum ResourceVersion {
    #[default]
    Unset,
    Zero,
    /// The number is zero, but the text is not `0`.
    ZeroAlias,
    Number,
    Garbage,
}

/// A class of `resourceVersionMatch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum ResourceVersionMatch {
    #[default]
    Unset,
    NotOlderThan,
    Exact,
    Unknown,
}

/// A class of `limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Limit {
    /// The query has no `limit`.
    #[default]
    Absent,
    /// Zero or a negative number, which means no limit.
    Unlimited,
    /// A page size. Unusual sizes share classes (see [`Limit::USUAL`]).
    Page(PageSize),
    /// The value is not an integer.
    Invalid,
}

/// The class of a page size. Classes limit the number of shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageSize {
    /// Exactly this usual size.
    Exactly(u16),
    /// Less than this usual size, and more than the next smaller one.
    UpTo(u16),
    /// More than all usual sizes.
    More,
}

impl Limit {
    /// The page sizes that have their own class. The list is short, to limit the number of shapes.
    pub(crate) const USUAL: [u16; 16] =
        [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10_000, 50_000];

    fn from_parameter(limit: list_options::LimitParameter) -> Self {
        match limit {
            list_options::LimitParameter::Absent => Self::Absent,
            list_options::LimitParameter::Invalid => Self::Invalid,
            list_options::LimitParameter::Value(size) if size <= 0 => Self::Unlimited,
            list_options::LimitParameter::Value(size) => {
                Self::Page(match Self::USUAL.into_iter().find(|usual| size <= i64::from(*usual)) {
                    None => PageSize::More,
                    Some(usual) if i64::from(usual) == size => PageSize::Exactly(usual),
                    Some(usual) => PageSize::UpTo(usual),
                })
            }
        }
    }

    /// Whether the request has a page size.
    #[must_use]
    pub fn is_page(self) -> bool {
        matches!(self, Self::Page(_))
    }
}

/// A class of `continue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Page {
    /// No token: the first page.
    #[default]
    First,
    /// A token with a revision.
    AtRevision,
    /// A token that continues at the newest revision, because the revision of the first page expired.
    Inconsistent,
    /// A token that the server refuses.
    Invalid,
}

/// A class of a label or field selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Selector {
    /// The selector is absent or empty, so it selects everything.
    #[default]
    Everything,
    /// The selector is valid and not empty.
    Some,
    /// The server cannot parse the selector.
    Invalid,
}

/// Whether a field selector has an unsupported field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum UnsupportedField {
    /// All fields are supported.
    #[default]
    None,
    /// A field is unsupported, unless the custom resource declares it (possible since 1.30).
    UnlessDeclared,
    /// A field is unsupported.
    Certain,
}

/// Whether a LIST or WATCH reads one key instead of a prefix.
///
/// Source: k8s.io/apiserver `pkg/registry/generic/registry/store.go:ListPredicate` and
/// `pkg/storage/selection_predicate.go:MatchesSingle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Single {
    /// The request reads a prefix.
    #[default]
    No,
    /// The request reads one key. The selector has `metadata.name`. The rest of the key is known: the path has a
    /// namespace, or the resource is cluster-scoped.
    Key,
    /// The request reads one key since 1.27: the selector has `metadata.name` and `metadata.namespace`.
    KeyBySelectedNamespace,
    /// The request reads one key if the custom resource is cluster-scoped, which the path does not show.
    KeyIfClusterScoped,
}

/// Whether a field selector reduces the objects that the server scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Narrows {
    /// Nothing reduces them: the server scans all objects.
    #[default]
    Nothing,
    /// The selector has `spec.nodeName` for pods. The watch cache has an index for it.
    ///
    /// Source: kubernetes `pkg/registry/core/pod/strategy.go:Indexers`.
    ToNode,
    /// The selector has `metadata.namespace` on a cluster-wide path. Since 1.27 it acts like a namespace in the path.
    ///
    /// Source: k8s.io/apiserver `pkg/registry/generic/registry/store.go:ListPredicate`.
    ToNamespace,
}

impl Options {
    /// Whether the request has a label or field selector.
    #[must_use]
    pub(crate) fn selects(&self) -> bool {
        self.label_selector != Selector::Everything || self.field_selector != Selector::Everything
    }

    /// Classifies the options of a request.
    pub(super) fn from_query(info: &RequestInfo<'_>, options: &ListOptions<'_>) -> Self {
        let Some(path) = &info.resource else {
            return Self { timeout_invalid: timeout_is_invalid(options), ..Self::default() };
        };
        if !matches!(info.verb, Verb::Get | Verb::List | Verb::Watch | Verb::DeleteCollection) {
            let dry_run = options.dry_run;
            return Self { timeout_invalid: timeout_is_invalid(options), dry_run, ..Self::default() };
        }
        let mut classes = Self {
            resource_version: ResourceVersion::parse(&options.resource_version),
            resource_version_match: match &*options.resource_version_match {
                "" => ResourceVersionMatch::Unset,
                "NotOlderThan" => ResourceVersionMatch::NotOlderThan,
                "Exact" => ResourceVersionMatch::Exact,
                _ => ResourceVersionMatch::Unknown,
            },
            limit: Limit::from_parameter(options.limit),
            page: Page::from_token(&options.continue_token),
            watch: options.watch,
            send_initial_events: options.send_initial_events,
            allow_watch_bookmarks: options.allow_watch_bookmarks,
            label_selector: match &*options.label_selector {
                "" => Selector::Everything,
                text if label_selector_is_valid(text) => Selector::Some,
                _ => Selector::Invalid,
            },
            timeout_seconds_invalid: options.timeout_seconds_invalid,
            timeout_invalid: timeout_is_invalid(options),
            dry_run: options.dry_run && info.verb == Verb::DeleteCollection,
            ..Self::default()
        };
        if path.subresource.is_empty() {
            for key in &options.unknown_keys {
                match similar_list_option(key) {
                    Some(meant) => classes.misspelled |= misspelled_bit(meant),
                    None => classes.other_unknown_keys = true,
                }
            }
        }
        classes.read_field_selector(info, &options.field_selector);
        classes
    }

    fn read_field_selector(&mut self, info: &RequestInfo<'_>, text: &str) {
        let Some(path) = &info.resource else { return };
        if text.is_empty() {
            return;
        }
        let Some(terms) = field_terms(text) else {
            self.field_selector = Selector::Invalid;
            return;
        };
        if terms.clone().next().is_none() {
            return;
        }
        self.field_selector = Selector::Some;
        for term in terms.clone() {
            if !matches!(term.label, "metadata.name" | "metadata.namespace") {
                self.selects_other_fields = true;
            }
            match resources::field_label(path.group, path.resource, term.label) {
                FieldLabel::Supported => {}
                FieldLabel::Unsupported => self.unsupported_field = UnsupportedField::Certain,
                FieldLabel::IfDeclared if self.unsupported_field == UnsupportedField::None => {
                    self.unsupported_field = UnsupportedField::UnlessDeclared;
                }
                FieldLabel::IfDeclared => {}
            }
        }
        let selects = |label| terms.clone().find(|term| term.label == label).and_then(|term| term.equals);
        let selected_name = selects("metadata.name");
        self.selects_name = selected_name.as_deref().is_some_and(|name| !name.is_empty());
        let names = |label| selects(label).is_some_and(|value| !value.is_empty());
        self.narrows = if (path.group, path.resource) == ("", "pods") && names("spec.nodeName") {
            Narrows::ToNode
        } else if path.namespace.is_empty() && names("metadata.namespace") {
            Narrows::ToNamespace
        } else {
            Narrows::Nothing
        };
        self.name_conflict = !path.name.is_empty() && selected_name.as_deref() != Some(path.name);
        // A later page never reads a single key: upstream's MatchesSingle is false with a token.
        if self.selects_name && self.page == Page::First {
            self.single = if path.namespace.is_empty() {
                match resources::is_cluster_scoped(path.group, path.resource) {
                    Some(true) => Single::Key,
                    _ if selects("metadata.namespace").is_some_and(|name| !name.is_empty()) => {
                        Single::KeyBySelectedNamespace
                    }
                    Some(false) => Single::No,
                    None => Single::KeyIfClusterScoped,
                }
            } else {
                Single::Key
            };
        }
    }
}

fn misspelled_bit(key: &str) -> u16 {
    list_options::LIST_OPTION_KEYS.iter().position(|option| *option == key).map_or(0, |index| 1 << index)
}

fn timeout_is_invalid(options: &ListOptions<'_>) -> bool {
    let text = options.timeout.as_deref().unwrap_or_default();
    !text.is_empty() && go_duration::parse_nanoseconds(text).is_none()
}

impl ResourceVersion {
    fn parse(text: &str) -> Self {
        match text {
            "" => Self::Unset,
            "0" => Self::Zero,
            // Go's `ParseUint` does not accept a sign.
            _ if text.starts_with('+') => Self::Garbage,
            _ => match text.parse::<u64>() {
                Ok(0) => Self::ZeroAlias,
                Ok(_) => Self::Number,
                Err(_) => Self::Garbage,
            },
        }
    }

    /// Whether the resourceVersion is unset or the text `0`. The server tests for this in most places.
    #[must_use]
    pub(crate) fn is_unset_or_zero(self) -> bool {
        matches!(self, Self::Unset | Self::Zero)
    }
}

impl Page {
    fn from_token(token: &str) -> Self {
        if token.is_empty() {
            return Self::First;
        }
        match ContinueToken::decode(token) {
            ContinueToken::AtRevision(_) => Self::AtRevision,
            ContinueToken::Inconsistent => Self::Inconsistent,
            ContinueToken::Invalid => Self::Invalid,
        }
    }
}
