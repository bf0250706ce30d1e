//! How many objects a cluster holds of each resource, and how large they are.

use std::collections::{BTreeMap, BTreeSet};

use crate::apiserver::seats::{LARGEST_OBJECT, StoredObjects};
use crate::apiserver::storage_key::stored_name;

/// A name that differs in no more letters from another is likely meant to be it.
const FEW_SLIPS: usize = 2;

/// What is known of one resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InventoryEntry {
    /// Objects, of all namespaces.
    pub objects: Option<u64>,
    /// Their mean size as they are stored, in bytes.
    pub bytes_per_object: Option<u64>,
    /// The server itself has no size of it (-1 in its metrics), and estimates with the largest there is.
    pub is_size_unknown_to_server: bool,
}

/// The objects of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// By resource, as the report names it: `pods`, `deployments.apps`.
    entries: BTreeMap<String, InventoryEntry>,
    /// The resources that a person wrote of.
    written: BTreeSet<String>,
    /// The files that it was read from, and what each of them is.
    pub files: Vec<InventoryFile>,
}

/// A file of an inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryFile {
    /// Its name, as it was given.
    pub name: String,
    /// What it is.
    pub format: InventoryFormat,
    /// Resources with a number of objects or a size.
    pub resources: u64,
    /// What is to be said of it: metrics with an error value, lines that can't be read.
    pub notes: Vec<String>,
}

/// What an inventory is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InventoryFormat {
    /// The apiserver's `/metrics`.
    Metrics,
    /// `resource,objects,bytesPerObject`.
    Csv,
    /// The same by resource.
    Yaml,
}

impl InventoryFormat {
    /// The value in the public JSON contract.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Csv => "csv",
            Self::Yaml => "yaml",
        }
    }
}

impl Inventory {
    /// An inventory of these entries, from nowhere.
    #[must_use]
    pub fn from_entries(entries: impl IntoIterator<Item = (String, InventoryEntry)>) -> Self {
        Self { entries: entries.into_iter().collect(), ..Self::default() }
    }

    /// Adds a file's: what it knows goes before what files before it know.
    pub fn add(&mut self, file: InventoryFile, entries: BTreeMap<String, InventoryEntry>) {
        let is_metrics = file.format == InventoryFormat::Metrics;
        self.files.push(file);
        for (resource, new) in entries {
            if !is_metrics {
                self.written.insert(resource.clone());
            }
            let own = self.entries.entry(resource).or_default();
            own.objects = new.objects.or(own.objects);
            // A size that a person knows the server does not.
            if is_metrics && (new.bytes_per_object.is_some() || new.is_size_unknown_to_server) {
                own.is_size_unknown_to_server = new.is_size_unknown_to_server;
            }
            own.bytes_per_object = new.bytes_per_object.or(own.bytes_per_object);
        }
    }

    /// What is known of a resource. Some are stored once, whichever of their groups they are asked of.
    #[must_use]
    pub fn entry(&self, resource: &str) -> InventoryEntry {
        let named = self.entries.get(resource);
        named.or_else(|| self.entries.get(&*stored_name(resource))).copied().unwrap_or_default()
    }

    /// A name that a person wrote and that is likely meant to be this resource's.
    #[must_use]
    pub fn near(&self, resource: &str) -> Option<&str> {
        let plural = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        let is_near = |name: &&String| {
            plural(name) == plural(resource) || strsim::osa_distance(name, resource) <= FEW_SLIPS
        };
        self.written.iter().find(is_near).map(String::as_str)
    }

    /// What the server would estimate with.
    #[must_use]
    pub fn stored(&self, resource: &str) -> Option<StoredObjects> {
        let entry = self.entry(resource);
        let estimate = entry.is_size_unknown_to_server.then_some(LARGEST_OBJECT);
        Some(StoredObjects { objects: entry.objects?, bytes_per_object: estimate.or(entry.bytes_per_object) })
    }

    /// Resources of which something is known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the size of any resource is known.
    #[must_use]
    pub fn has_sizes(&self) -> bool {
        self.entries.values().any(|entry| entry.bytes_per_object.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> InventoryFile {
        InventoryFile { name: name.to_owned(), format: InventoryFormat::Csv, resources: 1, notes: Vec::new() }
    }

    #[test]
    fn a_later_file_adds_and_corrects() {
        let metrics = |name| InventoryFile { format: InventoryFormat::Metrics, ..file(name) };
        let mut inventory = Inventory::default();
        let counted =
            InventoryEntry { objects: Some(7), is_size_unknown_to_server: true, ..InventoryEntry::default() };
        inventory.add(metrics("a"), [("events".to_owned(), counted)].into());
        assert_eq!(
            inventory.stored("events.events.k8s.io").and_then(|stored| stored.bytes_per_object),
            Some(LARGEST_OBJECT)
        );
        let sized = InventoryEntry { bytes_per_object: Some(900), ..InventoryEntry::default() };
        inventory.add(file("b"), [("events".to_owned(), sized)].into());
        assert_eq!(inventory.stored("events").map(|stored| stored.objects), Some(7));
        inventory.add(metrics("c"), [("events".to_owned(), counted)].into());
        assert_eq!(inventory.entry("events").bytes_per_object, Some(900));
        let of_server = inventory.stored("events").and_then(|stored| stored.bytes_per_object);
        assert_eq!(of_server, Some(LARGEST_OBJECT), "seats are the server's own estimate");
        let inventory = Inventory::from_entries([("ingresses.networking.k8s.io".to_owned(), counted)]);
        assert_eq!(inventory.entry("ingresses.extensions"), counted);
        assert_eq!(inventory.stored("pods"), None);
    }
}
