//! LeaseHolders of leases, each with a clock of its own.
//!
//! A holder asks for a lease, keeps it alive, gives it up or lets it run out, and asks again. It believes to hold the
//! lease for as long as `docs/leases.md` says, counted on its own clock from the moment at which it first asked. Whether
//! it is right is judged in `check`.

use super::check::{Descent, Fencing};
use super::operation::{once, read, submit};
use super::watch::Violation;
use crate::cluster::{Blob, Holding, RequestId, RequestOutcome, Token, Uuid};
use crate::protocol::{Rng, Time};
use crate::service::limits::{DRIFT_PERCENT, holders_ttl};
use crate::service::{Answer, Put, Query, Question, Refusal, Task, Txn};
use std::sync::Arc;
use std::time::Duration;

/// How often a holder asks again with the same request before it begins anew.
const TRIES_MAX: u32 = 4;

/// The rule that what was granted stays.
const LEASE_LOST: &str = "S5 an acknowledged lease is never lost";

/// What a holder is doing.
#[derive(Clone, Debug)]
enum Phase {
    /// Nothing.
    Idle,
    /// It asks for the lease.
    Asking { request: RequestId, since: Time, tries: u32 },
    /// It believes to hold the lease until a time of the world.
    Holding { holding: Holding, until: Time },
    /// It gives the lease up.
    Releasing { holding: Holding, request: RequestId, tries: u32 },
}

/// What a holder asked last.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    Grant(RequestId),
    Alive(Holding, Time),
    Release,
    Write,
}

#[derive(Clone, Debug)]
struct Holder {
    lease: usize,
    rate_ppm: u64,
    phase: Phase,
    /// When it acts next; none while it waits for an answer.
    next: Option<Time>,
    sequence: u64,
}

/// All holders of a run.
#[derive(Debug)]
pub(super) struct LeaseHolders {
    rng: Rng,
    holders: Vec<Holder>,
    ttl: Duration,
    is_over: bool,
}

impl LeaseHolders {
    /// Some holders of a lease or two. No clock of a node runs faster than this.
    pub(super) fn new(mut rng: Rng, fastest_ppm: u64) -> Self {
        let leases = rng.between(1, 2);
        // As far apart as a holder's clock may be from that of any master.
        let slowest = fastest_ppm * u64::from(100 - DRIFT_PERCENT) / 100 + 1;
        let holders = (0..rng.between(2, 4)).map(|_| Holder {
            lease: rng.below(leases) as usize,
            rate_ppm: rng.between(slowest, slowest + slowest / 5),
            phase: Phase::Idle,
            next: Some(Time::from_micros(rng.below(200_000))),
            sequence: 0,
        });
        let holders = holders.collect();
        let ttl = Duration::from_millis(100 * rng.between(1, 30));
        LeaseHolders { rng, holders, ttl, is_over: false }
    }

    pub(super) fn next_at(&self) -> Option<Time> {
        self.holders.iter().filter_map(|holder| holder.next).min()
    }

    /// Nobody asks for a lease any more.
    pub(super) fn fall_silent(&mut self) {
        self.is_over = true;
        self.holders.iter_mut().for_each(|holder| holder.next = None);
    }

    /// A holder whose time has come, and what it asks.
    pub(super) fn next(&mut self, now: Time, fencing: &mut Fencing) -> Option<(usize, Asked, Question)> {
        loop {
            let at = self.holders.iter().position(|holder| holder.next.is_some_and(|next| next <= now))?;
            if let Some((asked, question)) = self.act(at, now, fencing) {
                self.holders[at].next = None;
                return Some((at, asked, question));
            }
        }
    }

