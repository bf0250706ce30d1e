//! docs/ci/story.sh: a budget, a worse operator, the comment on the pull request, lower limits.

use std::path::Path;
use std::process::Command;

#[test]
fn story_plays_to_its_end_as_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("bash")
        .args(["docs/ci/story.sh", "fixtures/ci"])
        .current_dir(root)
        .env("KUBETOLL", env!("CARGO_BIN_EXE_kubetoll"))
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .output()
        .expect("bash");
    let [text, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
    assert!(output.status.success(), "{text}{errors}");
    insta::assert_snapshot!(text);
}
