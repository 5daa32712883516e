//! What a node's seed hosts should be: all that is wrong with them is put right in one line.

use super::case::{Case, outcome, verdict};
use super::kin::{is_beside, is_slip};
use super::seed_host::is_seed_of;
use super::{Certainty, Code, Found, Mend, Report, Verdict};
use crate::cluster::Address;
use crate::zen::explain::{Host, PingOutcome};

/// The line of a node's seed hosts, with all that is known to be wrong replaced or left out.
pub(super) fn mended(case: &Case<'_>, report: &Report) -> Option<Mend> {
    let mut missing = missing(case, report).into_iter();
    let mut right: Vec<String> = Vec::new();
    for seed in report.facts.seeds.iter().flatten().flat_map(|seed| hosts_meant(seed)) {
        let by_users: Vec<String> =
            users_of(case, &seed).into_iter().map(|(_, transport)| transport.to_string()).collect();
        let placed = if by_users.is_empty() { replaced(case, report, &seed, &mut missing) } else { by_users };
        for one in placed {
            if !right.contains(&one) {
                right.push(one);
            }
        }
    }
    // A file of hosts that is missing, or in which nobody is named who is somewhere, is to name those who are known.
    if right.is_empty() {
        right.extend(missing);
    }
    case.hosts(report, &right, |seed| Some(seed.to_owned()))
}

/// The line of the asked node's seed hosts with those who answer, if it names none of them: those that it names may be
/// members that ended.
pub(super) fn with_those_who_answer(case: &Case<'_>) -> Option<Mend> {
    let seeds = case.me.facts.seeds.as_ref().filter(|seeds| !seeds.is_empty())?;
    let others = case.reports.iter().map(|report| &report.explanation.node.address);
    let others: Vec<&Address> = others.filter(|at| **at != case.me.explanation.node.address).collect();
    let is_named = |at: &Address| seeds.iter().any(|seed| is_seed_of(seed, at));
    if others.is_empty() || others.iter().any(|at| is_named(at)) {
        return None;
    }
    let right: Vec<String> = seeds.iter().cloned().chain(others.iter().map(ToString::to_string)).collect();
    case.hosts(case.me, &right, |seed| Some(seed.to_owned()))
}

/// The hosts that a text stands for that is none: URLs, and several with something else than a comma between them.
pub fn hosts_meant(seed: &str) -> Vec<String> {
    let parts = seed.split(|c: char| c == ';' || c == '|' || c.is_whitespace()).filter(|part| !part.is_empty());
    let host = |part: &str| {
        let behind = part.split_once("://").map_or(part, |(_, behind)| behind);
        let host = behind.split('/').next().unwrap_or(behind);
        host.trim_start_matches('-').trim_matches(['(', ')', '{', '}', '"', '\'']).to_owned()
    };
    parts.map(host).filter(|host| !host.is_empty()).collect()
}

/// Nodes that have http ports of nodes among their seed hosts, all of them told at once: who has a master may need them next.
pub(super) fn of_http(case: &Case<'_>) -> Vec<Verdict> {
    let of = |report: &Report| {
        let seeds = report.facts.seeds.iter().flatten();
        let wrong: Vec<(Address, Address)> = seeds.flat_map(|seed| users_of(case, seed)).collect();
        let ((users, transport), more) = wrong.split_first()?;
        let (name, count) = (case.name(report), more.len());
        let summary = if count == 0 {
            format!("{name} has [{users}] among its seed hosts, the http port of the node at [{transport}]")
        } else {
            let all = |which: fn(&(Address, Address)) -> &Address| {
                wrong.iter().map(|pair| format!("[{}]", which(pair))).collect::<Vec<_>>().join(", ")
            };
            let (users, transports) = (all(|pair| &pair.0), all(|pair| &pair.1));
            format!("{name} has {users} among its seed hosts, the http ports of the nodes at {transports}")
        };
        let evidence =
            case.says(report, format!("my seed hosts are {:?}", report.facts.seeds.as_deref().unwrap_or_default()));
        Some(verdict(Code::HttpPortInSeeds, name, summary).because(evidence).mended(mended(case, report)))
    };
    case.reports.iter().filter_map(of).collect()
}

/// The seed hosts of a node one of which an address may come from, if none names it itself.
pub(super) fn names_for<'a>(report: &'a Report, address: &Address) -> Vec<&'a str> {
    let seeds = || report.facts.seeds.iter().flatten();
    if seeds().any(|seed| is_seed_of(seed, address)) {
        return Vec::new();
    }
    let has_none = |seed: &str| report.explanation.unresolved.iter().any(|host| &*host.host == seed);
    seeds().map(String::as_str).filter(|seed| is_name(seed) && !has_none(seed)).collect()
}

