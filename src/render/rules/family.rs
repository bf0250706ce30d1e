//! What the rules of a family have in common.

/// Titles by the beginning of the id. A family that is not here has its rules' ids alone.
const TITLES: [(&str, &str); 6] = [
    ("KT1", "Reads that etcd answers"),
    ("KT2", "Requests that ask for more, or for something else, than is meant"),
    ("KT3", "Patterns over time"),
    ("KT4", "Writes, and what is made for one answer"),
    ("KT5", "Who it is"),
    ("KT9", "The log itself"),
];

/// A family's title, if it has one.
#[must_use]
pub fn title(family: &str) -> Option<&'static str> {
    TITLES.into_iter().find(|(own, _)| *own == family).map(|(_, title)| title)
}
