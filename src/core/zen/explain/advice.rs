//! Says what to do for a master: nothing that the nodes could do by themselves, and nothing that loses data.

use super::words::{called, few, group, is_needed, lost_members, several, unmet, who};
use super::{Attempt, Explanation, Group, Host, Member, PingOutcome, Quota};
use crate::cluster::Node;
use std::collections::BTreeSet;
use std::sync::Arc;

const HOSTS: &str = "discovery.zen.ping.unicast.hosts";

/// A join that takes longer than this is stuck.
const PATIENCE_MILLIS: u64 = 2_000;

/// What to do, a sentence each; nothing while there is a master.
pub(super) fn advice(all: &Explanation) -> Vec<String> {
    if all.master_node.is_some() {
        return Vec::new();
    }
    let quotas = unmet(all).map(|quota| fill(all, quota));
    let others = [
        free_disk(all),
        take_in_names(all),
        take_in_uuids(all),
        take_apart(all),
        bring_back(all),
        speak_alike(all),
        resolve(all),
        tell_address(all),
        be_taken_in(all),
    ];
    quotas.chain(others.into_iter().flatten()).collect()
}

fn free_disk(all: &Explanation) -> Option<String> {
    all.disk_hangs_millis.map(|_| "see what keeps the disk of path.data on this node from writing".into())
}

/// The hosts for which something is so, by name.
fn named(all: &Explanation, is_so: impl Fn(&Host) -> bool) -> Option<String> {
    let names: Vec<String> = all.hosts.iter().filter(|host| is_so(host)).map(placed_host).collect();
    (!names.is_empty()).then(|| several(&names))
}

fn placed_host(host: &Host) -> String {
    who(host.node.as_deref(), &host.address)
}

fn placed(member: &Member) -> String {
    let name = called(member);
    match &member.address {
        Some(address) if address.as_str() != name => format!("{name} ({address})"),
        Some(_) | None => name.to_string(),
    }
}

/// How a quota that lacks nodes gets them.
fn fill(all: &Explanation, quota: &Quota) -> String {
    let missing = quota.needed.saturating_sub(quota.found);
    let absent = few(quota.members.iter().filter(|member| !member.found).map(placed), " or ");
    let is_silent = all.hosts.iter().any(|host| host.outcome == PingOutcome::TimedOut && is_needed(all, host));
    let silent = if is_silent { "; where one runs already, see what keeps its answers away" } else { "" };
    match quota.of {
        Group::MasterEligibleNodes => format!(
            "start {missing} more with node.master: true, or ask for fewer: discovery.zen.minimum_master_nodes given \
             to a node at its start with -E overrides the cluster's {}",
            quota.needed
        ),
        Group::FoundHosts => format!("name the nodes in {HOSTS}, or see what listens at {absent} and says nothing"),
        Group::InitialHosts => {
            let group = group(quota);
            format!(
                "start {missing} more of {group}: {absent}; or correct cluster.initial_master_nodes, without which \
                     they are those of {HOSTS}{silent}"
            )
        }
        Group::VotingSet | Group::LastCommittedVotingSet => {
            let group = group(quota);
            format!("start {missing} more of {group} with the data directory that it had: {absent}{silent}")
        }
    }
}

fn take_in_names(all: &Explanation) -> Option<String> {
    let names = named(all, |host| matches!(host.outcome, PingOutcome::OtherClusterName { .. }))?;
    Some(format!(
        "set cluster.name to [{}] on {names}, or take what is of another cluster out of {HOSTS}",
        all.cluster_name
    ))
}

fn take_in_uuids(all: &Explanation) -> Option<String> {
    let names = named(all, |host| matches!(host.outcome, PingOutcome::OtherClusterUuid { .. }))?;
    Some(format!(
        "take {names} out of {HOSTS}; to make a node of the other cluster one of this, stop it and wipe its data \
         directory, if nothing in that is needed"
    ))
}

fn take_apart(all: &Explanation) -> Option<String> {
    let names = named(all, |host| host.outcome == PingOutcome::DuplicateId)?;
    Some(format!(
        "stop this node or {names}: one of the two has a copy of the other's data directory, and must get its own"
    ))
}

fn bring_back(all: &Explanation) -> Option<String> {
    let names = named(all, |host| {
        host.instead_of.is_some() && matches!(host.outcome, PingOutcome::Answered { master_eligible: true, .. })
    })?;
    Some(format!("start {names} with the data directory that was there before: with another one it is another node"))
}

fn speak_alike(all: &Explanation) -> Option<String> {
    let names = named(all, |host| host.outcome == PingOutcome::NotUnderstood)?;
    Some(format!("see what listens at {names}: {HOSTS} must name transport ports (9300), not http ports (9200)"))
}

fn resolve(all: &Explanation) -> Option<String> {
    let names = few(all.unresolved.iter().map(|host| format!("[{}]", host.host)), ", ");
    (!names.is_empty()).then(|| format!("correct {names} in {HOSTS}, or make the name known"))
}

fn tell_address(all: &Explanation) -> Option<String> {
    let names = few(lost_members(all).map(|member| called(member).to_string()), ", ");
    (!names.is_empty()).then(|| format!("name the address of {names} in {HOSTS}, unless it is one of those"))
}

fn be_taken_in(all: &Explanation) -> Option<String> {
    let asked = match &all.attempt {
        Some(Attempt::Joins { master, for_millis }) if *for_millis >= PATIENCE_MILLIS => Some(master),
        Some(
            Attempt::Joins { .. }
            | Attempt::Stands { .. }
            | Attempt::Votes { .. }
            | Attempt::Publishes { .. }
            | Attempt::Accepted { .. },
        )
        | None => None,
    };
    let masters: BTreeSet<String> = asked
        .into_iter()
        .chain(all.hosts.iter().filter_map(refuser))
        .map(|node| who(Some(node), &node.address))
        .collect();
    let names: Vec<String> = masters.into_iter().collect();
    (!names.is_empty()).then(|| format!("see whether this node and {} reach each other, both ways", several(&names)))
}

/// The master of this host, which does not take this node in.
fn refuser(host: &Host) -> Option<&Arc<Node>> {
    match &host.outcome {
        PingOutcome::Answered { master, not_joined: Some(_), .. } => master.as_ref(),
        PingOutcome::Answered { .. }
        | PingOutcome::Waiting
        | PingOutcome::NotAsked
        | PingOutcome::Refused
        | PingOutcome::Reset
        | PingOutcome::TimedOut
        | PingOutcome::NotUnderstood
        | PingOutcome::OtherClusterName { .. }
        | PingOutcome::OtherClusterUuid { .. }
        | PingOutcome::DuplicateId
        | PingOutcome::Itself
        | PingOutcome::Rejected { .. } => None,
    }
}
