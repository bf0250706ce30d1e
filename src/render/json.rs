//! The report as JSON, the public contract of `report/v1.rs`. Each request shape and each finding is on one line. The
//! objects and lists that contain them are indented over several lines. This halves the size of a large report, and
//! line tools such as grep can search it.

use std::io::{self, BufWriter, Write};

use rayon::prelude::*;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use super::escape::Safe;
use crate::report::v1::{Case, Client, Finding, PublicReport};

/// The number of bytes that are buffered before a write.
const BUFFER: usize = 1 << 16;
/// The depth up to which objects and arrays are indented. These are the report, its lists, the entries of these
/// lists, and the lists in the entries.
const INDENTED: usize = 4;
/// The number of request shapes or findings that a thread formats at once, about 150 kB.
const TOGETHER: usize = 64;
/// A client with more request shapes than this is written directly, without a buffer for its text.
const LARGEST: usize = 16 * TOGETHER;

/// Writes the report and a line feed. Threads format findings and clients in chunks, so the whole text is never in
/// memory.
pub fn write(report: &PublicReport, out: impl Write) -> io::Result<()> {
    let PublicReport {
        schema_version,
        kubetoll_version,
        input,
        server,
        totals,
        cases,
        findings,
        finding_counts,
        rules,
        rule_failures,
        policy,
        inventory,
        ranking,
        clients,
        followed,
        traces,
        traces_left_out,
        etcd_log,
    } = report;
    let out = BufWriter::with_capacity(BUFFER, out);
    let mut object = Object { out, form: DepthFormatter::inside(0), is_first: true };
    object.form.begin_object(&mut object.out)?;
    // The fields must be in the order of the contract. A test compares that order with this output.
    object.field("schemaVersion", schema_version)?;
    object.field("kubetollVersion", kubetoll_version)?;
    object.field("input", input)?;
    object.field("server", server)?;
    object.field("totals", totals)?;
    object.list("cases", cases, |case: &Case| case.findings.len())?;
    object.list("findings", findings, |_: &Finding| 1)?;
    object.field("findingCounts", finding_counts)?;
    object.field("rules", rules)?;
    object.field("ruleFailures", rule_failures)?;
    object.field("policy", policy)?;
    object.field("inventory", inventory)?;
    object.field("ranking", ranking)?;
    object.list("clients", clients, |client: &Client| client.shapes.len().max(1))?;
    object.field("followed", followed)?;
    object.field("traces", traces)?;
    object.field("tracesLeftOut", traces_left_out)?;
    object.field("etcdLog", etcd_log)?;
    object.form.end_object(&mut object.out)?;
    object.out.write_all(b"\n")?;
    object.out.flush()
}

/// The outermost object while it is written.
struct Object<W> {
    out: W,
    form: Safe<DepthFormatter>,
    is_first: bool,
}

impl<W: Write> Object<W> {
    fn field(&mut self, name: &str, value: &impl Serialize) -> io::Result<()> {
        self.begin(name)?;
        value.serialize(&mut Serializer::with_formatter(&mut self.out, DepthFormatter::inside(1)))?;
        self.form.end_object_value(&mut self.out)
    }

    /// Writes a list. `size` returns the weight of an entry, such as its number of request shapes. The chunks then
    /// have similar sizes.
    fn list<T: Serialize + Sync>(
        &mut self,
        name: &str,
        items: &[T],
        size: impl Fn(&T) -> usize,
    ) -> io::Result<()> {
        self.begin(name)?;
        let (out, mut form) = (&mut self.out, DepthFormatter::inside(1));
        form.begin_array(out)?;
        let mut is_first = true;
        let mut texts: Vec<Vec<u8>> = Vec::new();
        for round in chunks(items, rayon::current_num_threads() * 4 * TOGETHER, &size) {
            if let [large] = round
                && size(large) > LARGEST
            {
                write_items(out, round, is_first)?;
            } else {
                let parts = chunks(round, TOGETHER, &size);
                texts.resize_with(texts.len().max(parts.len()), Vec::new);
                let texts = &mut texts[..parts.len()];
                let both = texts.par_iter_mut().zip(parts).enumerate();
                both.try_for_each(|(at, (text, part))| {
                    text.clear();
                    write_items(text, part, is_first && at == 0)
                })?;
                texts.iter().try_for_each(|text| out.write_all(text))?;
            }
            form.end_array_value(out)?;
            is_first = false;
        }
        form.end_array(out)?;
        self.form.end_object_value(&mut self.out)
    }

