//! Events as YAML documents, written by `kubectl` or by people.

/// Converts a document to JSON text, so that the decoder can detect the format inside. Returns `None` if the text is
/// not YAML, or if its aliases expand beyond the limit.
#[must_use]
pub(crate) fn to_json(document: &str) -> Option<String> {
    let value: serde_json::Value = serde_saphyr::from_str(document).ok()?;
    serde_json::to_string(&value).ok()
}

/// The items of the outermost list in a damaged document.
#[must_use]
pub(crate) fn items(document: &str) -> Vec<&str> {
    let lines = || {
        let mut offset = 0;
        document.split_inclusive('\n').map(move |line| {
            let at = offset;
            offset += line.len();
            (at, line, line.len() - line.trim_start_matches(' ').len())
        })
    };
    let is_item = |line: &str| line.trim_start_matches(' ').starts_with("- ");
    let Some(indent) = lines().filter(|(_, line, _)| is_item(line)).map(|(.., indent)| indent).min() else {
        return Vec::new();
    };
    let (mut items, mut start) = (Vec::new(), None);
    for (at, line, own) in lines() {
        let is_end = own <= indent && !line.trim().is_empty();
        if is_end && let Some(start) = start.take() {
            items.push(&document[start..at]);
        }
        if is_end && own == indent && is_item(line) {
            start = Some(at);
        }
    }
    items.extend(start.map(|start| &document[start..]));
    items
}

/// The maximum number of lines that [`is_yaml`] checks.
const LINES: usize = 400;

/// Whether a text is YAML of an audit log. Nearly all of its first lines must be YAML. Some of them must begin with a
/// key of an event or of a cloud's log entry.
#[must_use]
pub(crate) fn is_yaml(start: &str) -> bool {
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
    let is_key = |line: &str| {
        let line = line.trim_start_matches(' ');
        let line = line.strip_prefix("- ").unwrap_or(line);
        KEYS.iter().any(|key| line.starts_with(key))
    };
    let is_text = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let (mut keys, mut others, mut all) = (0_usize, 0_usize, 0_usize);
    for line in start.lines().map(str::trim_end).filter(is_text).take(LINES) {
        all += 1;
        keys += usize::from(is_key(line));
        // Accepts document markers, list items, keys without indentation, and any indented line.
        let is_yaml = line.starts_with(['-', ' ', '%']) || line == "..." || is_yaml_key(line);
        others += usize::from(!is_yaml);
    }
    // One line may be damaged, and the last line may be cut.
    keys > 0 && (others == 0 || others == 1 && all > 3 || others == 2 && all > 30)
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
    fn is_yaml_requires_keys_of_an_event() {
        assert!(is_yaml("---\napiVersion: audit.k8s.io/v1\nkind: Event\n"));
        assert!(is_yaml("# a comment\nannotations:\n  x: y\nauditID: a\n"));
        assert!(is_yaml("- kind: Event\n  auditID: a\n"));
        assert!(!is_yaml("kind: Pod\nmetadata:\n  name: x\n"));
        assert!(!is_yaml("{\"kind\": \"Event\"}"));
        assert!(!is_yaml("I0101 00:00:00.000000 1 x.go:1] kind: Event"));
    }

    #[test]
    fn to_json_keeps_timestamps_as_written() {
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
    fn nested_aliases_are_rejected() {
        let level = |level: u32| {
            let inner = vec![format!("*a{}", level - 1); 9].join(",");
            format!("a{level}: &a{level} [{inner}]\n")
        };
        let bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned() + &(1..12).map(level).collect::<String>();
        assert_eq!(to_json(&bomb), None);
    }
}
