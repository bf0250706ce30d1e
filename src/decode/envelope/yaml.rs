//! Events as YAML documents, as `kubectl` and people write them.

/// The document as JSON text, of which all other forms are told; `None` where it is no YAML, or would grow beyond
/// its bounds (aliases of aliases).
#[must_use]
pub fn to_json(document: &str) -> Option<String> {
    let value: serde_json::Value = serde_saphyr::from_str(document).ok()?;
    serde_json::to_string(&value).ok()
}

/// Whether a text is YAML of an audit log, by the first lines: keys of an event or of a cloud's log entry at their
/// starts.
#[must_use]
pub fn is_yaml(start: &str) -> bool {
    const KEYS: [&str; 9] = [
        "auditID:",
        "kind: Event",
        "apiVersion: audit.k8s.io/",
        "requestURI:",
        "stage:",
        "protoPayload:",
        "insertId:",
        "items:",
        "logName:",
    ];
    let mut lines =
        start.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_key = |line: &str| {
        let line = line.strip_prefix("- ").unwrap_or(line);
        KEYS.iter().any(|key| line.starts_with(key))
    };
    let Some(first) = lines.next() else { return false };
    // The first line is a mark, or a key without an indent.
    let opens = first.starts_with("---") || first.starts_with("%YAML") || is_yaml_key(first);
    opens && (is_key(first) || lines.take(400).any(is_key))
}

fn is_yaml_key(line: &str) -> bool {
    let line = line.strip_prefix("- ").unwrap_or(line);
    line.split_once(':').is_some_and(|(key, rest)| {
        !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_@-./\"'".contains(&byte))
            && (rest.is_empty() || rest.starts_with(' '))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_by_an_events_keys() {
        assert!(is_yaml("---\napiVersion: audit.k8s.io/v1\nkind: Event\n"));
        assert!(is_yaml("# a comment\nannotations:\n  x: y\nauditID: a\n"));
        assert!(is_yaml("- kind: Event\n  auditID: a\n"));
        assert!(!is_yaml("kind: Pod\nmetadata:\n  name: x\n"));
        assert!(!is_yaml("{\"kind\": \"Event\"}"));
        assert!(!is_yaml("I0101 00:00:00.000000 1 x.go:1] kind: Event"));
    }

    #[test]
    fn becomes_json_with_instants_as_they_are_written() {
        let json = to_json(
            "auditID: a\nresponseStatus:\n  code: 200\nstageTimestamp: 2024-01-01T00:00:00.000000Z\n",
        );
        assert_eq!(
            json.as_deref(),
            Some(
                r#"{"auditID":"a","responseStatus":{"code":200},"stageTimestamp":"2024-01-01T00:00:00.000000Z"}"#
            )
        );
        assert_eq!(to_json("a: [b"), None);
    }

    #[test]
    fn aliases_of_aliases_do_not_grow() {
        let level = |level: u32| {
            let inner = vec![format!("*a{}", level - 1); 9].join(",");
            format!("a{level}: &a{level} [{inner}]\n")
        };
        let bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned() + &(1..12).map(level).collect::<String>();
        assert_eq!(to_json(&bomb), None);
    }
}
