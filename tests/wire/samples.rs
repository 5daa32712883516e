//! One message of each kind, and of each variant inside, with values that a reader can follow.

use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use zazen::cluster::{
    Block, ClusterState, Diff, Forward, Holding, KeyValue, Lease, Node, NodeId, Remembered, RequestId, RequestOutcome,
    Revision, Roles, Slot, StateId, Term, Token, Uuid, Version, VotingSets,
};
use zazen::service::{Answer, Condition, PendingTask, Priority, Put, Query, Refusal, Task, Txn};
use zazen::zen::message::{Body, Join, JoinAnswer, MasterPong, PeerStatus, Report, Sender};
use zazen::zen::{BootstrapSet, Message, Rejection};

pub(crate) fn samples() -> Vec<Message> {
    let from = sender();
    let span = Duration::from_millis(1_500);
    let mut samples = vec![
        Message::Ping { from: newcomer(), sight: Box::new(bare_sight()) },
        Message::Notice { from: from.clone(), sight: Box::new(full_sight()) },
        Message::Join { from: newcomer(), join: vote() },
        Message::Join {
            from: from.clone(),
            join: Join {
                vote: false,
                to_master: true,
                bootstrap: None,
                has_recovered_state: true,
                round_trip: span,
                ..vote()
            },
        },
        Message::Fetch { from: from.clone() },
        publish(StateId::NONE, Body::Full(Arc::new(state()))),
        publish(state().id(), Body::Diff(Arc::new(diff()))),
        Message::Commit { from: from.clone(), id: id(3, 17) },
        Message::NodePing { from: from.clone(), target: "b1".into(), term: term(3) },
        Message::MasterPing { from: from.clone(), master: "a1".into(), term: term(3) },
        Message::CallVote { from: from.clone(), term: term(4), candidate: Arc::new(node("b")) },
        Message::Leave { from: from.clone(), answered: 7 },
    ];
    samples.extend(tasks().into_iter().map(|task| Message::Submit {
        from: from.clone(),
        task: Box::new(task),
        timeout: span,
        master_timeout: span * 2,
    }));
    samples.extend(queries().map(|query| Message::Read { from: from.clone(), query, master_timeout: span }));
    samples.extend([
        Message::PendingTasks { from: from.clone() },
        Message::Relay { from: from.clone(), question: Box::new(Message::PendingTasks { from: from.clone() }) },
        Message::Succession { from: from.clone(), to: Some("b".into()), term: Some(term(3)) },
        Message::Succession { from: from.clone(), to: None, term: None },
        Message::Pong { from: from.clone(), sight: Box::new(full_sight()), mentioned: vec!["10.0.0.3:9300".into()] },
        Message::Pong { from: newcomer(), sight: Box::new(bare_sight()), mentioned: Vec::new() },
        Message::Joining(JoinAnswer::Noted),
        Message::Joining(JoinAnswer::Leads),
        Message::Joining(JoinAnswer::VoteAgain(term(4))),
        Message::Joining(JoinAnswer::NotMaster),
        Message::Joining(JoinAnswer::Rejected("found existing node with the same id".into())),
        Message::Fetched { from: from.clone(), state: Some(Arc::new(state())) },
        Message::Fetched { from, state: None },
        Message::Report(Box::new(report())),
        Message::Report(Box::new(Report {
            vote: None,
            follows: None,
            needs_full: true,
            storing: Some(id(3, 18)),
            ..report()
        })),
        Message::MasterPong(MasterPong { leads: true, is_member: false, term: term(3) }),
        Message::Gone,
    ]);
    samples.extend(answers().into_iter().map(|answer| Message::Answered(Box::new(answer))));
    let rejections = [
        Rejection::OtherCluster(sender()),
        Rejection::DuplicateId(Arc::new(node("b"))),
        Rejection::Itself,
        Rejection::Because("not a request".into()),
    ];
    samples.extend(rejections.map(Message::Rejected));
    samples
}

