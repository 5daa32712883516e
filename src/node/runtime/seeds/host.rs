//! One seed host as it is written: an address, a name or a service, and the ports to try.
//!
//! Looks nothing up. Mirrors `TcpTransport.parse` (6.8).

use crate::settings::PortRange;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Longer ranges are a mistake, and would be a scan.
const PORTS_MAX: u16 = 1_024;
const NAME_MAX: usize = 253;

/// A seed host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// An address, with ports if some are given.
    Address(IpAddr, Option<PortRange>),
    /// A name that has addresses, with ports if some are given.
    Name(Arc<str>, Option<PortRange>),
    /// A service whose SRV records name hosts and ports.
    Service(Arc<str>),
}

/// Reads a host: `name`, `name:9300`, `name:9300-9305`, an address in its place, `[::1]:9300`, `_service._tcp.name`.
pub(super) fn parse(text: &str) -> Result<Host, String> {
    if text.contains("://") {
        return Err(format!("`{text}` is a URL; allowed: {ALLOWED}"));
    }
    if text.contains([';', ' ']) {
        return Err(format!("`{text}` is more than one host; allowed: {ALLOWED}, with commas between hosts"));
    }
    let (host, ports) = split(text)?;
    let ports = ports.filter(|ports| !ports.is_empty()).map(parse_ports).transpose()?;
    if let Ok(address) = host.parse::<IpAddr>() {
        return reachable(address).map(|address| Host::Address(address, ports));
    }
    if is_service(host) {
        return match ports {
            None => Ok(Host::Service(host.into())),
            Some(_) => Err(format!("`{host}` is a service, whose SRV records give the ports; allowed: no port")),
        };
    }
    // The system takes numbers for addresses written in an old way: 9300 for 0.0.36.84.
    let is_numeric = host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if is_numeric || host.len() > NAME_MAX || !host.bytes().all(is_name_byte) {
        return Err(format!("`{host}` is neither an address nor a host name; allowed: {ALLOWED}"));
    }
    Ok(Host::Name(host.into(), ports))
}

const ALLOWED: &str = "`host`, `host:port`, `host:first-last`, `[IPv6 address]:port`, `_service._tcp.name`";

/// The host of a seed host as it is written, without its ports.
pub(in crate::runtime) fn host_of(text: &str) -> Option<&str> {
    split(text).ok().map(|(host, _)| host)
}

/// A seed host with the port at which it is looked for, if it names none. Services have ports of their own.
pub(in crate::runtime) fn with_port(text: &str, default: u16) -> String {
    match split(text) {
        Ok((host, None | Some(""))) if !is_service(host) && host.contains(':') => format!("[{host}]:{default}"),
        Ok((host, None | Some(""))) if !is_service(host) => format!("{host}:{default}"),
        Ok(_) | Err(_) => text.to_owned(),
    }
}

/// Parts a host and its ports.
fn split(text: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(rest) = text.strip_prefix('[') {
        let invalid = || format!("Invalid bracketed host/port range: `{text}`; allowed: {ALLOWED}");
        let (host, rest) = rest.split_once(']').ok_or_else(invalid)?;
        let is_v6 = host.parse::<Ipv6Addr>().is_ok();
        return match rest.strip_prefix(':') {
            Some(ports) if is_v6 => Ok((host, Some(ports))),
            None if is_v6 && rest.is_empty() => Ok((host, None)),
            Some(_) | None => Err(invalid()),
        };
    }
    match text.split_once(':') {
        None => Ok((text, None)),
        // A bare address; with a port behind it nobody could tell where the one ends.
        Some(_) if text.parse::<Ipv6Addr>().is_ok() => Ok((text, None)),
        Some((_, rest)) if rest.contains(':') => {
            Err(format!("IPv6 addresses must be bracketed: `{text}`; allowed: {ALLOWED}"))
        }
        Some((host, ports)) => Ok((host, Some(ports))),
    }
}

