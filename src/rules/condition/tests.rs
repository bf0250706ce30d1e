//! Valid and invalid conditions, and a comparison of native evaluation with CEL.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::rules::value::Kind;

fn compile(source: &str) -> Result<Condition, Vec<CheckError>> {
    let thresholds = [("many".to_owned(), 20.0), ("often".to_owned(), 1.5)];
    let roots = [Root::Client, Root::Request, Root::Server, Root::Stats, Root::Threshold];
    Condition::compile(source, &VariableScope { roots: &roots, thresholds: &thresholds })
}

#[test]
fn valid_conditions_compile() {
    for source in [
        "true",
        "request.verb == \"list\" && request.fromEtcd && client.kind != 'control-plane'",
        "stats.requests >= 20 || stats.peakPerMinute >= 6",
        "stats.requests >= threshold.many && stats.peakPerMinute > threshold.often",
        "client.kind in ['user', 'node'] && !(server.minor < 31)",
        "size(request.misspelled) > 0",
        "request.misspelled.exists(key, key == 'limit' || key.startsWith('field'))",
        "request.resource.matches('^(a|b)$')",
        "double(stats.requests) / 2.0 > 1.5 ? true : stats.requests % 2 == 0",
        "server.minor in [27, 28]",
        "'limit' in request.misspelled",
    ] {
        assert!(compile(source).is_ok(), "{source}: {:?}", compile(source).err());
    }
}

#[test]
fn invalid_conditions_report_position_and_error() {
    for (source, offset, message) in [
        ("request.verb", 7, "the condition must be true or false, not string"),
        ("stats.requests + 1", 15, "the condition must be true or false, not int"),
        ("request.verbs == 'list'", 7, "no such name 'request.verbs'; did you mean 'verb'?"),
        ("reqest.verb == 'list'", 0, "no such name 'reqest'; did you mean 'request'?"),
        ("request.verb == 3", 13, "'==' cannot compare string with int"),
        ("request.verb > 3", 13, "'>' cannot compare string with int"),
        ("stats.requests && true", 5, "&& needs bool, not int"),
        (
            "input.events > 3",
            0,
            "'input' is not available here; use client, request, server, stats, threshold",
        ),
        ("threshold.few > 3", 9, "no such name 'threshold.few'; known: many, often"),
        ("request", 0, "'request' is not a value; use one of its names, such as request.verb"),
        ("request.verb.startWith('l')", 22, "no such function 'startWith'; did you mean 'startsWith'?"),
        ("request.verb.matches('(')", 21, "not a valid regular expression: unclosed group"),
        ("stats.requests * 1.5 > 3.0", 15, "'*' needs two int or two double; write double(…) around the int"),
        ("request.verb in ['a', 1]", 16, "lists of anything but strings or numbers are not supported"),
        ("has(request.verb)", 3, "has() is not needed, because each name has a value; it is not supported"),
    ] {
        let errors = compile(source).expect_err(source);
        assert_eq!(errors, [CheckError { offset, message: message.to_owned() }], "{source}");
    }
}

