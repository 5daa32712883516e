//! Nodes of other clusters that listen where one of this cluster is to: they want nothing of it, and are in its way as any other
//! program is.

use super::seed_host::{is_seed_of, seeds_of_others};
use super::{Found, Probe, Report};
use crate::cluster::Address;
use crate::zen::explain::PingOutcome;

/// Whether a node, of another cluster than some others, is where a configuration beside theirs is for another node, and looks for
/// none of them.
pub(super) fn is_in_the_way(ours: &[&Report], other: &Report) -> bool {
    let (node, own_file) = (&other.explanation.node, &other.facts.file);
    let looks_for = |one: &&&Report| {
        let address = &one.explanation.node.address;
        seeds_of_others(other).iter().any(|seed| is_seed_of(seed, address))
    };
    let is_for_another = |one: &&Report| {
        let cluster = one.explanation.cluster_name.as_str();
        one.facts.siblings.iter().any(|sibling| {
            let is_other = sibling.file.is_some() && sibling.file != *own_file && sibling.name.is_some();
            is_other
                && sibling.name.as_deref() != Some(&*node.name)
                && sibling.cluster == cluster
                && sibling.is_at(&node.address)
        })
    };
    ours.iter().any(is_for_another) && !ours.iter().any(|one| looks_for(&one))
}

/// What these say, of whom nobody is to hear that somebody in the way is a node.
pub(super) fn as_strangers(mut reports: Vec<Report>, in_the_way: &[Address]) -> Vec<Report> {
    let is_one = |address: &Address| in_the_way.contains(address);
    for report in &mut reports {
        report.facts.processes.retain(|process| !is_one(&process.address));
        for host in report.explanation.hosts.iter_mut().filter(|host| is_one(&host.address)) {
            (host.outcome, host.node, host.instead_of) = (PingOutcome::NotUnderstood, None, None);
        }
    }
    if let Some(asked) = reports.first_mut() {
        asked.facts.probes.retain(|probe| !is_one(&probe.address));
        let stranger = |address: &Address| Probe { address: address.clone(), found: Found::Stranger, free_port: None };
        asked.facts.probes.extend(in_the_way.iter().map(stranger));
    }
    reports
}
