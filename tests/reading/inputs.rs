//! Unusual inputs: pipes and links, unreadable files, duplicates, and files that try to fill memory.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::support::command::{Dir, event, events};

fn names(report: &Value, key: &str) -> Vec<String> {
    let files = report["input"][key]["files"].as_array().expect("a list").iter();
    files.map(|one| one.as_str().or(one["file"].as_str()).expect("a name").to_owned()).collect()
}

fn notes(report: &Value) -> String {
    report["input"]["notes"].to_string()
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

#[test]
fn a_pipe_is_read_if_it_is_named_and_passed_over_if_it_is_found() {
    let dir = Dir::with(&[("logs/a.log", events(0..2).as_bytes())]);
    let found = dir.path().join("logs/found");
    fifo(&found);
    let report = dir.report(&["logs"]);
    assert_eq!((&report["input"]["events"], names(&report, "notRead").len()), (&2.into(), 1));
    assert!(names(&report, "notRead")[0].ends_with("found"));
    assert_eq!(report["input"]["notRead"]["files"][0]["why"], "neither a file nor a directory");

    let named = dir.path().join("named");
    fifo(&named);
    let writer = std::thread::spawn(move || {
        let mut pipe = fs::OpenOptions::new().write(true).open(named).expect("a reader");
        for number in 10..60 {
            pipe.write_all((event(number) + "\n").as_bytes()).expect("it reads");
        }
    });
    let report = dir.report(&["named", "logs/a.log", "--threads", "2"]);
    writer.join().expect("all was read");
    assert_eq!(report["input"]["events"], 52);
}

#[test]
fn links_in_circles_and_to_nothing_are_named_and_the_rest_is_read() {
    use std::os::unix::fs::symlink;
    let dir = Dir::with(&[("logs/sub/a.log", events(0..3).as_bytes())]);
    let logs = dir.path().join("logs");
    symlink(&logs, logs.join("sub/again")).expect("a link");
    symlink("gone.log", logs.join("dangling")).expect("a link");
    symlink("itself", logs.join("itself")).expect("a link");
    symlink("sub/a.log", logs.join("same")).expect("a link");
    let report = dir.report(&["logs"]);
    assert_eq!((&report["input"]["events"], &report["input"]["files"]), (&3.into(), &1.into()));
    let found = &report["input"]["notRead"];
    assert_eq!(found["count"], 3);
    let why = |name: &str| {
        let all = found["files"].as_array().expect("a list").iter();
        let mut one = all.filter(|one| one["file"].as_str().expect("a name").ends_with(name));
        one.next().expect(name)["why"].as_str().expect("a reason").to_owned()
    };
    assert!(why("again").starts_with("a link that leads back to "));
    assert_eq!(
        (why("dangling").as_str(), why("itself").as_str()),
        ("a link to nothing", "a link to nothing")
    );
    assert!(dir.text(&["logs"]).contains("3 paths could not be read"));
}

#[test]
fn files_that_are_not_logs_are_named_by_kind_with_the_command_that_helps() {
    let utf16: Vec<u8> = events(0..1).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let files: [(&str, &[u8]); 9] = [
        ("logs/one.xz", b"\xfd7zXZ\0\0\x04"),
        ("logs/two.xz", b"\xfd7zXZ\0\0\x04"),
        ("logs/a 'b'.bz2", b"BZh91AY&SY\x01"),
        ("logs/rows.parquet", b"PAR1\x15\x04\0PAR1"),
        ("logs/rows.csv", b"time,user\n1,alice\n"),
        ("logs/windows.log", &utf16),
        ("logs/red\u{1b}[31m.pdf", b"%PDF-1.7\n\0"),
        ("logs/empty.log", b""),
        ("logs/notes.txt", b"dear diary\n"),
    ];
    let dir = Dir::with(&files);
    let expected = [
        r"not read: 2 xz archives; run: find -L logs -type f -name '*.xz' -exec xz -dc {} \; | kubetoll scan -",
        r"not read: 1 bzip2 archive; run: bzip2 -dc 'logs/a '\''b'\''.bz2' | kubetoll scan -",
        "not read: 1 Parquet file; run: duckdb -c 'COPY (FROM read_parquet(",
        "not read: 1 PDF file, $'logs/red\\033[31m.pdf'",
        "not read: 1 file of UTF-16 text; run: iconv -f UTF-16 -t UTF-8 logs/windows.log | kubetoll scan -",
        "no audit events: 1 CSV file without a column that holds JSON, logs/rows.csv",
        "no audit events: 1 text file without audit events, logs/notes.txt",
        "no audit events: 1 empty file, logs/empty.log",
    ];
    let (code, out, err) = dir.run_with(&["scan", "--no-progress", "logs"], b"");
    assert_eq!((code, &*out), (Some(2), ""), "nothing could be read");
    for line in expected {
        assert!(err.contains(line), "{line}: {err}");
    }
    assert!(!err.contains('\u{1b}'), "{err:?}");
    dir.write("logs/audit.log", events(0..3).as_bytes());
    let report = dir.report(&["logs"]);
    assert_eq!(report["input"]["events"], 3);
    let kinds = report["input"]["unknownFiles"].as_array().expect("kinds");
    assert_eq!(kinds.len(), expected.len());
    assert_eq!((&kinds[0]["count"], &kinds[0]["isRead"]), (&2.into(), &false.into()));
    let text = dir.text(&["logs"]);
    let words: Vec<&str> = text.split_whitespace().collect();
    let details = dir.text(&["logs", "--details"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(details.contains(expected[0]), "{details}");
    assert!(
        words.join(" ").contains("! no events from 2 xz archives, ") && !text.contains('\u{1b}'),
        "{text}"
    );
    let (code, _, err) = dir.run_with(&["scan", "--no-progress", "logs/audit.log", "logs/one.xz"], b"");
    assert_eq!(code, Some(2), "a file that was named is not read");
    assert!(err.contains("logs/one.xz: kubetoll does not read this xz archive; run: xz -dc"), "{err}");
}

#[test]
fn other_files_beside_logs_cause_no_warning() {
    let binary: Vec<u8> = (0..=255).cycle().take(20_000).collect();
    let log = events(0..3);
    let dir = Dir::with(&[
        ("logs/audit.log", log.as_bytes()),
        ("logs/core.bin", &binary),
        ("logs/notes.txt", "dear diary\n".repeat(50).as_bytes()),
    ]);
    let alone = dir.report(&["logs/audit.log"]);
    let report = dir.report(&["logs"]);
    for key in ["files", "bytes", "lines", "records", "skipped", "unreadBytes", "requests"] {
        assert_eq!(report["input"][key], alone["input"][key], "{key}");
    }
    assert_eq!(report["findings"], alone["findings"]);
    assert_eq!(report["input"]["unknownFiles"].as_array().map(Vec::len), Some(2));
    let text = dir.text(&["logs"]);
    assert!(text.contains("no audit events: 1 binary file, logs/core.bin"), "{text}");
    // JSON may be what a shipper made of a log, so its unreadable records count.
    dir.write("logs/shipped.json", b"{\n".repeat(50).as_slice());
    let report = dir.report(&["logs"]);
    assert_eq!(report["input"]["files"], 2);
    assert!(report["findings"].as_array().expect("a list").iter().any(|one| one["rule"]["id"] == "KT901"));
}

#[test]
fn unreadable_files_are_named_and_the_rest_is_read() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let dir = Dir::with(&[
        ("logs/a.log", events(0..3).as_bytes()),
        ("logs/secret.log", events(3..5).as_bytes()),
        ("logs/locked/b.log", events(5..6).as_bytes()),
    ]);
    for name in ["logs/secret.log", "logs/locked"] {
        fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(0o000)).expect("a mode");
    }
    let is_root = fs::File::open(dir.path().join("logs/secret.log")).is_ok();
    let run = |args: &[&str]| {
        let mut command = dir.command(args);
        if is_root {
            // Root can read all files, so another user runs a copy that this user can reach.
            let copy = dir.path().join("kubetoll");
            // Another test can start a program while this one writes the file, which then cannot run. `cp` has no
            // other tests.
            let copied = Command::new("cp").args([Path::new(env!("CARGO_BIN_EXE_kubetoll")), &copy]).status();
            assert!(copied.expect("cp runs").success());
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
            command = Command::new(copy);
            command.args(args).current_dir(dir.path()).uid(65_534).gid(65_534);
        }
        command.output().expect("the binary runs")
    };
    let report = run(&["scan", "--format", "json", "--no-progress", "logs"]).stdout;
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    assert_eq!((&report["input"]["events"], &report["input"]["notRead"]["count"]), (&3.into(), &2.into()));
    let output = run(&["scan", "logs/a.log", "logs/secret.log"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("logs/secret.log: can't be read"), "{err}");
    for name in ["logs/secret.log", "logs/locked"] {
        fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(0o700)).expect("a mode");
    }
}

#[test]
fn growing_file_is_read_to_an_end() {
    let dir = Dir::with(&[("grows.log", events(0..1_000).as_bytes())]);
    let mut file = fs::OpenOptions::new().append(true).open(dir.path().join("grows.log")).expect("a file");
    let mut child = dir.start(&["scan", "--format", "json", "--no-progress", "grows.log"]);
    let mut output = child.stdout.take().expect("piped");
    // A report may be larger than a pipe.
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).expect("a report");
        text
    });
    let mut number = 1_000;
    while child.try_wait().expect("a child").is_none() {
        file.write_all((event(number) + "\n").as_bytes()).expect("a file");
        number += 1;
        std::thread::sleep(Duration::from_micros(200));
    }
    let report: Value = serde_json::from_str(&reader.join().expect("a report")).expect("JSON");
    assert!(report["input"]["events"].as_u64().expect("a count") >= 1_000);
    assert_eq!(report["input"]["damaged"], json!([]));
}

