//! The seed hosts: whether they have an address, who answers there, what the clock there says, and whether there are enough.

use super::super::ask::{Asker, Place, Silence};
use super::{Findings, SEED_MAX};
use crate::cluster::{Address, NodeId, is_loopback};
use crate::diagnose::{Certainty, Code, Evidence, Mend, Report, SET_CLOCK, Worth, hosts_meant};
use crate::protocol::{Failure, Unresolved};
use crate::runtime::inquiry::{hosts_file, seed_hosts};
use crate::runtime::seeds::places_of;
use crate::runtime::start_failure;
use crate::runtime::{addresses, listener};
use crate::service::MINIMUM_MASTER_NODES;
use crate::settings::{DiscoveryKind, NodeSettings};
use futures_util::future::{self, join_all};
use futures_util::{StreamExt, stream};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::SystemTime;
use tokio::time::timeout;

/// How many addresses of one seed host are called at a time.
const CALLS_AT_A_TIME: usize = 128;

/// Clocks that differ by less are well.
const SKEW_MAX_MILLIS: u64 = 2_000;

/// All of them, and whether a node runs already that has this id.
pub(super) async fn look(settings: &NodeSettings, (asker, id): (&Asker, Option<&NodeId>), findings: &mut Findings) {
    if settings.discovery.kind != DiscoveryKind::Zen {
        return alone(settings, findings);
    }
    if let Some(file) = hosts_file(settings).filter(|file| file.hosts.is_empty()) {
        findings.odd(Code::SeedUnresolved, format!("[{}] is to name seed hosts, and names none", file.path), None);
    }
    let hosts = seed_hosts(settings).unwrap_or_default();
    let mut all: Vec<Seed> = join_all(hosts.iter().map(|seed| ask(settings, asker, seed))).await;
    for seed in &mut all {
        findings.well.append(&mut seed.findings.well);
        findings.odd.append(&mut seed.findings.odd);
    }
    let reports = || all.iter().flat_map(|seed| &seed.reports);
    if let Some(twin) = id.and_then(|id| reports().find(|report| report.explanation.node.id == *id)) {
        copied(settings, twin, findings);
    }
    minimum(settings, &all, findings);
}

/// One that asks nobody: if it names others, it may have been meant to ask them.
fn alone(settings: &NodeSettings, findings: &mut Findings) {
    let is_other = |seed: &String| !is_own_name(settings, seed);
    match seed_hosts(settings).unwrap_or_default().iter().find(|seed| is_other(seed)) {
        Some(seed) if settings.discovery.kind == DiscoveryKind::SingleNode => {
            let summary = format!("[discovery.type: single-node] makes it a cluster by itself, and it names [{seed}]");
            let mend = start_failure::set(settings, "discovery.type", &Worth::Plain("zen".into()));
            findings.odd(Code::SingleNodeDiscovery, summary, Some(mend));
            if let Some(last) = findings.odd.last_mut() {
                last.certainty = Certainty::Likely;
            }
        }
        Some(_) | None => findings.well("it is a cluster by itself and asks nobody"),
    }
}

/// Whether a seed host is this node itself without looking it up: one without a port has that of the node.
fn is_own_name(settings: &NodeSettings, seed: &str) -> bool {
    let (at, own) = (Address::from(seed), settings.transport.ports.first.first);
    // An address of IPv6 has colons itself.
    let port = at.port().filter(|port| port.parse::<u16>().is_ok() && seed.parse::<IpAddr>().is_err());
    let host = if port.is_some() { at.host() } else { seed };
    let is_here = is_loopback(host) || host.parse().is_ok_and(|host| addresses::is_here(&host));
    is_here && port.is_none_or(|port| port == own.to_string())
}

/// Whether this node itself is to listen there.
fn is_own(settings: &NodeSettings, at: SocketAddr) -> bool {
    let listens = |host: &IpAddr| *host == at.ip() || host.is_unspecified();
    let hosts = || addresses::bind_addresses(&settings.transport).unwrap_or_default();
    settings.transport.ports.only() == Some(at.port()) && hosts().iter().any(listens)
}

/// Who is found at a seed host.
#[derive(Default)]
struct Seed {
    findings: Findings,
    /// Where nodes may be.
    addresses: Vec<SocketAddr>,
    reports: Vec<Report>,
}

/// A node that runs has the id that the data directory of this one holds, and is another one: nobody has its lock.
fn copied(settings: &NodeSettings, twin: &Report, findings: &mut Findings) {
    let node = &twin.explanation.node;
    let data = settings.path_data.display();
    let summary =
        format!("[{data}] is a copy of the data directory of [{}], which runs at [{}]", node.name, node.address);
    findings.odd(Code::DuplicateNodeId, summary, start_failure::elsewhere(settings));
}

