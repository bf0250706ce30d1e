//! Parses the metrics that count objects from the apiserver's `/metrics` (Prometheus text format).
//!
//! A file has about 20,000 lines. kubetoll parses only the lines of four metrics, which have at most two labels in
//! the apiserver's output. It skips all other lines. No crate fits (November 2026): the crates for this format are
//! unmaintained or silently drop invalid lines. None of them reports the line number of an invalid line.

use std::collections::BTreeMap;

use super::inventory::InventoryEntry;

/// The maximum number of invalid lines that a message lists.
const MAX_LINES: usize = 3;
/// The maximum number of resources that a note names.
const MAX_NAMES: usize = 6;
/// The metric with the size of all objects of a resource, in bytes (1.34 and later).
const SIZE: &str = "apiserver_resource_size_estimate_bytes";
/// The names of the metric that counts objects, newest first: since 1.34, since 1.21, and up to 1.22.
const COUNTS: [&str; 3] = ["apiserver_resource_objects", "apiserver_storage_objects", "etcd_object_counts"];

/// The inventory entries of a metrics file, and notes for the user.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) entries: BTreeMap<String, InventoryEntry>,
    pub(super) notes: Vec<String>,
}

/// The value of a metric. -1 means that the server failed to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sample {
    Failed,
    Value(u64),
}

/// Whether a text is in the metrics format: it has a `# HELP` or `# TYPE` line, or one of the metrics that count
/// objects.
pub(super) fn is_metrics(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| {
        line.starts_with("# HELP ")
            || line.starts_with("# TYPE ")
            || named(line).is_some_and(|(name, _)| is_ours(name))
    })
}

fn is_ours(name: &str) -> bool {
    name == SIZE || COUNTS.contains(&name)
}

/// Parses metrics. A federated file has one value from each server; the largest value counts.
///
/// # Errors
/// The text has none of the metrics, or no valid number. Each error has a line number, counted from 1.
pub(super) fn read(text: &str) -> Result<Metrics, Vec<(u64, String)>> {
    let mut counts: [BTreeMap<String, Sample>; 3] = Default::default();
    let mut sizes: BTreeMap<String, Sample> = BTreeMap::new();
    let (mut unread, mut without) = (Vec::new(), Vec::new());
    for (line, number) in text.lines().zip(1_u64..) {
        let Some((name, rest)) = named(line).filter(|(name, _)| is_ours(name)) else { continue };
        let series = match COUNTS.iter().position(|own| *own == name) {
            Some(age) => &mut counts[age],
            None => &mut sizes,
        };
        match sample(rest) {
            Some((resource, sample)) => {
                if sample == Sample::Failed {
                    without.push(number);
                }
                let own = series.entry(resource).or_insert(sample);
                *own = sample.max(*own);
            }
            None => unread.push(number),
        }
    }
    if unread.is_empty() && sizes.is_empty() && counts.iter().all(BTreeMap::is_empty) {
        let message = format!(
            "no metric that counts objects ({}); use kube-apiserver's /metrics (kubectl get --raw /metrics)",
            COUNTS.join(", ")
        );
        return Err(vec![(1, message)]);
    }
    let has_value = |series: &BTreeMap<String, Sample>| series.values().any(|value| *value != Sample::Failed);
    if !counts.iter().chain([&sizes]).any(has_value) {
        return Err(without_number(&unread, &without));
    }
    let mut metrics = Metrics { entries: BTreeMap::new(), notes: unread_lines(&unread) };
    let mut failed = Vec::new();
    let names: Vec<String> = counts.iter().flat_map(BTreeMap::keys).chain(sizes.keys()).cloned().collect();
    for resource in names {
        if metrics.entries.contains_key(&resource) {
            continue;
        }
        let samples: Vec<Sample> =
            counts.iter().filter_map(|series| series.get(&resource)).copied().collect();
        let objects = samples.iter().find_map(|sample| match sample {
            Sample::Value(objects) => Some(*objects),
            Sample::Failed => None,
        });
        if objects.is_none() && !samples.is_empty() {
            failed.push(resource.clone());
        }
        let entry = entry(objects, sizes.get(&resource).copied());
        metrics.entries.insert(resource, entry);
    }
    if !failed.is_empty() {
        metrics.notes.push(format!("the server could not count (-1): {}", some_of(&failed)));
    }
    let unsized_: Vec<&str> = metrics
        .entries
        .iter()
        .filter(|(_, entry)| entry.is_size_unknown_to_server && entry.objects != Some(0))
        .map(|(resource, _)| resource.as_str())
        .collect();
    if !unsized_.is_empty() {
        metrics.notes.push(format!("the server has no size for: {}", some_of(&unsized_)));
    }
    Ok(metrics)
}

