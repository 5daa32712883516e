//! Who cannot be reached where it should be: seed hosts, published addresses, stopped processes, cut links.

use super::case::{Case, HOSTS, outcome, verdict};
use super::seeds;
use super::shell::quoted;
use super::{Certainty, Code, Found, Mend, Process, Report, Verdict, Worth};
use crate::cluster::{Address, is_loopback};
use crate::protocol::Unresolved;
use crate::zen::explain::{Host, PingOutcome};

/// So many that do not answer have a verdict of their own.
const QUIET_MAX: usize = 3;

/// Who tells where seed hosts are, beside the settings.
pub(super) const PROVIDER: &str = "discovery.zen.hosts_provider";

/// All of it; who is blamed already is not blamed again.
pub(super) fn of_reach(case: &Case<'_>, before: &[Verdict]) -> Vec<Verdict> {
    let is_blamed = |name: &str| before.iter().any(|verdict| verdict.node.as_deref() == Some(name));
    let mut verdicts = Vec::new();
    for report in case.reports {
        verdicts.extend(published(case, report));
        verdicts.extend(loopback(case, report));
        verdicts.extend(shared(case, report));
        verdicts.extend(cut(case, report));
    }
    verdicts.extend(seeds::of_http(case));
    let is_masterless = case.is_masterless();
    let wrong = if is_masterless { seeds::wrong(case, case.me) } else { Vec::new() };
    let is_wrong = |at: &Address| wrong.iter().any(|verdict| verdict.summary.contains(&format!("[{at}] among")));
    let mut quiet: Vec<Verdict> = Vec::new();
    for host in Case::silent_hosts(case.me).filter(|host| is_masterless && !case.is_unbelieved(&host.address)) {
        let name = case.name_at(&host.address);
        if !is_blamed(&name)
            && !is_wrong(&host.address)
            && !verdicts.iter().any(|verdict: &Verdict| verdict.node.as_deref() == Some(&*name))
        {
            let found = silent(case, host, &name);
            let is_vague = found.as_ref().is_some_and(|verdict| verdict.code == Code::LinkCut);
            if is_vague { quiet.extend(found) } else { verdicts.extend(found) }
        }
    }
    verdicts.extend(summed(quiet));
    // Who never had a master is told of its seed hosts, whoever is asked.
    let is_lost = |report: &&Report| {
        let explanation = &report.explanation;
        let is_new = explanation.cluster_uuid.is_none() || std::ptr::eq(*report, case.me);
        is_new && explanation.master_node.is_none()
    };
    for report in case.reports.iter().filter(is_lost) {
        verdicts.extend(seeds::wrong(case, report));
    }
    // A host without an address is wrong with a master as well.
    verdicts.extend(case.reports.iter().flat_map(|report| unresolved(case, report)));
    if is_masterless {
        verdicts.extend(nowhere(case));
    }
    verdicts
}

/// The address that a node publishes, where it does not listen and nobody reached it.
fn published(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let address = &report.explanation.node.address;
    let is_bound = |bound: &String| match (bound.rsplit_once(':'), address.as_str().rsplit_once(':')) {
        (Some((bound, on)), Some((host, port))) => on == port && (bound == host || matches!(bound, "0.0.0.0" | "[::]")),
        (Some(_) | None, _) => false,
    };
    let facts = &report.facts;
    // A port may be mapped. Who is a member with others was reached at what it publishes.
    if report.explanation.master_node.is_some() && facts.members.len() > 1 && case.refuser_of(address).is_none() {
        return None;
    }
    if facts.bound.is_empty() || facts.bound.iter().any(is_bound) || facts.discovery == "single-node" {
        return None;
    }
    // Another node may answer there.
    let own_id = &report.explanation.node.id;
    let is_it = |host: &Host| host.node.as_ref().is_none_or(|node| node.id == *own_id);
    let reached = |(_, host): &(&Report, &Host)| {
        matches!(host.outcome, PingOutcome::Answered { .. } | PingOutcome::Itself) && is_it(host)
    };
    let pings = case.pings_of(address);
    if pings.iter().any(reached) {
        return None;
    }
    let (bound_host, bound_port) = facts.bound.first()?.rsplit_once(':')?;
    let (host, port) = address.as_str().rsplit_once(':')?;
    let given = |keys: &[&str]| keys.iter().find(|key| facts.given.contains_key(**key)).map(|key| (*key).to_owned());
    let outward = facts.outward.as_deref().filter(|outward| !is_loopback(outward));
    let (key, value) = if let Some(outward) = outward.filter(|_| port == bound_port && is_loopback(bound_host)) {
        (key_of_bind(report).to_owned(), outward)
    } else if port == bound_port {
        let key = given(&["transport.publish_host", "network.publish_host", "network.host", "transport.host"]);
        (key.unwrap_or_else(|| "transport.publish_host".into()), bound_host)
    } else {
        let key = given(&["transport.publish_port", "transport.tcp.publish_port"]);
        (key.unwrap_or_else(|| "transport.publish_port".into()), bound_port)
    };
    if port == bound_port && host == bound_host {
        return None;
    }
    let name = case.name(report);
    let listens = facts.bound.join(", ");
    let summary = format!("{name} publishes [{address}], where nobody reaches it; it listens at [{listens}]");
    let mut found = verdict(Code::UnreachablePublishAddress, &name, summary)
        .because(case.says(report, format!("I publish [{address}] and listen at [{listens}]")))
        .mended(case.text(report, &key, value));
    for (by, host) in pings {
        found = found.because(case.says(by, format!("[{address}] {}", outcome(&host.outcome))));
    }
    if let Some(by) = case.refuser_of(address) {
        found = found.because(case.says(by, format!("[{address}] refused the connection")));
    }
    Some(found)
}

