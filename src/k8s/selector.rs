//! Label and field selectors: whether the server accepts them, and which fields a field selector names.

use std::borrow::Cow;

/// Whether `labels.Parse` accepts the text. An empty text selects everything.
///
/// Source: k8s.io/apimachinery `pkg/labels/selector.go`: `Lexer`, `Parser`, `NewRequirement`.
#[must_use]
pub(crate) fn label_selector_is_valid(text: &str) -> bool {
    let mut parser = LabelParser { lexer: Lexer { rest: text }, ahead: None };
    parser.requirements().is_some()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    End,
    Identifier(&'a str),
    In,
    NotIn,
    Not,
    Equals,
    NotEquals,
    Greater,
    Less,
    Open,
    Close,
    Comma,
    Error,
}

struct Lexer<'a> {
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Token<'a> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(first) = self.rest.chars().next() else {
            return Token::End;
        };
        let (token, length) = if is_special(first) { self.symbol() } else { self.word() };
        self.rest = &self.rest[length..];
        token
    }

    fn symbol(&self) -> (Token<'a>, usize) {
        let two = self.rest.get(..2).unwrap_or_default();
        match (two, &self.rest[..1]) {
            ("==", _) => (Token::Equals, 2),
            ("!=", _) => (Token::NotEquals, 2),
            (_, "=") => (Token::Equals, 1),
            (_, "!") => (Token::Not, 1),
            (_, ">") => (Token::Greater, 1),
            (_, "<") => (Token::Less, 1),
            (_, "(") => (Token::Open, 1),
            (_, ")") => (Token::Close, 1),
            (_, ",") => (Token::Comma, 1),
            _ => (Token::Error, 1),
        }
    }

    fn word(&self) -> (Token<'a>, usize) {
        let end = self
            .rest
            .find(|c| is_special(c) || matches!(c, ' ' | '\t' | '\r' | '\n'))
            .unwrap_or(self.rest.len());
        let token = match &self.rest[..end] {
            "in" => Token::In,
            "notin" => Token::NotIn,
            word => Token::Identifier(word),
        };
        (token, end)
    }
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

struct LabelParser<'a> {
    lexer: Lexer<'a>,
    ahead: Option<Token<'a>>,
}

impl<'a> LabelParser<'a> {
    /// Returns the next token at a position where a key or value can be. There, `in` and `notin` are ordinary words.
    fn peek_word(&mut self) -> Token<'a> {
        match self.peek() {
            Token::In => Token::Identifier("in"),
            Token::NotIn => Token::Identifier("notin"),
            other => other,
        }
    }

    fn peek(&mut self) -> Token<'a> {
        let lexer = &mut self.lexer;
        *self.ahead.get_or_insert_with(|| lexer.next())
    }

    fn take_word(&mut self) -> Token<'a> {
        let token = self.peek_word();
        self.ahead = None;
        token
    }

    fn requirements(&mut self) -> Option<()> {
        loop {
            match self.peek_word() {
                Token::End => return Some(()),
                Token::Identifier(_) | Token::Not => self.requirement()?,
                _ => return None,
            }
            match self.take_word() {
                Token::End => return Some(()),
                Token::Comma => match self.peek_word() {
                    Token::Identifier(_) | Token::Not => {}
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    fn requirement(&mut self) -> Option<()> {
        let negated = self.peek_word() == Token::Not;
        if negated {
            self.ahead = None;
        }
        let Token::Identifier(key) = self.take_word() else {
            return None;
        };
        if !is_qualified_name(key) {
            return None;
        }
        if negated || matches!(self.peek_word(), Token::End | Token::Comma) {
            return Some(());
        }
        let operator = self.peek();
        self.ahead = None;
        match operator {
            Token::In | Token::NotIn => self.value_list(),
            Token::Equals | Token::NotEquals => is_label_value(self.exact_value()?).then_some(()),
            Token::Greater | Token::Less => {
                let value = self.exact_value()?;
                (is_label_value(value) && value.parse::<i64>().is_ok()).then_some(())
            }
            _ => None,
        }
    }

    fn exact_value(&mut self) -> Option<&'a str> {
        match self.peek_word() {
            Token::End | Token::Comma => Some(""),
            Token::Identifier(value) => {
                self.ahead = None;
                Some(value)
            }
            _ => None,
        }
    }

    /// Parses `(a,b,…)`. A value can be empty next to a comma, but `()` is an error.
    fn value_list(&mut self) -> Option<()> {
        if self.take_word() != Token::Open {
            return None;
        }
        let mut after_value = false;
        let mut any = false;
        loop {
            match self.take_word() {
                Token::Identifier(value) if !after_value && is_label_value(value) => {
                    after_value = true;
                    any = true;
                }
                Token::Comma => {
                    after_value = false;
                    any = true;
                }
                Token::Close => return any.then_some(()),
                _ => return None,
            }
        }
    }
}

/// Whether the key is `[prefix/]name`. Source: apimachinery `pkg/util/validation/validation.go:IsQualifiedName`.
fn is_qualified_name(key: &str) -> bool {
    let name = match key.split_once('/') {
        Some((prefix, name)) => {
            if !is_dns_subdomain(prefix) {
                return false;
            }
            name
        }
        None => key,
    };
    !name.is_empty() && is_label_value(name)
}

/// Source: apimachinery `pkg/util/validation/validation.go:IsValidLabelValue`.
fn is_label_value(value: &str) -> bool {
    let b = value.as_bytes();
    b.len() <= 63
        && b.iter().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
        && b.first().is_none_or(u8::is_ascii_alphanumeric)
        && b.last().is_none_or(u8::is_ascii_alphanumeric)
}

/// Source: apimachinery `pkg/util/validation/validation.go:IsDNS1123Subdomain`.
fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253
        && text.split('.').all(|part| {
            let b = part.as_bytes();
            !b.is_empty()
                && b.iter().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == b'-')
                && b[0] != b'-'
                && b[b.len() - 1] != b'-'
        })
}