fn entry(objects: Option<u64>, size: Option<Sample>) -> InventoryEntry {
    let bytes_per_object = match (objects, size) {
        (Some(objects), Some(Sample::Value(bytes))) if bytes > 0 => bytes.checked_div(objects),
        _ => None,
    };
    InventoryEntry {
        objects,
        bytes_per_object,
        // Servers up to 1.33 do not have the size metric. They do not estimate seats from sizes, so this is false for
        // them.
        is_size_unknown_to_server: size.is_some() && bytes_per_object.is_none(),
    }
}

fn unread_lines(lines: &[u64]) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let first: Vec<String> = lines.iter().take(MAX_LINES).map(ToString::to_string).collect();
    let more = if lines.len() > MAX_LINES { ", …" } else { "" };
    vec![format!("invalid samples: {} (line {}{more})", lines.len(), first.join(", "))]
}

/// Lists the first names and counts the rest.
fn some_of(names: &[impl AsRef<str>]) -> String {
    let first: Vec<&str> = names.iter().take(MAX_NAMES).map(AsRef::as_ref).collect();
    let more = match names.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", first.join(", "))
}

/// Returns the errors for a text without a valid number of objects. `unread` contains the line numbers of invalid
/// samples. `without` contains those of samples with an error value. Each line gets one error, up to [`MAX_LINES`]
/// errors.
fn without_number(unread: &[u64], without: &[u64]) -> Vec<(u64, String)> {
    let invalid = "not a valid sample; write it as apiserver_storage_objects{resource=\"pods\"} 100";
    let failed =
        "no number of objects here or in any other line (-1 and NaN mean that the server failed to count)";
    let errors = unread.iter().map(|line| (*line, invalid.to_owned()));
    errors.chain(without.iter().map(|line| (*line, failed.to_owned()))).take(MAX_LINES).collect()
}

/// Splits a line after the name of the metric. Ignores spaces and tabs around the name, because the text format
/// allows them.
fn named(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let end = line.find(['{', ' ', '\t'])?;
    Some((&line[..end], line[end..].trim_start()))
}

/// Parses labels and value. A timestamp after them is ignored.
fn sample(rest: &str) -> Option<(String, Sample)> {
    let mut rest = rest.strip_prefix('{')?;
    let (mut group, mut resource) = (None, None);
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t']);
        if let Some(behind) = rest.strip_prefix('}') {
            rest = behind;
            break;
        }
        let (name, behind) = rest.split_once('=')?;
        let (value, behind) = quoted(behind.trim_start().strip_prefix('"')?)?;
        match name.trim() {
            "group" => group = Some(value),
            "resource" => resource = Some(value),
            _ => {}
        }
        rest = behind;
    }
    let resource = resource.filter(|name| !name.is_empty())?;
    let name = match group.filter(|group| !group.is_empty()) {
        Some(group) => format!("{resource}.{group}"),
        None => resource,
    };
    let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
    // Negative values and NaN mean that the server failed to count. No real count is above 2^53, where f64 is inexact.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is a whole number of at most 2^53"
    )]
    let sample = match value {
        value if (0.0..9.0e15).contains(&value) => Sample::Value(value.round() as u64),
        value if value < 0.0 || value.is_nan() => Sample::Failed,
        _ => return None,
    };
    Some((name, sample))
}

