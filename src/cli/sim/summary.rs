//! What all runs showed together, in numbers.

use super::Request;
use super::one_run::RunResult;
use crate::cli::figures::{count, percent, rate, span};
use crate::cli::table::Table;
use crate::sim::{
    Failure, Histories, PACE, PACE_HALF_WELL, Pace, Peak, Recoveries, Report, Service, Storms, Tally, Violation,
    WatcherTotals,
};
use crate::zen::Tuning;
use crate::zen::rules::Rules;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

type Counts = BTreeMap<&'static str, u64>;

/// What all runs showed together.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    /// How many runs were made.
    pub(super) runs: u64,
    /// How long all of them took.
    pub(super) took: Duration,
    seed: u64,
    asked: u64,
    jobs: usize,
    violations: Counts,
    vacuous: Counts,
    lasted: Duration,
    events: u64,
    masterships: u64,
    committed: u64,
    issued: u64,
    acknowledged: u64,
    told: Counts,
    faults: Counts,
    struck: u64,
    recoveries: Recoveries,
    hard_recoveries: Recoveries,
    /// What is demanded of the recoveries, if they are those of the protocol at default timings.
    pace: Option<Pace>,
    service: Service,
    storms: Storms,
    interrupted: u64,
    disturbances: u64,
    histories: Histories,
    trivial: u64,
    judged: u64,
    grants: u64,
    watched: WatcherTotals,
}

impl Summary {
    pub(super) fn new(request: &Request) -> Self {
        let options = &request.options;
        let is_usual = options.tuning == Tuning::default() && options.rules == Rules::default();
        let pace = is_usual.then_some(if options.half_well { PACE_HALF_WELL } else { PACE });
        Summary { seed: request.seed, asked: request.runs, jobs: request.jobs, pace, ..Summary::default() }
    }

    /// Adds what came of one run.
    pub(super) fn add(&mut self, verdict: &RunResult) {
        self.runs += 1;
        match &verdict.result {
            Ok(report) => self.add_report(verdict.seed, report),
            Err(failure) => self.add_failure(failure),
        }
    }

    fn add_failure(&mut self, failure: &Failure) {
        *self.violations.entry(failure.violation.checker).or_default() += 1;
        self.events += failure.event;
        self.lasted += failure.at.since(crate::protocol::Time::ZERO);
    }

    fn add_report(&mut self, seed: u64, report: &Report) {
        if let Some(reason) = report.vacuous() {
            *self.vacuous.entry(reason).or_default() += 1;
        }
        self.lasted += report.lasted;
        self.events += report.counters.events;
        self.masterships += report.masterships as u64;
        self.committed += report.committed as u64;
        self.issued += report.issued;
        self.acknowledged += report.acknowledged as u64;
        add_all(&mut self.told, &report.told);
        add_all(&mut self.faults, &report.counters.faults);
        self.struck += report.struck;
        self.recoveries.add(seed, &report.recoveries);
        self.hard_recoveries.add(seed, &report.hard_recoveries);
        self.interrupted += report.interrupted;
        self.disturbances += report.disturbances;
        self.judged += 1;
        self.trivial += u64::from(report.histories.is_trivial());
        self.histories.add(&report.histories);
        self.grants += report.grants as u64;
        self.watched.add(&report.watched);
        self.service.add(&report.service);
        self.storms.add(&report.storms);
    }

    /// How many runs broke a rule.
    pub(super) fn failed(&self) -> u64 {
        self.violations.values().sum()
    }

    /// Whether any run broke a rule.
    pub(super) fn has_failed(&self) -> bool {
        self.failed() > 0 || self.slow().is_some()
    }

    /// What is wrong with the recoveries of all runs together, if they can be judged.
    fn slow(&self) -> Option<Violation> {
        self.recoveries.judge(self.pace?).err()
    }

    fn runs_part(&self, table: &mut Table) {
        let of = if self.runs < self.asked { format!(" of {}", count(self.asked)) } else { String::new() };
        table.row("runs", count(self.runs), format!("{of} from seed {}", self.seed).trim_start());
        table.part(1, "failed", count(self.failed()), "");
        parts(table, 2, &self.violations);
        let vacuous = self.vacuous.values().sum();
        table.part(1, "vacuous", count(vacuous), percent(vacuous, self.runs));
        parts(table, 2, &self.vacuous);
        let threads = if self.jobs == 1 { "one thread".into() } else { format!("{} threads", self.jobs) };
        table.row("time", span(self.took), format!("{} on {threads}", rate(self.runs, self.took)));
        let speed = self.lasted.as_secs_f64() / self.took.as_secs_f64().max(1e-9);
        table.row("simulated time", span(self.lasted), format!("{} times as fast", count(speed as u64)));
        table.row("events", count(self.events), rate(self.events, self.took));
    }

