//! Advice for clients that may be one-shot jobs.

use crate::judged::Job;

/// Returns the fix for a job, the fix for a client that keeps running, or both. If `job` is not certain, joins both;
/// the fix for the more likely kind is first.
pub(crate) fn job_advice(job: Job, for_a_job: Option<String>, for_any: Option<String>) -> Option<String> {
    match (job, for_a_job, for_any) {
        (Job::No, _, any) | (_, None, any) => any,
        (Job::Yes, ends, _) | (_, ends, None) => ends,
        (_, Some(ends), Some(on)) if ends == on => Some(on),
        (Job::Likely, Some(ends), Some(on)) => {
            Some(format!("If it runs once and ends, {}\n\nIf it runs on, {}", inside(&ends), inside(&on)))
        }
        (Job::Perhaps, Some(ends), Some(on)) => {
            Some(format!("If it runs on, {}\n\nIf it runs once and ends, {}", inside(&on), inside(&ends)))
        }
    }
}

/// Adapts a text for its place after "If …,": the first word becomes lower case, unless it is a name.
fn inside(text: &str) -> String {
    let first = text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let is_word = first.bytes().skip(1).all(|byte| byte.is_ascii_lowercase()) && first.len() > 1;
    let mut text = text.to_owned();
    if is_word && let Some(start) = text.get_mut(..1) {
        start.make_ascii_lowercase();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn either(job: Job) -> String {
        let text = |text: &str| Some(text.to_owned());
        job_advice(job, text("List once a run."), text("WATCH it.")).expect("a text")
    }

    #[test]
    fn more_likely_advice_is_first() {
        assert_eq!(either(Job::Yes), "List once a run.");
        assert_eq!(either(Job::No), "WATCH it.");
        assert_eq!(
            either(Job::Likely),
            "If it runs once and ends, list once a run.\n\nIf it runs on, WATCH it."
        );
        assert_eq!(
            either(Job::Perhaps),
            "If it runs on, WATCH it.\n\nIf it runs once and ends, list once a run."
        );
    }

    #[test]
    fn other_advice_is_shown_without_a_text_for_jobs() {
        for job in [Job::No, Job::Perhaps, Job::Likely, Job::Yes] {
            assert_eq!(job_advice(job, None, Some("Page.".to_owned())).as_deref(), Some("Page."));
        }
    }
}
