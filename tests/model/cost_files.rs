//! Formats of inventories: blanks, other separators, UTF-16, almost correct names.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::command::Dir;
use crate::support::event::AuditEvent;

fn list(uri: &str) -> String {
    AuditEvent::new(&uri, "list", uri).by("a", "agent/v1.0.0").at(1_000_000, 0).line()
}

const ARGS: [&str; 3] = ["audit.log", "--kube-version", "1.36.2"];

fn dir(uris: &[&str], files: &[(&str, &[u8])]) -> Dir {
    let log: String = uris.iter().map(|uri| list(uri)).collect();
    let dir = Dir::with(files);
    dir.write("audit.log", log.as_bytes());
    dir
}

fn with_inventories<'a>(files: &[(&'a str, &[u8])]) -> Vec<&'a str> {
    ARGS.into_iter().chain(files.iter().flat_map(|(name, _)| ["--inventory", *name])).collect()
}

fn report(uris: &[&str], files: &[(&str, &[u8])]) -> Value {
    dir(uris, files).report(&with_inventories(files))
}

fn utf16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn inventory_is_parsed_from_each_format() {
    let csv = "resource,objects,bytesPerObject\npods,100,20000\n";
    let metrics =
        "  # TYPE apiserver_storage_objects gauge\n apiserver_storage_objects { resource = \"pods\" } 100\n";
    let mut many = String::from("pods: {objects: 100}\n");
    for number in 0..10_000 {
        writeln!(many, "things{number}.group.example.crossplane.io: {{objects: 5, bytesPerObject: 4000}}")
            .expect("a String");
    }
    for bytes in [
        csv.replace(',', ";").into_bytes(),
        csv.replace(',', "\t").into_bytes(),
        utf16(csv),
        metrics.as_bytes().to_vec(),
        many.into_bytes(),
    ] {
        let result = report(&["/api/v1/pods"], &[("inventory", &bytes)]);
        assert_eq!(result["totals"]["cost"]["total"]["filtered"]["objects"], 100);
    }
}

#[test]
fn metrics_without_any_number_are_an_error() {
    let files: [(&str, &[u8]); 1] =
        [("m.txt", b"# x\napiserver_storage_objects{resource=\"pods\"} => 22 @[1592829361.218]\n")];
    let mut args = vec!["scan"];
    args.extend(with_inventories(&files));
    let (status, out, err) = dir(&["/api/v1/pods"], &files).run_with(&args, b"");
    assert_eq!((status, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("m.txt:2:1: not a valid sample; write it as"), "{err}");
}

#[test]
fn an_almost_correct_name_is_reported() {
    let files: [(&str, &[u8]); 1] = [("i.csv", b"resource,objects\ndeployments,5\npod,7\n")];
    let uris = ["/apis/apps/v1/deployments", "/api/v1/pods"];
    let dir = dir(&uris, &files);
    let args = with_inventories(&files);
    let near = |resource: &str| {
        let result = dir.report(&args);
        let lacks = result["inventory"]["lacks"].as_array().expect("lacks").clone();
        lacks.iter().find(|lack| lack["resource"] == resource).expect("it is lacking")["near"].clone()
    };
    assert_eq!((near("deployments.apps"), near("pods")), (json!("deployments"), json!("pod")));
    let text = dir.text(&[&args[..], &["--details"]].concat());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("the inventory has 'deployments'; write deployments.apps"), "{text}");
    assert!(text.contains("not known how much is received") && !text.contains("costs ?"), "{text}");
    assert!(text.contains("the inventory has no sizes, so the report"), "no metrics, no version: {text}");
}

#[test]
fn size_from_a_csv_file_sets_bytes_and_keeps_seats() {
    let metrics: &[u8] = b"apiserver_resource_objects{group=\"\",resource=\"events\"} 50000\n\
        apiserver_resource_size_estimate_bytes{group=\"\",resource=\"events\"} -1\n";
    let sizes: &[u8] = b"resource,objects,bytesPerObject\nevents,,900\n";
    let of = |files: &[(&str, &[u8])]| {
        let result = report(&["/api/v1/events?limit=3"], files);
        let one = &result["clients"][0]["shapes"][0]["cost"]["perRequest"];
        (one["etcd"]["bytes"].clone(), one["seats"].clone())
    };
    let (bytes, seats) = of(&[("m", metrics)]);
    assert_eq!((&bytes, &seats), (&Value::Null, &json!(10)), "an event is taken for 1.5 MB");
    assert_eq!(of(&[("m", metrics), ("s.csv", sizes)]).1, seats);
    assert_ne!(of(&[("m", metrics), ("s.csv", sizes)]).0, Value::Null);
}

#[test]
fn api_groups_with_shared_storage_share_their_inventory() {
    let files: [(&str, &[u8]); 1] =
        [("i.csv", b"resource,objects,bytesPerObject\ningresses.networking.k8s.io,700,1000\n")];
    let result = report(&["/apis/extensions/v1beta1/ingresses?resourceVersion=0"], &files);
    assert_eq!(result["inventory"]["lacks"], json!([]));
    assert_eq!(result["totals"]["cost"]["total"]["received"]["objects"], 700);
}
