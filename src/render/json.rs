//! The report as JSON: the public contract of `report/v1.rs`, indented down to what a client's shapes and findings hold,
//! each of which stands on a line of its own. A report of many rows has half the size so, and can be searched by lines.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use crate::report::Report;

/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;
/// How deep objects and arrays are indented: the report, its lists, their entries, and the lists of these.
const INDENTED: usize = 4;

/// Writes the report, with a line feed at its end. The whole text is never held in memory.
///
/// # Errors
/// Where the bytes can't be written.
pub fn write(report: &Report, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, out);
    let form = Lines { depth: 0, indented: PrettyFormatter::new(), plain: CompactFormatter };
    report.serialize(&mut Serializer::with_formatter(&mut out, form))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Indented above a depth, and on one line below.
struct Lines {
    depth: usize,
    indented: PrettyFormatter<'static>,
    plain: CompactFormatter,
}

/// Hands a part of an object or an array over to the form of its depth.
macro_rules! by_depth {
    ($($name:ident($($argument:ident: $type:ty)?) $before:literal $behind:literal)*) => {$(
        fn $name<W: ?Sized + Write>(&mut self, out: &mut W $(, $argument: $type)?) -> io::Result<()> {
            self.depth += $before;
            let written = if self.depth <= INDENTED {
                self.indented.$name(out $(, $argument)?)
            } else {
                self.plain.$name(out $(, $argument)?)
            };
            self.depth -= $behind;
            written
        }
    )*};
}

impl Formatter for Lines {
    // By how much the depth grows before, and shrinks behind.
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
