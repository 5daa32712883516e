//! What is wrong though there is a master: members that do not do as such, what is held back, what contradicts.
//!
//! Who is missing is told in `absent`.

use super::absent;
use super::case::{Case, called, outcome, so_many, verdict};
use super::clock::clocks;
use super::reach::{frozen, parted, refusing};
use super::seeds;
use super::{Certainty, Code, Mend, Report, Sibling, Verdict, Worth};
use crate::cluster::Address;
use crate::service::MINIMUM_MASTER_NODES;
use crate::zen::explain::{Group, Host, PingOutcome, Straggler, UNREACHED};
use std::collections::{BTreeMap, BTreeSet};

/// Settings that mean something else if they differ.
const SHARED: [&str; 3] = [MINIMUM_MASTER_NODES, "gateway.recover_after_nodes", "gateway.recover_after_master_nodes"];

/// So soon after the election more nodes may be about to come.
const COMING_MILLIS: u64 = 4_000;

/// All of it.
pub(super) fn of_standing(case: &Case<'_>, before: &[Verdict]) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = clocks(case);
    if case.is_masterless() {
        verdicts.extend(apart(case, before));
        return verdicts;
    }
    verdicts.extend(absent::of_absence(case));
    verdicts.extend(stragglers(case));
    verdicts.extend(unheard(case));
    verdicts.extend(cut_off(case));
    let is_told = |found: &Verdict| {
        before.iter().any(|verdict| verdict.node == found.node && verdict.code == Code::UnreachablePublishAddress)
    };
    verdicts.extend(misplaced(case).into_iter().filter(|found| !is_told(found)));
    verdicts.extend(refusing(case, before));
    let absent = verdicts.iter().filter(|verdict| is_absence(verdict)).filter_map(|verdict| verdict.node.clone());
    let absent = absent.collect::<BTreeSet<_>>().len();
    verdicts.extend(case.reports.iter().filter_map(|report| gateway(case, report, absent)));
    if !verdicts.iter().any(|verdict| verdict.code == Code::GatewayWaits) {
        verdicts.extend(settings(case));
    }
    verdicts
}

/// Members that do not answer their master, and whose process is stopped.
fn stragglers(case: &Case<'_>) -> Vec<Verdict> {
    let teller = case.master().unwrap_or(case.me);
    let by_master = teller.explanation.nodes.iter().map(|straggler| &*straggler.node);
    let of = |node: &crate::cluster::Node| Some(frozen(case, teller, &called(node), case.stopped(&node.address)?));
    by_master.filter_map(of).collect()
}

/// A member that its master hears, and the node that was asked does not: nobody misses that link before the master goes.
fn unheard(case: &Case<'_>) -> Vec<Verdict> {
    let own = &case.me.explanation.node;
    let Some(master) = case.master().filter(|master| master.explanation.node.id != own.id) else {
        return unreachable_members(case);
    };
    let others = master.facts.members.iter().filter(|(_, address, _)| *address != own.address);
    let of = |(name, address, _): &(String, Address, bool)| {
        let (me, leader) = (case.name(case.me), case.name(master));
        let summary = format!(
            "{me} and {name} do not reach each other, and {leader} reaches both: without it there may be no master"
        );
        let evidence = case.says(case.me, format!("nothing at [{address}] answers or refuses"));
        let other = case.says(master, format!("{name} is a member"));
        verdict(Code::LinkCut, me, summary).because(evidence).because(other).only(Certainty::Likely)
    };
    others.filter(|(_, address, _)| case.is_silent(address)).map(of).collect()
}

/// Members that take no new connection, and are heard all the same over links that they opened.
fn unreachable_members(case: &Case<'_>) -> Vec<Verdict> {
    let own = &case.me.explanation.node.address;
    let others = case.me.facts.members.iter().filter(|(_, address, _)| address != own);
    let of = |(name, address, _): &(String, Address, bool)| {
        let summary = format!(
            "{name} is a member over the links that it holds, and takes no new connection at [{address}]: the way there is \
             cut, as by a firewall, and others could not reach it"
        );
        let evidence = case.says(case.me, format!("nothing at [{address}] answers or refuses"));
        verdict(Code::LinkCut, name, summary).because(evidence).only(Certainty::Likely)
    };
    let hears =
        |address: &Address| case.me.explanation.nodes.iter().all(|straggler| straggler.node.address != *address);
    others.filter(|(_, address, _)| case.is_silent(address) && hears(address)).map(of).collect()
}

