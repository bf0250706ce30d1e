//! Splits contradicting facts into groups, one for each server. Also checks whether the servers replaced one another
//! over time.

use super::facts::{Fact, Trust, VersionFacts, sum};
use crate::apiserver::Releases;
use crate::ledger::{Change, Presence};

/// The maximum number of servers into which a log is split.
const MAX_SERVERS: usize = 8;

/// Facts that are consistent with one server, and the releases that are consistent with all of them.
#[derive(Debug, Clone)]
pub(super) struct FactGroup<'a> {
    pub(crate) set: Releases,
    facts: Vec<&'a Fact>,
}

impl<'a> FactGroup<'a> {
    /// Moves `seed`, and the facts that can be true together with it, from `rest` to a new group. Earlier facts take
    /// precedence.
    fn take(rest: &mut Vec<&'a Fact>, seed: &'a Fact) -> Self {
        let mut group = Self { set: seed.allows.clone(), facts: vec![seed] };
        rest.retain(|fact| {
            if std::ptr::eq(*fact, seed) {
                return false;
            }
            let left = group.set.and(&fact.allows);
            if left.is_empty() {
                return true;
            }
            group.set = left;
            group.facts.push(fact);
            false
        });
        let modeled = group.set.and(&Releases::modeled());
        if !modeled.is_empty() {
            group.set = modeled;
        }
        group
    }

    fn is_stated(&self) -> bool {
        self.facts.iter().any(|fact| fact.trust == Trust::Stated)
    }
}

/// Facts, grouped by server.
#[derive(Debug)]
pub(super) struct FactGroups<'a> {
    /// At least one group. No two groups share a release.
    pub(crate) servers: Vec<FactGroup<'a>>,
    /// Facts that contradict more trusted facts, but do not prove another server. The cause may be a setting of the
    /// server. It may also be a node with a version that the server does not support.
    contradictions: Vec<&'a Fact>,
}

impl VersionFacts {
    /// Groups the facts by server. A fact that contradicts a more trusted fact may show another server. But the
    /// contradiction may also come from a setting of the server. Or it may come from a node with a version that the
    /// server does not support. In these two cases, kubetoll does not use the less trusted fact.
    pub(crate) fn groups(&self) -> FactGroups<'_> {
        let mut rest: Vec<&Fact> = self.all.iter().collect();
        let Some(seed) = rest.first().copied() else {
            let all = FactGroup { set: Releases::modeled(), facts: Vec::new() };
            return FactGroups { servers: vec![all], contradictions: Vec::new() };
        };
        let mut servers = vec![FactGroup::take(&mut rest, seed)];
        while servers.len() < MAX_SERVERS
            && let Some(seed) = rest.iter().copied().find(|fact| self.is_of_another(fact, &servers[0]))
        {
            servers.push(FactGroup::take(&mut rest, seed));
        }
        FactGroups { servers, contradictions: rest }
    }

    /// Whether the fact proves a second server. If the fact is a version that a server states, it is always a proof.
    /// Other facts may have another cause: a setting of the server, or a node with an unsupported version.
    fn is_of_another(&self, fact: &Fact, first: &FactGroup<'_>) -> bool {
        match fact.trust {
            Trust::Stated => true,
            _ if first.is_stated() => false,
            Trust::Shown | Trust::ControlPlane => true,
            // A few nodes may have a version that the server does not support.
            Trust::Nodes => !fact.is_rare,
            // If the log also shows the opposite fact, a setting alone cannot explain both facts.
            Trust::Settings => self.all.iter().any(|other| other.allows == fact.allows.others()),
            Trust::Measured => false,
        }
    }

    /// The times at which the log shows facts that are consistent with `set` and not with `other`.
    fn presence_of(&self, set: &Releases, other: &Releases) -> Presence {
        let shown = self.all.iter().filter(|fact| fact.fits_any(set) && !fact.fits_any(other));
        sum(shown.map(|fact| &fact.presence))
    }

    /// The servers in the order of time. Each comes with the change from the server before it. Returns `None` if
    /// their evidence overlaps too much in time.
    pub(crate) fn in_time(&self, servers: &[FactGroup<'_>]) -> Option<Vec<(Change, usize)>> {
        let presence = |one: usize, other: usize| self.presence_of(&servers[one].set, &servers[other].set);
        let others = |one: usize| (0..servers.len()).filter(move |other| *other != one);
        let first = |one: usize| others(one).filter_map(|other| presence(one, other).span()).min();
        let mut order: Vec<usize> = (0..servers.len()).collect();
        order.sort_by_cached_key(|one| first(*one));
        let mut changes = vec![(Change::BEGINNING, order[0])];
        for (at, later) in order.iter().enumerate().skip(1) {
            let mut change = Change::BEGINNING;
            for earlier in &order[..at] {
                change = presence(*earlier, *later).precedes(&presence(*later, *earlier))?;
            }
            changes.push((change, *later));
        }
        Some(changes)
    }

    /// The facts that are consistent with `set` and exclude at least one of `others`. The most trusted facts are
    /// first.
    pub(crate) fn that_show<'f>(
        &'f self,
        set: &'f Releases,
        others: &'f [Releases],
    ) -> impl Iterator<Item = &'f Fact> {
        let excludes_any = move |fact: &Fact| others.iter().any(|other| !fact.fits_any(other));
        self.all.iter().filter(move |fact| fact.fits_any(set) && excludes_any(fact))
    }
}

impl FactGroups<'_> {
    /// Notes on facts that contradict more trusted ones.
    pub(crate) fn notes(&self) -> Vec<String> {
        let used = || self.servers.iter().flat_map(|server| &server.facts);
        let note = |fact: &&Fact| {
            let other = used().find(|used| used.allows.and(&fact.allows).is_empty());
            let rest = other.map_or_else(
                || format!("all other evidence together fits {}", self.servers[0].set),
                |other| format!("{} ({})", other.text, other.fits()),
            );
            let reason = match fact.trust {
                Trust::Nodes => "these nodes may have a version that the server does not support",
                _ => "a setting of the server is not at its default",
            };
            format!(
                "the evidence of the version is contradictory: {} ({}), but {rest}; the log may hold two servers or an \
                 upgrade, or {reason}",
                fact.text,
                fact.fits()
            )
        };
        self.contradictions.iter().take(3).map(note).collect()
    }
}
