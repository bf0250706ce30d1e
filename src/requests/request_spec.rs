//! The parsed target of a request. Many requests have equal targets, so [`Classifier`](super::Classifier) caches them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::BuildHasher;
use std::sync::{Arc, LazyLock};

use compact_str::CompactString;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::http_method;
use super::namespace::{self, namespace_hash};
use super::stable::stable_hash;
use super::template::Template;
use crate::apiserver::options::Options;
use crate::apiserver::releases::BuiltInApi;
use crate::apiserver::request_shape::NonResource;
use crate::apiserver::{ParsedTarget, RequestShape, request_shape};
use crate::decode::klog::AccessLine;
use crate::k8s::event::{ObjectRef, Text};
use crate::k8s::request_info::Method;
use crate::k8s::secrets::masked_parameter;
use crate::k8s::text::prefix;
use crate::k8s::{ContinueToken, Event, Verb};

/// The parsed target of a request, with hashes of the objects that it reads or writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestSpec<'q> {
    pub(crate) shape: &'q Arc<RequestShape<CompactString>>,
    pub(crate) shape_hash: u64,
    /// True if the server treats the request as long-running. Its duration is then a lifetime and not a cost.
    pub(crate) long_running: bool,
    /// The namespace in the path; empty if there is none.
    pub(crate) namespace: &'q str,
    /// A hash of the namespace in the path or in the field selector; 0 for none.
    pub(crate) namespace_hash: u32,
    /// A hash of the path and the field selector. Both are needed, because either of them can name an object.
    pub(crate) target_hash: u64,
    /// A hash of path and selectors of a GET, LIST or WATCH; 0 for other requests.
    pub(crate) collection_hash: u64,
    /// The revision in the continue token of a later page.
    pub(crate) revision: Option<i64>,
    /// Query keys that the server ignores: at most [`MAX_UNKNOWN_KEYS`], the first in byte order. Longer keys are cut.
    pub(crate) unknown_keys: &'q [Box<str>],
    /// The built-in API of the target, if not all releases serve it: an index into `releases::BUILT_IN`.
    pub(crate) api: Option<u8>,
}

/// The maximum number of ignored keys that are kept as examples.
pub(crate) const MAX_UNKNOWN_KEYS: usize = 4;
/// Length limit of an ignored key, in bytes. Longer keys are cut.
const MAX_KEY: usize = 48;

/// The first of these keys in byte order, at most [`MAX_UNKNOWN_KEYS`]. Each is cut to [`MAX_KEY`], and continue tokens are
/// masked.
fn first_keys(keys: &[Cow<'_, str>]) -> Vec<Box<str>> {
    let mut first = BTreeSet::new();
    for key in keys {
        let key = masked_parameter(key);
        first.insert(Box::from(prefix(&key, MAX_KEY)));
        if first.len() > MAX_UNKNOWN_KEYS {
            first.pop_last();
        }
    }
    first.into_iter().collect()
}

/// The values that differ between the targets of one template.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct TargetDetails {
    /// Byte range of the namespace in the target.
    namespace: (usize, usize),
    namespace_hash: u32,
    target_hash: u64,
    collection_hash: u64,
    revision: Option<i64>,
}

/// A parsed target, as the cache stores it.
#[derive(Debug, Clone)]
pub(super) struct CachedTarget {
    shape: Arc<RequestShape<CompactString>>,
    shape_hash: u64,
    long_running: bool,
    namespace: CompactString,
    namespace_hash: u32,
    target_hash: u64,
    collection_hash: u64,
    revision: Option<i64>,
    unknown_keys: Vec<Box<str>>,
    field_selector: CompactString,
    label_selector: CompactString,
    /// True if the query has a `continue` token.
    has_token: bool,
    api: Option<u8>,
}

/// Stores each request shape once.
#[derive(Debug, Default)]
pub(super) struct ShapeInterner(HashTable<(u64, Arc<RequestShape<CompactString>>)>);

impl ShapeInterner {
    /// The maximum number of stored shapes. A full interner is cleared.
    const MAX: usize = 1 << 12;

    /// Returns the stored shape that equals `shape`. `hash` is its hash.
    fn intern(&mut self, hash: u64, shape: &RequestShape<&str>) -> Arc<RequestShape<CompactString>> {
        if let Some((_, own)) =
            self.0.find(hash, |(stored_hash, own)| *stored_hash == hash && own.as_borrowed() == *shape)
        {
            return Arc::clone(own);
        }
        if self.0.len() == Self::MAX {
            self.0.clear();
        }
        let own = Arc::new(shape.to_owned());
        self.0.insert_unique(hash, (hash, Arc::clone(&own)), |(hash, _)| *hash);
        own
    }
}

