//! Lowers the limits of a budget file in its text, so that comments, order and all other lines stay as they are.

use std::collections::BTreeMap;

use super::file::{Budget, BudgetRequest};
use super::measured::{MeasuredRun, PhaseCounts, by_entry};
use super::number::{allowed, is_above, plain, round_up};
use super::phase::Phase;
use crate::files::FilePosition;
use crate::profile::{ClientProfile, ShapeProfile};

/// A run of fewer minutes lowers nothing.
const SHORTEST_RUN: f64 = 2.0;

/// What a ratchet changes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Ratchet {
    /// The text of the file with the lower limits.
    pub(crate) text: String,
    pub(crate) lowered: Vec<LoweredLimit>,
    /// The entries without a request in the runs, which stay as they are: client and request shape.
    pub(crate) without_requests: u64,
    /// Rates that are below their limit, but by no more than chance.
    pub(crate) undecided: u64,
}

/// A limit that fell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoweredLimit {
    pub(crate) client: String,
    pub(crate) request: String,
    pub(crate) line: u64,
    pub(crate) phase: Phase,
    pub(crate) before: f64,
    pub(crate) after: f64,
}

/// A number in the text that another one replaces.
struct NumberEdit {
    at: FilePosition,
    before: f64,
    after: f64,
}

/// Lowers each limit that is above the largest measured number plus slack. A limit never rises.
///
/// # Errors
/// If the text states a number in a way that cannot be changed in place.
pub(crate) fn ratchet(budget: &Budget, text: &str, runs: &[MeasuredRun]) -> Result<Ratchet, String> {
    let clients: Vec<BTreeMap<usize, ClientProfile>> =
        runs.iter().map(|run| by_entry(budget, &run.clients)).collect();
    let mut done = Ratchet::default();
    let mut edits = Vec::new();
    for (index, entry) in budget.clients.iter().enumerate() {
        let in_runs: Vec<(&MeasuredRun, &ClientProfile)> = runs
            .iter()
            .zip(&clients)
            .filter_map(|(run, clients)| Some((run, clients.get(&index)?)))
            .collect();
        for request in &entry.requests {
            let shapes: Vec<OwnShape<'_>> = in_runs
                .iter()
                .filter_map(|(run, client)| {
                    let shape = client.shapes.get(&request.request)?;
                    Some(OwnShape { shows_open_watches: run.shows_open_watches, client, shape })
                })
                .collect();
            if shapes.is_empty() {
                done.without_requests += 1;
                continue;
            }
            for phase in Phase::ALL {
                let Some(limit) = &request.limits[phase as usize] else { continue };
                match lower(request, phase, limit.value, &shapes, budget) {
                    Lower::Stays => {}
                    Lower::Undecided => done.undecided += 1,
                    Lower::To { measured, limit: after } => {
                        done.lowered.push(LoweredLimit {
                            client: entry.client.clone(),
                            request: request.request.clone(),
                            line: limit.at.line,
                            phase,
                            before: limit.value,
                            after,
                        });
                        edits.push(NumberEdit { at: limit.at, before: limit.value, after });
                        let own = request.measured[phase as usize].as_ref();
                        edits.extend(own.filter(|own| measured < own.value).map(|own| NumberEdit {
                            at: own.at,
                            before: own.value,
                            after: measured,
                        }));
                    }
                }
            }
        }
    }
    done.text = edited(text, &edits)?;
    check(budget, &done)?;
    Ok(done)
}

struct OwnShape<'r> {
    shows_open_watches: bool,
    client: &'r ClientProfile,
    shape: &'r ShapeProfile,
}

enum Lower {
    Stays,
    /// The rate is below the limit, but by no more than chance.
    Undecided,
    To {
        measured: f64,
        limit: f64,
    },
}

