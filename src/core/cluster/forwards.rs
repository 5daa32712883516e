//! What became of the changes that nodes sent to their masters, so that one may be sent to the next master as well.
//!
//! A slot has one change open at a time, so the last outcome of each slot is all that needs to be kept. What clients named
//! themselves stands in `requests` and is not touched. Takes the place of nothing: `TransportMasterNodeAction` (6.8) ran such
//! changes a second time.

use super::{EphemeralId, Forward, Remembered, RequestOutcome, Slot, StateId, Table, Term, Uuid, Version};
use serde::{Deserialize, Serialize};

/// What became of the last change of a slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Carried {
    /// Which change it was.
    pub sequence: u64,
    /// What it came to.
    pub done: Remembered,
}

/// The same as it is written: every publish holds one for each of its changes, so its parts go without names.
type Written = (u64, Term, Version, Uuid, RequestOutcome);

impl From<Carried> for Written {
    fn from(Carried { sequence, done: Remembered { at, outcome, digest: _ } }: Carried) -> Self {
        (sequence, at.term, at.version, at.uuid, outcome)
    }
}

impl From<Written> for Carried {
    fn from((sequence, term, version, uuid, outcome): Written) -> Self {
        Carried { sequence, done: Remembered::new(StateId { term, version, uuid }, outcome) }
    }
}

/// A process whose changes are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Forwarder {
    /// The state from which on they are.
    pub since: Version,
    /// The state that it is no member of any more, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Version>,
    /// Up to this number it has the answers to what it sent, and asks no more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub answered: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What is known of a change that is sent on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// It was carried out.
    Done(Remembered),
    /// It was not carried out.
    New,
    /// It may have been carried out, but that is remembered no longer.
    Forgotten,
}

/// The last changes that nodes sent on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Forwards {
    /// Every member, and those who were members last.
    pub processes: Table<EphemeralId, Forwarder>,
    /// What became of the last change of each of their slots.
    pub done: Table<Slot, Carried>,
}

impl Forwards {
    /// How many slots a process has.
    pub const SLOTS: u16 = 256;
    /// Of how many processes that are members no longer it is remembered what they sent: they may send it again when
    /// they are taken in once more.
    pub const GONE_MAX: usize = 64;

    /// What is known of a change. One that may have been sent before is new only if it would be remembered. A process that is
    /// not known is long gone, and whatever still arrives of it is a late copy.
    pub fn recall(&self, name: &Forward, retry: bool) -> Known {
        match self.done.get(&name.slot) {
            Some(carried) if carried.sequence == name.sequence => return Known::Done(carried.done.clone()),
            // The slot has been given to another change since: nobody waits for this one.
            Some(carried) if carried.sequence > name.sequence => return Known::Forgotten,
            Some(_) | None => {}
        }
        let is_new = |process: &Forwarder| process.answered < name.sequence && (!retry || process.since <= name.since);
        if self.processes.get(&name.slot.by).is_some_and(is_new) { Known::New } else { Known::Forgotten }
    }

    /// Remembers what became of a change.
    pub fn remember(&mut self, name: &Forward, done: Remembered) {
        self.done.insert(name.slot.clone(), Carried { sequence: name.sequence, done });
    }

    /// A process is a member from this state on.
    pub fn meet(&mut self, process: &EphemeralId, at: Version) {
        let known = match self.processes.get(process) {
            Some(Forwarder { gone: None, .. }) => return,
            Some(known) => *known,
            None => Forwarder { since: at, gone: None, answered: 0 },
        };
        self.processes.insert(process.clone(), Forwarder { gone: None, ..known });
    }

    /// A process is a member no longer from this state on. One that said good-bye has the answers to what it had sent before,
    /// up to the number `answered`: only late copies of that can come, and what its users ask for until it has gone.
    pub fn part(&mut self, process: &EphemeralId, at: Version, answered: Option<u64>) {
        let Some(known) = self.processes.get(process).copied() else {
            return;
        };
        let answered = answered.unwrap_or(0).max(known.answered);
        self.forget_slots(process, answered);
        self.processes.insert(process.clone(), Forwarder { gone: Some(at), answered, ..known });
        self.forget_surplus();
    }

