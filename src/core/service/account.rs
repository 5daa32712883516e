//! How large a state is as it is sent and stored: one sum of all that users can make grow, and its limit.
//!
//! What each part takes is never more than is told here: texts as JSON writes them, numbers at their longest. Every path of a
//! state (disk, wire, whole, in parts, as a change) carries twice the limit, so that a state that is within it, and one of a
//! release that had none, reach whoever is to have them.

use crate::cluster::{Blob, ClusterState, Holding, Lease, Metadata, Node, Refusal, written_len};
use serde_json::Value;
use std::fmt;

/// What stands around a key: its name's quotes, its revision, the name of its lease.
pub(super) const KEY_FRAME: u64 = 120;
/// The same of other things.
const SETTING_FRAME: u64 = 2;
const LEASE_FRAME: u64 = 120;
const NODE_FRAME: u64 = 160;
/// What a request that is remembered takes, of which long names are cut.
const REQUEST_BYTES: u64 = 2 * Refusal::KEPT_BYTES_MAX as u64 + 280;
/// How many bytes JSON writes for one at the most.
const WRITTEN_BYTE_MAX: u64 = 6;
/// From how many percent of the limit on it is time to do something.
const WARN_PERCENT: u64 = 90;

/// How many bytes the parts of a state take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Keys with their values.
    pub keys: u64,
    /// Settings of the cluster.
    pub settings: u64,
    /// Leases.
    pub leases: u64,
    /// Nodes with their attributes.
    pub nodes: u64,
    /// What is remembered of requests.
    pub requests: u64,
    /// Metadata of indices.
    pub indices: u64,
}

impl Account {
    /// What all parts may take together.
    pub const BYTES_MAX: u64 = 128 << 20;

    /// Counts a state, which takes longer the more text is in it.
    pub fn of(state: &ClusterState) -> Self {
        Account::counted(state, text)
    }

    /// What a state takes at the most, by how long its texts are and not by what is in them: a master counts with every
    /// state that it makes, and must not be held up.
    pub(super) fn at_most(state: &ClusterState) -> Self {
        Account::counted(state, longest)
    }

    fn counted(state: &ClusterState, text: fn(&str) -> u64) -> Self {
        let metadata = &state.metadata;
        Account {
            keys: keys(metadata),
            settings: settings(metadata, text),
            leases: metadata.leases.iter().map(|(name, held)| lease(name, held, text)).sum(),
            nodes: state.nodes.iter().map(|member| node(member, text)).sum(),
            requests: requests(metadata),
            indices: metadata.indices.iter().map(|(name, value)| text(name) + tree(value, text)).sum(),
        }
    }

    /// All parts together.
    pub fn total(&self) -> u64 {
        let Account { keys, settings, leases, nodes, requests, indices } = self;
        keys + settings + leases + nodes + requests + indices
    }

    /// Whether little is left.
    pub fn is_nearly_full(&self) -> bool {
        self.total() * 100 >= Self::BYTES_MAX * WARN_PERCENT
    }

    /// Whether so much more fits.
    pub(super) fn has_room(&self, grown: u64) -> bool {
        grown == 0 || self.total() + grown <= Self::BYTES_MAX
    }

    /// Why so much more does not fit.
    pub(super) fn refusal(&self, grown: u64) -> Refusal {
        let (total, max) = (self.total() + grown, Self::BYTES_MAX);
        Refusal::TooLarge(format!(
            "the state of the cluster would have {total} bytes, allowed are {max}; it has {self}"
        ))
    }

    /// Counts anew what changes with every request; the rest stays as it was counted.
    pub(super) fn recount(&mut self, metadata: &Metadata) {
        self.keys = keys(metadata);
        self.requests = requests(metadata);
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Account { keys, settings, leases, nodes, requests, indices } = self;
        write!(f, "{keys} in keys, {settings} in settings, {leases} in leases, {requests} in remembered requests, ")?;
        write!(f, "{nodes} in nodes, {indices} in indices")
    }
}

/// A text with its quotes.
fn text(text: &str) -> u64 {
    written_len(text) as u64 + 2
}

/// The same if every byte of it took as many as a byte can.
fn longest(text: &str) -> u64 {
    text.len() as u64 * WRITTEN_BYTE_MAX + 2
}