fn publish(committed: StateId, body: Body) -> Message {
    Message::Publish { from: sender(), term: term(3), committed, body }
}

/// A member of a formed cluster.
pub(crate) fn sender() -> Arc<Sender> {
    Arc::new(Sender { cluster_uuid: Some(uuid(7)), ..(*newcomer()).clone() })
}

/// A state with one index.
pub(crate) fn state_with_index(metadata: Value) -> ClusterState {
    let mut state = ClusterState::initial("prod".into());
    state.metadata.indices.insert("logs".into(), Arc::new(metadata));
    state
}

fn newcomer() -> Arc<Sender> {
    Arc::new(Sender { cluster_name: "prod".into(), cluster_uuid: None, node: Arc::new(node("a")) })
}

fn node(id: &str) -> Node {
    Node {
        id: id.into(),
        ephemeral_id: format!("{id}1").into(),
        name: format!("node-{id}").into(),
        address: format!("host-{id}:9300").into(),
        roles: Roles { master: true, data: id == "a", ingest: false },
        attributes: Arc::new([("rack".to_string(), "r1".to_string())].into()),
        version: "6.8.23".into(),
    }
}

fn term(number: u64) -> Term {
    Term::new(number).expect("at most 2^53")
}

fn version(number: u64) -> Version {
    Version::new(number).expect("at most 2^53")
}

fn uuid(bits: u128) -> Uuid {
    Uuid::from_u128(bits << 100 | bits)
}

fn id(of_term: u64, of_version: u64) -> StateId {
    StateId { term: term(of_term), version: version(of_version), uuid: uuid(of_version.into()) }
}

fn bare_sight() -> PeerStatus {
    PeerStatus {
        node: Arc::new(node("a")),
        master: None,
        term: Term::ZERO,
        accepted: StateId::NONE,
        masterless: true,
        sees_quorum: false,
        stands: None,
        unwell: false,
        hangs: false,
        leaves: false,
        left_out_by: Default::default(),
        has_recovered_state: false,
        change: 0,
    }
}

fn full_sight() -> PeerStatus {
    PeerStatus {
        master: Some((Arc::new(node("b")), Duration::from_micros(250_001))),
        term: term(3),
        accepted: id(3, 17),
        masterless: false,
        sees_quorum: true,
        stands: Some(Term::MAX),
        unwell: true,
        hangs: true,
        leaves: true,
        left_out_by: ["10.0.0.4:9300".into()].into(),
        has_recovered_state: true,
        ..bare_sight()
    }
}

fn vote() -> Join {
    let members = ["host-a:9300", "host-b"].map(Arc::from).into();
    let aliases = ["10.0.0.2:9300", "[fd00::2]:9300"].map(|address| (address.into(), "host-b".into())).into();
    Join {
        to: "node-b".into(),
        term: term(4),
        vote: true,
        to_master: false,
        accepted: id(3, 17),
        bootstrap: Some(BootstrapSet { members, aliases, all: false, besides: ["10.0.0.4:9300".into()].into() }),
        has_recovered_state: false,
        round_trip: Duration::ZERO,
    }
}

fn report() -> Report {
    Report {
        ephemeral_id: "b1".into(),
        term: term(3),
        vote: Some("a".into()),
        follows: Some("a".into()),
        accepted: id(3, 17),
        committed: id(3, 16),
        needs_full: false,
        storing: None,
    }
}

