//! Private addresses: on this machine, on its link, or in a network not reachable from the Internet (IANA,
//! *IPv4/IPv6 Special-Purpose Address Registry*). Nothing is resolved here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Host;

/// A kind of private network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    Machine,
    /// The link, and metadata endpoints of clouds, which have credentials.
    Link,
    Private,
    /// Multicast, broadcast and reserved addresses.
    Other,
}

/// A set of private networks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Networks(u8);

impl Networks {
    pub(super) fn with(self, network: Option<Network>) -> Self {
        Self(self.0 | network.map_or(0, Self::bit))
    }

    pub(super) fn holds(self, network: Network) -> bool {
        self.0 & Self::bit(network) != 0
    }

    fn bit(network: Network) -> u8 {
        match network {
            Network::Machine => 1,
            Network::Link => 2,
            Network::Private => 4,
            Network::Other => 8,
        }
    }
}

/// The private network of an address; none for a public one.
pub(super) fn network(ip: IpAddr) -> Option<Network> {
    match ip {
        IpAddr::V4(ip) => network_v4(ip),
        IpAddr::V6(ip) => network_v6(ip),
    }
}

fn network_v4(ip: Ipv4Addr) -> Option<Network> {
    Some(match ip.octets() {
        [0 | 127, ..] => Network::Machine,
        // The last ones are Azure's WireServer, which has a public address, and Oracle's metadata.
        [169, 254, ..] | [168, 63, 129, 16] | [192, 0, 0, _] => Network::Link,
        // Alibaba's metadata is in the shared address space of carriers, which is not the link elsewhere.
        [100, 100, 100, 200] => Network::Link,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] | [198, 18..=19, ..] => Network::Private,
        [224..=255, ..] => Network::Other,
        _ => return None,
    })
}

fn network_v6(ip: Ipv6Addr) -> Option<Network> {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        network_v4(Ipv4Addr::new(a, b, c, d))
    };
    match ip.segments() {
        // The metadata of AWS and of Google.
        [0xfd00, 0x0ec2, ..] | [0xfd20, 0x00ce, ..] => Some(Network::Link),
        [0xfc00..=0xfdff, ..] => Some(Network::Private),
        [0xfe80..=0xfebf, ..] => Some(Network::Link),
        // Site-local (deprecated).
        [0xfec0..=0xfeff, ..] => Some(Network::Private),
        [0xff00..=0xffff, ..] => Some(Network::Other),
        [0x0100, 0, 0, 0, ..] => Some(Network::Other),
        // Below are those with an embedded IPv4 address, which decides. First `::1` and `::`, and the deprecated form.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Some(Network::Machine),
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => v4(high, low),
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        // Local translation prefixes, wherever they embed the address.
        [0x0064, 0xff9b, 1, ..] => Some(Network::Private),
        [0x2002, high, low, ..] => v4(high, low),
        // Teredo: a server, and a client with inverted bits.
        [0x2001, 0, high, low, _, _, client_high, client_low] => v4(high, low).or(v4(!client_high, !client_low)),
        // ISATAP.
        [_, _, _, _, 0 | 0x0200, 0x5efe, high, low] => v4(high, low),
        _ => None,
    }
}

/// The private network of a host by its address, or by its name: with a proxy there are only names.
pub(super) fn network_of(host: &Host<&str>) -> Option<Network> {
    match host {
        Host::Ipv4(ip) => network_v4(*ip),
        Host::Ipv6(ip) => network_v6(*ip),
        Host::Domain(name) => network_of_name(name),
    }
}