fn keys(metadata: &Metadata) -> u64 {
    metadata.key_bytes + metadata.keys.len() as u64 * KEY_FRAME
}

fn requests(metadata: &Metadata) -> u64 {
    (metadata.requests.done.len() + metadata.requests.clients.len() + metadata.forwards.done.len()) as u64
        * REQUEST_BYTES
}

fn settings(metadata: &Metadata, text: fn(&str) -> u64) -> u64 {
    let settings = metadata.persistent.iter().chain(metadata.transient.iter());
    settings.map(|(key, value)| text(key) + text(value) + SETTING_FRAME).sum()
}

/// All settings together, as they are written.
pub(super) fn settings_bytes(metadata: &Metadata) -> u64 {
    settings(metadata, text)
}

/// One of them.
pub(super) fn setting_bytes(key: &str, value: &str) -> u64 {
    text(key) + text(value) + SETTING_FRAME
}

/// A lease that is to be granted.
pub(super) fn lease_bytes(name: &str, held: &Lease) -> u64 {
    lease(name, held, text)
}

fn lease(name: &str, lease: &Lease, text: fn(&str) -> u64) -> u64 {
    text(name) + text(&lease.holder) + LEASE_FRAME
}

fn node(node: &Node, text: fn(&str) -> u64) -> u64 {
    let names = [node.id.as_str(), node.ephemeral_id.as_str(), &node.name, node.address.as_str(), &node.version];
    let attributes = node.attributes.iter().map(|(key, value)| text(key) + text(value) + 2);
    names.into_iter().map(text).chain(attributes).sum::<u64>() + NODE_FRAME
}

fn tree(value: &Value, text: fn(&str) -> u64) -> u64 {
    let inner = |value: &Value| tree(value, text);
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 24,
        Value::String(value) => text(value),
        Value::Array(values) => 2 + values.iter().map(|value| inner(value) + 1).sum::<u64>(),
        Value::Object(fields) => 2 + fields.iter().map(|(name, value)| text(name) + inner(value) + 2).sum::<u64>(),
    }
}

/// What a key takes with what it holds and is tied to, but for the frame that all keys have.
pub(super) fn key(name: &str, value: &Blob, lease: Option<&Holding>) -> u64 {
    (written_len(name) + value.written_len() + lease.map_or(0, |holding| written_len(&holding.name))) as u64
}

#[cfg(test)]
mod tests {
    use super::super::{Batch, Put, Task, Txn};
    use super::*;
    use crate::cluster::{RequestId, RequestOutcome, Roles, Uuid};
    use std::sync::Arc;
    use std::time::Duration;

    fn batch() -> Batch {
        Batch::new(ClusterState::initial("one".into()), |_| Ok(()))
    }

    /// What it came to, or why it was refused.
    fn run(batch: &mut Batch, task: Task) -> Result<RequestOutcome, String> {
        match batch.carry_out(&task) {
            Ok(done) => match done.outcome {
                RequestOutcome::Refused(refusal) => Err(refusal.to_string()),
                outcome @ (RequestOutcome::Applied
                | RequestOutcome::Written { .. }
                | RequestOutcome::Granted { .. }) => Ok(outcome),
            },
            Err(refusal) => Err(refusal.to_string()),
        }
    }

    fn odd(number: usize) -> String {
        format!("{}{number}", "\u{1}".repeat(500))
    }

    fn granted(batch: &mut Batch, name: &str) -> Holding {
        let task = Task::GrantLease { name: name.into(), holder: odd(0).into(), ttl: Duration::from_secs(10) };
        match run(batch, task) {
            Ok(RequestOutcome::Granted { token }) => Holding { name: name.into(), token },
            other => panic!("a grant came to {other:?}"),
        }
    }