/// More nodes are asked for than there can be: one for each address of the seed hosts, those that they know, and this one.
fn minimum(settings: &NodeSettings, seeds: &[Seed], findings: &mut Findings) {
    let asked = settings.given.get(MINIMUM_MASTER_NODES).and_then(|value| value.text()?.trim().parse::<usize>().ok());
    let (Some(asked), false) = (asked, seeds.is_empty()) else { return };
    let mut places: BTreeSet<String> =
        seeds.iter().flat_map(|seed| &seed.addresses).map(SocketAddr::to_string).collect();
    for node in seeds.iter().flat_map(|seed| &seed.reports) {
        let own = &node.explanation.node;
        let members = node.facts.members.iter().map(|(_, address, may_lead)| (address.to_string(), *may_lead));
        for (address, may_lead) in members.chain([(own.address.to_string(), own.is_master_eligible())]) {
            if may_lead {
                places.insert(address)
            } else {
                places.remove(&address)
            };
        }
    }
    let unresolved = seeds.iter().filter(|seed| seed.addresses.is_empty()).count();
    let own = settings.transport.ports.only().is_none_or(|port| !names_own(&places, port));
    let there = places.len() + unresolved + usize::from(own && settings.roles.master);
    if asked <= there {
        return;
    }
    let right = there / 2 + 1;
    let summary = format!(
        "[{MINIMUM_MASTER_NODES}: {asked}] asks for more master-eligible nodes than the seed hosts and this one are, \
         [{there}]: [{right}] is a majority"
    );
    let mend = start_failure::set(settings, MINIMUM_MASTER_NODES, &Worth::Plain(right.to_string()));
    findings.odd(Code::MinimumMasterNodesTooHigh, summary, Some(mend));
}

/// Whether this node is one of these itself.
fn names_own(places: &BTreeSet<String>, port: u16) -> bool {
    let is_own = |at: SocketAddr| at.port() == port && addresses::is_here(&at.ip());
    places.iter().filter_map(|place| place.parse().ok()).any(is_own)
}

/// One seed host, as the node reads it: it may stand for several ports and addresses.
async fn ask(settings: &NodeSettings, asker: &Asker, seed: &str) -> Seed {
    let mut findings = Findings::default();
    let addresses = match places_of(settings, seed).await {
        Ok(addresses) => addresses,
        Err(why) => {
            unresolved(settings, seed, &why, &mut findings);
            return Seed { findings, ..Seed::default() };
        }
    };
    // Who has its own port is told of already.
    if !addresses.is_empty() && addresses.iter().all(|at| is_own(settings, *at)) {
        findings.well(format!("seed host [{seed}] is this node itself"));
        return Seed { findings, addresses, ..Seed::default() };
    }
    let calls = stream::iter(addresses.clone()).map(|address| async move { listens(address).await.then_some(address) });
    let listening: Vec<SocketAddr> = calls.buffered(CALLS_AT_A_TIME).filter_map(future::ready).collect().await;
    if listening.is_empty() {
        findings.well(format!("nobody listens at seed host [{seed}] yet"));
        return Seed { findings, addresses, reports: Vec::new() };
    }
    if settings.security.secret.is_some() || settings.security.certificate.is_some() {
        findings.well(format!("somebody listens at seed host [{seed}], who tells nodes only who it is"));
        return Seed { findings, addresses, reports: Vec::new() };
    }
    let asked = listening.iter().map(|address| async move {
        let told = asker.ask::<Report>(&Place(address.to_string()), "/_zen/report", SEED_MAX).await;
        told.map_err(|silence| (*address, silence))
    });
    let (reports, silences): (Vec<_>, Vec<_>) = join_all(asked).await.into_iter().partition(Result::is_ok);
    let reports: Vec<Report> = reports.into_iter().flatten().collect();
    if reports.is_empty() {
        let transport = transport_of(asker, &listening).await;
        let mend = transport.and_then(|right| replaced(settings, seed, &right));
        unanswered(seed, silences.into_iter().filter_map(Result::err), mend, &mut findings);
    }
    reports.iter().for_each(|report| judge(settings, seed, report, &mut findings));
    Seed { findings, addresses, reports }
}

/// Where the transport of a node listens that has one of these as its http port.
async fn transport_of(asker: &Asker, listening: &[SocketAddr]) -> Option<String> {
    let place = Place(listening.first()?.to_string());
    let told = asker.ask::<serde_json::Value>(&place, "/_zazen/explain?local=true", SEED_MAX).await.ok()?;
    Some(told["node"]["address"].as_str()?.to_owned())
}

