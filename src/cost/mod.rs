//! Computes the cost of requests from an inventory of the cluster. A cost is a number of objects and bytes: those
//! that etcd reads, and those that the apiserver decodes and scans. It includes an upper bound for those that clients
//! receive.

mod basis;
mod cost_by_minute;
mod csv_yaml;
mod inventory;
mod metrics;
mod outline;
mod sum;
mod work;

pub(crate) use basis::{CostBasis, ShapeCost};
pub(crate) use cost_by_minute::{CostByMinute, MinuteCost};
pub use inventory::{Inventory, InventoryEntry, InventoryFile, InventoryFormat};
pub(crate) use outline::{RANGE_READS_NOTE, needs_note, outline};
pub(crate) use sum::Unit;
pub use sum::{Cost, Sum};
pub use work::{Amount, Bound, NodeCount, Prices, Work, page_limit, reads_several_pages};

use std::borrow::Cow;

use crate::files::{FileErrors, FilePosition};

/// The maximum size of an inventory file, in bytes: a hundred times the size of a large cluster's metrics.
pub(crate) const MAX_INVENTORY_BYTES: u64 = 256 << 20;

/// Parses a file and adds its entries to an inventory. Detects the format from the file's content.
///
/// # Errors
/// Returns all errors in the file.
pub fn read(inventory: &mut Inventory, file: &str, bytes: &[u8]) -> Result<(), FileErrors> {
    let error = |message: String| {
        let mut errors = FileErrors::default();
        errors.add(file, FilePosition::START, message);
        errors
    };
    let text = text(bytes).ok_or_else(|| error("not a text file; write it in UTF-8 or UTF-16".to_owned()))?;
    let text = &*text;
    let (format, entries, notes) = if metrics::is_metrics(text) {
        let metrics = metrics::read(text).map_err(|wrong| {
            let mut errors = FileErrors::default();
            for (line, message) in wrong {
                errors.add(file, FilePosition { line, column: 1 }, message);
            }
            errors
        })?;
        (InventoryFormat::Metrics, metrics.entries, metrics.notes)
    } else if let Some(separator) = csv_yaml::separator(text) {
        (InventoryFormat::Csv, csv_yaml::csv(file, text, separator)?, Vec::new())
    } else {
        let entries = csv_yaml::yaml(file, text).map_err(|mut errors| {
            for error in errors.0.iter_mut().filter(|error| error.message.starts_with("not valid YAML")) {
                error.message.push_str("; an inventory is kube-apiserver's /metrics, CSV or YAML");
            }
            errors
        });
        (InventoryFormat::Yaml, entries?, Vec::new())
    };
    let name = file.to_owned();
    let resources = entries.len() as u64;
    inventory.add(InventoryFile { name, format, resources, notes }, entries);
    Ok(())
}

/// Decodes UTF-8, or UTF-16 with a byte order mark. PowerShell's `>` writes UTF-16.
fn text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let from_bytes: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            return std::str::from_utf8(bytes).ok().map(Cow::Borrowed);
        }
    };
    let (pairs, rest) = bytes[2..].as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| from_bytes(*pair)).collect();
    String::from_utf16(&units).ok().filter(|_| rest.is_empty()).map(Cow::Owned)
}