    fn act(&mut self, at: usize, now: Time, fencing: &mut Fencing) -> Option<(Asked, Question)> {
        let holder = &mut self.holders[at];
        if let Phase::Holding { until, .. } = &holder.phase
            && *until <= now
        {
            fencing.gives_up(holder.lease, at);
            holder.phase = Phase::Idle;
        }
        match holder.phase.clone() {
            Phase::Idle => {
                let request = holder.request(at);
                holder.phase = Phase::Asking { request, since: now, tries: 0 };
                Some(self.ask(at))
            }
            Phase::Asking { .. } => Some(self.ask(at)),
            Phase::Releasing { .. } => Some(self.release(at)),
            Phase::Holding { holding, .. } => match self.rng.below(100) {
                0..8 => {
                    let request = holder.request(at);
                    fencing.gives_up(holder.lease, at);
                    holder.phase = Phase::Releasing { holding, request, tries: 0 };
                    Some(self.release(at))
                }
                // It says nothing for a while, as if it were stalled.
                8..12 => {
                    holder.next = Some(now + self.ttl / 2);
                    None
                }
                12..30 => Some(holder.write(at, holding)),
                _ => Some((Asked::Alive(holding.clone(), now), read(Query::KeepAlive(holding)))),
            },
        }
    }

    fn ask(&mut self, at: usize) -> (Asked, Question) {
        let (holder, ttl) = (&mut self.holders[at], self.ttl);
        let name = name(holder.lease);
        let Phase::Asking { request, tries, .. } = &mut holder.phase else {
            unreachable!("only who asks does so");
        };
        let task = Task::GrantLease { name, holder: format!("h{at}").into(), ttl };
        *tries += 1;
        (Asked::Grant(*request), submit(once(task, *request, *tries > 1)))
    }

    fn release(&mut self, at: usize) -> (Asked, Question) {
        let Phase::Releasing { holding, request, tries } = &mut self.holders[at].phase else {
            unreachable!("only who gives up does so");
        };
        *tries += 1;
        (Asked::Release, submit(once(Task::ReleaseLease(holding.clone()), *request, *tries > 1)))
    }

    /// A lease that somebody believes to hold is in the newest committed state.
    pub(super) fn keep_theirs(&self, now: Time, descent: &Descent) -> Result<(), Violation> {
        let Some(state) = descent.committed(&descent.newest()) else {
            return Ok(());
        };
        for holder in &self.holders {
            if let Phase::Holding { holding, until } = &holder.phase
                && *until > now
                && state.metadata.leases.get(&holding.name).is_none_or(|lease| lease.token != holding.token)
            {
                let what = format!("{} is committed without {holding}, which is believed in until {until}", state.id());
                return Err(Violation { checker: LEASE_LOST, what });
            }
        }
        Ok(())
    }

    /// The node was not there, or the answer is lost.
    pub(super) fn unanswered(&mut self, at: usize, now: Time) {
        let pause = Duration::from_micros(self.rng.between(1_000, 60_000));
        let is_over = self.is_over;
        let holder = &mut self.holders[at];
        match &holder.phase {
            Phase::Asking { tries, .. } | Phase::Releasing { tries, .. } if *tries >= TRIES_MAX => {
                holder.phase = Phase::Idle;
            }
            Phase::Idle | Phase::Asking { .. } | Phase::Holding { .. } | Phase::Releasing { .. } => {}
        }
        holder.next = (!is_over).then(|| now + pause);
    }

    /// A holder is answered.
    pub(super) fn answered(
        &mut self,
        at: usize,
        now: Time,
        (asked, answer): (&Asked, &Answer),
        fencing: &mut Fencing,
    ) -> Result<(), Violation> {
        let ttl = self.ttl;
        let pause = Duration::from_micros(self.rng.between(1_000, ttl.as_micros() as u64 / 2));
        let is_over = self.is_over;
        let holder = &mut self.holders[at];
        holder.next = (!is_over).then(|| now + pause);
        match (asked, answer) {
            (Asked::Grant(request), Answer::Done { outcome: RequestOutcome::Granted { token }, .. }) => {
                holder.granted(at, now, (*request, *token), ttl, fencing)?;
            }
            (Asked::Alive(held, sent), Answer::Lease { lease: Some(lease), .. }) => {
                if let Phase::Holding { holding, until } = &mut holder.phase
                    && holding == held
                    && *until > now
                {
                    *until = (*until).max(*sent + believed(holder.rate_ppm, lease.ttl));
                    fencing.believes(holder.lease, at, now, *until)?;
                }
            }
            (Asked::Alive(..) | Asked::Write, Answer::Refused(Refusal::NotHeld(ended))) => {
                if matches!(&holder.phase, Phase::Holding { holding, .. } if holding == ended) {
                    fencing.gives_up(holder.lease, at);
                    holder.phase = Phase::Idle;
                }
            }
            (Asked::Release, Answer::Done { .. } | Answer::Refused(_)) => holder.phase = Phase::Idle,
            (Asked::Grant(_), Answer::Refused(_)) => holder.phase = Phase::Idle,
            (_, _) => self.unanswered(at, now),
        }
        Ok(())
    }
}

