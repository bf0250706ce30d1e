//! What the rules of a family have in common.

/// Titles by the beginning of the id. A family that is not here has its rules' ids alone.
const TITLES: [(&str, &str); 6] = [
    ("KT1", "Reads from etcd"),
    ("KT2", "Requests that do not do what their author wants"),
    ("KT3", "Patterns over time"),
    ("KT4", "Writes, access reviews and tokens"),
    ("KT5", "Identity of clients"),
    ("KT9", "The log"),
];

/// A family's title, if it has one.
#[must_use]
pub fn title(family: &str) -> Option<&'static str> {
    TITLES.into_iter().find(|(own, _)| *own == family).map(|(_, title)| title)
}
