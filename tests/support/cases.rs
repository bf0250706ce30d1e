//! How often a property is tried.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// So many cases, or more if `PROPTEST_CASES` says so.
pub fn cases(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases.max(cases) } else { cases };
    let failure_persistence = Some(Box::new(FileFailurePersistence::WithSource("regressions")) as Box<_>);
    ProptestConfig { cases, failure_persistence, ..default }
}
