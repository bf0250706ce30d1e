//! `--details`: a block for each requested case or client, and the parts that the page omits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::str::FromStr;

use regex::Regex;

use super::client_name::client_name;
use super::over_time::OverTime;
use super::plain::{count, counted, escaped};
use super::style::{self, BOLD, DIM, FIX};
use super::table::{INDENT, appended, titled, wrapped};
use super::{case, cases, client_detail, facts, prose};
use crate::report::Report;
use crate::report::v1::{Case, Client, Finding};
use crate::requests::filter::pattern;

/// The maximum number of clients without a case to show. A name with `*` can match many clients.
const CLIENTS: usize = 10;
/// Titles of lines that are printed for each client, even if their text is the same.
const OF_CLIENT: [&str; 3] = ["Logged at", "How much", "Over time"];
/// How many similar names an error suggests.
const NEAR: usize = 3;

/// The value that clap sets if the user writes `--details` without a value. No command-line argument can contain this
/// character.
pub(crate) const ALL: &str = "\0";

/// The value of `--details`.
#[derive(Debug, Clone)]
pub(crate) enum Details {
    /// All cases, and the parts that the page omits.
    All,
    /// Only these cases and clients. The string is the whole value: it may be the name of one client that contains a
    /// comma.
    Of(Vec<DetailTarget>, String),
}

#[derive(Debug, Clone)]
pub(crate) enum DetailTarget {
    /// Cases from the first number through the last.
    Cases(u64, u64),
    /// A client's name, in which `*` matches any text.
    Client(String, Regex),
}

impl FromStr for Details {
    type Err = String;

    /// Parses numbers and names, separated by commas.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == ALL {
            return Ok(Self::All);
        }
        if text.trim().is_empty() {
            return Err(
                "write --details for all cases, --details=1,3 for some, or --details=CLIENT".to_owned()
            );
        }
        let wanted = |part: &str| {
            let part = part.trim();
            if part.is_empty() {
                return Err(format!("'{text}' has an empty part; write numbers or names, such as 1,3"));
            }
            if let Some(cases) = numbers(part) {
                return cases;
            }
            // The page ends cut names with `…`.
            let regex = Regex::new(&pattern(&part.replace('…', "*")))
                .map_err(|_| "the name is too long".to_owned())?;
            Ok(DetailTarget::Client(part.to_owned(), regex))
        };
        let parts = text.split(',').map(wanted).collect::<Result<_, _>>()?;
        Ok(Self::Of(parts, text.trim().to_owned()))
    }
}

/// Parses case numbers: `3`, `1-3` or `1–3`. The page prints ranges with `–`. `None` for a name.
fn numbers(text: &str) -> Option<Result<DetailTarget, String>> {
    let (first, last) = text.split_once(['-', '–']).unwrap_or((text, text));
    let (first, last) = (first.trim(), last.trim());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(first) || !is_number(last) {
        return None;
    }
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("case {text} does not exist"));
    let cases = number(first).and_then(|first| Ok((first, number(last)?)));
    Some(cases.and_then(|(first, last)| {
        let is_range = first <= last;
        is_range.then_some(DetailTarget::Cases(first, last)).ok_or(format!("'{text}': write {last}-{first}"))
    }))
}

#[derive(Debug)]
pub struct ChosenDetails<'r> {
    /// Whether to show what the page omits.
    is_all: bool,
    /// The chosen cases, by rank. `None` means the whole case. A client means that the user named only this member of
    /// the case.
    cases: BTreeMap<u64, Option<&'r str>>,
    /// Clients without a case.
    clients: Vec<&'r Client>,
}

impl Details {
    /// Selects cases and clients of a report. Returns an error if the report lacks one of them.
    pub(crate) fn choose<'r>(&self, report: &'r Report) -> Result<ChosenDetails<'r>, String> {
        let mut chosen =
            ChosenDetails { is_all: matches!(self, Self::All), cases: BTreeMap::new(), clients: Vec::new() };
        let wanted = match self {
            Self::All => {
                chosen.cases = report.cases.iter().map(|case| (case.rank, None)).collect();
                return Ok(chosen);
            }
            Self::Of(wanted, full_text) => {
                let has_name = wanted.iter().any(|one| matches!(one, DetailTarget::Client(..)));
                if has_name && chosen.add(report, &|name| name == full_text) {
                    return Ok(chosen);
                }
                wanted
            }
        };
        for one in wanted {
            match one {
                DetailTarget::Cases(first, last) => {
                    let exists = |rank: &&u64| report.cases.iter().any(|case| case.rank == **rank);
                    if let Some(rank) = [first, last].into_iter().find(|rank| !exists(rank)) {
                        return Err(match report.cases.len() {
                            0 => format!("--details: case {rank} does not exist; the report has no cases"),
                            1 => format!("--details: case {rank} does not exist; the only case is 1"),
                            last => format!("--details: case {rank} does not exist; cases are 1 to {last}"),
                        });
                    }
                    chosen.cases.extend((*first..=*last).map(|rank| (rank, None)));
                }
                DetailTarget::Client(name, regex) => {
                    // An exact name wins: a user may be named `*`.
                    if !chosen.add(report, &|candidate| candidate == name)
                        && !chosen.add(report, &|candidate| regex.is_match(candidate))
                    {
                        return Err(unknown(report, name));
                    }
                }
            }
        }
        Ok(chosen)
    }
}

