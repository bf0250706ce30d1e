//! Damage to logs: torn, joined and doubled lines, flipped bytes, zeros of file systems, byte order marks, and
//! truncated compressed streams.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::library::run::MAX_LINE;

/// One way to damage a log.
#[derive(Debug, Clone)]
pub enum Damage {
    /// Bytes are missing.
    Gap(Index, u16),
    /// A bit flips.
    Flip(Index, u8),
    /// A line feed is missing.
    Join(Index),
    /// A line occurs twice.
    Double(Index),
    /// Bytes that are not UTF-8.
    Binary(Index),
    /// A line that is not an event.
    Foreign(Index, &'static str),
    /// A line that is longer than the limit by this many bytes.
    Long(Index, usize),
    /// The log ends here.
    End(Index),
    /// All lines end in CR LF.
    CarriageReturns,
    /// A byte order mark before a line.
    ByteOrderMark(Index),
    /// The zeros of a crashed file system before a line.
    Zeros(Index, u16),
    /// Empty lines before a line.
    Blanks(Index, u8),
}

/// Lines that are not events.
const FOREIGN: [&str; 7] = [
    "{\"level\":\"info\",\"msg\":\"started\"}",
    "I0701 08:00:00.000000       1 server.go:1] starting",
    "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"auditID\":\"a\",\"stage\":\"Panic\"}",
    "{\"kind\":\"Event\",\"auditID\":7,\"stage\":\"Panic\"}",
    "{\"auditID\":\"a\",\"stage\":\"Panic\",\"stage\":\"Panic\"}",
    "[]",
    "}{",
];

/// Any damage.
pub fn any_damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        3 => (any::<Index>(), 1_u16..1_500).prop_map(|(at, length)| Damage::Gap(at, length)),
        3 => (any::<Index>(), 0_u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        2 => any::<Index>().prop_map(Damage::Join),
        2 => any::<Index>().prop_map(Damage::Double),
        2 => any::<Index>().prop_map(Damage::Binary),
        2 => (any::<Index>(), prop::sample::select(&FOREIGN[..])).prop_map(|(at, line)| Damage::Foreign(at, line)),
        1 => any::<Index>().prop_map(Damage::End),
        2 => harmless(),
    ]
}

/// Damage that loses no event.
pub fn harmless() -> impl Strategy<Value = Damage> {
    prop_oneof![
        Just(Damage::CarriageReturns),
        any::<Index>().prop_map(Damage::ByteOrderMark),
        (any::<Index>(), 1_u16..600).prop_map(|(at, length)| Damage::Zeros(at, length)),
        (any::<Index>(), 1_u8..4).prop_map(|(at, lines)| Damage::Blanks(at, lines)),
    ]
}

impl Damage {
    /// Damages a log.
    pub fn apply(&self, log: &mut Vec<u8>) {
        if log.is_empty() {
            return;
        }
        match self {
            Self::Gap(at, length) => {
                let at = at.index(log.len());
                log.drain(at..log.len().min(at + usize::from(*length)));
            }
            Self::Flip(at, bit) => {
                let at = at.index(log.len());
                log[at] ^= 1 << bit;
            }
            Self::Join(at) => {
                let start = line_start(log, *at);
                if start > 0 {
                    log.remove(start - 1);
                }
            }
            Self::Double(at) => {
                let start = line_start(log, *at);
                let end = memchr::memchr(b'\n', &log[start..]).map_or(log.len(), |feed| start + feed + 1);
                let line = log[start..end].to_vec();
                log.splice(start..start, line);
            }
            Self::Binary(at) => {
                let at = at.index(log.len());
                log.splice(at..at, [0xff, 0xc3, 0x28, 0x80]);
            }
            Self::Foreign(at, line) => insert(log, *at, format!("{line}\n").as_bytes()),
            Self::Long(at, more) => insert(log, *at, ("x".repeat(MAX_LINE + more) + "\n").as_bytes()),
            Self::End(at) => log.truncate(at.index(log.len())),
            Self::CarriageReturns => {
                *log = log.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]);
            }
            Self::ByteOrderMark(at) => {
                let start = line_start(log, *at);
                // Only the first byte order mark of a line counts as one.
                if !log[start..].starts_with(b"\xef\xbb\xbf") && !log[start..].starts_with(b"\0") {
                    log.splice(start..start, *b"\xef\xbb\xbf");
                }
            }
            Self::Zeros(at, length) => {
                let start = line_start(log, *at);
                if !log[start..].starts_with(b"\xef\xbb\xbf") {
                    log.splice(start..start, vec![0; usize::from(*length)]);
                }
            }
            Self::Blanks(at, lines) => insert(log, *at, " \t\r\n".repeat(usize::from(*lines)).as_bytes()),
        }
    }
}

fn insert(log: &mut Vec<u8>, at: Index, lines: &[u8]) {
    let start = line_start(log, at);
    log.splice(start..start, lines.iter().copied());
}

/// The start of the line that the index is in.
fn line_start(log: &[u8], at: Index) -> usize {
    memchr::memrchr(b'\n', &log[..at.index(log.len())]).map_or(0, |feed| feed + 1)
}

/// The compression of a log.
#[derive(Debug, Clone)]
pub enum Packing {
    /// Uncompressed.
    Plain,
    /// gzip, in one member or cut into two anywhere.
    Gzip(Option<Index>),
    /// zstd, in one frame or cut into two anywhere.
    Zstd(Option<Index>),
}

pub fn packing() -> impl Strategy<Value = Packing> {
    prop_oneof![
        Just(Packing::Plain),
        any::<Option<Index>>().prop_map(Packing::Gzip),
        any::<Option<Index>>().prop_map(Packing::Zstd),
    ]
}

impl Packing {
    /// The compressed log.
    pub fn pack(&self, log: &[u8]) -> Vec<u8> {
        let cut = |at: &Option<Index>| log.split_at(at.map_or(log.len(), |at| at.index(log.len() + 1)));
        match self {
            Self::Plain => log.to_vec(),
            Self::Gzip(at) => {
                let (left, right) = cut(at);
                [gzip(left), if at.is_some() { gzip(right) } else { Vec::new() }].concat()
            }
            Self::Zstd(at) => {
                let (left, right) = cut(at);
                [zstd(left), if at.is_some() { zstd(right) } else { Vec::new() }].concat()
            }
        }
    }
}

/// As one gzip member.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

/// As one zstd frame.
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory takes everything")
}
