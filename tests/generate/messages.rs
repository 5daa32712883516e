//! Random messages of every kind, the same for the same stream of numbers.

use crate::states::{change, random_id, random_name, random_node, random_state};
use crate::tasks::{random_answer, random_query, random_task};
use std::sync::Arc;
use std::time::Duration;
use zazen::cluster::{Diff, Node, StateId, Term, Uuid, Version};
use zazen::protocol::Rng;
use zazen::zen::message::{Body, Join, JoinAnswer, MasterPong, PeerStatus, Report, Sender};
use zazen::zen::{BootstrapSet, Message, Rejection};

/// Enough to find something in every part of a state now and then.
const STATE_CHANGES_MAX: u64 = 30;

/// A message of a random kind.
pub(crate) fn random_message(rng: &mut Rng) -> Message {
    let kind = *rng.pick(&Message::KINDS).expect("there are kinds");
    random_message_of(kind, rng)
}

/// A message of this kind.
pub(crate) fn random_message_of(kind: &str, rng: &mut Rng) -> Message {
    let from = Arc::new(Sender {
        cluster_name: random_name(rng).as_str().into(),
        cluster_uuid: maybe(rng, random_uuid),
        node: random_node(rng),
    });
    let term = random_term(rng);
    match kind {
        "ping" => Message::Ping { from, sight: random_sight(rng) },
        "notice" => Message::Notice { from, sight: random_sight(rng) },
        "join" => Message::Join { from, join: random_join(rng) },
        "fetch" => Message::Fetch { from },
        "publish" => Message::Publish { from, term, committed: random_state_id(rng), body: random_body(rng) },
        "commit" => Message::Commit { from, id: random_state_id(rng) },
        "node_ping" => Message::NodePing { from, target: random_text(rng).into(), term },
        "master_ping" => Message::MasterPing { from, master: random_text(rng).into(), term },
        "call_vote" => Message::CallVote { from, term, candidate: random_node(rng) },
        "leave" => Message::Leave { from, answered: rng.below(1 << 53) },
        "submit" => Message::Submit {
            from,
            task: Box::new(random_task(rng)),
            timeout: random_span(rng),
            master_timeout: random_span(rng),
        },
        "read" => Message::Read { from, query: random_query(rng), master_timeout: random_span(rng) },
        "pending_tasks" => Message::PendingTasks { from },
        "relay" => Message::Relay { from: from.clone(), question: Box::new(Message::PendingTasks { from }) },
        "succession" => {
            let to = maybe(rng, |rng| random_text(rng).as_str().into());
            Message::Succession { from, to, term: Some(term) }
        }
        "pong" => {
            let mentioned = (0..rng.below(4)).map(|_| random_node(rng).address.clone()).collect();
            Message::Pong { from, sight: random_sight(rng), mentioned }
        }
        "joining" => Message::Joining(random_join_answer(rng)),
        "fetched" => Message::Fetched { from, state: maybe(rng, |rng| Arc::new(random_state(rng, STATE_CHANGES_MAX))) },
        "report" => Message::Report(Box::new(random_report(rng))),
        "master_pong" => Message::MasterPong(MasterPong { leads: rng.percent(50), is_member: rng.percent(50), term }),
        "gone" => Message::Gone,
        "answered" => Message::Answered(Box::new(random_answer(rng))),
        "rejected" => Message::Rejected(random_rejection(from, rng)),
        other => panic!("no message of kind `{other}` is made here: add it"),
    }
}

fn random_rejection(from: Arc<Sender>, rng: &mut Rng) -> Rejection {
    match rng.below(4) {
        0 => Rejection::OtherCluster(from),
        1 => Rejection::DuplicateId(random_node(rng)),
        2 => Rejection::Itself,
        _ => Rejection::Because(random_text(rng).into()),
    }
}

/// Something or nothing.
pub(crate) fn maybe<T>(rng: &mut Rng, some: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    rng.percent(60).then(|| some(rng))
}

