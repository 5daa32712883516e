//! What happens to leases. When one has run out is not known here: the master that leads tells it.

use super::Refusal;
use super::account::lease_bytes;
use super::execute::{Batch, check_name};
use super::limits::{LEASES_MAX, TTL_MAX, TTL_MIN};
use crate::cluster::{Holding, Lease, RequestOutcome, Token};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

impl Batch {
    pub(super) fn grant(
        &mut self,
        name: &Arc<str>,
        holder: &Arc<str>,
        ttl: Duration,
    ) -> Result<RequestOutcome, Refusal> {
        check_name("lease", name)?;
        check_name("holder", holder)?;
        if !(TTL_MIN..=TTL_MAX).contains(&ttl) {
            let why = format!("a lease of {ttl:?} is not possible, allowed are {TTL_MIN:?} to {TTL_MAX:?}");
            return Err(Refusal::Invalid(why));
        }
        let leases = &self.state.metadata.leases;
        if let Some(lease) = leases.get(name) {
            let holding = Holding { name: name.clone(), token: lease.token };
            return Err(Refusal::Held { holding, holder: lease.holder.clone() });
        }
        if leases.len() >= LEASES_MAX {
            return Err(Refusal::TooLarge(format!("{} leases are held, allowed are {LEASES_MAX}", leases.len())));
        }
        let Some(token) = self.state.metadata.last_token.next() else {
            return Err(Refusal::TooLarge(format!("all fencing tokens below {} were given", Token::MAX)));
        };
        let granted = self.state.rank().into();
        let lease = Lease { holder: holder.clone(), token, ttl, granted };
        let bytes = lease_bytes(name, &lease);
        self.demand_room(bytes)?;
        self.forget_account();
        self.state.metadata.last_token = token;
        self.state.metadata.leases.insert(name.clone(), lease);
        Ok(RequestOutcome::Granted { token })
    }

    pub(super) fn release(&mut self, holding: &Holding) -> Result<RequestOutcome, Refusal> {
        self.demand_held(holding)?;
        self.forget_account();
        self.state.metadata.leases.remove(&holding.name);
        self.delete_with(|lease| lease == holding);
        Ok(RequestOutcome::Applied)
    }

    pub(super) fn expire(&mut self, tokens: &BTreeSet<Token>) -> RequestOutcome {
        let leases = &self.state.metadata.leases;
        let gone = leases.iter().filter(|(_, lease)| tokens.contains(&lease.token));
        let gone: Vec<Arc<str>> = gone.map(|(name, _)| name.clone()).collect();
        for name in &gone {
            self.state.metadata.leases.remove(name);
        }
        if !gone.is_empty() {
            self.forget_account();
            self.delete_with(|lease| tokens.contains(&lease.token));
        }
        RequestOutcome::Applied
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Condition, Put, Task, Txn};
    use super::*;
    use crate::cluster::ClusterState;

    const TTL: Duration = Duration::from_secs(10);

    fn batch() -> Batch {
        Batch::new(ClusterState::initial("one".into()), |_| Ok(()))
    }

    fn grant(batch: &mut Batch, name: &str) -> Result<u64, Refusal> {
        let task = Task::GrantLease { name: name.into(), holder: "h".into(), ttl: TTL };
        match batch.carry_out(&task)?.outcome {
            RequestOutcome::Granted { token } => Ok(token.get()),
            RequestOutcome::Refused(refusal) => Err(*refusal),
            other @ (RequestOutcome::Applied | RequestOutcome::Written { .. }) => panic!("a grant came to {other:?}"),
        }
    }

    fn run(batch: &mut Batch, task: Task) -> Result<(), Refusal> {
        match batch.carry_out(&task)?.outcome {
            RequestOutcome::Refused(refusal) => Err(*refusal),
            RequestOutcome::Applied | RequestOutcome::Written { .. } | RequestOutcome::Granted { .. } => Ok(()),
        }
    }

    fn holding(name: &str, token: u64) -> Holding {
        Holding { name: name.into(), token: Token::new(token).expect("it is below 2^53") }
    }

    #[test]
    fn tokens_rise_over_all_leases_and_are_never_given_again() {
        let mut batch = batch();
        assert_eq!((grant(&mut batch, "a"), grant(&mut batch, "b")), (Ok(1), Ok(2)));
        let held = Refusal::Held { holding: holding("a", 1), holder: "h".into() };
        assert_eq!(grant(&mut batch, "a"), Err(held));
        assert_eq!(run(&mut batch, Task::ReleaseLease(holding("a", 1))), Ok(()));
        let tokens = [holding("b", 2).token].into_iter().collect();
        assert_eq!(run(&mut batch, Task::ExpireLeases { tokens }), Ok(()));
        assert_eq!((grant(&mut batch, "a"), grant(&mut batch, "b")), (Ok(3), Ok(4)));
        let late = run(&mut batch, Task::ReleaseLease(holding("a", 1)));
        assert_eq!(late, Err(Refusal::NotHeld(holding("a", 1))), "an earlier grant ends nothing");
    }

    #[test]
    fn keys_vanish_with_their_lease_and_a_write_under_an_old_token_changes_nothing() {
        let mut batch = batch();
        grant(&mut batch, "a").expect("it is free");
        let put = |key: &str, token| Put { key: key.into(), value: "v".into(), lease: Some(holding("a", token)) };
        let with_lease = |key: &str, token| Task::Txn(Txn { puts: vec![put(key, token)], ..Txn::default() });
        assert_eq!(run(&mut batch, with_lease("k", 1)), Ok(()));
        assert_eq!(run(&mut batch, Task::Txn(Txn::put("stays", "v"))), Ok(()));
        assert_eq!(run(&mut batch, with_lease("k", 2)), Err(Refusal::NotHeld(holding("a", 2))));
        assert_eq!(run(&mut batch, Task::ReleaseLease(holding("a", 1))), Ok(()));
        let keys: Vec<String> = batch.state.metadata.keys.keys().map(ToString::to_string).collect();
        assert_eq!((keys, batch.state.metadata.key_bytes), (vec!["stays".to_string()], 6));
        grant(&mut batch, "a").expect("it is free again");
        let guarded = Txn::put("stays", "old").only_if(Condition::Held(holding("a", 1)));
        assert_eq!(run(&mut batch, Task::Txn(guarded)), Err(Refusal::NotHeld(holding("a", 1))));
    }
}