    fn forget_surplus(&mut self) {
        let gone = || self.processes.iter().filter_map(|(id, process)| Some((process.gone?, id)));
        if gone().count() <= Self::GONE_MAX {
            return;
        }
        if let Some(oldest) = gone().min().map(|(_, id)| id.clone()) {
            self.forget_slots(&oldest, u64::MAX);
            self.processes.remove(&oldest);
        }
    }

    fn done_of<'a>(&'a self, process: &'a EphemeralId) -> impl Iterator<Item = (&'a Slot, &'a Carried)> {
        let from = self.done.range_from(&Slot { by: process.clone(), number: 0 });
        from.take_while(move |(slot, _)| slot.by == *process)
    }

    /// Forgets what became of the changes of a process up to a number.
    fn forget_slots(&mut self, process: &EphemeralId, upto: u64) {
        let old = self.done_of(process).filter(|(_, carried)| carried.sequence <= upto);
        let slots: Vec<Slot> = old.map(|(slot, _)| slot.clone()).collect();
        for slot in &slots {
            self.done.remove(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(number: u64) -> Version {
        Version::new(number).expect("it is below 2^53")
    }

    fn name(by: &str, number: u16, sequence: u64, since: u64) -> Forward {
        Forward { slot: Slot { by: by.into(), number }, sequence, since: version(since) }
    }

    fn at(number: u64) -> Remembered {
        let at = StateId { term: Term::ZERO, version: version(number), uuid: Uuid::ZERO };
        Remembered::new(at, RequestOutcome::Applied)
    }

    #[test]
    fn a_change_is_known_until_its_slot_is_given_to_another() {
        let mut forwards = Forwards::default();
        forwards.meet(&"a1".into(), version(3));
        let (first, second) = (name("a1", 0, 1, 3), name("a1", 0, 2, 3));
        assert_eq!(forwards.recall(&first, true), Known::New, "it was a member all the time, and nothing was done");
        forwards.remember(&first, at(4));
        assert_eq!(forwards.recall(&first, true), Known::Done(at(4)));
        assert_eq!(forwards.recall(&second, false), Known::New);
        forwards.remember(&second, at(5));
        assert_eq!(forwards.recall(&first, false), Known::Forgotten, "a copy that comes late does nothing");
        assert_eq!(forwards.recall(&name("a1", 1, 1, 3), true), Known::New, "another slot is not concerned");
    }

    #[test]
    fn what_may_have_been_forgotten_is_not_new() {
        let mut forwards = Forwards::default();
        let other = |number: usize| EphemeralId::from(format!("b{number:03}"));
        forwards.meet(&"a1".into(), version(3));
        forwards.remember(&name("a1", 0, 1, 3), at(4));
        forwards.part(&"a1".into(), version(5), None);
        assert_eq!(forwards.recall(&name("a1", 0, 1, 3), true), Known::Done(at(4)), "it may come back");
        for number in 0..Forwards::GONE_MAX {
            forwards.meet(&other(number), version(6));
            forwards.part(&other(number), version(7), None);
        }
        assert_eq!(forwards.processes.len(), Forwards::GONE_MAX);
        assert!(forwards.done.is_empty(), "who went first is forgotten first");
        forwards.meet(&"a1".into(), version(8));
        assert_eq!(forwards.recall(&name("a1", 0, 1, 3), true), Known::Forgotten);
        assert_eq!(forwards.recall(&name("a1", 0, 2, 3), false), Known::New, "a first attempt says so");
        assert_eq!(forwards.recall(&name("a1", 0, 3, 8), true), Known::New, "this one would be known");
        forwards.remember(&name("a1", 0, 3, 8), at(9));
        forwards.remember(&name("a1", 1, 5, 9), at(10));
        forwards.part(&"a1".into(), version(10), Some(3));
        assert_eq!(forwards.done.len(), 1, "who said good-bye has the answers to what it had sent before");
        assert_eq!(forwards.recall(&name("a1", 1, 5, 9), true), Known::Done(at(10)), "that was sent after it");
        assert_eq!(forwards.recall(&name("a1", 0, 3, 8), false), Known::Forgotten, "a copy that comes after it");
        assert_eq!(forwards.recall(&name("a1", 0, 4, 9), false), Known::New, "its users ask until it has gone");
        assert_eq!(forwards.recall(&name("z9", 0, 1, 9), false), Known::Forgotten, "nobody knows that one");
    }
}
