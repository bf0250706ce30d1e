//! The `stats.*` variables about deprecated API versions.

use super::group::{GroupGetter, RowGroup};
use super::value::{Variable, variables};
use crate::ledger::Deprecated;

fn of_rows<'g>(group: &'g RowGroup<'_>) -> impl Iterator<Item = (&'g Deprecated, u16)> {
    group
        .rows
        .iter()
        .filter_map(|facts| Some((facts.row.rare().deprecated.as_deref()?, facts.key.kube_version.minor)))
}

pub(super) const DEPRECATIONS: &[Variable<GroupGetter>] = variables! { |group|
    /// Requests to an API version that the server marks as deprecated.
    deprecated: Int = of_rows(group).map(|(deprecated, _)| deprecated.requests).sum::<u64>();
    /// The first release that removes such an API version, such as `1.25`; empty if the server names none.
    removedRelease: Text = {
        let releases = of_rows(group).filter_map(|(deprecated, _)| deprecated.removed_in);
        releases.min().map_or(String::new(), |(major, minor)| format!("{major}.{minor}"))
    };
    /// The number of minor versions from the server's version to that release: 1 for the next one. 0 if that release is
    /// not newer, or if the server names none.
    minorsToRemoval: Int = {
        let minors = of_rows(group).filter_map(|(deprecated, own)| {
            let (major, minor) = deprecated.removed_in?;
            (major == 1).then(|| u64::from(minor).saturating_sub(u64::from(own)))
        });
        minors.min().unwrap_or(0)
    };
};