/// Something in every part.
fn state() -> ClusterState {
    let StateId { term, version, uuid } = id(3, 17);
    let settings = json!({"settings": {"index": {"number_of_shards": "5", "boost": 0.1}}});
    let mut state = ClusterState { term, version, uuid, ..state_with_index(settings) };
    state.cluster_uuid = Some(self::uuid(7));
    state.nodes = ["a", "b"].into_iter().map(|id| Arc::new(node(id))).collect();
    state.nodes.master = Some("a".into());
    state.metadata.persistent.insert("discovery.zen.minimum_master_nodes".into(), "2".into());
    state.metadata.transient.insert("discovery.zen.commit_timeout".into(), "10s".into());
    let own = ["a", "b", "c"].map(NodeId::from).into_iter().collect();
    state.metadata.voting = VotingSets { committed: ["a"].map(NodeId::from).into_iter().collect(), own };
    state.metadata.keys.insert("colour".into(), key_value());
    state.metadata.keys.insert("bytes".into(), KeyValue { value: vec![0u8, 255].into(), ..leased() });
    state.metadata.key_bytes = 17;
    state.metadata.leases.insert("leader".into(), lease());
    state.metadata.last_token = token(12);
    state
        .metadata
        .requests
        .remember(request(), Remembered::new(id(3, 16), RequestOutcome::Granted { token: token(12) }));
    state.metadata.forwards.meet(&"a1".into(), version);
    state.metadata.templates.insert("all".into(), Arc::new(json!({"index_patterns": ["*"]})));
    state.blocks.add(Block::NO_MASTER_WRITES);
    state.routing.insert("logs".into(), Arc::new(json!({"shards": {"0": []}})));
    state
}

fn key_value() -> KeyValue {
    KeyValue::new("blue", (term(2), version(9)))
}

/// A change of every part.
fn diff() -> Diff {
    let from = state();
    let mut to = ClusterState { version: version(18), uuid: uuid(18), cluster_uuid: None, ..from.clone() };
    to.cluster_name = "production".into();
    to.nodes.remove(&"b".into());
    to.nodes.insert(Arc::new(node("c")));
    to.nodes.master = None;
    to.metadata.persistent.remove("discovery.zen.minimum_master_nodes");
    to.metadata.transient.insert("discovery.zen.commit_timeout".into(), "20s".into());
    to.metadata.voting.committed = to.metadata.voting.own.clone();
    to.metadata.keys.insert("shape".into(), key_value());
    to.metadata.key_bytes = 26;
    to.metadata.leases.remove("leader");
    to.metadata.last_token = token(13);
    let outcome = RequestOutcome::Written { part: 1, deleted: 2 };
    to.metadata.requests.remember(
        RequestId { sequence: 8, ..request() },
        Remembered { digest: Some(0xcafe), ..Remembered::new(id(3, 18), outcome) },
    );
    to.metadata.requests.forgotten = 1;
    to.metadata.forwards.remember(&forward(), Remembered::new(id(3, 18), RequestOutcome::Applied));
    to.metadata.forwards.meet(&"b1".into(), version(18));
    to.metadata.indices.remove("logs");
    to.metadata.templates.insert("some".into(), Arc::new(json!({})));
    to.blocks.remove(2);
    to.routing.remove("logs");
    let passed = vec![Arc::new(Diff::between(&from, &from))];
    Diff { passed, ..Diff::between(&from, &to) }
}

fn leased() -> KeyValue {
    let changed = Revision { term: term(2), version: version(9), part: 1 };
    KeyValue { value: "blue".into(), changed, lease: Some(holding()) }
}

fn token(number: u64) -> Token {
    Token::new(number).expect("it is below 2^53")
}

fn holding() -> Holding {
    Holding { name: "leader".into(), token: token(12) }
}

fn lease() -> Lease {
    let granted = (term(3), version(16)).into();
    Lease { holder: "host-7".into(), token: token(12), ttl: Duration::from_secs(10), granted }
}

fn forward() -> Forward {
    Forward { slot: Slot { by: "a1".into(), number: 3 }, sequence: 41, since: version(15) }
}

fn request() -> RequestId {
    RequestId { client: uuid(9), sequence: 7 }
}

fn queries() -> [Query; 5] {
    [
        Query::Newest,
        Query::Key { key: "colour".into() },
        Query::Range { prefix: "co".into(), after: Some("cold".into()), limit: 100 },
        Query::Lease { name: "leader".into() },
        Query::KeepAlive(holding()),
    ]
}

