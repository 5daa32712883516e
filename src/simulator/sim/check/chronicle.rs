//! What clients of a cluster were told that nobody sees from inside, and whether it fits together.
//!
//! For real processes: nothing but what clients wrote down themselves, each with the time on one clock. Registers are
//! judged by [`linear`], leases by [`Fencing`], watches by [`Heard`]; all of it at the end, and each history of registers as
//! soon as nobody adds to it.

use super::fencing::Fencing;
use super::heard::{Heard, Known, Written};
use super::histories::Histories;
use super::linear::{self, Entry, Fate, Finding};
use crate::cluster::Token;
use crate::protocol::Time;
use crate::sim::watch::Violation;
use std::collections::BTreeMap;

/// For how many steps an order is searched.
const BUDGET: usize = 2_000_000;

/// What became of one holder's lease. Of what happens at one time the end comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// The holder gives it up.
    GivenUp,
    /// It was granted to who had asked for it since.
    Granted {
        /// When the holder asked first.
        began: Time,
        /// Under this token.
        token: Token,
    },
    /// The holder believes to hold it.
    Believed {
        /// Until then, if it hears nothing else.
        until: Time,
    },
}

/// What was found out about all of it.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// About the histories of registers.
    pub histories: Histories,
    /// How many histories have so few operations at once that they show little.
    pub trivial: u64,
    /// How many leases were granted.
    pub grants: usize,
    /// How often a holder concluded that it holds a lease.
    pub beliefs: usize,
    /// How many acknowledged writes were looked for in what watchers were told.
    pub written: usize,
}

/// What all clients were told.
#[derive(Clone, Debug, Default)]
pub struct Chronicle {
    /// What watchers were told.
    pub heard: Heard,
    histories: BTreeMap<u64, Vec<Entry>>,
    held: Vec<(Time, Held, usize, usize)>,
    written: Vec<Written>,
}

impl Chronicle {
    /// An operation on the registers of a group has ended.
    pub fn ended(&mut self, group: u64, entry: Entry) {
        self.histories.entry(group).or_default().push(entry);
    }

    /// What was asked and told of the registers of a group.
    pub fn history(&self, group: u64) -> &[Entry] {
        self.histories.get(&group).map_or(&[], Vec::as_slice)
    }

    /// The groups of registers.
    pub fn groups(&self) -> impl Iterator<Item = u64> {
        self.histories.keys().copied()
    }

    /// A write was acknowledged.
    pub fn written(&mut self, written: Written) {
        self.written.push(written);
    }

    /// Something became of a holder's lease.
    pub fn held(&mut self, at: Time, lease: usize, holder: usize, held: Held) {
        self.held.push((at, held, lease, holder));
    }

    /// What became of the leases, a line each, by time.
    pub fn leases(&self) -> String {
        let mut held = self.held.clone();
        held.sort();
        held.iter().map(|(at, held, lease, holder)| format!("{at} lease {lease} holder {holder} {held:?}\n")).collect()
    }

    /// Judges everything; the last state is what a read showed when nothing changed any more.
    pub fn judge(&self, last: &Known) -> Result<Judgement, Violation> {
        let mut verdict = Judgement { written: self.written.len(), ..Judgement::default() };
        for (group, history) in &self.histories {
            let found = judge(*group, history)?;
            verdict.trivial += u64::from(found.is_trivial());
            verdict.histories.add(&found);
        }
        self.judge_leases(&mut verdict)?;
        self.heard.finish(&self.written, last)?;
        Ok(verdict)
    }

    fn judge_leases(&self, verdict: &mut Judgement) -> Result<(), Violation> {
        let mut fencing = Fencing::default();
        let mut held = self.held.clone();
        held.sort();
        for (at, held, lease, holder) in held {
            match held {
                Held::GivenUp => fencing.gives_up(lease, holder),
                Held::Granted { began, token } => fencing.granted(began, at, token)?,
                Held::Believed { until } => {
                    verdict.beliefs += 1;
                    fencing.believes(lease, holder, at, until)?;
                }
            }
        }
        verdict.grants = fencing.grants();
        Ok(())
    }
}

