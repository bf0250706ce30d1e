//! Rules, findings and cases, from a log to the advice.

#[allow(dead_code, reason = "other binaries use the rest")]
mod support;

mod judging {
    mod advice;
    mod cases;
    mod engine;
    mod load;
    mod rule_fixtures;
    mod rule_texts;
    mod rules;
    mod scenarios;
}