impl Default for CachedTarget {
    fn default() -> Self {
        // Create this value only once, because a new cache fills thousands of slots with it.
        static NONE: LazyLock<CachedTarget> = LazyLock::new(|| {
            let object = ObjectRef::default();
            CachedTarget::without_target(Verb::Other, &object, true, &mut ShapeInterner::default())
        });
        NONE.clone()
    }
}

impl CachedTarget {
    /// The length in bytes of the names in an object reference.
    pub(crate) fn size(object: &ObjectRef<Text<'_>>) -> usize {
        object.api_group.len() + object.resource.len() + object.namespace.len() + object.name.len()
    }

    /// Parses the target of an event. For an event without a valid target, `object` is the object reference of the
    /// event.
    pub(crate) fn from_event(
        event: &Event<'_>,
        object: Option<&ObjectRef<Text<'_>>>,
        interner: &mut ShapeInterner,
    ) -> Self {
        let verb = Verb::from_audit(&event.verb);
        let has_uri = !event.request_uri.is_empty();
        if let Some(object) = object {
            return Self::without_target(verb, object, has_uri, interner);
        }
        let mut spec = Self::from_uri(verb.method(), || verb, &event.request_uri, interner);
        // Only `watch` in the query can make this request a WATCH. So if the target has no query, a tool removed the
        // query from the record.
        if verb == Verb::Watch && spec.shape.verb == Verb::List && !event.request_uri.contains('?') {
            spec.mark_query_removed(interner);
        }
        spec
    }

    /// Parses the target of an access line.
    pub(crate) fn from_access_line(line: &AccessLine<'_>, interner: &mut ShapeInterner) -> Self {
        let verb = || Verb::from_audit(&line.verb.to_ascii_lowercase());
        Self::from_uri(http_method::from_logged_verb(&line.verb, &line.uri), verb, &line.uri, interner)
    }

    /// Parses a target. `verb` is used only if the target is invalid.
    fn from_uri(
        method: Method,
        verb: impl FnOnce() -> Verb,
        uri: &str,
        interner: &mut ShapeInterner,
    ) -> Self {
        let Some(target) = ParsedTarget::parse(uri) else {
            return Self::without_target(verb(), &ObjectRef::default(), true, interner);
        };
        let options = &target.options;
        let (shape, in_path) = RequestShape::in_namespace(method, &target.path, options);
        let unknown_keys = if shape.reads_list_options() { options.unknown_keys.as_slice() } else { &[] };
        let token = &*options.continue_token;
        let revision = match Some(token).filter(|token| !token.is_empty()).map(ContinueToken::decode) {
            Some(ContinueToken::AtRevision(revision)) => Some(revision),
            _ => None,
        };
        let namespace = namespace::effective(in_path, &options.field_selector);
        let shape_hash = stable_hash(&shape);
        Self {
            shape_hash,
            api: built_in_api(&shape, &target.path),
            long_running: request_shape::is_long_running(&shape),
            namespace: in_path.into(),
            namespace_hash: namespace_hash(&namespace),
            target_hash: FxBuildHasher.hash_one((&*target.path, &*options.field_selector)),
            collection_hash: collection_hash(
                &shape,
                &target.path,
                [&options.field_selector, &options.label_selector],
            ),
            revision,
            unknown_keys: first_keys(unknown_keys),
            has_token: !token.is_empty(),
            shape: interner.intern(shape_hash, &shape),
            field_selector: (&*options.field_selector).into(),
            label_selector: (&*options.label_selector).into(),
        }
    }

    /// Whether every target with the same template has the shape of this target. `template` is the template of this
    /// target.
    pub(crate) fn shares_shape_with(&self, template: &Template<'_>) -> bool {
        // If path and field selector each contain an object name, the shape depends on whether the two are equal. A
        // template lacks the name in the path, so it does not determine the shape.
        let selects_by_name = template.has_name && !self.field_selector.is_empty();
        !selects_by_name && self.has_token == template.query.token.is_some()
    }

    /// Drops the selectors. Only the cache entry of a template needs them, to compute the hashes of other targets.
    pub(crate) fn drop_selectors(&mut self) {
        (self.field_selector, self.label_selector) = Default::default();
    }

