//! Linearizability: whether what clients were told of a few registers fits into one order that respects real time.
//!
//! Knows nothing of cluster states: only when each operation began and ended, and what it saw and wrote. The search is
//! that of Wing and Gong with the memory of Lowe, as in Porcupine. Registers that are used together are judged together,
//! others apart, since linearizability is local. Whoever searches for too long knows nothing, and says so.

use crate::protocol::Time;
use std::collections::BTreeSet;

/// How many registers are judged together.
pub const WIDTH: usize = 2;

/// What the registers hold; 0 stands for nothing, and no other value is written twice.
pub type Registers = [u64; WIDTH];

/// What is known of the end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was carried out.
    Done,
    /// It was not, because its guards did not hold.
    Refused,
    /// It was carried out at any time since it began, or never.
    Unknown,
}

/// One operation of one client.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When it was first asked for.
    pub began: Time,
    /// When its end was told.
    pub ended: Time,
    /// What registers must hold for it to be carried out.
    pub guards: Vec<(usize, u64)>,
    /// What it writes.
    pub writes: Vec<(usize, u64)>,
    /// What it saw.
    pub seen: Vec<(usize, u64)>,
    /// What is known of its end.
    pub fate: Fate,
}

/// What came of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// There is such an order.
    Linearizable,
    /// There is none.
    Broken,
    /// It took too long to find out.
    Inconclusive,
}

impl Entry {
    /// What the registers hold after it, if it can stand at a place where they hold this.
    fn step(&self, before: &Registers) -> Option<Registers> {
        let holds = |expected: &[(usize, u64)]| expected.iter().all(|(register, value)| before[*register] == *value);
        let is_possible = match self.fate {
            Fate::Done => holds(&self.guards) && holds(&self.seen),
            Fate::Refused => return (!holds(&self.guards)).then_some(*before),
            Fate::Unknown => holds(&self.guards),
        };
        is_possible.then(|| {
            let mut after = *before;
            self.writes.iter().for_each(|(register, value)| after[*register] = *value);
            after
        })
    }

    /// Whether it overlaps another one so that their order matters.
    fn conflicts(&self, other: &Entry) -> bool {
        let overlaps = self.began <= other.ended && other.began <= self.ended;
        let touches = |entry: &Entry, register: usize| {
            entry.writes.iter().chain(&entry.seen).chain(&entry.guards).any(|(touched, _)| *touched == register)
        };
        let writes = |one: &Entry, other: &Entry| one.writes.iter().any(|(register, _)| touches(other, *register));
        overlaps && (writes(self, other) || writes(other, self))
    }
}

/// How many pairs of operations overlap so that their order matters: without any, a history shows little.
pub fn conflicts(history: &[Entry]) -> usize {
    let pairs =
        history.iter().enumerate().flat_map(|(at, one)| history[at + 1..].iter().map(move |other| (one, other)));
    pairs.filter(|(one, other)| one.conflicts(other)).count()
}

/// Searches for an order, for so many steps at the most.
pub fn check(history: &[Entry], budget: usize) -> Finding {
    Search::new(history).run(budget)
}

/// A place in the list of what happened. Both ends of an operation stand in it, by time; that of an unknown one has no
/// end. What is ordered already is taken out.
#[derive(Clone, Copy, Debug)]
struct Event {
    entry: usize,
    is_end: bool,
    before: usize,
    next: usize,
}

/// Stands before the first and behind the last event.
const RIM: usize = 0;

struct Search<'a> {
    history: &'a [Entry],
    events: Vec<Event>,
    /// Where the end of each operation stands.
    ends: Vec<usize>,
    /// How many ends are left in the list.
    open: usize,
    ordered: Vec<u64>,
    registers: Registers,
    seen: BTreeSet<(Vec<u64>, Registers)>,
    /// What was ordered: the event of its beginning, and what the registers held before.
    path: Vec<(usize, Registers)>,
}

impl<'a> Search<'a> {
    fn new(history: &'a [Entry]) -> Self {
        let mut points = Vec::new();
        for (entry, operation) in history.iter().enumerate() {
            // Of two that happen at one time the beginning stands first: they overlap.
            points.push((operation.began, false, entry));
            if operation.fate != Fate::Unknown {
                points.push((operation.ended, true, entry));
            }
        }
        points.sort_unstable();
        let rim = Event { entry: 0, is_end: false, before: points.len(), next: usize::from(!points.is_empty()) };
        let last = points.len();
        let mut ends = vec![RIM; history.len()];
        let events = points.into_iter().enumerate().map(|(at, (_, is_end, entry))| {
            if is_end {
                ends[entry] = at + 1;
            }
            Event { entry, is_end, before: at, next: if at + 1 == last { RIM } else { at + 2 } }
        });
        let events: Vec<Event> = std::iter::once(rim).chain(events).collect();
        let open = ends.iter().filter(|end| **end != RIM).count();
        let ordered = vec![0; history.len().div_ceil(64)];
        Search { history, events, ends, open, ordered, registers: [0; WIDTH], seen: BTreeSet::new(), path: Vec::new() }
    }

