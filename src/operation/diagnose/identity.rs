//! Who is of another cluster, or goes by another's id, or speaks another way.

use super::case::{Case, HOSTS, called, verdict};
use super::elsewhere::{began_anew, is_left_behind};
use super::kin::{is_alone, is_meant, is_slip, lie_side_by_side};
use super::mends::{holding, on_new_data};
use super::reach::PROVIDER;
use super::seed_host::{is_seed_of, seeds_of_others};
use super::{Certainty, Code, Found, Mend, Report, Start, Verdict, Worth, ended};
use crate::cluster::{Address, Node};
use crate::zen::explain::PingOutcome;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The name of a cluster whose nodes were given none.
const UNNAMED: &str = "elasticsearch";

/// All of it.
pub(super) fn of_identity(case: &Case<'_>) -> Vec<Verdict> {
    let mut verdicts = names(case);
    verdicts.extend(uuids(case));
    verdicts.extend(twins(case));
    verdicts.extend(versions(case));
    verdicts.extend(alone(case));
    verdicts
}

/// Nodes that go by one cluster name.
#[derive(Default)]
struct Party {
    nodes: BTreeMap<Address, String>,
    is_formed: bool,
}

fn parties(case: &Case<'_>) -> BTreeMap<String, Party> {
    let mut parties: BTreeMap<String, Party> = BTreeMap::new();
    for report in case.reports.iter().filter(|report| !is_single(report)) {
        let party = parties.entry(report.explanation.cluster_name.as_str().to_owned()).or_default();
        party.nodes.insert(report.explanation.node.address.clone(), case.name(report));
        party.is_formed |= report.explanation.cluster_uuid.is_some();
        for host in report.explanation.hosts.iter().filter(|_| is_meant(report)) {
            if let PingOutcome::OtherClusterName { theirs, .. } = &host.outcome {
                let name = host.node.as_ref().map_or_else(|| host.address.to_string(), |node| called(node));
                let address = host.node.as_ref().map_or(&host.address, |node| &node.address);
                parties.entry(theirs.as_str().to_owned()).or_default().nodes.insert(address.clone(), name);
            }
        }
    }
    // Whom nobody hears may have said of which cluster it is, and who looks for it.
    for failed in case.reports.iter().flat_map(|report| &report.facts.failed_starts) {
        let (Some(cluster), Some(address)) = (&failed.cluster, failed.addresses.first()) else { continue };
        let is_told = parties.values().any(|party| party.nodes.contains_key(address));
        if let Some(party) = parties.get_mut(cluster).filter(|_| !is_told) {
            party.nodes.insert(address.clone(), failed.name.clone());
        }
    }
    parties
}

fn names(case: &Case<'_>) -> Vec<Verdict> {
    let parties = parties(case);
    let own = case.me.explanation.cluster_name.as_str();
    let Some(ours) = parties.get(own) else { return Vec::new() };
    let others = parties.iter().filter(|(name, _)| *name != own);
    others.flat_map(|(name, theirs)| between(case, (own, ours), (name, theirs))).collect()
}

/// Which of two parties is wrong.
fn between(case: &Case<'_>, ours: (&str, &Party), theirs: (&str, &Party)) -> Vec<Verdict> {
    if ours.1.is_formed && theirs.1.is_formed {
        if let Some(found) = strayed(case, ours, theirs).or_else(|| strayed(case, theirs, ours)) {
            return vec![found];
        }
        return theirs
            .1
            .nodes
            .keys()
            .filter_map(|address| foreign(case, address, &format!("cluster [{}]", theirs.0)))
            .collect();
    }
    let files = |name: &str| {
        let files = case.siblings().map(|known| known.sibling).filter(|sibling| sibling.cluster == name);
        files.map(|one| (&one.file, &one.data)).collect::<BTreeSet<_>>().len()
    };
    let rank = |party: (&str, &Party)| (party.1.is_formed, party.1.nodes.len(), files(party.0));
    // Where nothing tells them apart all must tell the same, or each would take the other one's name.
    let order = |party: (&str, &Party)| (rank(party), party.0 != UNNAMED, Reverse(party.0.to_owned()));
    let (right, wrong) = if order(theirs) > order(ours) { (theirs, ours) } else { (ours, theirs) };
    let is_sure = rank(right) > rank(wrong);
    let of = |(address, name): (&Address, &String)| {
        let report = case.at(address).filter(|report| report.explanation.cluster_name.as_str() == wrong.0);
        let worth = Worth::Text(right.0.to_owned());
        let mend = match (report, case.sibling_at(address)) {
            (Some(report), _) => case.set(report, "cluster.name", &worth),
            (None, Some(known)) => case.set_sibling(known, "cluster.name", &worth),
            (None, None) => Mend::setting("cluster.name", &worth, None),
        };
        let summary = format!("{name} is of cluster [{}], and those it should be with are of [{}]", wrong.0, right.0);
        let own = case.me.explanation.cluster_name.as_str();
        let what = match own == wrong.0 {
            true => format!("I am of [{own}], and others that I ask of [{}]", right.0),
            false => format!("{name} ({address}) is of [{}], this node of [{own}]", wrong.0),
        };
        let found =
            verdict(Code::WrongClusterName, name, summary).because(case.says(case.me, what)).mended(mend.about(name));
        if is_sure { found } else { found.only(Certainty::Possible) }
    };
    wrong.1.nodes.iter().map(of).collect()
}

