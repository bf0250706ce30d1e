//! Findings that only one side has.

use std::collections::BTreeSet;

use super::contract::{DiffFinding, RequestDifference};
use super::names::NameFolding;
use super::side::Side;

/// The findings that only one side has.
pub(super) struct FindingDifferences {
    pub(super) new: Vec<DiffFinding>,
    pub(super) gone: Vec<DiffFinding>,
    /// Their requests did not change by more than chance.
    pub(super) undecided: Vec<DiffFinding>,
}

impl FindingDifferences {
    /// Compares the findings of both sides. `changes` are the requests that changed.
    pub(super) fn new(base: &Side, new: &Side, folding: &NameFolding, changes: &[RequestDifference]) -> Self {
        let sides = [findings("base", base, folding), findings("new", new, folding)];
        let shapes: BTreeSet<_> = changes.iter().map(|change| (&*change.client, &*change.shape)).collect();
        let clients: BTreeSet<_> = changes.iter().map(|change| &*change.client).collect();
        let is_decided = |finding: &DiffFinding| match &finding.shape {
            Some(shape) => shapes.contains(&(&*finding.client, &**shape)),
            None => clients.contains(&*finding.client),
        };
        let only_in = |side: usize| {
            let mut known: BTreeSet<_> = sides[1 - side].iter().map(DiffFinding::key).collect();
            let own = sides[side].iter().filter(|finding| known.insert(finding.key()));
            own.cloned().partition::<Vec<_>, _>(is_decided)
        };
        let ((gone, undecided_gone), (new, mut undecided)) = (only_in(0), only_in(1));
        undecided.extend(undecided_gone);
        Self { new, gone, undecided }
    }
}

/// The findings on clients. Findings on the log itself are about no program.
fn findings(name: &'static str, side: &Side, folding: &NameFolding) -> Vec<DiffFinding> {
    let all = side.runs.iter().flat_map(|(_, run)| &run.findings);
    let of_clients = all.filter_map(|finding| {
        Some(DiffFinding {
            side: name,
            rule: finding.rule.clone(),
            rule_name: finding.rule_name.clone(),
            severity: finding.severity.clone(),
            client: folding.fold(finding.client.as_ref()?),
            shape: finding.shape.clone(),
            message: finding.message.clone(),
        })
    });
    of_clients.collect()
}

impl DiffFinding {
    /// Rules KT5 judge a client, and not one shape of its requests.
    fn key(&self) -> (&str, &str, Option<&str>) {
        (&self.rule, &self.client, self.shape.as_deref().filter(|_| !self.rule.starts_with("KT5")))
    }
}
