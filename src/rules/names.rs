//! All names that rules may use, and how one is looked up.

use super::facts::{CLIENT, REQUEST, SERVER};
use super::input::INPUT;
use super::stats::STATS;
use super::value::Kind;

/// What stands before the point of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Root {
    /// The client of a row.
    Client,
    /// The shape of a row.
    Request,
    /// The server that a row is judged for.
    Server,
    /// A group of rows.
    Stats,
    /// What was read.
    Input,
    /// The rule's own numbers.
    Threshold,
}

impl Root {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Client, Self::Request, Self::Server, Self::Stats, Self::Input, Self::Threshold];

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Request => "request",
            Self::Server => "server",
            Self::Stats => "stats",
            Self::Input => "input",
            Self::Threshold => "threshold",
        }
    }

    /// What it is, for the reference.
    #[must_use]
    pub fn doc(self) -> &'static str {
        match self {
            Self::Client => "Who asks: the identity, and the product of the user agent.",
            Self::Request => "What is asked, and where it was answered from: one shape.",
            Self::Server => "The server that the requests are judged for.",
            Self::Stats => "Numbers of the group of rows that `groupBy` makes.",
            Self::Input => "What was read; for rules with `groupBy: [input]` only.",
            Self::Threshold => "The rule's own `thresholds`, which a policy file may set otherwise.",
        }
    }

    /// The names below it, with type and meaning. Thresholds are each rule's own.
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

/// A name: its root and its place in the root's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableRef {
    /// What stands before the point.
    pub root: Root,
    /// Which of its names.
    pub index: usize,
}

/// What a condition or a text may name.
#[derive(Debug, Clone, Copy)]
pub struct VariableScope<'a> {
    /// The roots.
    pub roots: &'a [Root],
    /// The rule's thresholds, and whether each is a whole number.
    pub thresholds: &'a [(String, f64)],
}

impl VariableScope<'_> {
    /// Finds a name below a root.
    #[must_use]
    pub fn find(&self, root: Root, name: &str) -> Option<(VariableRef, Kind)> {
        fn position<Get>(names: &[super::value::Variable<Get>], name: &str) -> Option<(usize, Kind)> {
            names.iter().position(|own| own.name == name).map(|index| (index, names[index].kind))
        }
        let (index, kind) = match root {
            Root::Client => position(CLIENT, name),
            Root::Request => position(REQUEST, name),
            Root::Server => position(SERVER, name),
            Root::Stats => position(&STATS, name),
            Root::Input => position(INPUT, name),
            Root::Threshold => {
                let index = self.thresholds.iter().position(|(own, _)| own == name)?;
                Some((index, threshold_kind(self.thresholds[index].1)))
            }
        }?;
        Some((VariableRef { root, index }, kind))
    }

    /// The words below a root.
    #[must_use]
    pub fn words(&self, root: Root) -> Vec<&str> {
        match root {
            Root::Threshold => self.thresholds.iter().map(|(name, _)| name.as_str()).collect(),
            root => root.names().into_iter().map(|(name, ..)| name).collect(),
        }
    }
}

/// Whole numbers are whole: CEL adds and multiplies no int with a double.
#[must_use]
pub fn threshold_kind(value: f64) -> Kind {
    if value.fract() == 0.0 { Kind::Int } else { Kind::Double }
}
