//! Watches, judged by what watchers were told alone: every change in order, none twice, none missing.
//!
//! For clusters that nobody sees from inside. Whoever is told of a state is told the same as all others; whoever is told
//! of every change between two states is told of each state there that anybody was told of. What was acknowledged is
//! among it, keys go in the state in which their lease ends, tokens rise, and in the end all know what a read shows.

use super::broken;
use super::watched::WatcherTotals;
use crate::cluster::{Blob, Holding, KeyValue, Lease, Revision, Term, Token, Version};
use crate::service::watch::Change;
use crate::sim::watch::Violation;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

const ORDER: &str = "watches: every change in order, none twice";
const MISSING: &str = "watches: none is missing";
const SAME: &str = "watches: all are told the same";
const VANISH: &str = "leases: keys vanish with their lease";
const RISE: &str = "leases: fencing tokens rise";

type Rank = (Term, Version);

/// What there is, as a watcher knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The keys.
    pub keys: BTreeMap<Arc<str>, KeyValue>,
    /// The leases that are held.
    pub leases: BTreeMap<Arc<str>, Lease>,
}

/// A write of a key that nobody deletes, which was acknowledged.
#[derive(Clone, Debug)]
pub struct Written {
    /// The key.
    pub key: Arc<str>,
    /// What was written.
    pub value: Blob,
    /// The change that it was said to be.
    pub revision: Revision,
}

/// All changes from one state to another, told one after the other.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Rank,
    to: Rank,
    steps: usize,
}

#[derive(Clone, Debug, Default)]
struct Watcher {
    known: Known,
    spans: Vec<Span>,
}

/// What all watchers were told.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    states: BTreeMap<Rank, Vec<Change>>,
    watchers: BTreeMap<usize, Watcher>,
    told: WatcherTotals,
}

impl Heard {
    /// How much was told in all.
    pub fn told(&self) -> &WatcherTotals {
        &self.told
    }

    /// The state up to which a watcher knows everything.
    pub fn at(&self, watcher: usize) -> Option<Rank> {
        self.watchers.get(&watcher).and_then(|watcher| watcher.spans.last()).map(|span| span.to)
    }

    /// A watcher is told what there is, to go on from.
    pub fn whole(&mut self, watcher: usize, at: Rank, known: Known) -> Result<(), Violation> {
        self.told.jumps += 1;
        let watcher = self.watchers.entry(watcher).or_default();
        match watcher.spans.last() {
            Some(span) if at < span.to => {
                return broken(ORDER, format!("{} was shown to who knew {}", text(at), text(span.to)));
            }
            Some(span) if at == span.to && known != watcher.known => {
                return broken(SAME, format!("{} was shown other than it had been told", text(at)));
            }
            Some(_) | None => {}
        }
        watcher.known = known;
        watcher.spans.push(Span { from: at, to: at, steps: 0 });
        Ok(())
    }

    /// A watcher is told the next changes.
    pub fn step(&mut self, watcher: usize, at: Rank, changes: Vec<Change>) -> Result<(), Violation> {
        self.told.steps += 1;
        let watcher = self.watchers.entry(watcher).or_default();
        let Some(span) = watcher.spans.last_mut() else {
            return broken(ORDER, format!("changes of {} came before any state", text(at)));
        };
        if at <= span.to {
            return broken(ORDER, format!("changes of {} came after {}", text(at), text(span.to)));
        }
        (span.to, span.steps) = (at, span.steps + 1);
        watcher.known.apply(at, &changes)?;
        match self.states.get(&at) {
            Some(before) if *before != changes => {
                broken(SAME, format!("{} was told as {changes:?}, and as {before:?} before", text(at)))
            }
            Some(_) => Ok(()),
            None => {
                self.states.insert(at, changes);
                Ok(())
            }
        }
    }

    /// Judges all of it, once nothing changes and everybody knows the last state, which a read shows.
    pub fn finish(&self, written: &[Written], last: &Known) -> Result<(), Violation> {
        for (name, watcher) in &self.watchers {
            watcher.spans.iter().try_for_each(|span| self.is_whole(*name, span))?;
            if let Some(difference) = watcher.known.difference(last) {
                return broken(MISSING, format!("watcher {name} knows in the end {difference}"));
            }
        }
        written.iter().try_for_each(|written| self.was_told(written))?;
        self.tokens_rise()
    }

    fn is_whole(&self, watcher: usize, span: &Span) -> Result<(), Violation> {
        let Span { from, to, steps } = *span;
        let between = self.between(from, to).count();
        if between == steps {
            return Ok(());
        }
        let (from, to) = (text(from), text(to));
        broken(MISSING, format!("watcher {watcher} was told of {steps} of the {between} states from {from} to {to}"))
    }

