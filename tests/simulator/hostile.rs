//! What anybody on the network can say to a running node: it may mislead the node, but never end it.
//!
//! Messages carry no proof of who sent them, so liars can break what nodes agree on. Here only the process counts: no
//! message that decodes breaks an assertion of the core, in any mode, nor makes it want things without end.

mod cunning;
mod exposed;
mod hand;

use crate::parallel;
use exposed::{Exposed, Liars, MODES};
use hand::Hand;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use zazen::cluster::{Address, ClusterState, Node, NodeId, Roles, StateId, Term};
use zazen::protocol::{Input, Resolution, Rng, Ticket};
use zazen::service::{Query, Question, Task, Txn};
use zazen::sim::{self, Boot, Fault, Unwatched, World};
use zazen::zen::message::{Body, Join, JoinAnswer, PeerStatus, Sender};
use zazen::zen::{Bootstrap, Config, Message, Mode, Rejection, Tuning, Zen};

type Exposure = World<Exposed, Unwatched>;

/// How many clusters are lied to, unless `ZAZEN_SEEDS` names a range, as in `17..18`.
const SEEDS: Range<u64> = 0..70;

#[test]
fn no_message_ends_a_node_in_any_mode() {
    let mut told: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let seeds: Vec<u64> = seeds().collect();
    let played = parallel::map(&seeds, |seed| {
        let liars = run(*seed);
        let liars = liars.borrow();
        assert!(
            liars.failures.is_empty(),
            "liars ended a node: let the core refuse what it was given, and keep it as a test of its own; \
             ZAZEN_SEEDS={seed}..{} replays it\n{}",
            seed + 1,
            liars.failures.join("\n")
        );
        liars.told.clone()
    });
    for (key, count) in played.into_iter().flatten() {
        *told.entry(key).or_default() += count;
    }
    let pairs = MODES.iter().flat_map(|mode| Message::KINDS.map(|kind| (*mode, kind)));
    let untold: Vec<String> =
        pairs.filter(|pair| !told.contains_key(pair)).map(|(mode, kind)| format!("{kind} while {mode}")).collect();
    assert!(
        env::var_os("ZAZEN_SEEDS").is_some() || untold.is_empty(),
        "nobody was told {}: add seeds",
        untold.join(", ")
    );
}

fn seeds() -> Range<u64> {
    let range = env::var("ZAZEN_SEEDS").ok();
    let range = range.as_deref().and_then(|range| range.split_once(".."));
    range.and_then(|(first, end)| Some(first.parse().ok()?..end.parse().ok()?)).unwrap_or(SEEDS)
}

#[test]
fn a_node_that_cannot_be_master_is_not_made_to_stand_by_a_vote_of_its_master() {
    let mut data = Hand::new(Node { roles: Roles { master: false, ..Roles::ALL }, ..hand::node("b") });
    data.follow("a", 1);
    let join = Join { vote: true, ..hand::join("b", 2) };
    let replies = data.receive(Message::Join { from: hand::sender("a"), join });
    assert_eq!(replies, [Message::Joining(JoinAnswer::NotMaster)]);
}

#[test]
fn a_node_that_cannot_be_master_is_not_made_to_stand_by_what_others_say_in_its_name() {
    let mut data = Hand::new(Node { roles: Roles { master: false, ..Roles::ALL }, ..hand::node("b") });
    let twin = Arc::new(Node { id: "z".into(), ..hand::node("b") });
    let sight = Box::new(PeerStatus { sees_quorum: true, ..hand::sight(&twin) });
    data.handle(Input::Resolved(Resolution::of(vec![hand::node("a").address])));
    let (call, _) = data.sent.remove(0);
    let from = hand::sender("a");
    data.receive(Message::Notice { from: from.clone(), sight: sight.clone() });
    data.handle(Input::Replied { call, message: Message::Pong { from, sight, mentioned: Vec::new() } });
    assert!(matches!(data.zen.mode(), Mode::Finding), "it stands: {:?}", data.zen.mode());
}

#[test]
fn a_joiner_whose_address_another_process_answers_at_is_told_so_and_not_added() {
    let mut master = Hand::new(hand::node("a"));
    master.lead();
    let join = hand::join("a", 0);
    let join = Message::Join { from: hand::sender("b"), join };
    assert_eq!(master.receive(join.clone()), [Message::Joining(JoinAnswer::Noted)]);
    let sent = std::mem::take(&mut master.sent);
    assert!(matches!(sent.as_slice(), [(_, Message::Ping { .. })]), "one round trip is made: {sent:?}");
    master.handle(Input::Replied { call: sent[0].0, message: hand::pong(&hand::sender("c")) });
    for _ in 0..3 {
        let told = master.receive(join.clone());
        let [Message::Joining(JoinAnswer::Rejected(why))] = told.as_slice() else {
            panic!("it is not told: {told:?}");
        };
        assert!(why.contains("publish address"), "{why}");
        assert!(master.sent.is_empty(), "no round trip is made so soon");
    }
    assert_eq!(master.zen.applied().nodes.len(), 1, "nobody was added");
}

