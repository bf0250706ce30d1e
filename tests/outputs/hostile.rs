//! Hostile client text in every format: no terminal escapes, no workflow commands, no secrets.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::event::AuditEvent;

/// A word in each secret of this test, plain or encoded in base64 and escapes.
const SECRET: &str = "hunter2";
/// A JWT whose parts contain the secret.
const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJwYXNzIjoiaHVudGVyMiJ9.aHVudGVyMi1odW50ZXIy";
/// The parts of it that no output may show.
const OF_JWT: [&str; 3] = ["eyJhbGci", "eyJwYXNz", "aHVudGVy"];

const FORMATS: [&str; 8] = ["text", "json", "markdown", "sarif", "junit", "github", "csv", "ndjson"];

/// Text that affects terminals, CI runners and readers.
const HOSTILE: [&str; 12] = [
    "::error file=a,line=1::b",
    "  ::set-env name=A::b",
    "x ##[add-path]/tmp",
    "x ##vso[task.setvariable variable=a]b",
    "long-word-before-it long-word-before-it ::stop-commands::pause",
    "a\u{9b}31mb",
    "a\u{1b}[31mb\u{7}",
    "a\n::error::b",
    "a\u{202e}b\u{2066}c\u{200b}d",
    "a\u{3164}b\u{2800}c\u{115f}d\u{ffa0}e",
    "a\u{e0041}\u{fe0f}b\u{85}c\u{2028}d",
    "a\r\n##[group]b\u{a0}",
];

/// Targets with secrets.
fn targets() -> Vec<String> {
    let plain = [
        "/api/v1/pods?access_token=hunter2&limit=500",
        "/api/v1/pods?limit=500&Token=hunter2",
        "/api/v1/pods?limit=500;continue=hunter2",
        "/api/v1/pods?password=hunter2;x=hunter2&limt=5",
        "/api/v1/pods?%70assword=hunter2",
        "/api/v1/namespaces/n/pods/p/exec?command=hunter2&command=-c&container=c",
        "/api/v1/namespaces/n/services/s/proxy/x?input=hunter2&sig=hunter2",
        "/healthz?x=https%3A%2F%2Fu%3Ahunter2%40host%2F",
        "/callback%3Fcode%3Dhunter2",
        "https://u:hunter2@host/api/v1/secrets?limit=500",
        "/api/v1/events?next=%252Fx%253Ftoken%253Dhunter2",
    ];
    let jwt = [
        format!("/api/v1/pods?labelSelector={JWT}"),
        format!("/api/v1/pods?{JWT}"),
        format!("/api/v1/{JWT}?limit=5"),
        format!("/api/v1/namespaces/{JWT}/pods/{JWT}?x=1"),
        format!("/x/{JWT}"),
        format!("/api/v1/pods?x={}", JWT.replace('.', "%2e")),
        "/api/v1/pods?x=aHVudGVyMi1odW50ZXIyLWh1bnRlcjItaHVudGVyMg==".to_owned(),
        format!("/api/v1/pods?{}&password=hunter2", "a=b&".repeat(200)),
        format!("/api/v1/pods?password={}", "hunter2".repeat(200)),
    ];
    plain.into_iter().map(str::to_owned).chain(jwt).collect()
}

fn event(id: usize, user: &str, agent: &str, uri: &str) -> Value {
    let received = id as u64 % 3_600 * 1_000_000;
    let id = format!("id-{id}");
    AuditEvent::new(&id, "list", uri).by(user, agent).ip("10.0.0.1").at(received, 900_000).value()
}

/// Events that are hostile in each field that a client chooses.
fn events() -> Vec<Value> {
    let mut events = Vec::new();
    let mut add = |user: &str, agent: &str, uri: &str, audit_id: Option<&str>| {
        for _ in 0..3 {
            let id = events.len();
            let mut event = event(id, user, agent, uri);
            if let Some(audit_id) = audit_id {
                event["auditID"] = format!("{audit_id}{id}").into();
            }
            events.push(event);
        }
    };
    let etcd = "/api/v1/events";
    for hostile in HOSTILE {
        add(hostile, "agent/v1", etcd, None);
        add("alice", hostile, etcd, None);
        add("bob", "agent/v1", &format!("/api/v1/{hostile}?limit=5"), None);
        add("carol", "agent/v1", &format!("/apis/{hostile}/v1/namespaces/{hostile}/pods/p/{hostile}"), None);
        add("dave", "agent/v1", &format!("/api/v1/events?{hostile}=1&limt=5&labelSelector={hostile}"), None);
        add("erin", "agent/v1", etcd, Some(hostile));
    }
    for target in targets() {
        add("mallory", "agent/v1", &target, None);
    }
    for text in
        [JWT.to_owned(), format!("https://u:{SECRET}@host/x"), format!("a https://{SECRET}@host {JWT}")]
    {
        add(&text, "agent/v1", etcd, None);
        add("trent", &text, etcd, None);
        add("trent", &format!("{} {text}", "a".repeat(130)), etcd, None);
        add("walter", "agent/v1", etcd, Some(&text));
    }
    for (id, user) in ["https://u:hunter2@host/x".to_owned(), JWT.to_owned()].into_iter().enumerate() {
        let mut impersonated = event(9_000 + id, &user, "agent/v1", etcd);
        impersonated["impersonatedUser"] = json!({"username": format!("real {user}")});
        events.push(impersonated);
    }
    events
}