impl<'r> ChosenDetails<'r> {
    /// Whether to show what the page omits.
    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    /// Adds the clients that match a name, and their cases. Returns whether at least one client or case matches.
    fn add(&mut self, report: &'r Report, is_wanted: &dyn Fn(&str) -> bool) -> bool {
        let mut is_found = false;
        for case in report
            .cases
            .iter()
            .filter(|case| case.client.as_deref().is_some_and(is_wanted) || is_wanted(&cases::name(case)))
        {
            self.cases.insert(case.rank, None);
            is_found = true;
        }
        let clients = report.clients.iter().zip(&report.page.case_ranks);
        for (client, case_ranks) in clients.filter(|(client, _)| is_named(client, is_wanted)) {
            is_found = true;
            for rank in case_ranks {
                self.cases.entry(*rank).or_insert(Some(&client.identity));
            }
            if case_ranks.is_empty() {
                self.clients.push(client);
            }
        }
        is_found
    }
}

/// The error for an unknown client name, with similar names.
fn unknown(report: &Report, name: &str) -> String {
    let lead = format!("--details: no case and no client is named '{}'", escaped(name));
    let wanted = name.to_lowercase();
    let names = report.cases.iter().map(cases::name).chain(report.clients.iter().map(client_name));
    let distance = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        if candidate.contains(&wanted) {
            return Some(0);
        }
        let parts = candidate.split('/').chain([&*candidate]);
        let least = parts.map(|part| strsim::osa_distance(part, &wanted)).min()?;
        (least <= 2.max(wanted.len() / 4)).then_some(least)
    };
    let mut near: Vec<(usize, String)> =
        names.filter_map(|candidate| Some((distance(&candidate)?, candidate))).collect();
    near.sort_by_key(|(distance, _)| *distance);
    let mut quoted: Vec<String> = Vec::new();
    for (_, candidate) in near {
        let candidate = format!("'{candidate}'");
        if quoted.len() < NEAR && !quoted.contains(&candidate) {
            quoted.push(candidate);
        }
    }
    if quoted.is_empty() {
        return format!(
            "{lead}; give a case's number or a name from the page, in which * stands for anything"
        );
    }
    format!("{lead}; did you mean {}?", quoted.join(" or "))
}

fn is_named(client: &Client, is_wanted: &dyn Fn(&str) -> bool) -> bool {
    let products = client.user_agents.iter().map(|agent| &*agent.product);
    is_wanted(&client.identity)
        || is_wanted(&client_name(client))
        || (cases::is_control_plane(client) && is_wanted(cases::CONTROL_PLANE))
        || products.into_iter().any(is_wanted)
}

pub(super) fn render(report: &Report, chosen: &ChosenDetails<'_>, width: usize) -> String {
    let mut page = String::new();
    let over_time = OverTime::new(report);
    let mut by_fingerprint: HashMap<&str, &Finding> = HashMap::new();
    for finding in &report.findings {
        by_fingerprint.entry(&finding.fingerprint).or_insert(finding);
    }
    for case in &report.cases {
        let Some(client) = chosen.cases.get(&case.rank) else { continue };
        let findings =
            case.findings.iter().filter_map(|fingerprint| by_fingerprint.get(&**fingerprint).copied());
        page.push_str(&block(case, &findings.collect::<Vec<_>>(), *client, &over_time, width));
    }
    for client in chosen.clients.iter().take(CLIENTS) {
        page.push_str(&client_detail::render(client, width));
    }
    if chosen.clients.len() > CLIENTS {
        let more = counted((chosen.clients.len() - CLIENTS) as u64, "more client");
        page.push_str(&wrapped("", "", &format!("and {more} without a finding"), width));
    }
    page
}