    fn run(&mut self, budget: usize) -> Finding {
        let mut at = self.events[RIM].next;
        for _ in 0..budget {
            if self.open == 0 {
                return Finding::Linearizable;
            }
            let event = self.events[at];
            if at != RIM && !event.is_end {
                at = if self.order(at, event.entry) { self.events[RIM].next } else { event.next };
                continue;
            }
            // An operation ended that no order has room for: the last choice was wrong.
            let Some((begin, registers)) = self.path.pop() else {
                return Finding::Broken;
            };
            self.registers = registers;
            let entry = self.events[begin].entry;
            self.ordered[entry / 64] &= !(1 << (entry % 64));
            self.put_back(begin);
            at = self.events[begin].next;
        }
        Finding::Inconclusive
    }

    /// Puts an operation next into the order, unless that cannot be or was tried.
    fn order(&mut self, begin: usize, entry: usize) -> bool {
        let Some(after) = self.history[entry].step(&self.registers) else {
            return false;
        };
        let mut ordered = self.ordered.clone();
        ordered[entry / 64] |= 1 << (entry % 64);
        if !self.seen.insert((ordered.clone(), after)) {
            return false;
        }
        self.path.push((begin, self.registers));
        self.ordered = ordered;
        self.registers = after;
        self.take_out(begin);
        true
    }

    fn take_out(&mut self, begin: usize) {
        self.unlink(begin);
        let end = self.ends[self.events[begin].entry];
        if end != RIM {
            self.unlink(end);
            self.open -= 1;
        }
    }

    fn put_back(&mut self, begin: usize) {
        let end = self.ends[self.events[begin].entry];
        if end != RIM {
            self.link(end);
            self.open += 1;
        }
        self.link(begin);
    }

    fn unlink(&mut self, at: usize) {
        let Event { before, next, .. } = self.events[at];
        self.events[before].next = next;
        self.events[next].before = before;
    }

