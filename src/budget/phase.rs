//! The numbers that a budget limits.

use crate::named::named;

named! {
    /// What a limit counts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Phase {
        /// Requests for each start.
        Start = "perStart",
        /// Requests per minute, in steady state.
        Minute = "perMinute",
        /// Watches that are open at the same time.
        Watches = "watches",
    }
    /// The key in the file.
    pub(crate) fn as_str;
    pub(crate) const ALL;
}

impl Phase {
    /// Whether the number is a count in each run. A rate is not.
    pub(crate) fn is_whole(self) -> bool {
        self != Self::Minute
    }

    /// The number in a sentence: `12 per minute`.
    pub(crate) fn text(self, number: &str) -> String {
        match self {
            Self::Start => format!("{number} for each start"),
            Self::Minute => format!("{number} per minute"),
            Self::Watches if number == "1" => "1 open watch".to_owned(),
            Self::Watches => format!("{number} open watches"),
        }
    }
}
