//! What happens to users' keys: conditions, puts and deletes of one request, all of them or none.

use super::account::{KEY_FRAME, key as size};
use super::execute::{Batch, check_name, check_value};
use super::limits::{KEY_BYTES_MAX, KEYS_MAX, TXN_MAX};
use super::{Condition, Refusal, Txn};
use crate::cluster::{ClusterState, Holding, KeyValue, RequestOutcome, Revision};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Batch {
    pub(super) fn change_keys(&mut self, txn: &Txn) -> Result<RequestOutcome, Refusal> {
        check(txn)?;
        txn.conditions.iter().try_for_each(|condition| self.demand(condition))?;
        for holding in txn.puts.iter().filter_map(|put| put.lease.as_ref()) {
            self.demand_held(holding)?;
        }
        self.check_room(txn)?;
        let keys = txn.puts.iter().map(|put| &put.key).chain(&txn.deletes);
        let part = keys.map(|key| self.next_part(key)).max().unwrap_or(0);
        for put in &txn.puts {
            let (term, version) = self.state.rank();
            let changed = Revision { term, version, part };
            self.insert(&put.key, KeyValue { value: put.value.clone(), changed, lease: put.lease.clone() });
        }
        let deleted = txn.deletes.iter().filter(|key| self.delete(key, part)).count();
        Ok(RequestOutcome::Written { part, deleted: deleted as u32 })
    }

    fn demand(&self, condition: &Condition) -> Result<(), Refusal> {
        let key = match condition {
            Condition::Changed { key, .. } | Condition::Absent { key } | Condition::Present { key } => key,
            Condition::Held(holding) => return self.demand_held(holding),
        };
        check_name("key", key)?;
        let found = self.state.metadata.keys.get(key).map(|held| held.changed);
        let is_met = match condition {
            Condition::Changed { by, .. } => found == Some(*by),
            Condition::Absent { .. } => found.is_none(),
            Condition::Present { .. } | Condition::Held(_) => found.is_some(),
        };
        if is_met { Ok(()) } else { Err(Refusal::Conflict { condition: condition.clone(), found }) }
    }

    pub(super) fn demand_held(&self, holding: &Holding) -> Result<(), Refusal> {
        let held = self.state.metadata.leases.get(&holding.name);
        if held.is_some_and(|lease| lease.token == holding.token) {
            return Ok(());
        }
        Err(Refusal::NotHeld(holding.clone()))
    }

    fn check_room(&mut self, txn: &Txn) -> Result<(), Refusal> {
        let (keys, held) = (&self.state.metadata.keys, self.state.metadata.key_bytes);
        let old = |key: &Arc<str>| keys.get(key).map_or(0, |found| held_size(key, found));
        let new: u64 = txn.puts.iter().map(|put| size(&put.key, &put.value, put.lease.as_ref())).sum();
        let freed: u64 = txn.puts.iter().map(|put| &put.key).chain(&txn.deletes).map(old).sum();
        let total = (held + new).saturating_sub(freed);
        if new > freed && total > KEY_BYTES_MAX {
            let why = format!("keys and values would have {total} bytes together, allowed are {KEY_BYTES_MAX}");
            return Err(Refusal::TooLarge(why));
        }
        let added = txn.puts.iter().filter(|put| !keys.contains_key(&put.key)).count();
        let removed = txn.deletes.iter().filter(|key| keys.contains_key(*key)).count();
        let count = keys.len() + added - removed;
        if added > removed && count > KEYS_MAX {
            return Err(Refusal::TooLarge(format!("there would be {count} keys, allowed are {KEYS_MAX}")));
        }
        let grown = (new + added as u64 * KEY_FRAME).saturating_sub(freed + removed as u64 * KEY_FRAME);
        self.demand_room(grown)
    }

    /// Which change of a key the next one is within this state.
    fn next_part(&self, key: &Arc<str>) -> u32 {
        let held = self.state.metadata.keys.get(key).map(|held| held.changed);
        let held = held.filter(|changed| changed.rank() == self.state.rank()).map(|changed| changed.part);
        held.max(self.deleted.get(key).copied()).map_or(0, |last| last.saturating_add(1))
    }

    fn insert(&mut self, key: &Arc<str>, value: KeyValue) {
        let metadata = &mut self.state.metadata;
        metadata.key_bytes += held_size(key, &value);
        if let Some(old) = metadata.keys.insert(key.clone(), value) {
            metadata.key_bytes = metadata.key_bytes.saturating_sub(held_size(key, &old));
        }
    }

    /// Deletes a key, and tells whether it was there.
    fn delete(&mut self, key: &Arc<str>, part: u32) -> bool {
        let is_there = remove(&mut self.state, key);
        if is_there {
            self.deleted.insert(key.clone(), part);
        }
        is_there
    }

    /// Deletes the keys that vanish with these grants.
    pub(super) fn delete_with(&mut self, ended: impl Fn(&Holding) -> bool) {
        let all = self.state.metadata.keys.iter();
        let gone = all.filter(|(_, held)| held.lease.as_ref().is_some_and(&ended));
        let gone: Vec<Arc<str>> = gone.map(|(key, _)| key.clone()).collect();
        for key in gone {
            let part = self.next_part(&key);
            self.delete(&key, part);
        }
    }
}