/// Lines of the apiserver's own log: an access line and a trace for each target.
fn server_log() -> String {
    let line = |(id, target): (usize, String)| {
        let head = format!("I0723 10:20:{:02}.000000       1 ", id % 60);
        format!(
            "{head}httplog.go:132] \"HTTP\" verb=\"LIST\" URI=\"{target}\" latency=\"612.5ms\" userAgent=\"http/1 https://u:{SECRET}@h {JWT}\" audit-ID=\"log-{id}\" srcIP=\"10.0.0.2:5\" resp=200\n\
             {head}trace.go:236] Trace[{id}]: \"List\" accept:application/json,audit-id:log-{id},client:10.0.0.2,protocol:HTTP/2.0,resource:pods,scope:cluster,url:{target},user-agent:https://u:{SECRET}@h,verb:LIST (23-Jul-2026 10:20:00.000) (total time: 612ms):\n\
             {head}trace.go:236] Trace[{id}]: [612.5ms] [612.5ms] END\n"
        )
    };
    targets().into_iter().enumerate().map(line).collect()
}

/// etcd's own log with secrets in keys and errors.
fn etcd_log() -> String {
    let line = |(id, key): (usize, String)| {
        json!({
            "level": "warn", "ts": format!("2026-07-23T10:00:{id:02}.500Z"), "caller": "etcdserver/util.go:170",
            "msg": "apply request took too long", "took": "312.4ms", "expected-duration": "100ms",
            "prefix": "read-only range ",
            "request": format!("key:\"/registry/events/{key}\" range_end:\"/registry/events0\" "),
            "response": "", "error": format!("failed at https://u:{SECRET}@h/x?token={SECRET} {JWT} {key}"),
        })
        .to_string()
            + "\n"
    };
    let keys = targets().into_iter().chain(HOSTILE.iter().map(|text| (*text).to_owned()));
    keys.enumerate().map(line).collect()
}

/// Runs the command and returns standard output and standard error.
fn run(directory: &Path, width: &str, args: &[&str]) -> [(String, String); 2] {
    let output = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .args(args)
        .current_dir(directory)
        .env("COLUMNS", width)
        .env("GITHUB_STEP_SUMMARY", directory.join("summary"))
        .output()
        .expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    [("stdout".to_owned(), text(output.stdout)), ("stderr".to_owned(), text(output.stderr))]
}

/// The output of a scan in every format and in some widths.
fn written() -> Vec<(String, String)> {
    let dir = tempfile::tempdir().expect("a directory");
    let lines: String = events().iter().map(|event| event.to_string() + "\n").collect();
    fs::write(dir.path().join("audit.log"), lines).expect("a log");
    fs::write(dir.path().join("server.log"), server_log()).expect("a log");
    fs::write(dir.path().join("etcd.log"), etcd_log()).expect("a log");
    let logs = ["scan", "audit.log", "server.log", "--etcd-log", "etcd.log", "--fail-on", "info,etcd-list"];
    let mut all = Vec::new();
    for (width, color, version) in [
        ("40", "never", "1.30.0"),
        ("100", "always", "1.33.0"),
        ("200", "never", "1.36.0"),
        ("60", "never", "1.36.0"),
    ] {
        let args =
            [logs.as_slice(), &["--top", "999", "--details", "--color", color, "--kube-version", version]]
                .concat();
        all.extend(run(dir.path(), width, &args).map(|(name, text)| (format!("text {name} {width}"), text)));
    }
    let outputs: Vec<String> = FORMATS.iter().map(|format| format!("{format}=out.{format}")).collect();
    let formats = outputs.iter().flat_map(|output| ["--format", output]);
    let args: Vec<&str> = logs.into_iter().chain(formats).collect();
    all.extend(run(dir.path(), "100", &args));
    for format in FORMATS {
        let text = fs::read_to_string(dir.path().join(format!("out.{format}"))).expect("an output");
        all.push((format.to_owned(), text));
    }
    all.push(("summary".to_owned(), fs::read_to_string(dir.path().join("summary")).expect("a summary")));
    all
}

/// The text and JSON output of `classify` for each target.
fn classified() -> Vec<(String, String)> {
    let dir = tempfile::tempdir().expect("a directory");
    let hostile = HOSTILE.iter().filter(|text| !text.contains('\0'));
    let targets = targets().into_iter().chain(hostile.map(|text| format!("/api/v1/{text}?{text}=1")));
    let bad = [format!("/x?token={SECRET} y"), format!("GET /%zz?token={SECRET}")];
    targets.chain(bad).flat_map(|target| run(dir.path(), "60", &["classify", &target])).collect()
}