    pub(crate) fn spec(&self) -> RequestSpec<'_> {
        RequestSpec {
            shape: &self.shape,
            shape_hash: self.shape_hash,
            long_running: self.long_running,
            namespace: &self.namespace,
            namespace_hash: self.namespace_hash,
            target_hash: self.target_hash,
            collection_hash: self.collection_hash,
            revision: self.revision,
            unknown_keys: &self.unknown_keys,
            api: self.api,
        }
    }

    /// The values in which another target with the same template differs from this one. `template` is parsed from
    /// that other target.
    pub(crate) fn details(&self, template: &Template<'_>) -> TargetDetails {
        let [field_selector, label_selector] = [&*self.field_selector, &*self.label_selector];
        let namespace = namespace::effective(template.namespace, field_selector);
        // The namespace follows the first piece.
        let start = template.pieces[0].len();
        TargetDetails {
            namespace: (start, start + template.namespace.len()),
            namespace_hash: namespace_hash(&namespace),
            target_hash: FxBuildHasher.hash_one((template.path, field_selector)),
            collection_hash: collection_hash(&self.shape, template.path, [field_selector, label_selector]),
            revision: template.query.revision(),
        }
    }

    /// The spec of `target`, which has the same template as this target. `own` contains the values that only `target`
    /// has.
    pub(crate) fn spec_with<'q>(&'q self, own: &TargetDetails, target: &'q str) -> RequestSpec<'q> {
        RequestSpec {
            namespace: &target[own.namespace.0..own.namespace.1],
            namespace_hash: own.namespace_hash,
            target_hash: own.target_hash,
            collection_hash: own.collection_hash,
            revision: own.revision,
            ..self.spec()
        }
    }

    /// A spec from the object reference, for a record without a valid target.
    fn without_target(
        verb: Verb,
        object: &ObjectRef<Text<'_>>,
        unreadable: bool,
        interner: &mut ShapeInterner,
    ) -> Self {
        let target = request_shape::Target::Unknown {
            group: &*object.api_group,
            resource: &*object.resource,
            unreadable,
        };
        let shape = RequestShape { verb, target, options: Options::default() };
        let target_hash = FxBuildHasher.hash_one((&*object.namespace, &*object.name));
        let shape_hash = stable_hash(&shape);
        Self {
            shape_hash,
            long_running: request_shape::is_long_running(&shape),
            namespace: (&*object.namespace).into(),
            namespace_hash: namespace_hash(&object.namespace),
            target_hash,
            collection_hash: target_hash,
            revision: None,
            unknown_keys: Vec::new(),
            field_selector: CompactString::default(),
            label_selector: CompactString::default(),
            has_token: false,
            api: None,
            shape: interner.intern(shape_hash, &shape),
        }
    }

    fn mark_query_removed(&mut self, interner: &mut ShapeInterner) {
        let before = Arc::clone(&self.shape);
        let shape = before.as_borrowed();
        let request_shape::Target::Resource { group, resource, .. } = shape.target else { return };
        let target = request_shape::Target::Unknown { group, resource, unreadable: false };
        let shape = RequestShape { verb: Verb::Watch, target, options: Options::default() };
        self.shape_hash = stable_hash(&shape);
        self.long_running = request_shape::is_long_running(&shape);
        self.unknown_keys.clear();
        self.shape = interner.intern(self.shape_hash, &shape);
    }
}

/// The built-in API of a path, if only some releases serve it.
fn built_in_api(shape: &RequestShape<&str>, path: &str) -> Option<u8> {
    let mut parts = path.strip_prefix("/apis/")?.split('/');
    let (group, version) = (parts.next()?, parts.next()?);
    match shape.target {
        request_shape::Target::Resource { resource, .. } => BuiltInApi::find(group, version, resource),
        request_shape::Target::NonResource(NonResource::Discovery) => BuiltInApi::find(group, version, ""),
        _ => None,
    }
}

fn collection_hash<S>(shape: &RequestShape<S>, path: &str, selectors: [&str; 2]) -> u64 {
    if !matches!(shape.verb, Verb::Get | Verb::List | Verb::Watch) {
        return 0;
    }
    let mut path = Cow::Borrowed(path.trim_end_matches('/'));
    // `/api/v1/watch/pods` is a WATCH of `/api/v1/pods`.
    if let request_shape::Target::Resource { watch_prefix: true, .. } = shape.target
        && let Some((version, rest)) = path.split_once("/watch/")
    {
        path = Cow::Owned(format!("{version}/{rest}"));
    }
    let [field_selector, label_selector] = selectors;
    let key = (&*path, field_selector, label_selector);
    FxBuildHasher.hash_one(key).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
