//! Renders the texts of findings.

use std::cell::OnceCell;
use std::sync::{Arc, LazyLock};

use minijinja::Value;

use super::condition::Condition;
use super::facts::{CLIENT, REQUEST, RowFacts, RowGetter, SERVER};
use super::finding::{Finding, FindingVerdict, OnProgram};
use super::group::{GroupGetter, RowGroup};
use super::input::{INPUT, InputFacts};
use super::job_advice::job_advice;
use super::permission::Permission;
use super::rivals;
use super::rows::fact;
use super::rule::{Audience, AudienceFix, Audiences, Rule, Severity};
use super::stats::{OF_FAILURES, STATS, peak_mean_minutes};
use super::text_template::{NamedValues, TemplateObject, TextTemplate};
use super::value::{Variable, VariableValue};
use super::variables::{Root, VariableRef};
use crate::judged::Job;
use crate::ledger::{Exemplar, Exemplars, Merge};

/// The maximum number of requests in the evidence.
const SHOWN: usize = 2;
/// The capacity for a finding's values: few findings have more variables that are not zero, false or empty.
const USUAL: usize = 32;
/// The maximum number of user agents of a finding.
const SHOWN_AGENTS: usize = 3;

/// [`STATS`] sorted by name, as the report lists them.
static BY_NAME: LazyLock<Vec<Variable<GroupGetter>>> = LazyLock::new(|| {
    let mut names = STATS.clone();
    names.sort_unstable_by_key(|name| name.name);
    names
});

/// Escapes text that a client chose, for use in Markdown. The text must not end its code span or its line. Control
/// characters get the same escapes as in other formats, so a name looks the same everywhere.
fn in_prose(text: &str) -> String {
    if !text.contains(|c: char| c == '`' || c.is_control()) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '`' => out.push('\''),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Returns the values that are not zero, false or empty. Most values are.
fn nonempty_values<'v, Get>(
    names: &[Variable<Get>],
    find: impl Fn(&Get) -> VariableValue<'v>,
) -> NamedValues {
    let values = names.iter().map(|name| (name.name, find(&name.get)));
    let mut set = NamedValues::with_capacity(USUAL);
    set.extend(values.filter(|(_, value)| value.is_set()).map(|(name, value)| (name, value.into_owned())));
    set
}

fn template_object(root: Root, facts: &Arc<NamedValues>, escape: fn(&str) -> String) -> Value {
    Value::from_object(TemplateObject { name: String::new(), root, facts: facts.clone(), escape })
}

fn thresholds(rule: &Rule) -> Value {
    Value::from_pairs(rule.threshold_values().map(|(name, value)| (name, value.to_template())))
}

/// Returns a rendered text. If it failed, adds its error to `failures` and returns `instead`.
fn or_instead(filled: Result<String, String>, instead: &str, failures: &mut Vec<String>) -> String {
    filled.unwrap_or_else(|failure| {
        failures.push(failure);
        instead.to_owned()
    })
}