fn parse_ports(text: &str) -> Result<PortRange, String> {
    let allowed = || {
        format!(
            "ports `{text}`; allowed: a number from 1 to 65535, or two as in `9300-9305`, the second not below the first"
        )
    };
    let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(allowed);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = PortRange { first: port(first)?, last: port(last)? };
    match range.last.checked_sub(range.first) {
        None => Err(allowed()),
        Some(more) if more >= PORTS_MAX => {
            Err(format!("ports `{text}`; allowed: a range of at most {PORTS_MAX} ports"))
        }
        Some(_) => Ok(range),
    }
}

/// What an address that means "any" means to somebody who connects.
fn reachable(address: IpAddr) -> Result<IpAddr, String> {
    let address = address.to_canonical();
    if address.is_multicast() {
        return Err(format!("`{address}` is a multicast address; allowed: {ALLOWED}"));
    }
    Ok(match address {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V4(_) | IpAddr::V6(_) => address,
    })
}

/// Whether these are the two labels of a service before a name: `_zen._tcp.example.org`.
fn is_service(host: &str) -> bool {
    let mut labels = host.split('.');
    let mut is_marked = || labels.next().is_some_and(|label| label.len() > 1 && label.starts_with('_'));
    is_marked() && is_marked()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(first: u16, last: u16) -> Option<PortRange> {
        Some(PortRange { first, last })
    }

    #[test]
    fn every_form_of_host_is_read() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address of a test");
        let cases = [
            ("10.0.0.1", Host::Address(ip("10.0.0.1"), None)),
            ("10.0.0.1:9301", Host::Address(ip("10.0.0.1"), ports(9301, 9301))),
            ("10.0.0.1:9300-9305", Host::Address(ip("10.0.0.1"), ports(9300, 9305))),
            ("::1", Host::Address(ip("::1"), None)),
            ("[::1]", Host::Address(ip("::1"), None)),
            ("[::1]:", Host::Address(ip("::1"), None)),
            ("[fd00::2]:9300-9301", Host::Address(ip("fd00::2"), ports(9300, 9301))),
            ("::ffff:10.0.0.1", Host::Address(ip("10.0.0.1"), None)),
            ("0.0.0.0:9300", Host::Address(ip("127.0.0.1"), ports(9300, 9300))),
            ("es-1", Host::Name("es-1".into(), None)),
            ("es-1.example.org.:65535", Host::Name("es-1.example.org.".into(), ports(65535, 65535))),
            ("es_1:", Host::Name("es_1".into(), None)),
            ("_es._tcp.example.org", Host::Service("_es._tcp.example.org".into())),
            ("_es._tcp", Host::Service("_es._tcp".into())),
            ("_es", Host::Name("_es".into(), None)),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused_with_the_value_and_what_is_allowed() {
        let cases = [
            ("", "`` is neither an address nor a host name"),
            ("9300", "`9300` is neither an address nor a host name"),
            ("10.0.0", "`10.0.0` is neither an address nor a host name"),
            ("es 1", "`es 1` is more than one host"),
            ("10.0.0.1:9300;10.0.0.2:9300", "`10.0.0.1:9300;10.0.0.2:9300` is more than one host"),
            ("http://es:9300", "`http://es:9300` is a URL"),
            ("fd00::2:93000", "IPv6 addresses must be bracketed: `fd00::2:93000`"),
            ("[::1", "Invalid bracketed host/port range: `[::1`"),
            ("[es]:9300", "Invalid bracketed host/port range: `[es]:9300`"),
            ("[::1]9300", "Invalid bracketed host/port range: `[::1]9300`"),
            ("es:0", "ports `0`; allowed: a number from 1 to 65535"),
            ("es:70000", "ports `70000`; allowed: a number from 1 to 65535"),
            ("es:9305-9300", "ports `9305-9300`; allowed: a number from 1 to 65535"),
            ("es:1-2000", "ports `1-2000`; allowed: a range of at most 1024 ports"),
            ("_es._tcp.example.org:9300", "`_es._tcp.example.org` is a service"),
            ("224.0.0.1", "`224.0.0.1` is a multicast address"),
        ];
        for (text, expected) in cases {
            let error = parse(text).expect_err(text);
            assert!(error.starts_with(expected) && error.contains("; allowed: "), "{text}: {error}");
        }
    }
}
