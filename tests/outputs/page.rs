//! The page that a scan prints: one row per case, at most 40 lines, loads that add up.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use proptest::prelude::*;

use crate::support::event::AuditEvent;

const TRAFFIC: &str = "fixtures/traffic";

fn run(directory: &Path, args: &[&str], width: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .args(["scan", "--no-progress"])
        .args(args)
        .current_dir(directory)
        .env("COLUMNS", width)
        .env_remove("NO_COLOR")
        .output()
        .expect("the binary runs")
}

fn text(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The page of a scan of the repository's files.
fn page(args: &[&str], width: &str) -> String {
    text(run(Path::new(env!("CARGO_MANIFEST_DIR")), args, width))
}

/// A directory with a log.
fn directory(log: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("audit.log"), log).expect("a log");
    directory
}

/// The page of a log.
fn page_of(log: &str, args: &[&str], width: &str) -> String {
    text(run(directory(log).path(), &[&["audit.log"], args].concat(), width))
}

struct Request<'a> {
    user: &'a str,
    agent: &'a str,
    uri: &'a str,
    /// Seconds since the start of the log.
    second: u64,
    millis: u64,
}

fn event(number: usize, request: &Request<'_>) -> String {
    let Request { user, agent, uri, second, millis } = request;
    let verb = if uri.contains("/nodes/") { "get" } else { "list" };
    let begin = "2026-09-01T08:00:00Z";
    let (received, micros) = (second * 1_000_000, millis * 1_000);
    let id = format!("{number:036}");
    AuditEvent::new(&id, verb, uri).by(user, agent).ip("10.0.0.7").since(begin).at(received, micros).line()
}

/// Clients that each poll another resource from etcd. The first `errors` of them poll often.
fn pollers(clients: usize, errors: usize) -> String {
    let mut log = String::new();
    for client in 0..clients {
        let user = format!("system:serviceaccount:team-{client}-of-a-long-name:poller-{client}");
        let uri = format!("/apis/example.com/v1/widgets{client}");
        let every = if client < errors { 2 } else { 40 };
        for second in (0..600).step_by(every) {
            let agent = format!("poller{client}/v1.0");
            let request =
                Request { user: &user, agent: &agent, uri: &uri, second, millis: 7 * (client as u64 + 1) };
            log.push_str(&event(log.len(), &request));
        }
    }
    log
}

/// A log with more findings than a page has rows.
fn many() -> String {
    pollers(300, 12)
}

fn quiet() -> String {
    let users =
        ["alice", "bob", "system:serviceaccount:a:b", "system:kube-scheduler", "carol", "dave", "erin"];
    let uri = "/api/v1/nodes/n?resourceVersion=0";
    let requests = users.iter().flat_map(|user| {
        (0..240).step_by(20).map(move |second| Request { user, agent: "x/v1", uri, second, millis: 9 })
    });
    requests.enumerate().map(|(number, request)| event(number, &request)).collect()
}

/// The columns of a terminal that a line takes.
fn columns(line: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(line)
}

/// The shares of a page in tenths of a per cent.
fn shares(page: &str) -> Vec<u64> {
    let cells = page.lines().filter_map(|line| {
        let line = line.split("  KT").next().unwrap_or(line).trim_end().strip_suffix(" %")?;
        line.rsplit([' ', '≈']).next()
    });
    let tenths = |cell: &str| match cell.strip_prefix('<') {
        Some(_) => 0,
        None => cell.replace('.', "").parse().expect("a share"),
    };
    cells.map(tenths).collect()
}

#[test]
fn page_of_recorded_traffic_matches_its_snapshot_at_each_width() {
    for width in ["80", "100", "160"] {
        insta::assert_snapshot!(format!("traffic_{width}"), page(&[TRAFFIC], width));
    }
    insta::assert_snapshot!("traffic_color", page(&[TRAFFIC, "--color", "always"], "100"));
}

#[test]
fn page_without_findings_matches_its_snapshot() {
    insta::assert_snapshot!(page_of(&quiet(), &["--kube-version", "1.34.1"], "100"));
}

#[test]
fn page_with_300_findings_matches_its_snapshot() {
    insta::assert_snapshot!(page_of(&many(), &["--kube-version", "1.30.14"], "100"));
}

