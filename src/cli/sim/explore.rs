//! `zazen sim --explore`: every order in which a few nodes can hear of things, up to a bound.

use super::Request;
use super::page::{Page, outcome};
use crate::cli::figures::{count, rate, span};
use crate::cli::quiet::quietly;
use crate::cli::stopwatch::Stopwatch;
use crate::cli::{CommandError, CommandOutcome, interrupt};
use crate::sim::explore::{Bounds, Broken, Walk, explore};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};

/// How many nodes there are unless it is said.
const NODES: usize = 3;

/// How far a walk goes.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct ExploreArgs {
    /// Walk every order of deliveries, losses, writes, crashes and deadlines of a few nodes, on the real core.
    ///
    /// States that were reached before are not walked again. What must always hold is checked in every state.
    #[arg(long, help_heading = "Exploring",
          conflicts_with_all = ["scenario", "scale", "graphs", "mutants", "seed", "runs", "until", "updates", "trace"])]
    pub(super) explore: bool,

    /// Begin with a formed cluster rather than with empty disks.
    #[arg(long, requires = "explore", help_heading = "Exploring")]
    formed: bool,

    /// How many steps are taken in a row.
    #[arg(long, value_name = "N", default_value_t = 16, requires = "explore", help_heading = "Exploring")]
    depth: usize,

    /// How many messages are lost.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "explore", help_heading = "Exploring")]
    drops: u32,

    /// How many processes end, each of which may start again.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "explore", help_heading = "Exploring")]
    crashes: u32,

    /// How many deadlines pass.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "explore", help_heading = "Exploring")]
    deadlines: u32,

    /// How many states are visited at the most.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, requires = "explore", help_heading = "Exploring")]
    states: usize,

    /// Let pings and their answers arrive in every order, too, rather than at once.
    #[arg(long, requires = "explore", help_heading = "Exploring")]
    all_orders: bool,
}

impl ExploreArgs {
    fn bounds(&self, request: &Request) -> Bounds {
        Bounds {
            nodes: request.options.nodes.unwrap_or(NODES),
            is_formed: self.formed,
            depth: self.depth,
            drops: self.drops,
            crashes: self.crashes,
            deadlines: self.deadlines,
            updates: 1,
            all_orders: self.all_orders,
            states: self.states,
            rules: request.options.rules,
        }
    }

    /// Walks, and prints how far it came.
    pub(super) fn run(&self, request: &Request, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let bounds = self.bounds(request);
        let stopwatch = Stopwatch::start();
        let progress = Progress::new(bounds.states);
        let walked = quietly(|| {
            explore(bounds, |walk| {
                progress.advance(walk, stopwatch);
                !interrupt::came()
            })
        });
        progress.finish();
        let place = walked.place.map(|place| format!(", {place}")).unwrap_or_default();
        match walked.result.map_err(CommandError::Failed)? {
            Ok(walk) => {
                page(&bounds, &walk, stopwatch).publish(request.page.as_deref(), out)?;
                Ok(outcome(0))
            }
            Err(broken) => {
                tell(&broken, &place, out)?;
                Ok(outcome(1))
            }
        }
    }
}

fn page(bounds: &Bounds, walk: &Walk, stopwatch: Stopwatch) -> Page {
    let command = if bounds.is_formed { "zazen sim --explore --formed" } else { "zazen sim --explore" };
    let mut page = Page::new(command, &["what", "figure"]);
    let took = stopwatch.elapsed();
    let orders = if bounds.all_orders { "everything" } else { "everything but the search for a master" };
    let Bounds { nodes, depth, drops, crashes, deadlines, updates, .. } = bounds;
    let rows = [
        (
            "begins with",
            format!("{nodes} nodes, {}", if bounds.is_formed { "a formed cluster" } else { "just started" }),
        ),
        ("in every order", orders.into()),
        ("at most", format!("{drops} lost, {crashes} ended, {deadlines} deadlines, {updates} updates")),
        ("steps in a row", format!("{} of {depth}", walk.deepest)),
        (
            "states",
            format!("{}{}", count(walk.states as u64), if walk.is_cut { ", then cut" } else { ", all there are" }),
        ),
        ("of them with a committed state", count(walk.committed)),
        ("of them with nothing behind them", count(walk.ends)),
        ("steps", format!("{}, {}", count(walk.steps), rate(walk.steps, took))),
        ("of them to a known state", count(walk.folded)),
        ("time", span(took)),
    ];
    for (what, figure) in rows {
        page.row([what.into(), figure]);
    }
    page
}

fn tell(broken: &Broken, place: &str, out: &mut impl Write) -> Result<(), CommandError> {
    for (number, step) in broken.path.iter().enumerate() {
        writeln!(out, "{:>3} {step}", number + 1)?;
    }
    Ok(writeln!(out, "\nFAIL {}{place}\nreplay: the same command; the walk takes the same way", broken.violation)?)
}

/// How far a walk is: a spinner on a terminal, a line for each hundred thousand states anywhere else.
struct Progress {
    bar: Option<ProgressBar>,
    states: usize,
}

/// How many states there are to a line.
const LINE_EACH: usize = 100_000;

impl Progress {
    fn new(states: usize) -> Self {
        let style = ProgressStyle::with_template("{spinner} {human_pos} states{msg}, {elapsed}");
        let bar = io::stderr()
            .is_terminal()
            .then(|| ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner())));
        Progress { bar, states }
    }

    fn advance(&self, walk: &Walk, stopwatch: Stopwatch) {
        let text = format!(", {} steps deep, {} steps", walk.deepest, count(walk.steps));
        match &self.bar {
            Some(bar) => {
                bar.set_position(walk.states as u64);
                bar.set_message(text);
            }
            None if walk.states.is_multiple_of(LINE_EACH) => {
                let (states, all) = (count(walk.states as u64), count(self.states as u64));
                eprintln!("{states} of at most {all} states{text}, {}", span(stopwatch.elapsed()));
            }
            None => {}
        }
    }

    fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
