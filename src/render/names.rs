//! Names of clients in a column: cut where they stay distinct.

use std::collections::BTreeSet;

use super::plain::cut_middle;

/// The least of a name that is left beside what is in parentheses.
const LEAST: usize = 6;

/// How a name is cut to so many characters.
type Cut = fn(&str, usize) -> String;

/// The ways to cut a name, the first one preferred.
const CUTS: [Cut; 5] = [
    |name, room| cut_middle(name, room, 7).into_owned(),
    |name, room| match name.split_once('/') {
        Some((namespace, name)) => {
            let namespace = cut_middle(namespace, room / 3, 7);
            let room = room.saturating_sub(namespace.chars().count() + 1);
            format!("{namespace}/{}", cut_middle(name, room, 7))
        }
        None => cut_middle(name, room, 5).into_owned(),
    },
    |name, room| cut_middle(name, room, 9).into_owned(),
    |name, room| cut_middle(name, room, 3).into_owned(),
    |name, room| cut_middle(name, room, 1).into_owned(),
];

/// Names of at most so many characters. All of them are cut in the way that leaves most of them distinct.
pub(super) fn shortened(names: &[String], room: usize) -> Vec<String> {
    let in_one_way = |way: Cut| -> Vec<String> { names.iter().map(|name| cut(name, room, way)).collect() };
    let distinct = |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len();
    // Of several that are as good, the first one: the last one is taken.
    CUTS.into_iter().map(in_one_way).rev().max_by_key(distinct).unwrap_or_default()
}

/// Cuts a name. What is in parentheses at its end stays.
fn cut(name: &str, room: usize, way: Cut) -> String {
    let chars = |text: &str| text.chars().count();
    if chars(name) <= room {
        return name.to_owned();
    }
    let (base, end) = match name.rfind(" (") {
        Some(at) if chars(&name[at..]) + LEAST <= room => name.split_at(at),
        _ => (name, ""),
    };
    format!("{}{end}", way(base, room.saturating_sub(chars(end))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_to(room: usize, names: &[&str]) -> Vec<String> {
        shortened(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), room)
    }

    #[test]
    fn name_is_cut_in_its_middle() {
        assert_eq!(cut_to(25, &["kube-system/generic-garbage-collector"]), ["kube-system/gene…ollector"]);
        assert_eq!(cut_to(25, &["backup-of-volumes (40 namespaces)"]), ["backu…mes (40 namespaces)"]);
        assert_eq!(cut_to(8, &["a (b c d e f g)", "short"]), ["a (b… g)", "short"]);
    }

    #[test]
    fn names_that_differ_in_their_middle_stay_distinct() {
        let names =
            cut_to(20, &["a-long-namespace/1-agent-of-the-team", "a-long-namespace/2-agent-of-the-team"]);
        assert_ne!(names[0], names[1]);
        assert!(names.iter().all(|name| name.chars().count() <= 20), "{names:?}");
    }
}