#[test]
fn many_empty_files_cost_nothing() {
    let dir = Dir::with(&[("logs/a.log", events(0..1).as_bytes())]);
    for number in 0..20_000 {
        fs::write(dir.path().join(format!("logs/{number}")), b"").expect("a file");
    }
    let (report, peak) = measured(&dir, &["logs"]);
    assert_eq!((&report["input"]["events"], &report["input"]["files"]), (&1.into(), &20_001.into()));
    assert_eq!(report["input"]["withoutEvents"]["count"], 20_000);
    assert_eq!(names(&report, "withoutEvents").len(), 10);
    assert_eq!(report["input"]["sources"].as_array().map(Vec::len), Some(1));
    assert!(peak < 150, "{peak} MiB");
}

/// The report of a scan, and its peak memory in MiB.
fn measured(dir: &Dir, args: &[&str]) -> (Value, u64) {
    let mut all = vec!["scan", "--format", "json", "--no-progress", "--threads", "2"];
    all.extend(args);
    let mut child = dir.start(&all);
    let status = format!("/proc/{}/status", child.id());
    let mut output = child.stdout.take().expect("piped");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).expect("a report");
        text
    });
    let mut peak = 0;
    while child.try_wait().expect("a child").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) >> 10);
        std::thread::sleep(Duration::from_millis(1));
    }
    let text = reader.join().expect("a reader");
    (serde_json::from_str(&text).expect("JSON"), peak)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("writes to memory");
    encoder.finish().expect("writes to memory")
}

