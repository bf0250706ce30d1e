//! Checks the outputs before any work. Outputs must be distinct files, and none may be an input.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::bail;
use tempfile::Builder;

use super::args::JudgeArgs;
use crate::files::partial::Partial;
use crate::input::Sources;
use crate::rules::policy::FILE_NAME;

/// The maximum number of links to follow, as in Linux.
const MAX_LINKS: usize = 40;

/// The inputs of a run.
#[derive(Debug)]
pub(super) struct Inputs {
    /// Each path with its name in messages.
    paths: Vec<(PathBuf, &'static str)>,
    /// Whether the run reads standard input, which a shell may redirect to a file.
    reads_stdin: bool,
}

impl Inputs {
    pub(super) fn new(args: &JudgeArgs, logs: &Sources, etcd_logs: &Sources) -> Self {
        let mut inputs = Self::from_logs(logs, args.rules.config.as_deref());
        inputs.reads_stdin |= etcd_logs.list.iter().any(|source| source.path.is_none());
        inputs.add_sources(etcd_logs, "a log of etcd");
        args.inventory.iter().for_each(|path| inputs.add(path, "the inventory"));
        args.rules.rules.iter().for_each(|directory| inputs.add_rules(directory));
        inputs
    }

    /// The audit logs and the policy file.
    pub(super) fn from_logs(logs: &Sources, config: Option<&Path>) -> Self {
        let reads_stdin = logs.list.iter().any(|source| source.path.is_none());
        let mut inputs = Self { paths: Vec::new(), reads_stdin };
        inputs.add_sources(logs, "an audit log");
        inputs.add(config.unwrap_or(Path::new(FILE_NAME)), "the policy file");
        inputs
    }

    pub(super) fn add(&mut self, path: impl Into<PathBuf>, what: &'static str) {
        self.paths.push((path.into(), what));
    }

    /// Adds each file of a log, including duplicates that kubetoll does not read.
    fn add_sources(&mut self, sources: &Sources, what: &'static str) {
        let read = sources.list.iter().filter_map(|source| source.path.as_ref());
        let copies = sources.duplicates.iter().map(|copy| &copy.path);
        self.paths.extend(read.chain(copies).map(|path| (path.clone(), what)));
    }

    fn add_rules(&mut self, directory: &Path) {
        let files = walkdir::WalkDir::new(directory).follow_links(true).into_iter().flatten();
        self.paths.extend(
            files.filter(|entry| entry.file_type().is_file()).map(|entry| (entry.into_path(), "a rule file")),
        );
    }
}

/// Returns an error if two outputs are the same file, or if an output is an input. `writes_stdout` says whether the run
/// writes standard output, which a shell may redirect to a file.
pub(super) fn check(outputs: &[PathBuf], inputs: &Inputs, writes_stdout: bool) -> anyhow::Result<()> {
    let mut read: Vec<(File, &str, String)> = inputs
        .paths
        .iter()
        .filter_map(|(path, what)| Some((File::new(path).ok()?, *what, path.display().to_string())))
        .collect();
    read.extend(
        stream(inputs.reads_stdin, &io::stdin())
            .map(|file| (file, "standard input", "standard input".to_owned())),
    );
    let stdout = stream(writes_stdout, &io::stdout());
    let mut named: Vec<(File, String)> = Vec::new();
    // A shell truncates the file for standard output before kubetoll runs, unless the shell appends. So only a file
    // that is not empty can lose data.
    if let Some((file, size)) = stdout.zip(stream_size(&io::stdout())) {
        if size > 0
            && let Some((_, what, path)) = read.iter().find(|(read, ..)| read.is(&file))
        {
            bail!("standard output adds to {path}, which is {what}; name another file for the output");
        }
        named.push((file, "standard output".to_owned()));
    }
    for path in outputs {
        let name = path.display().to_string();
        let file = File::new(path)?;
        if let Some((_, what, input)) = read.iter().find(|(read, ..)| read.is(&file)) {
            let same = if *input == name { String::new() } else { format!(" ({input})") };
            bail!("{name}: is {what}{same}, which is read; name another file for the output");
        }
        if let Some((_, other)) = named.iter().find(|(other, _)| other.is(&file)) {
            let other = if *other == name { String::new() } else { format!(" (as {other})") };
            bail!("{name}: is named for two outputs{other}; name two files");
        }
        named.push((file, name));
    }
    Ok(())
}

/// The identity of a file, which does not depend on the path to it.
#[derive(Debug)]
struct File {
    /// The path without links; empty for a pipe or a standard stream.
    path: PathBuf,
    /// Device and inode of an existing file or pipe.
    identity: Option<(u64, u64)>,
}

impl File {
    fn new(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(file) if !file.is_dir() => {
                let path = if file.is_file() { fs::canonicalize(path)? } else { PathBuf::new() };
                Ok(Self { path, identity: identity(&file) })
            }
            _ => Ok(Self { path: resolved(path, MAX_LINKS)?, identity: None }),
        }
    }

