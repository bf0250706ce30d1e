//! Facts of an event that are true or false. The ledger counts the events of each row that have a fact.

use crate::k8s::Event;

/// Defines [`EventFact`]. Each row has a description, a variant, and a function that returns whether an event has the
/// fact.
macro_rules! event_facts {
    ($($(#[$doc:meta])* $variant:ident = $holds:expr,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum EventFact {
            $($(#[$doc])* $variant,)+
        }

        impl EventFact {
            pub(crate) const COUNT: usize = [$(Self::$variant),+].len();
        }

        impl EventFacts {
            /// The facts of an event that ends a request.
            pub(super) fn from_event(event: &Event<'_>) -> Self {
                let holds: [fn(&Event<'_>) -> bool; EventFact::COUNT] = [$($holds),+];
                Self(holds.map(|holds| holds(event)))
            }
        }
    };
}

event_facts! {
    /// The status is 403 although authorization allowed the request. Then admission refused it.
    RefusedByAdmission = |event| event.annotations.as_ref().is_some_and(|own| &*own.decision == "allow"),
}

/// For each [`EventFact`]: whether the event has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EventFacts(pub(crate) [bool; EventFact::COUNT]);

impl EventFacts {
    /// Whether the event has at least one fact.
    pub(crate) fn any(self) -> bool {
        self.0.contains(&true)
    }
}
