//! How many objects a cluster holds of each resource, and how large they are.

use std::collections::BTreeMap;

use crate::apiserver::seats::{LARGEST_OBJECT, Stored};

/// What is known of one resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holding {
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
    holdings: BTreeMap<String, Holding>,
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
    /// An inventory of these holdings, from nowhere.
    #[must_use]
    pub fn of(holdings: impl IntoIterator<Item = (String, Holding)>) -> Self {
        Self { holdings: holdings.into_iter().collect(), files: Vec::new() }
    }

    /// Adds a file's: what it knows goes before what files before it know.
    pub fn add(&mut self, file: InventoryFile, holdings: BTreeMap<String, Holding>) {
        self.files.push(file);
        for (resource, new) in holdings {
            let own = self.holdings.entry(resource).or_default();
            own.objects = new.objects.or(own.objects);
            if new.bytes_per_object.is_some() || new.is_size_unknown_to_server {
                own.bytes_per_object = new.bytes_per_object.or(own.bytes_per_object);
                own.is_size_unknown_to_server = own.bytes_per_object.is_none();
            }
        }
    }

    /// What is known of a resource. Events are stored once, whichever of their two groups they are asked of.
    #[must_use]
    pub fn holding(&self, resource: &str) -> Holding {
        let named = self.holdings.get(resource);
        let stored_as = if resource == "events.events.k8s.io" { self.holdings.get("events") } else { None };
        named.or(stored_as).copied().unwrap_or_default()
    }

    /// What the server would estimate with.
    #[must_use]
    pub fn stored(&self, resource: &str) -> Option<Stored> {
        let holding = self.holding(resource);
        let unknown = holding.is_size_unknown_to_server.then_some(LARGEST_OBJECT);
        Some(Stored { objects: holding.objects?, bytes_per_object: holding.bytes_per_object.or(unknown) })
    }

    /// Resources of which something is known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.holdings.len()
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.holdings.is_empty()
    }

    /// Whether the size of any resource is known.
    #[must_use]
    pub fn has_sizes(&self) -> bool {
        self.holdings.values().any(|holding| holding.bytes_per_object.is_some())
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
        let mut inventory = Inventory::default();
        let counted = Holding { objects: Some(7), is_size_unknown_to_server: true, ..Holding::default() };
        inventory.add(file("a"), [("events".to_owned(), counted)].into());
        assert_eq!(
            inventory.stored("events.events.k8s.io").and_then(|stored| stored.bytes_per_object),
            Some(LARGEST_OBJECT)
        );
        let sized = Holding { bytes_per_object: Some(900), ..Holding::default() };
        inventory.add(file("b"), [("events".to_owned(), sized)].into());
        assert_eq!(inventory.stored("events"), Some(Stored { objects: 7, bytes_per_object: Some(900) }));
        assert_eq!(inventory.stored("pods"), None);
    }
}
