//! Whose words are laid side by side: a host may have nodes of clusters that want nothing of each other.

use super::Report;
use super::identity::is_seed_of;
use crate::cluster::Address;

/// Those of the cluster of the first, those that one of these is to find by its seed hosts, and those that are to find one.
pub(super) fn of(reports: &[Report]) -> Vec<Report> {
    let Some(me) = reports.first() else { return Vec::new() };
    let ours: Vec<&Report> = reports.iter().filter(|other| are_one(me, other)).collect();
    let is_kin = |other: &&Report| ours.iter().any(|one| are_one(one, other) || are_linked(one, other));
    reports.iter().filter(is_kin).cloned().collect()
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
    names(&ours, other) || names(&theirs, one) || ours.iter().any(|seed| theirs.contains(seed))
}

/// Whether a node pinged this address because somebody named it, and not because it was found on loopback.
pub(super) fn is_meant(report: &Report) -> bool {
    report.facts.seeds.as_ref().is_some_and(|seeds| !seeds.is_empty())
}