/// A cluster of one that another of several nodes has among its seed hosts: it formed alone under a wrong name.
fn strayed(case: &Case<'_>, many: (&str, &Party), one: (&str, &Party)) -> Option<Verdict> {
    let address = one.1.nodes.keys().next().filter(|_| one.1.nodes.len() == 1)?;
    // Who holds something under its name did not stray.
    let strays = |report: &&Report| report.facts.members.len() == 1 && !report.facts.holds_something;
    let report = case.at(address).filter(strays)?;
    let is_of_many =
        |other: &&Report| other.explanation.cluster_name.as_str() == many.0 && other.facts.members.len() > 1;
    let others = case.reports.iter().filter(is_of_many);
    let names = |other: &&Report| other.facts.seeds.iter().flatten().any(|seed| is_seed_of(seed, address));
    let other = others.clone().find(names)?;
    // Whom only one names by mistake, and who names none of them, is of a cluster of its own.
    let own = seeds_of_others(report);
    let is_named_by_it = |other: &Report| own.iter().any(|seed| is_seed_of(seed, &other.explanation.node.address));
    let is_lost =
        || own.is_empty() && (one.0 == UNNAMED || is_slip(one.0, many.0)) && others.clone().all(|other| names(&other));
    if !(others.clone().any(is_named_by_it) || is_lost()) {
        return None;
    }
    let name = case.name(report);
    let summary = format!("{name} is cluster [{}] by itself, and those that look for it are of [{}]", one.0, many.0);
    let evidence = case.says(other, format!("[{address}] is among my seed hosts"));
    // What it formed is of the other name: it joins with a data directory of its own.
    let joining = |start: Start| {
        let data = format!("{}-{}", report.facts.data, many.0);
        let start = start.with("cluster.name", &Worth::Text(many.0.to_owned())).on(&data);
        let members = other.facts.members.iter().map(|(_, address, _)| address.to_string()).collect();
        if own.is_empty() { start.with(HOSTS, &Worth::List(members)) } else { start }
    };
    let mend = case.restart(report, "", joining);
    let found = verdict(Code::WrongClusterName, name, summary).because(evidence).mended(mend);
    Some(found.only(Certainty::Likely))
}

/// Of a master that other hosts could reach, and that was never anything but alone: it looks for nobody.
pub(super) fn remark(case: &Case<'_>) -> Option<String> {
    let Report { explanation, facts, .. } = case.me;
    let is_by_settings = facts.given.get(PROVIDER).is_none_or(|provider| provider.is_empty());
    let looks_for_nobody = is_by_settings && !is_single(case.me) && seeds_of_others(case.me).is_empty();
    // Its history tells of itself.
    let knew_nobody = facts.remembered.iter().all(|node| node.id == explanation.node.id);
    let is_lone = is_alone(case.me) && knew_nobody && !explanation.node.address.is_loopback();
    (!case.is_masterless() && is_lone && looks_for_nobody).then(|| {
        format!(
            "it is a cluster by itself, and names no other node as seed host: if others belong to it, name them all in \
             {HOSTS} of each; if none does, `discovery.type: single-node` says so"
        )
    })
}

