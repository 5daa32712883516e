//! L3: while a majority is well, a request through a well node ends, rightly and in time.
//!
//! Every request ends when its own timeouts say so, unless its process stands still or its disk is slow. In a calm cluster
//! that is all well none fails, and each takes a few round trips; with one sick member no write fails, or takes longer
//! than it takes to tell that the member is sick. While a majority is well, none fails before its client's time for finding
//! a master is over.

use super::broken;
use crate::protocol::{Ticket, Time};
use crate::service::{Answer, Question, Refusal};
use crate::sim::watch::Violation;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

const ENDS: &str = "L3 every request ends when its timeouts say so";
const CALM: &str = "L3 a healthy cluster answers rightly within a few round trips";
const WELL: &str = "L3 a request through a well node ends rightly while a majority is well";
const SICK: &str = "L3 a write waits for no member that is known to be sick";

/// A write in a healthy cluster takes no more round trips than these: its own way to the master and back, the publish
/// before it, and its own with its commit, each with a write to a disk.
const ROUND_TRIPS: u32 = 8;

/// An answer that is due may be under way behind writes to a disk.
const UNDER_WAY: Duration = Duration::from_millis(100);

/// A node whose disk takes longer for a write is not well.
const SLOW_WRITE: Duration = Duration::from_millis(20);

/// How the cluster is, as far as requests are concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Anything may be broken.
    #[default]
    Hurt,
    /// The nodes that are judged are a majority, and well; there may have been no time to find a master.
    Well,
    /// There is a master, and one member that is not judged is sick.
    OneSick,
    /// There is a master, all are well, and no operator asks for anything.
    Calm,
}

/// What became of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many ended.
    pub ended: u64,
    /// How many of them ended with an error, or nobody knows how.
    pub errors: BTreeMap<&'static str, u64>,
    /// How many took more than a few round trips.
    pub slow: u64,
    /// How long the slowest took that did not fail.
    pub longest: Duration,
}

impl Tally {
    /// Adds those of another run.
    pub fn add(&mut self, other: &Tally) {
        self.ended += other.ended;
        for (error, count) in &other.errors {
            *self.errors.entry(error).or_default() += count;
        }
        self.slow += other.slow;
        self.longest = self.longest.max(other.longest);
    }
}

/// What clients got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// While all was calm.
    pub calm: Tally,
    /// Writes while one member was sick.
    pub one_sick: Tally,
    /// While a majority was well.
    pub well: Tally,
}

impl Service {
    /// Adds that of another run.
    pub fn add(&mut self, other: &Service) {
        self.calm.add(&other.calm);
        self.one_sick.add(&other.one_sick);
        self.well.add(&other.well);
    }
}

/// The times that requests are judged by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// A round trip and a write to a disk where nothing is broken.
    pub round_trip: Duration,
    /// How long a publish may last, on any node.
    pub publish_timeout: Duration,
    /// How long a change of the master may last.
    pub master_change: Duration,
    /// How long a member may take to apply what is committed before nobody waits for it any more, on any node.
    pub ack_patience: Duration,
    /// Whether a link may be so slow that an answer is on its way and stalls: who asked waits as long for it since it moved.
    pub may_stall: bool,
    /// How fast the slowest clock runs, as a part of real time.
    pub slowest_clock: f64,
    /// The same of the fastest one.
    pub fastest_clock: f64,
}

impl Bounds {
    /// A few round trips.
    pub fn few_round_trips(&self) -> Duration {
        self.round_trip * ROUND_TRIPS
    }

    fn on_slow_clocks(&self, time: Duration) -> Duration {
        time.div_f64(self.slowest_clock.clamp(f64::MIN_POSITIVE, 1.0))
    }

    fn on_fast_clocks(&self, time: Duration) -> Duration {
        time.div_f64(self.fastest_clock.max(1.0))
    }