/// A gzip file of three members: a first part, `count` MiB of one byte, and a last part.
fn bomb(before: &str, byte: u8, count: usize, after: &str) -> Vec<u8> {
    let piece = gzip(&vec![byte; 1 << 20]).repeat(count);
    [gzip(before.as_bytes()), piece, gzip(after.as_bytes())].concat()
}

#[test]
fn long_lines_are_skipped_in_bounded_memory() {
    let whole = event(1) + "\n";
    let plain =
        |before: &str, after: &str| [before.as_bytes(), &vec![b'x'; 100 << 20], after.as_bytes()].concat();
    for (name, log) in [
        ("zeros", bomb("", 0, 100, &format!("\n{whole}"))),
        ("brackets", bomb("", b'[', 200, &format!("\n{whole}"))),
        ("line", plain(&whole, "\n")),
        ("string", plain(&format!("{whole}{{\"log\":\""), "\"}\n")),
        ("document", plain("{\n\"log\":\"", &format!("\"}}\n{whole}"))),
    ] {
        let dir = Dir::with(&[(name, &log)]);
        let (report, peak) = measured(&dir, &[name]);
        assert_eq!(report["input"]["events"], 1, "{name}: {}", report["input"]);
        assert_eq!(report["input"]["skipped"], json!({"too-long": 1}), "{name}");
        assert!(peak < 300, "{name}: {peak} MiB");
    }
}

#[test]
fn long_array_is_read_in_bounded_memory() {
    let dir = Dir::with(&[]);
    let padded = event(1).replacen("\"level\"", &format!("\"x\":\"{}\",\"level\"", "y".repeat(30_000)), 1);
    let mut file = fs::File::create(dir.path().join("array.json")).expect("a file");
    file.write_all(b"[").expect("a file");
    for number in 0..5_000_u32 {
        let id = format!("{number:036}");
        let one = padded.replacen(&format!("{:036}", 1), &id, 1);
        file.write_all(if number == 0 { one } else { format!(",{one}") }.as_bytes()).expect("a file");
    }
    file.write_all(b"]").expect("a file");
    drop(file);
    let (report, peak) = measured(&dir, &["array.json"]);
    assert_eq!((&report["input"]["events"], &report["input"]["requests"]), (&5_000.into(), &5_000.into()));
    assert_eq!(report["input"]["formats"], json!({"json-array/audit": 5_000}));
    assert!(report["input"]["bytes"].as_u64() > Some(150_000_000) && peak < 150, "{peak} MiB");
}