#[test]
fn a_master_remembers_a_bounded_number_of_joiners() {
    let mut master = Hand::new(hand::node("a"));
    master.lead();
    let join = hand::join("a", 0);
    for number in 0..3_000 {
        let from = hand::sender(&format!("joiner-{number}"));
        let answer = if number < 2_048 { JoinAnswer::Noted } else { JoinAnswer::NotMaster };
        assert_eq!(master.receive(Message::Join { from, join: join.clone() }), [Message::Joining(answer)]);
    }
}

#[test]
fn a_searching_node_pings_a_bounded_number_of_hosts_that_others_name() {
    let mut node = Hand::new(hand::node("a"));
    for number in 0..3_000 {
        let from = hand::sender(&format!("pinger-{number:04}"));
        let sight = Box::new(hand::sight(&from.node));
        if number % 2 == 0 {
            node.receive(Message::Ping { from, sight });
        } else {
            node.receive(Message::Notice { from, sight });
        }
    }
    assert_eq!(node.sent.len(), 2_048);
}

#[test]
fn a_master_lets_a_bounded_number_of_good_byes_wait() {
    let mut master = Hand::new(hand::node("a"));
    master.lead();
    master.add("b");
    master.add("c");
    // The state without it lacks acknowledgements, so no good-bye is answered at once.
    let leave = Message::Leave { from: hand::sender("b"), answered: 0 };
    let replies: Vec<Message> = (0..20).flat_map(|_| master.receive(leave.clone())).collect();
    assert_eq!(replies, vec![Message::Rejected("said good-bye too often".into()); 4]);
}

#[test]
fn nothing_that_claims_to_come_from_the_node_itself_is_done() {
    let mut node = Hand::new(hand::node("b"));
    node.follow("a", 1);
    let twin = Node { id: "z".into(), ..hand::node("b") };
    for (liar, why) in [(hand::node("b"), Rejection::Itself), (twin, Rejection::DuplicateId(Arc::new(hand::node("b"))))]
    {
        let from = Arc::new(Sender { node: Arc::new(liar), ..(*hand::sender("b")).clone() });
        let state = hand::state(&from.node, &node.zen, 2);
        let publish =
            Message::Publish { from, term: state.term, committed: StateId::NONE, body: Body::Full(Arc::new(state)) };
        assert_eq!(node.receive(publish), [Message::Rejected(why)]);
        assert!(node.zen.ledger().accepted.nodes.master == Some("a".into()), "it still follows its master");
    }
}

#[test]
fn nobody_raises_a_term_so_far_that_none_is_left() {
    let mut node = Hand::new(hand::node("b"));
    node.follow("a", 1);
    let from = hand::sender("a");
    let far = Term::new(1 << 53).expect("the last one");
    let sight = |sight: PeerStatus| Box::new(sight);
    let state = ClusterState { term: far, ..hand::state(&from.node, &node.zen, 2) };
    let id = state.id();
    let messages = [
        Message::Ping { from: from.clone(), sight: sight(PeerStatus { term: far, ..hand::sight(&from.node) }) },
        Message::Notice {
            from: from.clone(),
            sight: sight(PeerStatus { stands: Some(far), ..hand::sight(&from.node) }),
        },
        Message::Join { from: from.clone(), join: Join { vote: true, term: far, ..hand::join("b", 0) } },
        Message::CallVote { from: from.clone(), term: far, candidate: from.node.clone() },
        Message::Commit { from: from.clone(), id },
        Message::Publish { from, term: far, committed: StateId::NONE, body: Body::Full(Arc::new(state)) },
    ];
    for message in messages {
        let told = node.receive(message.clone());
        let [Message::Rejected(why)] = told.as_slice() else {
            panic!("{message} is not refused: {told:?}");
        };
        assert!(why.to_string().contains("a term in it is more than"), "{why}");
        assert_eq!(node.zen.ledger().promise.term, hand::term(1), "{message}");
    }
    let near = Term::new((1 << 32) + 1).expect("far from the last one");
    let vote = Message::CallVote { from: hand::sender("a"), term: near, candidate: hand::sender("a").node.clone() };
    assert!(!matches!(node.receive(vote).as_slice(), [Message::Rejected(_)]), "what elections may come to is heard");
}