    /// When a question ends at the latest; nothing is said of one who leaves.
    fn patience(&self, question: &Question) -> Option<Duration> {
        let time = match question {
            Question::Submit { timeout, master_timeout, .. } => *master_timeout + self.publish_timeout + *timeout,
            Question::Read { master_timeout, .. } | Question::PendingTasks { master_timeout } => {
                *master_timeout * if self.may_stall { 2 } else { 1 }
            }
            Question::HandOver { master_timeout, .. } => *master_timeout + self.publish_timeout,
            Question::Leave => return None,
        };
        Some(self.on_slow_clocks(time + UNDER_WAY))
    }

    /// How long a write may take if a member does not answer, or its client lets the nodes take so long.
    fn with_one_sick(&self, timeout: Duration) -> Duration {
        self.on_slow_clocks(timeout.min(self.ack_patience)) + self.few_round_trips()
    }

    /// How long a request may take while a majority is well.
    fn with_change(&self) -> Duration {
        self.on_slow_clocks(self.master_change) + self.few_round_trips()
    }
}

#[derive(Clone, Debug)]
struct Asked {
    node: usize,
    began: Time,
    due: Option<Time>,
    /// How long the nodes may take, if it writes.
    timeout: Option<Duration>,
    /// How long its client waits for a master.
    patience: Duration,
    /// During which of all phases it was asked, if its node was judged then.
    during: Option<u64>,
}

/// Judges requests by when and how they end.
#[derive(Clone, Debug, Default)]
pub struct Timely {
    bounds: Bounds,
    phase: Phase,
    /// How many phases there were.
    phases: u64,
    /// The first of the last phases in a row in which a majority was well.
    well_since: u64,
    judged: BTreeSet<usize>,
    /// The processes that stand still.
    still: BTreeSet<usize>,
    /// The processes that were told to end: they may send their clients elsewhere.
    leaving: BTreeSet<usize>,
    /// When each write began that is not on its disk yet.
    writes: BTreeMap<usize, VecDeque<Time>>,
    open: BTreeMap<Ticket, Asked>,
    due: BTreeSet<(Time, Ticket)>,
    /// What clients got.
    pub service: Service,
}

impl Timely {
    /// Judges by these times.
    pub fn new(bounds: Bounds) -> Self {
        Timely { bounds, ..Timely::default() }
    }

    /// Another phase begins, in which requests through these nodes are judged.
    pub fn begin(&mut self, phase: Phase, judged: &[usize]) {
        self.phases += 1;
        if self.phase == Phase::Hurt {
            self.well_since = self.phases;
        }
        self.phase = phase;
        self.judged = judged.iter().copied().collect();
    }

    /// A node is asked.
    pub fn asked(&mut self, ticket: Ticket, node: usize, question: &Question, began: Time) {
        if matches!(question, Question::Leave) {
            self.leaving.insert(node);
        }
        let patience = self.bounds.patience(question).filter(|_| !self.still.contains(&node));
        let due = patience.map(|patience| began + patience);
        let timeout = match question {
            Question::Submit { timeout, .. } => Some(*timeout),
            Question::Read { .. } | Question::PendingTasks { .. } | Question::HandOver { .. } | Question::Leave => None,
        };
        let during = self.judged.contains(&node).then_some(self.phases);
        self.due.extend(due.map(|due| (due, ticket)));
        self.open.insert(ticket, Asked { node, began, due, timeout, patience: master_timeout(question), during });
    }

    /// A process stands still or goes on. Nobody knows for how long it does: what it is asked by then is not judged by when
    /// it ends.
    pub fn paused(&mut self, node: usize, is_paused: bool) {
        if !is_paused {
            self.still.remove(&node);
            return;
        }
        self.still.insert(node);
        self.excuse(node);
    }

    /// A process ended.
    pub fn ended(&mut self, node: usize) {
        self.still.remove(&node);
        self.leaving.remove(&node);
        self.writes.remove(&node);
    }

    /// A process hands a write to its disk.
    pub fn wrote(&mut self, at: Time, node: usize) {
        self.writes.entry(node).or_default().push_back(at);
    }

    /// A write reached a disk: what a process says waits for a slow one.
    pub fn synced(&mut self, at: Time, node: usize) {
        let began = self.writes.get_mut(&node).and_then(VecDeque::pop_front);
        if began.is_some_and(|began| at.since(began) > SLOW_WRITE) {
            self.excuse(node);
        }
    }