/// The lines that a block has printed already. Findings of one case share many lines.
#[derive(Default)]
struct PrintedLines(HashSet<(&'static str, String)>);

impl PrintedLines {
    fn is_new(&mut self, title: &'static str, text: &str) -> bool {
        self.0.insert((title, text.to_owned()))
    }
}

/// Renders a case, rule by rule. Shows the findings on `client`; without `client`, those on the worst members.
fn block(
    case: &Case,
    findings: &[&Finding],
    client: Option<&str>,
    over_time: &OverTime<'_>,
    width: usize,
) -> String {
    let style = style::severity(case.severity);
    let mut page =
        format!("\n{BOLD}{}. {}{BOLD:#}  {style}{}{style:#}\n", case.rank, cases::name(case), case.severity);
    let is_on_program = |finding: &Finding| finding.who.as_ref().is_some_and(|who| who.program.is_some());
    let of = |clients: &[&str], with_program: bool| -> Vec<&Finding> {
        let is_of = |finding: &Finding| finding.client.as_deref().is_none_or(|own| clients.contains(&own));
        let own = findings.iter().copied();
        own.filter(|finding| if is_on_program(finding) { with_program } else { is_of(finding) }).collect()
    };
    let own = client.map(|client| of(&[client], false)).filter(|own| !own.is_empty());
    let is_of_one = own.is_some() || case.members.count < 2;
    let worst: Vec<&str> = case.members.worst.iter().map(|member| &*member.client).collect();
    let shown = own.unwrap_or_else(|| of(&worst, true));
    let Some(first) = shown.first() else {
        page.push_str(&titled("", "its findings are beyond those that the report holds", width));
        return page;
    };
    if is_of_one {
        page.push_str(&client_block(first, over_time, width));
    } else {
        page.push_str(&titled("Members", &(members(case) + &facts::instances(first)), width));
        let agents = facts::client_lines(first).into_iter().filter(|(title, _)| *title == "User agents");
        agents.for_each(|(title, line)| page.push_str(&titled(title, &line.plain(), width)));
    }
    if let Some(size) = case::size(case).filter(|_| findings.len() > 1) {
        page.push_str(&titled("In all", &size, width));
    }
    let mut by_rule: Vec<(&str, Vec<&Finding>)> = Vec::new();
    for finding in shown {
        match by_rule.iter_mut().find(|(rule, _)| *rule == &*finding.rule.id) {
            Some((_, own)) => own.push(finding),
            None => by_rule.push((&finding.rule.id, vec![finding])),
        }
    }
    let mut printed = PrintedLines::default();
    for (_, findings) in by_rule {
        page.push('\n');
        page.push_str(&rule(&findings, &mut printed, width));
    }
    let more = if is_of_one { 0 } else { members_more(case) };
    if more > 0 {
        let members =
            crate::report::cases::counted(case.members.kind, usize::try_from(more).unwrap_or(usize::MAX));
        let text =
            format!("Not shown: the findings on {members}; --details=CLIENT shows those on one of them");
        page.push('\n');
        page.push_str(&wrapped("  ", "  ", &text, width));
    }
    page
}

/// The findings of one rule, without lines that the block printed already. Lines that all findings share come last.
fn rule(findings: &[&Finding], printed: &mut PrintedLines, width: usize) -> String {
    let mut page = String::new();
    let Some(first) = findings.first() else { return page };
    let has_one_fix = findings.iter().all(|finding| finding.fix == first.fix);
    let room = width.saturating_sub(INDENT.len());
    for (index, finding) in findings.iter().enumerate() {
        if index > 0 {
            page.push('\n');
        }
        page.push_str(&line(finding, width));
        for (title, line) in facts::request_lines(finding) {
            let text = line.plain();
            // Two clients may have equal numbers, and each client needs its own line.
            let client = finding.client.as_deref().filter(|_| OF_CLIENT.contains(&title));
            if printed.is_new(title, &format!("{} {text}", client.unwrap_or_default())) {
                page.push_str(&titled(title, &text, width));
            }
        }
        // Print the commands for one member only. They show how to write the commands for the other members.
        let commands = finding.verify.lines().filter(|_| finding.client == first.client);
        let commands = commands.filter(|command| printed.is_new("Verify", command));
        let commands: Vec<String> =
            commands.flat_map(|command| command_lines(&escaped(command), room)).collect();
        for (index, part) in commands.iter().enumerate() {
            page.push_str(&copied(if index == 0 { "Verify" } else { "" }, part));
        }
        if !has_one_fix && printed.is_new("Fix", &finding.fix) {
            page.push_str(&fix(finding, width));
        }
    }
    // The rule's page has the other paragraphs.
    let why = first.why.split("\n\n").next().unwrap_or_default();
    page.push_str(&titled_prose("Why", why, width));
    if has_one_fix && printed.is_new("Fix", &first.fix) {
        page.push_str(&fix(first, width));
    }
    let mut others = |title: &'static str, text: Option<&str>| {
        if let Some(text) = text.filter(|text| printed.is_new(title, text)) {
            page.push_str(&titled_prose(title, text, width));
        }
    };
    others("Tradeoff", first.tradeoff.as_deref());
    others("Look for", first.look_for.as_deref());
    page.push_str(&titled("More", &format!("kubetoll rules explain {}", first.rule.id), width));
    page
}

fn fix(finding: &Finding, width: usize) -> String {
    let text = prose::plain(&finding.fix);
    let text = text.lines().filter(|line| !line.is_empty());
    let lines: String = text.map(|line| wrapped("", "", line, width.saturating_sub(INDENT.len()))).collect();
    let mut page = String::new();
    for (index, line) in lines.lines().enumerate() {
        page.push_str(&copied(if index == 0 { "Fix" } else { "" }, &format!("{FIX}{line}{FIX:#}")));
    }
    page
}

fn titled_prose(title: &str, text: &str, width: usize) -> String {
    let text = prose::plain(text);
    let lines = text.lines().filter(|line| !line.is_empty()).enumerate();
    lines.map(|(index, line)| titled(if index == 0 { title } else { "" }, line, width)).collect()
}

/// The worst members of a case with their requests, and how many more there are.
fn members(case: &Case) -> String {
    let named = case::members(case).unwrap_or_default();
    match members_more(case) {
        0 => named,
        more => format!("{named} and {} more", count(more)),
    }
}

fn members_more(case: &Case) -> u64 {
    case.members.count.saturating_sub(case.members.worst.len() as u64)
}

/// A line for copying. It is never broken, however long it is.
fn copied(title: &str, text: &str) -> String {
    format!("  {DIM}{title:<14}{DIM:#}{text}\n")
}

fn client_block(finding: &Finding, over_time: &OverTime<'_>, width: usize) -> String {
    let mut page = String::new();
    let room = width.saturating_sub(INDENT.len());
    for (title, line) in facts::client_lines(finding).into_iter().chain(over_time.lines(finding, room)) {
        page.push_str(&titled(title, &line.plain(), width));
    }
    page
}

fn line(finding: &Finding, width: usize) -> String {
    let style = style::severity(finding.severity);
    let head = format!("{} {}: ", finding.rule.id, finding.rule.name);
    let text = wrapped("  ", "    ", &format!("{head}{}", escaped(&finding.message)), width);
    let text = text.strip_prefix("  ").unwrap_or(&text);
    let colored = text.replacen(&*finding.rule.id, &format!("{style}{}{style:#}", finding.rule.id), 1);
    format!("  {colored}")
}

/// The words of a command with their quotes, `'…'` and `$'…'`.
fn shell_words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut by_dollar, mut escaped, mut before) = (false, false, false, ' ');
    for c in command.chars() {
        let is_escaped = std::mem::take(&mut escaped);
        match c {
            _ if is_escaped => {}
            '\\' if !quoted || by_dollar => escaped = true,
            '\'' => {
                by_dollar = !quoted && before == '$';
                quoted = !quoted;
            }
            ' ' if !quoted => {
                words.push(String::new());
                before = c;
                continue;
            }
            _ => {}
        }
        before = c;
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words
}

/// A command on lines that end in `\`. A line has at most `room` characters unless a single word is longer.
fn command_lines(command: &str, room: usize) -> Vec<String> {
    // A space and `\` at the end take two columns.
    let room = room.saturating_sub(2);
    let mut lines: Vec<String> = Vec::new();
    for word in shell_words(command) {
        if appended(&mut lines, " ", &word, room) {
            continue;
        }
        match lines.last_mut() {
            None => lines.push(word),
            Some(line) => {
                line.push_str(" \\");
                lines.push(format!("  {word}"));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_break_only_between_words() {
        let lines = command_lines("kubetoll classify 'GET /a b c d e f g' --kube-version 1.30.4", 30);
        assert_eq!(lines, ["kubetoll classify \\", "  'GET /a b c d e f g' \\", "  --kube-version 1.30.4"]);
        assert_eq!(command_lines("kubectl get --raw /x", 80), ["kubectl get --raw /x"]);
        let hostile = r"scan --user 'a'\''; touch /x #' --verb $'a\' b' list";
        let words = ["scan", "--user", r"'a'\''; touch /x #'", "--verb", r"$'a\' b'", "list"];
        assert_eq!(shell_words(hostile), words);
    }
}