impl Holder {
    fn request(&mut self, at: usize) -> RequestId {
        self.sequence += 1;
        RequestId { client: Uuid::from_u128(1_000 + at as u128), sequence: self.sequence }
    }

    /// Writes a key that vanishes with the lease.
    fn write(&mut self, at: usize, holding: Holding) -> (Asked, Question) {
        let value = Blob::from(format!("h{at}-{}", self.sequence));
        let put = Put { key: format!("lease/{}", self.lease).into(), value, lease: Some(holding) };
        let txn = Task::Txn(Txn { puts: vec![put], ..Txn::default() });
        (Asked::Write, submit(once(txn, self.request(at), false)))
    }

    fn granted(
        &mut self,
        at: usize,
        now: Time,
        (granted, token): (RequestId, Token),
        ttl: Duration,
        fencing: &mut Fencing,
    ) -> Result<(), Violation> {
        let Phase::Asking { request, since, .. } = &self.phase else {
            return Ok(());
        };
        if *request != granted {
            return Ok(());
        }
        fencing.granted(*since, now, token)?;
        // From when it first asked: the first attempt may be the one that was granted.
        let until = *since + believed(self.rate_ppm, ttl);
        self.phase = Phase::Holding { holding: Holding { name: name(self.lease), token }, until };
        if until > now { fencing.believes(self.lease, at, now, until) } else { Ok(()) }
    }
}

fn name(lease: usize) -> Arc<str> {
    format!("l{lease}").into()
}

/// For how long of the world's time a holder believes, whose clock runs at this rate.
fn believed(rate_ppm: u64, ttl: Duration) -> Duration {
    let own = holders_ttl(ttl).as_micros() as u64;
    Duration::from_micros(own * 1_000_000 / rate_ppm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{ClusterName, ClusterState, Lease, Revision, Version};

    fn token(number: u64) -> Token {
        Token::new(number).expect("it is below 2^53")
    }

    /// A line of one state in which the first lease is held under this token.
    fn line(held: Option<u64>) -> Descent {
        let mut state = ClusterState::initial(ClusterName::from("one"));
        state.version = Version::new(1).expect("it is below 2^53");
        let ttl = Duration::from_secs(1);
        held.map(|held| {
            let lease = Lease { holder: "h0".into(), token: token(held), ttl, granted: Revision::default() };
            state.metadata.leases.insert(name(0), lease)
        });
        Descent::line_of([state])
    }

    #[test]
    fn a_lease_that_is_gone_while_its_holder_may_believe_in_it_is_caught() {
        let time = Time::from_micros;
        let mut holders = LeaseHolders::new(Rng::new(1), 1_000_000);
        let holding = Holding { name: name(0), token: token(7) };
        holders.holders[0].phase = Phase::Holding { holding, until: time(100) };
        let rule = |now, held| holders.keep_theirs(time(now), &line(held)).err().map(|violation| violation.checker);
        assert_eq!(rule(99, Some(7)), None);
        assert_eq!(rule(99, None), Some(LEASE_LOST));
        assert_eq!(rule(99, Some(8)), Some(LEASE_LOST), "another holds it");
        assert_eq!(rule(100, None), None, "it is believed in no more");
    }
}
