//! `zazen doctor`: what would keep a node from working, before it runs.
//!
//! Looks at what the configuration names: ports, addresses, the data directory, limits, seed hosts, the clock. The verdicts
//! are those of `diagnose`.

use super::ask::{Asker, Place};
use super::config::{self, ConfigArgs};
use super::explain::tell;
use super::printable::line;
use super::stopwatch::Stopwatch;
use super::{CommandError, CommandOutcome, start_failure};
use crate::diagnose::{Certainty, Code, Evidence, Mend, Report, Verdict, Worth};
use crate::runtime::Access;
use crate::runtime::addresses;
use crate::runtime::listen::bind;
use crate::runtime::secure::{Side, gate, open_sides};
use crate::runtime::seeds::places_of;
use crate::runtime::{StartError, published};
use crate::settings::{DiscoveryKind, ListenSettings, NodeSettings, weaknesses};
use clap::Args;
use futures_util::future::{self, join_all};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, SystemTime};
use tokio::time::timeout;

/// How long a seed host may take to take a connection, and to tell of itself.
const SEED_MAX: Duration = Duration::from_millis(800);

/// How many addresses of one seed host are called at a time.
const CALLS_AT_A_TIME: usize = 128;

/// A sync that takes longer is told of.
const SYNC_MAX: Duration = Duration::from_millis(500);

/// Clocks that differ by less are well.
const SKEW_MAX_MILLIS: u64 = 2_000;

/// Look for what would keep a node from working, before it runs.
///
/// Tries the ports and addresses that the configuration names, names settings that weaken what keeps strangers out, writes to
/// the data directory and measures how long a sync takes, looks at limits, asks the seed hosts who they are and what their
/// clocks say. Nothing is changed.
///
/// Exit codes: 0 nothing is wrong, 1 something is, 2 the node would not start.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What was looked at, and what is wrong.
#[derive(Default, Serialize)]
struct Findings {
    #[serde(rename = "ok")]
    well: Vec<String>,
    #[serde(rename = "verdicts")]
    odd: Vec<Verdict>,
    /// Whether the node would not start.
    #[serde(rename = "would_not_start")]
    is_fatal: bool,
}

impl DoctorArgs {
    pub(super) fn run(self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let settings = config::load(&self.config)?.settings;
        let runtime = super::runtime()?;
        let mut findings = Findings::default();
        runtime.block_on(listen(&settings, &mut findings));
        security(&settings, &mut findings);
        data(&settings, &mut findings);
        limits(&mut findings);
        let asker = Asker::new(&Access::default())?;
        runtime.block_on(seeds(&settings, &asker, &mut findings));
        match self.json {
            true => writeln!(out, "{:#}", serde_json::json!(findings))?,
            false => print(&findings, out)?,
        }
        Ok(match (findings.is_fatal, findings.odd.is_empty()) {
            (true, _) => CommandOutcome::Ended(2),
            (false, false) => CommandOutcome::Broken,
            (false, true) => CommandOutcome::Fine,
        })
    }
}

fn print(findings: &Findings, out: &mut impl Write) -> io::Result<()> {
    for well in &findings.well {
        line(out, format_args!("ok  {well}"))?;
    }
    findings.odd.iter().try_for_each(|verdict| tell(verdict, out))
}

impl Findings {
    fn well(&mut self, what: impl Into<String>) {
        self.well.push(what.into());
    }

    fn odd(&mut self, code: Code, summary: impl Into<String>, mend: Option<Mend>) {
        let certainty = Certainty::Certain;
        self.odd.push(Verdict { code, summary: summary.into(), certainty, node: None, evidence: Vec::new(), mend });
    }

    fn fatal(&mut self, error: &StartError, settings: &NodeSettings) {
        self.is_fatal = true;
        self.odd.push(start_failure::verdict(error, settings));
    }
}