    fn link(&mut self, at: usize) {
        let Event { before, next, .. } = self.events[at];
        self.events[before].next = at;
        self.events[next].before = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Rng;

    const BUDGET: usize = 100_000;

    fn entry(began: u64, ended: u64, fate: Fate) -> Entry {
        let (began, ended) = (Time::from_micros(began), Time::from_micros(ended));
        Entry { began, ended, guards: Vec::new(), writes: Vec::new(), seen: Vec::new(), fate }
    }

    fn write(began: u64, ended: u64, value: u64) -> Entry {
        Entry { writes: vec![(0, value)], ..entry(began, ended, Fate::Done) }
    }

    fn read(began: u64, ended: u64, value: u64) -> Entry {
        Entry { seen: vec![(0, value)], ..entry(began, ended, Fate::Done) }
    }

    fn swap(began: u64, ended: u64, (from, to): (u64, u64), fate: Fate) -> Entry {
        Entry { guards: vec![(0, from)], writes: vec![(0, to)], ..entry(began, ended, fate) }
    }

    fn judge(history: &[Entry]) -> Finding {
        check(history, BUDGET)
    }

    #[test]
    fn histories_that_fit_into_one_order_are_found_to() {
        let fine = [
            vec![],
            vec![write(0, 1, 7), read(2, 3, 7)],
            vec![write(0, 9, 7), read(1, 2, 7), read(3, 4, 7), read(1, 2, 0)],
            vec![write(0, 5, 1), write(0, 5, 2), read(6, 7, 1), read(8, 9, 1)],
            vec![swap(0, 5, (0, 1), Fate::Done), swap(0, 5, (0, 2), Fate::Refused), read(6, 7, 1)],
            vec![swap(0, 5, (0, 1), Fate::Unknown), read(6, 7, 0), read(8, 9, 1)],
            vec![swap(0, 5, (9, 1), Fate::Unknown), read(6, 7, 0), read(8, 9, 0)],
            vec![
                Entry { writes: vec![(0, 1), (1, 2)], ..entry(0, 3, Fate::Done) },
                Entry { seen: vec![(0, 0), (1, 0)], ..entry(0, 3, Fate::Done) },
                Entry { seen: vec![(0, 1), (1, 2)], ..entry(1, 3, Fate::Done) },
            ],
        ];
        for (number, history) in fine.iter().enumerate() {
            assert_eq!(judge(history), Finding::Linearizable, "history {number}");
        }
    }

    #[test]
    fn every_kind_of_bad_history_is_caught() {
        let bad = [
            ("a stale read", vec![write(0, 1, 1), write(2, 3, 2), read(4, 5, 1)]),
            ("a lost update", vec![write(0, 1, 1), read(2, 3, 0)]),
            ("a value from nowhere", vec![write(0, 1, 1), read(2, 3, 9)]),
            ("a read that goes back", vec![write(0, 9, 1), read(1, 2, 1), read(3, 4, 0)]),
            ("two swaps of one value", vec![swap(0, 5, (0, 1), Fate::Done), swap(0, 5, (0, 2), Fate::Done)]),
            ("a swap refused for nothing", vec![write(0, 1, 1), swap(2, 3, (1, 2), Fate::Refused)]),
            (
                "an update before it was asked for",
                vec![read(0, 1, 1), swap(2, 3, (0, 1), Fate::Unknown), read(4, 5, 1)],
            ),
            (
                "an update that comes twice",
                vec![
                    swap(0, 9, (0, 1), Fate::Unknown),
                    read(10, 11, 1),
                    write(12, 13, 2),
                    read(14, 15, 2),
                    read(16, 17, 1),
                ],
            ),
            (
                "half of a request",
                vec![
                    Entry { writes: vec![(0, 1), (1, 2)], ..entry(0, 3, Fate::Done) },
                    Entry { seen: vec![(0, 1), (1, 0)], ..entry(1, 3, Fate::Done) },
                ],
            ),
        ];
        for (name, history) in bad {
            assert_eq!(judge(&history), Finding::Broken, "{name}");
        }
    }

    /// Operations on a true register, each taking effect at a moment within its span.
    fn true_history(rng: &mut Rng) -> Vec<Entry> {
        let mut registers = [0; WIDTH];
        let mut history = Vec::new();
        for number in 1..=60u64 {
            let moment = number * 10;
            let (began, ended) = (moment - rng.below(40).min(moment), moment + rng.below(40));
            let register = rng.below(WIDTH as u64) as usize;
            let mut one = entry(began, ended, Fate::Done);
            match rng.below(4) {
                0 => one.seen = vec![(register, registers[register])],
                1 => one.writes = vec![(register, number)],
                2 => {
                    one.guards = vec![(register, registers[register])];
                    one.writes = vec![(0, number), (1, number)];
                }
                _ => {
                    one.guards = vec![(register, number + 1_000)];
                    one.writes = vec![(register, number)];
                    one.fate = Fate::Refused;
                }
            }
            if one.fate == Fate::Done {
                one.writes.iter().for_each(|(register, value)| registers[*register] = *value);
            }
            if one.seen.is_empty() && rng.percent(10) {
                one.fate = Fate::Unknown;
            }
            history.push(one);
        }
        history
    }

    #[test]
    fn what_a_true_register_did_is_never_called_broken_and_a_changed_read_is() {
        let mut caught = 0;
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let mut history = true_history(&mut rng);
            assert_eq!(judge(&history), Finding::Linearizable, "seed {seed}");
            let last = Entry { seen: vec![(0, 999)], ..entry(10_000, 10_001, Fate::Done) };
            history.push(last);
            assert_eq!(judge(&history), Finding::Broken, "seed {seed}");
            history.pop();
            if let Some(read) = history.iter_mut().rev().find(|entry| !entry.seen.is_empty()) {
                // What it was long before.
                read.seen[0].1 = 0;
                caught += usize::from(judge(&history) == Finding::Broken);
            }
        }
        assert!(caught > 150, "{caught} of 200 stale reads were caught");
    }

    #[test]
    fn whoever_searches_for_too_long_says_so() {
        let history: Vec<Entry> = (1..=20).map(|value| write(0, 100, value)).chain([read(101, 102, 99)]).collect();
        assert_eq!(check(&history, 1_000), Finding::Inconclusive);
        assert_eq!(conflicts(&history[..2]), 1);
        assert_eq!(conflicts(&[write(0, 1, 1), write(2, 3, 2)]), 0);
    }
}
