//! `zazen doctor`: what would keep a node from working, before it runs.
//!
//! Looks at what the configuration names: ports, addresses, the data directory, limits, seed hosts, the clock. The verdicts
//! are those of `diagnose`.

mod data;
mod hooks;
mod seeds;

use super::ask::Asker;
use super::config::{self, ConfigArgs};
use super::start::outlive_file_limit;
use super::verdict::tell;
use super::{CommandError, CommandOutcome, failed};
use crate::diagnose::{Certainty, Code, Mend, Verdict, Worth};
use crate::runtime::Access;
use crate::runtime::addresses;
use crate::runtime::descriptors;
use crate::runtime::listen::bind;
use crate::runtime::printable::line;
use crate::runtime::secure::{Side, ending, expiries, gate, has_files_of, open_sides, readable};
use crate::runtime::start_failure;
use crate::runtime::{StartError, listening, published};
use crate::settings::{ListenSettings, NodeSettings, Weakness, weaknesses};
use clap::Args;
use futures_util::future::select_all;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// How long a seed host may take to take a connection, and to tell of itself.
const SEED_MAX: Duration = Duration::from_millis(800);

/// How many places are looked at for where a node that runs is asked.
const PLACES_MAX: usize = 32;

/// Look for what would keep a node from working, before it runs.
///
/// Tries the ports and addresses that the configuration names, names settings that weaken what keeps strangers out, writes to
/// the directories of the data and of the log and measures how long a sync takes, looks at limits, asks the seed hosts who
/// they are and what their clocks say. Nothing is changed.
///
/// Of a node that runs already what it holds itself is left out: its ports and its data directory. What is wrong with it
/// `zazen explain` tells.
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
        runtime.block_on(async { outlive_file_limit() }).map_err(|error| failed("listen to signals", error))?;
        let mut findings = Findings::default();
        let running = start_failure::running(&settings);
        if let Some(pid) = running {
            runs(&settings, pid, &mut findings);
        }
        runtime.block_on(listen(&settings, running, &mut findings));
        security(&settings, &mut findings);
        hooks::look(&settings, &mut findings);
        let id = match running {
            Some(_) => None,
            None => {
                data::look_at_log(&settings, &mut findings);
                data::look(&settings, &mut findings)
            }
        };
        limits(&settings, &mut findings);
        let asker = Asker::new(&Access::default())?;
        runtime.block_on(seeds::look(&settings, (&asker, id.as_ref()), &mut findings));
        findings.once_each();
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
    for verdict in &findings.odd {
        // What this program says itself may have commands on lines of their own.
        let (head, rest) = verdict.summary.split_once('\n').unwrap_or((&verdict.summary, ""));
        tell(&Verdict { summary: head.to_owned(), ..verdict.clone() }, out)?;
        for one in rest.lines().filter(|one| !one.is_empty()) {
            line(out, format_args!("  {one}"))?;
        }
    }
    Ok(())
}

impl Findings {
    fn well(&mut self, what: impl Into<String>) {
        self.well.push(what.into());
    }

    fn odd(&mut self, code: Code, summary: impl Into<String>, mend: Option<Mend>) {
        let certainty = Certainty::Certain;
        self.odd.push(Verdict { code, summary: summary.into(), certainty, node: None, evidence: Vec::new(), mend });
    }

    /// What both sides, or several seed hosts, tell alike is told once.
    fn once_each(&mut self) {
        let mut seen = BTreeSet::new();
        let what =
            |verdict: &Verdict| verdict.mend.as_ref().map_or_else(|| verdict.summary.clone(), |mend| mend.line.clone());
        self.odd.retain(|verdict| seen.insert((verdict.code, what(verdict))));
    }

    fn fatal(&mut self, error: &StartError, settings: &NodeSettings) {
        self.is_fatal = true;
        self.odd.push(start_failure::verdict(error, settings));
    }
}

/// The node of this file runs: what is wrong with that it can be asked itself.
fn runs(settings: &NodeSettings, pid: u32, findings: &mut Findings) {
    let hosts = addresses::bind_addresses(&settings.http).unwrap_or_default();
    let places = settings.http.ports.iter().flat_map(|port| hosts.iter().map(move |host| SocketAddr::new(*host, port)));
    let users = places.take(PLACES_MAX).find(|place| settings.rest.enabled && listening(*place) == Some(pid));
    let url = users.map_or_else(String::new, |place| {
        let here = if place.is_ipv4() { IpAddr::from(Ipv4Addr::LOCALHOST) } else { Ipv6Addr::LOCALHOST.into() };
        let host = if place.ip().is_unspecified() { here } else { place.ip() };
        format!(" --url {}", SocketAddr::new(host, place.port()))
    });
    findings.well(format!(
        "the node of this configuration runs already, as process [{pid}]: if something is wrong, `zazen explain{url}` tells what"
    ));
}

