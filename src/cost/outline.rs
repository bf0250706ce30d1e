//! Describes the cost of one request in a few words, without an inventory.
//!
//! Keep it consistent with `work.rs`, which computes the same cost in numbers.

use super::work::{is_in_namespace, is_single, is_snapshot};
use crate::apiserver::options::{Limit, Narrows, Options, Page, PageSize};
use crate::apiserver::resources::is_connection;
use crate::apiserver::{LimitVerdict, Reason, RequestShape, ServedFrom, Server, Target, Verdict};
use crate::k8s::{Scope, Verb};

/// The cost of one page of a LIST with a selector. The server reads from etcd several times; the number of reads is
/// unknown. [`RANGE_READS_NOTE`] explains this to the user.
const RANGE_READS: &str = "n range reads";
/// The explanation of "n range reads".
pub(crate) const RANGE_READS_NOTE: &str = "n range reads: etcd knows no selectors. The server reads page after page until \
                                    the limit is full of objects that match. Since 1.24 each page is twice the size \
                                    of the one before.";

/// Describes the cost of a request with this verdict, such as `everything, 1 range read`.
#[must_use]
pub(crate) fn outline(server: &Server, shape: &RequestShape<&str>, verdict: Verdict) -> String {
    let from = verdict.likely_served_from();
    let text = match from {
        ServedFrom::Rejected => "nothing",
        ServedFrom::Aggregated => "the other server's own cost",
        ServedFrom::NotObservable => "not known",
        ServedFrom::NoStorage => "no object",
        _ => return stored(server, shape, verdict, from),
    };
    text.to_owned()
}

/// Whether an outline needs [`RANGE_READS_NOTE`].
#[must_use]
pub(crate) fn needs_note(outline: &str) -> bool {
    outline.contains(RANGE_READS)
}

fn stored(server: &Server, shape: &RequestShape<&str>, verdict: Verdict, from: ServedFrom) -> String {
    let Target::Resource { group, resource, subresource, scope, .. } = shape.target else {
        return "no object".to_owned();
    };
    let options = &shape.options;
    let read = Outline { server, options, verdict, scope };
    match shape.verb {
        _ if is_connection(group, resource, subresource) => "one object".to_owned(),
        Verb::Get => "one object".to_owned(),
        Verb::List => read.list(from),
        Verb::Watch => read.watch(from),
        Verb::DeleteCollection => read.delete_collection(),
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete if options.dry_run => {
            "no write (dry run)".to_owned()
        }
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete => "one transaction".to_owned(),
        _ => "no object".to_owned(),
    }
}

struct Outline<'a> {
    server: &'a Server,
    options: &'a Options,
    verdict: Verdict,
    scope: Scope,
}

