//! All rows, with what each is a part of: what rules judge. What many rows have in common is told once: a fact of the
//! request by its form, a fact of the client by its asker, so that an answer is found without looking at a text.

use hashbrown::HashMap;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use super::facts::{CLIENT, Facts, REQUEST, SERVER};
use super::group::Whole;
use super::names::{NameRef, Root};
use super::programs::Programs;
use super::rule::{GroupBy, Rule};
use super::value::Value;
use crate::apiserver::ServedFrom;
use crate::judged::{ClientSummary, JudgedClients, ShapeKey};

/// What rules judge.
pub(super) struct Rows<'a> {
    pub(super) whole: Whole<'a>,
    pub(super) facts: Vec<Facts<'a>>,
    /// By row.
    pub(super) places: Vec<Place>,
    /// A row of each form, and a number of its resource.
    pub(super) forms: Vec<(u32, u32)>,
    /// A row of each asker.
    pub(super) askers: Vec<u32>,
    pub(super) programs: Programs,
    columns: HashMap<NameRef, Column, FxBuildHasher>,
    orders: Vec<(GroupBy, Order)>,
}

/// All rows, those of a group together and in their order, with the number of their group.
pub(super) type Order = Vec<(u32, u32)>;

/// What a row is a part of, in numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Index of its account.
    pub(super) account: u32,
    /// Index of its shape among all shapes of all accounts.
    pub(super) shape: u32,
    /// Its question and verdict: all that `request.*` and `server.*` are told by. Clients that ask alike share it.
    pub(super) form: u32,
    /// Its account and product: all that `client.*` is told by.
    pub(super) asker: u32,
}

/// What a fact is told by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Form,
    Asker,
}

impl By {
    pub(super) fn of(name: NameRef) -> Self {
        if name.root == Root::Client { Self::Asker } else { Self::Form }
    }

    pub(super) fn number(self, place: &Place) -> usize {
        match self {
            Self::Form => place.form as usize,
            Self::Asker => place.asker as usize,
        }
    }
}

/// Which of the values of a fact each form or asker has: numbers below that of the distinct ones.
pub(super) struct Column {
    by: By,
    ids: Vec<u32>,
    pub(super) distinct: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(accounts: &'a JudgedClients, rules: &[Rule]) -> Self {
        let (whole, placed) = rayon::join(|| Whole::of(accounts), || Placed::of(accounts));
        let Placed { facts, places, forms, askers } = placed;
        let parts = rules.iter().filter_map(|rule| rule.matches.as_ref()).flat_map(|matches| &matches.parts);
        let mut wanted: Vec<NameRef> = parts.flat_map(|part| part.names.iter().copied()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let column = |name: NameRef| {
            let values = |rows: &mut dyn Iterator<Item = u32>| {
                Column::of(By::of(name), rows.map(|row| fact(name, &facts[row as usize])))
            };
            match By::of(name) {
                By::Form => values(&mut forms.iter().map(|(row, _)| *row)),
                By::Asker => values(&mut askers.iter().copied()),
            }
        };
        let columns: Vec<(NameRef, Column)> =
            wanted.into_par_iter().map(|name| (name, column(name))).collect();
        let columns = columns.into_iter().collect();
        let mut groupings: Vec<GroupBy> = Vec::new();
        for rule in rules.iter().filter(|rule| !rule.group_by.input) {
            let by = of_clients(rule.group_by);
            if !groupings.contains(&by) {
                groupings.push(by);
            }
        }
        let orders = groupings.into_par_iter().map(|by| (by, order(by, &places, &forms))).collect();
        let programs = Programs::of(accounts, &facts, &places, &askers);
        Self { whole, facts, places, forms, askers, programs, columns, orders }
    }

    /// All rows by what is judged together.
    pub(super) fn order(&self, by: GroupBy) -> &Order {
        let by = of_clients(by);
        let order = self.orders.iter().find(|(known, _)| *known == by);
        &order.expect("there is one for each rule").1
    }

    /// The column of a fact that a part of a match names.
    pub(super) fn column(&self, name: NameRef) -> &Column {
        &self.columns[&name]
    }
}

/// How the rows of each client are grouped, whether or not a rule judges programs too.
fn of_clients(by: GroupBy) -> GroupBy {
    GroupBy { program: false, ..by }
}

fn order(by: GroupBy, places: &[Place], forms: &[(u32, u32)]) -> Order {
    let key = |place: &Place| -> u64 {
        // A shape is of one resource. Rows come by their shapes, and so they are in this order mostly.
        let what = if by.shape {
            place.shape
        } else if by.resource {
            forms[place.form as usize].1
        } else {
            0
        };
        u64::from(what) << 32 | u64::from(if by.product { place.asker } else { 0 })
    };
    let mut order = Order::with_capacity(places.len());
    let (mut row, mut group) = (0, 0);
    let mut keyed: Vec<(u64, u32)> = Vec::new();
    for of_account in places.chunk_by(|a, b| a.account == b.account) {
        keyed.clear();
        keyed.extend(of_account.iter().zip(row..).map(|(place, row)| (key(place), row)));
        keyed.sort_unstable();
        for rows in keyed.chunk_by(|(a, _), (b, _)| a == b) {
            order.extend(rows.iter().map(|(_, row)| (group, *row)));
            group += 1;
        }
        row += u32::try_from(of_account.len()).unwrap_or(u32::MAX);
    }
    order
}

/// Rows, and what they are parts of.
#[derive(Default)]
struct Placed<'a> {
    facts: Vec<Facts<'a>>,
    places: Vec<Place>,
    forms: Vec<(u32, u32)>,
    askers: Vec<u32>,
}

