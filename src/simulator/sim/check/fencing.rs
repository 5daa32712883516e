//! Leases: fencing tokens rise for ever, and no two holders believe to hold one lease at once.
//!
//! What a holder believes is what it concludes from its own clock; it is judged by the world's. Also, in every committed
//! state, no token above the last one that was given, and no key that outlives its lease.

use super::broken;
use crate::cluster::{ClusterState, Token};
use crate::protocol::Time;
use crate::sim::watch::Violation;
use std::collections::{BTreeMap, BTreeSet};

const RISE: &str = "leases: fencing tokens rise";
const ALONE: &str = "leases: nobody believes to hold what another holds";
const VANISH: &str = "leases: keys vanish with their lease";

/// Judges what holders are told and believe.
#[derive(Clone, Debug, Default, Hash)]
pub struct Fencing {
    /// The greatest token that was known to a holder at each time.
    known: BTreeMap<Time, Token>,
    given: BTreeSet<Token>,
    /// Who believes to hold each lease, and until when.
    believers: BTreeMap<usize, BTreeMap<usize, Time>>,
    last_token: Token,
}

impl Fencing {
    /// How many grants holders were told of.
    pub fn grants(&self) -> usize {
        self.given.len()
    }

    /// A holder that had asked at `began` is told of its grant.
    pub fn granted(&mut self, began: Time, at: Time, token: Token) -> Result<(), Violation> {
        if !self.given.insert(token) {
            return broken(RISE, format!("token {token} was given twice"));
        }
        let before = self.known.range(..began).next_back().map(|(_, token)| *token);
        if before.is_some_and(|before| token <= before) {
            let before = before.unwrap_or_default();
            return broken(RISE, format!("token {token} was given for what began at {began}, after token {before}"));
        }
        let newest = self.known.values().next_back().copied().unwrap_or_default();
        self.known.insert(at, newest.max(token));
        Ok(())
    }

    /// A holder believes from now on that it holds a lease, until this time.
    pub fn believes(&mut self, lease: usize, holder: usize, at: Time, until: Time) -> Result<(), Violation> {
        let believers = self.believers.entry(lease).or_default();
        believers.retain(|_, until| *until > at);
        if let Some((other, theirs)) = believers.iter().find(|(other, _)| **other != holder) {
            let what =
                format!("at {at} holder {holder} takes lease {lease}, which {other} believes to hold until {theirs}");
            return broken(ALONE, what);
        }
        believers.insert(holder, until);
        Ok(())
    }

    /// A holder gives a lease up.
    pub fn gives_up(&mut self, lease: usize, holder: usize) {
        self.believers.entry(lease).or_default().remove(&holder);
    }

    /// A state is committed.
    pub(super) fn committed(&mut self, state: &ClusterState) -> Result<(), Violation> {
        let metadata = &state.metadata;
        let greatest = metadata.leases.values().map(|lease| lease.token).max().unwrap_or_default();
        if metadata.last_token < self.last_token || greatest > metadata.last_token {
            let (last, before) = (metadata.last_token, self.last_token);
            return broken(RISE, format!("{} says {last} after {before}, with {greatest} held", state.id()));
        }
        self.last_token = metadata.last_token;
        let is_orphan = |holding: &crate::cluster::Holding| {
            metadata.leases.get(&holding.name).is_none_or(|lease| lease.token != holding.token)
        };
        let orphan = metadata.keys.iter().find(|(_, held)| held.lease.as_ref().is_some_and(is_orphan));
        match orphan {
            Some((key, _)) => broken(VANISH, format!("{} holds {key}, whose lease ended", state.id())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{ClusterName, Holding, KeyValue, Lease, Revision};
    use std::time::Duration;

    fn time(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    fn token(number: u64) -> Token {
        Token::new(number).expect("it is below 2^53")
    }

    #[test]
    fn a_token_that_does_not_rise_is_caught() {
        let mut fencing = Fencing::default();
        assert_eq!(fencing.granted(time(0), time(5), token(4)), Ok(()));
        assert_eq!(fencing.granted(time(3), time(9), token(3)), Ok(()), "it was asked for before the other was told");
        assert!(fencing.granted(time(6), time(8), token(2)).is_err(), "4 was known by then");
        assert!(fencing.granted(time(9), time(10), token(4)).is_err(), "it was given before");
    }

    #[test]
    fn two_holders_at_once_are_caught() {
        let mut fencing = Fencing::default();
        assert_eq!(fencing.believes(0, 1, time(0), time(10)), Ok(()));
        assert_eq!(fencing.believes(1, 2, time(5), time(15)), Ok(()), "that is another lease");
        assert!(fencing.believes(0, 2, time(9), time(20)).is_err());
        fencing.gives_up(0, 1);
        assert_eq!(fencing.believes(0, 2, time(9), time(20)), Ok(()));
        assert_eq!(fencing.believes(0, 3, time(20), time(30)), Ok(()), "its time is over");
    }

    #[test]
    fn a_state_whose_last_token_falls_or_is_exceeded_is_caught() {
        let state = |last, held: Option<u64>| {
            let mut state = ClusterState::initial(ClusterName::from("one"));
            state.metadata.last_token = token(last);
            let lease = |number| Lease {
                holder: "h".into(),
                token: token(number),
                ttl: Duration::ZERO,
                granted: Revision::default(),
            };
            held.into_iter().for_each(|number| drop(state.metadata.leases.insert("l".into(), lease(number))));
            state
        };
        let mut fencing = Fencing::default();
        assert_eq!(fencing.committed(&state(3, Some(3))), Ok(()));
        assert_eq!(fencing.committed(&state(3, None)), Ok(()), "an end gives no token");
        assert!(fencing.committed(&state(2, None)).is_err(), "3 was given");
        assert!(fencing.committed(&state(3, Some(4))).is_err(), "4 was not given");
    }

    #[test]
    fn a_key_that_outlives_its_lease_is_caught() {
        let mut state = ClusterState::initial(ClusterName::from("one"));
        state.metadata.last_token = token(1);
        assert_eq!(Fencing::default().committed(&state), Ok(()));
        let lease = Some(Holding { name: "l".into(), token: token(1) });
        let held = KeyValue { lease, ..KeyValue::new("v", Revision::default()) };
        state.metadata.keys.insert("k".into(), held);
        assert!(Fencing::default().committed(&state).is_err());
    }
}