/// Renders a finding on a client or a program. Returns the finding, and the errors of texts that fail on a value. If
/// the message fails, the rule's summary replaces it; any other failed text becomes empty.
pub(super) fn on_group(rule: &Rule, severity: Severity, group: &RowGroup<'_>) -> (Finding, Vec<String>) {
    let leading = group.leading();
    let client = leading.client;
    let resource = leading.key.resource.as_deref().map(str::to_owned);
    let resource = resource.filter(|_| group.rows.iter().all(|row| row.key.resource == leading.key.resource));
    let has_one_product = group.rows.iter().all(|row| row.product == leading.product);
    let product = has_one_product.then(|| leading.product.to_owned());
    let shape = leading.key.name();
    let program = OnProgram::from_group(group);
    let name = program.as_ref().map_or_else(|| client.short_name(), |program| program.sentence.clone());
    let resource_or = resource.as_deref().or(leading.key.resource.as_deref()).unwrap_or("(other)");
    let stats = Arc::new(nonempty_values(&BY_NAME, |get| get(group)));
    let permission = Permission::from_group(group);
    let found_rivals = OnceCell::new();
    let rivals = || found_rivals.get_or_init(|| rivals::find(group)).clone();
    let (clients, requests, servers) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
    // Looks up only the variables that a text uses, because most texts use few.
    let placeholders = |text: &TextTemplate, escape: fn(&str) -> String| {
        let facts =
            |cell: &OnceCell<Arc<NamedValues>>, root: Root, names: &[Variable<RowGetter>], name: &str| {
                let values = || Arc::new(nonempty_values(names, |get| get(group.representative())));
                let facts = cell.get_or_init(values).clone();
                Value::from_object(TemplateObject { name: escape(name), root, facts, escape })
            };
        let plain = [("resource", resource_or), ("product", leading.product), ("shape", &shape)];
        let plain = plain.into_iter().filter(|(name, _)| text.names(name));
        let mut filled: Vec<(&str, Value)> = plain.map(|(name, text)| (name, escape(text).into())).collect();
        if text.names("permission") {
            let prose = permission.as_ref().map_or(String::new(), |one| one.prose(&escape(&name), escape));
            filled.push(("permission", prose.into()));
        }
        if text.names("rivals") {
            filled.push(("rivals", rivals::prose(&rivals(), resource_or, escape).into()));
        }
        let of_row = [
            (&clients, Root::Client, CLIENT, &*name),
            (&requests, Root::Request, REQUEST, ""),
            (&servers, Root::Server, SERVER, ""),
        ];
        for (cell, root, names, name) in of_row.into_iter().filter(|(_, root, ..)| text.names(root.as_str()))
        {
            filled.push((root.as_str(), facts(cell, root, names, name)));
        }
        if text.names("stats") {
            filled.push(("stats", template_object(Root::Stats, &stats, escape)));
        }
        if text.names("threshold") {
            filled.push(("threshold", thresholds(rule)));
        }
        Value::from_pairs(filled)
    };
    let fill_by = |text: &TextTemplate, escape: fn(&str) -> String| {
        if text.is_plain() {
            return Ok(text.source().to_owned());
        }
        text.render(&placeholders(text, escape)).map_err(|error| format!("{}: {error}", rule.id))
    };
    let fill = |text: &TextTemplate| fill_by(text, in_prose);
    let key = key(rule, leading, resource.as_ref(), product.as_ref());
    let user_agents = user_agents(group);
    let mut failures = Vec::new();
    let mut or = |filled, instead: &str| or_instead(filled, instead, &mut failures);
    let message =
        one_line(&or(fill_by(&rule.message, str::to_owned), &rule.summary)) + &peak_note(rule, group);
    let known_product = client.known_product(leading.product);
    let mut fix = or(fix(rule, leading, &fill), "");
    if let Some(own) = known_product.and_then(|(product, _)| product.fix(&rule.name)) {
        fix = format!("{} See {}.\n\n{fix}", own.text.trim(), own.source);
    }
    let look_for = rule.verify.as_ref().map(|text| or(fill(text), ""));
    let tradeoff = rule.tradeoff.as_ref().map(|text| or(fill(text), "").trim().to_owned());
    let finding = Finding {
        rule: rule.id.clone(),
        hit: None,
        severity,
        client: Some(group.client),
        program,
        product,
        resource,
        shape: Some(shape),
        key,
        message,
        fix,
        look_for,
        tradeoff,
        stats: Arc::unwrap_or_clone(stats),
        verb: Some(leading.key.verb.map_or("other", crate::k8s::Verb::as_str)),
        verdict: Some(verdict(leading, group)),
        load: group.load(),
        cost: group.known_cost(),
        span: group.span(),
        user_agents,
        evidence: evidence(rule, group),
        slow_reads: group.slow_reads(),
        rivals: found_rivals.get().cloned().unwrap_or_default(),
        permission,
        known_product,
        pattern: Some(group.pattern()).filter(|pattern| pattern.instances > 0).cloned().map(Box::new),
    };
    (finding, failures)
}

/// Returns the words that a message needs if its peak is a mean over several minutes.
fn peak_note(rule: &Rule, group: &RowGroup<'_>) -> String {
    match peak_mean_minutes(group) {
        minutes @ 1.. if rule.message.source().contains("stats.peakPerMinute") => {
            format!("; the peak is a mean over {minutes} minutes")
        }
        _ => String::new(),
    }
}

/// Returns a key that distinguishes findings of the same rule and client.
fn key(
    rule: &Rule,
    leading: &RowFacts<'_>,
    resource: Option<&String>,
    product: Option<&String>,
) -> Vec<String> {
    let mut key = Vec::new();
    key.extend(resource.filter(|_| rule.group_by.resource).cloned());
    key.extend(product.filter(|_| rule.group_by.product).cloned());
    if rule.group_by.shape {
        // Shapes with the same name can differ in their verdict and in misspelled parameters.
        key.push(leading.key.name());
        key.push(leading.key.reason.to_owned());
        key.extend(leading.key.misspelled.iter().cloned());
    }
    key
}

/// Returns the user agent products, each with an example of a full user agent.
fn user_agents(group: &RowGroup<'_>) -> Vec<(String, String)> {
    let agents = &group.representative().client.agents;
    let mut shown: Vec<(String, String)> = Vec::new();
    for facts in &group.rows {
        if shown.len() < SHOWN_AGENTS && !shown.iter().any(|(product, _)| product == facts.product) {
            let example = agents.get(facts.product).map_or(String::new(), |agent| agent.example.clone());
            shown.push((facts.product.to_owned(), example));
        }
    }
    shown
}

