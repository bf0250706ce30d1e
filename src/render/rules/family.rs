//! Titles of rule families.

/// The title of each family, by the start of its rule ids. For any other family, the start of its rule ids is shown.
const TITLES: [(&str, &str); 7] = [
    ("KT1", "Reads from etcd"),
    ("KT2", "Requests that do not do what their author wants"),
    ("KT3", "Patterns over time"),
    ("KT4", "Writes, access reviews and tokens"),
    ("KT5", "Identity of clients"),
    ("KT6", "Budgets"),
    ("KT9", "The log"),
];

pub(crate) fn title(family: &str) -> Option<&'static str> {
    TITLES.into_iter().find(|(own, _)| *own == family).map(|(_, title)| title)
}