#[test]
fn long_query_is_parsed_in_bounded_memory() {
    let length = 8 << 20;
    for pair in ["a&", "fieldSelector=a&"] {
        let selector = format!("fieldSelector={}", "a=b,".repeat(length / 4));
        let query =
            if pair.starts_with("fieldSelector") { selector } else { pair.repeat(length / pair.len()) };
        let log = event(1).replacen("/api/v1/pods", &format!("/api/v1/pods?{query}"), 1);
        assert!(log.len() >= length, "{pair}");
        let dir = Dir::with(&[("a.log", log.as_bytes())]);
        let (report, peak) = measured(&dir, &["a.log"]);
        assert_eq!(report["input"]["requests"], 1, "{pair}");
        assert!(peak < 120, "{pair}: {peak} MiB");
    }
}

#[test]
fn unread_bytes_are_counted_and_named() {
    let head = r#"{"kind":"EventList","items":["#;
    let list = format!("{head}{},{},{}]}}", event(1), event(2).replace("\"stage\":", "\"stage:"), event(3));
    let line = format!("{}\n{}\n", event(4), "x".repeat(2 << 20));
    let dir = Dir::with(&[("list.json", list.as_bytes()), ("log", line.as_bytes())]);
    let input = &dir.report(&["list.json", "log", "--max-line", "1"])["input"];
    let damaged = event(2).len() as u64 - 1;
    let long = (2 << 20) + 1;
    assert_eq!(input["events"], 3, "{input}");
    assert_eq!(input["bytes"].as_u64(), Some((list.len() + line.len()) as u64));
    let unread = |source: usize| input["sources"][source]["unreadBytes"].as_u64().expect("a number");
    // Unread bytes: the commas around the damaged event, and the brackets that close the list.
    assert!((head.len() as u64 + damaged..=head.len() as u64 + damaged + 4).contains(&unread(0)), "{input}");
    assert_eq!(unread(1), long);
    assert_eq!(input["unreadBytes"].as_u64(), Some(unread(0) + long));
    let places = input["unreadAt"].as_array().expect("places");
    let is_named = |file: &str, line: usize, offset: usize| {
        places.iter().any(|at| at["file"] == file && at["line"] == line && at["offset"] == offset)
    };
    assert!(is_named("list.json", 1, 0) && is_named("log", 2, event(4).len() + 1), "{input}");
    assert!(is_named("list.json", 1, head.len() + event(1).len()), "{input}");
    let text = dir.text(&["list.json", "log", "--max-line", "1"]);
    assert!(text.contains("bytes could not be read; the first at list.json:1, byte 0"), "{text}");
}

#[test]
fn many_small_items_on_a_line_take_bounded_memory() {
    let many = |text: &str| text.repeat(2_000_000);
    for (name, line) in [
        ("items", format!("{{\"items\":[{}{{}}]}}", many("{},"))),
        ("array", format!("{{\"a\":1}}\n[{}{{}}]", many("{},"))),
        ("results", format!("{{\"results\":[{}[]]}}", many("[],"))),
        ("records", format!("{{\"records\":[{}{{}}]}}", many("{},"))),
    ] {
        let dir = Dir::with(&[(name, format!("{}\n{line}\n", event(1)).as_bytes())]);
        let (report, peak) = measured(&dir, &[name]);
        assert_eq!(report["input"]["events"], 1, "{name}");
        assert!(report["input"]["records"].as_u64() > Some(2_000_000), "{name}");
        assert!(peak < 100, "{name}: {peak} MiB");
    }
}

#[test]
fn hostile_nesting_loses_no_other_event() {
    let text = [
        event(1),
        "\"".repeat(400_000),
        format!("{{\"log\":\"{}\"}}", "\\\"".repeat(400_000)),
        format!("{{\"log\":{}", "{\"log\":".repeat(100_000)),
        "[".repeat(400_000),
        "}{".repeat(400_000),
        format!("Trace[1]: \"List\" url:/{} (x) (total time: 1ms):", ",".repeat(2_000_000)),
    ]
    .join("\n");
    let dir = Dir::with(&[("audit.log", text.as_bytes())]);
    let report = dir.report(&["audit.log"]);
    assert_eq!(report["input"]["events"], 1);
}

