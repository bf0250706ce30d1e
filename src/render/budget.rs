//! The texts of `kubetoll budget explain` and `kubetoll budget ratchet`.

use super::diff::short_name;
use super::plain::{counted, escaped};
use super::style::{BOLD, DIM, FIX, WARNING};
use super::table::wrapped;
use crate::budget::{
    Budget, BudgetClient, BudgetRequest, Phase, Ratchet, Unlisted, UsedRequest, allowed, plain,
};

/// Explains the entries of these clients. `used` is what a run uses of each entry.
#[must_use]
pub(crate) fn explain(
    budget: &Budget,
    clients: &[usize],
    used: Option<&[Vec<Option<UsedRequest>>]>,
    width: usize,
) -> String {
    let shapes: usize = budget.clients.iter().map(|client| client.requests.len()).sum();
    let all = counted(budget.clients.len() as u64, "client");
    let shapes = counted(shapes as u64, "request shape");
    let mut page = vec![format!("{BOLD}{}{BOLD:#}: {all}, {shapes}\n", escaped(&budget.file))];
    let mut line = |text: &str| page.push(wrapped("", "", &escaped(text), width));
    line(&match budget.users.as_slice() {
        [] => "The budget judges all clients.".to_owned(),
        users => format!("The budget judges clients with an entry, and these users: {}.", users.join(", ")),
    });
    line(&format!(
        "A request or client without an entry is {}. A limit may be {} above its measured number without a reason.",
        unlisted(budget.unlisted),
        budget.slack
    ));
    for index in clients {
        let client = &budget.clients[*index];
        page.push(self::client(budget, client, used.map(|used| &*used[*index]), width));
    }
    page.concat()
}

fn unlisted(unlisted: Unlisted) -> &'static str {
    match unlisted {
        Unlisted::Fail => "an error",
        Unlisted::Warn => "a warning",
        Unlisted::Allow => "allowed",
    }
}

fn client(
    budget: &Budget,
    client: &BudgetClient,
    used: Option<&[Option<UsedRequest>]>,
    width: usize,
) -> String {
    let name = escaped(&client.client);
    let mut page = vec![format!("\n{BOLD}{name}{BOLD:#} {DIM}(line {}){DIM:#}\n", client.at.line)];
    if let Some(own) = client.unlisted {
        let text = format!("A request of this client without an entry is {}.", unlisted(own));
        page.push(wrapped("  ", "  ", &text, width));
    }
    for (index, request) in client.requests.iter().enumerate() {
        let lead = format!("{} (line {}): {}", request.request, request.at.line, allows(budget, request));
        page.push(wrapped("- ", "  ", &escaped(&lead), width));
        let mut notes: Vec<String> = Vec::new();
        match &request.reason {
            Some(reason) => notes.push(format!("Reason: {reason}")),
            None => notes.extend(measured(request)),
        }
        if let Some(limit) = request.per_object {
            notes.push(format!(
                "From {} to {} objects, at most {} more for each object.",
                limit.from,
                limit.to,
                plain(limit.max_slope)
            ));
        }
        notes.extend(used.map(|used| uses(request, used[index].as_ref())));
        page.extend(notes.iter().map(|note| wrapped("  ", "  ", &escaped(note), width)));
    }
    page.concat()
}

/// What an entry allows, in words.
fn allows(budget: &Budget, request: &BudgetRequest) -> String {
    let limits: Vec<String> = Phase::ALL
        .into_iter()
        .filter(|phase| request.limit(*phase) > 0.0)
        .map(|phase| {
            let limit = request.limit(phase);
            let raised = request.measured(phase).is_some_and(|own| limit > allowed(phase, own, budget.slack));
            let raised = if raised { ", raised" } else { "" };
            format!("{}{raised}", phase.text(&plain(limit)))
        })
        .collect();
    let is_watch = request.request.starts_with("watch ");
    let most = match limits.as_slice() {
        [] if is_watch => "only watches that end between events of the log".to_owned(),
        [] => "none".to_owned(),
        limits => format!("at most {}", and(limits)),
    };
    let sources: Vec<String> = request.served_from.iter().map(|source| source.value.clone()).collect();
    match sources.as_slice() {
        [] => format!("{most}, from anywhere."),
        sources => format!("{most}, from {}.", sources.join(" or ")),
    }
}

fn and(parts: &[String]) -> String {
    match parts {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        all => all.concat(),
    }
}

fn measured(request: &BudgetRequest) -> Option<String> {
    let numbers: Vec<String> = Phase::ALL
        .into_iter()
        .filter_map(|phase| Some(phase.text(&plain(request.measured(phase).filter(|own| *own > 0.0)?))))
        .collect();
    (!numbers.is_empty()).then(|| format!("Measured: {}.", and(&numbers)))
}

/// What a run uses of an entry.
fn uses(request: &BudgetRequest, used: Option<&UsedRequest>) -> String {
    let Some(used) = used else { return "The log has no such request.".to_owned() };
    let numbers: Vec<String> = Phase::ALL
        .into_iter()
        .filter(|phase| used.numbers[*phase as usize] > 0.0)
        .map(|phase| {
            let (number, limit) = (used.numbers[phase as usize], request.limit(phase));
            let text = phase.text(&plain(number));
            if limit > 0.0 {
                format!("{text} ({:.0} %)", number * 100.0 / limit)
            } else {
                format!("{text} (above the limit 0)")
            }
        })
        .collect();
    let numbers = if numbers.is_empty() { "nothing".to_owned() } else { and(&numbers) };
    format!("The log uses {numbers}, from {}.", used.sources.join(" or "))
}

/// What a ratchet changed.
#[must_use]
pub(crate) fn ratchet(budget: &Budget, done: &Ratchet, is_dry_run: bool, width: usize) -> String {
    let fell = counted(done.lowered.len() as u64, "limit");
    let verb = if is_dry_run { "would fall" } else { "fell" };
    let mut page = vec![format!("{BOLD}{}{BOLD:#}: {fell} {verb}\n", escaped(&budget.file))];
    for own in &done.lowered {
        let text = format!(
            "line {}: {}: {}: {} {} instead of {}",
            own.line,
            short_name(&own.client),
            own.request,
            own.phase.as_str(),
            plain(own.after),
            plain(own.before)
        );
        page.push(format!("{FIX}{}{FIX:#}", wrapped("- ", "  ", &escaped(&text), width)));
    }
    let mut note = |text: String| page.push(format!("{WARNING}{}{WARNING:#}", wrapped("", "", &text, width)));
    if done.undecided > 0 {
        note(format!(
            "{} stayed: the runs are below, but by no more than chance. A longer run decides.",
            counted(done.undecided, "rate")
        ));
    }
    if done.without_requests > 0 {
        note(format!(
            "{} stayed: the runs have no such request.",
            if done.without_requests == 1 {
                "1 entry".to_owned()
            } else {
                format!("{} entries", done.without_requests)
            }
        ));
    }
    page.concat()
}
