//! Who is missing though there is a master: voters, members that went, and nodes that never ran.
//!
//! Whoever is a member and does not do as one is told of in `standing`.

use super::case::{Case, HOSTS, Known, verdict};
use super::node::full;
use super::reach::{frozen, hung, mute, walled};
use super::seed_host::{FIRST_PORT, is_seed_of};
use super::shell::quoted;
use super::{Certainty, Code, Found, Mend, Remembered, Report, Sibling, Verdict, Worth};
use crate::cluster::Address;
use crate::zen::explain::{Group, Member, Quota, UNREACHED};

/// All of it.
pub(super) fn of_absence(case: &Case<'_>) -> Vec<Verdict> {
    let mut verdicts = voters(case);
    verdicts.extend(gone(case));
    verdicts.extend(never_ran(case));
    verdicts
}

/// A node whose vote counts and that is not a member, or that its master does not hear.
fn voters(case: &Case<'_>) -> Vec<Verdict> {
    let teller = case.master().unwrap_or(case.me);
    let sets = teller.explanation.needed.iter().filter(|quota| quota.of == Group::VotingSet);
    let is_member = |address: &Address| teller.facts.members.iter().any(|(_, at, _)| at == address);
    let missing = sets.flat_map(|quota| &quota.members).filter(|member| !member.found && !case.has_id(&member.id));
    let of = |member: &Member| {
        let (name, place) = case.place(member);
        let address = place.as_ref();
        if let Some(process) = address.and_then(|address| case.stopped(address)) {
            return frozen(case, teller, &name, process);
        }
        if let Some(taken) = address.and_then(|address| case.taken(address)) {
            return taken;
        }
        if let Some(hung) = address.and_then(|address| hung(case, teller, &name, address)) {
            return hung;
        }
        if let Some(full) = address.and_then(|address| full(case, address, &name)) {
            return full;
        }
        let where_ = address.map_or_else(String::new, |address| format!(" at [{address}]"));
        let evidence = case.says(teller, format!("[{name}] is in the voting set and not there"));
        if let Some(silent) = address.filter(|address| case.is_silent(address)) {
            return quiet(case, &name, silent, true).because(evidence);
        }
        if let Some(shared) = address.and_then(|address| shares(case, address, &name)) {
            return shared;
        }
        let start = case.start(address, &name, Some(&member.id));
        let what = address.filter(|_| start.is_none()).map(|address| what_to_do(case, teller, address));
        let went = if case.said_so(&member.id) { "left in good order and is not back" } else { "is not there" };
        let summary = format!("{name}, whose vote counts, {went}{where_}{}", what.unwrap_or_default());
        let found = verdict(Code::VoterDown, &name, summary);
        // A member that fails is taken out, and one on another host can be started there.
        let is_left = |address: &Address| is_member(address) || !is_on_a_known_host(case, address);
        let remove = || (!address.is_some_and(is_left)).then(|| remove(case, teller, &member.id));
        found.because(evidence).mended(start.or_else(remove))
    };
    // Who answers in its place is told of as such.
    let is_taken = |member: &&Member| {
        case.place(member).1.is_some_and(|address| case.is_unbelieved(&address) || case.at(&address).is_some())
    };
    let is_away = |member: &&Member| {
        is_turned_away(teller, &member.id) || case.place(member).1.is_some_and(|address| is_cut(case, &address))
    };
    missing.filter(|member| !is_taken(member) && !is_away(member)).map(of).collect()
}

/// Whether the way to an address was cut by request, which is told by itself: who is there may run.
fn is_cut(case: &Case<'_>, address: &Address) -> bool {
    case.reports.iter().any(|report| report.facts.cuts.iter().any(|cut| cut == address.as_str()))
}

