//! The prose of the project's files: comments and string literals of Rust, Markdown without code, YAML.

/// A text of several lines, with the line on which each piece begins.
#[derive(Default)]
pub struct Prose {
    pub text: String,
    pieces: Vec<(usize, usize)>,
}

impl Prose {
    fn push(&mut self, line: usize, text: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.pieces.push((self.text.len(), line));
        self.text.push_str(text.trim());
    }

    /// The line of a byte of the text.
    pub fn line(&self, at: usize) -> usize {
        self.pieces.iter().rev().find(|(start, _)| *start <= at).map_or(0, |(_, line)| *line)
    }
}

/// Comments and string literals. Strings of tests hold data.
pub fn of_rust(source: &str) -> Vec<Prose> {
    let mut found = Vec::new();
    let mut comment = Prose::default();
    let mut in_tests = false;
    let mut line = 1;
    let mut rest = source;
    // Only white space since the last comment line: the next line continues the comment.
    let mut adjacent = false;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            let text = rest[..end].trim_start_matches('/').trim_start_matches('!').trim();
            if !adjacent || text.is_empty() || text.starts_with("- ") || text.starts_with('#') {
                found.push(std::mem::take(&mut comment));
            }
            comment.push(line, text);
            adjacent = true;
            rest = &rest[end..];
            continue;
        }
        if let Some((inside, length)) = string_literal(rest) {
            if !in_tests && inside.contains(' ') {
                let mut prose = Prose::default();
                for (at, text) in inside.split('\n').enumerate() {
                    prose.push(line + at, text.trim_end_matches('\\'));
                }
                found.push(prose);
            }
            line += rest[..length].matches('\n').count();
            rest = &rest[length..];
            adjacent = false;
            continue;
        }
        if rest.starts_with("#[cfg(test)]\nmod ") {
            in_tests = true;
        }
        line += usize::from(c == '\n');
        adjacent &= c.is_whitespace();
        let length = char_literal(rest).unwrap_or(c.len_utf8());
        rest = &rest[length..];
    }
    found.push(comment);
    found.retain(|prose| !prose.text.is_empty());
    found
}

/// The inside and the whole length of a string literal at the beginning of a source.
fn string_literal(source: &str) -> Option<(&str, usize)> {
    if let Some(raw) = source.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inside = raw[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = inside.find(&close)?;
        return Some((&inside[..end], 1 + hashes + 1 + end + close.len()));
    }
    let inside = source.strip_prefix('"')?;
    let mut escaped = false;
    let end = inside.find(|c| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    })?;
    Some((&inside[..end], end + 2))
}

/// The length of a character literal, such as `'"'`, which is not a string.
fn char_literal(source: &str) -> Option<usize> {
    let inside = source.strip_prefix('\'')?;
    let mut chars = inside.char_indices();
    let (_, first) = chars.next()?;
    if first == '\\' {
        return inside[2..].find('\'').map(|end| end + 4);
    }
    let (at, close) = chars.next()?;
    (close == '\'').then_some(at + 2)
}

/// Paragraphs, table rows and list items outside of code blocks.
pub fn of_markdown(source: &str) -> Vec<Prose> {
    let mut found = vec![Prose::default()];
    let mut in_code = false;
    for (at, line) in source.lines().enumerate() {
        let text = line.trim();
        if text.starts_with("```") {
            in_code = !in_code;
        }
        if text.is_empty() || text.starts_with(['|', '-', '#', '`']) || text.starts_with("<!--") {
            found.push(Prose::default());
        }
        if !in_code && !text.is_empty() {
            found
                .last_mut()
                .expect("there is a first")
                .push(at + 1, text.trim_start_matches(['-', '#', ' ']));
        }
    }
    found.retain(|prose| !prose.text.is_empty());
    found
}

/// Values and comments. A key begins a new text.
pub fn of_yaml(source: &str) -> Vec<Prose> {
    let mut found = vec![Prose::default()];
    for (at, line) in source.lines().enumerate() {
        let text = line.trim();
        let key = text.split_once(':').filter(|(key, _)| !key.trim_start_matches("- ").contains(' '));
        if text.is_empty() || key.is_some() || text.starts_with(['-', '#']) {
            found.push(Prose::default());
        }
        let value = key.map_or(text, |(_, value)| value.trim());
        if !matches!(value, "" | "|" | ">-" | "|-" | ">") {
            found
                .last_mut()
                .expect("there is a first")
                .push(at + 1, value.trim_start_matches(['-', '#', ' ']));
        }
    }
    found.retain(|prose| !prose.text.is_empty());
    found
}
