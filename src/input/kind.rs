//! Detects the type of a file that is not a log, from its first bytes. Messages show the type, and a command that
//! makes the file readable.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::named::named;
use crate::shell::{operand, quoted};

/// The number of first bytes that are checked.
const CHECKED_BYTES: u64 = 4 << 10;

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum FileKind {
        Xz = "xz archive{s}",
        Bzip2 = "bzip2 archive{s}",
        Zip = "zip archive{s}",
        SevenZip = "7z archive{s}",
        Rar = "RAR archive{s}",
        Lz4 = "lz4 archive{s}",
        Snappy = "snappy archive{s}",
        Lzip = "lzip archive{s}",
        Compress = "compress archive{s} (.Z)",
        Tar = "tar archive{s}",
        Parquet = "Parquet file{s}",
        Orc = "ORC file{s}",
        Avro = "Avro file{s}",
        Arrow = "Arrow file{s}",
        Sqlite = "SQLite database{s}",
        Pdf = "PDF file{s}",
        Image = "image{s}",
        Program = "program{s}",
        Capture = "packet capture{s}",
        Utf16 = "file{s} of UTF-16 text",
        Utf32 = "file{s} of UTF-32 text",
        Binary = "binary file{s}",
        Csv = "CSV file{s} without a column that holds JSON",
        Json = "JSON file{s} without audit events",
        Text = "text file{s} without audit events",
        Empty = "empty file{s}",
    }
    /// The text for some files of this type. `{s}` marks the place of the plural's `s`.
    fn words;
}

/// The first bytes of file types that kubetoll does not read. If the flag is set, text may begin with these bytes
/// too, so the file must also contain control characters.
const MAGIC: [(FileKind, &[u8], bool); 31] = [
    (FileKind::Xz, b"\xfd7zXZ\0", false),
    (FileKind::Bzip2, b"BZh1", true),
    (FileKind::Bzip2, b"BZh2", true),
    (FileKind::Bzip2, b"BZh3", true),
    (FileKind::Bzip2, b"BZh4", true),
    (FileKind::Bzip2, b"BZh5", true),
    (FileKind::Bzip2, b"BZh6", true),
    (FileKind::Bzip2, b"BZh7", true),
    (FileKind::Bzip2, b"BZh8", true),
    (FileKind::Bzip2, b"BZh9", true),
    (FileKind::Zip, b"PK\x03\x04", false),
    (FileKind::Zip, b"PK\x05\x06", false),
    (FileKind::SevenZip, b"7z\xbc\xaf\x27\x1c", false),
    (FileKind::Rar, b"Rar!\x1a\x07", false),
    (FileKind::Lz4, b"\x04\x22\x4d\x18", false),
    (FileKind::Snappy, b"\xff\x06\0\0sNaPpY", false),
    (FileKind::Lzip, b"LZIP", true),
    (FileKind::Compress, b"\x1f\x9d", false),
    (FileKind::Parquet, b"PAR1", true),
    (FileKind::Orc, b"ORC", true),
    (FileKind::Avro, b"Obj\x01", false),
    (FileKind::Arrow, b"ARROW1\0", false),
    (FileKind::Sqlite, b"SQLite format 3\0", false),
    (FileKind::Pdf, b"%PDF-", false),
    (FileKind::Image, b"\x89PNG\r\n", false),
    (FileKind::Image, b"\xff\xd8\xff", false),
    (FileKind::Image, b"GIF8", true),
    (FileKind::Program, b"\x7fELF", false),
    (FileKind::Capture, b"\xd4\xc3\xb2\xa1", false),
    (FileKind::Capture, b"\x0a\x0d\x0d\x0a", false),
    (FileKind::Utf16, b"\xfe\xff", false),
];

