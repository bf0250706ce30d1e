//! Caches parsed request targets: first by URL template (names removed), then by the whole URL. For targets with a
//! template, a third table keeps the few values that differ between the targets of a template.
//!
//! Tests compare it with parsing each target.

use super::fingerprint::Fingerprints;
use super::request_spec::{CachedTarget, RequestSpec, ShapeInterner, TargetDetails};
use super::template::Template;
use crate::cache::Cache;
use crate::decode::klog::AccessLine;
use crate::k8s::Event;
use crate::k8s::event::{ObjectRef, Text};

#[derive(Debug, Default)]
pub(super) struct SpecCache {
    by_template: Cache<CachedTarget>,
    by_target: Cache<CachedTarget>,
    shapes: ShapeInterner,
    /// Targets whose templates are cached.
    template_hits: Cache<TemplateHit>,
}

/// A target whose template is cached.
#[derive(Debug, Default, Clone, Copy)]
struct TemplateHit {
    /// The key of the template, and its slot in `by_template`.
    template: (u64, usize),
    own: TargetDetails,
}

impl SpecCache {
    /// The slot of the target with this key in `template_hits`, if the template of the target is still cached.
    pub(crate) fn template_hit(&mut self, key: u64) -> Option<usize> {
        let hit = self.template_hits.slot(key)?;
        let (template, slot) = self.template_hits.at(hit).template;
        self.by_template.holds(slot, template).then_some(hit)
    }

    /// The spec of `target` in a slot that [`SpecCache::template_hit`] just returned.
    pub(crate) fn at<'q>(&'q self, hit: usize, target: &'q str) -> RequestSpec<'q> {
        let hit = self.template_hits.at(hit);
        self.by_template.at(hit.template.1).spec_with(&hit.own, target)
    }

    /// The spec of an event with this key. For an event without a valid target, `object` is the object reference of
    /// the event. `template` is the template of the event's target.
    pub(crate) fn event_spec<'q>(
        &'q mut self,
        prints: &Fingerprints,
        key: u64,
        event: &'q Event<'_>,
        object: Option<&ObjectRef<Text<'_>>>,
        template: Option<&Template<'q>>,
    ) -> RequestSpec<'q> {
        let Self { by_template, by_target, shapes, template_hits } = self;
        let template = template.map(|own| (prints.template(&event.verb, own), own));
        if let Some((template_key, template)) = template
            && let Some(slot) = by_template.slot(template_key)
        {
            let cached = by_template.at(slot);
            let own = cached.details(template);
            let hit = template_hits.slot(key).unwrap_or_else(|| template_hits.free(key));
            *template_hits.at_mut(hit) = TemplateHit { template: (template_key, slot), own };
            return cached.spec_with(&own, &event.request_uri);
        }
        let texts = event.request_uri.len() + object.map_or(0, CachedTarget::size);
        let cached = by_target.get(key, texts, |cached| {
            *cached = CachedTarget::from_event(event, object, shapes);
            if let Some((key, _)) = template.filter(|(_, template)| cached.shares_shape_with(template)) {
                // A template's entry keeps the selectors, so it is larger than a target's entry. So the cache accepts
                // only a quarter of the usual text length.
                by_template.get(key, 4 * texts, |slot| *slot = cached.clone());
            }
            cached.drop_selectors();
        });
        cached.spec()
    }

    /// The spec of an access line.
    pub(crate) fn access_line_spec(&mut self, key: u64, line: &AccessLine<'_>) -> RequestSpec<'_> {
        let Self { by_target, shapes, .. } = self;
        by_target
            .get(key, line.uri.len(), |cached| *cached = CachedTarget::from_access_line(line, shapes))
            .spec()
    }
}