/// A node of ours has an address among its seed hosts that is of another cluster.
fn foreign(case: &Case<'_>, address: &Address, what: &str) -> Option<Verdict> {
    let own = &case.me.explanation.cluster_name;
    let names_it = |report: &&Report| {
        let seeds = report.facts.seeds.as_ref();
        report.explanation.cluster_name == *own
            && seeds.is_some_and(|seeds| seeds.iter().any(|seed| is_seed_of(seed, address)))
    };
    let report = case.reports.iter().find(names_it)?;
    let seeds = report.facts.seeds.as_deref().unwrap_or_default();
    let mend = case.hosts(report, seeds, |seed| (!is_seed_of(seed, address)).then(|| seed.to_owned()));
    let name = case.name(report);
    let summary = format!("{name} has [{address}] among its seed hosts, which is of {what}");
    let evidence = case.says(report, format!("[{address}] answered that it is of {what}"));
    Some(verdict(Code::ForeignCluster, &name, summary).because(evidence).mended(mend))
}

/// A cluster by itself is no other one: that it lets nobody in is what is wrong.
fn is_single(report: &Report) -> bool {
    report.facts.discovery == "single-node"
}

fn uuids(case: &Case<'_>) -> Vec<Verdict> {
    let of = |host: &crate::zen::explain::Host| {
        let PingOutcome::OtherClusterUuid { theirs, .. } = &host.outcome else { return None };
        let address = host.node.as_ref().map_or(&host.address, |node| &node.address);
        let other = case.at(address);
        if other.is_some_and(is_single) || other.is_none() && !is_meant(case.me) {
            return None;
        }
        let weight = |report: &Report| (report.explanation.master_node.is_some(), report.facts.members.len());
        let are_lone = |other: &Report| is_alone(case.me) && is_alone(other);
        let odd = match other {
            Some(other) if weight(other) < weight(case.me) => Some((other, case.me)),
            Some(other) if weight(case.me) < weight(other) => Some((case.me, other)),
            Some(other) if are_lone(other) && rank(case, other) < rank(case, case.me) => Some((other, case.me)),
            Some(other) if are_lone(other) => Some((case.me, other)),
            Some(_) | None => None,
        };
        // Who is of another cluster began anew, or is what is left of the one that was.
        let is_told = |report: &Report| is_left_behind(case, report) || began_anew(case, report);
        if is_told(case.me) || other.is_some_and(is_told) {
            return None;
        }
        let small = odd.filter(|(odd, _)| odd.facts.members.len() <= 1 || odd.explanation.master_node.is_none());
        let Some((odd, home)) = small else {
            let uuid = theirs.map_or_else(String::new, |uuid| uuid.to_string());
            return foreign(case, address, &format!("another cluster of this name, [{uuid}]"));
        };
        let name = case.name(odd);
        let summary = format!(
            "{name} has the data directory of another cluster than {}: with a new one it can join{}",
            case.name(home),
            holding(odd)
        );
        let evidence = case.says(case.me, format!("[{address}] is of another cluster of the same name"));
        let mend = on_new_data(case, odd);
        Some(verdict(Code::ForeignCluster, &name, summary).because(evidence).mended(mend))
    };
    let mut verdicts: Vec<Verdict> = case.me.explanation.hosts.iter().filter_map(of).collect();
    if !case.is_masterless() {
        verdicts.extend(case.reports.iter().filter_map(|other| apart(case, other)));
    }
    verdicts
}

