//! Asks around: what this node knows, what all others that answer know, and what `diagnose` makes of it.
//!
//! A node tells its report on its transport port to whoever asks, of whatever cluster he is: how else should a mistyped
//! `cluster.name` be found? Who is asked: the hosts that were pinged, the members, and the nodes that configuration files
//! beside this node's own are for; then those that they name. Nothing here decides what is wrong.

mod facts;
mod failed;
mod meet;
mod probe;
mod refused;
mod shared;
mod verify;

pub use super::host::{LITTLE_ROOM, hosts_file, launch_of, room, seed_hosts};
pub(super) use super::surroundings::FAILED_MAX;
pub(super) use failed::{FAILED_PATH, hear};
pub use failed::{tell_of_end, tell_of_failed_start, tell_of_faults};
pub use meet::meet_neighbours;
pub use shared::{Known, diagnosis_of_late};
use verify::{Told, Verified, verified};

use super::Handle;
use super::ask::of_one;
use super::proc;
use crate::cluster::{Address, ClusterState};
use crate::diagnose::{
    Code, Diagnosis, Facts, Found, Mend, Probe, Remembered, Report, Sibling, Verdict, is_ours, judge, looks_for,
    named as named_by,
};
use crate::wire;
use crate::zen::Explanation;
use crate::zen::explain::{Group, Host, PingOutcome};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::future::join_all;
use std::collections::BTreeSet;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::slice;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// Where a node tells its report.
const PATH: &str = "/_zen/report";

/// The logger that tells why there is no master.
const DISCOVERY: &str = "org.elasticsearch.discovery.zen.ZenDiscovery";

/// The port of a seed host that names none.
const FIRST_PORT: u16 = 9300;

/// How many nodes are asked in all.
const ASKED_MAX: usize = 64;

/// How many are for the log: all nodes without a master do so, and each would ask all others.
const ASKED_FOR_THE_LOG_MAX: usize = 16;

/// How long each may take.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// How long all of it may take: `zazen explain` waits for little longer.
const ASKING_MAX: Duration = Duration::from_millis(4_500);

/// After this time what the node said of itself at first is asked for anew.
const STALE: Duration = Duration::from_millis(500);

/// How many hosts are looked at that do not answer as nodes do.
const PROBED_MAX: usize = 8;

/// What others find of it at the transport.
pub(super) fn router<S: Clone + Send + Sync + 'static>(handle: Handle) -> Router<S> {
    Router::new().route(PATH, get(tell)).with_state(handle)
}