    fn is(&self, other: &Self) -> bool {
        let is_there = |file: &Self| file.identity.is_some();
        let has_path = !self.path.as_os_str().is_empty();
        (is_there(self) && self.identity == other.identity)
            || (has_path && self.path == other.path)
            || (has_path && !is_there(self) && !is_there(other) && self.may_be_by_case(other, ignores_case))
    }

    /// Whether the names of two missing files differ only in upper and lower case, and the directory ignores this.
    fn may_be_by_case(&self, other: &Self, ignores_case: impl FnOnce(&Path) -> bool) -> bool {
        let directory = self.path.parent().filter(|own| other.path.parent() == Some(own));
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().to_lowercase());
        name(&self.path) == name(&other.path) && directory.is_some_and(ignores_case)
    }
}

/// Whether a directory ignores case in file names. Tries it with a temporary file. `false` if the directory is not
/// writable, because then no output can be written either.
fn ignores_case(directory: &Path) -> bool {
    let Ok(file) = Partial::new(Builder::new(), directory) else { return false };
    let name = file.path().and_then(Path::file_name);
    let name = name.map(|name| name.to_string_lossy().replace("kubetoll", "KUBETOLL"));
    name.is_some_and(|name| directory.join(name).exists())
}

/// Resolves the links of a path. The last component, or the target of its link, may be missing.
fn resolved(path: &Path, links: usize) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        done => return done,
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let (Ok(target), Some(links)) = (fs::read_link(path), links.checked_sub(1)) {
        return resolved(&directory.join(target), links);
    }
    let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
    Ok(fs::canonicalize(directory)?.join(name))
}

/// The file or pipe to which a standard stream is redirected.
#[cfg(unix)]
fn stream(is_used: bool, stream: &impl std::os::fd::AsFd) -> Option<File> {
    let identity = stream_metadata(stream).filter(|_| is_used).and_then(|file| identity(&file));
    identity.map(|identity| File { path: PathBuf::new(), identity: Some(identity) })
}

#[cfg(unix)]
fn stream_metadata(stream: &impl std::os::fd::AsFd) -> Option<Metadata> {
    fs::File::from(stream.as_fd().try_clone_to_owned().ok()?).metadata().ok()
}

/// The size in bytes; 0 for a pipe.
#[cfg(unix)]
fn stream_size(stream: &impl std::os::fd::AsFd) -> Option<u64> {
    stream_metadata(stream).map(|file| file.len())
}

/// Returns the device and the inode of a file or pipe. A device such as `/dev/null` gets `None`, because several
/// outputs to it lose nothing.
#[cfg(unix)]
fn identity(file: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let kind = file.file_type();
    (kind.is_file() || kind.is_fifo()).then(|| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn stream<S>(_: bool, _: &S) -> Option<File> {
    None
}

#[cfg(not(unix))]
fn stream_size<S>(_: &S) -> Option<u64> {
    None
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_case_are_one_file_if_the_file_system_ignores_case() {
        let file = |path: &str| File { path: path.into(), identity: None };
        let (one, other) = (file("/d/Größe.json"), file("/d/GRÖSSE.json"));
        assert!(!one.may_be_by_case(&other, |_| true), "no file system takes ß for SS");
        let other = file("/d/GRÖße.JSON");
        assert!(one.may_be_by_case(&other, |directory| directory == Path::new("/d")));
        assert!(!one.may_be_by_case(&other, |_| false));
        assert!(!one.may_be_by_case(&file("/e/größe.json"), |_| true), "another directory");
        assert!(!one.may_be_by_case(&file("/d/b.json"), |_| true), "another name");
    }

    #[test]
    fn case_probe_matches_the_file_system_and_leaves_no_file() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("probe"), "").expect("a file");
        assert_eq!(ignores_case(directory.path()), directory.path().join("PROBE").exists());
        assert_eq!(fs::read_dir(directory.path()).expect("it is there").count(), 1);
        assert!(!ignores_case(&directory.path().join("gone")));
    }
}