/// Ports and addresses: both are bound for a moment, and the published one is called.
async fn listen(settings: &NodeSettings, findings: &mut Findings) {
    for (side, who, listen) in sides(settings) {
        let hosts = match addresses::bind_addresses(listen) {
            Ok(hosts) => hosts,
            Err(error) => {
                findings.fatal(&StartError::Address(error), settings);
                continue;
            }
        };
        if let Err(error) = gate(settings, who, &hosts) {
            findings.fatal(&StartError::Insecure(error), settings);
            continue;
        }
        let listeners = match bind(&hosts, &listen.ports).await {
            Ok(listeners) => listeners,
            Err(error) => {
                findings.fatal(&StartError::Bind(error), settings);
                continue;
            }
        };
        match published(listen, &listeners) {
            Ok(address) if TcpStream::connect_timeout(&address, SEED_MAX).is_ok() => {
                findings.well(format!("{side} can listen, and is reached at [{address}] from this host"));
            }
            Ok(address) => {
                let bound = listeners.first().and_then(|listener| listener.local_addr().ok());
                let mend = bound.map(|bound| publish_mend(settings, side, address, bound));
                let summary = format!("{side} would be published as [{address}], where this host does not reach it");
                findings.odd(Code::UnreachablePublishAddress, summary, mend);
            }
            Err(error) => findings.fatal(&error, settings),
        }
    }
}

/// The ports that a node has, with who comes there.
fn sides(settings: &NodeSettings) -> impl Iterator<Item = (&'static str, Side, &ListenSettings)> {
    let users = settings.rest.enabled.then_some(("http", Side::Users, &settings.http));
    [("transport", Side::Nodes, &settings.transport)].into_iter().chain(users)
}

/// What lets strangers in, though the node would start.
fn security(settings: &NodeSettings, findings: &mut Findings) {
    let hosts = |side: Side| -> Vec<IpAddr> {
        let bound = sides(settings).filter(|(_, who, _)| *who == side);
        bound.filter_map(|(.., listen)| addresses::bind_addresses(listen).ok()).flatten().collect()
    };
    let open = open_sides(settings, &hosts(Side::Nodes), &hosts(Side::Users));
    let weak: Vec<_> = weaknesses(settings);
    if open.is_empty() && weak.is_empty() {
        return findings.well("no setting weakens what keeps strangers out");
    }
    // A node that would not start has said so.
    for what in open.into_iter().filter(|_| settings.security.allow_open) {
        findings.odd(Code::OpenToStrangers, what, None);
    }
    for weakness in weak {
        let set = |(key, value): (&str, &str)| start_failure::set(settings, key, &Worth::Plain(value.to_owned()));
        let mend = weakness.mend.split_once(": ").map(set);
        findings.odd(Code::InsecureSetting, format!("[{}]: {}", weakness.setting, weakness.lets), mend);
    }
}

fn publish_mend(settings: &NodeSettings, side: &str, address: SocketAddr, bound: SocketAddr) -> Mend {
    if address.port() == bound.port() {
        start_failure::text(settings, &format!("{side}.publish_host"), &bound.ip().to_string())
    } else {
        start_failure::set(settings, &format!("{side}.publish_port"), &Worth::Plain(bound.port().to_string()))
    }
}

/// The data directory: whether it is free, can be written to, how long a sync takes, and how much room there is.
fn data(settings: &NodeSettings, findings: &mut Findings) {
    let path = &settings.path_data;
    let lock = path.join("nodes").join("0").join("node.lock");
    if let Ok(file) = File::open(&lock)
        && let Err(TryLockError::WouldBlock) = file.try_lock()
    {
        let holder = fs::read_to_string(&lock).ok().and_then(|text| text.trim().parse().ok());
        let dir = path.join("nodes").join("0");
        let error = crate::runtime::store::StoreError::Locked { dir, holder };
        return findings.fatal(&StartError::Store(error), settings);
    }
    match try_write(path) {
        Ok(took) if took > SYNC_MAX => {
            let summary = format!("a sync of the disk under [{}] takes {took:?}", path.display());
            let elsewhere = format!("{}-on-another-disk", path.display());
            let mend = start_failure::text(settings, "path.data", &elsewhere);
            findings.odd(Code::DiskSlow, summary, Some(mend));
        }
        Ok(took) => findings.well(format!("[{}] can be written, a sync takes {took:?}", path.display())),
        Err(source) => {
            let error = crate::runtime::store::StoreError::Io { tried: "write to", path: path.clone(), source };
            findings.fatal(&StartError::Store(error), settings);
        }
    }
}