/// Members that nobody can connect to, and that are heard over links which they opened: at the next election nobody may
/// reach them.
pub(super) fn refusing(case: &Case<'_>, before: &[Verdict]) -> Vec<Verdict> {
    let of = |by: &Report, address: &Address| {
        let name = case.name_at(address);
        let code = Code::UnreachablePublishAddress;
        if before.iter().any(|verdict| verdict.code == code && verdict.node.as_deref() == Some(&*name)) {
            return None;
        }
        let summary = format!(
            "{name} is a member over the links that it opened, and refuses every new connection at [{address}], where it \
             publishes to be: a firewall before that port rejects them, or it listens elsewhere"
        );
        let evidence = case.says(by, format!("[{address}] refused the connection"));
        Some(verdict(code, name, summary).because(evidence).only(Certainty::Likely))
    };
    case.reports.iter().flat_map(|by| by.facts.refused.iter().filter_map(move |address| of(by, address))).collect()
}

/// A node that listens on loopback only, and names others that are elsewhere.
pub(super) fn loopback(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let host = report.explanation.node.host();
    let seeds = report.facts.seeds.as_ref().filter(|seeds| !seeds.is_empty())?;
    let named = |seed: &String| seed.rsplit_once(':').map_or(seed.clone(), |(host, _)| host.to_owned());
    let is_apart = report.explanation.master_node.is_none() || report.facts.members.len() == 1;
    if !is_loopback(host) || seeds.iter().any(|seed| is_loopback(&named(seed))) || !is_apart {
        return None;
    }
    let outward = report.facts.outward.as_deref().filter(|outward| !is_loopback(outward))?;
    let name = case.name(report);
    if let Some(bound) = report.facts.bound.iter().find(|bound| !is_loopback(Address::from(bound.as_str()).host())) {
        return Some(published_on_loopback(case, report, (bound, outward)));
    }
    let summary = format!("{name} listens on loopback only, and its seed hosts are elsewhere: they cannot answer it");
    let evidence = case.says(report, format!("I listen at [{host}], and my seed hosts are {seeds:?}"));
    let mend = case.text(report, key_of_bind(report), outward);
    Some(verdict(Code::LoopbackOnly, &name, summary).because(evidence).mended(mend))
}

/// The setting that says where a node listens for others; the most special one holds.
fn key_of_bind(report: &Report) -> &'static str {
    let keys = ["transport.bind_host", "transport.host", "network.bind_host"];
    keys.into_iter().find(|key| report.facts.given.contains_key(*key)).unwrap_or("network.host")
}

/// A node that others could reach, and that tells them an address which is theirs on every host.
fn published_on_loopback(case: &Case<'_>, report: &Report, (bound, outward): (&str, &str)) -> Verdict {
    let (name, address) = (case.name(report), &report.explanation.node.address);
    let summary =
        format!("{name} publishes [{address}], which is another place on every host; it listens at [{bound}]");
    let evidence = case.says(report, format!("I publish [{address}] and listen at [{bound}]"));
    verdict(Code::UnreachablePublishAddress, &name, summary).because(evidence).mended(case.publish(report, outward))
}