    fn cluster_part(&self, table: &mut Table) {
        table.row("terms with a master", count(self.masterships), "");
        table.row("committed states", count(self.committed), "");
        table.row("updates asked for", count(self.issued), "");
        table.part(1, "acknowledged", count(self.acknowledged), percent(self.acknowledged, self.issued));
        table.row("answers to clients", count(self.told.values().sum()), "");
        parts(table, 1, &self.told);
        table.row("faults and repairs", count(self.faults.values().sum()), "");
        table.part(1, "while a publish was in flight", count(self.struck), "");
        parts(table, 1, &self.faults);
    }

    fn service_part(&self, table: &mut Table) {
        let histories = &self.histories;
        table.row("histories judged for linearizability", count(histories.count), "");
        table.part(1, "inconclusive", count(histories.inconclusive), percent(histories.inconclusive, histories.count));
        table.part(1, "operations", count(histories.operations), "");
        table.part(1, "of unknown outcome", count(histories.unknown), percent(histories.unknown, histories.operations));
        table.part(1, "pairs whose order matters", count(histories.conflicts), "");
        let shows = self.judged - self.trivial;
        table.part(1, "runs with enough of them", count(shows), percent(shows, self.judged));
        table.row("leases granted", count(self.grants), "");
        table.row("steps told to watchers", count(self.watched.steps), "");
        table.part(1, "changes of the node", count(self.watched.moves), "");
        table.part(1, "states to go on from", count(self.watched.jumps), "");
    }

    fn demand_part(&self, table: &mut Table) {
        let Service { calm, one_sick, well } = &self.service;
        tally(table, "requests in calm", calm);
        tally(table, "writes while one member was sick", one_sick);
        tally(table, "requests while a majority was well", well);
        let Storms { messages, bytes, writes, full, overlaps } = &self.storms;
        table.row("full states sent", count(*full), "");
        table.part(1, "while another was on its way", count(*overlaps), percent(*overlaps, *full));
        peak(table, "messages of a node in a second", messages);
        peak(table, "bytes", bytes);
        peak(table, "synced writes", writes);
    }

    fn recovery_part(&self, table: &mut Table) {
        spread(table, "recoveries after healing", &self.recoveries);
        spread(table, "recoveries beside sick nodes", &self.hard_recoveries);
        table.part(1, "cut short by the next faults", count(self.interrupted), "");
        table.row("disturbances outlived", count(self.disturbances), "");
    }
}

fn spread(table: &mut Table, what: &str, recoveries: &Recoveries) {
    table.row(what, count(recoveries.len() as u64), "");
    let names = ["shortest", "median", "90 of 100 within", "99 of 100 within", "999 of 1,000 within", "longest"];
    let slowest = recoveries.slowest_seed().map_or_else(String::new, |seed| format!("seed {seed}"));
    for (name, time) in names.into_iter().zip(recoveries.within([0, 500, 900, 990, 999, 1_000])) {
        let remark = if name == "longest" { &*slowest } else { "" };
        table.part(1, name, time.map_or_else(|| "-".into(), span), remark);
    }
}

fn tally(table: &mut Table, what: &str, tally: &Tally) {
    table.row(what, count(tally.ended), "");
    let failed = tally.errors.values().sum();
    table.part(1, "failed, or nobody knows", count(failed), percent(failed, tally.ended));
    parts(table, 2, &tally.errors);
    table.part(1, "more than a few round trips", count(tally.slow), percent(tally.slow, tally.ended));
    table.part(1, "longest", span(tally.longest), "");
}

fn peak(table: &mut Table, what: &str, peak: &Peak) {
    table.part(1, what, count(peak.most), format!("at most {} % of what is allowed", peak.percent));
}

fn add_all(sums: &mut Counts, more: &Counts) {
    for (what, number) in more {
        *sums.entry(what).or_default() += number;
    }
}

/// A line for each count, the largest first.
fn parts(table: &mut Table, depth: usize, counts: &Counts) {
    let mut sorted: Vec<(&str, u64)> = counts.iter().map(|(what, number)| (*what, *number)).collect();
    sorted.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    for (what, number) in sorted {
        table.part(depth, what, count(number), "");
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::default();
        self.runs_part(&mut table);
        self.cluster_part(&mut table);
        self.service_part(&mut table);
        self.recovery_part(&mut table);
        self.demand_part(&mut table);
        write!(f, "{table}")?;
        match self.failed() {
            0 => writeln!(f, "\nNo rule was broken."),
            failed => writeln!(f, "\n{} of {} runs broke a rule.", count(failed), count(self.runs)),
        }?;
        self.slow().map_or(Ok(()), |violation| writeln!(f, "FAIL {violation}"))
    }
}