fn remove(state: &mut ClusterState, key: &Arc<str>) -> bool {
    let Some(old) = state.metadata.keys.remove(key) else {
        return false;
    };
    state.metadata.key_bytes = state.metadata.key_bytes.saturating_sub(held_size(key, &old));
    true
}

fn held_size(key: &str, held: &KeyValue) -> u64 {
    size(key, &held.value, held.lease.as_ref())
}

/// Whether a request can be understood, whatever the state.
fn check(txn: &Txn) -> Result<(), Refusal> {
    if txn.len() > TXN_MAX {
        let why = format!("a request has {} conditions, puts and deletes, allowed are {TXN_MAX}", txn.len());
        return Err(Refusal::TooLarge(why));
    }
    if txn.is_empty() {
        return Err(Refusal::Invalid("a request without conditions, puts and deletes does nothing".into()));
    }
    let mut seen = BTreeSet::new();
    for key in txn.puts.iter().map(|put| &put.key).chain(&txn.deletes) {
        check_name("key", key)?;
        if !seen.insert(key) {
            return Err(Refusal::Invalid(format!("key [{key}] stands twice in one request")));
        }
    }
    txn.puts.iter().try_for_each(|put| check_value("key", &put.key, put.value.len()))
}

#[cfg(test)]
mod tests {
    use super::super::{Put, Task};
    use super::*;

    fn batch() -> Batch {
        Batch::new(ClusterState::initial("one".into()), |_| Ok(()))
    }

    fn run(batch: &mut Batch, txn: Txn) -> Result<(u32, u32), String> {
        match batch.carry_out(&Task::Txn(txn)) {
            Ok(done) => match done.outcome {
                RequestOutcome::Written { part, deleted } => Ok((part, deleted)),
                RequestOutcome::Refused(refusal) => Err(refusal.to_string()),
                other @ (RequestOutcome::Applied | RequestOutcome::Granted { .. }) => Err(format!("{other:?}")),
            },
            Err(refusal) => Err(refusal.to_string()),
        }
    }

    fn value(batch: &Batch, key: &str) -> Option<String> {
        batch.state.metadata.keys.get(key).map(|held| held.value.to_string())
    }

