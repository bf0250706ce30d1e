//! Caches parsed request targets: first by URL template (names removed), then by the whole URL. For targets with a
//! template, a third table keeps the few values that differ by name.
//!
//! The naive twin parses each target.

use super::cache::Cache;
use super::fingerprint::Fingerprints;
use super::request_spec::{CachedTarget, RequestSpec, ShapeInterner, TargetDetails};
use super::template::Template;
use crate::decode::klog::AccessLine;
use crate::k8s::Event;
use crate::k8s::event::ObjectRef;

/// Slots of the table of template hits. The table fits into the processor's cache.
const AGAIN: usize = 1 << 12;

#[derive(Debug, Default)]
pub(super) struct SpecCache {
    by_template: Cache<CachedTarget>,
    by_target: Cache<CachedTarget>,
    asked: ShapeInterner,
    /// By the target's key.
    again: Vec<Again>,
}

/// A target whose template is cached.
#[derive(Debug, Default, Clone, Copy)]
struct Again {
    /// The key of the target; 0 for an empty slot.
    key: u64,
    /// The key of the template, and its slot in `by_template`.
    template: (u64, usize),
    own: TargetDetails,
}

impl SpecCache {
    /// The index of `key` in the table of template hits, if the template is still cached.
    pub fn place(&self, key: u64) -> Option<usize> {
        let place = place_of(key);
        let Again { key: own, template: (template, slot), .. } = *self.again.get(place)?;
        (own == key && self.by_template.holds(slot, template)).then_some(place)
    }

    /// The spec of `target` at an index that `place` just returned.
    pub fn at<'q>(&'q self, place: usize, target: &'q str) -> RequestSpec<'q> {
        let again = &self.again[place];
        self.by_template.at(again.template.1).of(&again.own, target)
    }

    /// The spec of an event with this key. `object` is its object reference, if it has no valid target. `template` is the
    /// template of its target.
    pub fn of<'q>(
        &'q mut self,
        prints: &Fingerprints,
        key: u64,
        event: &'q Event<'_>,
        object: Option<&ObjectRef<'_>>,
        template: Option<&Template<'q>>,
    ) -> RequestSpec<'q> {
        let Self { by_template, by_target, asked, again } = self;
        let template = template.map(|own| (prints.template(&event.verb, own), own));
        if let Some((template_key, template)) = template
            && let Some(slot) = by_template.slot(template_key)
        {
            let known = by_template.at(slot);
            let own = known.by(template);
            again.resize(AGAIN, Again::default());
            again[place_of(key)] = Again { key, template: (template_key, slot), own };
            return known.of(&own, &event.request_uri);
        }
        let texts = event.request_uri.len() + object.map_or(0, CachedTarget::size);
        let known = by_target.get(key, texts, |known| {
            *known = CachedTarget::of_event(event, object, asked);
            if let Some((key, _)) = template.filter(|(_, template)| known.hangs_on(template)) {
                // The template's entry keeps the selectors, which make it larger.
                by_template.get(key, 4 * texts, |alike| *alike = known.clone());
            }
            known.forget_selectors();
        });
        known.spec()
    }

    /// The spec of an access line.
    pub fn of_line(&mut self, key: u64, line: &AccessLine<'_>) -> RequestSpec<'_> {
        let Self { by_target, asked, .. } = self;
        by_target.get(key, line.uri.len(), |known| *known = CachedTarget::of_line(line, asked)).spec()
    }
}

fn place_of(key: u64) -> usize {
    (key >> 32) as usize % AGAIN
}