/// With a master: a seed host of this node, or a node beside it, is of another cluster of the same name.
fn apart(case: &Case<'_>, other: &Report) -> Option<Verdict> {
    let (own, its) = (&case.me.explanation, &other.explanation);
    let is_foreign = its.cluster_uuid.is_some() && its.cluster_uuid != own.cluster_uuid;
    if !is_foreign || its.cluster_name != own.cluster_name || is_single(case.me) || is_single(other) {
        return None;
    }
    if [case.me, other].into_iter().any(|report| is_left_behind(case, report) || began_anew(case, report)) {
        return None;
    }
    let (name, address) = (case.name(case.me), &its.node.address);
    let seeds = seeds_of_others(case.me);
    let is_beside_many = is_alone(case.me) && other.facts.members.len() > 1;
    let evidence = case.says(
        other,
        format!("I am of cluster [{}] of this name, with {} nodes", its.cluster_uuid?, other.facts.members.len()),
    );
    if seeds.is_empty() && is_beside_many {
        let members: Vec<String> = other.facts.members.iter().map(|(_, address, _)| address.to_string()).collect();
        let summary =
            format!("{name} has {} and is a cluster by itself, beside one of the same name", no_others(case.me));
        let mend = case.hosts(case.me, &members, |host| Some(host.to_owned()));
        return Some(verdict(without_others(case.me), name, summary).because(evidence).mended(mend));
    }
    let wants_in = seeds_of_others(other).iter().any(|seed| is_seed_of(seed, &own.node.address));
    let is_lost = other.facts.members.len() <= 1 || its.master_node.is_none();
    if is_lost && case.me.facts.members.len() > 1 && wants_in {
        let name = case.name(other);
        let summary = format!(
            "{name} has the data directory of another cluster, though it names {}: with a new one it can join{}",
            case.name(case.me),
            holding(other)
        );
        let mend = on_new_data(case, other);
        return Some(verdict(Code::ForeignCluster, name, summary).because(evidence).mended(mend));
    }
    if !seeds.iter().any(|seed| is_seed_of(seed, address)) {
        let one_is_alone = is_alone(case.me) || is_alone(other);
        let are_apart = !wants_in && one_is_alone && lie_side_by_side(case.me, other);
        return are_apart.then(|| side_by_side(case, other).because(evidence));
    }
    if is_alone(case.me) && is_alone(other) && wants_in {
        let (odd, home) = if rank(case, other) < rank(case, case.me) { (other, case.me) } else { (case.me, other) };
        let summary = format!(
            "{} and {} are clusters by themselves, and each is a seed host of the other: with a new data directory {} can \
             join{}",
            case.name(home),
            case.name(odd),
            case.name(odd),
            holding(odd)
        );
        let mend = on_new_data(case, odd);
        return Some(verdict(Code::ForeignCluster, case.name(odd), summary).because(evidence).mended(mend));
    }
    if !is_beside_many {
        let found = without_seeds(case, other).map(|found| found.because(evidence));
        return found.or_else(|| foreign(case, address, "another cluster of this name"));
    }
    let summary =
        format!("{name} has the data directory of another cluster than its seed hosts: with a new one it can join");
    let (mend, summary) = (on_new_data(case, case.me), summary + holding(case.me));
    Some(verdict(Code::ForeignCluster, name, summary).because(evidence).mended(mend))
}

/// Of two that are clusters by themselves the one that holds something stays, else the first by name.
fn rank(case: &Case<'_>, report: &Report) -> (bool, Reverse<String>) {
    (report.facts.holds_something, Reverse(case.name(report)))
}

/// Two clusters whose configurations lie in one directory, one of them of one node: they may have been meant to be one. Who
/// is alone and holds nothing of users can join the other, with a data directory of its own.
fn side_by_side(case: &Case<'_>, other: &Report) -> Verdict {
    let may_join = |report: &&Report| is_alone(report) && !report.facts.holds_something;
    let joiner = [case.me, other].into_iter().filter(may_join).max_by_key(|report| case.name(report));
    let (odd, home) = match joiner {
        Some(joiner) if !std::ptr::eq(joiner, case.me) => (joiner, case.me),
        Some(_) | None => (case.me, other),
    };
    let (name, of) = (case.name(odd), case.name(home));
    let summary = format!(
        "{name} is a cluster by itself, beside that of {of}, whose configuration lies beside: neither is a seed host of the \
         other, and what each has is in its own cluster only"
    );
    let seeds: Vec<String> = home.facts.members.iter().map(|(_, address, _)| address.to_string()).collect();
    let new = format!("{}-new", odd.facts.data);
    let joining = |start: Start| start.on(&new).with(HOSTS, &Worth::List(seeds.clone()));
    let mend = joiner.and_then(|joiner| case.restart(joiner, "", joining));
    verdict(without_others(odd), name, summary).mended(mend).only(Certainty::Likely)
}

/// What is wrong with the seed hosts of who is a cluster by itself.
fn without_others(report: &Report) -> Code {
    if report.facts.seeds.as_ref().is_some_and(|seeds| !seeds.is_empty()) { Code::WrongSeed } else { Code::NoSeeds }
}

/// The same in words, of one that names no other node.
fn no_others(report: &Report) -> &'static str {
    if without_others(report) == Code::NoSeeds { "no seed hosts" } else { "no seed host but itself" }
}

/// A seed host of this cluster that is one by itself, as it has no seed hosts.
fn without_seeds(case: &Case<'_>, other: &Report) -> Option<Verdict> {
    let (ours, theirs) = (&case.me.facts.members, &other.facts.members);
    if !seeds_of_others(other).is_empty() || theirs.len() != 1 || ours.len() < 2 {
        return None;
    }
    let (name, of) = (case.name(other), case.name(case.me));
    let summary = format!(
        "{name} names no other node as seed host and is a cluster by itself, beside that of {of}, which looks for it"
    );
    let members: Vec<String> = ours.iter().map(|(_, address, _)| address.to_string()).collect();
    let mend = case.hosts(other, &members, |host| Some(host.to_owned()));
    Some(verdict(Code::NoSeeds, name, summary).mended(mend))
}

