//! A start that failed is told to the seed hosts, and they keep it for `explain`: on a machine of its own nobody else could
//! tell why the node is not there.
//!
//! Whom it is told is asked nothing, and nothing depends on its hearing it. What comes of a stranger's word is bounded, and a
//! line to type is for the host that it came from; for this host it is taken only from root, from this node's user, or from who
//! showed that he is of the cluster.

use crate::cluster::Address;
use crate::diagnose::{Code, FailedStart, Launch, Mend, Obstacle, Start, Verdict, own_fault};
use crate::runtime::addresses::{Machine, is_here};
use crate::runtime::guard::Guard;
use crate::runtime::host::{absolute, is_trusted, loaded, started_besides};
use crate::runtime::peers::Wanted;
use crate::runtime::printable::printable;
use crate::runtime::proc::user_of_peer;
use crate::runtime::seeds::{Seeds, with_port};
use crate::runtime::start_failure::{in_short, running};
use crate::runtime::surroundings::{sibling, text_of};
use crate::runtime::{Handle, program};
use crate::settings::{DiscoveryKind, NodeSettings};
use bytes::Bytes;
use futures_util::future::join_all;
use reqwest::Method;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Where a node is told of a start that failed.
pub(in crate::runtime) const FAILED_PATH: &str = "/_zen/failed_start";

/// How long it may take to tell: whoever started the node waits to read why it did not.
const TELLING_MAX: Duration = Duration::from_millis(700);

/// How many are told.
const TOLD_MAX: usize = 16;

/// Where a node may be reached that was to start.
const ADDRESSES_MAX: usize = 8;

/// Tells those among the seed hosts that run why a node does not.
pub async fn tell_of_failed_start(settings: &NodeSettings, told: Verdict) {
    // Who tries to start what runs already takes nothing from anybody.
    if running(settings).is_none() {
        let Verdict { code, summary, mend, .. } = told;
        let obstacle = Obstacle { code, fault: in_short(&summary), mend };
        tell_in_time(settings, failed_start(settings, obstacle)).await;
    }
}

/// The same of a node that ran, and ended because its disk failed.
pub async fn tell_of_end(settings: &NodeSettings, told: Verdict) {
    if running(settings).is_none() {
        let Verdict { code, summary, mend, .. } = told;
        let obstacle = Obstacle { code, fault: in_short(&summary), mend };
        tell_in_time(settings, FailedStart { ended: true, ..failed_start(settings, obstacle) }).await;
    }
}

/// The same of a configuration that makes no sense, by what does of it: this file, and what was given besides.
pub async fn tell_of_faults(file: &str, text: &str, launch: &Launch) {
    let name = absolute(Path::new(file));
    let (meant, Some(slip)) = loaded(Some(&name), Some(text), launch) else { return };
    // Where what was given besides makes no sense, the file tells whose start that was.
    let by_file = || loaded(Some(&name), Some(text), &Launch::default()).0;
    let Some(settings) = meant.or_else(by_file) else { return };
    let start = |mended| Start::new(&program(), Some(&name), launch).mend(&format!("{mended} && "));
    let mend = slip.mend.map(start).or_else(|| started_besides(&name, text, launch));
    let obstacle = Obstacle { code: Code::BadSettings, fault: slip.fault, mend };
    tell_in_time(&settings, failed_start(&settings, obstacle)).await;
}

/// The same of a node that runs and has no master for what is wrong with itself, if that is so; those that answered it are
/// told as well, as its seed hosts may be what is wrong.
pub(super) async fn tell_of_own_fault(handle: &Handle, verdicts: &[Verdict], answered: Vec<Address>) {
    let Some(obstacle) = own_fault(&handle.local().name, verdicts) else { return };
    let settings = handle.settings();
    // It has a name even if its configuration gives none.
    let name = handle.local().name.to_string();
    let failed = FailedStart { name, runs: true, ..failed_start(&settings, obstacle) };
    let _ = timeout(TELLING_MAX, tell(&settings, failed, answered)).await;
}