/// Whether a seed host is to be looked up.
fn is_name(seed: &str) -> bool {
    let host = Address::from(seed).host().to_owned();
    !host.contains([':', '[']) && host.contains(|char: char| char.is_ascii_alphabetic())
}

/// Where nodes listen to their users whom a seed host stands for, and where their transport listens.
fn users_of(case: &Case<'_>, seed: &str) -> Vec<(Address, Address)> {
    let told = case.reports.iter().filter_map(|report| {
        Some((Address::from(report.facts.http.as_deref()?), report.explanation.node.address.clone()))
    });
    let transport = |probe: &super::Probe| Some((probe.address.clone(), probe.found.transport()?.clone()));
    let probed = case.me.facts.probes.iter().filter_map(transport);
    let mut all: Vec<(Address, Address)> = Vec::new();
    for (users, transport) in told.chain(probed).filter(|(users, _)| is_seed_of(seed, users)) {
        if !is_seed_of(seed, &transport) && !all.iter().any(|(known, _)| *known == users) {
            all.push((users, transport));
        }
    }
    all
}

/// What stands in the place of a seed host; itself if nothing is known to be wrong with it.
fn replaced(case: &Case<'_>, report: &Report, seed: &str, missing: &mut impl Iterator<Item = String>) -> Vec<String> {
    if report.explanation.unresolved.iter().any(|host| is_named(seed, &host.host)) {
        // A name that nobody knows may be any of those that are not named.
        return by_port(case, seed).map_or_else(|| missing.collect(), |place| vec![place]);
    }
    let silent: Vec<&Host> = Case::silent_hosts(report).filter(|host| is_seed_of(seed, &host.address)).collect();
    let is_strange = silent.iter().any(|host| {
        host.outcome == PingOutcome::NotUnderstood
            && case.probe(&host.address) == Some(&Found::Stranger)
            && case.sibling_at(&host.address).is_none()
    });
    let is_nowhere = silent
        .iter()
        .any(|host| may_be_nowhere(case, report, host) && right_for(case, report, &host.address).is_some());
    match (is_strange, is_nowhere) {
        (true, _) => missing.next().into_iter().collect(),
        // What is left when all others have their places is where this node itself was looked for; at another host one may be
        // that was not started yet.
        (false, true) => {
            let (own, address) = (&report.explanation.node.address, &silent[0].address);
            let is_nobodys = case.sibling_at(address).is_none() && case.at(address).is_none();
            let is_own = address.host() == own.host() && is_nobodys && !is_shared(case, report, address);
            let none = || if is_own { own.to_string() } else { seed.to_owned() };
            vec![missing.next().unwrap_or_else(none)]
        }
        (false, false) => vec![seed.to_owned()],
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

/// Seed hosts of a node at which no node is to listen, as far as is known, each told for itself.
pub(super) fn wrong(case: &Case<'_>, report: &Report) -> Vec<Verdict> {
    let refused = Case::silent_hosts(report).filter(|host| may_be_nowhere(case, report, host));
    let of = |host: &Host| {
        let (own, address) = (case.name(report), &host.address);
        let right = right_for(case, report, address)?;
        let summary =
            format!("{own} has [{address}] among its seed hosts, where no node is to listen: [{right}] is not named");
        let evidence = case.says(report, format!("[{address}] {}", outcome(&host.outcome)));
        let found = verdict(Code::WrongSeed, own, summary).because(evidence).mended(mended(case, report));
        Some(found.only(Certainty::Likely))
    };
    refused.filter_map(of).collect()
}

/// Whether no node may be at a seed host: it refuses, or nothing is heard of it by one that never was in a cluster, beside nodes
/// of its cluster that have a master.
fn may_be_nowhere(case: &Case<'_>, report: &Report, host: &Host) -> bool {
    let of_cluster = |other: &&Report| other.explanation.cluster_name == report.explanation.cluster_name;
    let mut others = case.reports.iter().filter(of_cluster);
    let is_new = report.explanation.cluster_uuid.is_none();
    host.outcome == PingOutcome::Refused
        || host.outcome == PingOutcome::TimedOut
            && is_new
            && !case.is_there(&host.address)
            && others.any(|other| other.explanation.master_node.is_some())
}

/// Where a node listens that is not among the seed hosts of one, if this one of them is no node's place.
fn right_for(case: &Case<'_>, report: &Report, address: &Address) -> Option<String> {
    let cluster = report.explanation.cluster_name.as_str();
    let mut members = case.reports.iter().flat_map(|report| &report.facts.members);
    let is_place = |(name, at, _): &(String, Address, bool)| at == address && !has_moved(case, name, at);
    // Who listens on loopback only is at no fault of those who name it.
    let is_hidden = |place: Address| place.is_loopback() && !address.is_loopback() && place.port() == address.port();
    let mut places = by_files(case, report);
    if misaddressed(case, cluster, address).is_some() {
        return None;
    }
    if !names(report, address) || case.sibling_at(address).is_some() || members.any(is_place) || places.any(is_hidden) {
        return None;
    }
    match is_shared(case, report, address) {
        false => missing(case, report).into_iter().next(),
        true => unnamed(report, known_by_files(case, report)).into_iter().next(),
    }
}

/// Whether an address is among the seed hosts of a node.
fn names(report: &Report, address: &Address) -> bool {
    report.facts.seeds.iter().flatten().any(|seed| is_seed_of(seed, address))
}

/// Whether others name it as well: it may be the place of a node whose file nobody knows.
fn is_shared(case: &Case<'_>, report: &Report, address: &Address) -> bool {
    case.reports.iter().any(|other| !std::ptr::eq(other, report) && names(other, address))
}

/// Who is to listen at a port of this host once its file is put right, which has an address of no interface here.
pub(super) fn misaddressed<'a>(case: &Case<'a>, cluster: &str, address: &Address) -> Option<&'a super::Sibling> {
    let is_it = |one: &&super::Sibling| {
        let port = one.port.map(|port| port.to_string());
        one.is_elsewhere && one.cluster == cluster && port.as_deref() == address.port()
    };
    case.siblings().map(|known| known.sibling).find(is_it).filter(|_| address.is_loopback())
}