fn twins(case: &Case<'_>) -> Vec<Verdict> {
    let told = case.reports.iter().flat_map(|report| report.explanation.hosts.iter().map(move |host| (report, host)));
    let told = told.filter(|(_, host)| host.outcome == PingOutcome::DuplicateId);
    let pairs = told.filter_map(|(report, host)| Some((report, host.node.as_ref()?)));
    let both = |one: &Report, other: &Arc<Node>| -> Option<Verdict> {
        let twin = case.at(&other.address);
        let is_member = |address: &Address| {
            case.reports.iter().flat_map(|report| &report.facts.members).any(|(_, at, _)| at == address)
        };
        let leads = |report: &Report| report.explanation.master_node.is_some();
        // Whose place was that of another id before has the copy.
        let had_another = |node: &Node| {
            let mut all = case.reports.iter().flat_map(|report| &report.facts.remembered);
            all.any(|known| known.id != node.id && *known.name == *node.name && known.address == node.address)
        };
        let copy = match twin {
            Some(twin) if had_another(other) && !had_another(&one.explanation.node) => twin,
            Some(_) if had_another(&one.explanation.node) && !had_another(other) => one,
            Some(twin) if leads(one) && !leads(twin) => twin,
            Some(twin) if is_member(&one.explanation.node.address) && !is_member(&other.address) => twin,
            Some(_) | None => one,
        };
        let original = if std::ptr::eq(copy, one) { called(other) } else { case.name(one) };
        let (name, data) = (case.name(copy), &copy.facts.data);
        let summary = format!("{name} goes by the id of {original}: its data directory is a copy of the other's");
        let evidence = case.says(one, format!("[{}] answered with this node's id [{}]", other.address, other.id));
        let mend = case.text(copy, "path.data", &format!("{data}-new"));
        Some(verdict(Code::DuplicateNodeId, &name, summary).because(evidence).mended(mend))
    };
    let mut verdicts: Vec<Verdict> = pairs.filter_map(|(report, node)| both(report, node)).collect();
    verdicts.truncate(1);
    verdicts
}

fn versions(case: &Case<'_>) -> Vec<Verdict> {
    let probes = case.me.facts.probes.iter();
    let of = |probe: &super::Probe| {
        let Found::Version(version) = probe.found else { return None };
        let name = case.name_at(&probe.address);
        let summary =
            format!("{name} speaks version [{version}] of the protocol, and this node version [{}]", case.me.wire);
        let evidence = case.says(case.me, format!("[{}] answered in version [{version}]", probe.address));
        let pid = case.me.facts.processes.iter().find(|process| process.address == probe.address).map(|one| one.pid);
        // With the program of this node, so it must be on this host.
        let known = case.sibling_at(&probe.address).filter(|known| case.is_here(known.by));
        let mend = pid
            .zip(known)
            .map(|(pid, known)| Start::of(&case.me.facts.binary, known.sibling).mend(&ended(pid)).about(&name));
        Some(verdict(Code::ProtocolVersion, &name, summary).because(evidence).mended(mend))
    };
    probes.filter_map(of).collect()
}

/// Who is a cluster by itself though others look for it, or though it names others.
fn alone(case: &Case<'_>) -> Vec<Verdict> {
    let is_wanted = |report: &&Report| {
        let address = &report.explanation.node.address;
        let is_pinged = case.pings_of(address).iter().any(|(by, _)| !std::ptr::eq(*by, *report));
        let names_others = report.facts.seeds.iter().flatten().any(|seed| !is_seed_of(seed, address));
        let names_it = |other: &&Report| other.facts.seeds.iter().flatten().any(|seed| is_seed_of(seed, address));
        let mut others = case.reports.iter().filter(|other| !std::ptr::eq(*other, *report));
        is_single(report) && (is_pinged || names_others || others.any(|other| names_it(&other)))
    };
    let of = |report: &Report| {
        let name = case.name(report);
        let summary = format!("{name} has discovery.type: single-node: it is a cluster by itself and lets nobody in");
        let evidence = case.says(report, "my discovery.type is [single-node]");
        // What it formed alone is another cluster's: it joins with a data directory of its own.
        let mend = case.plain(report, "discovery.type", "zen");
        verdict(Code::SingleNodeDiscovery, &name, summary).because(evidence).mended(mend)
    };
    case.reports.iter().filter(is_wanted).map(of).collect()
}
