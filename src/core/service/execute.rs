//! What tasks do to a cluster state.
//!
//! A batch is applied to a copy, task by task; a refused task leaves no trace in it. What is done to settings, keys and
//! leases stands in files of their own. Mirrors `NodeJoinController.JoinTaskExecutor` and
//! `NodeRemovalClusterStateTaskExecutor` (6.8).

use super::limits::{NAME_BYTES_MAX, VALUE_BYTES_MAX};
use super::{Account, Refusal, SettingRule, Task};
use crate::cluster::{
    Block, BlockLevel, Blocks, ClusterState, Forward, Forwards, Known, Node, NodeId, Recall, Remembered, RequestId,
    RequestOutcome, Version,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How deep the metadata of an index may nest. Each message that carries a state wraps it in a few levels more, and a
/// state that nobody can read would end all publishing.
const NESTING_MAX: usize = 64;

/// What became of one task of a batch: what it came to, and the state that holds that; or why it need not wait for that
/// state to be refused.
pub type TaskResult = Result<Remembered, Refusal>;

/// A state that tasks are carried out on, one after the other.
#[derive(Debug)]
pub struct Batch {
    /// The state. It bears the term, version and uuid under which it will be published.
    pub state: ClusterState,
    pub(super) rule: SettingRule,
    /// The parts of changes of keys that this batch deleted.
    pub(super) deleted: BTreeMap<Arc<str>, u32>,
    /// How large the state is at the most, once that was asked for.
    account: Option<Account>,
    /// How many bytes the settings have, once that was asked for.
    pub(super) setting_bytes: Option<u64>,
}

impl Batch {
    /// A batch on this state; settings are judged by the rule.
    pub fn new(state: ClusterState, rule: SettingRule) -> Self {
        Batch { state, rule, deleted: BTreeMap::new(), account: None, setting_bytes: None }
    }

    /// Refuses what makes a state larger that is too large, or would be. It is counted exactly only where that may be so.
    pub(super) fn demand_room(&mut self, grown: u64) -> Result<(), Refusal> {
        let most = self.account.get_or_insert_with(|| Account::at_most(&self.state));
        most.recount(&self.state.metadata);
        if most.has_room(grown) {
            return Ok(());
        }
        let exactly = Account::of(&self.state);
        if exactly.has_room(grown) { Ok(()) } else { Err(exactly.refusal(grown)) }
    }

    /// Has the state counted anew when it is asked for.
    pub(super) fn forget_account(&mut self) {
        self.account = None;
    }

    /// Carries a task out, unless the state blocks it.
    pub fn carry_out(&mut self, task: &Task) -> TaskResult {
        if let Task::Forwarded { name, retry, task } = task {
            return self.forwarded(name, *retry, task);
        }
        self.permit(task)?;
        if let Task::Once { request, retry, since, digest, task } = task {
            return self.once(*request, (*retry, *since, *digest), task);
        }
        self.attempt(task)
    }

    /// Carries a task out, unless another master has, or this one before.
    fn forwarded(&mut self, name: &Forward, retry: bool, task: &Task) -> TaskResult {
        if matches!(task, Task::Forwarded { .. }) || name.slot.number >= Forwards::SLOTS {
            return Err(Refusal::Invalid(format!("no change is sent on under the name [{name}]")));
        }
        match self.state.metadata.forwards.recall(name, retry) {
            Known::Done(remembered) => return Ok(remembered),
            Known::Forgotten => return Err(Refusal::ForgottenForward(name.clone())),
            Known::New => {}
        }
        let remembered = match self.carry_out(task) {
            Ok(remembered) => remembered,
            // It will be asked for again, or no other copy of it is anywhere.
            Err(refusal @ Refusal::Blocked { retryable: true, .. }) => return Err(refusal),
            Err(refusal) if !retry => return Err(refusal),
            // Another master may still have it: it must find the same.
            Err(refusal) => self.remembered(RequestOutcome::Refused(Box::new(refusal))),
        };
        self.state.metadata.forwards.remember(name, remembered.brief());
        Ok(remembered)
    }

    /// What users ask for waits until no block refuses it. What only makes room, or lifts a block, is let through.
    fn permit(&self, task: &Task) -> Result<(), Refusal> {
        let blocks = self.state.blocks.at(BlockLevel::MetadataWrite);
        if blocks.is_empty() || task.is_internal() {
            return Ok(());
        }
        let is_harmless = |block: &Block| {
            let is_of_user = block.id == Block::READ_ONLY.id || block.id == Block::READ_ONLY_ALLOW_DELETE.id;
            is_of_user && task.is_about_blocks() || block.id == Block::READ_ONLY_ALLOW_DELETE.id && task.only_deletes()
        };
        let blocks: Blocks = blocks.iter().filter(|block| !is_harmless(block)).cloned().collect();
        match blocks.status() {
            Some(status) => Err(Refusal::Blocked { why: blocks.to_string(), status, retryable: blocks.is_retryable() }),
            None => Ok(()),
        }
    }

    /// Carries a task out. What the state refuses is told once that state is committed.
    fn attempt(&mut self, task: &Task) -> TaskResult {
        let outcome = match self.apply(task) {
            Ok(outcome) => outcome,
            Err(refusal) if refusal.is_of_state() => RequestOutcome::Refused(Box::new(refusal)),
            Err(refusal) => return Err(refusal),
        };
        Ok(self.remembered(outcome))
    }

    fn remembered(&self, outcome: RequestOutcome) -> Remembered {
        Remembered::new(self.state.id(), outcome)
    }

    fn apply(&mut self, task: &Task) -> Result<RequestOutcome, Refusal> {
        match task {
            Task::Join { node } => Ok(self.join(node)),
            Task::Remove { id, ephemeral_id, left, answered, .. } => {
                if self.state.nodes.get(id).is_some_and(|node| node.ephemeral_id == *ephemeral_id) {
                    self.state.nodes.remove(id);
                    self.state.metadata.forwards.part(ephemeral_id, self.state.version, left.then_some(*answered));
                }
                Ok(RequestOutcome::Applied)
            }
            Task::RemoveVoter { id } => self.remove_voter(id),
            Task::PutSettings { persistent, transient } => self.put_settings(persistent, transient),
            Task::Txn(txn) => self.change_keys(txn),
            Task::GrantLease { name, holder, ttl } => self.grant(name, holder, *ttl),
            Task::ReleaseLease(holding) => self.release(holding),
            Task::ExpireLeases { tokens } => Ok(self.expire(tokens)),
            Task::PutIndex { name, metadata } => self.put_index(name, metadata.as_deref()),
            Task::Recover => {
                self.state.blocks.remove(Block::STATE_NOT_RECOVERED.id);
                Ok(RequestOutcome::Applied)
            }
            Task::Once { request, .. } => {
                Err(Refusal::Invalid(format!("request [{request}] stands inside of another request")))
            }
            Task::Forwarded { name, .. } => {
                Err(Refusal::Invalid(format!("change [{name}] stands inside of another request")))
            }
        }
    }

    /// Carries a task out, unless this request was carried out before.
    fn once(
        &mut self,
        request: RequestId,
        (retry, since, digest): (bool, Option<Version>, Option<u32>),
        task: &Task,
    ) -> TaskResult {
        match self.state.metadata.requests.recall(request, retry, since, digest) {
            Recall::Done(remembered) => Ok(remembered),
            Recall::Another => Err(Refusal::Invalid(format!(
                "request [{request}] is known, and was for something else; allowed: a name that is used for no other request"
            ))),
            Recall::Forgotten => Err(Refusal::Forgotten(request)),
            Recall::New => {
                let remembered = match self.attempt(task) {
                    Ok(remembered) => remembered,
                    // An earlier copy of the request may be on its way: it must find the same.
                    Err(refusal) => self.remembered(RequestOutcome::Refused(Box::new(refusal))),
                };
                let kept = Remembered { digest, ..remembered.brief() };
                self.state.metadata.requests.remember(request, kept);
                Ok(remembered)
            }
        }
    }

    /// Nobody waits for the vote of a node that is gone for good. One that is there would be taken in again at once.
    fn remove_voter(&mut self, id: &NodeId) -> Result<RequestOutcome, Refusal> {
        if self.state.nodes.contains(id) {
            return Err(Refusal::Invalid(format!("node [{id}] is in the cluster: end it before it is removed")));
        }
        let voters = &mut self.state.metadata.voting.own;
        if !voters.contains(id) {
            return Err(Refusal::Invalid(format!("node [{id}] does not count in elections and commits")));
        }
        *voters = voters.iter().filter(|voter| *voter != id).cloned().collect();
        Ok(RequestOutcome::Applied)
    }

    fn put_index(&mut self, name: &Arc<str>, metadata: Option<&str>) -> Result<RequestOutcome, Refusal> {
        self.demand_room(metadata.map_or(0, |text| text.len() as u64))?;
        self.forget_account();
        put_index(&mut self.state, name, metadata)
    }

    /// The joiner answered at its address, so whoever stood there before, or under its id, is gone.
    fn join(&mut self, node: &Arc<Node>) -> RequestOutcome {
        self.forget_account();
        let version = self.state.version;
        let (nodes, forwards) = (&mut self.state.nodes, &mut self.state.metadata.forwards);
        let squatter = nodes.by_address(&node.address).filter(|old| old.id != node.id).cloned();
        let earlier = nodes.get(&node.id).filter(|old| old.ephemeral_id != node.ephemeral_id).cloned();
        if let Some(old) = &squatter {
            nodes.remove(&old.id);
        }
        for gone in squatter.iter().chain(&earlier) {
            forwards.part(&gone.ephemeral_id, version, None);
        }
        forwards.meet(&node.ephemeral_id, version);
        nodes.insert(node.clone());
        RequestOutcome::Applied
    }
}

fn put_index(state: &mut ClusterState, name: &Arc<str>, metadata: Option<&str>) -> Result<RequestOutcome, Refusal> {
    check_name("index", name)?;
    let Some(text) = metadata else {
        return match state.metadata.indices.remove(&**name) {
            Some(_) => Ok(RequestOutcome::Applied),
            None => Err(Refusal::Invalid(format!("no such index [{name}]"))),
        };
    };
    check_value("index", name, text.len())?;
    match serde_json::from_str::<Value>(text) {
        Ok(value) if nests_deeper_than(NESTING_MAX, &value) => {
            let why = format!("metadata of index [{name}] nests too deep, allowed are {NESTING_MAX} levels");
            Err(Refusal::Invalid(why))
        }
        Ok(value) => {
            state.metadata.indices.insert(name.clone(), Arc::new(value));
            Ok(RequestOutcome::Applied)
        }
        Err(error) => Err(Refusal::Invalid(format!("metadata of index [{name}] is no JSON: {error}"))),
    }
}

fn nests_deeper_than(levels: usize, value: &Value) -> bool {
    let is_deeper = |inner: &Value| nests_deeper_than(levels - 1, inner);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(is_deeper),
        Value::Object(fields) => levels == 0 || fields.values().any(is_deeper),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

pub(super) fn check_name(what: &str, name: &str) -> Result<(), Refusal> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        let why = format!("the name of a {what} has {} bytes, allowed are 1 to {NAME_BYTES_MAX}", name.len());
        return Err(Refusal::TooLarge(why));
    }
    Ok(())
}

