//! A seed host as it is written: which addresses it stands for.
//!
//! What is wrong with the seed hosts of a node, and what they should be, is found in `seeds`.

use super::Report;
use crate::cluster::Address;

/// The port of a seed host that names none.
pub(super) const FIRST_PORT: u16 = 9300;

/// Whether a configured host stands for an address, with the first port where none is written.
pub(super) fn is_seed_of(seed: &str, address: &Address) -> bool {
    let Some((host, port)) = address.as_str().rsplit_once(':') else { return seed == address.as_str() };
    let Ok(port) = port.parse::<u16>() else { return seed == address.as_str() };
    let is_v6 = seed.matches(':').count() > 1 && !seed.contains(']');
    let (named, ports) = match seed.rsplit_once(':') {
        Some((named, ports)) if !is_v6 && !ports.ends_with(']') => (named, Some(ports)),
        Some(_) | None => (seed, None),
    };
    let is_host = bare(named) == bare(host) || named == "localhost" && matches!(bare(host), "127.0.0.1" | "::1");
    is_host && ports.map_or(port == FIRST_PORT, |ports| has_port(ports, port))
}

/// A host without the brackets of an IPv6 address.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Whether a port is one of `9300`, `9300-9302` or `9300,9310-9312`.
fn has_port(ports: &str, port: u16) -> bool {
    let within = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let bounds = first.trim().parse::<u16>().ok().zip(last.trim().parse::<u16>().ok());
        bounds.is_some_and(|(first, last)| (first..=last).contains(&port))
    };
    ports.split(',').any(within)
}

/// The seed hosts of a node but for itself. One without a port has that of the node.
pub(super) fn seeds_of_others(report: &Report) -> Vec<&String> {
    let own = &report.explanation.node.address;
    let is_own = |seed: &&String| is_seed_of(seed, own) || seed.as_str() == own.host();
    report.facts.seeds.iter().flatten().filter(|seed| !is_own(seed)).collect()
}