    fn between(&self, from: Rank, to: Rank) -> impl Iterator<Item = (&Rank, &Vec<Change>)> {
        self.states.range((Bound::Excluded(from), Bound::Included(to)))
    }

    /// Some watchers know of the state, or nobody was told of it.
    fn was_told(&self, written: &Written) -> Result<(), Violation> {
        let Written { key, value, revision } = written;
        let at = revision.rank();
        let knows = |span: &Span| span.from < at && at <= span.to;
        if !self.watchers.values().any(|watcher| watcher.spans.iter().any(knows)) {
            return Ok(());
        }
        let change = self.states.get(&at).into_iter().flatten().find_map(|change| match change {
            Change::Key { key: changed, value } if changed == key => value.as_ref(),
            Change::Key { .. }
            | Change::Master { .. }
            | Change::Joined { .. }
            | Change::Left { .. }
            | Change::Setting { .. }
            | Change::Lease { .. } => None,
        });
        match change {
            Some(told) if told.changed == *revision && told.value == *value || told.changed > *revision => Ok(()),
            told => {
                broken(MISSING, format!("[{key}]={value} was acknowledged as {revision}, watchers heard of {told:?}"))
            }
        }
    }

    fn tokens_rise(&self) -> Result<(), Violation> {
        let mut last = Token::ZERO;
        for (at, changes) in &self.states {
            let granted = |change: &Change| match change {
                Change::Lease { lease, .. } => lease.as_ref().map(|lease| lease.token),
                Change::Key { .. }
                | Change::Master { .. }
                | Change::Joined { .. }
                | Change::Left { .. }
                | Change::Setting { .. } => None,
            };
            let tokens: Vec<Token> = changes.iter().filter_map(granted).collect();
            if let Some(token) = tokens.iter().find(|token| **token <= last) {
                return broken(RISE, format!("{} grants token {token} after {last}", text(*at)));
            }
            last = tokens.into_iter().max().unwrap_or(last);
        }
        Ok(())
    }
}

impl Known {
    fn apply(&mut self, at: Rank, changes: &[Change]) -> Result<(), Violation> {
        for change in changes {
            match change {
                Change::Key { key, value: Some(held) } => {
                    if held.changed.rank() != at {
                        let (at, changed) = (text(at), held.changed);
                        return broken(ORDER, format!("{at} was told to change [{key}], which {changed} did"));
                    }
                    self.keys.insert(key.clone(), held.clone());
                }
                Change::Key { key, value: None } => drop(self.keys.remove(key)),
                Change::Lease { name, lease: Some(lease) } => drop(self.leases.insert(name.clone(), lease.clone())),
                Change::Lease { name, lease: None } => drop(self.leases.remove(name)),
                Change::Master { .. } | Change::Joined { .. } | Change::Left { .. } | Change::Setting { .. } => {}
            }
        }
        let is_orphan =
            |holding: &Holding| self.leases.get(&holding.name).is_none_or(|lease| lease.token != holding.token);
        match self.keys.iter().find(|(_, held)| held.lease.as_ref().is_some_and(is_orphan)) {
            Some((key, held)) => {
                let lease = held.lease.as_ref().map_or_else(String::new, ToString::to_string);
                broken(VANISH, format!("[{key}] is there after {}, but not its lease {lease}", text(at)))
            }
            None => Ok(()),
        }
    }

    /// What it has that the last state has not, or the other way.
    fn difference(&self, last: &Known) -> Option<String> {
        let keys = self.keys.keys().chain(last.keys.keys());
        let wrong = keys.into_iter().find(|key| self.keys.get(*key) != last.keys.get(*key));
        let key = wrong.map(|key| format!("[{key}] as {:?}, a read {:?}", self.keys.get(key), last.keys.get(key)));
        let leases = || format!("the leases {:?}, a read {:?}", self.leases, last.leases);
        key.or_else(|| (self.leases != last.leases).then(leases))
    }
}