/// Whether nothing is left of a node on its host, those who vote without it are as good a number, and who looks for it does not
/// look for another one of them, or nobody looks for it: somebody put another one in its place.
fn is_replaced(case: &Case<'_>, teller: &Report, node: &Remembered) -> bool {
    let names = |report: &Report, at: &Address| report.facts.seeds.iter().flatten().any(|seed| is_seed_of(seed, at));
    let looking: Vec<&Report> = case.reports.iter().filter(|report| names(report, &node.address)).collect();
    let is_new = |(_, at, is_eligible): &(String, Address, bool)| {
        *is_eligible && looking.iter().any(|one| one.explanation.node.address != *at && !names(one, at))
    };
    if !looking.is_empty() && !teller.facts.members.iter().any(is_new) {
        return false;
    }
    let eligible = teller.facts.members.iter().filter(|(_, _, is_eligible)| *is_eligible).count();
    let votes = |quota: &Quota| quota.of == Group::VotingSet && quota.is_met() && quota.members.len() == eligible;
    let is_left = case.start(Some(&node.address), &node.name, Some(node.id.as_str())).is_some();
    let is_whole = eligible % 2 == 1 && eligible > 1 && teller.explanation.needed.iter().any(votes);
    is_whole && !is_left && is_on_a_known_host(case, &node.address)
}

/// Whether a node asks its master to take it in and is not reached by it: it runs, so that only its address is told of.
fn is_turned_away(teller: &Report, id: &str) -> bool {
    let mut told = teller.explanation.nodes.iter().filter(|one| one.node.id.as_str() == id);
    told.any(|one| one.failed.as_ref().is_some_and(|why| why.contains(UNREACHED)))
}

/// Whether a node was on the host of one that tells what it found there: on another host it can be started.
fn is_on_a_known_host(case: &Case<'_>, address: &Address) -> bool {
    case.reports.iter().any(|report| address.host() == case.host(report))
}

/// What to do about one that went, of which nobody knows how it is started.
fn what_to_do(case: &Case<'_>, teller: &Report, address: &Address) -> String {
    match is_on_a_known_host(case, address) {
        true => ", and nothing on its host tells how it is started".into(),
        false => format!(
            ": start it on {}, or, if it is gone for good, say `{} member remove` of it",
            address.host(),
            quoted(&teller.facts.binary)
        ),
    }
}

/// The command that says of a node that it is gone for good, of which nobody knows how it is started.
fn remove(case: &Case<'_>, teller: &Report, id: &str) -> Mend {
    let (binary, id) = (quoted(&teller.facts.binary), quoted(id));
    let url = quoted(teller.facts.http.as_deref().unwrap_or_default());
    // An id may begin as an option does.
    let line = match id.starts_with('-') {
        true => format!("{binary} member remove --url {url} -- {id}"),
        false => format!("{binary} member remove {id} --url {url}"),
    };
    case.command(teller, line)
}

/// A node that does not answer: its process stands still if it takes connections.
fn quiet(case: &Case<'_>, name: &str, address: &Address, votes: bool) -> Verdict {
    match case.probe(address) {
        Some(Found::Mute) => mute(case, name, address),
        Some(Found::Walled) => walled(name, address),
        Some(_) | None => unreachable(name, address, votes),
    }
}

/// A node at whose address neither an answer nor a refusal comes: it may run well behind a network that does not.
fn unreachable(name: &str, address: &Address, votes: bool) -> Verdict {
    let whose = if votes { ", whose vote counts," } else { "" };
    let summary = format!(
        "{name}{whose} is not there, and nothing at [{address}] answers or refuses: its host is down, or the way to it is cut"
    );
    verdict(Code::LinkCut, name, summary).only(Certainty::Likely)
}

