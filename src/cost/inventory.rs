//! The inventory of a cluster: the number and size of the objects of each resource.

use std::collections::{BTreeMap, BTreeSet};

use crate::apiserver::seats::{LARGEST_OBJECT, StoredObjects};
use crate::apiserver::storage_key::stored_name;
use crate::named::named;

/// A misspelled resource name has at most this many typos.
const MAX_TYPOS: usize = 2;

/// Number and size of the objects of one resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InventoryEntry {
    /// The number of objects in all namespaces.
    pub objects: Option<u64>,
    /// The mean size of an object in etcd, in bytes.
    pub bytes_per_object: Option<u64>,
    /// True if the server does not know the size: its metrics show -1. The server then estimates seats with
    /// [`LARGEST_OBJECT`].
    pub is_size_unknown_to_server: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The entries, by the name of the resource in reports, such as `pods` or `deployments.apps`.
    entries: BTreeMap<String, InventoryEntry>,
    /// The resource names from hand-written files. They may be misspelled.
    hand_written: BTreeSet<String>,
    pub files: Vec<InventoryFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryFile {
    /// The path as the user gave it.
    pub(crate) name: String,
    pub(crate) format: InventoryFormat,
    /// The number of resources in the file.
    pub(crate) resources: u64,
    /// Notes for the user: metrics with an error value, invalid lines.
    pub(crate) notes: Vec<String>,
}

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum InventoryFormat {
        /// The output of the apiserver's `/metrics`.
        Metrics = "metrics",
        /// CSV with the columns `resource,objects,bytesPerObject`.
        Csv = "csv",
        /// A YAML map by resource, with the keys of the CSV.
        Yaml = "yaml",
    }
    /// The value in the public JSON contract.
    pub(crate) fn as_str;
}

impl Inventory {
    /// Creates an inventory without files.
    #[must_use]
    pub fn from_entries(entries: impl IntoIterator<Item = (String, InventoryEntry)>) -> Self {
        Self { entries: entries.into_iter().collect(), ..Self::default() }
    }

    /// Adds the entries of a file. Later files override earlier ones.
    pub(crate) fn add(&mut self, file: InventoryFile, entries: BTreeMap<String, InventoryEntry>) {
        let is_metrics = file.format == InventoryFormat::Metrics;
        self.files.push(file);
        for (resource, new) in entries {
            if !is_metrics {
                self.hand_written.insert(resource.clone());
            }
            let own = self.entries.entry(resource).or_default();
            own.objects = new.objects.or(own.objects);
            // Only the metrics show whether the server knows the size. A hand-written size does not show it.
            if is_metrics && (new.bytes_per_object.is_some() || new.is_size_unknown_to_server) {
                own.is_size_unknown_to_server = new.is_size_unknown_to_server;
            }
            own.bytes_per_object = new.bytes_per_object.or(own.bytes_per_object);
        }
    }

    /// Returns the entry of a resource. A resource of several groups has one entry, because etcd stores it once.
    #[must_use]
    pub(crate) fn entry(&self, resource: &str) -> InventoryEntry {
        let named = self.entries.get(resource);
        named.or_else(|| self.entries.get(&*stored_name(resource))).copied().unwrap_or_default()
    }

    /// Finds a name in a hand-written file that probably means this resource, but is misspelled or lacks the group.
    #[must_use]
    pub(crate) fn near(&self, resource: &str) -> Option<&str> {
        let plural = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        let is_near = |name: &&String| {
            plural(name) == plural(resource) || strsim::osa_distance(name, resource) <= MAX_TYPOS
        };
        self.hand_written.iter().find(is_near).map(String::as_str)
    }

    /// Returns the numbers from which the server estimates seats.
    #[must_use]
    pub(crate) fn stored(&self, resource: &str) -> Option<StoredObjects> {
        let entry = self.entry(resource);
        let estimate = entry.is_size_unknown_to_server.then_some(LARGEST_OBJECT);
        Some(StoredObjects { objects: entry.objects?, bytes_per_object: estimate.or(entry.bytes_per_object) })
    }

    /// The number of resources.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether any resource has a size.
    #[must_use]
    pub(crate) fn has_sizes(&self) -> bool {
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
    fn later_files_override_earlier_ones() {
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
