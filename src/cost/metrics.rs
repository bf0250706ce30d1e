//! The apiserver's `/metrics` in Prometheus' text form, as far as it counts objects.
//!
//! No crate: those for the text form (November 2026) are not kept any more or drop what they can't read without a
//! word, and none says on which line; of some 20,000 lines four metrics with at most two labels of interest are
//! read here. Lines of other metrics, histograms with their NaN among them, are passed over unread.

use std::collections::BTreeMap;

use super::inventory::InventoryEntry;

/// Lines that can't be read of which the place is told, and resources that are named in one note.
const TOLD: usize = 3;
const NAMED: usize = 6;
/// The name of the metric that the server has the sizes in: bytes of all objects of a resource (1.34 and later).
const SIZE: &str = "apiserver_resource_size_estimate_bytes";
/// The names of the metric that counts objects, the newest first: since 1.34, 1.21 to now, up to 1.22.
const COUNTS: [&str; 3] = ["apiserver_resource_objects", "apiserver_storage_objects", "etcd_object_counts"];

/// What a dump says.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) entries: BTreeMap<String, InventoryEntry>,
    pub(super) notes: Vec<String>,
}

/// A value of a metric: -1 stands for an error of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sample {
    Failed,
    Value(u64),
}

/// Whether a text is a dump of metrics: a comment of the form, or a line of one of the metrics.
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

/// Reads a dump. Where a resource has several values, of several servers in one federated dump, the greatest is taken.
///
/// # Errors
/// None of the metrics is in it, or no number of any can be read; with the lines, from 1.
pub(super) fn read(text: &str) -> Result<Metrics, Vec<(u64, String)>> {
    let mut counts: [BTreeMap<String, Sample>; 3] = Default::default();
    let mut sizes: BTreeMap<String, Sample> = BTreeMap::new();
    let (mut unread, mut without) = (Vec::new(), Vec::new());
    for (line, number) in text.lines().zip(1_u64..) {
        let Some((name, rest)) = named(line).filter(|(name, _)| is_ours(name)) else { continue };
        let series = match COUNTS.iter().position(|known| *known == name) {
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
        let told = format!(
            "holds none of the metrics that count objects ({}); it must be kube-apiserver's /metrics \
             (kubectl get --raw /metrics)",
            COUNTS.join(", ")
        );
        return Err(vec![(1, told)]);
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
        let told: Vec<Sample> = counts.iter().filter_map(|series| series.get(&resource)).copied().collect();
        let objects = told.iter().find_map(|sample| match sample {
            Sample::Value(objects) => Some(*objects),
            Sample::Failed => None,
        });
        if objects.is_none() && !told.is_empty() {
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
        metrics.notes.push(format!("the server has no size of: {}", some_of(&unsized_)));
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
        // Up to 1.33 there is no such metric, and the server does not estimate by sizes.
        is_size_unknown_to_server: size.is_some() && bytes_per_object.is_none(),
    }
}

fn unread_lines(lines: &[u64]) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let first: Vec<String> = lines.iter().take(TOLD).map(ToString::to_string).collect();
    let more = if lines.len() > TOLD { ", …" } else { "" };
    vec![format!("{} of these metrics can't be read (line {}{more})", lines.len(), first.join(", "))]
}

/// The first names, and how many more there are.
fn some_of(names: &[impl AsRef<str>]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", first.join(", "))
}

/// What is wrong with a dump of which no number can be read: its first lines.
fn without_number(unread: &[u64], without: &[u64]) -> Vec<(u64, String)> {
    let form = "can't be read; the form is apiserver_storage_objects{resource=\"pods\"} 100";
    let none =
        "has no number of objects (-1 and NaN stand for an error of the server), and so has no other line";
    let told = unread.iter().map(|line| (*line, form.to_owned()));
    told.chain(without.iter().map(|line| (*line, none.to_owned()))).take(TOLD).collect()
}

/// The metric's name, and what follows it. Blanks may stand wherever the text form has room for them.
fn named(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let end = line.find(['{', ' ', '\t'])?;
    Some((&line[..end], line[end..].trim_start()))
}

/// Labels, a value and perhaps a timestamp.
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
    // Every negative value and NaN mean that there is none; above 2^53 no count is exact, and none is so large.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is a whole number of at most 2^53"
    )]
    let sample = match value {
        value if (0.0..9.0e15).contains(&value) => Sample::Value(value.round() as u64),
        value if value < 0.0 || value.is_nan() => Sample::Failed,
        _ => return None,
    };
    Some((name, sample))
}

/// A label's value with its escapes, and what follows its closing quote.
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

    fn of(text: &str) -> (Vec<Row>, Vec<String>) {
        let metrics = read(text).expect("metrics");
        let entries = metrics.entries.into_iter();
        (entries.map(|(name, one)| (name, one.objects, one.bytes_per_object)).collect(), metrics.notes)
    }

    fn row(name: &str, objects: Option<u64>, bytes: Option<u64>) -> Row {
        (name.to_owned(), objects, bytes)
    }

    #[test]
    fn each_generation_of_the_metric_and_the_newest_wins() {
        let (entries, notes) = of(concat!(
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
    fn minus_one_is_no_number() {
        let (entries, notes) = of(concat!(
            "apiserver_resource_objects{group=\"\",resource=\"events\"} 2655\n",
            "apiserver_resource_size_estimate_bytes{group=\"\",resource=\"events\"} -1\n",
            "apiserver_resource_objects{group=\"\",resource=\"secrets\"} -1\n",
            "apiserver_storage_objects{resource=\"secrets\"} -1\n",
        ));
        assert_eq!(entries, [row("events", Some(2_655), None), row("secrets", None, None)]);
        assert_eq!(notes, ["the server could not count (-1): secrets", "the server has no size of: events"]);
    }

    #[test]
    fn a_federated_dump_has_timestamps_other_labels_and_several_servers() {
        let (entries, notes) = of(concat!(
            "apiserver_storage_objects{endpoint=\"https\",instance=\"10.0.0.4:6443\",resource=\"pods\",x=\"a,}\\\"=b\"} 7 1592829361218\n",
            "apiserver_storage_objects{instance=\"10.0.0.5:6443\",resource=\"pods\"} 9 1592829361218\r\n",
            "apiserver_storage_objects{instance=\"10.0.0.6:6443\",resource=\"pods\"} -1 1592829361218\n",
            "apiserver_storage_objects{resource=\"nodes\"\n",
        ));
        assert_eq!(entries, [row("pods", Some(9), None)]);
        assert_eq!(notes, ["1 of these metrics can't be read (line 4)"]);
    }

    #[test]
    fn metrics_of_another_server_are_a_mistake() {
        let etcd = "# TYPE etcd_server_has_leader gauge\netcd_server_has_leader 1\n";
        assert!(is_metrics(etcd));
        let wrong = read(etcd).expect_err("etcd's");
        assert!(wrong[0].1.contains("kube-apiserver's /metrics"));
    }

    #[test]
    fn blanks_are_allowed_and_lines_without_any_number_are_a_mistake() {
        let (entries, notes) = of(concat!(
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
    fn a_note_names_six_at_most() {
        let of_one = |n: u32| {
            format!(
                "apiserver_resource_objects{{group=\"\",resource=\"r{n}\"}} 5\n\
                 apiserver_resource_size_estimate_bytes{{group=\"\",resource=\"r{n}\"}} -1\n"
            )
        };
        let text = (0..9).map(of_one).collect::<Vec<_>>().concat();
        assert_eq!(of(&text).1, ["the server has no size of: r0, r1, r2, r3, r4, r5 and 3 more"]);
    }
}
