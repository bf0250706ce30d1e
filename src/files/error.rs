//! Errors in files that people write: rules, policies and inventories. kubetoll reports all errors of a file at once,
//! with their positions.

use std::fmt;

/// A position in a file. Lines and columns begin with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePosition {
    pub line: u64,
    /// The column in characters.
    pub column: u64,
}

impl FilePosition {
    /// The position of a file's first character.
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

/// An error in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileError {
    pub(crate) file: String,
    pub at: FilePosition,
    /// The error and the expected content.
    pub message: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.at.line, self.at.column, self.message)
    }
}

/// All errors of one or more files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileErrors(pub Vec<FileError>);

impl FileErrors {
    pub(crate) fn add(&mut self, file: &str, at: FilePosition, message: impl Into<String>) {
        self.0.push(FileError { file: file.to_owned(), at, message: message.into() });
    }
}

impl fmt::Display for FileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for FileErrors {}

/// Returns `; did you mean 'x'?` if a known word is similar to `word`, else a list of the known words.
#[must_use]
pub(crate) fn expected<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let distance = |other: &str| strsim::osa_distance(&word.to_lowercase(), &other.to_lowercase());
    match names.iter().min_by_key(|other| distance(other)) {
        Some(closest) if distance(closest) <= 2.max(word.len() / 4) => format!("; did you mean '{closest}'?"),
        _ => format!("; known: {}", names.join(", ")),
    }
}
