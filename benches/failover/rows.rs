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
    /// Nothing happens.
    Idle,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Mebibytes,
    SecondsAMinute,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Milliseconds => "ms",
            Unit::Mebibytes => "MiB",
            Unit::SecondsAMinute => "s/min",
        }
    }
}

/// What Zazen must not exceed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    pub(crate) median: f64,
    pub(crate) p99: Option<f64>,
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
    Some(Bar { median, p99: None })
}

pub(crate) const KILLED: &str = "killed";
pub(crate) const WRITTEN: &str = "written";
pub(crate) const FROZEN: &str = "frozen";
pub(crate) const THAWED: &str = "thawed";
pub(crate) const TERMINATED: &str = "terminated";
pub(crate) const RESTARTED: &str = "restarted";
pub(crate) const LISTENING: &str = "listening";
pub(crate) const LAUNCHED: &str = "launched";
pub(crate) const MEMORY: &str = "memory";
pub(crate) const PROCESSOR: &str = "processor";

/// All rows, in the order of the table.
pub(crate) const ROWS: [Row; 10] = [
    row(
        KILLED,
        "SIGKILL of the master → new master named by every survivor",
        Unit::Milliseconds,
        Some(Bar { median: 10.0, p99: Some(50.0) }),
    ),
    row(WRITTEN, "SIGKILL of the master → first committed write", Unit::Milliseconds, median(15.0)),
    row(FROZEN, "SIGSTOP of the master → new master named by every survivor", Unit::Milliseconds, median(1_000.0)),
    row(THAWED, "SIGCONT of the old master → it follows the new one", Unit::Milliseconds, None),
    row(TERMINATED, "SIGTERM of the master → new master named by every survivor", Unit::Milliseconds, median(5.0)),
    row(RESTARTED, "killed node restarted → it follows again", Unit::Milliseconds, median(30.0)),
    row(LISTENING, "cold start of three: the last one listens → master seen by all", Unit::Milliseconds, median(100.0)),
    row(LAUNCHED, "cold start of three: launched → master seen by all", Unit::Milliseconds, None),
    row(MEMORY, "idle: resident memory of the largest node", Unit::Mebibytes, median(10.0)),
    row(PROCESSOR, "idle: processor time of the busiest node", Unit::SecondsAMinute, median(0.06)),
];

/// How often something is tried unless the user says otherwise.
pub(crate) fn trials(scenario: Scenario, peer: &dyn Peer) -> usize {
    match (scenario, peer.key()) {
        (Scenario::Idle, _) => 1,
        (_, "zazen") => 100,
        (Scenario::Freeze, _) => peer.trials_of_the_frozen(),
        (Scenario::ColdStart, _) => 10,
        (Scenario::Kill | Scenario::Write | Scenario::Terminate, _) => 20,
    }
}