/// The seed hosts with another one in the place of this.
fn replaced(settings: &NodeSettings, seed: &str, right: &str) -> Option<Mend> {
    let named = settings.discovery.hosts.as_ref().filter(|named| named.iter().any(|one| one == seed))?;
    let mut hosts: Vec<String> = Vec::new();
    for one in named.iter().map(|one| if one == seed { right } else { one }) {
        if !hosts.iter().any(|host| host == one) {
            hosts.push(one.to_owned());
        }
    }
    Some(start_failure::set(settings, "discovery.zen.ping.unicast.hosts", &Worth::List(hosts)))
}

/// Nobody at a seed host tells of itself. Whoever says nothing at all may be a node that was stopped.
fn unanswered(
    seed: &str,
    mut silences: impl Iterator<Item = (SocketAddr, Silence)>,
    mend: Option<Mend>,
    findings: &mut Findings,
) {
    let silent = silences.find(|(_, silence)| *silence == Silence::Failed(Failure::TimedOut));
    let Some((address, _)) = silent else {
        let summary = format!("[{seed}] among the seed hosts is no transport port of a Zazen node");
        return findings.odd(Code::HttpPortInSeeds, summary, mend);
    };
    let stopped = listener(address).filter(|process| process.is_stopped);
    let is_certain = stopped.is_some();
    let why = stopped.as_ref().map_or_else(
        || ": what listens there may be stopped, or busy".to_owned(),
        |process| format!(": process [{}], {}, was stopped", process.pid, process.program),
    );
    let mend = stopped.map(|process| match process.tracer {
        Some(tracer) => Mend::command(format!("kill {tracer}")),
        None => Mend::command(format!("kill -CONT {}", process.pid)),
    });
    findings.odd(Code::FrozenNode, format!("[{seed}] did not answer within {SEED_MAX:?}{why}"), mend);
    if let Some(last) = findings.odd.last_mut().filter(|_| !is_certain) {
        last.certainty = Certainty::Possible;
    }
}

async fn listens(address: SocketAddr) -> bool {
    matches!(timeout(SEED_MAX, tokio::net::TcpStream::connect(address)).await, Ok(Ok(_)))
}

/// What was meant takes its place, or the others are left, if there are any: a node without seed hosts makes a cluster of
/// its own.
fn unresolved(settings: &NodeSettings, seed: &str, why: &str, findings: &mut Findings) {
    let file = hosts_file(settings).filter(|file| file.hosts.iter().any(|host| host == seed));
    let named = settings.discovery.hosts.clone().unwrap_or_default();
    let seeds = file.as_ref().map_or(&named, |file| &file.hosts);
    let in_place = |one: &String| match hosts_meant(one) {
        meant if one == seed && meant == [seed] => Vec::new(),
        meant => meant,
    };
    let left: Vec<String> = seeds.iter().flat_map(in_place).collect();
    let set = || match &file {
        Some(file) => Mend::command(file.naming(&left)),
        None => start_failure::set(settings, "discovery.zen.ping.unicast.hosts", &Worth::List(left.clone())),
    };
    // Whom nobody answered may be right.
    let mend = (!left.is_empty() && !Unresolved::is_unanswered(why)).then(set);
    findings.odd(Code::SeedUnresolved, format!("[{seed}] among the seed hosts has no address: {why}"), mend);
}

fn judge(settings: &NodeSettings, seed: &str, report: &Report, findings: &mut Findings) {
    let theirs = &report.explanation.cluster_name;
    if *theirs != settings.cluster_name {
        let summary = format!("[{seed}] is of cluster [{theirs}], and this node of [{}]", settings.cluster_name);
        let mend = start_failure::text(settings, "cluster.name", theirs.as_str());
        findings.odd(Code::WrongClusterName, summary, Some(mend));
        return;
    }
    let ahead = report.facts.wall_millis.abs_diff(wall_millis());
    if ahead > SKEW_MAX_MILLIS {
        let what = format!("my clock says [{}]", report.facts.wall_millis);
        let by = report.explanation.node.name.to_string();
        let summary = format!("the clock of [{seed}] is {ahead}ms off the one of this host");
        findings.odd(Code::ClockSkew, summary, Some(Mend::command(SET_CLOCK)));
        if let Some(last) = findings.odd.last_mut() {
            last.evidence.push(Evidence { by, at_millis: report.facts.wall_millis, what });
        }
        return;
    }
    findings.well(format!("[{seed}] answers: {}", report.explanation.node.name));
}

#[expect(clippy::disallowed_methods, reason = "clocks that run apart are a cause")]
fn wall_millis() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