/// Those that ask a master to take them in and publish an address at which it does not reach them.
fn misplaced(case: &Case<'_>) -> Vec<Verdict> {
    let Some(master) = case.master() else { return Vec::new() };
    let of = |straggler: &Straggler| {
        let why = straggler.failed.as_deref().filter(|why| why.contains(UNREACHED))?;
        let evidence = case.says(master, why);
        let unseen = || match on_loopback(case, straggler) {
            Some(found) => found,
            None => {
                let summary = format!(
                    "{} is not taken in: {why}; that address is another one's, or a firewall is before it",
                    called(&straggler.node)
                );
                verdict(Code::UnreachablePublishAddress, called(&straggler.node), summary).only(Certainty::Likely)
            }
        };
        let report = case.by_id(&straggler.node.id);
        let found = report.map_or_else(unseen, |report| unreached(case, report, &case.name(master)));
        Some(found.because(evidence))
    };
    master.explanation.nodes.iter().filter_map(of).collect()
}

/// One on another host that says it is reached on loopback: it listens nowhere else, or would not say so.
fn on_loopback(case: &Case<'_>, straggler: &Straggler) -> Option<Verdict> {
    let address = &straggler.node.address;
    let is_here = !address.is_loopback() || case.reports.iter().any(|one| one.explanation.node.address.is_loopback());
    if is_here {
        return None;
    }
    let name = called(&straggler.node);
    let summary =
        format!("{name} publishes [{address}], which is another place on every host: the others cannot answer it");
    // The seed hosts where no member is, if that is one.
    let seeds = case.reports.iter().flat_map(|report| report.facts.seeds.iter().flatten());
    let hosts = seeds.map(|seed| Address::from(&**seed).host().to_owned());
    let is_member =
        |host: &String| case.reports.iter().flat_map(|one| &one.facts.members).any(|one| one.1.host() == host);
    let untaken: BTreeSet<String> = hosts.filter(|host| !is_member(host)).collect();
    let host = untaken.first().filter(|_| untaken.len() == 1).cloned();
    let mend = host.map(|host| {
        let line = Mend::setting("network.host", &Worth::Text(host.clone()), None);
        Mend { host: Some(host), ..line.about(&*name) }
    });
    Some(verdict(Code::LoopbackOnly, name, summary).mended(mend).only(Certainty::Likely))
}

/// A node that a master does not reach where it publishes to be: it may be where it reaches the others from.
fn unreached(case: &Case<'_>, report: &Report, leader: &str) -> Verdict {
    let (name, address) = (case.name(report), &report.explanation.node.address);
    let outward = report.facts.outward.as_deref().filter(|outward| *outward != address.host());
    let barred = if outward.is_none() { ": a firewall lets nobody in there, or the way back is cut" } else { "" };
    let summary = format!("{name} publishes [{address}], where {leader}, which is master, does not reach it{barred}");
    let mend = outward.map(|outward| case.publish(report, outward));
    verdict(Code::UnreachablePublishAddress, name, summary).mended(mend).only(Certainty::Likely)
}

/// A node that runs and does not reach the master of the one that was asked, which reaches both.
fn cut_off(case: &Case<'_>) -> Vec<Verdict> {
    let Some(master) = case.master() else { return Vec::new() };
    let leader = &master.explanation.node;
    let silence = |report: &Report| {
        let is_it = |host: &&Host| host.address == leader.address && host.outcome == PingOutcome::TimedOut;
        report.explanation.hosts.iter().find(is_it).map(|host| format!("[{}] {}", host.address, outcome(&host.outcome)))
    };
    let of = |report: &Report| {
        let is_apart = report.explanation.master_node.is_none() && report.facts.cuts.is_empty();
        let what = silence(report).filter(|_| is_apart && master.facts.cuts.is_empty())?;
        let name = case.name(report);
        let third = (!std::ptr::eq(master, case.me)).then(|| case.name(case.me));
        let summary = parted(&name, &case.name(master), third.as_deref());
        let found = verdict(Code::LinkCut, name, summary).because(case.says(report, what));
        Some(found.only(Certainty::Likely))
    };
    case.reports.iter().filter_map(of).collect()
}