impl<'a> Placed<'a> {
    fn of(accounts: &'a JudgedClients) -> Self {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let mut placed = Self::default();
        let mut forms: HashMap<_, u32, FxBuildHasher> = HashMap::default();
        let mut resources: HashMap<&str, u32, FxBuildHasher> = HashMap::default();
        let mut askers: HashMap<&str, u32, FxBuildHasher> = HashMap::default();
        let mut shape = 0;
        for (account_at, account) in accounts.clients.iter().enumerate() {
            askers.clear();
            let mut shapes = Shapes { alike: Vec::new(), next: shape };
            let upgraded = has_versions(account);
            for (key, entry) in &account.entries {
                let shape = shapes.number(key, upgraded);
                let question = entry.asked.as_deref().map(std::ptr::from_ref);
                // Names and questions that are held once are known by where they are held.
                let form = (std::ptr::from_ref(&**key), question, entry.certainty(), entry.long_running);
                let row = number(placed.facts.len());
                let form = *forms.entry(form).or_insert_with(|| {
                    let next = number(resources.len());
                    let resource = key.resource.as_deref().unwrap_or_default();
                    placed.forms.push((row, *resources.entry(resource).or_insert(next)));
                    number(placed.forms.len() - 1)
                });
                for one in &entry.rows {
                    let asker = *askers.entry(&one.product).or_insert_with(|| {
                        placed.askers.push(number(placed.facts.len()));
                        number(placed.askers.len() - 1)
                    });
                    placed.facts.push(Facts::of(accounts, account, (key, entry), one));
                    placed.places.push(Place { account: number(account_at), shape, form, asker });
                }
            }
            shape = shapes.next;
        }
        placed
    }
}

/// Whether servers of several versions served a client's requests.
fn has_versions(account: &ClientSummary) -> bool {
    let mut versions = account.entries.keys().map(|key| key.kube_version);
    versions.next().is_some_and(|first| versions.any(|other| other != first))
}

/// Numbers for the shapes of a client, in their order.
struct Shapes<'a> {
    /// The shapes before with the same verb, resource and parameters, and their numbers.
    alike: Vec<(&'a ShapeKey, u32)>,
    next: u32,
}

impl<'a> Shapes<'a> {
    /// The number of the next shape. Across an upgrade, the same requests have a shape for each version of the server, and
    /// these have one number: rules judge the requests of both together.
    fn number(&mut self, key: &'a ShapeKey, upgraded: bool) -> u32 {
        if !upgraded {
            self.next += 1;
            return self.next - 1;
        }
        if self.alike.last().is_some_and(|(before, _)| !asks_same(before, key)) {
            self.alike.clear();
        }
        let end = |key: &ShapeKey| (key.served_from == ServedFrom::Rejected, key.rejected);
        let mut same = self
            .alike
            .iter()
            .filter(|(before, _)| before.kube_version != key.kube_version && end(before) == end(key));
        let number = same.next().map_or(self.next, |(_, number)| *number);
        self.next = self.next.max(number + 1);
        self.alike.push((key, number));
        number
    }
}

fn asks_same(one: &ShapeKey, other: &ShapeKey) -> bool {
    (one.verb, one.scope) == (other.verb, other.scope)
        && one.resource == other.resource
        && one.subresource == other.subresource
        && one.parameters == other.parameters
        && one.misspelled == other.misspelled
}

impl Column {
    fn of<'v>(by: By, values: impl Iterator<Item = Value<'v>>) -> Self {
        let mut known: HashMap<Value<'v>, u32, FxBuildHasher> = HashMap::default();
        let ids = values.map(|value| {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            *known.entry(value).or_insert(next)
        });
        Self { by, ids: ids.collect(), distinct: known.len() }
    }

    /// Which of the values a row has.
    pub(super) fn id(&self, place: &Place) -> usize {
        self.ids[self.by.number(place)] as usize
    }
}

/// A fact of a row.
pub(super) fn fact<'r>(name: NameRef, row: &'r Facts<'_>) -> Value<'r> {
    let names = match name.root {
        Root::Client => CLIENT,
        Root::Request => REQUEST,
        _ => SERVER,
    };
    (names[name.index].get)(row)
}