/// Writes a file, syncs it and removes it; a directory that was not there is removed again.
fn try_write(path: &Path) -> io::Result<Duration> {
    let is_new = !path.exists();
    fs::create_dir_all(path)?;
    let file = path.join("zazen-doctor.tmp");
    let stopwatch = Stopwatch::start();
    let written = File::create(&file).and_then(|mut new| {
        new.write_all(&[b'x'; 4096])?;
        new.sync_all()
    });
    let took = stopwatch.elapsed();
    let _ = fs::remove_file(&file);
    if is_new {
        let _ = fs::remove_dir(path);
    }
    written.map(|()| took)
}

fn limits(findings: &mut Findings) {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(u64::MAX);
    if limit < 256 {
        let mend = Mend::command("ulimit -n 65536");
        findings.odd(Code::TooManyFiles, format!("a node may have [{limit}] files and sockets open"), Some(mend));
    } else {
        findings.well(format!("it may have [{limit}] files and sockets open"));
    }
}

/// The seed hosts: whether they have an address, who answers there, and what the clock there says.
async fn seeds(settings: &NodeSettings, asker: &Asker, findings: &mut Findings) {
    if settings.discovery.kind != DiscoveryKind::Zen {
        return findings.well("it is a cluster by itself and asks nobody");
    }
    let looks = settings.discovery.hosts.iter().flatten().map(|seed| look(settings, asker, seed));
    for mut found in join_all(looks).await {
        findings.well.append(&mut found.well);
        findings.odd.append(&mut found.odd);
    }
}

/// One seed host, as the node reads it: it may stand for several ports and addresses.
async fn look(settings: &NodeSettings, asker: &Asker, seed: &str) -> Findings {
    let mut findings = Findings::default();
    let addresses = match places_of(settings, seed).await {
        Ok(addresses) => addresses,
        Err(why) => {
            unresolved(settings, seed, &why, &mut findings);
            return findings;
        }
    };
    let calls = stream::iter(addresses).map(|address| async move { listens(address).await.then_some(address) });
    let listening: Vec<SocketAddr> = calls.buffered(CALLS_AT_A_TIME).filter_map(future::ready).collect().await;
    if listening.is_empty() {
        findings.well(format!("nobody listens at seed host [{seed}] yet"));
        return findings;
    }
    if settings.security.secret.is_some() || settings.security.certificate.is_some() {
        findings.well(format!("somebody listens at seed host [{seed}], who tells nodes only who it is"));
        return findings;
    }
    let asked = listening.iter().map(|address| async move {
        asker.ask::<Report>(&Place(address.to_string()), "/_zen/report", SEED_MAX).await.ok()
    });
    let reports: Vec<Report> = join_all(asked).await.into_iter().flatten().collect();
    if reports.is_empty() {
        let summary = format!("[{seed}] among the seed hosts is no transport port of a Zazen node");
        findings.odd(Code::HttpPortInSeeds, summary, None);
    }
    reports.iter().for_each(|report| judge(settings, seed, report, &mut findings));
    findings
}

async fn listens(address: SocketAddr) -> bool {
    matches!(timeout(SEED_MAX, tokio::net::TcpStream::connect(address)).await, Ok(Ok(_)))
}

/// The others are left, if there are any: a node without seed hosts makes a cluster of its own.
fn unresolved(settings: &NodeSettings, seed: &str, why: &str, findings: &mut Findings) {
    let seeds = settings.discovery.hosts.as_deref().unwrap_or_default();
    let left: Vec<String> = seeds.iter().filter(|one| *one != seed).cloned().collect();
    let set = || start_failure::set(settings, "discovery.zen.ping.unicast.hosts", &Worth::List(left.clone()));
    let mend = (!left.is_empty()).then(set);
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
        findings.odd(Code::ClockSkew, summary, Some(Mend::command("timedatectl set-ntp true")));
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