/// Whether somebody is told to come back.
fn is_absence(verdict: &Verdict) -> bool {
    matches!(verdict.code, Code::VoterDown | Code::MemberDown | Code::FrozenNode | Code::LinkCut | Code::BadSettings)
}

/// Requests are held back until more nodes are there. Where those that are absent are enough nothing else is to be done.
fn gateway(case: &Case<'_>, teller: &Report, absent: usize) -> Option<Verdict> {
    let is_eligible = teller.explanation.node.is_master_eligible();
    if !teller.facts.waits_for_gateway
        || !is_eligible
        || teller.explanation.cluster_uuid != case.me.explanation.cluster_uuid
    {
        return None;
    }
    let members = &teller.facts.members;
    let eligible = members.iter().filter(|(_, _, is_eligible)| *is_eligible).count();
    let holding = teller.facts.data_members.unwrap_or(members.len());
    // Those who vote were there, and one of them may be about to come back; not everyone who votes holds data.
    let quota = teller.explanation.needed.iter().find(|quota| quota.of == Group::VotingSet);
    let voters = quota.map_or(0, |quota| quota.members.len());
    // And so may those whose configurations lie beside.
    let all = voters.max(with_siblings(case, teller, |_| true));
    let able = voters.max(with_siblings(case, teller, |one| one.is_eligible));
    let counts = [
        ("gateway.recover_after_nodes", members.len(), all),
        ("gateway.recover_after_master_nodes", eligible, able),
        ("gateway.recover_after_data_nodes", holding, 0),
        ("gateway.expected_nodes", members.len(), all),
        ("gateway.expected_master_nodes", eligible, able),
        ("gateway.expected_data_nodes", holding, 0),
    ];
    let asks = |key: &str| teller.facts.given.get(key).and_then(|value| value.parse::<usize>().ok());
    let is_short = |(key, there, least)| Some((key, asks(key).filter(|wanted| *wanted > there)?, there, least));
    let (key, wanted, there, least) = counts.into_iter().find_map(is_short)?;
    let name = case.name(teller);
    let summary = format!(
        "the state is held back until [{key}: {wanted}] is met by that many nodes, and there {}",
        so_many(there)
    );
    let evidence = case.says(teller, format!("[{key}] asks for [{wanted}] nodes"));
    let lower = if least < wanted { there.max(least) } else { there };
    // After a full restart nodes come one after the other, and what is expected is waited for no longer than a time.
    let is_young = case.master().is_some_and(|master| master.explanation.since_millis < COMING_MILLIS);
    let may_come = is_young && key.starts_with("gateway.expected_");
    let mend = (there + absent < wanted && !may_come).then(|| case.plain(teller, key, lower));
    let found = verdict(Code::GatewayWaits, &name, summary).because(evidence).mended(mend);
    Some(if may_come { found.only(Certainty::Possible) } else { found })
}

/// A node and those of its cluster whose configurations lie beside its own.
fn with_siblings(case: &Case<'_>, teller: &Report, is_one: fn(&Sibling) -> bool) -> usize {
    let cluster = teller.explanation.cluster_name.as_str();
    let beside = case.siblings().map(|known| known.sibling).filter(|one| one.cluster == cluster && is_one(one));
    let names: BTreeSet<&str> = beside.filter_map(|one| one.name.as_deref()).collect();
    1 + names.iter().filter(|name| **name != &*teller.explanation.node.name).count()
}