    /// A state with as much as fits of everything that is odd, and what the last of it was refused with.
    fn filled() -> (Batch, String) {
        let mut batch = batch();
        let name = odd(0);
        let holding = granted(&mut batch, &name);
        for number in 1..900 {
            granted(&mut batch, &odd(number));
        }
        let setting = |number: usize| (format!("a.{}", odd(number)).into(), Some(odd(number).into()));
        let settings = Task::PutSettings { persistent: (0..600).map(setting).collect(), transient: Vec::new() };
        run(&mut batch, settings).expect("so many settings fit");
        for number in 0.. {
            let put = |part: usize| Put {
                key: format!("{number}/{part}").into(),
                value: vec![number as u8, part as u8, 0xff].into(),
                lease: Some(holding.clone()),
            };
            let request = RequestId { client: Uuid::from_u128(number as u128 % 256 + 1), sequence: number as u64 };
            let task = Task::Txn(Txn { puts: (0..500).map(put).collect(), ..Txn::default() });
            let task = Task::Once { request, retry: false, since: None, digest: None, task: Box::new(task) };
            if let Err(refusal) = run(&mut batch, task) {
                return (batch, refusal);
            }
        }
        unreachable!("something is refused at last");
    }

    #[test]
    fn a_state_takes_no_more_than_it_is_counted_for() {
        let (mut batch, refusal) = filled();
        assert!(refusal.contains("bytes together, allowed are 16777216"), "{refusal}");
        let node = Node {
            id: "n".repeat(22).as_str().into(),
            ephemeral_id: "e".repeat(22).as_str().into(),
            name: odd(1).into(),
            address: "127.0.0.1:9300".into(),
            roles: Roles::ALL,
            attributes: Arc::new((0..100).map(|number| (odd(number), odd(number))).collect()),
            version: "6.8.23".into(),
        };
        run(&mut batch, Task::Join { node: Arc::new(node) }).expect("it joins");
        let written = serde_json::to_vec(&batch.state).expect("a state can be written").len() as u64;
        let counted = Account::of(&batch.state);
        let (most, empty) =
            (counted.total(), serde_json::to_vec(&ClusterState::initial("one".into())).map_or(0, |empty| empty.len()));
        assert!(written <= most + empty as u64, "{written} bytes, counted as {most}: {counted}");
        assert!(most < written * 2, "{written} bytes, counted as {most}: {counted}");
        assert!(most <= Account::BYTES_MAX, "{most}");
    }

    #[test]
    fn what_would_be_too_much_is_refused_with_both_numbers_and_what_frees_room_is_not() {
        let mut batch = batch();
        let holding = granted(&mut batch, "l");
        let tied = Put { key: "k".into(), value: "v".into(), lease: Some(holding.clone()) };
        run(&mut batch, Task::Txn(Txn { puts: vec![tied], ..Txn::default() })).expect("it fits");
        // As a release without a limit may have left it: metadata of an index, which nothing here makes.
        let large: Value = "x".repeat(usize::try_from(Account::BYTES_MAX).expect("it fits")).into();
        batch.state.metadata.indices.insert("old".into(), Arc::new(large));
        let state = batch.state;
        let before = Account::of(&state).total();
        let mut batch = Batch::new(state, |_| Ok(()));
        let setting = |value: &str| Task::PutSettings {
            persistent: vec![("a.b".into(), Some(value.into()))],
            transient: Vec::new(),
        };
        let lease = Task::GrantLease { name: "m".into(), holder: "h".into(), ttl: Duration::from_secs(10) };
        for (task, grown) in
            [(Task::Txn(Txn::put("new", "x")), 3 + 1 + 120), (lease, 3 + 3 + 120), (setting("1"), 3 + 1 + 6)]
        {
            let refusal = run(&mut batch, task).expect_err("there is no room");
            let expected = format!("would have {} bytes, allowed are {}", before + grown, Account::BYTES_MAX);
            assert!(refusal.contains(&expected), "{refusal}: {expected}");
        }
        assert_eq!(Account::of(&batch.state).total(), before, "nothing was done");
        run(&mut batch, Task::Txn(Txn::put("k", "w"))).expect("what is no larger is taken");
        run(&mut batch, Task::Txn(Txn::delete("k"))).expect("keys can be deleted");
        run(&mut batch, Task::ReleaseLease(holding)).expect("leases can be let go");
        run(&mut batch, Task::PutIndex { name: "old".into(), metadata: None }).expect("indices can be taken away");
        run(&mut batch, setting("1")).expect("there is room again");
    }

    #[test]
    fn little_room_is_told_before_there_is_none() {
        let nearly = Account { keys: Account::BYTES_MAX / 10 * 9 + 10, ..Account::default() };
        assert!(nearly.is_nearly_full());
        assert!(!Account { keys: Account::BYTES_MAX / 10 * 8, ..Account::default() }.is_nearly_full());
    }
}