/// Renders a finding on the input; see [`on_group`].
pub(super) fn on_input(rule: &Rule, severity: Severity, input: &InputFacts<'_>) -> (Finding, Vec<String>) {
    let facts = Arc::new(nonempty_values(INPUT, |get| get(input)));
    let values = Value::from_pairs([
        ("input", template_object(Root::Input, &facts, str::to_owned)),
        ("threshold", thresholds(rule)),
    ]);
    let fill = |text: &TextTemplate| text.render(&values).map_err(|error| format!("{}: {error}", rule.id));
    let any = rule.fix.iter().find(|fix| fix.audience == Audience::Any).and_then(|fix| fix.cases.last());
    let mut failures = Vec::new();
    let mut or = |filled, instead: &str| or_instead(filled, instead, &mut failures);
    let finding = Finding {
        rule: rule.id.clone(),
        severity,
        message: one_line(&or(fill(&rule.message), &rule.summary)),
        fix: any.map_or_else(String::new, |(_, text)| or(fill(text), "").trim().to_owned()),
        look_for: rule.verify.as_ref().map(|text| or(fill(text), "")),
        tradeoff: rule.tradeoff.as_ref().map(|text| or(fill(text), "").trim().to_owned()),
        stats: Arc::unwrap_or_clone(facts),
        ..Finding::default()
    };
    (finding, failures)
}

/// Joins the message into one line. Template conditions can leave blank lines in it.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fix(
    rule: &Rule,
    leading: &RowFacts<'_>,
    fill: &impl Fn(&TextTemplate) -> Result<String, String>,
) -> Result<String, String> {
    let of = |audiences: &[Audience]| {
        let own = |audience: &Audience| rule.fix.iter().find(|fix| fix.audience == *audience);
        let fix = audiences.iter().find_map(own);
        fix.map_or(Ok(None), |fix| render_fix(rule, fix, leading, fill))
    };
    let Audiences { sure, job, jobs } = Audience::for_row(leading);
    let own = of(&sure)?;
    let for_jobs = if job == Job::No { None } else { of(&jobs)? };
    Ok(job_advice(job, for_jobs, own).unwrap_or_default())
}

/// Renders one fix: the text of the first case whose condition holds. Returns `None` if no condition holds.
fn render_fix(
    rule: &Rule,
    AudienceFix { cases, .. }: &AudienceFix,
    leading: &RowFacts<'_>,
    fill: &impl Fn(&TextTemplate) -> Result<String, String>,
) -> Result<Option<String>, String> {
    for (when, text) in cases {
        let holds = when.as_ref().map_or(Ok(true), |Condition { whole, .. }| {
            let holds = whole.holds_natively(|variable| fact(variable, leading));
            let name_of = |variable: VariableRef| variable.name(&rule.thresholds).to_owned();
            holds.or_else(|values| whole.evaluate(&values, name_of))
        });
        if holds.map_err(|error| format!("{}: {error}", rule.id))? {
            return fill(text).map(|text| Some(text.trim().to_owned()));
        }
    }
    Ok(None)
}

fn verdict(leading: &RowFacts<'_>, group: &RowGroup<'_>) -> FindingVerdict {
    let key = leading.key;
    FindingVerdict {
        served_from: key.served_from.as_str(),
        likely: key.likely.map(crate::apiserver::ServedFrom::as_str),
        limit: key.limit.as_str(),
        reason: key.reason,
        explanation: leading.shape_summary.verdict.map_or("", |verdict| verdict.reason.sentence()),
        certainty: leading.shape_summary.certainty().as_str(),
        kube_version: key.kube_version.to_string(),
        agree: group.rows.iter().map(|facts| facts.agreement.agree).sum(),
        contradict: group.rows.iter().map(|facts| facts.agreement.contradict).sum(),
    }
}

/// Returns the most expensive requests as evidence. If the rule is about deprecated APIs or failures, returns
/// deprecated or failed requests, if there are any. Otherwise, returns requests of the shape with the most requests.
fn evidence(rule: &Rule, group: &RowGroup<'_>) -> Vec<Exemplar> {
    let uses_any = |wanted: &[&str]| {
        let used = rule.levels.iter().flat_map(|(_, condition)| &condition.whole.variables);
        used.filter(|used| used.root == Root::Stats).any(|used| wanted.contains(&STATS[used.index].name))
    };
    let rows = || group.rows.iter().copied();
    let mut exemplars: Vec<&Exemplars> = if uses_any(&["deprecated"]) {
        rows().filter_map(|facts| Some(&facts.row.rare().deprecated.as_ref()?.exemplars)).collect()
    } else if uses_any(&OF_FAILURES) {
        rows().filter_map(|facts| facts.row.failed.as_deref()).collect()
    } else {
        Vec::new()
    };
    if exemplars.iter().all(|own| own.as_slice().is_empty()) {
        let leading = group.leading().key;
        exemplars = rows().filter(|facts| facts.key == leading).map(|facts| &facts.row.exemplars).collect();
    }
    let shown = |own: &Exemplars| own.as_slice().iter().take(SHOWN).cloned().collect();
    if let [only] = exemplars[..] {
        return shown(only);
    }
    let mut all = Exemplars::default();
    for own in exemplars {
        all.merge(own.clone());
    }
    shown(&all)
}