#[test]
fn page_without_color_has_the_same_text() {
    let colored = page(&[TRAFFIC, "--color", "always"], "100");
    assert!(colored.contains("\u{1b}[1m\u{1b}[31m") && colored.contains("\u{1b}[32m"), "{colored}");
    assert_eq!(anstream::adapter::strip_str(&colored).to_string(), page(&[TRAFFIC], "100"));
}

#[test]
fn page_of_every_log_has_at_most_40_lines() {
    let mut log = many();
    // Each of these adds a note to the head.
    log.push_str("not JSON\n{\"kind\":\"Event\"}\n{\"a\":\n\u{fffd}\n");
    let directory = directory(&log);
    let write = |name: &str, content: &[u8]| {
        fs::write(directory.path().join(name), content).expect("a file");
    };
    for number in 0..12 {
        write(&format!("torn-{number}.gz"), &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, number]);
        write(&format!("empty-{number}.log"), format!("nothing {number}\n").as_bytes());
    }
    write("copy.log", log.as_bytes());
    write("etcd-dir.log", b"x\xff\n");
    let mut policy = "suppressions:\n".to_owned();
    for number in 0..20 {
        let expires = if number < 10 { "2020-01-01" } else { "2099-01-01" };
        let entry =
            format!("  - {{rule: KT101, client: \"nobody-{number}\", reason: r, expires: {expires}}}\n");
        policy.push_str(&entry);
    }
    write("kubetoll.yaml", policy.as_bytes());
    write("inventory.csv", b"resource,objects\npods,5\n");
    let args =
        [".", "--kube-version", "1.99.0", "--inventory", "inventory.csv", "--no-patterns", "--failed-only"];
    for args in [&args[..5], &args[..6], &args[..1], &["audit.log"]] {
        for width in ["100", "160"] {
            let output = run(directory.path(), args, width);
            let page = String::from_utf8(output.stdout).expect("UTF-8");
            assert!((10..=40).contains(&page.lines().count()), "{args:?}: {page}");
        }
    }
    let page = String::from_utf8(run(directory.path(), &args, "100").stdout).expect("UTF-8");
    assert!(page.contains("more notes: --details"), "{page}");
}

/// A file of a directory: a log of another server, or a file that is not a log.
#[derive(Debug, Clone)]
enum File {
    Log { minor: u64, pollers: usize },
    Torn,
    Other(Vec<u8>),
}

fn any_file() -> impl Strategy<Value = File> {
    prop_oneof![
        3 => (16_u64..36, 0_usize..6).prop_map(|(minor, pollers)| File::Log { minor, pollers }),
        1 => Just(File::Torn),
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(File::Other),
        1 => Just(File::Other(b"PK\x03\x04 zip".to_vec())),
        1 => Just(File::Other(b"\xfd7zXZ\0 xz".to_vec())),
        1 => Just(File::Other(b"nothing of interest\n".to_vec())),
    ]
}

fn content(number: usize, file: &File) -> Vec<u8> {
    match file {
        File::Log { minor, pollers: number_of_pollers } => {
            let agent = format!("kubelet/v1.{minor}.{number} (linux/amd64) kubernetes/1234567");
            let user = format!("system:node:node-{number}");
            let uri = "/api/v1/nodes/n?resourceVersion=0&timeout=10s";
            let requests = (0..60).step_by(10).map(|second| Request {
                user: &user,
                agent: &agent,
                uri,
                second,
                millis: 3,
            });
            let own: String =
                requests.enumerate().map(|(at, request)| event(number * 1_000 + at, &request)).collect();
            (own + &pollers(*number_of_pollers, 3))
                .replace("poller-", &format!("poller-of-{number}-"))
                .into_bytes()
        }
        File::Torn => vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1],
        File::Other(bytes) => bytes.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn page_has_at_most_40_lines_for_any_directory(
        files in prop::collection::vec((any_file(), "[a-zA-Z0-9 é_-]{1,80}"), 1..24),
        flags in prop::collection::vec(prop::sample::select(vec!["--no-patterns", "--failed-only"]), 0..2),
    ) {
        let directory = tempfile::tempdir().expect("a directory");
        for (number, (file, name)) in files.iter().enumerate() {
            let path = directory.path().join(format!("{number} {name}.log"));
            fs::write(path, content(number, file)).expect("a file");
        }
        for width in ["100", "160"] {
            let output = run(directory.path(), &[&["."], &*flags].concat(), width);
            let page = String::from_utf8(output.stdout).expect("UTF-8");
            prop_assert!(page.lines().count() <= 40, "{page}");
        }
    }
}