#[test]
fn all_errors_of_a_condition_are_reported_at_once() {
    let errors = compile("request.vreb == 'a' && stats.request > 2").expect_err("two names");
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn expensive_conditions_are_rejected() {
    let doubled = "['a'].exists(a, [a + a].exists(b, [b + b].exists(c, c != '')))";
    let errors = compile(doubled).expect_err("it doubles a text in each loop");
    assert_eq!(errors[0].message, "exists() and all() cannot add or join values");
    assert_eq!(doubled.as_bytes()[errors[0].offset], b'+', "{errors:?}");
    let list = format!("[{}]", vec!["1"; 20].join(","));
    let nested = format!("{list}.all(a, {list}.all(b, {list}.all(c, a + 1 > 0 && b > 0 && c > 0)))");
    let errors = compile(&nested).expect_err("it runs for 8,000 combinations");
    assert!(errors[0].message.starts_with("the condition takes up to "), "{errors:?}");
    let once = format!("{list}.all(a, {list}.exists(b, a == b))");
    assert!(compile(&once).is_ok());
}

#[test]
fn syntax_errors_have_a_position() {
    for source in ["request.verb == ", "a b", "(", "1 +", "'x"] {
        let errors = compile(source).expect_err(source);
        assert!(errors[0].message.starts_with("not a valid CEL expression: "), "{source}: {errors:?}");
        assert!(errors[0].offset <= source.len());
    }
}

#[test]
fn doubles_compare_with_integers() {
    let condition = compile("stats.peakPerMinute >= threshold.many").expect("a condition");
    let name_of = |name: VariableRef| {
        if name.root == Root::Threshold { "many".to_owned() } else { "peakPerMinute".to_owned() }
    };
    for (peak, holds) in [(20.0, true), (19.9, false)] {
        assert_eq!(
            condition.whole.evaluate(&[VariableValue::Double(peak), VariableValue::Int(20)], name_of),
            Ok(holds)
        );
    }
}

/// Values at and near the limits that the conditions compare with.
fn values() -> impl Strategy<Value = (Vec<i64>, Vec<f64>, Vec<String>)> {
    let ints = prop_oneof![-2_i64..30, Just(i64::MAX), Just(i64::MIN), any::<i64>()];
    let doubles = prop_oneof![
        (-20_i32..300).prop_map(|tenths| f64::from(tenths) / 10.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        any::<f64>()
    ];
    let texts = prop_oneof![
        Just("list".to_owned()),
        Just("user".to_owned()),
        Just(String::new()),
        Just("1.30".to_owned()),
        "[a-zé]{0,5}"
    ];
    (vec(ints, 4), vec(doubles, 4), vec(texts, 4))
}

proptest! {
    /// If native evaluation returns a result, CEL returns the same. The conditions with an index in [`PLANNED`] have a
    /// native expression.
    #[test]
    fn native_results_match_cel(index in 0..CONDITIONS.len(), (ints, doubles, texts) in values(), flag: bool) {
        let condition = compile(CONDITIONS[index]).expect("a condition");
        let value = |name: VariableRef| -> VariableValue<'_> {
            let all = name.root.names();
            let kind = all.get(name.index).map_or(Kind::Int, |(_, kind, _)| *kind);
            match kind {
                Kind::Bool => VariableValue::Bool(flag),
                Kind::Int => VariableValue::Int(ints[name.index % ints.len()]),
                Kind::Double => VariableValue::Double(doubles[name.index % doubles.len()]),
                Kind::Text => VariableValue::Text(texts[name.index % texts.len()].as_str().into()),
                Kind::Texts => VariableValue::Texts(texts.iter().map(|text| text.as_str().into()).collect()),
            }
        };
        let name_of = |name: VariableRef| match name.root {
            Root::Threshold => ["many", "often"][name.index].to_owned(),
            root => root.names()[name.index].0.to_owned(),
        };
        let values: Vec<VariableValue<'_>> = condition.whole.variables.iter().map(|name| value(*name)).collect();
        let by_cel = condition.whole.evaluate(&values, name_of);
        prop_assert!(!PLANNED.contains(&index) || condition.whole.native.is_some());
        if let Ok(holds) = condition.whole.holds_natively(value) {
            prop_assert_eq!(by_cel, Ok(holds), "{}", condition.source);
        }
        for part in &condition.conjuncts {
            let values: Vec<VariableValue<'_>> = part.variables.iter().map(|name| value(*name)).collect();
            if let Ok(holds) = part.holds_natively(value) {
                prop_assert_eq!(part.evaluate(&values, name_of), Ok(holds), "{}", condition.source);
            }
        }
    }
}

/// Conditions with every kind of expression. Those after [`PLANNED`] have no native expression.
const CONDITIONS: [&str; 26] = [
    "true",
    "request.fromEtcd",
    "request.verb == \"list\" && request.fromEtcd && client.kind != 'control-plane'",
    "stats.requests >= 20 || stats.peakPerMinute >= 6",
    "stats.requests >= threshold.many && stats.peakPerMinute > threshold.often",
    "client.kind in ['user', 'node'] && !(server.minor < 31)",
    "client.kind in ['user', client.identity]",
    "server.minor in [27, 28, 0]",
    "double(stats.requests) / 2.0 > 1.5 ? true : stats.requests % 2 == 0",
    "stats.requests * 10 + stats.events - 3 >= stats.events / stats.requests",
    "stats.requests + stats.events > 9 || 10 / stats.requests > 1 && 5 % stats.events <= 3",
    "(client.kind == 'user' ? stats.requests : threshold.many) >= -stats.events",
    "-stats.peakPerMinute < 3.0 && stats.peakPerMinute * 2.0 - 1.0 != stats.perMinute + double(stats.peakPerMinute)",
    "size(request.misspelled) > 0 && 'limit' in request.misspelled",
    "client.kind in request.misspelled || client.identity in request.misspelled",
    "request.resource.startsWith('l') || request.scope.endsWith('t') || request.reason.contains('se')",
    "request.verb < request.resource && request.scope >= 'list' && client.kind <= client.library",
    "request.fromEtcd == (request.verb != '')",
    "stats.peakPerMinute == 1.5 || stats.peakPerMinute != stats.perMinute",
    "!(stats.peakPerMinute > 1.5) == (stats.requests < 3)",
    "stats.peakPerMinute in [1.5, 20, 3.0] || stats.requests in [1.0, 2.0]",
    "request.resource.matches('^(l|b)') && request.verb == 'list'",
    "request.misspelled.exists(key, key == 'list' || key.startsWith('us')) || client.kind == 'user'",
    "size(request.verb) > 2 && request.fromEtcd",
    "int(stats.peakPerMinute) > 2 || stats.requests > 3",
    "request.verb + request.scope == 'list'",
];
const PLANNED: std::ops::Range<usize> = 0..21;

#[test]
fn runtime_errors_of_cel_are_reported() {
    let condition = compile("10 / stats.requests > 1").expect("a condition");
    assert!(condition.whole.evaluate(&[VariableValue::Int(0)], |_| "requests".to_owned()).is_err());
}