/// A node that went without a good-bye, whose vote counts no more since. Its place may have been taken by another one.
fn gone(case: &Case<'_>) -> Vec<Verdict> {
    let Some(teller) = case.master() else { return Vec::new() };
    let is_gone = |node: &&Remembered| {
        let is_taken = teller.facts.members.iter().any(|(name, at, _)| *at == node.address || *name == node.name);
        let runs = case.runs(&node.address);
        let is_away = is_turned_away(teller, node.id.as_str());
        let is_silent = !runs && !is_away && case.at(&node.address).is_none() && !case.is_unbelieved(&node.address);
        // It may have gone by another name then.
        let votes = |quota: &Quota| quota.members.iter().any(|member| *member.id == *node.id.as_str());
        let is_voter = teller.explanation.needed.iter().filter(|quota| quota.of == Group::VotingSet).any(votes);
        let is_known = is_cut(case, &node.address) || is_removed(case, node) || is_replaced(case, teller, node);
        node.failed && !is_taken && is_silent && !is_voter && !is_known
    };
    let of = |node: &Remembered| {
        if let Some(process) = case.stopped(&node.address) {
            return frozen(case, teller, &node.name, process);
        }
        if let Some(taken) = case.taken(&node.address) {
            return taken;
        }
        if let Some(full) = full(case, &node.address, &node.name) {
            return full;
        }
        if case.is_silent(&node.address) {
            let evidence = case.says(teller, format!("[{}] was a member at [{}] and failed", node.id, node.address));
            return quiet(case, &node.name, &node.address, false).because(evidence);
        }
        let by_file = case.sibling_at(&node.address).map(|known| known.sibling.is_eligible);
        let may_vote = by_file.or(node.is_eligible).unwrap_or(true);
        let (code, whose) = match may_vote && node.votes != Some(false) {
            true => (Code::VoterDown, ""),
            false => (Code::MemberDown, ", whose vote does not count,"),
        };
        let start = case.start(Some(&node.address), &node.name, Some(node.id.as_str()));
        let what = if start.is_some() { "" } else { &what_to_do(case, teller, &node.address) };
        let summary =
            format!("{}{whose} left without a good-bye, and has not come back to [{}]{what}", node.name, node.address);
        let found = verdict(code, &node.name, summary).only(Certainty::Likely);
        let evidence = case.says(teller, format!("[{}] was a member at [{}] and failed", node.id, node.address));
        let remove = || is_on_a_known_host(case, &node.address).then(|| remove(case, teller, node.id.as_str()));
        found.because(evidence).mended(start.or_else(remove))
    };
    missed(case).into_iter().filter(is_gone).map(of).collect()
}

/// Nodes that failed, as any of those tell it that led then: a follower is told only that a node went.
fn missed<'a>(case: &Case<'a>) -> Vec<&'a Remembered> {
    let all = || case.reports.iter().flat_map(|report| &report.facts.remembered);
    let mut missed: Vec<&Remembered> = Vec::new();
    for node in all().filter(|node| node.failed) {
        let said_so = || all().any(|other| other.id == node.id && other.said_so);
        if missed.iter().all(|known| known.id != node.id) && !said_so() {
            missed.push(node);
        }
    }
    missed
}

/// Whether a user said of one that went that it is gone for good. He said it to one node.
fn is_removed(case: &Case<'_>, node: &Remembered) -> bool {
    let told = case.reports.iter().flat_map(|report| &report.facts.remembered);
    told.filter(|other| other.id == node.id).any(|other| other.removed)
}

/// Another node that runs with the data directory that the file of one names.
fn holder<'a>(case: &Case<'a>, known: &Known<'a>) -> Option<&'a Report> {
    let Known { by, sibling } = known;
    let is_holder = |report: &&Report| {
        report.facts.data == sibling.data
            && report.facts.machine == by.facts.machine
            && !sibling.is_at(&report.explanation.node.address)
            && sibling.name.as_deref() != Some(&*report.explanation.node.name)
    };
    case.reports.iter().find(is_holder)
}

/// The same of the node that should be at an address.
fn shares(case: &Case<'_>, address: &Address, name: &str) -> Option<Verdict> {
    let known = case.sibling_at(address)?;
    Some(shares_data(case, &known, name, holder(case, &known)?))
}

/// A node that cannot start, as its file names the data directory of another one: it has its own, or gets one.
fn shares_data(case: &Case<'_>, known: &Known<'_>, name: &str, holder: &Report) -> Verdict {
    let (data, other) = (&known.sibling.data, case.name(holder));
    let summary = format!("{name} cannot start: [{data}] is its path.data, and that of {other}, which runs");
    let evidence = case.says(known.by, format!("a configuration beside mine names the data directory of {other}"));
    let own = known.sibling.left.clone().filter(|left| left != data).unwrap_or_else(|| format!("{data}-{name}"));
    let mend = case.set_sibling(*known, "path.data", &Worth::Text(own));
    verdict(Code::DataInUse, name, summary).because(evidence).mended(mend.about(name))
}