/// Judges the history of one group of registers, to which nobody adds any more.
pub fn judge(group: u64, history: &[Entry]) -> Result<Histories, Violation> {
    let finding = linear::check(history, BUDGET);
    if finding == Finding::Broken {
        let what = format!("the history of group {group}, {} operations, fits into no order", history.len());
        return Err(Violation { checker: "linearizable: what clients were told fits into one order", what });
    }
    Ok(Histories {
        count: 1,
        operations: history.len() as u64,
        unknown: history.iter().filter(|entry| entry.fate == Fate::Unknown).count() as u64,
        inconclusive: u64::from(finding == Finding::Inconclusive),
        conflicts: linear::conflicts(history) as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{KeyValue, Revision, Term, Version};
    use crate::service::watch::Change;

    fn time(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    fn token(number: u64) -> Token {
        Token::new(number).expect("it is below 2^53")
    }

    fn entry(began: u64, ended: u64, write: Option<u64>, seen: Option<u64>) -> Entry {
        let registers = |number: Option<u64>| number.map(|number| (0, number)).into_iter().collect();
        let (began, ended) = (time(began), time(ended));
        Entry { began, ended, guards: Vec::new(), writes: registers(write), seen: registers(seen), fate: Fate::Done }
    }

    fn grant(chronicle: &mut Chronicle, (began, at, until): (u64, u64, u64), holder: usize, number: u64) {
        chronicle.held(time(at), 0, holder, Held::Granted { began: time(began), token: token(number) });
        chronicle.held(time(at), 0, holder, Held::Believed { until: time(until) });
    }

    /// A write that was acknowledged, read and watched, and a lease that two held one after the other.
    fn true_chronicle() -> (Chronicle, Known) {
        let mut chronicle = Chronicle::default();
        chronicle.ended(1, entry(0, 10, Some(7), None));
        chronicle.ended(1, entry(20, 30, None, Some(7)));
        let revision = Revision { term: Term::ZERO.next(), version: Version::ZERO.next(), part: 0 };
        let held = KeyValue::new("7", revision);
        chronicle.written(Written { key: "a".into(), value: held.value.clone(), revision });
        let heard = &mut chronicle.heard;
        heard.whole(0, (Term::ZERO, Version::ZERO), Known::default()).expect("it is the first");
        let change = Change::Key { key: "a".into(), value: Some(held.clone()) };
        heard.step(0, revision.rank(), vec![change]).expect("it is the next");
        // Written down by two clients, each in its own time.
        grant(&mut chronicle, (60, 70, 90), 2, 2);
        grant(&mut chronicle, (0, 10, 50), 1, 1);
        (chronicle, Known { keys: [("a".into(), held)].into(), ..Known::default() })
    }

    fn rule(chronicle: &Chronicle, last: &Known) -> String {
        chronicle.judge(last).map_or_else(|violation| violation.checker.into(), |_| "fine".into())
    }

    #[test]
    fn a_true_chronicle_is_fine_and_tells_how_much_it_shows() {
        let (chronicle, last) = true_chronicle();
        let verdict = chronicle.judge(&last).expect("nothing is wrong");
        assert_eq!((verdict.histories.count, verdict.histories.operations, verdict.trivial), (1, 2, 1));
        assert_eq!((verdict.grants, verdict.beliefs, verdict.written), (2, 2, 1));
    }

    #[test]
    fn a_doctored_history_is_caught_whatever_was_doctored() {
        let (mut stale, last) = true_chronicle();
        stale.ended(1, entry(40, 50, None, Some(0)));
        assert_eq!(rule(&stale, &last), "linearizable: what clients were told fits into one order");

        let (lost, _) = true_chronicle();
        assert_eq!(rule(&lost, &Known::default()), "watches: none is missing", "the write is not there in the end");

        let (mut unheard, last) = true_chronicle();
        let revision = Revision { term: Term::ZERO.next(), version: Version::ZERO.next(), part: 0 };
        unheard.written(Written { key: "b".into(), value: "8".into(), revision });
        assert_eq!(rule(&unheard, &last), "watches: none is missing");

        let (mut falling, last) = true_chronicle();
        grant(&mut falling, (100, 110, 120), 3, 1);
        assert_eq!(rule(&falling, &last), "leases: fencing tokens rise", "it was given before");
        let (mut falling, last) = true_chronicle();
        falling.held(time(20), 1, 1, Held::Granted { began: time(15), token: token(5) });
        assert_eq!(rule(&falling, &last), "leases: fencing tokens rise", "2 was given to who asked after 5 was told");

        let (mut both, last) = true_chronicle();
        grant(&mut both, (80, 85, 99), 3, 3);
        assert_eq!(rule(&both, &last), "leases: nobody believes to hold what another holds");
        both.held(time(85), 0, 2, Held::GivenUp);
        assert_eq!(rule(&both, &last), "fine", "it was given up at that time");
    }
}
