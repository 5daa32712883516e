//! Nodes that began anew, on another data directory than before: what they had is elsewhere, or gone.

use super::case::{Case, verdict};
use super::shell::quoted;
use super::wiped::wiped_majority;
use super::{Certainty, Code, Report, Sibling, Verdict};
use crate::cluster::{Address, NodeId};
use crate::zen::explain::{Group, Member};

/// All of it.
pub(super) fn of_elsewhere(case: &Case<'_>) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = case.reports.iter().filter_map(|report| unmounted(case, report)).collect();
    verdicts.extend(of_abandoned(case));
    let (led, lost): (Vec<&Report>, Vec<&Report>) =
        case.reports.iter().partition(|report| report.explanation.master_node.is_some());
    for old in led.into_iter().chain(lost) {
        // Who came on another's data to a cluster that goes on is wrong itself, and not those whom it misses.
        let name = case.name(old);
        let is_wrong =
            |verdict: &Verdict| verdict.code == Code::DataElsewhere && verdict.node.as_deref() == Some(&*name);
        if !verdicts.iter().any(is_wrong) {
            verdicts.extend(of_replaced(case, old, &verdicts));
        }
    }
    verdicts
}

/// The members of a node's cluster in whose places others are, of another cluster of the same name: they began anew.
fn replaced<'a>(case: &Case<'a>, old: &'a Report) -> Vec<(Member, &'a Report)> {
    let quotas = old.explanation.needed.iter().filter(|quota| quota.of == Group::VotingSet);
    let voters = quotas.flat_map(|quota| &quota.members).cloned();
    let remembered = old.facts.remembered.iter().filter(|node| !node.removed).map(|node| Member {
        id: node.id.as_str().into(),
        name: Some(node.name.as_str().into()),
        address: Some(node.address.clone()),
        found: false,
    });
    let mut found: Vec<(Member, &'a Report)> = Vec::new();
    for member in voters.chain(remembered).filter(|member| !case.has_id(&member.id)) {
        let Some(new) = case.place(&member).1.and_then(|address| case.at(&address)) else { continue };
        let (new, its, ours) = (new, &new.explanation, &old.explanation);
        let is_foreign = its.cluster_uuid.is_some() && its.cluster_uuid != ours.cluster_uuid;
        let is_known = found.iter().any(|(_, other)| std::ptr::eq(*other, new));
        if is_foreign && ours.cluster_uuid.is_some() && its.cluster_name == ours.cluster_name && !is_known {
            found.push((member, new));
        }
    }
    found
}

/// Whether others began anew in the places of most of those whose votes a node needs: it is not that one that is wrong.
pub(super) fn is_left_behind(case: &Case<'_>, old: &Report) -> bool {
    let quota = old.explanation.needed.iter().find(|quota| quota.of == Group::VotingSet);
    let replaced = replaced(case, old);
    let is_master = old.explanation.master_node.is_some();
    let lost = |needed: usize, of: usize| of < needed + replaced.len();
    !replaced.is_empty()
        && !is_recovered_elsewhere(case, old)
        && quota.is_some_and(|quota| is_master || lost(quota.needed, quota.members.len()))
}

/// Whether a voter of a node without a master is in another cluster of this name, which has one: theirs was recovered, and goes
/// on there.
fn is_recovered_elsewhere(case: &Case<'_>, old: &Report) -> bool {
    let (ours, quotas) = (&old.explanation, &old.explanation.needed);
    let votes = |id: &NodeId| quotas.iter().flat_map(|quota| &quota.members).any(|member| &*member.id == id.as_str());
    let goes_on = |other: &&Report| {
        let its = &other.explanation;
        let is_another = its.cluster_uuid.is_some() && its.cluster_uuid != ours.cluster_uuid;
        is_another && its.master_node.is_some() && its.cluster_name == ours.cluster_name && votes(&its.node.id)
    };
    ours.master_node.is_none() && case.reports.iter().any(|other| goes_on(&other))
}

/// Whether a node began anew where its configuration was used before.
pub(super) fn began_anew(case: &Case<'_>, report: &Report) -> bool {
    let is_new = |old: &Report| replaced(case, old).iter().any(|(_, new)| std::ptr::eq(*new, report));
    report.facts.abandoned.is_some() || case.reports.iter().any(|old| is_left_behind(case, old) && is_new(old))
}

/// What is told of those who began anew in the places of others of a node's cluster.
fn of_replaced(case: &Case<'_>, old: &Report, before: &[Verdict]) -> Vec<Verdict> {
    let replaced = replaced(case, old);
    let elsewhere: Vec<Verdict> = replaced.iter().filter_map(|(member, _)| displaced(case, old, member)).collect();
    let is_told = |(_, new): &(Member, &Report)| {
        let name = case.name(new);
        before.iter().any(|verdict| verdict.code == Code::DataElsewhere && verdict.node.as_deref() == Some(&*name))
    };
    if !elsewhere.is_empty() || replaced.iter().any(is_told) || !is_left_behind(case, old) {
        return elsewhere;
    }
    if old.explanation.master_node.is_some() {
        return replaced.iter().map(|(_, new)| begun(case, old, new)).collect();
    }
    let quota = old.explanation.needed.iter().find(|quota| quota.of == Group::VotingSet);
    let lost: Vec<&Member> = replaced.iter().map(|(member, _)| member).collect();
    quota.map(|quota| wiped_majority(case, old, quota, &lost)).into_iter().collect()
}

/// A node that began anew beside what is left of its cluster.
fn begun(case: &Case<'_>, old: &Report, new: &Report) -> Verdict {
    let (name, data) = (case.name(new), &new.facts.data);
    let summary = format!(
        "{name} began a cluster anew on [{data}], in the place of one of the cluster of {}: with a new data directory it can \
         join that; what was written to it since is left in [{data}]",
        case.name(old)
    );
    let evidence = case.says(old, format!("[{}] was of my cluster", case.name_at(&new.explanation.node.address)));
    let mend = case.text(new, "path.data", &format!("{data}-new"));
    verdict(Code::ForeignCluster, &name, summary).because(evidence).mended(mend).only(Certainty::Likely)
}

/// New nodes whose own configuration was used before, from another directory. With a master only if most of the nodes are
/// such, or if one is apart: else what they left is here as well.
fn of_abandoned(case: &Case<'_>) -> Vec<Verdict> {
    let new: Vec<&Report> = case.reports.iter().filter(|report| report.facts.abandoned.is_some()).collect();
    let are_most = new.len() > case.reports.len() / 2;
    let own = case.me.explanation.cluster_uuid;
    let is_apart = |report: &Report| report.explanation.cluster_uuid != own;
    let is_worth = |report: &&&Report| case.is_masterless() || are_most || is_apart(report);
    new.iter().filter(is_worth).filter_map(|report| abandoned(case, report)).collect()
}

/// A node in the place of another one, on a directory where a file system is to be mounted and is not.
fn unmounted(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let (mount, node) = (report.facts.unmounted.as_deref()?, &report.explanation.node);
    let voters = case.reports.iter().flat_map(|other| &other.explanation.needed).flat_map(|quota| &quota.members);
    let voters = voters.map(|member| (&*member.id, case.place(member).1));
    let remembered = case.reports.iter().flat_map(|other| &other.facts.remembered);
    let remembered = remembered.map(|other| (other.id.as_str(), Some(other.address.clone())));
    let is_in_place = |(id, at): (&str, Option<Address>)| id != node.id.as_str() && at.as_ref() == Some(&node.address);
    if !voters.chain(remembered).any(is_in_place) {
        return None;
    }
    let name = case.name(report);
    let summary = format!(
        "{name} began anew: a file system is to be mounted at [{mount}] and is not, and what it had on disk may be on that"
    );
    let evidence =
        case.says(report, format!("I began on [{}] with nothing, and /etc/fstab mounts [{mount}]", report.facts.data));
    let mend = case.restart(report, &format!("mount {} && ", quoted(mount)), |start| start);
    Some(verdict(Code::DataElsewhere, name, summary).because(evidence).mended(mend).only(Certainty::Likely))
}

fn abandoned(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let (name, data) = (case.name(report), &report.facts.data);
    let left = report.facts.abandoned.as_deref()?;
    let summary = format!(
        "{name} is new on the data directory [{data}], and a node of the same configuration was started from another \
         directory before: what it had on disk is in [{left}]"
    );
    let evidence = case.says(report, "path.data is relative, and is looked for where a node is started");
    let mend = case.restart(report, "", |start| start.on(left));
    Some(verdict(Code::DataElsewhere, name, summary).because(evidence).mended(mend).only(Certainty::Likely))
}

/// A member that came back on another data directory than the one that it left, which is still there.
pub(super) fn displaced(case: &Case<'_>, teller: &Report, member: &Member) -> Option<Verdict> {
    let (name, place) = case.place(member);
    let place = place?;
    let report = case.at(&place).filter(|report| case.is_here(report))?;
    // What is damaged it cannot go back to.
    let is_damaged = |sibling: &Sibling| sibling.obstacle.as_ref().is_some_and(|one| one.code == Code::DataDamaged);
    let left = case.siblings().filter(|known| known.sibling.last.as_ref() == Some(&place));
    // A copy of another node's data was never its own.
    let is_its = |id: &Option<NodeId>| id.as_ref().is_none_or(|id| id.as_str() == &*member.id);
    let left = left.filter(|known| !is_damaged(known.sibling) && is_its(&known.sibling.id));
    let left = left.filter_map(|known| known.sibling.left_behind(&report.facts.data)).map(ToOwned::to_owned);
    let strays = case.reports.iter().filter(|by| case.is_here(by)).flat_map(|by| &by.facts.strays);
    let strays = strays.filter(|stray| stray.address == place && stray.data != report.facts.data && is_its(&stray.id));
    let strays = strays.map(|stray| stray.data.clone());
    let left = left.chain(strays).next()?;
    let summary =
        format!("{name} runs on the data directory [{}], and what it had on disk is in [{left}]", report.facts.data);
    let what = format!("another id than [{}] answers in the place of {name}", member.id);
    let mend = case.restart(report, "", |start| start.on(&left));
    Some(verdict(Code::DataElsewhere, name, summary).because(case.says(teller, what)).mended(mend))
}