/// Who does not answer in time is not there, and nobody needs to hear it.
async fn tell_in_time(settings: &NodeSettings, failed: FailedStart) {
    if settings.discovery.kind == DiscoveryKind::Zen {
        let _ = timeout(TELLING_MAX, tell(settings, failed, Vec::new())).await;
    }
}

async fn tell(settings: &NodeSettings, failed: FailedStart, answered: Vec<Address>) -> Option<()> {
    let own = failed.addresses.first().cloned().unwrap_or_else(|| Address::from(failed.name.clone()));
    let body = Bytes::from(text_of(&failed)?);
    // Who cannot show that he is of the cluster is not heard by it.
    let peers = Guard::of(settings, &own).ok()?.peers().ok()?;
    let seeds = Seeds::new(settings, &own, &[]).resolve().await.peers;
    let all: BTreeSet<Address> = answered.into_iter().chain(seeds).collect();
    let others = all.into_iter().filter(|to| !failed.addresses.contains(to)).take(TOLD_MAX);
    let tells = others.map(|to| {
        let (peers, target, body) = (peers.clone(), FAILED_PATH.to_owned(), body.clone());
        let wanted = Wanted { method: Method::POST, target, part: None, body, patience: TELLING_MAX };
        async move { peers.ask(&to, &wanted).await.is_ok() }
    });
    join_all(tells).await;
    Some(())
}

fn failed_start(settings: &NodeSettings, obstacle: Obstacle) -> FailedStart {
    let about = sibling(settings, None, &Machine::look().unwrap_or_default());
    // Of several ports it would take the first that is free.
    let port = settings.transport.ports.first.first;
    let addresses: Vec<Address> =
        about.hosts.iter().take(ADDRESSES_MAX).map(|host| with_port(host, port).into()).collect();
    let name = about.name.or_else(|| Some(addresses.first()?.to_string())).unwrap_or_default();
    let (cluster, data) = (Some(settings.cluster_name.to_string()), Some(absolute(&settings.path_data)));
    FailedStart { name, addresses, runs: false, ended: false, cluster, data, obstacle, since_millis: 0 }
}

/// Keeps what a node told of its start, from where it did.
pub(in crate::runtime) async fn hear(
    handle: &Handle,
    told: &[u8],
    (from, is_of_cluster): (SocketAddr, bool),
) -> serde_json::Result<()> {
    let failed: FailedStart = serde_json::from_slice(told)?;
    let handle = handle.clone();
    // The tables of a host with many sockets are long.
    let keep = move || {
        let is_here = is_here(&from.ip());
        // Of this host anybody may say so, and root, or the user of this node, would type it.
        let is_trusted = !is_here || is_of_cluster || user_of_peer(from).is_some_and(is_trusted);
        let host = (!is_here).then(|| from.ip().to_string());
        handle.surroundings().failed.keep(Instant::now(), believed(failed, (host, is_of_cluster), is_trusted));
    };
    // Nobody waits for what becomes of it.
    let _ = tokio::task::spawn_blocking(keep).await;
    Ok(())
}

