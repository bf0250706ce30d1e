//! Anonymizes addresses: the new address has the same class, because rules depend on the class.

use std::net::Ipv6Addr;

use super::Anonymizer;
use crate::k8s::AddressClass;

impl Anonymizer {
    /// Returns a pseudonymous address of the same class. Loopback addresses do not change.
    pub(super) fn address(&self, text: &str) -> String {
        let start = match AddressClass::parse(text) {
            AddressClass::Loopback if text.contains(':') => return "::1".to_owned(),
            AddressClass::Loopback => return "127.0.0.1".to_owned(),
            AddressClass::Private => [0xfd00, 0, 0, 0],
            AddressClass::LinkLocal => [0xfe80, 0, 0, 0],
            // The range for documentation, RFC 3849.
            AddressClass::Public => [0x2001, 0xdb8, 0, 0],
            AddressClass::Unknown if text.is_empty() => return String::new(),
            AddressClass::Unknown => return self.word(text),
        };
        let mut groups = [0; 8];
        groups[..4].copy_from_slice(&start);
        groups[4..].copy_from_slice(&self.groups(text));
        Ipv6Addr::from(groups).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::*;

    #[test]
    fn address_keeps_its_class() {
        let anonymizer = Anonymizer::new(Key::from_text("a"), &[]);
        for address in [
            "127.0.0.1",
            "::1",
            "10.1.2.3",
            "100.64.0.1",
            "169.254.1.2",
            "fe80::1",
            "8.8.8.8",
            "fd00::7",
            "@",
        ] {
            let other = anonymizer.address(address);
            assert_eq!(AddressClass::parse(&other), AddressClass::parse(address), "{address} {other}");
            assert!(!other.contains("10.1") && !other.contains("8.8"), "{other}");
        }
        assert_ne!(anonymizer.address("10.0.0.1"), anonymizer.address("10.0.0.2"));
    }
}