fn text((term, version): Rank) -> String {
    format!("{term}/{version}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn rank(version: u64) -> Rank {
        (Term::ZERO.next(), Version::new(version).expect("it is below 2^53"))
    }

    fn value(version: u64, lease: Option<u64>) -> KeyValue {
        let token = |number| Token::new(number).expect("it is below 2^53");
        let lease = lease.map(|number| Holding { name: "l".into(), token: token(number) });
        KeyValue { lease, ..KeyValue::new(version.to_string(), rank(version)) }
    }

    fn put(key: &str, version: u64) -> Change {
        Change::Key { key: key.into(), value: Some(value(version, None)) }
    }

    fn lease(token: Option<u64>) -> Change {
        let lease = token.map(|number| Lease {
            holder: "h".into(),
            token: Token::new(number).expect("it is below 2^53"),
            ttl: Duration::ZERO,
            granted: Revision::default(),
        });
        Change::Lease { name: "l".into(), lease }
    }

    fn written(key: &str, version: u64) -> Written {
        Written { key: key.into(), value: version.to_string().into(), revision: rank(version).into() }
    }

    /// Two watchers who were told of states 2 to 4, and what there is then.
    fn true_story() -> (Heard, Known) {
        let mut heard = Heard::default();
        for watcher in [0, 1] {
            heard.whole(watcher, rank(1), Known::default()).expect("it is the first");
            for version in 2..=4 {
                heard.step(watcher, rank(version), vec![put("a", version)]).expect("it is the next");
            }
        }
        let last = Known { keys: [("a".into(), value(4, None))].into(), ..Known::default() };
        (heard, last)
    }

    fn rule(verdict: Result<(), Violation>) -> Option<&'static str> {
        verdict.err().map(|violation| violation.checker)
    }

    #[test]
    fn what_a_true_cluster_tells_is_fine() {
        let (heard, last) = true_story();
        assert_eq!(heard.finish(&[written("a", 2), written("a", 4), written("x", 9)], &last), Ok(()));
        assert_eq!((heard.told().steps, heard.told().jumps, heard.at(0)), (6, 2, Some(rank(4))));
    }

    #[test]
    fn changes_out_of_order_or_told_twice_are_caught() {
        let (mut heard, _) = true_story();
        assert_eq!(rule(heard.step(0, rank(4), vec![put("a", 4)])), Some(ORDER), "it was told before");
        assert_eq!(rule(heard.step(0, rank(3), vec![put("a", 3)])), Some(ORDER));
        assert_eq!(rule(heard.step(0, rank(6), vec![put("a", 5)])), Some(ORDER), "another state changed it");
        assert_eq!(rule(heard.step(7, rank(5), vec![put("a", 5)])), Some(ORDER), "nothing was told before");
        assert_eq!(rule(heard.whole(1, rank(3), Known::default())), Some(ORDER), "it goes back");
        assert_eq!(rule(heard.whole(1, rank(4), Known::default())), Some(SAME), "it knew another 4");
    }

    #[test]
    fn a_missing_change_is_caught() {
        let (mut heard, last) = true_story();
        heard.whole(2, rank(2), Known::default()).expect("it is the first");
        heard.step(2, rank(4), vec![put("a", 4)]).expect("it follows");
        assert_eq!(rule(heard.finish(&[], &last)), Some(MISSING), "2 was not told of state 3");
        let (heard, mut last) = true_story();
        assert_eq!(rule(heard.finish(&[written("b", 3)], &last)), Some(MISSING), "it was acknowledged");
        last.keys.insert("b".into(), value(5, None));
        assert_eq!(rule(heard.finish(&[], &last)), Some(MISSING), "a read shows more");
        let (mut heard, last) = true_story();
        let lost = Written { value: "8".into(), ..written("a", 3) };
        assert_eq!(rule(heard.finish(&[lost], &last)), Some(MISSING), "another value was told");
        assert_eq!(heard.step(0, rank(5), vec![put("a", 5)]), Ok(()));
        assert_eq!(rule(heard.step(1, rank(5), vec![put("b", 5)])), Some(SAME));
    }

    #[test]
    fn keys_that_outlive_their_lease_and_tokens_that_fall_are_caught() {
        let mut heard = Heard::default();
        heard.whole(0, rank(1), Known::default()).expect("it is the first");
        let tied = |version, token| Change::Key { key: "t".into(), value: Some(value(version, Some(token))) };
        assert_eq!(heard.step(0, rank(2), vec![tied(2, 5), lease(Some(5))]), Ok(()));
        assert_eq!(rule(heard.clone().step(0, rank(3), vec![lease(None)])), Some(VANISH));
        assert_eq!(rule(heard.clone().step(0, rank(3), vec![tied(3, 4)])), Some(VANISH), "4 is not held");
        let gone = Change::Key { key: "t".into(), value: None };
        assert_eq!(heard.step(0, rank(3), vec![gone, lease(None)]), Ok(()));
        assert_eq!(heard.finish(&[], &Known::default()), Ok(()));
        assert_eq!(heard.step(0, rank(4), vec![lease(Some(4))]), Ok(()));
        assert_eq!(heard.step(0, rank(5), vec![lease(None)]), Ok(()));
        assert_eq!(rule(heard.finish(&[], &Known::default())), Some(RISE));
    }
}
