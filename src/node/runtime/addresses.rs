//! Where a node listens and where others reach it: words, names and interfaces to addresses.
//!
//! Binds nothing and chooses no free port. Mirrors `NetworkService`, `NetworkUtils` and
//! `TcpTransport.resolvePublishPort` (6.8).

use crate::settings::ListenSettings;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::{fmt, io};

/// Why no address or port could be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// The system does not say which interfaces it has.
    Listing {
        /// What the system said.
        why: String,
    },
    /// A `_word_` names neither a kind of address nor an interface that has one.
    NoInterface {
        /// The host as it was given.
        host: String,
        /// The interfaces that there are.
        known: String,
    },
    /// No interface has an address of the kind that was asked for.
    NoAddress {
        /// The host as it was given.
        host: String,
        /// The interfaces that there are.
        known: String,
    },
    /// A name could not be looked up.
    Unresolved {
        /// The host as it was given.
        host: String,
        /// What the system said.
        why: String,
    },
    /// No interface has this address.
    NotHere {
        /// The address.
        address: IpAddr,
        /// The interfaces that there are.
        known: String,
    },
    /// A multicast address is no place to listen at.
    Multicast {
        /// `bind` or `publish`.
        purpose: &'static str,
        /// The address.
        address: IpAddr,
    },
    /// A wildcard says all that can be said; further addresses contradict it.
    Wildcard {
        /// `bind` or `publish`.
        purpose: &'static str,
        /// All addresses.
        addresses: Vec<IpAddr>,
    },
    /// Which of several ports others shall use cannot be told.
    Port {
        /// The address that is published.
        published: IpAddr,
        /// What is bound.
        bound: Vec<SocketAddr>,
    },
}

impl std::error::Error for AddressError {}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ALLOWED: &str = "an address, a host name, `_local_`, `_site_`, `_global_` or `_[interface]_`, the words \
                               with `:ipv4` or `:ipv6` as well";
        match self {
            AddressError::Listing { why } => write!(f, "the network interfaces cannot be listed: {why}"),
            AddressError::NoInterface { host, known } => {
                write!(f, "host `{host}`: no such interface with an address; there are {known}; allowed: {ALLOWED}")
            }
            AddressError::NoAddress { host, known } => {
                write!(f, "host `{host}`: no interface that is up has such an address; there are {known}")
            }
            AddressError::Unresolved { host, why } => {
                write!(f, "host `{host}` cannot be looked up: {why}; allowed: {ALLOWED}")
            }
            AddressError::NotHere { address, known } => {
                write!(f, "host `{address}`: no interface of this host has this address; there are {known}")
            }
            AddressError::Multicast { purpose, address } => {
                write!(f, "{purpose} address: {{{address}}} is invalid: multicast address; allowed: {ALLOWED}")
            }
            AddressError::Wildcard { purpose, addresses } => write!(
                f,
                "{purpose} address is wildcard, but multiple addresses specified: this makes no sense: {addresses:?}; \
                 allowed: the wildcard alone, or addresses without it"
            ),
            AddressError::Port { published, bound } => write!(
                f,
                "Failed to auto-resolve publish port, multiple bound addresses {bound:?} with distinct ports and none \
                 of them matched the publish address ({published}); set the port or the publish port"
            ),
        }
    }
}

/// The addresses to listen at.
pub fn bind_addresses(listen: &ListenSettings) -> Result<Vec<IpAddr>, AddressError> {
    Machine::look()?.bind_addresses(listen)
}

/// Whether something could listen there. A socket for datagrams tells without listening.
pub fn is_here(address: &IpAddr) -> bool {
    let bound = UdpSocket::bind((*address, 0));
    bound.err().is_none_or(|error| error.kind() != io::ErrorKind::AddrNotAvailable)
}

/// The one address that others are told, chosen among the publish hosts, or among what is bound if there are none.
pub fn publish_address(listen: &ListenSettings, bound: &[IpAddr]) -> Result<IpAddr, AddressError> {
    Machine::look()?.publish_address(listen, bound)
}

