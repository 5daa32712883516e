//! Whose words are laid side by side: a host may have nodes of clusters that want nothing of each other.

use super::seed_host::{is_seed_of, seeds_of_others};
use super::{Report, Sibling, occupied};
use crate::cluster::Address;
use crate::zen::explain::{Host, PingOutcome};

/// Those of the cluster of the first, those that one of these is to find by its seed hosts, and those that are to find one.
pub(super) fn of(reports: &[Report]) -> Vec<Report> {
    let Some(me) = reports.first() else { return Vec::new() };
    // Next door may be a cluster that was copied with its name.
    let is_same = |other: &&Report| {
        let are_formed = me.explanation.cluster_uuid.is_some() && other.explanation.cluster_uuid.is_some();
        let know_each_other = are_linked(me, other) || has_pinged(me, other) || has_pinged(other, me);
        std::ptr::eq(me, *other) || are_one(me, other) && (are_formed || know_each_other)
    };
    let ours: Vec<&Report> = reports.iter().filter(is_same).collect();
    // Next door may be a cluster that wants nothing of this one; who is alone may have been meant to be in it.
    let has_kin = |other: &&Report| {
        let names_nobody = |report: &Report| seeds_of_others(report).is_empty();
        let may_join = |report: &Report| is_alone(report) && names_nobody(report) && !report.facts.holds_something;
        let are_apart = is_alone(me) && (is_alone(other) || names_nobody(me)) || may_join(other);
        let beside = are_apart && lie_side_by_side(me, other);
        beside || ours.iter().any(|one| are_linked(one, other))
    };
    let is_in_the_way = |other: &&Report| !are_one(me, other) && occupied::is_in_the_way(&ours, other);
    let is_kin = |other: &&Report| (is_same(other) || has_kin(other)) && !is_in_the_way(other);
    let kin = reports.iter().filter(is_kin).cloned().collect();
    let in_the_way = reports.iter().filter(is_in_the_way).map(|other| other.explanation.node.address.clone());
    occupied::as_strangers(kin, &in_the_way.collect::<Vec<_>>())
}

/// Whether the configurations of two nodes of one name lie in one directory.
pub(super) fn lie_side_by_side(one: &Report, other: &Report) -> bool {
    let home = |report: &Report| report.facts.file.as_deref().and_then(home).map(ToOwned::to_owned);
    one.facts.machine == other.facts.machine
        && one.explanation.cluster_name == other.explanation.cluster_name
        && home(one).is_some_and(|own| Some(own) == home(other))
}

/// Whether the file of a node that need not run lies beside that of one that does.
pub(super) fn is_beside(report: &Report, sibling: &Sibling) -> bool {
    let own = report.facts.file.as_deref().and_then(home);
    own.is_some() && own == sibling.file.as_deref().and_then(home)
}

/// The directory of a file.
fn home(file: &str) -> Option<&str> {
    file.rsplit_once('/').map(|(home, _)| home)
}

/// Whether two nodes are of one cluster, or would be if both were formed.
fn are_one(one: &Report, other: &Report) -> bool {
    let (one, other) = (&one.explanation, &other.explanation);
    let differ = one.cluster_uuid.is_some() && other.cluster_uuid.is_some() && one.cluster_uuid != other.cluster_uuid;
    one.cluster_name == other.cluster_name && !differ
}

/// Whether one of two nodes names the other among its seed hosts, or both name a third.
fn are_linked(one: &Report, other: &Report) -> bool {
    let seeds = |report: &Report| report.facts.seeds.clone().unwrap_or_default();
    let names = |seeds: &[String], report: &Report| {
        let bound = report.facts.bound.iter().map(|bound| Address::from(bound.as_str()));
        let mut all = bound.chain([report.explanation.node.address.clone()]);
        all.any(|address| seeds.iter().any(|seed| is_seed_of(seed, &address)))
    };
    let (ours, theirs) = (seeds(one), seeds(other));
    let miss = names_its_host(one, other) || names_its_host(other, one);
    miss || names(&ours, other) || names(&theirs, one) || ours.iter().any(|seed| theirs.contains(seed))
}

/// Whether a node looked for another one of its cluster's name on that one's host, at a port where nobody listens.
fn names_its_host(one: &Report, other: &Report) -> bool {
    let address = &other.explanation.node.address;
    let is_miss = |host: &Host| host.outcome == PingOutcome::Refused && host.address.host() == address.host();
    let have_one_name = one.explanation.cluster_name == other.explanation.cluster_name;
    have_one_name && !address.is_loopback() && one.explanation.hosts.iter().any(is_miss)
}

/// Whether a node pinged another one.
fn has_pinged(one: &Report, other: &Report) -> bool {
    one.explanation.hosts.iter().any(|host| host.address == other.explanation.node.address)
}

/// Whether a node that need not run has another one among its seed hosts.
pub fn looks_for(sibling: &Sibling, report: &Report) -> bool {
    sibling.seeds.iter().any(|seed| is_seed_of(seed, &report.explanation.node.address))
}

/// Whether a node that need not run is one of those who speak: they look for it or knew it, it looks for them, or its
/// file lies beside theirs. Whoever of them names nobody finds all on loopback. Who lies elsewhere and is named by nobody is left
/// alone, even if it names nobody: it may be left of another time.
pub fn is_ours(reports: &[Report], sibling: &Sibling) -> bool {
    let places = || sibling.place().into_iter().chain(sibling.last.clone());
    let is_known = |report: &Report| {
        let members = report.facts.members.iter().map(|(_, address, _)| address);
        let remembered = report.facts.remembered.iter().map(|node| &node.address);
        let voters = report.explanation.needed.iter().flat_map(|quota| &quota.members);
        let voters = voters.filter_map(|member| member.address.as_ref());
        let mut known = members.chain(remembered).chain(voters);
        let seeds = report.facts.seeds.as_deref().unwrap_or_default();
        known.any(|address| places().any(|place| place == *address))
            || places().any(|place| seeds.iter().any(|seed| is_seed_of(seed, &place)))
    };
    let is_sought = |report: &Report| {
        let seeds = report.facts.seeds.as_deref().unwrap_or_default();
        looks_for(sibling, report) || sibling.seeds.iter().any(|seed| seeds.contains(seed))
    };
    // Files in one directory are of one cluster, if its name is the same.
    let lies_beside = |report: &Report| {
        let is_same = sibling.cluster == report.explanation.cluster_name.as_str() && !sibling.is_elsewhere;
        is_same && is_beside(report, sibling)
    };
    let is_open = |report: &Report| report.facts.seeds.as_ref().is_none_or(Vec::is_empty);
    reports.iter().any(|report| is_known(report) || is_sought(report) || is_open(report) || lies_beside(report))
}

/// Whether a node pinged this address because somebody named it, and not because it was found on loopback.
pub(super) fn is_meant(report: &Report) -> bool {
    report.facts.seeds.as_ref().is_some_and(|seeds| !seeds.is_empty())
}

/// Whether a node is a cluster by itself.
pub(super) fn is_alone(report: &Report) -> bool {
    report.facts.members.len() == 1
}

/// Whether two names of clusters differ in two letters at most, which stand together.
pub(super) fn is_slip(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let shorter = one.len().min(other.len());
    let before = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let behind = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count().min(shorter - before);
    one.len().max(other.len()) - before - behind <= 2 && before + behind > 0
}