pub(super) fn check_value(what: &str, name: &str, bytes: usize) -> Result<(), Refusal> {
    if bytes > VALUE_BYTES_MAX {
        let why = format!("the value of {what} [{name}] has {bytes} bytes, allowed are {VALUE_BYTES_MAX}");
        return Err(Refusal::TooLarge(why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Condition;
    use crate::service::Txn;
    use std::time::Duration;

    #[test]
    fn metadata_that_nests_too_deep_to_be_published_is_refused() {
        let put = |levels: usize| {
            let text = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
            let mut batch = Batch::new(ClusterState::initial("one".into()), |_| Ok(()));
            let task = Task::PutIndex { name: "logs".into(), metadata: Some(text.into()) };
            batch.carry_out(&task).map(|done| done.outcome).map_err(|refusal| refusal.to_string())
        };
        assert_eq!(put(NESTING_MAX), Ok(RequestOutcome::Applied));
        let refusal = "metadata of index [logs] nests too deep, allowed are 64 levels";
        assert_eq!(put(NESTING_MAX + 1), Err(refusal.into()));
        assert!(put(100_000).is_err(), "whatever its depth, it is refused without climbing down");
    }

    #[test]
    fn a_name_that_is_used_for_something_else_is_refused() {
        let request: RequestId = "AAAAcAAAAAAAAAAAAAAABw/1".parse().expect("it names a request");
        let mut batch = Batch::new(ClusterState::initial("one".into()), |_| Ok(()));
        let mut put = |value: &str, digest| {
            let task = Box::new(Task::Txn(Txn::put("k", value)));
            batch.carry_out(&Task::Once { request, retry: true, since: None, digest, task }).map(|done| done.outcome)
        };
        let first = put("1", Some(1)).expect("nothing speaks against it");
        assert!(matches!(first, RequestOutcome::Written { .. }), "{first:?}");
        assert_eq!(put("1", Some(1)), Ok(first.clone()), "it is the same");
        assert_eq!(put("1", None), Ok(first), "an earlier release does not say what it asks for");
        let refusal = put("2", Some(2)).expect_err("it is another");
        assert!(refusal.to_string().contains("was for something else"), "{refusal}");
        assert_eq!(batch.state.metadata.keys.len(), 1);
    }

    #[test]
    fn a_request_that_is_asked_again_is_carried_out_once_and_told_the_same() {
        let mut state = ClusterState::initial("one".into());
        let request: RequestId = "AAAAcAAAAAAAAAAAAAAABw/1".parse().expect("it names a request");
        let grant = Task::GrantLease { name: "l".into(), holder: "h".into(), ttl: Duration::from_secs(1) };
        let ask = |retry| Task::Once { request, retry, since: None, digest: None, task: Box::new(grant.clone()) };
        let mut told = Vec::new();
        for retry in [false, true, true] {
            state.version = state.version.next();
            let mut batch = Batch::new(state, |_| Ok(()));
            told.push(batch.carry_out(&ask(retry)).expect("it is granted"));
            state = batch.state;
        }
        assert!(told.iter().all(|again| *again == told[0]), "{told:?}");
        assert_eq!(state.metadata.last_token.get(), 1);
        let mut batch = Batch::new(state, |_| Ok(()));
        let nested = Task::Once {
            request: RequestId { sequence: 2, ..request },
            retry: false,
            since: None,
            digest: None,
            task: Box::new(ask(true)),
        };
        let refusal = batch.carry_out(&nested).map(|done| done.outcome);
        assert!(matches!(refusal, Ok(RequestOutcome::Refused(why)) if matches!(*why, Refusal::Invalid(_))));
        let other = batch.carry_out(&grant).map(|done| done.outcome);
        assert!(
            matches!(other, Ok(RequestOutcome::Refused(why)) if matches!(*why, Refusal::Held { .. })),
            "it is held"
        );
    }

    #[test]
    fn a_change_that_two_masters_get_is_carried_out_once_whatever_its_client_named_it() {
        let mut state = ClusterState::initial("one".into());
        state.metadata.forwards.meet(&"a1".into(), state.version);
        let name = Forward { slot: "a1/0".parse().expect("it names a slot"), sequence: 1, since: state.version };
        let put = Task::Txn(crate::service::Txn::put("k", "v").only_if(Condition::Absent { key: "k".into() }));
        let forward = |name: &Forward, retry, task: &Task| Task::Forwarded {
            name: name.clone(),
            retry,
            task: Box::new(task.clone()),
        };
        let mut told = Vec::new();
        for retry in [false, true] {
            state.version = state.version.next();
            let mut batch = Batch::new(state, |_| Ok(()));
            told.push(batch.carry_out(&forward(&name, retry, &put)).expect("it is carried out"));
            state = batch.state;
        }
        assert_eq!(told[0], told[1], "made anew it would be refused");
        let mut batch = Batch::new(state, |_| Ok(()));
        let invalid = Task::RemoveVoter { id: "b".into() };
        let next = Forward { sequence: 2, ..name.clone() };
        assert!(batch.carry_out(&forward(&next, false, &invalid)).is_err(), "there is one copy of it");
        assert!(batch.carry_out(&forward(&next, true, &invalid)).is_ok(), "another copy must find the same");
        let late = batch.carry_out(&forward(&name, true, &put));
        assert_eq!(late, Err(Refusal::ForgottenForward(name.clone())));
        let nested = forward(&Forward { sequence: 3, ..name.clone() }, false, &forward(&name, false, &put));
        assert!(matches!(batch.carry_out(&nested), Err(Refusal::Invalid(_))));
    }
}