/// The port that others are told: the configured one, else that of the published address, else the only one there is.
pub fn publish_port(listen: &ListenSettings, published: IpAddr, bound: &[SocketAddr]) -> Result<u16, AddressError> {
    if let Some(port) = listen.publish_port {
        return Ok(port);
    }
    let is_reached = |at: &&SocketAddr| at.ip().is_unspecified() || at.ip() == published;
    if let Some(at) = bound.iter().find(is_reached) {
        return Ok(at.port());
    }
    let ports: BTreeSet<u16> = bound.iter().map(SocketAddr::port).collect();
    match ports.first() {
        Some(port) if ports.len() == 1 => Ok(*port),
        _ => Err(AddressError::Port { published, bound: bound.to_vec() }),
    }
}

/// Whether other machines may reach one of these.
pub fn is_beyond_loopback(addresses: &[IpAddr]) -> bool {
    addresses.iter().any(|address| !address.to_canonical().is_loopback())
}

/// Which of `bound` stand for themselves and which for every address of this machine: all that this node answers at.
pub fn reached_at(bound: &[SocketAddr]) -> Vec<SocketAddr> {
    Machine::look().unwrap_or_default().reached_at(bound)
}

/// An address of an interface.
#[derive(Clone, Debug)]
struct Interface {
    name: String,
    address: IpAddr,
    is_up: bool,
}

/// The interfaces of this machine. Link-local addresses are left out: without a scope nobody can connect to them.
#[derive(Clone, Debug, Default)]
pub(in crate::runtime) struct Machine(Vec<Interface>);

impl Machine {
    /// As it is now. Who asks much of it looks once: its interfaces are a question to the kernel each.
    pub(in crate::runtime) fn look() -> Result<Self, AddressError> {
        let listed = if_addrs::get_if_addrs().map_err(|why| AddressError::Listing { why: why.to_string() })?;
        let interface =
            |one: if_addrs::Interface| Interface { address: one.ip(), is_up: one.is_oper_up(), name: one.name };
        Ok(Machine(listed.into_iter().map(interface).collect()))
    }

    /// The addresses to listen at.
    pub(in crate::runtime) fn bind_addresses(&self, listen: &ListenSettings) -> Result<Vec<IpAddr>, AddressError> {
        let addresses = self.bind(&listen.bind_hosts)?;
        match addresses.iter().find(|address| !is_here(address)) {
            Some(address) => Err(AddressError::NotHere { address: *address, known: self.known() }),
            None => Ok(addresses),
        }
    }

    /// The one address that others are told.
    pub(in crate::runtime) fn publish_address(
        &self,
        listen: &ListenSettings,
        bound: &[IpAddr],
    ) -> Result<IpAddr, AddressError> {
        self.publish(&listen.publish_hosts, bound)
    }

    /// Where one that listens there is reached.
    pub(in crate::runtime) fn reached_at(&self, bound: &[SocketAddr]) -> Vec<SocketAddr> {
        let spread = |at: &SocketAddr| {
            let all = at.ip().is_unspecified().then(|| self.up(|ip| at.is_ipv6() || ip.is_ipv4()));
            let port = at.port();
            all.unwrap_or_else(|| vec![at.ip()]).into_iter().map(move |ip| SocketAddr::new(ip, port))
        };
        bound.iter().flat_map(spread).collect()
    }

    fn bind(&self, hosts: &[String]) -> Result<Vec<IpAddr>, AddressError> {
        let addresses = if hosts.is_empty() { self.resolve("_local_")? } else { self.resolve_all(hosts)? };
        refuse("bind", &addresses)?;
        Ok(addresses)
    }

    fn publish(&self, hosts: &[String], bound: &[IpAddr]) -> Result<IpAddr, AddressError> {
        let mut addresses = if hosts.is_empty() { bound.to_vec() } else { self.resolve_all(hosts)? };
        if let [only] = addresses[..]
            && only.is_unspecified()
        {
            addresses = self.up(|ip| only.is_ipv6() || ip.is_ipv4());
        }
        refuse("publish", &addresses)?;
        addresses.sort_by_key(preference);
        let none = || AddressError::NoAddress { host: hosts.join(", "), known: self.known() };
        addresses.first().copied().ok_or_else(none)
    }

