//! Cuts client names to the width of a column. Different names stay different if possible.

use std::collections::{BTreeMap, BTreeSet};

use super::display::{cut_middle, fitting, width};

/// The minimum number of columns for the part of a name before its suffix in parentheses.
const LEAST: usize = 6;
/// If the prefix that names share is cut, this many columns of its beginning stay.
const BEGIN: usize = 5;
/// If the prefix that names share is cut, this many characters of its end stay.
const BEFORE: usize = 2;

/// A way to cut a name to a number of columns.
type Cut<'c> = dyn Fn(&str, usize) -> String + 'c;

/// The ways to cut a name, the preferred one first.
const CUTS: [&Cut<'static>; 5] = [
    &|name, room| cut_middle(name, room, 7).into_owned(),
    &|name, room| match name.split_once('/') {
        Some((namespace, name)) => {
            let namespace = cut_middle(namespace, room / 3, 7);
            let room = room.saturating_sub(width(&namespace) + 1);
            format!("{namespace}/{}", cut_middle(name, room, 7))
        }
        None => cut_middle(name, room, 5).into_owned(),
    },
    &|name, room| cut_middle(name, room, 9).into_owned(),
    &|name, room| cut_middle(name, room, 3).into_owned(),
    &|name, room| cut_middle(name, room, 1).into_owned(),
];

/// Cuts names to at most `room` columns. Different names stay different if possible.
pub(super) fn shortened(names: &[String], room: usize) -> Vec<String> {
    let all: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let mut same: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in all {
        same.entry(cut(name, room, CUTS[0])).or_default().push(name);
    }
    let mut taken: BTreeSet<String> = same.keys().cloned().collect();
    let mut cuts: BTreeMap<&str, String> = BTreeMap::new();
    for (short, group) in same {
        let ways = if group.len() > 1 { distinct(&group, room, &taken) } else { None };
        let ways = ways.unwrap_or_else(|| vec![short; group.len()]);
        taken.extend(ways.iter().cloned());
        cuts.extend(group.into_iter().zip(ways));
    }
    names.iter().map(|name| cuts[name.as_str()].clone()).collect()
}

/// Cuts names that the preferred way would make equal. Uses the way that keeps the most names different.
fn distinct(group: &[&str], room: usize, taken: &BTreeSet<String>) -> Option<Vec<String>> {
    let common = common_begin(group);
    let shows_difference = |name: &str, room: usize| from_difference(name, common, room);
    let ways = std::iter::once(&shows_difference as &Cut<'_>).chain(CUTS[1..].iter().copied());
    let cut_in = |way: &Cut<'_>| -> Vec<String> { group.iter().map(|name| cut(name, room, way)).collect() };
    let differ =
        |cuts: &Vec<String>| cuts.iter().filter(|cut| !taken.contains(*cut)).collect::<BTreeSet<_>>().len();
    let mut best: Option<(usize, Vec<String>)> = None;
    for cuts in ways.map(cut_in) {
        let number = differ(&cuts);
        if best.as_ref().is_none_or(|(most, _)| number > *most) {
            best = Some((number, cuts));
        }
        if number == group.len() {
            break;
        }
    }
    best.filter(|(number, _)| *number > 1).map(|(_, cuts)| cuts)
}

/// Returns the length of the prefix that all names share, in bytes.
fn common_begin(names: &[&str]) -> usize {
    let Some((first, others)) = names.split_first() else { return 0 };
    let same = |other: &&str| {
        let pairs = first.char_indices().zip(other.chars());
        let differs = pairs.into_iter().find(|((_, a), b)| a != b).map(|((at, _), _)| at);
        differs.unwrap_or(first.len().min(other.len()))
    };
    others.iter().map(same).min().unwrap_or(0)
}

/// Cuts a name so that the text after the common prefix is visible: `user long.person.7@…`, `user…erson.7@…`.
fn from_difference(name: &str, common: usize, room: usize) -> String {
    let room = room.saturating_sub(1);
    let (same, rest) = name.split_at(name.floor_char_boundary(common));
    // At least half of the room must show the difference.
    if width(same) <= room / 2 || width(same) + width(rest).min(LEAST) <= room {
        return format!("{}…", &name[..fitting(name, room)]);
    }
    let begin = &name[..fitting(name, BEGIN)];
    let mut from = same.len();
    for (at, _) in same.char_indices().rev().take(BEFORE) {
        from = at;
    }
    let rest = &name[from..];
    let left = room.saturating_sub(width(begin));
    match fitting(rest, left) {
        length if length == rest.len() => format!("{begin}…{rest}"),
        _ => format!("{begin}…{}…", &rest[..fitting(rest, left.saturating_sub(1))]),
    }
}

/// Cuts a name, but keeps its suffix in parentheses.
fn cut(name: &str, room: usize, way: &Cut<'_>) -> String {
    if width(name) <= room {
        return name.to_owned();
    }
    let (base, end) = match name.rfind(" (") {
        Some(at) if width(&name[at..]) + LEAST <= room => name.split_at(at),
        _ => (name, ""),
    };
    format!("{}{end}", way(base, room.saturating_sub(width(end))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_to(room: usize, names: &[&str]) -> Vec<String> {
        shortened(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), room)
    }

    #[test]
    fn long_name_is_cut_in_the_middle() {
        assert_eq!(cut_to(25, &["kube-system/generic-garbage-collector"]), ["kube-system/gene…ollector"]);
        assert_eq!(cut_to(25, &["backup-of-volumes (40 namespaces)"]), ["backu…mes (40 namespaces)"]);
        assert_eq!(cut_to(8, &["a (b c d e f g)", "short"]), ["a (b… g)", "short"]);
    }

    #[test]
    fn names_that_differ_in_the_middle_stay_different() {
        let persons: Vec<String> = (1..=15)
            .map(|person| format!("user long.person.{person}@a-company-with-a-long-name.example.com"))
            .collect();
        let agents: Vec<String> =
            (1..=9).map(|agent| format!("a-long-namespace/{agent}-agent-of-the-team")).collect();
        let deep: Vec<String> = (1..=9)
            .map(|one| format!("user the-same-long-begin-of-all-of-them-{one}-and-the-same-end-of-them"))
            .collect();
        for names in [persons, agents, deep] {
            for room in [16, 20, 26] {
                let cuts = shortened(&names, room);
                let distinct: BTreeSet<&String> = cuts.iter().collect();
                assert_eq!(distinct.len(), names.len(), "{room}: {cuts:?}");
                assert!(cuts.iter().all(|name| width(name) <= room), "{room}: {cuts:?}");
            }
        }
        let persons = ["user long.person.7@example.com", "user long.person.8@example.com"];
        assert_eq!(cut_to(26, &persons), ["user long.person.7@exampl…", "user long.person.8@exampl…"]);
        assert_eq!(cut_to(18, &persons), ["user …n.7@example…", "user …n.8@example…"]);
    }

    #[test]
    fn equal_names_stay_equal() {
        let names = cut_to(20, &["a-long-namespace/a-long-name", "x", "a-long-namespace/a-long-name"]);
        assert_eq!(names[0], names[2]);
    }
}