/// Ports and addresses: both are bound for a moment, and the published one is called.
async fn listen(settings: &NodeSettings, running: Option<u32>, findings: &mut Findings) {
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
            Err(error)
                if running.is_some() && listening(SocketAddr::new(error.host(), error.first_port())) == running =>
            {
                continue;
            }
            Err(error) => {
                findings.fatal(&StartError::Bind(error), settings);
                continue;
            }
        };
        match published(listen, &listeners) {
            Ok(address) if reaches(address, &listeners).await => {
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

/// Whether a connection to an address comes to one of these: another host, or another process, may listen there.
async fn reaches(address: SocketAddr, listeners: &[TcpListener]) -> bool {
    let call = async {
        let Ok(called) =
            timeout(SEED_MAX, TcpStream::connect(address)).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
        else {
            return false;
        };
        // Until it was taken, or not.
        tokio::time::sleep(SEED_MAX).await;
        drop(called);
        false
    };
    let taken = listeners.iter().map(|listener| Box::pin(listener.accept()));
    tokio::select! {
        (taken, ..) = select_all(taken) => taken.is_ok(),
        is_reached = call => is_reached,
    }
}

/// The ports that a node has, with who comes there.
pub(super) fn sides(settings: &NodeSettings) -> impl Iterator<Item = (&'static str, Side, &ListenSettings)> {
    let users = settings.rest.enabled.then_some(("http", Side::Users, &settings.http));
    [("transport", Side::Nodes, &settings.transport)].into_iter().chain(users)
}

/// What lets strangers in, though the node would start.
fn security(settings: &NodeSettings, findings: &mut Findings) {
    let hosts = |side: Side| -> Vec<IpAddr> {
        let bound = sides(settings).filter(|(_, who, _)| *who == side);
        bound.filter_map(|(.., listen)| addresses::bind_addresses(listen).ok()).flatten().collect()
    };
    if let Err(error) = readable(settings) {
        findings.fatal(&StartError::Secret(error), settings);
    }
    for expiry in expiries(settings) {
        if let Some(what) = ending(&expiry) {
            findings.odd(Code::CertificateExpires, what, start_failure::remade(&expiry.file, settings));
        }
    }
    let open = open_sides(settings, &hosts(Side::Nodes), &hosts(Side::Users));
    let weak: Vec<_> = weaknesses(settings);
    if open.is_empty() && weak.is_empty() {
        return findings.well("no setting weakens what keeps strangers out");
    }
    // A node that would not start has said so.
    for what in open.iter().filter(|_| settings.security.allow_open) {
        findings.odd(Code::OpenToStrangers, what.clone(), closing(settings));
    }
    let is_told = |weakness: &Weakness| !open.is_empty() && weakness.setting.starts_with("zazen.security.allow_open");
    for weakness in weak.into_iter().filter(|weakness| !is_told(weakness)) {
        let set = |(key, value): (&str, &str)| start_failure::set(settings, key, &Worth::Plain(value.to_owned()));
        let line = Some(&weakness.mend).filter(|line| has_files_of(settings, line));
        let mend = line.and_then(|line| line.split_once(": ")).map(set);
        findings.odd(Code::InsecureSetting, format!("[{}]: {}", weakness.setting, weakness.lets), mend);
    }
}

/// What a node is told that opens such ports without leave.
fn closing(settings: &NodeSettings) -> Option<Mend> {
    let mut closed = settings.clone();
    closed.security.allow_open = false;
    let refused = sides(&closed)
        .find_map(|(_, side, listen)| gate(&closed, side, &addresses::bind_addresses(listen).ok()?).err())?;
    start_failure::verdict(&StartError::Insecure(refused), settings).mend
}

fn publish_mend(settings: &NodeSettings, side: &str, address: SocketAddr, bound: SocketAddr) -> Mend {
    if address.port() == bound.port() {
        start_failure::text(settings, &format!("{side}.publish_host"), &bound.ip().to_string())
    } else {
        start_failure::set(settings, &format!("{side}.publish_port"), &Worth::Plain(bound.port().to_string()))
    }
}

fn limits(settings: &NodeSettings, findings: &mut Findings) {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(u64::MAX);
    if limit < descriptors::LEAST {
        findings.fatal(&StartError::FewFiles(limit), settings);
    } else if limit < 256 {
        let mend = start_failure::verdict(&StartError::FewFiles(limit), settings).mend;
        findings.odd(Code::TooManyFiles, format!("a node may have [{limit}] files and sockets open"), mend);
    } else {
        findings.well(format!("it may have [{limit}] files and sockets open"));
    }
}
