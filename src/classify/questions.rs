//! The questions of the last requests. Most targets differ from others in names alone, and of these what others asked
//! is told again; what else there is is remembered by the whole target.
//!
//! The naive twin is finding out each question anew.

use super::fingerprint::Fingerprints;
use super::question::{AskedOnce, Question};
use super::remembered::Remembered;
use super::template::Template;
use crate::decode::klog::AccessLine;
use crate::k8s::Event;
use crate::k8s::event::ObjectRef;

/// Finds out questions.
#[derive(Debug, Default)]
pub(super) struct Questions {
    by_template: Remembered<Question>,
    by_target: Remembered<Question>,
    asked: AskedOnce,
    /// The last one that was told by its template.
    told: Question,
}

impl Questions {
    /// That of an event. `object` is what its object reference says, where it has no target that can be read, and `key`
    /// is what it is known by.
    pub fn of(
        &mut self,
        prints: &Fingerprints,
        key: u64,
        event: &Event<'_>,
        object: Option<&ObjectRef<'_>>,
    ) -> &Question {
        let template = Template::of(&event.request_uri);
        let template_key = template.as_ref().map(|template| prints.template(&event.verb, template));
        if let (Some(template), Some(key)) = (template, template_key)
            && let Some(alike) = self.by_template.find(key)
        {
            self.told = alike.by(&template);
            return &self.told;
        }
        let texts = event.request_uri.len() + object.map_or(0, Question::size);
        self.by_target.get(key, texts, |question| {
            *question = Question::of(event, object, &mut self.asked);
            if let Some(key) = template_key.filter(|_| question.hangs_on_template) {
                self.by_template.get(key, texts, |alike| *alike = question.clone());
            }
        })
    }

    /// That of a line of an access log.
    pub fn of_line(&mut self, key: u64, line: &AccessLine<'_>) -> &Question {
        self.by_target
            .get(key, line.uri.len(), |question| *question = Question::of_line(line, &mut self.asked))
    }
}