#[test]
fn load_of_a_case_is_the_same_number_in_every_format() {
    let mut log = String::new();
    for client in 0..3 {
        let (user, uri) = (
            format!("system:serviceaccount:a:poller-{client}"),
            format!("/apis/example.com/v1/widgets{client}"),
        );
        for second in (0..600).step_by(2) {
            let request = Request { user: &user, agent: "x/v1", uri: &uri, second, millis: 50 };
            log.push_str(&event(log.len(), &request));
        }
    }
    let of = |args: &[&str]| page_of(&log, &[&["--kube-version", "1.30.14"], args].concat(), "100");
    assert_eq!(shares(&of(&[])), [333, 333, 333]);
    assert!(of(&["--details=1"]).contains("33.3 % of the request time"));
    assert_eq!(of(&["--format", "markdown"]).matches("| 33.3 % |").count(), 3);
}

#[test]
fn filters_that_leave_no_request_are_reported_in_one_line() {
    let page = page_of(&quiet(), &["--user", "nobody"], "100");
    assert!(page.ends_with("\n\nThe filters left no request, so nothing was judged.\n"), "{page}");
    assert!(!page.contains("LOAD") && !page.contains("rules"), "{page}");
    let markdown = page_of(&quiet(), &["--user", "nobody", "--format", "markdown"], "100");
    assert!(markdown.starts_with("# kubetoll: nothing judged: the filters left no request\n"), "{markdown}");
}

#[test]
fn client_without_a_finding_has_no_fix() {
    for name in ["kube-scheduler", "40 nodes"] {
        let page = page(&[TRAFFIC, &format!("--details={name}")], "100");
        let (_, details) = page.split_once("Details: ").expect("a footer");
        assert!(details.contains("  Served from ") && !details.contains("  Fix "), "{details}");
    }
}

#[test]
fn details_flag_accepts_names_as_the_page_prints_them() {
    for (name, expected) in [
        ("control plane", "\nkube-scheduler\n"),
        ("40 nodes", "\n40 nodes\n"),
        ("user alice", "  Who           user alice\n"),
        ("kube-sch…duler", "\nkube-scheduler\n"),
    ] {
        let page = page(&[TRAFFIC, &format!("--details={name}")], "100");
        assert!(page.contains(expected), "{name}: {page}");
    }
}

#[test]
fn commands_of_the_footer_stay_on_one_line() {
    for width in ["60", "80", "100", "160"] {
        let page = page(&[TRAFFIC], width);
        let is_whole =
            |line: &str| line.split_once("kubetoll rules explain KT").is_some_and(|(_, id)| id.len() == 3);
        assert!(page.lines().any(is_whole), "{width}: {page}");
    }
}

#[test]
fn load_shares_of_a_page_add_up_to_100_percent() {
    for top in ["0", "1", "3", "10", "400"] {
        for page in [page(&[TRAFFIC, "--top", top], "160"), page_of(&pollers(40, 3), &["--top", top], "100")]
        {
            let (shares, sum) = (shares(&page).len() as u64, shares(&page).iter().sum::<u64>());
            let rest = [": no finding", ": --top ", ": --details ", "other requests of"];
            // Each rounded share may be off by half a tenth, because no line absorbs the rounding.
            let most = if rest.iter().any(|part| page.contains(part)) { 0 } else { shares / 2 + 1 };
            assert!(sum.abs_diff(1_000) <= most, "{sum}: {page}");
        }
    }
    assert_eq!(shares(&page_of(&quiet(), &[], "80")).iter().sum::<u64>(), 1_000);
}