#[test]
fn a_client_may_be_as_patient_as_it_likes() {
    let mut node = Hand::new(hand::node("b"));
    node.follow("a", 1);
    let id = node.zen.ledger().accepted.id();
    node.receive(Message::Commit { from: hand::sender("a"), id });
    let task = Task::Txn(Txn::delete("k"));
    let question = Question::Submit { task, timeout: Duration::MAX, master_timeout: Duration::MAX };
    node.handle(Input::Asked { ticket: Ticket(1), question });
    assert!(matches!(node.sent.last(), Some((_, Message::Submit { .. }))), "it is forwarded: {:?}", node.sent);
}

/// One cluster among liars: it forms, is lied to, and is hurt meanwhile.
fn run(seed: u64) -> Rc<RefCell<Liars>> {
    let mut rng = Rng::new(seed);
    let liars = Rc::new(RefCell::new(Liars::new(rng.fork())));
    let mut world = cluster(&mut rng, &liars);
    world.start_all();
    let peace = rng.below(2_000);
    run_for(&mut world, peace);
    {
        let mut liars = liars.borrow_mut();
        liars.percent = *rng.pick(&[10, 50, 90, 98]).expect("there are choices");
        liars.is_modest = rng.percent(80);
    }
    for _ in 0..rng.between(5, 40) {
        disturb(&mut world, &mut rng);
        run_for(&mut world, rng.below(150));
    }
    liars
}

fn run_for(world: &mut Exposure, millis: u64) {
    world.run_for(Duration::from_millis(millis)).expect("nobody looks on");
}

fn cluster(rng: &mut Rng, liars: &Rc<RefCell<Liars>>) -> Exposure {
    let nodes = rng.between(1, 5);
    let addresses: Vec<Address> = (0..nodes).map(|node| format!("host-{node}:9300").into()).collect();
    let hosts = addresses.iter().map(|address| Arc::from(address.as_str())).collect();
    let bootstrap = if rng.percent(70) { Bootstrap::Hosts(hosts) } else { Bootstrap::Found };
    let mut world = World::new(rng.next_u64(), Unwatched);
    for address in &addresses {
        let (bootstrap, liars) = (bootstrap.clone(), liars.clone());
        let is_eligible = *address == addresses[0] || rng.percent(75);
        let boot = move |boot: Boot<'_, Exposed>| {
            let config = Config {
                cluster_name: "prod".into(),
                node: node(&boot, is_eligible),
                bootstrap: bootstrap.clone(),
                tuning: Tuning::default(),
                rule: zazen::settings::rule,
            };
            Exposed::new(Zen::new(config, boot.disk, boot.rng), liars.clone())
        };
        world.add(address.clone(), addresses.clone(), boot);
    }
    world
}

fn node(boot: &Boot<'_, Exposed>, is_eligible: bool) -> Node {
    Node {
        id: NodeId::from(format!("n{}", boot.node)),
        ephemeral_id: format!("n{}-{}", boot.node, boot.boots).into(),
        name: format!("node-{}", boot.node).into(),
        address: boot.peer.clone(),
        roles: Roles { master: is_eligible, ..Roles::ALL },
        attributes: Arc::default(),
        version: "6.8.23".into(),
    }
}

/// Breaks something, mends something or asks something.
fn disturb(world: &mut Exposure, rng: &mut Rng) {
    let (one, other) = (rng.below(world.len() as u64) as usize, rng.below(world.len() as u64) as usize);
    let timeout = Duration::from_millis(rng.below(2_000));
    match rng.below(16) {
        0 => world.inject(Fault::Kill(one)),
        1 => world.inject(Fault::Pause(one)),
        2 if one != other => world.inject(Fault::Cut(one, other, sim::Mode::Hole)),
        3 => world.inject(Fault::Isolate(one, sim::Mode::Hole)),
        4..8 => world.inject(Fault::Heal),
        8..11 => {
            let task = Task::Txn(Txn::put("k", "v"));
            world.ask(one, Question::Submit { task, timeout, master_timeout: timeout });
        }
        11 => drop(world.ask(one, Question::Read { query: Query::Key { key: "k".into() }, master_timeout: timeout })),
        12 => drop(world.ask(one, Question::HandOver { to: None, master_timeout: Duration::from_secs(1) })),
        13 => drop(world.ask(one, Question::Leave)),
        _ => {}
    }
}