    /// The addresses of all hosts in their order, each once.
    fn resolve_all(&self, hosts: &[String]) -> Result<Vec<IpAddr>, AddressError> {
        let mut addresses = Vec::new();
        for host in hosts {
            for address in self.resolve(host)? {
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
        }
        Ok(addresses)
    }

    fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, AddressError> {
        let framed = |frame: char| host.strip_prefix(frame).and_then(|rest| rest.strip_suffix(frame));
        let Some(word) = framed('_').or_else(|| framed('#')) else {
            return look_up(host);
        };
        let (name, family) = match word.rsplit_once(':') {
            Some((name, "ipv4")) => (name, Some(true)),
            Some((name, "ipv6")) => (name, Some(false)),
            _ => (word, None),
        };
        let fits = |ip: &IpAddr| family.is_none_or(|is_v4| ip.is_ipv4() == is_v4);
        let found = match name {
            "local" => self.up(|ip| ip.is_loopback()),
            "site" => self.up(is_site_local),
            "global" => self.up(|ip| !ip.is_loopback() && !is_site_local(ip)),
            interface => self.named(host, interface)?,
        };
        let found: Vec<IpAddr> = found.into_iter().filter(fits).collect();
        if found.is_empty() {
            return Err(AddressError::NoAddress { host: host.into(), known: self.known() });
        }
        Ok(found)
    }

    /// The addresses of interfaces that are up, the preferred ones first.
    fn up(&self, fits: impl Fn(&IpAddr) -> bool) -> Vec<IpAddr> {
        let up = self.0.iter().filter(|one| one.is_up && fits(&one.address));
        let mut addresses: Vec<IpAddr> = up.map(|one| one.address).collect();
        addresses.sort_by_key(preference);
        addresses.dedup();
        addresses
    }

    fn named(&self, host: &str, name: &str) -> Result<Vec<IpAddr>, AddressError> {
        let named: Vec<&Interface> = self.0.iter().filter(|one| one.name == name).collect();
        if named.is_empty() {
            return Err(AddressError::NoInterface { host: host.into(), known: self.known() });
        }
        let mut addresses: Vec<IpAddr> = named.iter().filter(|one| one.is_up).map(|one| one.address).collect();
        addresses.sort_by_key(preference);
        Ok(addresses)
    }

    /// The interfaces as an error shows them: `lo (127.0.0.1, ::1), eth0 (10.0.0.1; down)`.
    fn known(&self) -> String {
        let names: BTreeSet<&str> = self.0.iter().map(|one| one.name.as_str()).collect();
        let show = |name: &str| {
            let mine = || self.0.iter().filter(|one| one.name == name);
            let addresses: Vec<String> = mine().map(|one| one.address.to_string()).collect();
            let state = if mine().all(|one| one.is_up) { "" } else { "; down" };
            format!("`{name}` ({}{state})", addresses.join(", "))
        };
        let shown: Vec<String> = names.into_iter().map(show).collect();
        if shown.is_empty() { "none".into() } else { shown.join(", ") }
    }
}

fn look_up(host: &str) -> Result<Vec<IpAddr>, AddressError> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = bare.parse() {
        return Ok(vec![address]);
    }
    let failed = |why: String| AddressError::Unresolved { host: host.into(), why };
    let found = (bare, 0).to_socket_addrs().map_err(|why| failed(why.to_string()))?;
    let mut addresses = Vec::new();
    for at in found {
        if !addresses.contains(&at.ip()) {
            addresses.push(at.ip());
        }
    }
    if addresses.is_empty() { Err(failed("it has no address".into())) } else { Ok(addresses) }
}

fn refuse(purpose: &'static str, addresses: &[IpAddr]) -> Result<(), AddressError> {
    if let Some(&address) = addresses.iter().find(|ip| ip.is_multicast()) {
        return Err(AddressError::Multicast { purpose, address });
    }
    if addresses.len() > 1 && addresses.iter().any(IpAddr::is_unspecified) {
        return Err(AddressError::Wildcard { purpose, addresses: addresses.to_vec() });
    }
    Ok(())
}

