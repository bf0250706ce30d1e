//! The number of cases of a property test.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// At least `cases` cases; `PROPTEST_CASES` can raise the number.
pub fn cases(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases.max(cases) } else { cases };
    let failure_persistence = Some(Box::new(FileFailurePersistence::WithSource("regressions")) as Box<_>);
    ProptestConfig { cases, failure_persistence, ..default }
}