impl Outline<'_> {
    /// Describes the objects of the namespace or the cluster. For a later page, describes only the rest of these
    /// objects.
    fn scope_text(&self) -> String {
        let is_namespace = is_in_namespace(self.server, self.options, self.scope);
        let objects = if is_namespace { "the namespace" } else { "everything" };
        if self.options.page == Page::First { objects.to_owned() } else { format!("the rest of {objects}") }
    }

    fn is_page(&self) -> bool {
        self.verdict.limit == LimitVerdict::Honored && self.options.limit.is_page()
    }

    fn list(&self, from: ServedFrom) -> String {
        if is_single(self.server, self.options) {
            return "one object".to_owned();
        }
        let cost = if from == ServedFrom::Etcd { self.ranges() } else { self.through_cache() };
        match self.options.single {
            // The path of a custom resource does not show whether it is cluster-scoped.
            crate::apiserver::options::Single::KeyIfClusterScoped => format!("one object or {cost}"),
            _ => cost,
        }
    }

    fn ranges(&self) -> String {
        let objects = self.scope_text();
        match (self.is_page(), self.options.selects()) {
            (false, _) => format!("{objects}, 1 range read"),
            (true, true) => format!("{RANGE_READS}, up to {objects}"),
            (true, false) => format!("{}, 1 range read", self.page()),
        }
    }

    fn page(&self) -> String {
        match self.options.limit {
            Limit::Page(PageSize::Exactly(1)) => "one object".to_owned(),
            Limit::Page(PageSize::Exactly(size)) => format!("{size} objects"),
            _ => "one page".to_owned(),
        }
    }

    /// Describes the scan of the watch cache. A limit does not shorten it.
    fn through_cache(&self) -> String {
        let has_index = self.options.narrows == Narrows::ToNode && !is_snapshot(self.verdict);
        if has_index {
            "an index: the node's pods".to_owned()
        } else if self.server.version.at_least(31, 0) {
            format!("{}, in memory", self.scope_text())
        } else {
            "everything, in memory".to_owned()
        }
    }

    fn watch(&self, from: ServedFrom) -> String {
        if !super::work::begins_with_objects(self.options) {
            return "later events only".to_owned();
        }
        let options = Options { limit: Limit::Absent, ..*self.options };
        let verdict = Verdict { limit: LimitVerdict::Absent, ..self.verdict };
        let list = Outline { options: &options, verdict, ..*self }.list(from);
        format!("{list}, then events")
    }

    fn delete_collection(&self) -> String {
        let from_etcd = self.verdict.reason == Reason::DeleteCollectionFromEtcd;
        let objects = match (self.is_page(), self.options.selects()) {
            _ if is_single(self.server, self.options) => "one object".to_owned(),
            (true, false) => self.page(),
            (true, true) if from_etcd => format!("{RANGE_READS}, up to {}", self.scope_text()),
            _ => self.scope_text(),
        };
        match (self.options.dry_run, self.options.selects()) {
            (true, _) => format!("{objects}, no write (dry run)"),
            (false, true) => format!("{objects} + a write per match"),
            (false, false) => format!("{objects} + a write each"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apiserver::{ParsedTarget, judge};
    use crate::k8s::request_info::Method;

    fn cost(version: &str, request: &str) -> String {
        let (method, uri) = request.split_once(' ').expect("a method");
        let server = Server::with_defaults(version.parse().expect("a version"));
        let target = ParsedTarget::parse(uri).expect("a target");
        let shape =
            RequestShape::new(Method::parse(method).expect("a known method"), &target.path, &target.options);
        outline(&server, &shape, judge(&server, &shape, None))
    }

    #[test]
    fn each_kind_of_request_has_an_outline() {
        for (version, request, expected) in [
            ("1.30.0", "GET /api/v1/pods", "everything, 1 range read"),
            ("1.30.0", "GET /api/v1/namespaces/n/pods", "the namespace, 1 range read"),
            ("1.30.0", "GET /api/v1/pods?limit=500", "500 objects, 1 range read"),
            ("1.30.0", "GET /api/v1/pods?limit=77", "one page, 1 range read"),
            ("1.30.0", "GET /api/v1/pods?limit=500&labelSelector=a", "n range reads, up to everything"),
            ("1.30.0", "GET /api/v1/pods?labelSelector=a", "everything, 1 range read"),
            ("1.30.0", "GET /api/v1/pods?fieldSelector=spec.nodeName%3Da", "everything, 1 range read"),
            (
                "1.30.0",
                "GET /api/v1/pods?fieldSelector=spec.nodeName%3Da&resourceVersion=0",
                "an index: the node's pods",
            ),
            ("1.34.0", "GET /api/v1/pods?fieldSelector=spec.nodeName%3Da", "an index: the node's pods"),
            ("1.34.0", "GET /api/v1/pods?limit=500", "everything, in memory"),
            ("1.30.0", "GET /api/v1/namespaces/n/pods?resourceVersion=0", "everything, in memory"),
            ("1.31.0", "GET /api/v1/namespaces/n/pods?resourceVersion=0", "the namespace, in memory"),
            ("1.34.0", "GET /api/v1/namespaces/n/pods?fieldSelector=metadata.name%3Da", "one object"),
            ("1.34.0", "GET /api/v1/namespaces/n/pods/a", "one object"),
            ("1.34.0", "GET /api/v1/namespaces/n/pods/a/log", "one object"),
            ("1.34.0", "GET /api/v1/pods?watch=1&resourceVersion=7", "later events only"),
            ("1.30.0", "GET /api/v1/pods?watch=1&resourceVersion=0", "everything, in memory, then events"),
            ("1.34.0", "GET /api/v1/events?watch=1", "everything, 1 range read, then events"),
            ("1.34.0", "POST /api/v1/namespaces/n/pods", "one transaction"),
            ("1.34.0", "PATCH /api/v1/namespaces/n/pods/a?dryRun=All", "no write (dry run)"),
            ("1.34.0", "DELETE /api/v1/namespaces/n/pods", "the namespace + a write each"),
            (
                "1.34.0",
                "DELETE /api/v1/namespaces/n/pods?labelSelector=a",
                "the namespace + a write per match",
            ),
            ("1.34.0", "GET /api/v1/pods?limit=x", "nothing"),
            ("1.34.0", "GET /healthz", "no object"),
            ("1.34.0", "POST /apis/authorization.k8s.io/v1/subjectaccessreviews", "no object"),
        ] {
            assert_eq!(cost(version, request), expected, "{version} {request}");
        }
    }
}
