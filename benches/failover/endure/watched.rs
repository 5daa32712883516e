//! What being watched costs: a cluster with metrics that are scraped, pages that are open and hooks, beside one as it comes.
//!
//! A page is here what it asks of its node, over a connection that it keeps, as `app.js` of the dashboard does.

use super::beside::{BesideArgs, Extra};
use crate::clock::{now, pause};
use crate::http::Http;
use crate::peers::Zazen;
use crate::site::Site;
use clap::Args;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use zazen::client::Access;

/// How many pages are open, each at one of the nodes.
const PAGES: usize = 10;

/// How often metrics are scraped, and a page asks.
const PERIOD: Duration = Duration::from_secs(1);

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(4);

const METRICS: &[&str] = &["/_prometheus/metrics"];
const PAGE: &[&str] = &[
    "/_zazen/overview?timeout=600ms&max_age=900ms&events=40",
    "/_cluster/pending_tasks?master_timeout=1s",
    "/_zazen/kv?local=true&values=true&limit=200",
    "/_zazen/lease?local=true",
    "/_cluster/settings?local=true&flat_settings=true",
];

/// A page asks what is wrong once in so many rounds while nothing is.
const EXPLAINED_EVERY: usize = 10;

/// Measures fail-over and throughput with metrics, pages and hooks beside those without.
#[derive(Args)]
pub(crate) struct WatchedArgs {
    #[command(flatten)]
    beside: BesideArgs,
}

impl WatchedArgs {
    pub(crate) fn run(&self) -> Result<(), String> {
        self.beside.run(&Extra {
            title: "watched",
            peer: Zazen::WATCHED,
            set_up: |_| Ok(Access::default()),
            attend,
            failover_max: 1.05,
            throughput_min: 0.95,
        })
    }
}

fn attend(site: &Site, is_over: &Arc<AtomicBool>) -> Vec<JoinHandle<()>> {
    let doors: Vec<SocketAddr> = site.places.iter().map(|place| place.door()).collect();
    let scrapers = doors.iter().map(|door| (*door, METRICS));
    let pages = doors.iter().cycle().take(PAGES).map(|door| (*door, PAGE));
    let ask = |(door, paths)| {
        let is_over = is_over.clone();
        thread::spawn(move || ask_on(door, paths, &is_over))
    };
    scrapers.chain(pages).map(ask).collect()
}

/// Asks the same again and again; a node that is away is asked later.
fn ask_on(door: SocketAddr, paths: &[&str], is_over: &AtomicBool) {
    let mut http = Http::at(door, PATIENCE);
    for round in 0_usize.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let began = now();
        for path in paths {
            drop(http.get(path));
        }
        if paths == PAGE && round % EXPLAINED_EVERY == 0 {
            drop(http.get("/_zazen/explain?max_age=1s"));
        }
        pause(PERIOD.saturating_sub(now() - began));
    }
}