/// Whether a node that was a member at an address is to listen at another one now.
fn has_moved(case: &Case<'_>, name: &str, at: &Address) -> bool {
    let place = case.sibling_named(name).and_then(|known| known.sibling.place());
    place.is_some_and(|place| place != *at)
}

/// Where nodes of this cluster are to listen, or answer before it is formed, that are not among the seed hosts of one.
pub(super) fn missing(case: &Case<'_>, report: &Report) -> Vec<String> {
    let cluster = &report.explanation.cluster_name;
    let is_new = report.explanation.cluster_uuid.is_none();
    let ours = case.reports.iter().filter(|other| is_new && other.explanation.cluster_name == *cluster);
    let answering = ours.map(|other| other.explanation.node.address.clone());
    unnamed(report, known_by_files(case, report).chain(answering))
}

/// The same without those of another cluster of this name: the one that has a master knows nothing of them.
fn known_by_files<'a>(case: &Case<'a>, report: &'a Report) -> impl Iterator<Item = Address> + use<'a> {
    let cluster = &report.explanation.cluster_name;
    let is_led = |one: &&Report| one.explanation.master_node.is_some() && one.explanation.cluster_name == *cluster;
    let led: Vec<&Report> = case.reports.iter().filter(is_led).collect();
    let knows = |one: &&Report, place: &Address| {
        let is_member = one.facts.members.iter().any(|(_, at, _)| at == place);
        is_member || one.facts.seeds.iter().flatten().any(|seed| is_seed_of(seed, place))
    };
    by_files(case, report).filter(move |place| led.is_empty() || led.iter().any(|one| knows(one, place)))
}

fn by_files<'a>(case: &Case<'a>, report: &'a Report) -> impl Iterator<Item = Address> + use<'a> {
    let cluster = report.explanation.cluster_name.as_str();
    let ours = case.siblings().map(|known| known.sibling).filter(move |sibling| sibling.cluster == cluster);
    let ours: Vec<Address> = ours.filter_map(super::Sibling::place).collect();
    let alone = ours.iter().all(|place| *place == report.explanation.node.address);
    ours.into_iter().chain(alone.then(|| by_files_of_like_name(report)).into_iter().flatten())
}

/// Where the nodes are to listen whose files lie beside that of one that never was in a cluster and knows nobody of its own:
/// the name of its cluster may be a slip as well.
fn by_files_of_like_name(report: &Report) -> impl Iterator<Item = Address> + use<'_> {
    let (own, is_new) = (report.explanation.cluster_name.as_str(), report.explanation.cluster_uuid.is_none());
    let is_like = move |one: &&super::Sibling| {
        is_new && !one.is_elsewhere && one.cluster != own && is_beside(report, one) && is_slip(&one.cluster, own)
    };
    report.facts.siblings.iter().filter(is_like).filter_map(super::Sibling::place)
}

/// Those of some places that are not among the seed hosts of a node, nor its own, each once.
fn unnamed(report: &Report, all: impl Iterator<Item = Address>) -> Vec<String> {
    let seeds = report.facts.seeds.as_deref().unwrap_or_default();
    let mut places: Vec<String> = Vec::new();
    let own = &report.explanation.node.address;
    // The loopback of one host is not that of another.
    for place in all.filter(|place| place != own && (own.is_loopback() || !place.is_loopback())) {
        let is_named = seeds.iter().any(|seed| is_seed_of(seed, &place));
        if !is_named && !places.iter().any(|one| *one == place.as_str()) {
            places.push(place.to_string());
        }
    }
    places.sort();
    places
}