fn tasks() -> Vec<Task> {
    let changed = Condition::Changed { key: "colour".into(), by: (term(2), version(9)).into() };
    let txn = Txn {
        conditions: vec![
            changed,
            Condition::Absent { key: "shape".into() },
            Condition::Present { key: "size".into() },
            Condition::Held(holding()),
        ],
        puts: vec![Put { key: "shape".into(), value: vec![0u8].into(), lease: Some(holding()) }],
        deletes: vec!["size".into()],
    };
    let grant = Task::GrantLease { name: "leader".into(), holder: "host-7".into(), ttl: Duration::from_secs(10) };
    vec![
        Task::Join { node: Arc::new(node("c")) },
        Task::Remove {
            id: "c".into(),
            ephemeral_id: "c1".into(),
            reason: "failed to ping".into(),
            left: false,
            answered: 0,
        },
        Task::PutSettings {
            persistent: vec![("logger.zen".into(), Some("DEBUG".into())), ("logger.*".into(), None)],
            transient: Vec::new(),
        },
        Task::Txn(Txn::put("colour", "blue")),
        Task::Txn(Txn::delete("colour")),
        Task::Txn(txn),
        grant.clone(),
        Task::ReleaseLease(holding()),
        Task::ExpireLeases { tokens: [token(12), token(14)].into() },
        Task::Once { request: request(), retry: true, since: None, digest: Some(0xcafe), task: Box::new(grant) },
        Task::Forwarded { name: forward(), retry: true, task: Box::new(Task::Txn(Txn::delete("colour"))) },
        Task::Recover,
        Task::PutIndex { name: "logs".into(), metadata: Some("{\"settings\":{}}".into()) },
        Task::PutIndex { name: "logs".into(), metadata: None },
        Task::RemoveVoter { id: "n3".into() },
    ]
}

fn answers() -> Vec<Answer> {
    let at = id(3, 17);
    let row = PendingTask {
        insert_order: 101,
        priority: Priority::Urgent,
        source: "zen-disco-node-join".into(),
        executing: false,
        time_in_queue_millis: 86,
    };
    let mut answers = vec![
        Answer::Done { at, acknowledged: true, outcome: RequestOutcome::Applied },
        Answer::Done { at, acknowledged: true, outcome: RequestOutcome::Written { part: 0, deleted: 1 } },
        Answer::Done { at, acknowledged: false, outcome: RequestOutcome::Granted { token: token(12) } },
        Answer::Newest { at },
        Answer::Value { at, value: Some(key_value()) },
        Answer::Value { at, value: None },
        Answer::Range { at, keys: vec![("colour".into(), key_value()), ("shape".into(), leased())], more: true },
        Answer::Lease { at, lease: Some(lease()) },
        Answer::Lease { at, lease: None },
        Answer::NotMaster,
        Answer::NoMaster,
        Answer::TimedOut { source: "put-key [colour]".into() },
        Answer::Unknown { reason: "the master was asked and did not answer".into() },
        Answer::Pending(vec![row]),
        Answer::Left,
        Answer::HandedOver { to: "b".into() },
    ];
    answers.extend(refusals().map(Answer::Refused));
    answers
}

fn refusals() -> [Refusal; 9] {
    let by = (term(2), version(9)).into();
    [
        Refusal::Invalid("no settings to update".into()),
        Refusal::Conflict { condition: Condition::Changed { key: "colour".into(), by }, found: Some(by) },
        Refusal::Held { holding: holding(), holder: "host-7".into() },
        Refusal::NotHeld(holding()),
        Refusal::TooLarge("there would be 100001 keys, allowed are 100000".into()),
        Refusal::Forgotten(request()),
        Refusal::ForgottenForward(forward()),
        Refusal::Blocked {
            why: "blocked by: [FORBIDDEN/6/cluster read-only (api)];".into(),
            status: 403,
            retryable: false,
        },
        Refusal::Overloaded("10000 tasks are queued already".into()),
    ]
}
