//! The public contract of `kubetoll classify --stdin`, frozen.

use std::io::Write;
use std::process::{Command, Stdio};

fn classify(args: &[&str], input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubetoll"))
        .args(["classify", "--stdin"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("the binary reads");
    let output = child.wait_with_output().expect("the binary ends");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn classify_prints_one_result_for_each_line_in_order() {
    let input = [
        r#"{"method":"GET","uri":"/api/v1/pods?limit=500\u0026resourceVersion=0","kubeVersion":"1.34.2","etcdVersion":"3.6.5","featureGates":{"WatchList":false}}"#,
        r#"{"method":"get","uri":"/api/v1/namespaces/n/pods?limit=500","kubeVersion":"v1.30.14-eks-1"}"#,
        r#"{"method":"GET","uri":"/apis/apps/v1/namespaces/n/deployments/d/status","kubeVersion":"1.36"}"#,
        r#"{"method":"GET","uri":"/apis/example.com/v1/widgets?limit=5&resourceVersion=77","kubeVersion":"1.35.0"}"#,
        r#"{"method":"GET","uri":"/api/v1/pods?resourceVersionMatch=Exact"}"#,
        r#"{"method":"GET","uri":"/api/v1/pods","kubeVersion":"1.34.0","etcdVersion":"3.5.12"}"#,
        r#"{"method":"GET","uri":"/api/v1/pods?fieldSelector=metadata.name%3Dx","kubeVersion":"1.99.0"}"#,
        r#"{"method":"DELETE","uri":"/api/v1/namespaces/n/pods","kubeVersion":"1.20.0"}"#,
        r#"{"method":"GET","uri":"/readyz"}"#,
        "nonsense",
        "",
        r#"{"method":"GET"}"#,
        r#"{"method":"G E T","uri":"/api"}"#,
        r#"{"method":"GET","uri":"api/v1/pods"}"#,
        r#"{"method":"GET","uri":"/api/v1/pods","kubeVersion":"1.18.0"}"#,
        r#"{"method":"GET","uri":"/api/v1/pods","kubeVersion":"newest"}"#,
    ];
    insta::assert_snapshot!(classify(&[], &(input.join("\n") + "\n")));
}

#[test]
fn classify_flags_are_defaults_of_each_line() {
    let flags = [
        "--kube-version=1.33.1",
        "--etcd-version=3.5.21",
        "--feature-gate=WatchList=true",
        "--uncached=secrets",
        "--aggregated=route.openshift.io",
    ];
    let input = [
        r#"{"method":"GET","uri":"/api/v1/pods?limit=500"}"#,
        r#"{"method":"GET","uri":"/api/v1/pods?limit=500","kubeVersion":"1.33.3"}"#,
        r#"{"method":"GET","uri":"/api/v1/pods?watch=1"}"#,
        r#"{"method":"GET","uri":"/api/v1/pods?watch=1","featureGates":{"WatchList":false,"Other":true}}"#,
        r#"{"method":"GET","uri":"/api/v1/secrets?resourceVersion=0"}"#,
        r#"{"method":"GET","uri":"/apis/route.openshift.io/v1/routes"}"#,
    ];
    insta::assert_snapshot!(classify(&flags, &input.join("\n")));
}