impl FileKind {
    /// Detects the type of a file. `None` for gzip and zstd, which kubetoll reads, and for a file that can't be read.
    #[must_use]
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        let mut start = Vec::new();
        File::open(path).ok()?.take(CHECKED_BYTES).read_to_end(&mut start).ok()?;
        Self::from_first_bytes(&start)
    }

    /// Detects the type from a file's first bytes.
    #[must_use]
    pub(crate) fn from_first_bytes(start: &[u8]) -> Option<Self> {
        if start.is_empty() {
            return Some(Self::Empty);
        }
        if start.starts_with(b"\x1f\x8b") || start.starts_with(b"\x28\xb5\x2f\xfd") {
            return None;
        }
        let is_control = |byte: &u8| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127..);
        let is_binary = start.iter().any(is_control);
        let kind =
            MAGIC.iter().find(|(_, magic, is_word)| start.starts_with(magic) && (is_binary || !is_word));
        if let Some((kind, ..)) = kind {
            return Some(*kind);
        }
        if start.get(257..262) == Some(b"ustar") {
            return Some(Self::Tar);
        }
        if start.starts_with(b"\xff\xfe\0\0") || start.starts_with(b"\0\0\xfe\xff") {
            return Some(Self::Utf32);
        }
        if start.starts_with(b"\xff\xfe") || is_utf16(start) {
            return Some(Self::Utf16);
        }
        if start.contains(&0) {
            return Some(Self::Binary);
        }
        let text = String::from_utf8_lossy(start);
        if text.chars().filter(|c| *c == '\u{fffd}').count() > start.len() / 16 {
            return Some(Self::Binary);
        }
        Some(text_kind(&text))
    }

    /// Whether kubetoll skips such files, because they contain no readable line.
    #[must_use]
    pub(crate) fn is_unreadable(self) -> bool {
        !matches!(self, Self::Empty | Self::Tar | Self::Binary | Self::Csv | Self::Json | Self::Text)
    }

    /// The text for this many files of this type, such as `2 xz archives`.
    #[must_use]
    pub(crate) fn counted(self, count: u64) -> String {
        format!("{count} {}", self.words().replace("{s}", if count == 1 { "" } else { "s" }))
    }

    /// The command that makes the file readable for kubetoll, if there is one.
    #[must_use]
    pub(crate) fn command(self, file: &str) -> Option<String> {
        let sql = |from: &str| {
            let file = file.replace('\'', "''");
            let sql = format!("COPY (FROM {from}('{file}')) TO '/dev/stdout' (FORMAT json)");
            format!("duckdb -c {}", quoted(&sql))
        };
        let unpack = match self {
            Self::Parquet => sql("read_parquet"),
            Self::Avro => sql("read_avro"),
            _ => self.unpack(&operand(file))?,
        };
        Some(format!("{unpack} | kubetoll scan -"))
    }

    /// The command that makes many files readable. It finds the files below `directories` that have a name with the
    /// ending `.extension`.
    #[must_use]
    pub(crate) fn command_for_all(self, directories: &[&str], extension: &str) -> Option<String> {
        let directories: Vec<_> = directories.iter().map(|directory| operand(directory)).collect();
        let (directories, names) = (directories.join(" "), quoted(&format!("*.{extension}")));
        let unpack = self.unpack("{}")?;
        Some(format!("find -L {directories} -type f -name {names} -exec {unpack} \\; | kubetoll scan -"))
    }

    /// The command that writes the content of a file to standard output. `name` is the file's name as a shell word.
    fn unpack(self, name: &str) -> Option<String> {
        Some(match self {
            Self::Xz => format!("xz -dc {name}"),
            Self::Bzip2 => format!("bzip2 -dc {name}"),
            Self::Zip => format!("unzip -p {name}"),
            Self::SevenZip => format!("7z x -so {name}"),
            Self::Rar => format!("unrar p -inul {name}"),
            Self::Lz4 => format!("lz4 -dc {name}"),
            Self::Snappy => format!("python3 -m snappy -d {name} /dev/stdout"),
            Self::Lzip => format!("lzip -dc {name}"),
            Self::Compress => format!("gzip -dc {name}"),
            Self::Tar => format!("tar -xOf {name}"),
            Self::Utf16 => format!("iconv -f UTF-16 -t UTF-8 {name}"),
            Self::Utf32 => format!("iconv -f UTF-32 -t UTF-8 {name}"),
            _ => return None,
        })
    }
}

