//! Classes of source addresses.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::named::named;

named! {
    /// The network range that an address is in.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub(crate) enum AddressClass {
        /// An address of the apiserver's own machine.
        Loopback = "loopback",
        /// RFC 1918, RFC 4193 (IPv6 unique local) or RFC 6598 (carrier-grade NAT; clouds use it for pods).
        Private = "private",
        /// RFC 3927 or `fe80::/10`.
        LinkLocal = "link-local",
        Public = "public",
        /// The text is not an address, or the address is unspecified (`0.0.0.0`, `::`).
        Unknown = "unknown",
    }
    pub(crate) fn as_str;
}

impl AddressClass {
    /// Classifies `host:port`, `[v6]:port` or a bare address.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Self {
        let address = text.parse::<SocketAddr>().map(|socket| socket.ip()).ok();
        address.or_else(|| bare(text)).map_or(Self::Unknown, Self::from_ip)
    }

    fn from_ip(ip: IpAddr) -> Self {
        let ip = ip.to_canonical();
        if ip.is_unspecified() {
            return Self::Unknown;
        }
        if ip.is_loopback() {
            return Self::Loopback;
        }
        let (private, link_local) = match ip {
            IpAddr::V4(ip) => {
                let [first, second, ..] = ip.octets();
                (ip.is_private() || (first == 100 && second & 0xc0 == 64), ip.is_link_local())
            }
            IpAddr::V6(ip) => (ip.is_unique_local(), ip.is_unicast_link_local()),
        };
        match (private, link_local) {
            (true, _) => Self::Private,
            (false, true) => Self::LinkLocal,
            (false, false) => Self::Public,
        }
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the address of `host:port`, `[v6]:port` or a bare address.
#[must_use]
pub(crate) fn host(text: &str) -> &str {
    match text.rsplit_once(':') {
        Some((host, _)) if host.starts_with('[') || !host.contains(':') => host.trim_matches(['[', ']']),
        _ => text,
    }
}

/// Parses an address without a port. Unlike Rust's parsers, it accepts brackets and an IPv6 zone.
fn bare(text: &str) -> Option<IpAddr> {
    let inner = match text.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => text,
    };
    inner.split('%').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_strips_the_port_and_brackets() {
        for (text, expected) in [
            ("10.0.0.1:4", "10.0.0.1"),
            ("10.0.0.1", "10.0.0.1"),
            ("[fd00::7]:443", "fd00::7"),
            ("fd00::7", "fd00::7"),
            ("", ""),
        ] {
            assert_eq!(host(text), expected, "{text}");
        }
    }

    #[test]
    fn parse_classifies_addresses() {
        for (text, class) in [
            ("127.0.0.1:46214", AddressClass::Loopback),
            ("[::1]:60566", AddressClass::Loopback),
            ("::1", AddressClass::Loopback),
            ("[::ffff:127.0.0.1]:80", AddressClass::Loopback),
            ("10.1.2.3:4", AddressClass::Private),
            ("172.16.0.1", AddressClass::Private),
            ("192.168.228.2:59052", AddressClass::Private),
            ("100.64.0.1:1", AddressClass::Private),
            ("100.128.0.1:1", AddressClass::Public),
            ("[fd00::7]:443", AddressClass::Private),
            ("169.254.169.254:1", AddressClass::LinkLocal),
            ("[fe80::1%eth0]:1", AddressClass::LinkLocal),
            ("198.51.100.9:57796", AddressClass::Public),
            ("[2001:db8::1]", AddressClass::Public),
            ("0.0.0.0:0", AddressClass::Unknown),
            ("@", AddressClass::Unknown),
            ("", AddressClass::Unknown),
            ("10.1.2", AddressClass::Unknown),
            ("[", AddressClass::Unknown),
        ] {
            assert_eq!(AddressClass::parse(text), class, "{text}");
        }
    }
}