async fn tell(State(handle): State<Handle>) -> Response {
    match report(&handle, Age::OfLate).await {
        Some(report) => {
            let body = serde_json::to_vec(&report).unwrap_or_default();
            ([(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        None => (StatusCode::SERVICE_UNAVAILABLE, "the node is shutting down\n").into_response(),
    }
}

/// How old what a node says for itself may be.
#[derive(Clone, Copy)]
enum Age {
    /// It is looked for now.
    Now,
    /// It may be what somebody was told a moment ago.
    OfLate,
}

/// What a node says for itself.
async fn report(handle: &Handle, age: Age) -> Option<Report> {
    let mut explanation = handle.explain().await?;
    if explanation.master_node.is_some() {
        let look_ups = &handle.surroundings().look_ups;
        explanation.unresolved = look_ups.still_unresolved(&handle.settings(), explanation.unresolved).await;
    }
    let (of, asked) = (handle.clone(), explanation.clone());
    let told = move || {
        let look = || facts::facts(&of, &asked);
        match age {
            Age::Now => look(),
            Age::OfLate => of.surroundings().facts(look),
        }
    };
    let mut facts = tokio::task::spawn_blocking(told).await.ok()?;
    facts.wall_millis = wall();
    facts.refused = refused::refused(handle).await;
    Some(Report { wire: u64::from(wire::VERSION), explanation, facts })
}

/// Asks all that can be asked, and judges what they say; nothing once the node has ended. What is to be typed may be for
/// root, though the node is another user's.
pub async fn diagnosis(handle: &Handle, as_root: bool) -> Option<(Explanation, Diagnosis)> {
    let mut reports = asked_around(handle, ASKED_MAX).await?;
    reports[0].facts.is_root |= as_root;
    Some((named_by(&reports)?, judge(&reports)?))
}

/// What this node and those that answer say, so many at most; it comes first, with what it found of the rest.
async fn asked_around(handle: &Handle, asked_max: usize) -> Option<Vec<Report>> {
    let begun = Instant::now();
    let until = begun + ASKING_MAX;
    let mut own = report(handle, Age::Now).await?;
    own.facts.probes = probes(handle, strange(&own.explanation), until).await;
    let mut asked: BTreeSet<Address> = [own.explanation.node.address.clone()].into();
    let mut reports = vec![own];
    for _ in 0..2 {
        let named: BTreeSet<Address> = reports.iter().flat_map(|one| named(one, reports.len() == 1)).collect();
        let room = asked_max.saturating_sub(asked.len());
        let next: Vec<Address> = named.difference(&asked).take(room).cloned().collect();
        asked.extend(next.iter().cloned());
        let Verified { reports: believed, lies } = heard(handle, reports[0].facts.clone(), next, until).await?;
        let strangers = lies.into_iter().map(|address| Probe { address, found: Found::Stranger, free_port: None });
        reports[0].facts.probes.extend(strangers);
        for report in believed {
            let is_new = |one: &Report| one.explanation.node.ephemeral_id != report.explanation.node.ephemeral_id;
            if reports.iter().all(is_new) {
                reports.push(report);
            }
        }
    }
    let silent = silent(asked, &reports, &reports[0].facts.probes);
    let mut found = probes(handle, silent, until).await;
    // Whom the core did not speak to in vain is told of only if it is a node, or stands in the place of one.
    found.retain(|probe| !matches!(probe.found, Found::HttpOf(_) | Found::Version(_)));
    let at: Vec<Address> = found.iter().chain(&reports[0].facts.probes).map(|probe| probe.address.clone()).collect();
    let processes = tokio::task::spawn_blocking(move || proc::listeners(&at)).await.unwrap_or_default();
    if begun.elapsed() > STALE {
        // Whoever answered nobody meanwhile may have been lost since.
        let now = handle.explain().await?;
        let unresolved = mem::take(&mut reports[0].explanation.unresolved);
        reports[0].explanation = Explanation { unresolved, ..now };
    }
    let facts = &mut reports[0].facts;
    facts.probes.append(&mut found);
    facts.processes.retain(|known| processes.iter().all(|process| process.address != known.address));
    facts.processes.extend(processes);
    Some(reports)
}

/// What some nodes tell of themselves, as far as it can be believed.
async fn heard(handle: &Handle, own: Facts, asked: Vec<Address>, until: Instant) -> Option<Verified> {
    let told = asked.into_iter().map(|at| async { Some(Told { report: ask(handle, at.clone()).await?, at }) });
    let told = answers(told, until).await;
    tokio::task::spawn_blocking(move || verified(&own, told)).await.ok()
}

/// What those answer who do so in time. All are asked at once, so that nobody waits for the silent ones.
async fn answers<A>(asked: impl Iterator<Item = impl Future<Output = Option<A>>>, until: Instant) -> Vec<A> {
    let told = join_all(asked.map(|one| timeout_at(until, one))).await;
    told.into_iter().filter_map(|told| told.ok().flatten()).collect()
}

/// Who is worth asking, by what one says. Those who refuse are not, and of a first report the configured ones are.
fn named(report: &Report, is_own: bool) -> Vec<Address> {
    let explanation = &report.explanation;
    let hosts = explanation.hosts.iter().filter(|host| host.outcome != PingOutcome::Refused);
    let at = hosts.clone().map(|host| host.address.clone());
    let known = hosts.filter_map(|host| host.node.as_ref().map(|node| node.address.clone()));
    let members = report.facts.members.iter().map(|(_, address, _)| address.clone());
    let cluster = explanation.cluster_name.as_str();
    // Next door may be another cluster of the same name; who looks for this node may have another name for it.
    let is_ours = |one: &&Sibling| {
        let is_one = one.cluster == cluster || looks_for(one, report);
        is_own && is_one && is_ours(slice::from_ref(report), one)
    };
    let siblings = report.facts.siblings.iter().filter(is_ours);
    let siblings = siblings.filter_map(|one| one.place());
    let seeds = report.facts.seeds.iter().flatten().filter(|_| is_own);
    // Who looks for the others at a port of its own may be alone with it; and where one host has one node the port that was
    // meant may be the usual one.
    let own = &explanation.node.address;
    let is_elsewhere =
        |at: &SocketAddr| own.host().parse().is_ok_and(|host: IpAddr| host != at.ip()) && !at.ip().is_loopback();
    let usual = |at: SocketAddr| {
        let is_odd = own.port() == Some(&*at.port().to_string()) || is_elsewhere(&at);
        (is_odd && at.port() != FIRST_PORT).then(|| SocketAddr::new(at.ip(), FIRST_PORT))
    };
    // Who finds that port taken takes the next one.
    let next = |at: SocketAddr| {
        (at.port() == FIRST_PORT && is_elsewhere(&at)).then(|| SocketAddr::new(at.ip(), FIRST_PORT + 1))
    };
    let seeds = seeds.filter_map(|seed| place(seed)).flat_map(|at| [Some(at), usual(at), next(at)]).flatten();
    let seeds = seeds.map(|seed| Address::from(seed.to_string()));
    let transports = report.facts.probes.iter().filter_map(|probe| probe.found.transport().cloned());
    // A voter that is missed may answer others than its master, and so may one that went.
    let voters =
        explanation.needed.iter().filter(|quota| quota.of == Group::VotingSet).flat_map(|quota| &quota.members);
    let missed: BTreeSet<&str> = voters.filter(|member| !member.found).map(|member| &*member.id).collect();
    let is_missed = |node: &&Remembered| missed.contains(node.id.as_str()) || node.failed;
    let gone = report.facts.remembered.iter().filter(is_missed).filter(|node| !node.removed);
    let gone = gone.map(|node| node.address.clone());
    let siblings = siblings.chain(gone);
    at.chain(known).chain(members).chain(siblings).chain(seeds).chain(transports).collect()
}

/// Where a seed host is that need not be looked up: without a port it has the first one.
fn place(seed: &str) -> Option<SocketAddr> {
    let without_port = || Some(SocketAddr::new(seed.trim_matches(['[', ']']).parse().ok()?, FIRST_PORT));
    seed.parse().ok().or_else(without_port)
}

async fn ask(handle: &Handle, address: Address) -> Option<Report> {
    if handle.faults().swallows_to(&address) || handle.faults().swallows_from(&address) {
        return None;
    }
    let before = wall();
    let asked = of_one(handle.meter().access(), &address, (PATH, PATIENCE));
    let mut report: Report = tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()?;
    let middle = before + wall().saturating_sub(before) / 2;
    let ahead = i128::from(report.facts.wall_millis) - i128::from(middle);
    report.facts.ahead_millis = i64::try_from(ahead).ok();
    Some(report)
}

/// The hosts whose answer to a ping could not be understood.
fn strange(explanation: &Explanation) -> Vec<Address> {
    let is_strange = |host: &&Host| matches!(host.outcome, PingOutcome::NotUnderstood | PingOutcome::Reset);
    explanation.hosts.iter().filter(is_strange).map(|host| host.address.clone()).collect()
}

/// What listens at some addresses.
async fn probes(handle: &Handle, addresses: Vec<Address>, until: Instant) -> Vec<Probe> {
    let probed = addresses.into_iter().take(PROBED_MAX).map(|address| probe::probe(handle, address));
    answers(probed, until).await
}

/// Those who were asked for their reports and gave none.
fn silent(asked: BTreeSet<Address>, reports: &[Report], probes: &[Probe]) -> Vec<Address> {
    let is_known = |address: &Address| {
        let of = |one: &Report| {
            one.explanation.node.address == *address || one.facts.bound.iter().any(|bound| bound == address.as_str())
        };
        reports.iter().any(of) || probes.iter().any(|probe| probe.address == *address)
    };
    asked.into_iter().filter(|address| !is_known(address)).collect()
}

#[expect(clippy::disallowed_methods, reason = "clocks that run apart are a cause")]
fn wall() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// How often it is told what is wrong while there is no master.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// So many nodes do so as often; more of them together no more often than these, as each asks others.
const TELLERS: usize = 32;

/// Waits until there is a master, or none; false once the node has ended.
async fn comes_to_be(states: &mut watch::Receiver<Arc<ClusterState>>, a_master: bool) -> bool {
    states.wait_for(|state| state.nodes.master.is_some() == a_master).await.is_ok()
}

/// Logs what is wrong, again and again, while there is no master.
pub async fn tell_while_masterless(handle: Handle) {
    let mut states = handle.states();
    loop {
        if !comes_to_be(&mut states, false).await {
            return;
        }
        let Some(explanation) = handle.explain().await else { return };
        let pause = TOLD_EVERY * u32::try_from(explanation.hosts.len().div_ceil(TELLERS).max(1)).unwrap_or(u32::MAX);
        match tokio::time::timeout(pause, comes_to_be(&mut states, true)).await {
            Ok(true) => continue,
            Ok(false) => return,
            Err(_) => {}
        }
        let Some(reports) = asked_around(&handle, ASKED_FOR_THE_LOG_MAX).await else { return };
        let Some(diagnosis) = judge(&reports) else { return };
        let answered = reports.iter().map(|report| report.explanation.node.address.clone()).collect();
        failed::tell_of_own_fault(&handle, &diagnosis.verdicts, answered).await;
        // What was set on purpose keeps no master away.
        let is_why = |verdict: &&Verdict| !matches!(verdict.code, Code::OpenToStrangers | Code::InsecureSetting);
        for verdict in diagnosis.verdicts.iter().filter(is_why) {
            let mend = verdict.mend.as_ref().map_or_else(String::new, Mend::in_words);
            tracing::warn!(target: DISCOVERY, "no master: [{}] {}{mend}", verdict.code.name(), verdict.summary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn however_many_are_silent_those_that_answer_are_heard_in_time() {
        let ask = |number: usize| async move {
            if number < ASKED_MAX {
                std::future::pending::<()>().await;
            }
            Some(number)
        };
        let heard = answers((0..=ASKED_MAX).map(ask), Instant::now() + Duration::from_millis(50));
        let heard = tokio::time::timeout(Duration::from_secs(10), heard).await;
        assert_eq!(heard, Ok(vec![ASKED_MAX]));
    }
}