/// A node that publishes the same address as another one: each host has it, as that of a bridge of containers.
fn shared(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let node = &report.explanation.node;
    let is_same = |other: &&Report| {
        let its = &other.explanation.node;
        its.address == node.address && its.ephemeral_id != node.ephemeral_id
    };
    let other = case.reports.iter().find(is_same).filter(|_| !is_loopback(node.host()))?;
    let outward = report.facts.outward.as_deref().filter(|outward| *outward != node.host())?;
    let (name, address) = (case.name(report), &node.address);
    let summary =
        format!("{name} and {} publish the same address, [{address}]: each host has it for itself", case.name(other));
    let evidence = case.says(report, format!("I publish [{address}], and reach others from [{outward}]"));
    let mend = case.publish(report, outward);
    Some(verdict(Code::UnreachablePublishAddress, &name, summary).because(evidence).mended(mend))
}

/// Links that were cut by request.
fn cut(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let peers = &report.facts.cuts;
    let http = report.facts.http.as_ref().filter(|_| !peers.is_empty())?;
    let name = case.name(report);
    let summary = format!("the links of {name} to [{}] are cut by request", peers.join(", "));
    let evidence = case.says(report, format!("I was asked to cut my links to [{}]", peers.join(", ")));
    let mend = case.command(report, format!("curl -s -XDELETE {}", quoted(&format!("http://{http}/_zazen/faults"))));
    Some(verdict(Code::LinkCut, &name, summary).because(evidence).mended(mend))
}

/// A host that does not answer as a node of this cluster does, and is not just gone.
fn silent(case: &Case<'_>, host: &Host, name: &str) -> Option<Verdict> {
    let address = &host.address;
    let probe = case.probe(address);
    let evidence = case.says(case.me, format!("[{address}] {}", outcome(&host.outcome)));
    let own = case.name(case.me);
    let is_cut = case.me.facts.cuts.iter().any(|cut| cut == address.as_str());
    if let Some(taken) = case.taken(address) {
        return Some(taken);
    }
    match (&host.outcome, probe, case.stopped(address)) {
        (PingOutcome::NotUnderstood, Some(Found::Stranger), _) => {
            let summary = format!("{own} has [{address}] among its seed hosts, where something else listens");
            let mend = seeds::mended(case, case.me);
            Some(verdict(Code::HttpPortInSeeds, own, summary).because(evidence).mended(mend))
        }
        (PingOutcome::TimedOut | PingOutcome::Reset, _, Some(process)) => {
            let pid = process.pid;
            let summary =
                format!("the process [{pid}] of {name} was stopped: it listens at [{address}] and answers nobody");
            let mend = case.go_on(name, process);
            Some(verdict(Code::FrozenNode, name, summary).because(evidence).mended(mend))
        }
        (PingOutcome::TimedOut, _, _) if case.runs(address) && case.at(address).is_none() && !is_cut => {
            hung(case, case.me, name, address)
        }
        (PingOutcome::TimedOut, Some(Found::Mute), _) if case.at(address).is_none() && !is_cut => {
            Some(mute(case, name, address).because(evidence))
        }
        (PingOutcome::TimedOut, Some(Found::Walled), _) if case.at(address).is_none() && !is_cut => {
            Some(walled(name, address).because(evidence))
        }
        // What was cut by request is told of already.
        (PingOutcome::TimedOut, _, _) if case.at(address).is_none() && !is_cut => {
            Some(unknown(case, name, address).because(evidence))
        }
        (
            PingOutcome::TimedOut
            | PingOutcome::Refused
            | PingOutcome::Reset
            | PingOutcome::NotUnderstood
            | PingOutcome::Answered { .. }
            | PingOutcome::Waiting
            | PingOutcome::NotAsked
            | PingOutcome::OtherClusterName { .. }
            | PingOutcome::OtherClusterUuid { .. }
            | PingOutcome::DuplicateId
            | PingOutcome::Itself
            | PingOutcome::Rejected { .. },
            _,
            _,
        ) => None,
    }
}

