//! Breaks conditions into lines, if possible before `&&`, `||`, `?` and `:`.

/// Breaks a condition into lines of at most `width` characters, where its white space allows that. Text in brackets
/// is indented. Outside of quotes, any white space becomes one space.
pub(super) fn broken(source: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    // The number of open brackets now, and at the start of the line.
    let (mut depth, mut begun) = (0_usize, 0_usize);
    for part in parts(source) {
        // A part that is longer than a line may break at each space.
        let is_long = 2 * depth + part.chars().count() > width;
        for (index, piece) in if is_long { words(&part) } else { vec![part] }.into_iter().enumerate() {
            let has_room = line.chars().count() + 1 + piece.chars().count() <= width;
            if !line.is_empty() && (!has_room || index == 0 && begun > depth) {
                lines.push(std::mem::take(&mut line));
                line.push_str(&"  ".repeat(depth + usize::from(index > 0)));
                begun = depth;
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&piece);
            // This also counts brackets in quotes. If they have no partner, only the indentation is wrong.
            depth += piece.matches(['(', '[']).count();
            depth = depth.saturating_sub(piece.matches([')', ']']).count());
        }
    }
    lines.push(line);
    lines.join("\n")
}

/// Splits a condition at possible line breaks. Each part after the first begins with an operator.
fn parts(source: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for word in words(source) {
        match parts.last_mut() {
            Some(last) if !matches!(word.as_str(), "&&" | "||" | "?" | ":") => {
                last.push(' ');
                last.push_str(&word);
            }
            _ => parts.push(word),
        }
    }
    parts
}

/// Splits a condition at white space outside of quotes.
fn words(source: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quote, mut is_escaped) = (None, false);
    for c in source.chars() {
        if quote.is_none() && c.is_whitespace() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            continue;
        }
        word.push(c);
        match quote {
            None if matches!(c, '"' | '\'') => quote = Some(c),
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(own) if c == own => quote = None,
            _ => {}
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_with_operators() {
        let source = "request.verb == \"list\" && request.resource\n   in [\"a  && b\", \"c\"]";
        assert_eq!(
            broken(source, 50),
            "request.verb == \"list\"\n&& request.resource in [\"a  && b\", \"c\"]"
        );
        assert_eq!(broken("a ? b : c", 50), "a ? b : c");
    }

    #[test]
    fn brackets_are_indented() {
        let source = "a || !(server.minor < 31 && client.kind == 'node' || true) && true";
        assert_eq!(
            broken(source, 50),
            "a || !(server.minor < 31 && client.kind == 'node'\n  || true)\n&& true"
        );
    }
}
