//! Facts that exclude each other: which of them are of one server, and whether servers follow each other in time.

use super::facts::{Fact, Facts, Trust};
use crate::apiserver::Releases;
use crate::ledger::{Change, Presence};

/// How many servers are told apart in one log.
const MAX_SERVERS: usize = 8;

/// Facts that fit one server, and the releases that they leave.
#[derive(Debug, Clone)]
pub(super) struct Group<'a> {
    pub set: Releases,
    facts: Vec<&'a Fact>,
}

impl<'a> Group<'a> {
    /// Takes the facts that fit together, the first ones first, and leaves the others.
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

/// The servers that facts are of.
#[derive(Debug)]
pub(super) struct Groups<'a> {
    /// At least one; no two have a release in common.
    pub servers: Vec<Group<'a>>,
    /// Facts that contradict more trusted ones, and that a setting or an unsupported node explains.
    contradictions: Vec<&'a Fact>,
}

impl Facts {
    /// Which facts are of one server. A fact that excludes the more trusted ones is of another server, unless a setting
    /// or an unsupported node explains it.
    pub fn groups(&self) -> Groups<'_> {
        let mut rest: Vec<&Fact> = self.all.iter().collect();
        let Some(seed) = rest.first().copied() else {
            let all = Group { set: Releases::modeled(), facts: Vec::new() };
            return Groups { servers: vec![all], contradictions: Vec::new() };
        };
        let mut servers = vec![Group::take(&mut rest, seed)];
        while servers.len() < MAX_SERVERS
            && let Some(seed) = rest.iter().copied().find(|fact| self.is_of_another(fact, &servers[0]))
        {
            servers.push(Group::take(&mut rest, seed));
        }
        Groups { servers, contradictions: rest }
    }

    /// Whether the fact needs a second server. A server's own statement is reliable. An unsupported node or a setting can
    /// explain other facts.
    fn is_of_another(&self, fact: &Fact, first: &Group<'_>) -> bool {
        match fact.trust {
            Trust::Stated => true,
            _ if first.is_stated() => false,
            Trust::Shown | Trust::ControlPlane => true,
            // A few nodes may be out of support.
            Trust::Nodes => !fact.is_rare,
            // The same was answered in both ways.
            Trust::Settings => self.all.iter().any(|other| other.allows == fact.allows.others()),
            Trust::Measured => false,
        }
    }

    /// When facts are seen that fit the one set and not the other.
    fn presence_of(&self, set: &Releases, other: &Releases) -> Presence {
        let mut presence = Presence::default();
        for fact in self.all.iter().filter(|fact| fact.fits_any(set) && !fact.fits_any(other)) {
            presence.merge(&fact.presence);
        }
        presence
    }

    /// The servers in the order of time, each with its change from the one before, if most evidence of each is before that
    /// of the next.
    pub fn in_time(&self, servers: &[Group<'_>]) -> Option<Vec<(Change, usize)>> {
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

    /// What shows that a server is of a set and not of the others, the most trusted first.
    pub fn that_show<'f>(
        &'f self,
        set: &'f Releases,
        others: &'f [Releases],
    ) -> impl Iterator<Item = &'f Fact> {
        let excludes_any = move |fact: &Fact| others.iter().any(|other| !fact.fits_any(other));
        self.all.iter().filter(move |fact| fact.fits_any(set) && excludes_any(fact))
    }
}

impl Groups<'_> {
    /// What a reader should know of facts that contradict more trusted ones.
    pub fn notes(&self) -> Vec<String> {
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