/// Nodes that were set up here and are named among the seed hosts, and that never ran: the cluster was formed without them.
fn never_ran(case: &Case<'_>) -> Vec<Verdict> {
    let Some(teller) = case.master() else { return Vec::new() };
    let cluster = teller.explanation.cluster_name.as_str();
    let is_seed = |address: &Address| {
        case.reports.iter().any(|report| report.facts.seeds.iter().flatten().any(|seed| is_seed_of(seed, address)))
    };
    let is_known = |address: &Address, name: &str| {
        let members = teller.facts.members.iter().map(|(name, address, _)| (name, address));
        let remembered = teller.facts.remembered.iter().map(|node| (&node.name, &node.address));
        members.chain(remembered).any(|(known, at)| known == name || at == address)
    };
    // Who was a member may have been stopped on purpose.
    let is_new = |sibling: &Sibling| {
        let Sibling { last, left, has_begun, has_never_joined, is_data_relative, .. } = sibling;
        *has_never_joined || (last.is_none() && left.is_none() && !has_begun && !is_data_relative)
    };
    let of_cluster = case.siblings().filter(|known| known.sibling.cluster == cluster && !known.sibling.is_elsewhere);
    let mut verdicts: Vec<Verdict> = Vec::new();
    for (known, address) in of_cluster.filter_map(|known| Some((known, known.sibling.place()?))) {
        let holder = holder(case, &known);
        let name = known.sibling.name.clone().unwrap_or_else(|| address.to_string());
        let is_told = verdicts.iter().any(|verdict| verdict.node.as_ref() == Some(&name));
        let may_be_one = is_new(known.sibling) || holder.is_some();
        if !may_be_one || is_told || !is_seed(&address) || is_known(&address, &name) {
            continue;
        }
        verdicts.extend(case.taken(&address));
        if !case.is_there(&address) {
            verdicts.push(match holder {
                Some(holder) => shares_data(case, &known, &name, holder),
                None => has_never_run(case, &known, &name, &address),
            });
        }
    }
    verdicts
}

fn has_never_run(case: &Case<'_>, known: &Known<'_>, name: &str, address: &Address) -> Verdict {
    let code = if known.sibling.is_eligible { Code::VoterDown } else { Code::MemberDown };
    let what = if known.sibling.has_begun { "has never been in a cluster" } else { "has never run" };
    let summary = format!("{name} {what}: it is a seed host, and nobody listens at [{address}]");
    let evidence = case.says(known.by, format!("a configuration beside mine is for a node at [{address}]"));
    let found = verdict(code, name, summary).only(Certainty::Likely).because(evidence);
    found.mended(case.start(Some(address), name, None))
}

/// Seed hosts that refuse, and where no node of this cluster was ever seen, while it cannot lose anybody and nothing tells why.
pub(super) fn never_seen(case: &Case<'_>) -> Vec<Verdict> {
    let Some(teller) = case.master().filter(|teller| teller.facts.members.len() > 1) else { return Vec::new() };
    if case.losses_survived() != Some(0) {
        return Vec::new();
    }
    let members = teller.facts.members.iter().map(|(_, address, _)| address);
    let remembered = case.reports.iter().flat_map(|report| &report.facts.remembered).map(|node| &node.address);
    let known: Vec<&Address> = members.chain(remembered).collect();
    let is_known = |seed: &String| known.iter().any(|address| is_seed_of(seed, address));
    // Those of others were not looked at.
    let seeds = case.me.facts.seeds.iter().flatten().filter(|seed| !is_known(seed));
    let of = |seed: &String| {
        let address = place_of(seed)?;
        let is_silent = case.probe(&address) == Some(&Found::Silence);
        let is_probed = case.probe(&address).is_some() && !is_silent || is_cut(case, &address);
        let is_found = case.is_there(&address) || is_probed || case.sibling_at(&address).is_some();
        (!is_found).then(|| {
            let (what, why, code) = match is_silent {
                true => ("nothing answers or refuses", "neither answers nor refuses", Code::LinkCut),
                false => ("nobody listens", "refuses", Code::VoterDown),
            };
            let summary = format!(
                "{what} at seed host [{address}], and no node of this cluster was ever seen there: start it, correct the \
                 address, or take it out of {HOSTS}"
            );
            let evidence = case.says(case.me, format!("[{seed}] is among my seed hosts, and {why}"));
            verdict(code, address.to_string(), summary).only(Certainty::Possible).because(evidence)
        })
    };
    seeds.filter_map(of).collect()
}

/// The address of a seed host that need not be looked up.
fn place_of(seed: &str) -> Option<Address> {
    let first = FIRST_PORT.to_string();
    let (host, port) = match seed.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        Some(_) | None => (seed, &*first),
    };
    let is_v4 = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_literal = is_v4 || host.starts_with('[') && host.ends_with(']');
    (is_literal && port.bytes().all(|byte| byte.is_ascii_digit())).then(|| format!("{host}:{port}").as_str().into())
}