/// The private networks of IPv4, and what IPv6 had in their place; unique local addresses count as global.
fn is_site_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_private(),
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfec0,
    }
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// The lowest is published.
///
/// Differs from ES: loopback comes last whatever its family, so that a machine that has only IPv6 addresses besides is
/// not published as `127.0.0.1`.
fn preference(ip: &IpAddr) -> (bool, u8, bool, bool, IpAddr) {
    let size = if ip.is_ipv4() { size_of::<Ipv4Addr>() } else { size_of::<Ipv6Addr>() };
    (ip.is_loopback(), size as u8, is_link_local(ip), is_site_local(ip), *ip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::PortRange;

    fn machine(interfaces: &[(&str, &str)]) -> Machine {
        let interface = |(name, address): &(&str, &str)| Interface {
            name: name.trim_end_matches('!').to_string(),
            address: address.parse().expect("the address of a test"),
            is_up: !name.ends_with('!'),
        };
        Machine(interfaces.iter().map(interface).collect())
    }

    fn usual() -> Machine {
        machine(&[
            ("lo", "127.0.0.1"),
            ("lo", "::1"),
            ("eth0", "2001:db8::7"),
            ("eth0", "10.0.0.7"),
            ("eth1", "203.0.113.7"),
            ("eth2!", "192.168.0.7"),
        ])
    }

    fn hosts(hosts: &[&str]) -> Vec<String> {
        hosts.iter().map(ToString::to_string).collect()
    }

    fn ips(ips: &[&str]) -> Vec<IpAddr> {
        ips.iter().map(|ip| ip.parse().expect("an address of a test")).collect()
    }

    fn listen(publish_port: Option<u16>) -> ListenSettings {
        let ports = PortRange { first: 9300, last: 9400 }.into();
        ListenSettings { bind_hosts: hosts(&["_local_"]), publish_hosts: Vec::new(), ports, publish_port }
    }

    #[test]
    fn each_form_of_host_names_the_addresses_that_elasticsearch_would_bind() {
        let cases: [(&[&str], &[&str]); 16] = [
            (&[], &["127.0.0.1", "::1"]),
            (&["_local_"], &["127.0.0.1", "::1"]),
            (&["_local:ipv4_"], &["127.0.0.1"]),
            (&["_local:ipv6_"], &["::1"]),
            (&["_site_"], &["10.0.0.7"]),
            (&["_global_"], &["203.0.113.7", "2001:db8::7"]),
            (&["_global:ipv6_"], &["2001:db8::7"]),
            (&["_eth0_"], &["10.0.0.7", "2001:db8::7"]),
            (&["_eth0:ipv4_"], &["10.0.0.7"]),
            (&["#eth0:ipv6#"], &["2001:db8::7"]),
            (&["0.0.0.0"], &["0.0.0.0"]),
            (&["::"], &["::"]),
            (&["10.1.2.3"], &["10.1.2.3"]),
            (&["[::1]"], &["::1"]),
            (&["_local:ipv4_", "_eth0:ipv4_", "127.0.0.1"], &["127.0.0.1", "10.0.0.7"]),
            (&["127.0.0.1", "[127.0.0.1]"], &["127.0.0.1"]),
        ];
        for (given, expected) in cases {
            let found = usual().bind(&hosts(given)).unwrap_or_else(|why| panic!("{given:?}: {why}"));
            assert_eq!(found, ips(expected), "bind hosts {given:?}");
        }
    }

    #[test]
    fn what_cannot_be_bound_is_refused_with_the_value_and_what_there_is() {
        let cases: [(&[&str], &str); 6] = [
            (
                &["_eth9_"],
                "host `_eth9_`: no such interface with an address; there are `eth0` (2001:db8::7, 10.0.0.7), ",
            ),
            (&["_eth2_"], "host `_eth2_`: no interface that is up has such an address; there are "),
            (&["_eth1:ipv6_"], "host `_eth1:ipv6_`: no interface that is up has such an address"),
            (&["224.0.0.1"], "bind address: {224.0.0.1} is invalid: multicast address"),
            (&["0.0.0.0", "127.0.0.1"], "bind address is wildcard, but multiple addresses specified"),
            (&["no host"], "host `no host` cannot be looked up: "),
        ];
        for (given, expected) in cases {
            let error = usual().bind(&hosts(given)).expect_err("nothing to bind").to_string();
            assert!(error.starts_with(expected), "{given:?}: {error}");
        }
        let error = usual().bind(&hosts(&["_eth9_"])).expect_err("nothing to bind").to_string();
        assert!(error.contains("`eth2` (192.168.0.7; down), `lo` (127.0.0.1, ::1)"), "{error}");
    }

    #[test]
    fn the_published_address_is_the_one_that_others_reach_best() {
        let cases: [(&[&str], &[&str], &str); 9] = [
            (&[], &["127.0.0.1", "::1"], "127.0.0.1"),
            (&[], &["0.0.0.0"], "203.0.113.7"),
            (&["0.0.0.0"], &["127.0.0.1"], "203.0.113.7"),
            (&["_site_"], &["0.0.0.0"], "10.0.0.7"),
            (&["_eth0_"], &["0.0.0.0"], "10.0.0.7"),
            (&["2001:db8::7", "127.0.0.1"], &["::"], "2001:db8::7"),
            (&["169.254.1.1", "10.0.0.7"], &["::"], "10.0.0.7"),
            (&["10.0.0.9", "10.0.0.8"], &["::"], "10.0.0.8"),
            (&["192.0.2.1"], &["127.0.0.1"], "192.0.2.1"),
        ];
        for (given, bound, expected) in cases {
            let found = usual().publish(&hosts(given), &ips(bound));
            assert_eq!(found.map(|ip| ip.to_string()), Ok(expected.to_string()), "{given:?} bound to {bound:?}");
        }
        let only_v6 = machine(&[("lo", "127.0.0.1"), ("eth0", "2001:db8::7")]);
        assert_eq!(only_v6.publish(&[], &ips(&["::"])), Ok(ips(&["2001:db8::7"])[0]));
    }

    #[test]
    fn no_wildcard_among_others_no_multicast_and_nothing_is_published() {
        let error = |given: &[&str]| usual().publish(&hosts(given), &[]).expect_err("nothing to publish").to_string();
        assert!(error(&["0.0.0.0", "10.0.0.7"]).starts_with("publish address is wildcard"));
        assert!(error(&["ff02::1"]).starts_with("publish address: {ff02::1} is invalid: multicast address"));
        let error = machine(&[]).publish(&[], &ips(&["0.0.0.0"])).expect_err("nothing to publish");
        assert!(error.to_string().ends_with("there are none"), "{error}");
    }

    #[test]
    fn the_published_port_is_the_given_one_that_of_the_address_or_the_only_one() {
        let bound =
            |texts: &[&str]| -> Vec<SocketAddr> { texts.iter().map(|at| at.parse().expect("an address")).collect() };
        let published: IpAddr = "10.0.0.7".parse().expect("an address");
        let cases: [(Option<u16>, &[&str], Option<u16>); 6] = [
            (Some(19300), &["10.0.0.7:9300"], Some(19300)),
            (None, &["127.0.0.1:9300", "10.0.0.7:9301"], Some(9301)),
            (None, &["0.0.0.0:9302"], Some(9302)),
            (None, &["127.0.0.1:9303", "[::1]:9303"], Some(9303)),
            (None, &["127.0.0.1:9303", "[::1]:9304"], None),
            (None, &[], None),
        ];
        for (given, at, expected) in cases {
            let port = publish_port(&listen(given), published, &bound(at));
            assert_eq!(port.ok(), expected, "publish port {given:?}, bound to {at:?}");
        }
    }

    #[test]
    fn only_loopback_is_not_beyond_loopback() {
        assert!(!is_beyond_loopback(&ips(&["127.0.0.1", "::1", "127.3.0.1", "::ffff:127.0.0.1"])));
        for one in ["0.0.0.0", "::", "10.0.0.1", "2001:db8::1"] {
            assert!(is_beyond_loopback(&ips(&["127.0.0.1", one])), "{one}");
        }
    }

    #[test]
    fn this_machine_has_a_loopback_address_and_a_wildcard_is_reached_at_it() -> Result<(), AddressError> {
        let bound = bind_addresses(&listen(None))?;
        assert!(!bound.is_empty() && !is_beyond_loopback(&bound), "{bound:?}");
        assert_eq!(publish_address(&listen(None), &bound)?, bound[0]);
        let at = SocketAddr::new(bound[0], 9300);
        let wildcard: SocketAddr = "[::]:9300".parse().expect("an address");
        assert!(reached_at(&[wildcard]).contains(&at));
        assert_eq!(reached_at(&[at]), [at]);
        Ok(())
    }
}