fn random_uuid(rng: &mut Rng) -> Uuid {
    Uuid::from_u128(rng.next_u128())
}

/// Small numbers mostly, and the greatest one.
fn random_number(rng: &mut Rng) -> u64 {
    match rng.below(10) {
        0 => 1 << 53,
        1 => rng.below(1 << 53),
        _ => rng.below(20),
    }
}

pub(crate) fn random_term(rng: &mut Rng) -> Term {
    Term::new(random_number(rng)).expect("at most 2^53")
}

pub(crate) fn random_version(rng: &mut Rng) -> Version {
    Version::new(random_number(rng)).expect("at most 2^53")
}

pub(crate) fn random_state_id(rng: &mut Rng) -> StateId {
    StateId { term: random_term(rng), version: random_version(rng), uuid: random_uuid(rng) }
}

fn random_span(rng: &mut Rng) -> Duration {
    Duration::from_micros(random_number(rng))
}

/// Texts with all that JSON must escape.
pub(crate) fn random_text(rng: &mut Rng) -> String {
    let signs = ["a", "b", "0", " ", "\"", "\\", "/", "\n", "\u{0}", "\u{7f}", "é", "漢", "😀", "{", "]", "\u{2028}"];
    (0..rng.below(8)).map(|_| *rng.pick(&signs).expect("there are signs")).collect()
}

fn random_body(rng: &mut Rng) -> Body {
    let from = random_state(rng, STATE_CHANGES_MAX);
    if rng.percent(50) {
        return Body::Full(Arc::new(from));
    }
    let mut to = from.clone();
    for _ in 0..rng.below(8) {
        change(&mut to, rng);
    }
    Body::Diff(Arc::new(Diff::between(&from, &to)))
}

fn random_sight(rng: &mut Rng) -> Box<PeerStatus> {
    Box::new(PeerStatus {
        node: random_node(rng),
        master: maybe(rng, |rng| -> (Arc<Node>, Duration) { (random_node(rng), random_span(rng)) }),
        term: random_term(rng),
        accepted: random_state_id(rng),
        masterless: rng.percent(50),
        sees_quorum: rng.percent(50),
        stands: maybe(rng, random_term),
        unwell: rng.percent(50),
        hangs: rng.percent(50),
        leaves: rng.percent(50),
        left_out_by: (0..rng.below(3)).map(|_| random_text(rng).as_str().into()).collect(),
        has_recovered_state: rng.percent(50),
        change: rng.below(1 << 53),
    })
}

fn random_join(rng: &mut Rng) -> Join {
    Join {
        to: random_id(rng),
        term: random_term(rng),
        vote: rng.percent(50),
        to_master: rng.percent(50),
        accepted: random_state_id(rng),
        bootstrap: maybe(rng, |rng| BootstrapSet {
            members: (0..rng.below(4)).map(|_| random_text(rng).into()).collect(),
            aliases: (0..rng.below(4)).map(|_| (random_text(rng).into(), random_text(rng).into())).collect(),
            all: rng.percent(50),
            besides: (0..rng.below(3)).map(|_| random_text(rng).into()).collect(),
        }),
        has_recovered_state: rng.percent(50),
        round_trip: random_span(rng),
    }
}

fn random_join_answer(rng: &mut Rng) -> JoinAnswer {
    match rng.below(5) {
        0 => JoinAnswer::Noted,
        1 => JoinAnswer::Leads,
        2 => JoinAnswer::VoteAgain(random_term(rng)),
        3 => JoinAnswer::NotMaster,
        _ => JoinAnswer::Rejected(random_text(rng)),
    }
}

fn random_report(rng: &mut Rng) -> Report {
    Report {
        ephemeral_id: random_text(rng).into(),
        term: random_term(rng),
        vote: maybe(rng, random_id),
        follows: maybe(rng, random_id),
        accepted: random_state_id(rng),
        committed: random_state_id(rng),
        needs_full: rng.percent(50),
        storing: maybe(rng, random_state_id),
    }
}
