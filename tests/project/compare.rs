//! The benchmark that compares kubetoll with other programs: the parts that need no network, no other program
//! and no clock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::value::RawValue;
use synth::amplify::Amplified;

/// Runs the script.
fn run(arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/compare/run");
    Command::new("python3").arg(script).args(arguments).output().expect("python3 runs")
}

/// Cargo builds examples before it runs all tests, but not before it runs this one alone.
fn generator() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    let examples = own.ancestors().nth(2).expect("deps/ lies in a folder").join("examples");
    let generator = examples.join(format!("generate_log{}", std::env::consts::EXE_SUFFIX));
    if !generator.exists() {
        let build = ["build", "--locked", "--example", "generate_log"];
        let status = Command::new(env!("CARGO")).args(build).status().expect("cargo runs");
        assert!(status.success(), "the generator must build");
    }
    generator
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
#[ignore = "needs Python 3.11: cargo test --test project -- --ignored"]
fn results_are_folded_and_compared() {
    let output = run(&["--self-test"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
#[ignore = "needs Python 3.11: cargo test --test project -- --ignored"]
fn kubetoll_alone_is_measured_and_counts_the_same_in_each_form() {
    let generator = generator();
    let cache = tempfile::tempdir().expect("a folder");
    let raw = cache.path().join("raw.json");
    let arguments = [
        ["--peers", "none"],
        ["--bytes", "300KB"],
        ["--rounds", "1"],
        ["--files", "3"],
        ["--mixes", "metadata,request-response"],
        ["--forms", "plain,zstd"],
        ["--threads", "2"],
        ["--kubetoll", env!("CARGO_BIN_EXE_kubetoll")],
        ["--generator", generator.to_str().expect("a path of UTF-8")],
        ["--cache", cache.path().to_str().expect("a path of UTF-8")],
        ["--json", raw.to_str().expect("a path of UTF-8")],
    ];
    let output = run(&arguments.concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let raw: serde_json::Value =
        serde_json::from_slice(&std::fs::read(raw).expect("it was written")).expect("it is JSON");
    let measured = raw["measurements"].as_array().expect("a list");
    assert_eq!(measured.len(), 4, "two mixes in two forms");
    // The compression does not change the result.
    for same in measured.chunks(2) {
        assert!(same.iter().all(|one| one["check"] == same[0]["check"]), "{same:?}");
        assert!(same[0]["events"].as_u64() > Some(0));
    }
    let table = text(&output.stdout);
    assert_eq!(table.matches("| kubetoll | 1 |").count(), 4, "{table}");
}

#[test]
#[ignore = "needs Python 3.11: cargo test --test project -- --ignored"]
fn invalid_arguments_are_errors() {
    for (arguments, said) in [
        (["--peers", "excel"], "there is no excel"),
        (["--bytes", "much"], "give a size"),
        (["--threads", "0"], "1 or more"),
        (["--kubetoll", "nowhere/kubetoll"], "there is no nowhere/kubetoll"),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    }
}

#[test]
fn amplified_recordings_differ_only_in_ids_and_times() {
    let line = |id, stage, at| {
        format!(
            r#"{{"auditID":"{id}","stage":"{stage}","requestURI":"/\"auditID\":\"","requestReceivedTimestamp":"2026-11-20T20:35:54.654431Z","stageTimestamp":"2026-11-20T20:35:{at}Z"}}"#
        )
    };
    let recording = [
        line("a", "RequestReceived", "54.654431"),
        line("b", "RequestReceived", "54.654431"),
        line("a", "ResponseComplete", "55.654431"),
    ];
    let lines: Vec<String> = Amplified::new(&recording.join("\n"), 1).expect("events").take(6).collect();
    let ids: Vec<&str> = lines.iter().map(|line| &line[12..48]).collect();
    assert_eq!((ids[0], ids[3]), (ids[2], ids[5]));
    assert!(ids[0] != ids[1] && ids[0] != ids[3] && ids[1] != ids[4]);
    let shifted = |line: &str| line.replace(":54.", ":56.").replace(":55.", ":57.");
    for index in 0..3 {
        assert_eq!(shifted(&lines[index][48..]), lines[index + 3][48..]);
    }
    assert!(Amplified::new("{}", 1).is_err());
}

#[test]
fn bodies_are_of_2_kb_to_1_mb_and_change_nothing_else() {
    let without: Vec<String> = synth::Log::new(3, 80).take(1_500).collect();
    let with: Vec<String> = synth::Log::with_bodies(3, 80).take(1_500).collect();
    let mut sizes = Vec::new();
    for (without, with) in without.iter().zip(&with) {
        let event: BTreeMap<&str, &RawValue> = serde_json::from_str(with).expect("an event");
        let plain: BTreeMap<&str, &RawValue> = serde_json::from_str(without).expect("an event");
        for (key, value) in event {
            match key {
                "level" => assert_eq!(value.get(), r#""RequestResponse""#),
                "requestObject" | "responseObject" => {
                    let is_small = ["Status", "DeleteOptions"]
                        .iter()
                        .any(|kind| value.get().starts_with(&format!(r#"{{"kind":"{kind}""#)));
                    sizes.extend((!is_small).then(|| value.get().len()));
                    serde_json::from_str::<serde_json::Value>(value.get()).expect("JSON");
                }
                _ => assert_eq!(plain.get(key).map(|value| value.get()), Some(value.get()), "{key}"),
            }
        }
    }
    assert!(sizes.len() > 300);
    assert!(sizes.iter().all(|size| (2_000..1_000_000).contains(size)), "{sizes:?}");
    assert!(sizes.iter().max() > Some(&500_000) && sizes.iter().min() < Some(&3_000), "{sizes:?}");
}