fn lower(
    request: &BudgetRequest,
    phase: Phase,
    limit: f64,
    shapes: &[OwnShape<'_>],
    budget: &Budget,
) -> Lower {
    let is_steady = request.is_steady() || shapes.iter().any(|own| own.shape.steady > 0);
    let counts: Vec<PhaseCounts> =
        shapes.iter().map(|own| PhaseCounts::new(own.client, own.shape, is_steady)).collect();
    let largest = counts.iter().map(|counts| counts.number(phase)).fold(0.0, f64::max);
    // A short run may end before all requests of a start, and shows hardly any steady state. A log that begins after the
    // client started shows nothing of its start.
    let is_long = shapes.iter().all(|own| own.client.minutes >= SHORTEST_RUN);
    let shows_start = largest > 0.0 && shapes.iter().all(|own| !own.client.was_running);
    let shows_phase = is_long
        && match phase {
            Phase::Start => shows_start,
            Phase::Minute => true,
            Phase::Watches => {
                shows_start && shapes.iter().all(|own| own.shows_open_watches && !own.shape.is_partial)
            }
        };
    let measured = if phase.is_whole() { largest } else { round_up(largest) };
    let after = allowed(phase, measured, budget.slack);
    if !shows_phase || !is_above(limit, after) {
        return Lower::Stays;
    }
    if !counts.iter().all(|counts| counts.is_below(phase, limit)) {
        return Lower::Undecided;
    }
    Lower::To { measured, limit: after }
}

/// Replaces numbers in a text.
fn edited(text: &str, edits: &[NumberEdit]) -> Result<String, String> {
    let lines: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut places: Vec<(usize, usize, String)> = Vec::new();
    for NumberEdit { at, before, after } in edits {
        let place = number_at(text, &lines, *at, *before).ok_or_else(|| {
            let (line, column) = (at.line, at.column);
            format!(
                "line {line}, column {column}: kubetoll cannot replace this number in place; write it as a plain number, \
                 such as {}",
                plain(*before)
            )
        })?;
        places.push((place.0, place.1, plain(*after)));
    }
    places.sort_unstable();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end, number) in places {
        out.push_str(text.get(done..start).ok_or("two limits are one number in the file")?);
        out.push_str(&number);
        done = end;
    }
    out.push_str(&text[done..]);
    Ok(out)
}

/// The bytes of a plain number at a position, if it has the value.
fn number_at(text: &str, lines: &[usize], at: FilePosition, value: f64) -> Option<(usize, usize)> {
    let line = *lines.get(usize::try_from(at.line).ok()?.checked_sub(1)?)?;
    let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
    let rest = &text[line..];
    let start = line + rest.char_indices().nth(column)?.0;
    let token = &text[start..];
    let end = token.find(|c: char| !c.is_ascii_alphanumeric() && !".+-_".contains(c)).unwrap_or(token.len());
    let stated: f64 = token[..end].parse().ok()?;
    (stated.to_bits() == value.to_bits()).then_some((start, start + end))
}