/// Unescapes the value of a label up to its closing quote, and returns the rest after the quote.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (String, Option<u64>, Option<u64>);

    fn parsed(text: &str) -> (Vec<Row>, Vec<String>) {
        let metrics = read(text).expect("metrics");
        let entries = metrics.entries.into_iter();
        (entries.map(|(name, one)| (name, one.objects, one.bytes_per_object)).collect(), metrics.notes)
    }

    fn row(name: &str, objects: Option<u64>, bytes: Option<u64>) -> Row {
        (name.to_owned(), objects, bytes)
    }

    #[test]
    fn the_newest_name_of_a_metric_wins() {
        let (entries, notes) = parsed(concat!(
            "# HELP apiserver_storage_objects x\n",
            "etcd_object_counts{resource=\"pods\"} 5\n",
            "apiserver_storage_objects{resource=\"pods\"} 6\n",
            "apiserver_resource_objects{group=\"\",resource=\"pods\"} 1e+05\n",
            "apiserver_resource_size_estimate_bytes{group=\"\",resource=\"pods\"} 2e+09\n",
            "apiserver_storage_objects{resource=\"leases.coordination.k8s.io\"} 43\n",
            "etcd_object_counts{resource=\"deployments.apps\"} 8\n",
            "apiserver_request_duration_seconds_bucket{resource=\"pods\",le=\"+Inf\"} NaN\n",
        ));
        assert_eq!(
            entries,
            [
                row("deployments.apps", Some(8), None),
                row("leases.coordination.k8s.io", Some(43), None),
                row("pods", Some(100_000), Some(20_000)),
            ]
        );
        assert_eq!(notes, [""; 0]);
    }

    #[test]
    fn minus_one_means_unknown() {
        let (entries, notes) = parsed(concat!(
            "apiserver_resource_objects{group=\"\",resource=\"events\"} 2655\n",
            "apiserver_resource_size_estimate_bytes{group=\"\",resource=\"events\"} -1\n",
            "apiserver_resource_objects{group=\"\",resource=\"secrets\"} -1\n",
            "apiserver_storage_objects{resource=\"secrets\"} -1\n",
        ));
        assert_eq!(entries, [row("events", Some(2_655), None), row("secrets", None, None)]);
        assert_eq!(notes, ["the server could not count (-1): secrets", "the server has no size for: events"]);
    }

    #[test]
    fn a_federated_dump_has_timestamps_other_labels_and_several_servers() {
        let (entries, notes) = parsed(concat!(
            "apiserver_storage_objects{endpoint=\"https\",instance=\"10.0.0.4:6443\",resource=\"pods\",x=\"a,}\\\"=b\"} 7 1592829361218\n",
            "apiserver_storage_objects{instance=\"10.0.0.5:6443\",resource=\"pods\"} 9 1592829361218\r\n",
            "apiserver_storage_objects{instance=\"10.0.0.6:6443\",resource=\"pods\"} -1 1592829361218\n",
            "apiserver_storage_objects{resource=\"nodes\"\n",
        ));
        assert_eq!(entries, [row("pods", Some(9), None)]);
        assert_eq!(notes, ["invalid samples: 1 (line 4)"]);
    }

    #[test]
    fn metrics_of_another_server_are_an_error() {
        let etcd = "# TYPE etcd_server_has_leader gauge\netcd_server_has_leader 1\n";
        assert!(is_metrics(etcd));
        let wrong = read(etcd).expect_err("etcd's");
        assert!(wrong[0].1.contains("kube-apiserver's /metrics"));
    }

    #[test]
    fn spaces_are_allowed_and_metrics_without_a_number_are_an_error() {
        let (entries, notes) = parsed(concat!(
            "  # TYPE apiserver_storage_objects gauge\n",
            "\tapiserver_storage_objects {resource=\"pods\"} 100\n",
            "apiserver_storage_objects{ resource = \"nodes\" , x=\"\" }\t4\n",
        ));
        assert_eq!(entries, [row("nodes", Some(4), None), row("pods", Some(100), None)]);
        assert_eq!(notes, [""; 0]);
        let lines = |text: &str| -> Vec<u64> {
            read(text).expect_err("no number").into_iter().map(|(line, _)| line).collect()
        };
        let of_promtool = "apiserver_storage_objects{resource=\"pods\"} => 22 @[1592829361.218]\n";
        assert_eq!(lines(of_promtool), [1]);
        let failed = "# x\napiserver_storage_objects{resource=\"pods\"} -1\napiserver_storage_objects 5\n";
        assert_eq!(lines(failed), [3, 2]);
    }

    #[test]
    fn a_note_names_at_most_six_resources() {
        let of_one = |n: u32| {
            format!(
                "apiserver_resource_objects{{group=\"\",resource=\"r{n}\"}} 5\n\
                 apiserver_resource_size_estimate_bytes{{group=\"\",resource=\"r{n}\"}} -1\n"
            )
        };
        let text = (0..9).map(of_one).collect::<Vec<_>>().concat();
        assert_eq!(parsed(&text).1, ["the server has no size for: r0, r1, r2, r3, r4, r5 and 3 more"]);
    }
}