/// Settings that most nodes have otherwise than one.
pub(super) fn settings(case: &Case<'_>) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let sets = case.reports.iter().flat_map(|report| &report.explanation.needed);
    let sets = sets.filter(|quota| quota.of == Group::VotingSet).map(|quota| quota.members.len());
    let voters = sets.max();
    let majority = voters.map(|voters| (voters / 2 + 1).to_string());
    let answering = case.reports.iter().filter(|report| report.explanation.node.is_master_eligible()).count();
    let eligible = answering.max(voters.unwrap_or(0));
    for key in SHARED {
        let nodes = by_value(case, key);
        // A minimum should be a majority, whatever most nodes have, and must not be more than there are.
        let is_minimum = key == MINIMUM_MASTER_NODES;
        let rank = |value: &str, reports: &[&Report]| (is_minimum && majority.as_deref() == Some(value), reports.len());
        let may_be = |value: &str| !is_minimum || value.parse::<usize>().is_ok_and(|number| number <= eligible);
        let most = nodes.iter().filter(|(value, _)| may_be(value)).max_by_key(|(value, reports)| rank(value, reports));
        let most = most.filter(|_| nodes.len() > 1).map(|(value, reports)| (*value, reports.len()));
        // Whoever was given none goes by the majority.
        let silent = answering - nodes.values().map(Vec::len).sum::<usize>().min(answering);
        let by_majority =
            majority.as_deref().filter(|_| is_minimum && silent > 0 && !nodes.keys().any(|value| may_be(value)));
        let Some((right, count)) = most.or(by_majority.map(|right| (right, silent))) else { continue };
        let go_by =
            if most.is_some() { ["another one has", "others have"] } else { ["another one goes by", "others go by"] };
        for (value, reports) in nodes.iter().filter(|(value, _)| **value != right) {
            for report in reports {
                let name = case.name(report);
                let summary = format!(
                    "{name} has [{key}: {value}], and {} [{right}]",
                    if count == 1 { go_by[0].to_owned() } else { format!("[{count}] {}", go_by[1]) }
                );
                let evidence = case.says(report, format!("I was given [{key}: {value}]"));
                let found = verdict(Code::SettingsDiffer, &name, summary).because(evidence);
                verdicts.push(found.mended(case.set(report, key, &value_of(right))));
            }
        }
    }
    verdicts
}

/// The nodes that have a setting, by what they have. The state's minimum goes over all of theirs, and that of a node that
/// cannot be master is asked by nobody.
fn by_value<'a>(case: &Case<'a>, key: &str) -> BTreeMap<&'a str, Vec<&'a Report>> {
    let is_minimum = key == MINIMUM_MASTER_NODES;
    let counts = |report: &&Report| {
        !is_minimum || report.explanation.node.is_master_eligible() && report.facts.minimum_of_state.is_none()
    };
    let mut nodes: BTreeMap<&str, Vec<&Report>> = BTreeMap::new();
    for report in case.reports.iter().filter(counts) {
        // With -1 it goes by the default, as who was given nothing.
        if let Some(value) = report.facts.given.get(key).filter(|value| !(is_minimum && *value == "-1")) {
            nodes.entry(value).or_default().push(report);
        }
    }
    nodes
}

/// A number stays one.
fn value_of(text: &str) -> Worth {
    if text.parse::<u64>().is_ok() { Worth::Plain(text.to_owned()) } else { Worth::Text(text.to_owned()) }
}

/// Others have a master, this node is not with them, and nothing else tells why.
fn apart(case: &Case<'_>, before: &[Verdict]) -> Option<Verdict> {
    let master = case.reports.iter().find_map(|report| report.explanation.master_node.as_ref())?;
    // Another one may have seen it a moment before this node stepped down.
    let is_own = master.id == case.me.explanation.node.id;
    if !before.is_empty() || is_own || case.me.facts.discovery == "single-node" {
        return None;
    }
    let (own, leader) = (case.name(case.me), called(master));
    let report = case.by_id(&master.id);
    let refusal = report.and_then(|report| {
        let own = &case.me.explanation.node.id;
        report.explanation.nodes.iter().find(|one| one.node.id == *own)?.failed.clone()
    });
    let why = refusal.map_or_else(String::new, |why| format!(": {why}"));
    if why.contains(UNREACHED) {
        let evidence = case.says(case.me, case.me.explanation.summary.clone());
        return Some(unreached(case, case.me, &leader).because(evidence));
    }
    let evidence = case.says(case.me, case.me.explanation.summary.clone());
    if let Some(mend) = seeds::with_those_who_answer(case) {
        let summary = format!("{leader} is master, and none of the seed hosts of {own} answers");
        let found = verdict(Code::WrongSeed, own, summary).because(evidence).only(Certainty::Likely);
        return Some(found.mended(mend));
    }
    let summary = format!("{leader} is master, and {own} is not with it{why}");
    Some(verdict(Code::LinkCut, own, summary).because(evidence).only(Certainty::Possible))
}
