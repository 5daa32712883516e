//! One algorithm in a world, whatever its messages are.

use super::record::{Asked, Lookout, Record};
use crate::protocol::{Protocol, Time};
use crate::sim::{Detail, Fault, Mode, World};
use crate::sim::{Violation, Watch};
use std::time::Duration;

/// How often two leaders are asked whether they would acknowledge a write.
pub(super) const PROBE_EVERY: Duration = Duration::from_millis(20);

/// One algorithm in a world.
pub trait Trial {
    /// How many nodes there are, running or not.
    fn size(&self) -> usize;
    /// The time.
    fn now(&self) -> Time;
    /// Breaks or mends something.
    fn inject(&mut self, fault: Fault);
    /// Makes a node hold an election, as if it had noticed that the leader is gone. Zen cannot be told so.
    fn notice(&mut self, node: usize);
    /// Lets time pass.
    fn run_for(&mut self, span: Duration);
    /// What happened so far.
    fn record(&self) -> &Record;
    /// The first rule that was broken, if rules are checked.
    fn violation(&self) -> Option<&Violation>;
    /// Whether leaders are asked for writes; of those that are not, every leader acknowledges.
    fn probes(&self) -> bool;
    /// How many writes were acknowledged that the leader of all does not have; none while nobody leads.
    fn lost_writes(&self) -> u64;
    /// Keeps arrows, turns and remarks from now on, or keeps them no longer.
    fn keep(&mut self, keeps: bool);
    /// Writes the text trace from now on.
    fn trace(&mut self, detail: Detail);
    /// The lines of the text trace.
    fn take_trace(&mut self) -> Vec<String>;
}

/// A question by which a leader is asked to acknowledge a write; the number makes each another one.
pub(super) type Probe<P> = fn(u64) -> <P as Protocol>::Question;

/// A world with a lookout, and somebody who checks rules.
pub(super) struct Play<P: Protocol, W: Watch<P>> {
    pub(super) world: World<P, (Lookout<P>, W)>,
    pub(super) election: Option<P::Question>,
    pub(super) probe: Option<Probe<P>>,
    pub(super) probes: u64,
    pub(super) violation: Option<Violation>,
}

impl<P: Protocol, W: Watch<P>> Play<P, W> {
    fn record_mut(&mut self) -> &mut Record {
        &mut self.world.watch.0.record
    }

    /// What a fault changes that no participant notices: who runs, and who reaches whom.
    fn look_again(&mut self) {
        let nodes = self.world.len();
        let reaches = |from: usize, to: usize| from == to || self.world.link(from, to) == Mode::Up;
        let reach = (0..nodes).map(|from| (0..nodes).map(|to| reaches(from, to)).collect()).collect();
        let now = self.world.now();
        for node in 0..nodes {
            let stance = self.world.participant(node).filter(|_| self.world.is_running(node));
            let stance = stance.map(|participant| self.world.watch.0.stance(participant));
            self.record_mut().stands(now, node, stance);
        }
        let record = self.record_mut();
        record.reach = reach;
        record.look(now);
    }

    fn advance(&mut self, span: Duration) {
        if let Err(violation) = self.world.run_for(span) {
            self.violation.get_or_insert(violation);
        }
    }

    /// Asks all leaders for a write at the same time, if there are several.
    fn probe_leaders(&mut self, probe: Probe<P>) {
        let leaders = self.world.watch.0.record.leaders();
        if leaders.len() < 2 {
            return;
        }
        let now = self.world.now();
        for leader in leaders {
            self.probes += 1;
            let number = self.probes;
            let ticket = self.world.ask(leader, probe(number));
            let term = self.record().stances[leader].map_or(0, |stance| stance.term);
            self.record_mut().asked.insert(ticket, Asked { at: now, term, number });
        }
    }
}

impl<P: Protocol, W: Watch<P>> Trial for Play<P, W> {
    fn size(&self) -> usize {
        self.world.len()
    }

    fn now(&self) -> Time {
        self.world.now()
    }

    fn inject(&mut self, fault: Fault) {
        let now = self.world.now();
        self.record_mut().remark(now, None, fault.to_string());
        self.world.inject(fault);
        self.look_again();
    }

    fn notice(&mut self, node: usize) {
        if let Some(question) = self.election.clone() {
            self.world.ask(node, question);
        }
    }

    fn run_for(&mut self, span: Duration) {
        let Some(probe) = self.probe else {
            return self.advance(span);
        };
        let end = self.world.now() + span;
        // Time stands still once a rule is broken.
        while self.violation.is_none() && self.world.now() < end {
            self.probe_leaders(probe);
            let left = end.since(self.world.now());
            self.advance(left.min(PROBE_EVERY));
        }
    }

    fn record(&self) -> &Record {
        &self.world.watch.0.record
    }

    fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    fn probes(&self) -> bool {
        self.probe.is_some()
    }

    fn lost_writes(&self) -> u64 {
        let Lookout { record, holds, .. } = &self.world.watch.0;
        let leader = record.settled().and_then(|leader| self.world.participant(leader));
        let is_lost = |number: &&u64| leader.is_some_and(|leader| !holds(leader, **number));
        record.promised.iter().filter(is_lost).count() as u64
    }

    fn keep(&mut self, keeps: bool) {
        let now = self.world.now();
        self.record_mut().keep(keeps, now);
    }

    fn trace(&mut self, detail: Detail) {
        self.world.trace(detail, usize::MAX);
    }

    fn take_trace(&mut self) -> Vec<String> {
        self.world.take_trace()
    }
}