    #[test]
    fn a_request_changes_all_keys_or_none() {
        let mut batch = batch();
        assert_eq!(run(&mut batch, Txn::put("a", "1")), Ok((0, 0)));
        let absent = Condition::Absent { key: "a".into() };
        let swap = Txn { deletes: vec!["a".into()], ..Txn::put("b", "2") };
        let refusal = "[a] exists, last changed by 0/0";
        assert_eq!(run(&mut batch, swap.clone().only_if(absent)), Err(refusal.into()));
        assert_eq!((value(&batch, "a"), value(&batch, "b")), (Some("1".into()), None));
        assert_eq!(run(&mut batch, swap.only_if(Condition::Present { key: "a".into() })), Ok((1, 1)));
        assert_eq!((value(&batch, "a"), value(&batch, "b")), (None, Some("2".into())));
        assert_eq!(batch.state.metadata.key_bytes, 2);
        assert!(run(&mut batch, Txn::default()).is_err(), "what does nothing is a mistake");
        let twice = Txn { deletes: vec!["b".into()], ..Txn::put("b", "3") };
        assert_eq!(run(&mut batch, twice), Err("key [b] stands twice in one request".into()));
    }

    #[test]
    fn no_two_changes_of_a_key_have_the_same_name_even_in_one_state() {
        let mut batch = batch();
        assert_eq!(run(&mut batch, Txn::put("a", "1")), Ok((0, 0)));
        assert_eq!(run(&mut batch, Txn::put("a", "2")), Ok((1, 0)));
        assert_eq!(run(&mut batch, Txn::delete("a")), Ok((2, 1)));
        assert_eq!(run(&mut batch, Txn::put("a", "3")), Ok((3, 0)));
        let first = Condition::Changed { key: "a".into(), by: Revision::default() };
        assert!(run(&mut batch, Txn::put("a", "4").only_if(first)).is_err(), "the first change was overwritten");
    }

    #[test]
    fn what_is_too_much_is_refused_and_what_makes_room_is_not() {
        let mut batch = batch();
        let refusal = "the value of key [a] has 1048577 bytes, allowed are 1048576";
        assert_eq!(run(&mut batch, Txn::put("a", "x".repeat(1_048_577))), Err(refusal.into()));
        assert_eq!(
            run(&mut batch, Txn::put("k".repeat(513), "")),
            Err("the name of a key has 513 bytes, allowed are 1 to 512".into())
        );
        for key in 0..15 {
            assert!(run(&mut batch, Txn::put(format!("k{key:02}"), "x".repeat(1 << 20))).is_ok());
        }
        let refusal = "keys and values would have 16777264 bytes together, allowed are 16777216";
        assert_eq!(run(&mut batch, Txn::put("k15", "x".repeat(1 << 20))), Err(refusal.into()));
        assert!(run(&mut batch, Txn::put("k00", "small")).is_ok());
        assert!(run(&mut batch, Txn::put("k15", "x".repeat(1 << 20))).is_ok());
        let many: Vec<Put> =
            (0..=TXN_MAX).map(|key| Put { key: key.to_string().into(), value: "".into(), lease: None }).collect();
        assert!(run(&mut batch, Txn { puts: many, ..Txn::default() }).is_err());
    }

    #[test]
    fn where_there_are_as_many_keys_as_there_may_be_one_takes_the_place_of_another() {
        let mut batch = batch();
        for key in 0..KEYS_MAX {
            batch.insert(&format!("k{key}").into(), KeyValue::new("", batch.state.rank()));
        }
        let refusal = format!("there would be {} keys, allowed are {KEYS_MAX}", KEYS_MAX + 1);
        assert_eq!(run(&mut batch, Txn::put("new", "")), Err(refusal.clone()));
        let absent = Txn { deletes: vec!["absent".into()], ..Txn::put("new", "") };
        assert_eq!(run(&mut batch, absent), Err(refusal), "what is not there makes no room");
        let renamed = Txn { deletes: vec!["k7".into()], ..Txn::put("new", "") };
        assert_eq!(run(&mut batch, renamed), Ok((1, 1)));
        assert_eq!(batch.state.metadata.keys.len(), KEYS_MAX);
    }
}
