//! What requests cost: an inventory of the cluster, and the objects and bytes that a request makes etcd read, the
//! apiserver decode and go through, and the client receive at most.

mod basis;
mod inventory;
mod metrics;
mod minutes;
mod sum;
mod unit;
mod work;
mod written;

pub use basis::{Known, Part};
pub use inventory::{Holding, Inventory, InventoryFile, InventoryFormat};
pub use minutes::{Minute, Minutes};
pub use sum::{Cost, Sum};
pub use unit::Unit;
pub use work::{Amount, Bound, Counted, Prices, Work, page_limit, reads_on};

use crate::files::{At, Mistakes};

/// The longest inventory that is read, in bytes: a hundred times a large cluster's metrics.
pub const LONGEST: u64 = 256 << 20;

/// Adds a file to an inventory. What it is is told by its content.
///
/// # Errors
/// All that is wrong with it.
pub fn read(inventory: &mut Inventory, file: &str, bytes: &[u8]) -> Result<(), Mistakes> {
    let mistake = |message: String| {
        let mut mistakes = Mistakes::default();
        mistakes.add(file, At::START, message);
        mistakes
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| mistake("is no text in UTF-8".to_owned()))?;
    let (format, holdings, notes) = if metrics::is_metrics(text) {
        let metrics = metrics::read(text).map_err(mistake)?;
        (InventoryFormat::Metrics, metrics.holdings, metrics.notes)
    } else if written::is_csv(text) {
        (InventoryFormat::Csv, written::csv(file, text)?, Vec::new())
    } else {
        let told = written::yaml(file, text).map_err(|mut mistakes| {
            for mistake in mistakes.0.iter_mut().filter(|mistake| mistake.message.starts_with("no YAML")) {
                mistake.message.push_str("; an inventory is kube-apiserver's /metrics, CSV or YAML");
            }
            mistakes
        });
        (InventoryFormat::Yaml, told?, Vec::new())
    };
    let name = file.to_owned();
    let resources = holdings.len() as u64;
    inventory.add(InventoryFile { name, format, resources, notes }, holdings);
    Ok(())
}