impl std::fmt::Display for FileKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words().replace("{s}", ""))
    }
}

/// Whether nearly every second byte is NUL: English text in UTF-16 without a byte order mark.
fn is_utf16(start: &[u8]) -> bool {
    let zeros = |from: usize| start.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let half = start.len() / 2;
    let (even, odd) = (zeros(0), zeros(1));
    half >= 8 && even.max(odd) > half * 9 / 10 && even.min(odd) < half / 10
}

fn text_kind(text: &str) -> FileKind {
    let begin = text.trim_start_matches('\u{feff}').trim_start();
    if begin.starts_with(['{', '[']) {
        return FileKind::Json;
    }
    let mut lines = begin.lines().filter(|line| !line.is_empty());
    let (first, second) = (lines.next().unwrap_or_default(), lines.next());
    let commas = |line: &str, at: char| line.matches(at).count();
    let is_table = |at: char| {
        commas(first, at) > 0 && second.is_none_or(|second| commas(second, at) >= commas(first, at))
    };
    // A CSV header contains names, not sentences.
    let is_header = first.split([',', ';', '\t']).all(|cell| cell.trim().len() < 60 && !cell.contains(": "));
    if is_header && [',', ';', '\t'].into_iter().any(is_table) { FileKind::Csv } else { FileKind::Text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_show_the_file_kind() {
        let utf16: Vec<u8> = "{\"kind\":\"Event\"}\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        for (start, kind) in [
            (&b""[..], Some(FileKind::Empty)),
            (b"\xfd7zXZ\0\0\x04", Some(FileKind::Xz)),
            (b"BZh91AY&SY\x01\x02", Some(FileKind::Bzip2)),
            (b"PK\x03\x04\x14\0", Some(FileKind::Zip)),
            (b"PAR1\x15\x04", Some(FileKind::Parquet)),
            (b"PAR1 is a word here", Some(FileKind::Text)),
            (b"ORCHESTRATOR started\n", Some(FileKind::Text)),
            (b"%PDF-1.7", Some(FileKind::Pdf)),
            (b"\x1f\x8b\x08\0", None),
            (b"\x28\xb5\x2f\xfd\0", None),
            (&utf16, Some(FileKind::Utf16)),
            (&[b"\xff\xfe", &*utf16].concat(), Some(FileKind::Utf16)),
            (&tar, Some(FileKind::Tar)),
            (b"time,user,verb\n1,alice,get\n", Some(FileKind::Csv)),
            (b"hello, world\nthis is text\n", Some(FileKind::Text)),
            (b"{\"a\":1}\n", Some(FileKind::Json)),
            ("größe\n".as_bytes(), Some(FileKind::Text)),
            (b"\x01\x02\0\x03", Some(FileKind::Binary)),
        ] {
            assert_eq!(FileKind::from_first_bytes(start), kind, "{start:?}");
        }
    }

    #[test]
    fn commands_quote_file_names() {
        assert_eq!(
            FileKind::Xz.command("-a b'.xz").as_deref(),
            Some(r"xz -dc './-a b'\''.xz' | kubetoll scan -")
        );
        let sql = FileKind::Parquet.command("a'b").expect("a command");
        assert!(sql.starts_with(r"duckdb -c 'COPY (FROM read_parquet('\''a'\'''\''b'\''))"), "{sql}");
        assert_eq!(FileKind::Pdf.command("a"), None);
        assert_eq!(
            FileKind::Xz.command_for_all(&["-a b", "c"], "xz").as_deref(),
            Some(r"find -L './-a b' c -type f -name '*.xz' -exec xz -dc {} \; | kubetoll scan -")
        );
        assert_eq!(FileKind::Csv.counted(2), "2 CSV files without a column that holds JSON");
    }
}
