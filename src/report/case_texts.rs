//! The texts of cases: what a client does, how often, and the first step of the fix.

use std::collections::HashMap;

use super::cases::{Case, Member};
use super::ranking::Loads;
use super::v1;
use crate::rules::figures::count;
use crate::rules::sources::ClientSource;

/// Converts cases to the JSON report. Returns for each case also its text without the client. If the findings of a
/// case are not shown, the case has only numbers.
pub(super) fn to_v1(
    cases: &[Case],
    findings: &[(Option<usize>, v1::Finding)],
    loads: Loads,
    sources: &[ClientSource],
) -> (Vec<v1::Case>, Vec<String>) {
    let by_hit: HashMap<usize, &v1::Finding> =
        findings.iter().filter_map(|(hit, finding)| Some(((*hit)?, finding))).collect();
    let lead = |case: &Case| case.findings.first().and_then(|at| by_hit.get(at).copied());
    let actions = cases.iter().map(|case| lead(case).map_or_else(String::new, |lead| does(case, lead)));
    let reported = (1..)
        .zip(cases)
        .map(|(rank, case)| {
            let source = case.source.map(|at| &sources[at]);
            let source = source.map(|one| v1::Source { path: one.path.clone(), line: one.line });
            v1::Case { source, ..to_case(rank, case, &by_hit, loads) }
        })
        .collect();
    (reported, actions.collect())
}

fn to_case(rank: u64, case: &Case, by_hit: &HashMap<usize, &v1::Finding>, loads: Loads) -> v1::Case {
    let shown: Vec<&v1::Finding> = case.findings.iter().filter_map(|at| by_hit.get(at).copied()).collect();
    let lead = case.findings.first().and_then(|at| by_hit.get(at));
    let member = |member: &Member| v1::Member {
        client: member.client.clone(),
        name: member.name.clone(),
        severity: member.severity.as_str(),
        requests: member.requests,
        load: loads.to_v1(member.load),
    };
    let mut fixes = shown.iter().filter(|finding| has_own_setting(finding)).chain(&shown);
    let fix = fixes.by_ref().map(|finding| first_step(&finding.fix)).find(|fix| !fix.is_empty());
    v1::Case {
        rank,
        severity: case.severity.as_str(),
        client: case.client.clone(),
        members: v1::Members {
            count: case.clients.len() as u64,
            kind: case.members,
            worst: case.worst.iter().map(member).collect(),
        },
        what: lead.map_or_else(String::new, |lead| what(case, &lead.message)),
        fix: fix.unwrap_or_default(),
        rules: case.rules.clone(),
        findings: shown.iter().map(|finding| finding.fingerprint.clone()).collect(),
        resource: case.resource.clone(),
        requests: case.requests,
        peak_per_minute: case.peak_per_minute,
        load: loads.to_v1(case.load),
        fingerprint: case.fingerprint.clone(),
        source: None,
    }
}

/// Whether the fix begins with a setting of the product itself.
fn has_own_setting(finding: &v1::Finding) -> bool {
    let product = finding.who.as_ref().and_then(|who| who.product.as_ref());
    product.is_some_and(|product| product.source.is_some())
}

/// Returns the text of `what` without the client. For several members, returns what the worst member does.
fn does(case: &Case, lead: &v1::Finding) -> String {
    let message = &lead.message;
    let Some(who) = &lead.who else { return what(case, message) };
    // A message is one line, but the client's name may hold line breaks.
    let name = who.name.split_whitespace().collect::<Vec<_>>().join(" ");
    let action = message.strip_prefix(&*name).and_then(|rest| rest.strip_prefix(' ')).unwrap_or(message);
    let action = short(without_note(action));
    match case.clients.len() {
        2.. if !case.is_on_sum => format!("worst: {action}"),
        _ => format!("{action}{}", other_resources(case)),
    }
}