fn network_of_name(name: &str) -> Option<Network> {
    const METADATA: [&str; 5] = [
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "instance-data",
        "instance-data.ec2.internal",
    ];
    const PRIVATE: [&str; 6] = ["svc", "local", "internal", "localdomain", "lan", "home.arpa"];
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let below = |domain: &str| {
        name.strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if below("localhost") || name == "localhost.localdomain" {
        return Some(Network::Machine);
    }
    if METADATA.contains(&name.as_str()) {
        return Some(Network::Link);
    }
    // A name without a dot is in the resolver's search domains; `.svc.` is a service, whatever the cluster's domain.
    let is_private = !name.contains('.') || name.contains(".svc.") || PRIVATE.into_iter().any(below);
    is_private.then_some(Network::Private)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        use Network::{Link, Machine, Other, Private};
        for (address, expected) in [
            ("127.0.0.1", Some(Machine)),
            ("127.255.0.9", Some(Machine)),
            ("0.0.0.0", Some(Machine)),
            ("0.1.2.3", Some(Machine)),
            ("::1", Some(Machine)),
            ("::", Some(Machine)),
            ("169.254.169.254", Some(Link)),
            ("168.63.129.16", Some(Link)),
            ("192.0.0.192", Some(Link)),
            ("100.100.100.200", Some(Link)),
            ("fe80::1", Some(Link)),
            ("febf::1", Some(Link)),
            ("fd00:ec2::254", Some(Link)),
            ("fd20:ce::254", Some(Link)),
            ("10.0.0.1", Some(Private)),
            ("172.16.0.1", Some(Private)),
            ("172.31.255.255", Some(Private)),
            ("192.168.1.1", Some(Private)),
            ("100.64.0.1", Some(Private)),
            ("100.127.255.255", Some(Private)),
            ("198.18.0.1", Some(Private)),
            ("fc00::1", Some(Private)),
            ("fdff::1", Some(Private)),
            ("fec0::1", Some(Private)),
            ("64:ff9b:1::a00:1", Some(Private)),
            ("224.0.0.1", Some(Other)),
            ("239.1.1.1", Some(Other)),
            ("255.255.255.255", Some(Other)),
            ("ff02::1", Some(Other)),
            ("ff0e::1", Some(Other)),
            ("100::1", Some(Other)),
            // IPv4 in IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo (server, client), ISATAP.
            ("::ffff:10.0.0.1", Some(Private)),
            ("::ffff:169.254.169.254", Some(Link)),
            ("::127.0.0.1", Some(Machine)),
            ("::ffff:0:10.0.0.1", Some(Private)),
            ("64:ff9b::169.254.169.254", Some(Link)),
            ("64:ff9b::7f00:1", Some(Machine)),
            ("2002:a9fe:a9fe::1", Some(Link)),
            ("2002:7f00:1::", Some(Machine)),
            ("2001:0:a00:1::", Some(Private)),
            ("2001:0:808:808:0:0:5601:5601", Some(Link)),
            ("2001:db8::5efe:10.0.0.1", Some(Private)),
            ("2001:db8::200:5efe:10.0.0.1", Some(Private)),
            // Public.
            ("8.8.8.8", None),
            ("198.51.100.7", None),
            ("192.0.2.1", None),
            ("192.0.1.1", None),
            ("172.15.0.1", None),
            ("172.32.0.1", None),
            ("100.63.255.255", None),
            ("100.128.0.1", None),
            ("169.253.0.1", None),
            ("198.20.0.1", None),
            ("223.255.255.255", None),
            ("2001:db8::1", None),
            ("2606:4700::1", None),
            ("::ffff:8.8.8.8", None),
            ("64:ff9b::8.8.8.8", None),
            ("2002:808:808::1", None),
            ("2001:0:808:808:0:0:f7f7:f7f7", None),
        ] {
            assert_eq!(network(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn names() {
        use Network::{Link, Machine, Private};
        for (name, expected) in [
            ("localhost", Some(Machine)),
            ("LOCALHOST.", Some(Machine)),
            ("a.localhost", Some(Machine)),
            ("localhost.localdomain", Some(Machine)),
            ("metadata.google.internal", Some(Link)),
            ("metadata.google.internal.", Some(Link)),
            ("metadata", Some(Link)),
            ("kubernetes", Some(Private)),
            ("kubernetes.default.svc", Some(Private)),
            ("kubernetes.default.svc.cluster.local", Some(Private)),
            ("vault.vault.svc.corp.example", Some(Private)),
            ("ip-10-0-0-1.ec2.internal", Some(Private)),
            ("printer.local", Some(Private)),
            ("svc.example", None),
            ("notlocalhost.example", None),
            ("xlocalhost.", Some(Private)),
            ("internal.example.com", None),
            ("example.com", None),
        ] {
            assert_eq!(network_of(&Host::Domain(name)), expected, "{name}");
        }
        assert_eq!(network_of(&Host::Ipv4([10, 0, 0, 1].into())), Some(Private));
    }

    #[test]
    fn networks_hold_what_they_were_given() {
        let networks = Networks::default().with(Some(Network::Private)).with(None);
        assert!(networks.holds(Network::Private) && !networks.holds(Network::Link));
        assert!(!Networks::default().holds(Network::Machine));
    }
}
