//! What a node's seed hosts should be: all that is wrong with them is put right in one line.

use super::case::Case;
use super::identity::is_seed_of;
use super::{Found, Mend};
use crate::cluster::Address;
use crate::zen::explain::{Host, PingOutcome};

/// The line of the asked node's seed hosts, with all that is known to be wrong replaced or left out.
pub(super) fn mended(case: &Case<'_>) -> Option<Mend> {
    let mut missing = missing(case).into_iter();
    let mut right: Vec<String> = Vec::new();
    for seed in case.me.facts.seeds.iter().flatten() {
        for one in replaced(case, seed, &mut missing) {
            if !right.contains(&one) {
                right.push(one);
            }
        }
    }
    case.hosts(case.me, &right, |seed| Some(seed.to_owned()))
}

/// What stands in the place of a seed host; itself if nothing is known to be wrong with it.
fn replaced(case: &Case<'_>, seed: &str, missing: &mut impl Iterator<Item = String>) -> Vec<String> {
    if case.me.explanation.unresolved.iter().any(|host| is_named(seed, &host.host)) {
        return by_port(case, seed).into_iter().collect();
    }
    let silent: Vec<&Host> = case.silent_hosts().filter(|host| is_seed_of(seed, &host.address)).collect();
    let probe = |host: &&Host| case.probe(&host.address);
    let transports: Vec<String> = silent.iter().filter_map(probe).filter_map(transport).collect();
    if !transports.is_empty() {
        return transports;
    }
    let is_strange = silent.iter().any(|host| {
        host.outcome == PingOutcome::NotUnderstood
            && probe(host) == Some(&Found::Stranger)
            && case.sibling_at(&host.address).is_none()
    });
    let is_nowhere = silent.iter().any(|host| host.outcome == PingOutcome::Refused && is_wrong(case, &host.address));
    match (is_strange, is_nowhere) {
        (true, _) => missing.next().into_iter().collect(),
        (false, true) => vec![missing.next().unwrap_or_else(|| seed.to_owned())],
        (false, false) => vec![seed.to_owned()],
    }
}

fn transport(found: &Found) -> Option<String> {
    match found {
        Found::HttpOf(transport) => Some(transport.to_string()),
        Found::Version(_) | Found::Stranger | Found::OtherSecret | Found::OtherAuthority => None,
    }
}

/// Whether a seed host names this host, with a port or without.
pub(super) fn is_named(seed: &str, host: &str) -> bool {
    seed == host || seed.rsplit_once(':').is_some_and(|(name, _)| name == host)
}

/// The address of a node that is to listen at the port of a seed host.
fn by_port(case: &Case<'_>, seed: &str) -> Option<String> {
    let (_, port) = seed.rsplit_once(':')?;
    let mut places = case.siblings().filter_map(|known| known.sibling.place());
    places.find(|place| place.as_str().ends_with(&format!(":{port}"))).map(|place| place.to_string())
}

/// Whether no node is to listen at a seed host, as far as is known.
pub(super) fn is_wrong(case: &Case<'_>, address: &Address) -> bool {
    let mut members = case.reports.iter().flat_map(|report| &report.facts.members);
    let is_seed = case.me.facts.seeds.iter().flatten().any(|seed| is_seed_of(seed, address));
    case.sibling_at(address).is_none() && !members.any(|(_, at, _)| at == address) && is_seed
}

/// Where nodes of this cluster are to listen that are not among the seed hosts.
pub(super) fn missing(case: &Case<'_>) -> Vec<String> {
    let seeds = case.me.facts.seeds.as_deref().unwrap_or_default();
    let (own, cluster) = (&case.me.explanation.node.address, case.me.explanation.cluster_name.as_str());
    let ours = case.siblings().map(|known| known.sibling).filter(|sibling| sibling.cluster == cluster);
    let mut places: Vec<String> = Vec::new();
    for place in ours.filter_map(super::Sibling::place) {
        let is_named = seeds.iter().any(|seed| is_seed_of(seed, &place));
        if place != *own && !is_named && !places.iter().any(|one| *one == place.as_str()) {
            places.push(place.to_string());
        }
    }
    places
}
