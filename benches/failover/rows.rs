//! What is measured: the rows of the table, their bars, and how often each is tried.

use super::peer::Peer;
use clap::ValueEnum;

/// What happens in a trial; several rows may come out of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// The master is killed, and restarted.
    Kill,
    /// The master is killed under clients that write.
    Write,
    /// The master is stopped, and goes on when it was replaced.
    Freeze,
    /// The master is asked to end.
    Terminate,
    /// Three nodes without data are started together.
    ColdStart,
    /// One client writes, then many do.
    Load,
    /// Nothing happens.
    Idle,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Mebibytes,
    SecondsAMinute,
    ASecond,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Milliseconds => "ms",
            Unit::Mebibytes => "MiB",
            Unit::SecondsAMinute => "s/min",
            Unit::ASecond => "/s",
        }
    }
}

/// What Zazen must not exceed, or must reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    pub(crate) median: f64,
    pub(crate) p99: Option<f64>,
    /// Whether more is better.
    pub(crate) is_least: bool,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: Unit,
    pub(crate) bar: Option<Bar>,
}

const fn row(key: &'static str, title: &'static str, unit: Unit, bar: Option<Bar>) -> Row {
    Row { key, title, unit, bar }
}

const fn median(median: f64) -> Option<Bar> {
    Some(Bar { median, p99: None, is_least: false })
}

const fn at_least(median: f64) -> Option<Bar> {
    Some(Bar { median, p99: None, is_least: true })
}

pub(crate) const KILLED: &str = "killed";
pub(crate) const WRITTEN: &str = "written";
pub(crate) const FROZEN: &str = "frozen";
pub(crate) const THAWED: &str = "thawed";
pub(crate) const TERMINATED: &str = "terminated";
pub(crate) const RESTARTED: &str = "restarted";
pub(crate) const LISTENING: &str = "listening";
pub(crate) const LAUNCHED: &str = "launched";
pub(crate) const RATE_OF_ONE: &str = "rate_of_one";
pub(crate) const RATE_OF_MANY: &str = "rate_of_many";
pub(crate) const LATENCY_OF_ONE: &str = "latency_of_one";
pub(crate) const LATENCY_OF_MANY: &str = "latency_of_many";
pub(crate) const MEMORY: &str = "memory";
pub(crate) const OWN_MEMORY: &str = "own_memory";
pub(crate) const PROCESSOR: &str = "processor";

/// All rows, in the order of the table.
pub(crate) const ROWS: [Row; 15] = [
    row(
        KILLED,
        "SIGKILL of the master → new master named by every survivor",
        Unit::Milliseconds,
        Some(Bar { median: 10.0, p99: Some(50.0), is_least: false }),
    ),
    row(WRITTEN, "SIGKILL of the master → first committed write", Unit::Milliseconds, median(15.0)),
    row(FROZEN, "SIGSTOP of the master → new master named by every survivor", Unit::Milliseconds, median(1_000.0)),
    row(THAWED, "SIGCONT of the old master → it follows the new one", Unit::Milliseconds, None),
    row(TERMINATED, "SIGTERM of the master → new master named by every survivor", Unit::Milliseconds, median(5.0)),
    row(RESTARTED, "killed node restarted → it follows again", Unit::Milliseconds, median(30.0)),
    row(LISTENING, "cold start of three: the last one listens → master seen by all", Unit::Milliseconds, median(100.0)),
    row(LAUNCHED, "cold start of three: launched → master seen by all", Unit::Milliseconds, None),
    row(RATE_OF_ONE, "committed updates, 1 client", Unit::ASecond, at_least(2_000.0)),
    row(RATE_OF_MANY, "committed updates, 64 clients", Unit::ASecond, at_least(20_000.0)),
    row(LATENCY_OF_ONE, "an update of 1 client", Unit::Milliseconds, None),
    row(LATENCY_OF_MANY, "an update of one of 64 clients", Unit::Milliseconds, None),
    row(MEMORY, "idle: resident memory of the largest node", Unit::Mebibytes, median(10.0)),
    row(OWN_MEMORY, "idle: memory of its own of the largest node", Unit::Mebibytes, None),
    row(PROCESSOR, "idle: processor time of the busiest node", Unit::SecondsAMinute, median(0.06)),
];

/// How often something is tried unless the user says otherwise.
pub(crate) fn trials(scenario: Scenario, peer: &dyn Peer) -> usize {
    match (scenario, peer.key()) {
        (Scenario::Idle, _) => 1,
        (Scenario::Load, _) => 10,
        (_, "zazen") => 100,
        (Scenario::Freeze, _) => peer.trials_of_the_frozen(),
        (Scenario::ColdStart, _) => 10,
        (Scenario::Kill | Scenario::Write | Scenario::Terminate, _) => 20,
    }
}