    /// What a node was asked until now is not judged by when it ends.
    fn excuse(&mut self, node: usize) {
        for (ticket, asked) in self.open.iter_mut().filter(|(_, asked)| asked.node == node) {
            if let Some(due) = asked.due.take() {
                self.due.remove(&(due, *ticket));
            }
        }
    }

    /// Time passes.
    pub fn passes(&mut self, at: Time) -> Result<(), Violation> {
        let Some((_, ticket)) = self.due.first().filter(|(due, _)| *due < at) else {
            return Ok(());
        };
        let Some(Asked { node, began, .. }) = self.open.get(ticket).cloned() else {
            return Ok(());
        };
        let oldest = self.writes.get(&node).and_then(VecDeque::front);
        if oldest.is_some_and(|began| at.since(*began) > SLOW_WRITE) {
            self.excuse(node);
            return Ok(());
        }
        broken(ENDS, format!("what n{node} was asked at {began} is not answered, and was due before {at}"))
    }

    /// A question is answered.
    pub fn answered(&mut self, ticket: Ticket, at: Time, answer: &Answer) -> Result<(), Violation> {
        self.settle(ticket, at, failure(answer))
    }

    /// A question will never be answered.
    pub fn lost(&mut self, ticket: Ticket, at: Time) -> Result<(), Violation> {
        self.settle(ticket, at, Some("lost"))
    }

    fn settle(&mut self, ticket: Ticket, at: Time, error: Option<&'static str>) -> Result<(), Violation> {
        let Some(asked) = self.open.remove(&ticket) else {
            return Ok(());
        };
        if let Some(due) = asked.due {
            self.due.remove(&(due, ticket));
        }
        let Some(during) = asked.during.filter(|_| self.judged.contains(&asked.node)) else {
            return Ok(());
        };
        let phase = match self.phase {
            Phase::Hurt => Phase::Hurt,
            Phase::Well | Phase::OneSick | Phase::Calm if during < self.well_since => Phase::Hurt,
            Phase::Well | Phase::OneSick | Phase::Calm if during < self.phases => Phase::Well,
            Phase::Well | Phase::OneSick | Phase::Calm => self.phase,
        };
        self.judge(phase, &asked, at.since(asked.began), error)
    }

    fn judge(
        &mut self,
        phase: Phase,
        asked: &Asked,
        took: Duration,
        error: Option<&'static str>,
    ) -> Result<(), Violation> {
        let few = self.bounds.few_round_trips();
        let Asked { node, began, .. } = asked;
        match (phase, asked.timeout) {
            (Phase::Hurt, _) | (Phase::OneSick, None) => Ok(()),
            (Phase::Well, _) => {
                count(&mut self.service.well, took, few, error);
                let bound = self.bounds.with_change();
                // Whose process ends while it is asked was not well, and nobody waits longer than he wants.
                let is_sent_elsewhere = error.is_some() && self.leaving.contains(node);
                let is_excused = is_sent_elsewhere
                    || error == Some("lost")
                    || error.is_some() && took >= self.bounds.on_fast_clocks(asked.patience);
                if is_excused || error.is_none() && took <= bound {
                    return Ok(());
                }
                let how = error.unwrap_or("well");
                broken(
                    WELL,
                    format!("what n{node} was asked at {began} ended {how} after {took:?}, {bound:?} is allowed"),
                )
            }
            (Phase::OneSick, Some(timeout)) => {
                count(&mut self.service.one_sick, took, few, error);
                let bound = self.bounds.with_one_sick(timeout);
                if error.is_none() && took <= bound {
                    return Ok(());
                }
                let how = error.unwrap_or("well");
                broken(
                    SICK,
                    format!("what n{node} was asked at {began} ended {how} after {took:?}, {bound:?} is allowed"),
                )
            }
            (Phase::Calm, _) => {
                count(&mut self.service.calm, took, few, error);
                if error.is_none() && took <= few {
                    return Ok(());
                }
                let how = error.unwrap_or("well");
                broken(
                    CALM,
                    format!("what n{node} was asked at {began} ended {how} after {took:?}, {few:?} is allowed"),
                )
            }
        }
    }
}