/// One of whom nothing is known but that it does not answer the node that was asked.
fn unknown(case: &Case<'_>, name: &str, address: &Address) -> Verdict {
    let own = case.name(case.me);
    let is_master =
        |report: &&Report| report.explanation.master_node.as_ref().is_some_and(|master| master.address == *address);
    if let Some(other) = case.reports.iter().find(is_master) {
        let found = verdict(Code::LinkCut, name, parted(&own, name, Some(&case.name(other))));
        return found.because(case.says(other, format!("{name} is master"))).only(Certainty::Likely);
    }
    let mut why = "its host or process stands still, or the way to it is cut".to_owned();
    let names = seeds::names_for(case.me, address);
    if !names.is_empty() {
        let names = names.join(" or ");
        why.push_str(&format!("; {own} was given this address for {names}: see whether it is right"));
    } else if name == address.as_str() {
        let file = case.me.facts.hosts_file.as_ref().map(|file| format!("[{}]", file.path));
        let named_in = file.as_deref().unwrap_or(HOSTS);
        why.push_str(&format!(", or no node has this address: see {named_in} of {own}"));
    }
    let at = if name == address.as_str() { String::new() } else { format!(" ({address})") };
    verdict(Code::LinkCut, name, format!("{name}{at} does not answer: {why}")).only(Certainty::Possible)
}

/// What is said of two that do not reach each other, one of them a master that a third may hear.
pub(super) fn parted(one: &str, master: &str, third: Option<&str>) -> String {
    let third = third.map_or_else(String::new, |third| format!(" and which {third} hears"));
    format!("{one} does not reach {master}, which is master{third}: the way between them is cut")
}

/// A process of a node that was stopped by a signal, or is held by a debugger.
pub(super) fn frozen(case: &Case<'_>, by: &Report, name: &str, process: &Process) -> Verdict {
    let summary = format!(
        "the process [{}] of {name} was stopped: it listens at [{}] and answers nobody",
        process.pid, process.address
    );
    let mend = case.go_on(name, process);
    let evidence = case.says(by, format!("[{}] does not answer, and its process is stopped", process.address));
    verdict(Code::FrozenNode, name, summary).because(evidence).mended(mend)
}

/// A process of a node that listens where a member should be, was stopped by no signal, and does not answer: a container
/// that was paused, or a program that hangs. What runs is never to be started.
pub(super) fn hung(case: &Case<'_>, by: &Report, name: &str, address: &Address) -> Option<Verdict> {
    // Who is cut off by request answers others.
    let is_cut = case.reports.iter().any(|report| report.facts.cuts.iter().any(|cut| cut == address.as_str()));
    let is_silent = !is_cut && case.runs(address) && case.at(address).is_none();
    let process = case.listens(address).filter(|_| is_silent)?;
    // Who is held by the system looks as if it waited.
    if process.waits_for_disk && process.freezer.is_none() {
        return Some(waiting(case, by, name, process));
    }
    let summary = format!(
        "the process [{}] of {name} listens at [{address}] and answers nobody: it hangs, or was paused with its container",
        process.pid
    );
    let evidence = case.says(by, format!("[{address}] does not answer, and a process listens there"));
    let mend = process.freezer.as_deref().and_then(thaw).map(|mend| mend.about(name));
    Some(verdict(Code::FrozenNode, name, summary).because(evidence).mended(mend).only(Certainty::Likely))
}

/// One that waits for its disk before it can answer at all.
fn waiting(case: &Case<'_>, by: &Report, name: &str, process: &Process) -> Verdict {
    let (pid, address) = (process.pid, &process.address);
    let summary =
        format!("the process [{pid}] of {name} listens at [{address}] and answers nobody: it waits for its disk");
    let evidence = case.says(by, format!("[{address}] does not answer, and a thread of its process waits for a disk"));
    let mend = case.sibling_at(address).and_then(|known| {
        let other = other_disk(&known.sibling.data)?;
        Some(case.set_sibling(known, "path.data", &Worth::Text(other)).about(name))
    });
    verdict(Code::DiskSlow, name, summary).because(evidence).mended(mend).only(Certainty::Likely)
}

/// A name for the data on another disk; none if the file has such a name already, and its process waits for the one before.
pub(super) fn other_disk(data: &str) -> Option<String> {
    const OTHER: &str = "-on-another-disk";
    (!data.ends_with(OTHER)).then(|| format!("{data}{OTHER}"))
}

/// One on another host whose system takes connections for it, and that says nothing.
pub(super) fn mute(case: &Case<'_>, name: &str, address: &Address) -> Verdict {
    let mend = case.go_on_distant(address);
    let what = if mend.is_some() { "" } else { "; see on its host" };
    let summary = format!(
        "the host of {name} is there, and nobody answers at [{address}]: its process was stopped or hangs, or a firewall is before it{what}"
    );
    verdict(Code::FrozenNode, name, summary).mended(mend).only(Certainty::Likely)
}