/// Returns the message of the leading finding. For several members, that is the worst member's message. For a case on
/// the log itself, returns the whole first sentence, because that sentence compares numbers.
fn what(case: &Case, message: &str) -> String {
    let message = if case.client.is_none() && case.clients.is_empty() {
        first_step(message).trim_end_matches('.').to_owned()
    } else {
        short(message)
    };
    // Add the number of other members only if the case has several. If the finding is on the sum of all members, its
    // message already covers them.
    if case.clients.len() < 2 || case.is_on_sum {
        return match case.resources {
            0 | 1 => message,
            _ => format!("{message}{}, {} reads in all", other_resources(case), count(case.requests)),
        };
    }
    let others = match (case.members, case.clients.len() - 1) {
        ("person", 1) => "1 other person does".to_owned(),
        ("person", others) => format!("{} other people do", count(others as u64)),
        (noun, 1) => format!("1 other {noun} does"),
        (noun, others) => format!("{} other {noun}s do", count(others as u64)),
    };
    format!("{message}; {others} the same, {} requests in all", count(case.requests))
}

/// Removes a note in parentheses at the start of `text`. The text is a message without the client's name, and the
/// note has the client's product.
fn without_note(text: &str) -> &str {
    let note = text.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    note.map_or(text, |(_, rest)| rest)
}

/// Returns the text for the other resources that a run of a job reads: `; with 12 other resources`.
fn other_resources(case: &Case) -> String {
    match case.resources {
        0 | 1 => String::new(),
        2 => "; with 1 other resource".to_owned(),
        resources => format!("; with {} other resources", count(resources as u64 - 1)),
    }
}

/// Returns the message up to its first semicolon, without text in parentheses.
fn short(message: &str) -> String {
    let mut short = String::with_capacity(message.len());
    let (mut depth, mut before) = (0_u32, ' ');
    for c in message.chars() {
        match c {
            '(' if before == ' ' && !short.is_empty() => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ';' if depth == 0 => break,
            _ if depth == 0 => short.push(c),
            _ => {}
        }
        before = c;
    }
    let short = short.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ,", ",");
    short.trim_end_matches([',', ':', ' ']).to_owned()
}

/// Returns the first sentence of the first paragraph or list item.
fn first_step(fix: &str) -> String {
    let paragraph = fix.split("\n\n").find(|paragraph| !paragraph.trim().is_empty()).unwrap_or_default();
    let first_item = paragraph.trim().split("\n- ").next().unwrap_or_default();
    let text = first_item.trim_start_matches("- ").split_whitespace().collect::<Vec<_>>().join(" ");
    // A name or abbreviation can contain a period. So a sentence ends only before a capital letter.
    let ends = text.match_indices(". ").map(|(at, _)| at);
    let is_end =
        |at: &usize| text[at + 2..].starts_with(|c: char| c.is_uppercase()) && !text[..*at].ends_with("e.g");
    let end = ends.into_iter().find(is_end);
    end.map_or(text.clone(), |at| text[..=at].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_message_has_no_notes_and_no_second_clause() {
        assert_eq!(
            short("a/b polls pods: 33 LISTs without a WATCH, one every 5 s (spread by 6 %)"),
            "a/b polls pods: 33 LISTs without a WATCH, one every 5 s"
        );
        assert_eq!(
            short("a/b listed pods 240 times; each time etcd was scanned"),
            "a/b listed pods 240 times"
        );
        assert_eq!(short("x f(y) z"), "x f(y) z");
        assert_eq!(short("(unauthenticated) was refused"), "(unauthenticated) was refused");
    }

    #[test]
    fn first_step_of_a_fix_is_its_first_sentence() {
        for (fix, step) in [
            ("One LIST, then a WATCH. Where it must stay, page.", "One LIST, then a WATCH."),
            ("- Upgrade to 1.33.3 or later.\n- Or wait.", "Upgrade to 1.33.3 or later."),
            ("Set resourceVersion=0\nand no limit\n\nMore.", "Set resourceVersion=0 and no limit"),
            ("", ""),
        ] {
            assert_eq!(first_step(fix), step);
        }
    }
}
