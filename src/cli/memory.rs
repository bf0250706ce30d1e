//! Checks that the limits of a run fit into memory.

use std::fs;
use std::path::Path;

use anyhow::bail;

use super::args::ReadingArgs;

/// The most memory that one thread uses, in bytes. It is for the thread's blocks of the log, and for the texts in
/// these blocks. docs/inputs.md shows this number.
const THREAD: u64 = 64 << 20;
/// The most memory that the longest line uses, as a multiple of its length. It is one byte for each byte of the line,
/// plus up to three bytes for the text in it. Only one line longer than 8 MiB is in memory at a time.
const LINE: u64 = 4;

/// The default of `--max-line`, in MiB.
pub(super) const MAX_LINE: u16 = 64;

/// Returns an error if `--max-line` and `--threads` may need more memory than is available. Never fails if they need
/// at most as much as their defaults.
pub(super) fn check(args: &ReadingArgs, threads: usize, default_threads: usize) -> anyhow::Result<()> {
    let max_line = u64::from(args.max_line.unwrap_or(MAX_LINE));
    let needed_by = needed(max_line, threads as u64);
    if needed_by <= needed(u64::from(MAX_LINE), default_threads as u64) {
        return Ok(());
    }
    match available() {
        Some(available) if needed_by > available => bail!(
            "--max-line {max_line} and --threads {threads} can take {} of memory, and this process may have {}; {}",
            megabytes(needed_by),
            megabytes(available),
            advice(max_line, available),
        ),
        _ => Ok(()),
    }
}

/// Returns advice on which flags to lower. A lower `--threads` helps only if the longest line and one thread fit into
/// memory.
fn advice(max_line: u64, available: u64) -> &'static str {
    if needed(max_line, 1) > available { "lower --max-line" } else { "lower --max-line or --threads" }
}

fn needed(max_line: u64, threads: u64) -> u64 {
    LINE * (max_line << 20) + threads * THREAD
}

fn megabytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// The memory available to this process, in bytes. It is the memory of the machine, or a lower limit of the process's
/// control group or shell. `None` if the system does not show it.
fn available() -> Option<u64> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let of_groups =
        group_files(&groups).into_iter().filter_map(|path| read(Path::new(&path))?.trim().parse().ok());
    let of_machine = read(Path::new("/proc/meminfo")).and_then(|text| total(&text));
    let of_shell = read(Path::new("/proc/self/limits")).and_then(|text| address_space(&text));
    of_groups.chain(of_machine).chain(of_shell).min()
}

/// The files with the memory limits of control groups, for cgroup v1 and v2. Includes the files of all parent groups.
fn group_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, name) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let around = Path::new(path).ancestors().filter_map(Path::to_str);
        files.extend(around.map(|group| format!("{root}{}/{name}", group.trim_end_matches('/'))));
    }
    files
}

/// The memory of the machine, from `/proc/meminfo`.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// The soft limit of the address space, from `/proc/self/limits`.
fn address_space(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_line_and_two_threads_take_less_than_500_mb() {
        assert!(needed(u64::from(MAX_LINE), 2) < 500_000_000);
    }

    #[test]
    fn memory_error_names_only_flags_that_help() {
        assert_eq!(advice(64, needed(64, 1)), "lower --max-line or --threads");
        assert_eq!(advice(64, needed(64, 1) - 1), "lower --max-line");
    }

    #[test]
    fn memory_limits_are_parsed_from_linux_files() {
        assert_eq!(total("MemTotal:       24576 kB\nMemFree: 1 kB\n"), Some(24 << 20));
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space         4096000              unlimited            bytes\n";
        assert_eq!(address_space(limits), Some(4_096_000));
        assert_eq!(
            address_space("Max address space         unlimited            unlimited            bytes\n"),
            None
        );
        let files = group_files("0::/kubepods/pod1\n4:cpu,memory:/a\n5:pids:/b\n");
        assert_eq!(
            files,
            [
                "/sys/fs/cgroup/kubepods/pod1/memory.max",
                "/sys/fs/cgroup/kubepods/memory.max",
                "/sys/fs/cgroup/memory.max",
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            ]
        );
    }
}