#[test]
fn many_truncated_files_are_named_only_in_part() {
    let packed = gzip(events(0..100).as_bytes());
    let dir = Dir::with(&[]);
    for number in 0..40 {
        // The contents differ, so no file is a copy of another.
        dir.write(&format!("{number:02}.gz"), &packed[..packed.len() - 20 - number]);
    }
    let text = dir.text(&[".", "--details"]);
    let text = text.split_once("input and server").expect("details").1;
    assert_eq!(text.matches("read up to here").count(), 10, "{text}");
    assert!(text.contains("30 more files could not be read to their end"), "{text}");
    assert_eq!(dir.report(&["."])["input"]["damaged"].as_array().map(Vec::len), Some(40));
}

#[test]
fn files_of_the_same_content_are_read_once() {
    let log = events(0..10);
    let packed = gzip(log.as_bytes());
    let dir = Dir::with(&[
        ("a.log", log.as_bytes()),
        ("copy/a.log", log.as_bytes()),
        ("copy/a.log.gz", &packed),
        ("other.log", events(20..30).as_bytes()),
    ]);
    for (dedup, requests, duplicates, copies) in
        [("auto", 20, 10, 1), ("exact", 20, 10, 1), ("off", 40, 0, 0)]
    {
        let report = dir.report(&[".", "--dedup", dedup]);
        let input = &report["input"];
        assert_eq!(
            (&input["requests"], &input["duplicates"]),
            (&requests.into(), &duplicates.into()),
            "{dedup}"
        );
        assert_eq!(input["copies"].as_array().map(Vec::len), Some(copies), "{dedup}");
    }
    let copy = &dir.report(&["a.log", "copy"])["input"]["copies"][0];
    assert!(copy["file"].as_str().is_some_and(|file| file.ends_with("copy/a.log")), "{copy}");
    assert!(copy["of"] == "a.log", "{copy}");
    let text = dir.text(&[".", "--details"]);
    assert!(text.contains("10 events read before and dropped") && text.contains("1 file not read"), "{text}");
}

#[test]
fn logs_that_overlap_count_once() {
    let dir = Dir::with(&[
        ("1.log", events(0..60).as_bytes()),
        ("2.log", events(40..100).as_bytes()),
        ("3.log", format!("[{}]", (90..110).map(event).collect::<Vec<_>>().join(",")).as_bytes()),
    ]);
    for (dedup, requests) in [("auto", 110), ("exact", 110), ("off", 140)] {
        for threads in ["1", "3"] {
            let report = dir.report(&[".", "--dedup", dedup, "--threads", threads]);
            assert_eq!(report["input"]["requests"], requests, "{dedup}");
            assert_eq!(report["input"]["duplicates"], 140 - requests, "{dedup}");
            assert_eq!(report["totals"]["requests"], requests, "{dedup}");
        }
    }
}

#[test]
fn events_with_one_shared_audit_id_are_not_duplicates() {
    let fake = |text: String, number: u32| text.replace(&format!("{number:036}"), "abcde12345");
    let scrubbed: String = (0..50).map(|number| fake(event(number), number) + "\n").collect();
    let dir = Dir::with(&[("scrubbed.log", scrubbed.as_bytes())]);
    let report = dir.report(&["scrubbed.log"]);
    assert_eq!((&report["input"]["requests"], &report["input"]["duplicates"]), (&50.into(), &0.into()));
}

#[test]
fn access_lines_with_one_shared_audit_id_are_not_duplicates() {
    let line = |second: u32| {
        format!(
            "I0723 10:00:{second:02}.000000       1 httplog.go:134] \"HTTP\" verb=\"LIST\" URI=\"/api/v1/pods\" \
             latency=\"1ms\" userAgent=\"a/1\" audit-ID=\"abcde12345\" srcIP=\"10.0.0.7:4000\" resp=200\n"
        )
    };
    let scrubbed: String = (0..50).map(line).collect();
    let dir = Dir::with(&[("kube-apiserver.log", scrubbed.as_bytes())]);
    let report = dir.report(&["kube-apiserver.log", "--year", "2026"]);
    assert_eq!((&report["input"]["requests"], &report["input"]["duplicates"]), (&50.into(), &0.into()));
}

#[test]
fn a_request_that_two_servers_log_is_in_both_logs() {
    let uri = "/apis/metrics.k8s.io/v1beta1/pods";
    let front = event(7).replace("/api/v1/pods", uri);
    let behind = front.replace("[\"10.0.0.7\"]", "[\"10.0.0.7\",\"10.0.0.1\"]");
    let dir =
        Dir::with(&[("kube-apiserver.log", front.as_bytes()), ("metrics-server.log", behind.as_bytes())]);
    let report = dir.report(&["."]);
    assert_eq!((&report["input"]["requests"], &report["input"]["duplicates"]), (&2.into(), &0.into()));
}

