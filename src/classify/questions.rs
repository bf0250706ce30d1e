//! The questions of the last requests. Most targets differ from others in names alone, and of these what others asked
//! is told again; what else there is is remembered by the whole target.
//!
//! The naive twin is finding out each question anew.

use super::fingerprint::Fingerprints;
use super::question::{AskedOnce, Known, Question};
use super::remembered::Remembered;
use super::template::Template;
use crate::decode::klog::AccessLine;
use crate::k8s::Event;
use crate::k8s::event::ObjectRef;

/// Finds out questions.
#[derive(Debug, Default)]
pub(super) struct Questions {
    by_template: Remembered<Known>,
    by_target: Remembered<Known>,
    asked: AskedOnce,
}

impl Questions {
    /// That of an event. `object` is what its object reference says, where it has no target that can be read, `key` is
    /// what it is known by, and `template` is its target's.
    pub fn of<'q>(
        &'q mut self,
        prints: &Fingerprints,
        key: u64,
        event: &'q Event<'_>,
        object: Option<&ObjectRef<'_>>,
        template: Option<&Template<'q>>,
    ) -> Question<'q> {
        let Self { by_template, by_target, asked } = self;
        let template = template.map(|own| (prints.template(&event.verb, own), own));
        if let Some((key, template)) = template
            && let Some(slot) = by_template.slot(key)
        {
            return by_template.at(slot).by(template);
        }
        let texts = event.request_uri.len() + object.map_or(0, Known::size);
        let known = by_target.get(key, texts, |known| {
            *known = Known::of(event, object, asked);
            if let Some((key, _)) = template.filter(|(_, template)| known.hangs_on(template)) {
                // It holds the selectors, so that only shorter ones are remembered.
                by_template.get(key, 4 * texts, |alike| *alike = known.clone());
            }
            known.forget_selectors();
        });
        known.question()
    }

    /// That of a line of an access log.
    pub fn of_line(&mut self, key: u64, line: &AccessLine<'_>) -> Question<'_> {
        let Self { by_target, asked, .. } = self;
        by_target.get(key, line.uri.len(), |known| *known = Known::of_line(line, asked)).question()
    }
}
