//! Reads the inventory files (`--inventory`).

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::cost::{self, Inventory};
use crate::files::FileErrors;
use crate::input::read_whole;

/// Reads all files in order; `None` without files.
pub(super) fn load(paths: &[PathBuf]) -> anyhow::Result<Option<Inventory>> {
    let mut inventory = Inventory::default();
    let mut errors = FileErrors::default();
    for path in paths {
        if path.as_os_str() == "-" {
            bail!("--inventory reads files, not standard input");
        }
        let bytes = read(path)?;
        if let Err(wrong) = cost::read(&mut inventory, &path.display().to_string(), &bytes) {
            errors.0.extend(wrong.0);
        }
    }
    if !errors.0.is_empty() {
        return Err(errors.into());
    }
    Ok((!paths.is_empty()).then_some(inventory))
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = || format!("{}: can't be read as an inventory", path.display());
    match read_whole(path, cost::MAX_INVENTORY_BYTES).with_context(name)? {
        Some(bytes) => Ok(bytes),
        None => {
            bail!("{}: an inventory is at most {} MiB long", path.display(), cost::MAX_INVENTORY_BYTES >> 20)
        }
    }
}