#[test]
fn input_format_flag_selects_the_records() {
    let line = |number| format!("2026-07-23T10:00:00Z stdout F {}", event(number));
    let cri = (0..3).map(line).collect::<Vec<_>>().join("\n");
    let dir = Dir::with(&[
        ("cri.log", cri.as_bytes()),
        ("audit.log", events(10..12).as_bytes()),
        ("pretty.json", b"{\n\"a\":1}"),
    ]);
    for format in ["cri", "audit", "cri/audit"] {
        assert_eq!(dir.report(&["cri.log", "--input-format", format])["input"]["events"], 3, "{format}");
    }
    let report = dir.report(&[".", "--input-format", "cri/audit"]);
    assert_eq!(report["input"]["events"], 3);
    assert_eq!(report["input"]["skipped"]["other-format"].as_u64(), Some(3));
    assert!(notes(&report).contains("because their format differs from --input-format"));
    let (code, out, err) = dir.run_with(&["scan", "audit.log", "--input-format", "cri"], b"");
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(
        err.contains("audit.log: holds no audit event") && err.contains("2 lines are other-format"),
        "{err}"
    );
    for wrong in ["xml", "", "cri/", "Audit", "cri/xml"] {
        let (code, _, err) = dir.run_with(&["scan", "audit.log", "--input-format", wrong], b"");
        assert_eq!(code, Some(2), "{wrong}");
        for name in ["audit", "aws-logs-tail", "gke", "otlp", "http-log-older"] {
            assert!(err.contains(name), "{wrong}: {err}");
        }
    }
}

#[test]
fn parts_of_lines_have_the_given_format() {
    let text = event(1);
    let (one, two) = text.split_at(100);
    let at = "2026-07-23T10:00:00Z stdout";
    let dir = Dir::with(&[("cri.log", format!("{at} P {one}\n{at} F {two}\n").as_bytes())]);
    let report = dir.report(&["cri.log", "--input-format", "audit"]);
    assert_eq!((&report["input"]["events"], &report["input"]["skipped"]), (&1.into(), &json!({})));
    assert_eq!(report["input"]["foreign"], json!({"part-of-a-line": 1}));
}

#[test]
fn year_flag_sets_the_year_of_klog_timestamps() {
    let line = "I0723 10:00:01.000000       1 httplog.go:134] \"HTTP\" verb=\"LIST\" URI=\"/api/v1/pods\" \
                latency=\"1s\" userAgent=\"a/1\" srcIP=\"10.0.0.7:4000\" resp=200\n";
    let dir = Dir::with(&[("kube-apiserver.log", line.as_bytes())]);
    let at =
        |args: &[&str], stdin: &str| dir.report_of(args, stdin.as_bytes())["input"]["firstTimestamp"].clone();
    assert_eq!(at(&["kube-apiserver.log", "--year", "2019"], ""), "2019-07-23T10:00:00.000000Z");
    assert_eq!(at(&["-", "--year", "2019"], line), "2019-07-23T10:00:00.000000Z");
    assert_eq!(at(&["-"], line), Value::Null);
    assert!(notes(&dir.report_of(&["-"], line.as_bytes())).contains("--year"));
    let wrapped = format!("2021-07-23T10:00:01.1Z stderr F {line}");
    assert_eq!(at(&["-", "--year", "2019"], &wrapped), "2021-07-23T10:00:00.000000Z");
    let (code, _, err) = dir.run_with(&["scan", "kube-apiserver.log", "--year", "26"], b"");
    assert_eq!(code, Some(2));
    assert!(err.contains("from 1970 to 9999"), "{err}");
}