/// One on another host that answers its users and no node.
pub(super) fn walled(name: &str, address: &Address) -> Verdict {
    let summary = format!(
        "{name} runs and answers its users, and nothing comes from [{address}] where nodes speak to it: a firewall before \
         that port lets nobody in"
    );
    verdict(Code::LinkCut, name, summary).only(Certainty::Likely)
}

/// The command that lets a group of processes go on. Others may have said which one, so only a file of the system is written.
fn thaw(freezer: &str) -> Option<Mend> {
    let is_of_system = freezer.starts_with("/sys/fs/cgroup/") && !freezer.contains("/../");
    let word = match freezer.rsplit('/').next() {
        Some("cgroup.freeze") => "0",
        Some("freezer.state") => "THAWED",
        Some(_) | None => return None,
    };
    is_of_system.then(|| Mend::command(format!("echo {word} > {}", quoted(freezer))))
}

/// Many of whom nothing is known but that they do not answer are told in one sentence.
fn summed(quiet: Vec<Verdict>) -> Vec<Verdict> {
    if quiet.len() <= QUIET_MAX {
        return quiet;
    }
    let names: Vec<String> = quiet.iter().take(QUIET_MAX).filter_map(|verdict| verdict.node.clone()).collect();
    let (more, first) = (quiet.len() - names.len(), names.first().cloned().unwrap_or_default());
    let summary = format!(
        "{} and {more} more do not answer: their hosts or processes stand still, or the way to them is cut",
        names.join(", ")
    );
    let told = verdict(Code::LinkCut, first, summary).only(Certainty::Possible);
    let evidence = quiet.into_iter().take(QUIET_MAX).flat_map(|verdict| verdict.evidence);
    vec![evidence.fold(told, Verdict::because)]
}

fn unresolved(case: &Case<'_>, report: &Report) -> Vec<Verdict> {
    let of = |host: &Unresolved| {
        let own = case.name(report);
        let summary = format!("[{}] among the seed hosts of {own} has no address: {}", host.host, host.why);
        let evidence = case.says(report, format!("[{}]: {}", host.host, host.why));
        // Whom nobody answered may be right.
        let mend = match &report.facts.hosts_file {
            Some(file) if host.why.contains(DENIED) => given_over(case, report, &file.path),
            Some(_) | None if Unresolved::is_unanswered(&host.why) => None,
            Some(_) | None => seeds::mended(case, report),
        };
        verdict(Code::SeedUnresolved, own, summary).because(evidence).mended(mend)
    };
    report.explanation.unresolved.iter().map(of).collect()
}

/// What a system says of a file that one may not read.
const DENIED: &str = "Permission denied";

/// Gives a node's user a file that it reads again and again. Root would type it, so only the node that was asked is believed:
/// another one may say anything of files.
fn given_over(case: &Case<'_>, report: &Report, file: &str) -> Option<Mend> {
    let (user, group) = report.facts.user.filter(|_| std::ptr::eq(report, case.me))?;
    Some(case.command(report, format!("chown {user}:{group} {}", quoted(file))))
}

/// No seed hosts at all, nobody found, and no master.
fn nowhere(case: &Case<'_>) -> Option<Verdict> {
    let facts = &case.me.facts;
    let has_none = facts.seeds.as_ref().is_none_or(Vec::is_empty);
    let finds_nobody =
        !case.me.explanation.hosts.iter().any(|host| matches!(host.outcome, PingOutcome::Answered { .. }));
    // They may stand in a file of hosts, or be told by something else.
    let is_by_settings = facts.given.get(PROVIDER).is_none_or(|provider| provider.is_empty());
    if !has_none || !is_by_settings || !finds_nobody || facts.discovery == "single-node" {
        return None;
    }
    let (own, cluster) = (case.name(case.me), case.me.explanation.cluster_name.as_str());
    let own_address = case.me.explanation.node.address.as_str();
    let others = case.siblings().map(|known| known.sibling).filter(|one| one.cluster == cluster);
    let others = others.filter_map(|one| Some(one.place()?.to_string()));
    let members = facts.members.iter().map(|(_, address, _)| address.to_string());
    let mut places: Vec<String> = others.chain(members).filter(|place| place != own_address).collect();
    places.sort();
    places.dedup();
    let summary = format!("{own} has no seed hosts, and finds nobody");
    let evidence = case.says(case.me, "no seed hosts are configured, and nobody answered");
    let mend = case.hosts(case.me, &places, |place| Some(place.to_owned()));
    Some(verdict(Code::NoSeeds, own, summary).because(evidence).mended(mend))
}
