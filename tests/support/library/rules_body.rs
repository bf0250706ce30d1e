//! Properties of any text that is read as a rule, a policy or a budget.

use std::path::Path;
use std::sync::LazyLock;

use kubetoll::budget::Budget;
use kubetoll::render::rules::{json, list, markdown, terminal};
use kubetoll::rules::{FileErrors, Policy, RuleSet, parse_rule};

static EMBEDDED: LazyLock<RuleSet> = LazyLock::new(RuleSet::embedded);

/// The file is a rule whose pages can be rendered, or every error has a place.
pub fn rule(text: &str) {
    let read = || {
        let mut errors = FileErrors::default();
        (parse_rule("rule.yaml", text, &mut errors), errors)
    };
    let (rule, errors) = read();
    assert_eq!(read().1, errors);
    assert_eq!(rule.is_none(), !errors.0.is_empty(), "no rule without a reason: {errors}");
    placed(text, &errors);
    let Some(rule) = rule else { return };
    assert!(
        rule.is_selected_by(&rule.id)
            && rule.is_selected_by(&rule.name)
            && rule.is_selected_by(rule.family())
    );
    assert!(!rule.levels.is_empty() && !rule.fix.is_empty());
    assert!(markdown::page(&rule).starts_with(&format!("# {} {}\n", rule.id, rule.name)));
    assert!(!terminal::render(&rule, 40).is_empty());
    let rules = [rule];
    assert!(list::render(&rules, 80).contains(&rules[0].id));
    assert!(serde_json::from_str::<serde_json::Value>(&json::render(&rules)).is_ok());
}

/// The file is a policy that can be applied, or every error has a place.
pub fn policy(text: &str) {
    let today = chrono::NaiveDate::from_ymd_opt(2026, 11, 1).expect("a day");
    match Policy::read(Path::new("kubetoll.yaml"), text, &EMBEDDED, today) {
        Ok(policy) => {
            let mut rules = RuleSet::embedded();
            policy.apply(&mut rules);
            rules.choose(&policy.select, &policy.ignore).expect("the words of a policy are checked");
        }
        Err(errors) => {
            assert!(!errors.0.is_empty());
            placed(text, &errors);
        }
    }
}

/// The file is a budget, or every error has a place.
pub fn budget(text: &str) {
    if let Err(errors) = Budget::read("budget.yaml", text) {
        assert!(!errors.0.is_empty());
        placed(text, &errors);
    }
}

/// Each error is in the file or right after its end.
fn placed(text: &str, errors: &FileErrors) {
    // `lines` accepts more line breaks than YAML does.
    let lines = text.split(['\n', '\r']).count() as u64;
    for error in &errors.0 {
        assert!((1..=lines + 1).contains(&error.at.line) && error.at.column >= 1, "{error}");
        assert!(!error.message.is_empty());
    }
}