#[test]
fn lines_of_other_components_do_not_count_as_damage() {
    let tail = |stream: &str, line: &str| format!("2026-07-23T10:00:00.000000+00:00 {stream} {line}\n");
    let log = [
        tail("kube-apiserver-audit-0f3a", &event(1)),
        tail("authenticator-0f3a", r#"time="2026-07-23T10:00:00Z" level=info msg="access granted" arn="x""#),
        tail(
            "kube-scheduler-0f3a",
            "I0723 10:00:00.000000      11 schedule_one.go:252] \"Bound\" pod=\"a/b\"",
        ),
        tail("cloud-controller-manager-0f3a", r#"{"level":"info","msg":"x"}"#),
        tail("kube-controller-manager-0f3a", "E0723 10:00:00.000000      11 x.go:1] \"failed\" err=\"{a\""),
    ];
    let dir = Dir::with(&[("tail.log", log.concat().as_bytes())]);
    let report = dir.report(&["tail.log"]);
    assert_eq!((&report["input"]["events"], &report["input"]["skipped"]), (&1.into(), &json!({})));
    assert_eq!(report["input"]["foreign"], json!({"json": 1, "klog-line": 2, "text": 1}));
    assert!(dir.text(&["tail.log", "--details"]).contains("of other logs"));
}

#[test]
fn fields_that_a_cloud_omits_are_noted() {
    let azure = |category: &str, number: u32| {
        json!({"category": category, "operationName": "x", "time": "2026-07-23T10:00:00Z",
               "properties": {"log": event(number) + "\n", "stream": "stdout", "pod": "p"}})
    };
    // The line has lost its end, and has CloudWatch's maximum length.
    let long = event(1).replacen("\"level\"", &format!("\"x\":\"{}\",\"level\"", "y".repeat(300_000)), 1);
    let cut = format!("2026-07-23T10:00:00.000000+00:00 kube-apiserver-audit-0f3a {}\n", &long[..262_118]);
    let gke = json!({
        "insertId": "a", "timestamp": "2026-07-23T10:00:00Z",
        "protoPayload": {"@type": "type.googleapis.com/google.cloud.audit.AuditLog", "serviceName": "k8s.io",
            "methodName": "io.k8s.core.v1.pods.list", "resourceName": "core/v1/pods",
            "authenticationInfo": {"principalEmail": "system:serviceaccount:monitoring:poller"},
            "requestMetadata": {"callerSuppliedUserAgent": "poller/v1"}},
    });
    let nested = json!([{"records": [azure("kube-audit-admin", 1), azure("guard", 2)]}]);
    for (name, log, note) in [
        ("admin.log", azure("kube-audit-admin", 1).to_string(), "omits every GET and LIST"),
        ("nested.log", nested.to_string(), "omits every GET and LIST"),
        ("gke.log", gke.to_string(), "hold no request URI"),
        ("cut.log", format!("{cut}{}", cut.replace(&cut[59..], &event(2))), "cut at 256 KB by CloudWatch"),
    ] {
        let dir = Dir::with(&[(name, log.as_bytes())]);
        let report = dir.report(&[name]);
        assert_eq!(report["input"]["events"], 1, "{name}: {}", report["input"]);
        assert!(notes(&report).contains(note), "{name}: {}", notes(&report));
        // Lines are wrapped in the text.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&dir.text(&[name])).contains(note), "{name}: {}", dir.text(&[name]));
        if name == "gke.log" {
            assert_eq!(report["totals"]["byServedFrom"], json!({"not-observable": 1}));
        }
        if name == "nested.log" {
            assert_eq!(report["input"]["foreign"], json!({"other-category": 1}));
        }
    }
}

#[test]
fn every_record_in_an_envelope_is_counted() {
    let insights = json!({"results": [
        [{"field": "@timestamp", "value": "x"}, {"field": "@message", "value": event(1)}],
        [{"field": "@ptr", "value": "x"}], [],
    ]});
    let otlp = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [
        {"body": {"stringValue": event(1)}}, {"body": {"kvlistValue": {"values": []}}}, {"timeUnixNano": "1"},
    ]}]}]});
    let collector = json!({"message": "a request", "log": event(1)});
    let torn = serde_json::to_string(&event(2)).expect("JSON");
    for (log, events, records) in [
        (insights.to_string(), 1, 3),
        (otlp.to_string(), 1, 3),
        (collector.to_string(), 1, 1),
        // The event in the truncated string is complete.
        (format!("{}\n{}", event(1), &torn[..torn.len() - 1]), 2, 3),
    ] {
        let dir = Dir::with(&[("log", log.as_bytes())]);
        let input = &dir.report(&["log"])["input"];
        assert_eq!((&input["events"], &input["records"]), (&events.into(), &records.into()), "{input}");
        assert!(input["skipped"]["blank"].is_null(), "{input}");
    }
}