/// One term of a field selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldTerm<'a> {
    /// The field's label, such as `metadata.name`.
    pub(crate) label: &'a str,
    /// The value, if the operator is `=` or `==`; `None` for `!=`.
    pub(crate) equals: Option<Cow<'a, str>>,
}

/// Returns the terms of a field selector, or `None` where `fields.ParseSelector` fails.
///
/// Source: k8s.io/apimachinery `pkg/fields/selector.go`: `splitTerms`, `splitTerm`, `UnescapeValue`.
#[must_use]
pub(crate) fn field_terms(text: &str) -> Option<impl Iterator<Item = FieldTerm<'_>> + Clone> {
    // Each iteration parses the terms again. They are not stored, because a client can send millions of them.
    let terms = split_terms(text).filter(|term| !term.is_empty()).map(field_term);
    terms.clone().all(|term| term.is_some()).then(|| terms.flatten())
}

fn split_terms(text: &str) -> impl Iterator<Item = &str> + Clone {
    let mut escaped = false;
    text.split(move |c| {
        let splits = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        splits
    })
}

fn field_term(term: &str) -> Option<FieldTerm<'_>> {
    let at = term.find(['=', '!']).and_then(|first| {
        // A `!` without `=` is an ordinary character of a label.
        // Compares bytes, because `at` can be inside of a UTF-8 character.
        let rest = |at: usize| &term.as_bytes()[at..];
        (first..term.len()).find(|at| rest(*at).starts_with(b"=") || rest(*at).starts_with(b"!="))
    })?;
    let (label, rest) = term.split_at(at);
    let (negated, value) = match rest.strip_prefix("!=") {
        Some(value) => (true, value),
        None => (false, rest.strip_prefix("==").unwrap_or(&rest[1..])),
    };
    let value = unescape_value(value)?;
    Some(FieldTerm { label, equals: (!negated).then_some(value) })
}

fn unescape_value(value: &str) -> Option<Cow<'_, str>> {
    if !value.contains(['\\', ',', '=']) {
        return Some(Cow::Borrowed(value));
    }
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                escaped @ ('\\' | ',' | '=') => out.push(escaped),
                _ => return None,
            },
            ',' | '=' => return None,
            other => out.push(other),
        }
    }
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_label_selectors_are_accepted() {
        for good in [
            "",
            "a",
            "!a",
            "a=b",
            "a==b",
            "a!=b",
            "a=",
            "a=,b",
            "a in (b,c)",
            "a notin (b)",
            "a in (,b)",
            "a in (b,)",
            "a>1",
            "a < 2",
            "k8s.io/a=b",
            "in in (in)",
            "a , b",
            "a in(b)",
        ] {
            assert!(label_selector_is_valid(good), "{good}");
        }
    }

    #[test]
    fn invalid_label_selectors_are_refused() {
        for bad in [
            "==", "=b", "a,", "a,,b", ",a", "a in b", "a in ()", "a in (b", "!a=b", "a>b", "a b", "-a",
            "a/b/c", "A.B/c=d", "a=b c", "a=b=c", "a=é", "/a",
        ] {
            assert!(!label_selector_is_valid(bad), "{bad}");
        }
    }

    fn terms(text: &str) -> Option<Vec<(String, Option<String>)>> {
        let owned = |t: FieldTerm<'_>| (t.label.to_owned(), t.equals.map(Cow::into_owned));
        field_terms(text).map(|terms| terms.map(owned).collect())
    }

    fn term(label: &str, equals: Option<&str>) -> (String, Option<String>) {
        (label.to_owned(), equals.map(str::to_owned))
    }

    #[test]
    fn field_selectors_split_into_terms() {
        assert_eq!(terms(""), Some(vec![]));
        assert_eq!(
            terms("metadata.name=x,spec.nodeName!=n,,status.phase==Running"),
            Some(vec![
                term("metadata.name", Some("x")),
                term("spec.nodeName", None),
                term("status.phase", Some("Running")),
            ])
        );
        assert_eq!(terms(r"a=b\,c\=d"), Some(vec![term("a", Some("b,c=d"))]));
        assert_eq!(terms("metadata.name"), None);
        assert_eq!(terms("a=b=c"), None);
        assert_eq!(terms(r"a=b\x"), None);
        assert_eq!(terms("a!b=c"), Some(vec![term("a!b", Some("c"))]));
    }
}
