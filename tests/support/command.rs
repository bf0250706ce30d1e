//! The command, run in a directory of its own.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use super::event::AuditEvent;

/// A temporary directory for a run.
pub struct Dir(tempfile::TempDir);

impl Dir {
    /// A directory with these files.
    pub fn with(files: &[(&str, &[u8])]) -> Self {
        let dir = Self(tempfile::tempdir().expect("a directory"));
        for (name, bytes) in files {
            dir.write(name, bytes);
        }
        dir
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes one more file.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, bytes).expect("a file");
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubetoll"));
        command.args(args).current_dir(self.path()).env("COLUMNS", "80").env("NO_COLOR", "1");
        command
    }

    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs")
    }

    /// Runs the command to its end: status, output, messages.
    pub fn run_with(&self, args: &[&str], stdin: &[u8]) -> (Option<i32>, String, String) {
        let mut child = self.start(args);
        // A child that fails early closes its input.
        let _ = child.stdin.take().expect("piped").write_all(stdin);
        let Output { status, stdout, stderr } = child.wait_with_output().expect("the binary ends");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (status.code(), text(stdout), text(stderr))
    }

    /// The report of a scan.
    pub fn report(&self, args: &[&str]) -> Value {
        self.report_of(args, b"")
    }

    /// The report of a scan that may read standard input.
    pub fn report_of(&self, args: &[&str], stdin: &[u8]) -> Value {
        let mut all = vec!["scan", "--format", "json", "--no-progress"];
        all.extend(args);
        let (code, out, err) = self.run_with(&all, stdin);
        assert_eq!(code, Some(0), "{args:?}: {err}");
        serde_json::from_str(&out).expect("JSON")
    }

    /// The text of a scan.
    pub fn text(&self, args: &[&str]) -> String {
        let mut all = vec!["scan", "--no-progress"];
        all.extend(args);
        let (code, out, err) = self.run_with(&all, b"");
        assert_eq!(code, Some(0), "{args:?}: {err}");
        out
    }
}

/// An event of this number, a list of pods, as a line without its end.
pub fn event(number: u32) -> String {
    let line = AuditEvent::new(&format!("{number:036}"), "list", "/api/v1/pods")
        .by("system:serviceaccount:monitoring:poller", "poller/v1.2.3")
        .ip("10.0.0.7")
        .at(u64::from(number % 1_000_000), 1_000_000)
        .line();
    line.trim_end().to_owned()
}

/// Events of these numbers, a line each.
pub fn events(numbers: impl IntoIterator<Item = u32>) -> String {
    numbers.into_iter().map(|number| event(number) + "\n").collect()
}