    fn begin(&mut self, name: &str) -> io::Result<()> {
        self.form.begin_object_key(&mut self.out, std::mem::take(&mut self.is_first))?;
        name.serialize(&mut Serializer::new(&mut self.out))?;
        self.form.end_object_key(&mut self.out)?;
        self.form.begin_object_value(&mut self.out)
    }
}

/// Writes entries of a list in the outermost object.
fn write_items<T: Serialize>(out: &mut impl Write, items: &[T], mut is_first: bool) -> io::Result<()> {
    let mut form = DepthFormatter::inside(2);
    for item in items {
        form.begin_array_value(out, std::mem::take(&mut is_first))?;
        item.serialize(&mut Serializer::with_formatter(&mut *out, DepthFormatter::inside(2)))?;
        form.end_array_value(out)?;
    }
    Ok(())
}

/// Splits entries into chunks. A chunk ends with the entry that brings its size to `wanted` or more. An entry larger
/// than [`LARGEST`] is a chunk of its own.
fn chunks<T>(items: &[T], wanted: usize, size: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut chunks = Vec::new();
    let (mut from, mut sum) = (0, 0);
    for (at, item) in items.iter().enumerate() {
        let own = size(item);
        if at > from && (sum >= wanted || own > LARGEST) {
            chunks.push(&items[from..at]);
            (from, sum) = (at, 0);
        }
        sum += if own > LARGEST { wanted } else { own };
    }
    chunks.extend(items.get(from..).filter(|rest| !rest.is_empty()));
    chunks
}

/// A JSON formatter that indents down to a depth, and writes everything deeper on one line.
struct DepthFormatter {
    depth: usize,
    indented: PrettyFormatter<'static>,
    plain: CompactFormatter,
}

impl DepthFormatter {
    /// Creates a formatter for a value that is inside `depth` objects or lists. They are already written.
    fn inside(depth: usize) -> Safe<Self> {
        let mut form = Self { depth: 0, indented: PrettyFormatter::new(), plain: CompactFormatter };
        for _ in 0..depth {
            form.begin_array(&mut io::sink()).expect("a sink takes everything");
        }
        Safe::new(form)
    }
}

/// Forwards a method to the formatter for the current depth.
macro_rules! by_depth {
    ($($name:ident($($argument:ident: $type:ty)?) $before:literal $behind:literal)*) => {$(
        fn $name<W: ?Sized + Write>(&mut self, out: &mut W $(, $argument: $type)?) -> io::Result<()> {
            self.depth += $before;
            let result = if self.depth <= INDENTED {
                self.indented.$name(out $(, $argument)?)
            } else {
                self.plain.$name(out $(, $argument)?)
            };
            self.depth -= $behind;
            result
        }
    )*};
}

impl Formatter for DepthFormatter {
    // The first number is how much the depth grows before the call. The second is how much it shrinks after the call.
    by_depth! {
        begin_array() 1 0
        end_array() 0 1
        begin_array_value(first: bool) 0 0
        end_array_value() 0 0
        begin_object() 1 0
        end_object() 0 1
        begin_object_key(first: bool) 0 0
        begin_object_value() 0 0
        end_object_value() 0 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_bounded_and_keep_all_entries() {
        let sizes = [100, 200, 10, LARGEST + 1, 5, 5, 300, 1, LARGEST];
        let chunks = chunks(&sizes, 300, |size| *size);
        let expected: [&[usize]; 5] = [&[100, 200], &[10], &[LARGEST + 1], &[5, 5, 300], &[1, LARGEST]];
        assert_eq!(chunks, expected);
        assert_eq!(chunks.concat(), sizes);
    }
}