fn believed(told: FailedStart, (from, is_of_cluster): (Option<String>, bool), is_trusted: bool) -> FailedStart {
    let Obstacle { code, fault, mend } = told.obstacle;
    // Of another host than its own only a node of the cluster may say what is to be typed there.
    let elsewhere = mend.as_ref().and_then(|mend| mend.host.as_deref()).filter(|_| is_of_cluster).map(printable);
    let host = elsewhere.or_else(|| from.clone());
    let typed =
        |mend: Mend| Mend { host, line: printable(&mend.line), file: mend.file.map(|file| printable(&file)), ..mend };
    // Who is on loopback elsewhere by its own words is known to others by where it speaks from.
    let seen_at = |address: Address| match from.as_deref().filter(|_| address.is_loopback()) {
        Some(host) => address
            .port()
            .and_then(|port| port.parse().ok())
            .map_or(address.clone(), |port| with_port(host, port).into()),
        None => address,
    };
    let addresses = told.addresses.into_iter().take(ADDRESSES_MAX).map(seen_at).collect();
    let obstacle = Obstacle { code, fault: printable(&fault), mend: mend.filter(|_| is_trusted).map(typed) };
    // What is made of these is typed as well.
    let typed = |text: Option<String>| text.filter(|_| is_trusted).map(|text| printable(&text));
    let (cluster, data) = (typed(told.cluster), typed(told.data));
    let (name, runs, ended) = (printable(&told.name), told.runs, told.ended);
    FailedStart { name, addresses, runs, ended, cluster, data, obstacle, since_millis: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::surroundings::{FAILED_MAX, FailedStarts};

    fn told(name: &str, address: &str) -> FailedStart {
        let mend = Some(Mend::command("zazen start -c n2.yml\n"));
        let obstacle = Obstacle { code: Code::PortInUse, fault: "a\u{1b}[2J".into(), mend };
        FailedStart {
            name: name.into(),
            addresses: vec![address.into()],
            runs: false,
            ended: false,
            cluster: None,
            data: None,
            obstacle,
            since_millis: 7,
        }
    }

    #[test]
    fn a_line_is_for_the_host_that_told_it_and_for_this_one_only_of_whom_is_trusted() {
        let heard = |host: Option<&str>, is_trusted| {
            believed(told("n2", "192.0.2.7:9300"), (host.map(Into::into), false), is_trusted).obstacle.mend
        };
        let line = heard(Some("192.0.2.7"), true).expect("it is for its own host");
        assert_eq!((line.host.as_deref(), &*line.line), (Some("192.0.2.7"), r"zazen start -c n2.yml\n"));
        assert_eq!(heard(None, false), None, "anybody on this host");
        assert_eq!(heard(None, true).expect("it is of the cluster, or of the same user").host, None);
    }

    #[test]
    fn a_line_for_a_third_host_is_taken_from_nodes_of_the_cluster_only() {
        let mut elsewhere = told("n2", "192.0.2.7:9300");
        elsewhere.obstacle.mend = elsewhere.obstacle.mend.map(|mend| Mend { host: Some("keys".into()), ..mend });
        let host = |is_of_cluster| {
            let believed = believed(elsewhere.clone(), (Some("192.0.2.7".into()), is_of_cluster), true);
            believed.obstacle.mend.and_then(|mend| mend.host)
        };
        assert_eq!((host(true).as_deref(), host(false).as_deref()), (Some("keys"), Some("192.0.2.7")));
    }

    #[test]
    fn who_listens_on_loopback_of_another_host_is_known_by_where_it_speaks_from() {
        let heard =
            |at: &str, host: Option<&str>| believed(told("n2", at), (host.map(Into::into), true), true).addresses;
        assert_eq!(heard("127.0.0.1:9300", Some("192.0.2.7")), ["192.0.2.7:9300".into()]);
        assert_eq!(heard("[::1]:9300", Some("2001:db8::7")), ["[2001:db8::7]:9300".into()]);
        assert_eq!(heard("127.0.0.1:9300", None), ["127.0.0.1:9300".into()], "it is on this host");
        assert_eq!(heard("192.0.2.8:9300", Some("192.0.2.7")), ["192.0.2.8:9300".into()], "it has two addresses");
    }

    #[test]
    fn what_would_move_the_cursor_is_shown() {
        let believed = believed(told("n\r2", "h:1"), (None, false), false);
        assert_eq!((&*believed.name, &*believed.obstacle.fault), (r"n\r2", r"a\u{1b}[2J"));
    }

    #[test]
    fn what_becomes_too_long_by_being_shown_is_not_kept() {
        let kept = FailedStarts::default();
        let odd = told(&"\u{7f}".repeat(FAILED_MAX / 2), "h:1");
        assert!(text_of(&odd).is_some(), "it is short as it is told");
        kept.keep(Instant::now(), believed(odd, (None, false), false));
        assert!(kept.told(None).is_empty());
    }
}
