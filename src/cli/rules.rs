//! `kubetoll rules`: lists, explains and checks rules.

use std::path::Path;

use anyhow::{anyhow, bail};

use super::args::{CheckArgs, ExplainArgs, ListArgs, RuleArgs, RulesCommand, RulesFormat, SchemaArgs};
use super::judging;
use super::output::{ERROR, SUCCESS, TextOutput, say, width};
use crate::render::escape::{escaped, without_commands};
use crate::render::plain::counted;
use crate::render::rules;
use crate::rules::{BadRules, RuleSet, schema};

pub(super) fn run(command: &RulesCommand) -> anyhow::Result<u8> {
    match command {
        RulesCommand::List(args) => list(args),
        RulesCommand::Explain(args) => explain(args),
        RulesCommand::Check(args) => check(args),
        RulesCommand::Schema(args) => print_schema(args),
    }
}

fn list(args: &ListArgs) -> anyhow::Result<u8> {
    let judging = judging::load(&args.rules, &[])?;
    let rules = &judging.rules.rules;
    match args.format {
        RulesFormat::Text => {
            TextOutput::Stdout.write(&rules::list::render(rules, width()), args.color.choice())?;
        }
        RulesFormat::Json => TextOutput::Stdout.write_raw(&rules::json::render(rules))?,
    }
    Ok(SUCCESS)
}

fn explain(args: &ExplainArgs) -> anyhow::Result<u8> {
    let all = RuleArgs {
        rules: args.rules.clone(),
        config: args.config.clone(),
        select: Vec::new(),
        ignore: Vec::new(),
    };
    let (rules, _) = judging::all(&all)?;
    let Some(rule) = rules.find(&args.rule) else {
        rules.check_word(&args.rule).map_err(|error| anyhow!(error))?;
        bail!("'{}' means several rules; `kubetoll rules list --select {}` shows them", args.rule, args.rule);
    };
    TextOutput::Stdout.write(&rules::terminal::render(rule, width()), args.color.choice())?;
    Ok(SUCCESS)
}

fn check(args: &CheckArgs) -> anyhow::Result<u8> {
    match RuleSet::check(&args.directory) {
        Ok(count) => {
            TextOutput::Stdout.write_raw(&format!("{}, no errors\n", counted(count as u64, "rule")))?;
            Ok(SUCCESS)
        }
        Err(BadRules::Errors(errors)) => {
            let text = errors.to_string();
            let lines: Vec<_> = text.lines().map(escaped).collect();
            TextOutput::Stdout.write_raw(&without_commands(&(lines.join("\n") + "\n")))?;
            say(&format!("error: {}", error_count(&args.directory, errors.0.len())));
            Ok(ERROR)
        }
        Err(other) => Err(other.into()),
    }
}

fn error_count(directory: &Path, errors: usize) -> String {
    format!("{}: {}", directory.display(), counted(errors as u64, "error"))
}

fn print_schema(args: &SchemaArgs) -> anyhow::Result<u8> {
    let schema = if args.policy { schema::policy(&RuleSet::embedded()) } else { schema::rule() };
    TextOutput::Stdout.write_raw(&(serde_json::to_string_pretty(&schema)? + "\n"))?;
    Ok(SUCCESS)
}