/// Without kubetoll's own colors and line feeds.
fn shown(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        let (color, after) = after.split_once('m').expect("a color ends");
        assert!(color.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{color:?}");
        rest = after;
    }
    out.push_str(rest);
    out.replace('\n', "")
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || "\u{ad}\u{200b}\u{200e}\u{202e}\u{2066}\u{3164}\u{2800}\u{115f}\u{ffa0}\u{e0041}\u{fe0f}"
            .contains(c)
}

#[test]
fn no_format_emits_control_or_invisible_characters() {
    for (name, text) in written().into_iter().chain(classified()) {
        let seen = match &*name {
            "json" | "ndjson" => "\\u3164",
            "text stdout 200" | "csv" => "\\u{3164}",
            // For many clients of one program, these formats name only the worst ones.
            "markdown" | "summary" => "\\u{",
            _ => "",
        };
        assert!(text.contains(seen), "{name}");
        // CSV keeps line breaks and tabs within quotes.
        let text = if name == "csv" { text.replace(['\r', '\t'], "") } else { text };
        if let Some(at) = shown(&text).find(is_unsafe) {
            panic!("{name}: {:?}", shown(&text).get(at.saturating_sub(60)..at + 60));
        }
    }
}

#[test]
fn no_format_emits_workflow_commands() {
    for (name, text) in written().into_iter().chain(classified()) {
        let lower = text.to_lowercase();
        assert!(!lower.contains("##[") && !lower.contains("##vso["), "{name}");
        if name == "github" {
            let is_own =
                |line: &str| ["::error ", "::warning ", "::notice "].iter().any(|own| line.starts_with(own));
            assert!(text.lines().all(is_own), "{name}");
            continue;
        }
        for line in text.lines() {
            assert!(!shown(line).trim_start().starts_with("::"), "{name}: {line}");
        }
    }
}

#[test]
fn no_format_shows_a_secret() {
    for (name, text) in written().into_iter().chain(classified()) {
        if ["json", "csv", "ndjson", "text stdout 200"].contains(&&*name) {
            assert!(text.contains("token=…"), "{name}");
        }
        for secret in OF_JWT.into_iter().chain([SECRET]) {
            let at = text.find(secret);
            let around = at.map(|at| {
                text[..at].chars().rev().take(80).collect::<Vec<_>>().into_iter().rev().collect::<String>()
            });
            assert_eq!(around, None, "{name}: {secret}");
        }
    }
}

#[test]
fn classify_output_has_no_unsafe_character() {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .args(["classify", "--stdin"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("piped");
    let line = |text: &&str| {
        let encoded = text.bytes().fold(String::new(), |all, byte| all + &format!("%{byte:02x}"));
        let uris = [format!("/api/v1/{text}?{text}=1"), format!("/api/v1/pods?{encoded}=1&limt={encoded}")];
        let [plain, encoded] = uris.map(|uri| json!({"id": text, "method": text, "uri": uri}).to_string());
        format!("{plain}\n{encoded}\n{}\n", json!({"method": "GET", "uri": "/api/v1/pods", (*text): text}))
    };
    let lines: String = HOSTILE.iter().map(line).collect();
    stdin.write_all(lines.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let responses = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(responses.lines().count(), 3 * HOSTILE.len());
    for answer in responses.lines() {
        assert!(serde_json::from_str::<Value>(answer).is_ok(), "{answer}");
        assert!(
            !answer.chars().any(|c| c.is_control() || "\u{202e}\u{2066}\u{200b}\u{3164}\u{2800}".contains(c)),
            "{answer:?}"
        );
        assert!(!answer.contains("##[") && !answer.contains("##vso["), "{answer}");
    }
}

#[cfg(unix)]
#[test]
fn endless_files_are_read_up_to_their_limit() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("a.log"), event(1, "alice", "a/v1", "/api/v1/pods").to_string())
        .expect("a file");
    fs::create_dir(directory.path().join("rules")).expect("a directory");
    std::os::unix::fs::symlink("/dev/zero", directory.path().join("rules/a.yaml")).expect("a link");
    let commands: [(&[&str], i32); 6] = [
        (&["scan", "a.log", "--config", "/dev/zero", "--no-progress"], 2),
        (&["scan", "a.log", "--inventory", "/dev/zero", "--no-progress"], 2),
        (&["scan", "a.log", "--rules", "rules", "--no-progress"], 2),
        (&["rules", "check", "rules"], 2),
        (&["rules", "list", "--config", "/dev/zero"], 2),
        (&["classify", "--stdin"], 2),
    ];
    for (args, code) in commands {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
            .args(args)
            .current_dir(directory.path())
            .stdin(fs::File::open("/dev/zero").expect("it is there"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("it is ours") {
                break status;
            }
            if started.elapsed() > Duration::from_mins(1) {
                child.kill().expect("it is ours");
                panic!("{args:?} goes on reading");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}