#[test]
fn names_of_files_and_formats_cannot_drive_the_terminal() {
    let name = "a\u{1b}[31m\u{202e}.log";
    let log = format!("{}\n{{\"torn\n", event(1));
    let dir = Dir::with(&[(name, log.as_bytes()), ("b\u{7}.log", b"x\n")]);
    let text = dir.text(&["."]);
    assert!(!text.contains(|c: char| c.is_control() && c != '\n') && !text.contains('\u{202e}'), "{text:?}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (_, _, err) = dir.run_with(&["scan", "b\u{7}.log"], b"");
    assert!(!err.contains('\u{7}'), "{err:?}");
}

#[test]
fn split_lines_are_joined_wherever_the_stream_is_cut() {
    let long = event(1).replacen("\"level\"", &format!("\"x\":\"{}\",\"level\"", "y".repeat(20_000)), 1);
    let docker = |text: &str, stream: &str| {
        json!({"log": text, "stream": stream, "time": "2026-07-23T10:00:00.5Z"}).to_string() + "\n"
    };
    let cri = |tag: &str, text: &str, stream: &str| format!("2026-07-23T10:00:00.5Z {stream} {tag} {text}\n");
    let (mut in_docker, mut in_cri) = (String::new(), String::new());
    for number in 0..300 {
        let line = long.replacen(&format!("{:036}", 1), &format!("{number:036}"), 1);
        let (one, two) = line.split_at(16_384);
        let between = "x".repeat(number * 37 % 3_000);
        in_docker.push_str(&docker(one, "stdout"));
        in_cri.push_str(&cri("P", one, "stdout"));
        for _ in 0..3 {
            in_docker.push_str(&docker(&format!("{between}\n"), "stderr"));
            in_cri.push_str(&cri("F", &between, "stderr"));
        }
        in_docker.push_str(&docker(&format!("{two}\n"), "stdout"));
        in_cri.push_str(&cri("F", two, "stdout"));
    }
    for log in [in_docker, in_cri] {
        let dir = Dir::with(&[("0.log", log.as_bytes())]);
        let report = dir.report(&["0.log", "--threads", "2"]);
        assert_eq!((&report["input"]["events"], &report["input"]["requests"]), (&300.into(), &300.into()));
        assert_eq!(report["input"]["skipped"]["truncated"], Value::Null);
    }
}

/// An event compressed by `zstd --long=28`.
fn long_window() -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("memory");
    encoder.window_log(28).expect("a window that zstd knows");
    encoder.include_contentsize(false).expect("a frame without its size");
    encoder.write_all(events(0..1).as_bytes()).expect("writes to memory");
    encoder.finish().expect("writes to memory")
}

#[test]
fn a_long_window_names_the_command_that_reads_it_with_and_without_other_events() {
    let dir = Dir::with(&[("a b.zst", &long_window()), ("a.log", events(1..3).as_bytes())]);
    let help = "run: zstd -d --long=31 -c 'a b.zst' | kubetoll scan -";
    let (code, _, message) = dir.run_with(&["scan", "a b.zst", "--no-progress"], b"");
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains(help), "{message}");
    let (_, _, message) = dir.run_with(&["scan", "a b.zst", "a.log", "--no-progress"], b"");
    assert!(message.contains(help), "{message}");
    let (code, _, message) = dir.run_with(&["scan", "-", "--no-progress"], &long_window());
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("run: zstd -d --long=31 | kubetoll scan -"), "{message}");
    let (code, page, message) = dir.run_with(&["scan", ".", "--no-progress"], b"");
    assert_eq!(code, Some(0), "{message}");
    let words: Vec<&str> = page.split_whitespace().collect();
    assert!(words.join(" ").contains("run: zstd -d --long=31 -c './a b.zst' |"), "{page}");
}

#[test]
fn limits_that_memory_cannot_hold_are_refused_before_work_starts() {
    let dir = Dir::with(&[("a.log", events(0..2).as_bytes())]);
    let run_in = |kib: u32, limits: &str| {
        let command = format!("ulimit -v {kib}; exec \"$0\" scan a.log --no-progress -o page.txt {limits}");
        let output = Command::new("sh")
            .args(["-c", &command, env!("CARGO_BIN_EXE_kubetoll")])
            .current_dir(dir.path())
            .output()
            .expect("sh runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let run = |limits: &str| run_in(8_000_000, limits);
    for limits in ["--max-line 1024 --threads 80", "--threads 200", "--max-line 1024 --threads 64"] {
        let (code, message) = run(limits);
        assert_eq!(code, Some(2), "{limits}: {message}");
        for word in ["--max-line", "--threads", "MiB of memory", "7812 MiB"] {
            assert!(message.contains(word), "{limits}: {message}");
        }
        assert!(!dir.path().join("page.txt").exists(), "{limits}");
    }
    let (code, message) = run("--max-line 256 --threads 2");
    assert_eq!(code, Some(0), "{message}");
    // Limits below the defaults are accepted if the defaults are.
    for limits in ["", "--threads 1", "--max-line 64", "--max-line 1"] {
        let (code, message) = run_in(300_000, limits);
        assert_eq!(code, Some(0), "{limits}: {message}");
    }
    let (code, message) = run_in(300_000, "--max-line 128 --threads 1");
    assert_eq!(code, Some(2), "{message}");
    assert!(message.trim_end().ends_with("lower --max-line"), "{message}");
}
