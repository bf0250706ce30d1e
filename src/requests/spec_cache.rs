//! The questions of the last requests. Most targets differ from others in names alone, and of these what others asked
//! is told again; what else there is is remembered by the whole target. Many targets come again themselves: what was told
//! of one by its template is kept beside that.
//!
//! The naive twin is finding out each spec anew.

use super::cache::Cache;
use super::fingerprint::Fingerprints;
use super::request_spec::{CachedTarget, RequestSpec, ShapeInterner, TargetDetails};
use super::template::Template;
use crate::decode::klog::AccessLine;
use crate::k8s::Event;
use crate::k8s::event::ObjectRef;

/// Of how many targets it is kept what was told by their templates: they fit into the processor's cache.
const AGAIN: usize = 1 << 12;

/// Finds out questions.
#[derive(Debug, Default)]
pub(super) struct SpecCache {
    by_template: Cache<CachedTarget>,
    by_target: Cache<CachedTarget>,
    asked: ShapeInterner,
    /// By what they are known by.
    again: Vec<Again>,
}

/// What was told of a target by its template.
#[derive(Debug, Default, Clone, Copy)]
struct Again {
    /// What the spec is known by; 0 for none.
    key: u64,
    /// What the template is known by, and where it is remembered.
    template: (u64, usize),
    own: TargetDetails,
}

impl SpecCache {
    /// Where it is kept what is known by `key`, if that was told by a template a short while ago.
    pub fn place(&self, key: u64) -> Option<usize> {
        let place = place_of(key);
        let Again { key: own, template: (template, slot), .. } = *self.again.get(place)?;
        (own == key && self.by_template.holds(slot, template)).then_some(place)
    }

    /// What is kept in a place that was just found, of a target.
    pub fn at<'q>(&'q self, place: usize, target: &'q str) -> RequestSpec<'q> {
        let again = &self.again[place];
        self.by_template.at(again.template.1).of(&again.own, target)
    }

    /// That of an event. `object` is what its object reference says, where it has no target that can be read, `key` is
    /// what it is known by, and `template` is its target's.
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
                // It holds the selectors, so that only shorter ones are remembered.
                by_template.get(key, 4 * texts, |alike| *alike = known.clone());
            }
            known.forget_selectors();
        });
        known.spec()
    }

    /// That of a line of an access log.
    pub fn of_line(&mut self, key: u64, line: &AccessLine<'_>) -> RequestSpec<'_> {
        let Self { by_target, asked, .. } = self;
        by_target.get(key, line.uri.len(), |known| *known = CachedTarget::of_line(line, asked)).spec()
    }
}

fn place_of(key: u64) -> usize {
    (key >> 32) as usize % AGAIN
}