/// How long a client waits for a master.
fn master_timeout(question: &Question) -> Duration {
    match question {
        Question::Submit { master_timeout, .. }
        | Question::Read { master_timeout, .. }
        | Question::PendingTasks { master_timeout }
        | Question::HandOver { master_timeout, .. } => *master_timeout,
        Question::Leave => Duration::ZERO,
    }
}

fn count(tally: &mut Tally, took: Duration, few: Duration, error: Option<&'static str>) {
    tally.ended += 1;
    match error {
        Some(error) => *tally.errors.entry(error).or_default() += 1,
        None => {
            tally.slow += u64::from(took > few);
            tally.longest = tally.longest.max(took);
        }
    }
}

/// What went wrong, if an answer says so; a condition that does not hold is no error.
pub fn failure(answer: &Answer) -> Option<&'static str> {
    match answer {
        Answer::NotMaster | Answer::NoMaster => Some("no master"),
        Answer::TimedOut { .. } => Some("timed out in the queue"),
        Answer::Unknown { .. } => Some("unknown"),
        Answer::Refused(Refusal::Blocked { .. }) => Some("blocked"),
        Answer::Refused(Refusal::Overloaded(_)) => Some("overloaded"),
        Answer::Refused(
            Refusal::Invalid(_)
            | Refusal::Conflict { .. }
            | Refusal::Held { .. }
            | Refusal::NotHeld(_)
            | Refusal::TooLarge(_)
            | Refusal::Forgotten(_)
            | Refusal::ForgottenForward(_),
        )
        | Answer::Done { .. }
        | Answer::Newest { .. }
        | Answer::Value { .. }
        | Answer::Range { .. }
        | Answer::Lease { .. }
        | Answer::Pending(_)
        | Answer::Left
        | Answer::HandedOver { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::rule;
    use super::*;
    use crate::service::{Query, Task, Txn};

    const TIMEOUT: Duration = Duration::from_millis(500);

    fn timely(phase: Phase) -> Timely {
        let millis = Duration::from_millis;
        let bounds = Bounds {
            round_trip: millis(1),
            publish_timeout: millis(5_000),
            master_change: millis(700),
            ack_patience: millis(250),
            may_stall: false,
            slowest_clock: 1.0,
            fastest_clock: 1.0,
        };
        let mut timely = Timely::new(bounds);
        timely.begin(phase, &[0, 1]);
        timely
    }

    fn write() -> Question {
        let task = Task::Txn(Txn::put("k", "v"));
        Question::Submit { task, timeout: TIMEOUT, master_timeout: Duration::from_secs(2) }
    }

    fn read() -> Question {
        Question::Read { query: Query::Key { key: "k".into() }, master_timeout: Duration::from_secs(2) }
    }

    fn millis(millis: u64) -> Time {
        Time::from_micros(millis * 1_000)
    }

    /// What is said of a write at this node that ends so after so many milliseconds.
    fn ends(timely: &mut Timely, node: usize, after: u64, answer: &Answer) -> Option<&'static str> {
        timely.asked(Ticket(1), node, &write(), millis(0));
        rule(timely.answered(Ticket(1), millis(after), answer))
    }

    #[test]
    fn in_calm_an_error_and_a_slow_answer_are_caught() {
        let few = u64::from(ROUND_TRIPS);
        let after = |after, answer: &Answer| ends(&mut timely(Phase::Calm), 0, after, answer);
        assert_eq!(after(few, &Answer::Left), None);
        assert_eq!(after(few + 1, &Answer::Left), Some(CALM));
        let unknown = Answer::Unknown { reason: "none".into() };
        assert_eq!(after(1, &unknown), Some(CALM));
        assert_eq!(after(1, &Answer::NoMaster), Some(CALM));
        let mut lost = timely(Phase::Calm);
        lost.asked(Ticket(1), 0, &read(), millis(0));
        assert_eq!(rule(lost.lost(Ticket(1), millis(1))), Some(CALM));
        assert_eq!(ends(&mut timely(Phase::Calm), 2, 99, &unknown), None, "that node is not well");
    }

    #[test]
    fn with_one_sick_a_write_that_fails_or_waits_for_it_is_caught() {
        let after = |after| ends(&mut timely(Phase::OneSick), 1, after, &Answer::Left);
        assert_eq!(after(250 + u64::from(ROUND_TRIPS)), None, "so long nobody knows that the member is sick");
        assert_eq!(after(251 + u64::from(ROUND_TRIPS)), Some(SICK));
        assert_eq!(ends(&mut timely(Phase::OneSick), 1, 1, &Answer::NoMaster), Some(SICK), "it failed");
    }

    #[test]
    fn while_a_majority_is_well_what_fails_or_lasts_is_counted_and_caught() {
        let after = |after, answer: &Answer| {
            let mut timely = timely(Phase::Well);
            let is_caught = ends(&mut timely, 0, after, answer) == Some(WELL);
            (is_caught, timely.service.well.errors.len(), timely.service.well.slow)
        };
        assert_eq!(after(701 + u64::from(ROUND_TRIPS), &Answer::Left), (true, 0, 1), "it lasted");
        assert_eq!(after(1, &Answer::NoMaster), (true, 1, 0));
        assert_eq!(ends(&mut timely(Phase::Well), 0, 2_000, &Answer::NoMaster), None, "its client waits no longer");
        assert_eq!(ends(&mut timely(Phase::Well), 0, 1, &Answer::Left), None);
    }

    #[test]
    fn an_answer_that_moves_over_a_slow_link_is_waited_for_as_long_anew() {
        let mut timely = timely(Phase::Hurt);
        timely.bounds.may_stall = true;
        timely.asked(Ticket(1), 0, &read(), millis(0));
        assert_eq!(rule(timely.passes(millis(4_100))), None);
        assert_eq!(rule(timely.passes(millis(4_101))), Some(ENDS));
    }

    #[test]
    fn a_request_that_does_not_end_is_caught_unless_its_process_stands_still() {
        let mut timely = timely(Phase::Hurt);
        timely.asked(Ticket(1), 0, &read(), millis(0));
        assert_eq!(rule(timely.passes(millis(2_100))), None);
        assert_eq!(rule(timely.passes(millis(2_101))), Some(ENDS));
        timely.asked(Ticket(2), 1, &write(), millis(0));
        timely.paused(0, true);
        timely.asked(Ticket(3), 0, &read(), millis(0));
        assert_eq!(rule(timely.passes(millis(7_600))), None);
        assert_eq!(rule(timely.passes(millis(7_601))), Some(ENDS));
        timely.wrote(millis(7_500), 1);
        assert_eq!(rule(timely.clone().passes(millis(7_601))), None, "what it says waits for its disk");
        timely.synced(millis(7_501), 1);
        assert_eq!(rule(timely.passes(millis(7_601))), Some(ENDS));
        timely.lost(Ticket(2), millis(7_601)).expect("its process ended");
        assert_eq!(rule(timely.passes(millis(9_999))), None);
    }

    #[test]
    fn what_spans_phases_is_judged_by_the_worse_one() {
        let mut timely = timely(Phase::Hurt);
        timely.asked(Ticket(1), 0, &write(), millis(0));
        timely.begin(Phase::Well, &[0]);
        timely.asked(Ticket(2), 0, &write(), millis(0));
        timely.begin(Phase::Calm, &[0]);
        assert_eq!(timely.answered(Ticket(1), millis(900), &Answer::NoMaster), Ok(()));
        assert_eq!(timely.service, Service::default(), "it began before");
        assert_eq!(timely.answered(Ticket(2), millis(2_000), &Answer::NoMaster), Ok(()));
        let errors: Vec<_> = timely.service.well.errors.into_iter().collect();
        assert_eq!((errors, timely.service.calm.ended), (vec![("no master", 1)], 0));
    }
}