#[test]
fn top_flag_sets_the_number_of_cases() {
    let rows = |page: &str| page.lines().filter(|line| line.trim_start().starts_with("fix: ")).count();
    let log = pollers(40, 20);
    for (top, expected) in [("0", 0), ("3", 3), ("12", 12)] {
        let page = page_of(&log, &["--top", top, "--kube-version", "1.30.14"], "100");
        assert_eq!(rows(&page), expected, "{page}");
        assert!(page.contains(": --top "), "{page}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn page_fits_its_width_and_40_lines_for_any_names(
        users in prop::collection::vec("[a-c일本語ñ./@-]{1,60}|(e\u{301}|👩|x){1,40}|person-[0-9]{1,3}@example.com", 1..16),
        plurals in prop::collection::vec("[a-z]{1,60}", 16),
        group in "[a-z]{1,20}(\\.[a-z-]{1,20}){1,3}",
    ) {
        let mut log = String::new();
        for (user, plural) in users.iter().zip(&plurals) {
            for second in (0..120).step_by(4) {
                let uri = format!("/apis/{group}/v1/{plural}");
                let request = Request { user, agent: "x/v1", uri: &uri, second, millis: 50 };
                log.push_str(&event(log.len(), &request));
            }
        }
        for width in [60, 80, 100, 160] {
            let page = page_of(&log, &["--kube-version", "1.30.14"], &width.to_string());
            let widest = page.lines().map(columns).max().unwrap_or(0);
            prop_assert!(widest <= width, "{width}: {page}");
            prop_assert!(width < 100 || page.lines().count() <= 40, "{page}");
        }
    }
}

#[test]
fn group_of_a_resource_is_left_out_before_a_sentence_is_cut() {
    let mut log = String::new();
    let uri = "/apis/infrastructure.cluster.x-k8s.io/v1/vspheremachinetemplates";
    for second in (0..600).step_by(2) {
        let user = "system:serviceaccount:security-scanning-of-all-clusters:image-scanner-of-the-team";
        log.push_str(&event(log.len(), &Request { user, agent: "x/v1", uri, second, millis: 50 }));
    }
    for width in ["80", "100"] {
        let page = page_of(&log, &["--kube-version", "1.37.0"], width);
        assert!(page.contains("LISTs vspheremachinetemplates… "), "{page}");
        assert!(page.contains(" WATCH"), "{page}");
    }
    let wide = page_of(&log, &["--kube-version", "1.37.0"], "160");
    assert!(wide.contains("LISTs vspheremachinetemplates.infrastructure.cluster.x-k8s.io every"), "{wide}");
}

#[test]
fn columns_are_aligned_behind_wide_and_combining_characters() {
    let mut log = String::new();
    for (number, user) in ["日本語ユーザー名", "e\u{301}e\u{301}", "alice"].iter().enumerate() {
        for second in (0..120).step_by(2) {
            let uri = format!("/apis/example.com/v1/widgets{number}");
            let request = Request { user, agent: "x/v1", uri: &uri, second, millis: 50 };
            log.push_str(&event(log.len(), &request));
        }
    }
    let page = page_of(&log, &["--kube-version", "1.30.14"], "100");
    let what = |line: &str| line.find("LISTs").map(|at| columns(&line[..at]));
    let starts: Vec<usize> = page.lines().filter(|line| line.contains("user ")).filter_map(what).collect();
    assert!(starts.len() == 3 && starts.iter().all(|start| *start == starts[0]), "{page}");
}

#[test]
fn rows_fit_the_width() {
    for width in [40_usize, 60, 80, 100, 130, 160, 200] {
        let log = many();
        let page = page_of(&log, &["--kube-version", "1.30.14"], &width.to_string());
        for line in page.lines() {
            assert!(columns(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn details_of_all_cases_repeat_no_reference() {
    let page = page(&[TRAFFIC, "--details"], "100");
    assert!(!page.contains("as above"), "{page}");
    for part in [
        "\n1. monitoring/poller  error\n",
        "  Decided by ",
        "  Verify ",
        "\nclients, most load first",
        "auditID",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn details_select_the_blocks_of_a_case_or_a_client() {
    let blocks = |args: &[&str]| -> Vec<String> {
        let page = page(&[&[TRAFFIC], args].concat(), "100");
        let is_heading =
            |line: &&str| line.split_once(". ").is_some_and(|(rank, _)| rank.parse::<u64>().is_ok());
        page.lines().filter(is_heading).map(str::to_owned).collect()
    };
    let all = blocks(&["--details"]);
    assert!(all.len() > 5, "{all:?}");
    assert_eq!(blocks(&[]), Vec::<String>::new());
    assert_eq!(blocks(&["--details=1,3"]), [all[0].clone(), all[2].clone()]);
    for range in ["1-3", "1–3", "3, 1 - 2", " 2 ,1,3"] {
        assert_eq!(blocks(&[&format!("--details={range}")]), all[..3], "{range}");
    }
    let of = |prefix: &str| -> Vec<String> {
        all.iter().filter(|heading| heading.contains(prefix)).cloned().collect()
    };
    assert_eq!(blocks(&["--details=ops/*"]), of(" ops/"));
    assert_eq!(blocks(&["--details=system:serviceaccount:monitoring:poller"]), of(" monitoring/poller"));
    // A client without a case gets a block, too.
    let scheduler = page(&[TRAFFIC, "--details=kube-scheduler"], "100");
    assert!(scheduler.contains("\nkube-scheduler\n  User agents   kube-scheduler"), "{scheduler}");
}

#[test]
fn fix_of_not_observable_is_about_the_cause_that_the_message_names_first() {
    let request = Request { user: "bob", agent: "a/1", uri: "", second: 0, millis: 9 };
    let log: String = (0..40).map(|number| event(number, &request)).chain(["{\n".repeat(30)]).collect();
    let page = page_of(&log, &[], "160");
    assert!(page.contains("have no request URI"), "{page}");
    assert!(page.contains("fix: Keep requestURI in the mapping"), "{page}");
}

#[test]
fn details_try_an_exact_name_before_commas_and_stars() {
    let users = ["foo,bar", "*", "foo", "bar"];
    // Different programs, so that each user has a case.
    let agents = ["a/1", "b/1", "c/1", "d/1"];
    let log = |number: usize| {
        let (user, agent) = (users[number % 4], agents[number % 4]);
        let request = Request { user, agent, uri: "/api/v1/pods", second: number as u64, millis: 9 };
        event(number, &request)
    };
    let log: String = (0..800).map(log).collect();
    let named = |details: &str| -> Vec<bool> {
        let page = page_of(&log, &[details], "100");
        users.map(|user| page.lines().any(|line| line.contains(&format!(". user {user}  ")))).to_vec()
    };
    assert_eq!(named("--details=user foo,bar"), [true, false, false, false]);
    assert_eq!(named("--details=foo,bar"), [true, false, false, false]);
    assert_eq!(named("--details=foo,user bar"), [false, false, true, true]);
    assert_eq!(named("--details=user *"), [false, true, false, false]);
    assert_eq!(named("--details=user foo*"), [true, false, true, false]);
}

#[test]
fn details_of_a_case_that_does_not_exist_are_an_error() {
    for (wanted, message) in [
        ("--details=77", "case 77 does not exist; cases are 1 to "),
        ("--details=nobody", "no case and no client is named 'nobody'"),
        ("--details=1,,2", "has an empty part"),
        ("--details=1-77", "case 77 does not exist; cases are 1 to "),
        ("--details=3-1", "write 1-3"),
        ("--details=", "write --details for all cases"),
        ("--details=poller", "did you mean 'monitoring/poller'"),
    ] {
        let output = run(Path::new(env!("CARGO_MANIFEST_DIR")), &[TRAFFIC, wanted], "100");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{wanted}");
        assert!(err.contains(message), "{wanted}: {err}");
    }
    let output = run(Path::new(env!("CARGO_MANIFEST_DIR")), &[TRAFFIC, "--details", "1,2"], "100");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("write --details=1,2"), "{output:?}");
    let args = [TRAFFIC, "--details", "--format", "json"];
    assert_eq!(run(Path::new(env!("CARGO_MANIFEST_DIR")), &args, "100").status.code(), Some(2));
}

#[test]
fn names_are_cut_so_that_they_stay_distinct() {
    let mut log = String::new();
    for client in 0..4 {
        let user =
            format!("system:serviceaccount:a-namespace-with-a-long-name:{client}-agent-with-a-long-name");
        for second in (0..600).step_by(2) {
            let uri = format!("/apis/example.com/v1/widgets{client}");
            let request = Request { user: &user, agent: "x/v1", uri: &uri, second, millis: 50 };
            write!(log, "{}", event(log.len(), &request)).expect("a String");
        }
    }
    let page = page_of(&log, &["--kube-version", "1.30.14"], "80");
    let rows: Vec<&str> =
        page.lines().filter(|line| line.contains("error") || line.contains("warn ")).collect();
    let names: std::collections::BTreeSet<&str> =
        rows.iter().filter_map(|row| row.split_whitespace().nth(2)).collect();
    assert!(names.len() == 4 && names.iter().all(|name| name.contains('…')), "{page}");
}
