//! All variables that rules may use, and their lookup by name.

use super::facts::{CLIENT, REQUEST, SERVER};
use super::input::INPUT;
use super::stats::STATS;
use super::value::{Kind, VariableValue};
use crate::named::named;

named! {
    /// The part of a variable before the dot.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Root {
        Client = "client",
        /// The request shape of a row, with its verdict.
        Request = "request",
        /// The apiserver that served the requests of a row.
        Server = "server",
        /// Counts, rates and other figures of a group of rows.
        Stats = "stats",
        Input = "input",
        Threshold = "threshold",
    }
    pub(crate) fn as_str;
    pub(crate) const ALL;
}

impl Root {
    /// The description of the root in the rule reference.
    pub(crate) fn doc(self) -> &'static str {
        match self {
            Self::Client => "The client: its identity, and the product of its user agent.",
            Self::Request => "The request shape, and where it was served from.",
            Self::Server => "The apiserver that served the requests.",
            Self::Stats => "Numbers of the group of rows that `groupBy` makes.",
            Self::Input => "The whole input; only for rules with `groupBy: [input]`.",
            Self::Threshold => "The rule's own `thresholds`. A policy file can change them.",
        }
    }

    /// The variables of this root, each with its type and description. Empty for thresholds, because each rule defines
    /// its own.
    #[must_use]
    pub fn names(self) -> Vec<(&'static str, Kind, &'static str)> {
        fn all<Get>(names: &[super::value::Variable<Get>]) -> Vec<(&'static str, Kind, &'static str)> {
            names.iter().map(|name| (name.name, name.kind, name.doc)).collect()
        }
        match self {
            Self::Client => all(CLIENT),
            Self::Request => all(REQUEST),
            Self::Server => all(SERVER),
            Self::Stats => all(&STATS),
            Self::Input => all(INPUT),
            Self::Threshold => Vec::new(),
        }
    }
}

/// A variable: its root and its index in the root's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableRef {
    pub root: Root,
    pub index: usize,
}

impl VariableRef {
    /// Returns the part of the name after the dot. `thresholds` are those of the rule.
    pub(super) fn name(self, thresholds: &[(String, f64)]) -> &str {
        match self.root {
            Root::Threshold => &thresholds[self.index].0,
            root => root.names()[self.index].0,
        }
    }
}

/// The variables that a condition or a text may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VariableScope<'a> {
    pub(crate) roots: &'a [Root],
    /// The rule's thresholds and their values.
    pub(crate) thresholds: &'a [(String, f64)],
}

impl VariableScope<'_> {
    pub(crate) fn find(&self, root: Root, name: &str) -> Option<(VariableRef, Kind)> {
        let (index, kind) = if root == Root::Threshold {
            let index = self.thresholds.iter().position(|(own, _)| own == name)?;
            (index, threshold_kind(self.thresholds[index].1))
        } else {
            let names = root.names();
            let index = names.iter().position(|(own, ..)| *own == name)?;
            (index, names[index].1)
        };
        Some((VariableRef { root, index }, kind))
    }

    /// The names of all variables of a root.
    pub(crate) fn words(&self, root: Root) -> Vec<&str> {
        match root {
            Root::Threshold => self.thresholds.iter().map(|(name, _)| name.as_str()).collect(),
            root => root.names().into_iter().map(|(name, ..)| name).collect(),
        }
    }
}

/// Returns the CEL type of a threshold. Whole numbers are `int`, because CEL cannot mix int and double in arithmetic.
pub(crate) fn threshold_kind(value: f64) -> Kind {
    if value.fract() == 0.0 { Kind::Int } else { Kind::Double }
}

#[allow(clippy::cast_possible_truncation, reason = "whole numbers of a rule file come from an i64")]
pub(super) fn threshold_value(value: f64) -> VariableValue<'static> {
    if threshold_kind(value) == Kind::Int {
        VariableValue::Int(value as i64)
    } else {
        VariableValue::Double(value)
    }
}
