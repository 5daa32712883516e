//! What clients see when the master goes: they write and read without pause, each request counts, and each register tells
//! whether something was lost or done twice.
//!
//! The same is done to other services, in turn with Zazen.

mod client;
mod ground;
mod way;

use crate::peer;
use crate::progress::Progress;
use crate::table::{Mark, refresh, table};
use crate::trial::turns;
use clap::{Args, ValueEnum};
use ground::{Ground, HEAD};
use serde_json::Value;
use std::path::PathBuf;
use way::Way;

const MARK: Mark = Mark { begin: "<!-- clients: written by scripts/clients -->", end: "<!-- end of clients -->" };

/// Lets clients write and read while the master goes, and demands that none of Zazen's sees an error.
#[derive(Args)]
pub(crate) struct ClientsArgs {
    /// How often the master goes in each way.
    #[arg(default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    trials: u32,
    /// How often in the ways that take seconds, stop and cut; as often as in the others unless given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    long_trials: Option<u32>,
    /// How often with each other service, at the most.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    peer_trials: u32,
    /// How many times round the nodes are restarted.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: u32,
    /// How many clients ask at once.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// Ends at a trial in which a request took more milliseconds than this, and keeps the files of its nodes.
    #[arg(long, value_name = "MS", default_value_t = f64::INFINITY)]
    longest: f64,
    /// What happens; all of it unless given.
    #[arg(long, value_delimiter = ',', value_enum)]
    ways: Vec<Way>,
    /// Who is measured.
    #[arg(long, value_delimiter = ',', default_value = "zazen")]
    peers: Vec<String>,
    /// Installs the peers that are missing: packages of Debian, and what Maven fetches.
    #[arg(long)]
    install: bool,
    /// Writes everything, the longest request of each trial included, into this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Puts the table into this page, as in --markdown docs/benchmarks.md.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl ClientsArgs {
    pub(crate) fn run(&self) -> Result<(), String> {
        let peers = peer::present(&self.peers, self.install)?;
        let (mut lines, mut all, mut wrong) = (vec![HEAD.map(String::from).to_vec()], Vec::new(), Vec::new());
        for way in if self.ways.is_empty() { Way::value_variants() } else { &self.ways } {
            if way.is_wired() && !rustix::process::geteuid().is_root() {
                eprintln!("{way}: left out, since networks are for root to make");
                continue;
            }
            for ground in self.trials(*way, &peers, &mut wrong) {
                let row = ground.row();
                eprintln!("  {}", row.as_ref().map_or("no trial".into(), |row| row.join(" | ")));
                lines.extend(row);
                all.push(ground.json());
            }
        }
        let table = table(&lines);
        println!("{table}");
        if let Some(file) = &self.json {
            let written = std::fs::write(file, format!("{:#}\n", Value::Array(all)));
            written.map_err(|error| format!("[{}] cannot be written: {error}", file.display()))?;
        }
        if let Some(page) = &self.markdown {
            refresh(page, MARK, &table)?;
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }

    /// All trials of one way, those of different services in turn.
    fn trials(&self, way: Way, peers: &[&'static dyn peer::Peer], wrong: &mut Vec<String>) -> Vec<Ground> {
        let mut progress = Progress::start(way.to_string(), "trials");
        let mut grounds = Vec::new();
        for peer in peers {
            match Ground::prepare(*peer, way, self.clients as usize) {
                Ok(Some(ground)) => grounds.push(ground),
                Ok(None) => eprintln!("  {} cannot be asked for that", peer.title()),
                Err(why) => wrong.push(format!("{way}: {}: {why}", peer.title())),
            }
        }
        let trials: Vec<usize> = grounds.iter().map(|ground| self.times(way, ground.peer().key())).collect();
        let turns = turns(&trials);
        let mut has_failed = vec![false; grounds.len()];
        for (done, at) in turns.iter().enumerate() {
            if !has_failed[*at]
                && let Err(why) = grounds[*at].trial(self.longest)
            {
                has_failed[*at] = true;
                let (who, kept) = (grounds[*at].peer().title(), grounds[*at].keep());
                wrong.push(format!("{way}: {who}: {why}; its files are kept in [{kept}]"));
            }
            progress.tell(done + 1, turns.len(), "");
        }
        progress.end();
        grounds.iter().for_each(|ground| judge(way, ground, wrong));
        grounds
    }

    fn times(&self, way: Way, who: &str) -> usize {
        let trials = match way {
            Way::Rolling => return self.rounds as usize,
            Way::Stop | Way::Cut => self.long_trials.unwrap_or(self.trials),
            Way::Nothing | Way::Kill | Way::Term | Way::HandOver => self.trials,
        };
        let most = if who == "zazen" { trials } else { self.peer_trials };
        trials.min(most) as usize
    }
}

/// What Zazen's clients complain about is a failure; what others' do is told.
fn judge(way: Way, ground: &Ground, wrong: &mut Vec<String>) {
    let Some(complaint) = ground.complaint() else { return };
    let text = format!("{way}: {}: {complaint}", ground.peer().title());
    match ground.peer().key() {
        "zazen" => wrong.push(format!("{text}\nits files are kept in [{}]", ground.keep())),
        _ => eprintln!("{text}"),
    }
}