/// Reads the new text, and checks that only the wanted numbers changed. An anchor, for example, would change others.
fn check(before: &Budget, done: &Ratchet) -> Result<(), String> {
    let after = Budget::read(&before.file, &done.text)
        .map_err(|errors| format!("kubetoll cannot lower the limits in place: {errors}"))?;
    let limits = |budget: &Budget| -> Vec<(u64, f64)> {
        let requests = budget.clients.iter().flat_map(|client| &client.requests);
        let limits = requests.flat_map(|request| request.limits.iter().flatten());
        limits.map(|limit| (limit.at.line, limit.value)).collect()
    };
    let (old, new) = (limits(before), limits(&after));
    let changed = old.iter().zip(&new).filter(|(old, new)| old.1.to_bits() != new.1.to_bits()).count();
    if old.len() != new.len() || changed != done.lowered.len() {
        return Err(
            "kubetoll cannot lower the limits in place; write numbers without anchors and aliases".to_owned()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use proptest::prelude::*;

    const FILE: &str = "\
# A comment.
version: 1
slack: 50%
clients:
  - client: a # ä
    requests:
      - request: list pods   # the list
        perStart: 4
        perMinute:   12.0    # was 24
        watches: 3
        reason: it may
      - {request: get pods, measured: {perMinute: 10}, perMinute: 15}\r
      - request: list nodes
        perMinute: 7
        reason: it may
";

    fn run(shapes: &[(&str, ShapeProfile)], minutes: f64) -> MeasuredRun {
        let shapes = shapes.iter().map(|(name, shape)| ((*name).to_owned(), shape.clone())).collect();
        let client = ClientProfile { minutes, starts: 1, shapes, ..ClientProfile::default() };
        MeasuredRun { clients: BTreeMap::from([("a".to_owned(), client)]), shows_open_watches: true }
    }

    fn shape(start: u64, steady: u64, watches: u64) -> ShapeProfile {
        ShapeProfile { informer_starts: start, steady, watches, dispersion: 1.0, ..ShapeProfile::default() }
    }

    fn ratcheted(text: &str, runs: &[MeasuredRun]) -> Result<Ratchet, String> {
        ratchet(&Budget::read("b.yaml", text).expect("a budget"), text, runs)
    }

    #[test]
    fn only_numbers_that_fall_change() {
        let runs = [
            run(&[("list pods", shape(2, 200, 2)), ("get pods", shape(0, 900, 0))], 100.0),
            run(&[("list pods", shape(1, 100, 1)), ("get pods", shape(0, 400, 0))], 100.0),
        ];
        let done = ratcheted(FILE, &runs).expect("a ratchet");
        let expected = FILE
            .replace("perStart: 4", "perStart: 3")
            .replace("12.0 ", "3 ")
            .replace("measured: {perMinute: 10}, perMinute: 15", "measured: {perMinute: 9}, perMinute: 13.5");
        assert_eq!(done.text, expected);
        assert_eq!((done.lowered.len(), done.without_requests, done.undecided), (3, 1, 0));
    }

    #[test]
    fn a_short_run_and_a_log_without_a_start_prove_nothing() {
        let done = ratcheted(FILE, &[run(&[("list pods", shape(0, 20, 0))], 2.0)]).expect("a ratchet");
        assert_eq!((&*done.text, done.lowered.len(), done.undecided), (FILE, 0, 0));
        let done = ratcheted(FILE, &[run(&[("get pods", shape(0, 27, 0))], 3.0)]).expect("a ratchet");
        assert_eq!((&*done.text, done.undecided), (FILE, 1));
        let done = ratcheted(FILE, &[run(&[("get pods", shape(0, 1, 1))], 1.0)]).expect("a ratchet");
        assert_eq!((&*done.text, done.undecided), (FILE, 0));
    }

    #[test]
    fn aliases_are_an_error() {
        let text = FILE.replace("12.0", "&limit 12").replace("perMinute: 7", "perMinute: *limit");
        let error =
            ratcheted(&text, &[run(&[("list pods", shape(4, 10, 3))], 100.0)]).expect_err("an anchor");
        assert!(error.contains("in place"), "{error}");
    }

    proptest! {
        #[test]
        fn a_ratchet_lowers_only_and_leaves_other_lines(
            limits in prop::collection::vec((0_u32..50, 0_u32..5_000, 0_u32..9), 1..5),
            counts in prop::collection::vec((0_u64..60, 0_u64..5_000, 0_u64..12), 1..5),
            minutes in 1_u32..60,
        ) {
            let mut text = "version: 1\nclients:\n- client: a\n  requests:\n".to_owned();
            for (at, (start, rate, watches)) in limits.iter().enumerate() {
                let rate = plain(round_up(f64::from(*rate) / 37.0));
                let _ = write!(
                    text,
                    "  - request: list r{at}\n    # c\n    perStart: {start}\n    perMinute: {rate} # c\n    \
                     watches: {watches}\n    reason: x\n"
                );
            }
            let names: Vec<String> = (0..counts.len()).map(|at| format!("list r{at}")).collect();
            let shapes: Vec<(&str, ShapeProfile)> =
                names.iter().map(String::as_str).zip(counts.iter().map(|(a, b, c)| shape(*a, *b, *c))).collect();
            let done = ratcheted(&text, &[run(&shapes, f64::from(minutes))]).expect("a ratchet");
            let read = |text: &str| Budget::read("b.yaml", text).expect("a budget");
            let (before, after) = (read(&text), read(&done.text));
            let mut fell = 0;
            for (before, after) in before.clients[0].requests.iter().zip(&after.clients[0].requests) {
                prop_assert_eq!(&before.request, &after.request);
                for phase in Phase::ALL {
                    prop_assert!(after.limit(phase) <= before.limit(phase));
                    fell += usize::from(after.limit(phase) < before.limit(phase));
                }
            }
            prop_assert_eq!(fell, done.lowered.len());
            let changed = text.lines().zip(done.text.lines()).filter(|(old, new)| old != new).count();
            prop_assert_eq!((changed, text.lines().count()), (fell, done.text.lines().count()));
            // A second ratchet with the same run changes nothing.
            let again = ratcheted(&done.text, &[run(&shapes, f64::from(minutes))]).expect("a ratchet");
            prop_assert_eq!(again.text, done.text);
        }
    }
}
