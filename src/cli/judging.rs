//! Loads the rules and the policy file that the flags select.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};

use super::args::{FailOn, RuleArgs, ServerArgs};
use crate::files::{read_up_to, yaml};
use crate::products;
use crate::rules::policy::{self, FILE_NAME};
use crate::rules::{Policy, Rule, RuleSet};

/// The rules and the policy of a run.
#[derive(Debug)]
pub(super) struct Judging {
    pub(super) rules: RuleSet,
    pub(super) policy: Policy,
    pub(super) fail_on: Vec<FailOn>,
}

impl Judging {
    /// Removes the rules that need a budget, for a run without one.
    ///
    /// # Errors
    /// If the run would then have no rule, or a gate could not fail.
    pub(super) fn leave_out_budget(&mut self) -> anyhow::Result<()> {
        let (of_budget, others): (Vec<Rule>, Vec<Rule>) =
            self.rules.rules.drain(..).partition(|rule| rule.group_by.budget);
        self.rules.rules = others;
        let is_only_of_budget = |word: &str| {
            let selects = |rules: &[Rule]| rules.iter().any(|rule| rule.is_selected_by(word));
            selects(&of_budget) && !selects(&self.rules.rules)
        };
        if let Some(word) = self.fail_on.iter().filter_map(named_rule).find(|word| is_only_of_budget(word)) {
            bail!("--fail-on {word}: this rule judges a run by a budget; add --budget FILE");
        }
        if self.rules.rules.is_empty() && !of_budget.is_empty() {
            bail!("the selected rules judge a run by a budget; add --budget FILE");
        }
        self.policy.suppressions.retain(|one| !is_only_of_budget(&one.rule));
        Ok(())
    }
}

/// Loads the files that the flags name. Flags override the policy file.
pub(super) fn load(args: &RuleArgs, fail_on: &[FailOn]) -> anyhow::Result<Judging> {
    let (mut rules, policy) = all(args)?;
    let fail_on = if fail_on.is_empty() { policy_fail_on(&policy) } else { fail_on.to_vec() };
    for word in fail_on.iter().filter_map(named_rule) {
        policy::check_fail_on(word, &rules).map_err(|error| anyhow!("--fail-on: {error}"))?;
    }
    let select = if args.select.is_empty() { &policy.select } else { &args.select };
    let ignore: Vec<String> = args.ignore.iter().chain(&policy.ignore).cloned().collect();
    rules.choose(select, &ignore).map_err(|error| anyhow!(error))?;
    for word in fail_on.iter().filter_map(named_rule) {
        if !rules.rules.iter().any(|rule| rule.is_selected_by(word)) {
            bail!("--fail-on {word}: --select and --ignore leave out this rule, so it finds nothing");
        }
    }
    Ok(Judging { rules, policy, fail_on })
}

/// All rules, selected or not, with the policy's settings.
pub(super) fn all(args: &RuleArgs) -> anyhow::Result<(RuleSet, Policy)> {
    let mut rules = RuleSet::with_directories(&args.rules).context("--rules")?;
    products::add(&args.rules).map_err(|error| anyhow!(error)).context("--rules")?;
    let policy = policy(args, &rules)?;
    policy.apply(&mut rules);
    Ok((rules, policy))
}

fn policy(args: &RuleArgs, rules: &RuleSet) -> anyhow::Result<Policy> {
    let usual = Path::new(FILE_NAME);
    let path: PathBuf = match &args.config {
        Some(path) => path.clone(),
        None if is_absent(usual) => return Ok(Policy::default()),
        None => usual.to_owned(),
    };
    let unreadable = || format!("{}: can't be read as a policy file", path.display());
    let bytes = read_up_to(&path, yaml::LONGEST).with_context(unreadable)?;
    let text = String::from_utf8(bytes).with_context(unreadable)?;
    let today = chrono::Local::now().date_naive();
    Ok(Policy::read(&path, &text, rules, today)?)
}

/// Whether the path does not exist. A broken link counts as existing. So reading the link fails, and kubetoll reports
/// the missing policy file as an error.
pub(super) fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

fn policy_fail_on(policy: &Policy) -> Vec<FailOn> {
    let Ok(words) = policy.fail_on.iter().map(|word| word.value.parse()).collect();
    words
}

fn named_rule(what: &FailOn) -> Option<&str> {
    if let FailOn::Rule(word) = what { Some(word) } else { None }
}

/// Returns the server's flags. For an absent flag, uses the value from the policy file.
pub(super) fn server_args(args: &ServerArgs, policy: &Policy) -> ServerArgs {
    let or = |flag: &Vec<String>, own: &Vec<String>| if flag.is_empty() { own.clone() } else { flag.clone() };
    ServerArgs {
        kube_version: args.kube_version.clone().or_else(|| policy.kube_version.clone()),
        etcd_version: args.etcd_version.clone().or_else(|| policy.etcd_version.clone()),
        feature_gate: or(&args.feature_gate, &policy.feature_gates),
        uncached: or(&args.uncached, &policy.uncached),
        aggregated: or(&args.aggregated, &policy.aggregated),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::policy::FAIL_ON;

    #[test]
    fn unknown_fail_on_word_gets_a_suggestion() {
        for word in FAIL_ON {
            let Ok(what) = word.parse::<FailOn>();
            assert_eq!(named_rule(&what), None, "{word}");
        }
        let rules = RuleSet::embedded();
        assert_eq!(
            policy::check_fail_on("KT1O1", &rules).expect_err("no rule"),
            "cannot fail on 'KT1O1'; did you mean 'KT101'?"
        );
        assert_eq!(
            policy::check_fail_on("etcd-lists", &rules).expect_err("no rule"),
            "cannot fail on 'etcd-lists'; did you mean 'etcd-list'?"
        );
        let unlike = policy::check_fail_on("everything-at-all", &rules).expect_err("no rule");
        assert!(unlike.contains("`kubetoll rules list`"), "{unlike}");
    }
}
