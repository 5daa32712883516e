//! Random tasks, questions and answers, the same for the same stream of numbers.

use crate::messages::{maybe, random_state_id, random_term, random_text, random_version};
use crate::states::{
    random_blob, random_forward, random_holding, random_id, random_key_value, random_lease, random_node, random_request,
};
use std::time::Duration;
use zazen::cluster::{RequestOutcome, Revision, Token};
use zazen::protocol::Rng;
use zazen::service::{Answer, Condition, PendingTask, Priority, Put, Query, Refusal, SettingsPatch, Task, Txn};

fn random_patch(rng: &mut Rng) -> SettingsPatch {
    (0..rng.below(3)).map(|_| (random_text(rng).into(), maybe(rng, |rng| random_text(rng).into()))).collect()
}

pub(crate) fn random_task(rng: &mut Rng) -> Task {
    match rng.below(11) {
        0 => Task::Join { node: random_node(rng) },
        1 => Task::Remove {
            id: random_id(rng),
            ephemeral_id: random_text(rng).into(),
            reason: random_text(rng).into(),
            left: rng.percent(50),
            answered: rng.below(3),
        },
        2 => Task::PutSettings { persistent: random_patch(rng), transient: random_patch(rng) },
        3 => Task::Txn(random_txn(rng)),
        4 => Task::GrantLease {
            name: random_text(rng).into(),
            holder: random_text(rng).into(),
            ttl: Duration::from_millis(rng.below(1 << 30)),
        },
        5 => Task::ReleaseLease(random_holding(rng)),
        6 => Task::ExpireLeases { tokens: (0..rng.below(3)).filter_map(|_| Token::new(rng.below(1 << 53))).collect() },
        7 => Task::Once {
            request: random_request(rng),
            retry: rng.percent(50),
            since: rng.percent(50).then(|| random_version(rng)),
            digest: rng.percent(50).then(|| rng.below(1 << 32) as u32),
            task: Box::new(random_task(rng)),
        },
        8 => Task::Recover,
        9 => Task::Forwarded { name: random_forward(rng), retry: rng.percent(50), task: Box::new(random_task(rng)) },
        _ => Task::PutIndex { name: random_text(rng).into(), metadata: maybe(rng, |rng| random_text(rng).into()) },
    }
}

fn random_txn(rng: &mut Rng) -> Txn {
    let put = |rng: &mut Rng| Put {
        key: random_text(rng).into(),
        value: random_blob(rng),
        lease: maybe(rng, random_holding),
    };
    Txn {
        conditions: (0..rng.below(3)).map(|_| random_condition(rng)).collect(),
        puts: (0..rng.below(3)).map(|_| put(rng)).collect(),
        deletes: (0..rng.below(3)).map(|_| random_text(rng).into()).collect(),
    }
}

fn random_condition(rng: &mut Rng) -> Condition {
    let key = random_text(rng).into();
    match rng.below(4) {
        0 => Condition::Changed { key, by: random_revision(rng) },
        1 => Condition::Absent { key },
        2 => Condition::Present { key },
        _ => Condition::Held(random_holding(rng)),
    }
}

fn random_revision(rng: &mut Rng) -> Revision {
    Revision { term: random_term(rng), version: random_version(rng), part: rng.below(3) as u32 }
}

pub(crate) fn random_query(rng: &mut Rng) -> Query {
    let text = random_text(rng).into();
    match rng.below(5) {
        0 => Query::Newest,
        1 => Query::Key { key: text },
        2 => Query::Range {
            prefix: text,
            after: maybe(rng, |rng| random_text(rng).into()),
            limit: rng.below(1 << 30) as usize,
        },
        3 => Query::Lease { name: text },
        _ => Query::KeepAlive(random_holding(rng)),
    }
}

pub(crate) fn random_answer(rng: &mut Rng) -> Answer {
    let at = random_state_id(rng);
    match rng.below(13) {
        0 => Answer::Done { at, acknowledged: rng.percent(50), outcome: random_outcome(rng) },
        1 => Answer::Value { at, value: maybe(rng, random_key_value) },
        2 => Answer::Refused(random_refusal(rng)),
        3 => Answer::NotMaster,
        4 => Answer::NoMaster,
        5 => Answer::TimedOut { source: random_text(rng) },
        6 => Answer::Unknown { reason: random_text(rng) },
        7 => Answer::Pending((0..rng.below(3)).map(|_| random_pending(rng)).collect()),
        8 => Answer::Left,
        9 => Answer::Newest { at },
        10 => Answer::Lease { at, lease: maybe(rng, random_lease) },
        11 => {
            let keys = (0..rng.below(3)).map(|_| (random_text(rng).into(), random_key_value(rng))).collect();
            Answer::Range { at, keys, more: rng.percent(50) }
        }
        _ => Answer::HandedOver { to: random_id(rng) },
    }
}

fn random_outcome(rng: &mut Rng) -> RequestOutcome {
    match rng.below(4) {
        0 => RequestOutcome::Applied,
        3 => RequestOutcome::Refused(Box::new(random_refusal(rng))),
        1 => RequestOutcome::Written { part: rng.below(3) as u32, deleted: rng.below(3) as u32 },
        _ => RequestOutcome::Granted { token: Token::new(rng.below(1 << 53)).expect("it is below 2^53") },
    }
}

fn random_refusal(rng: &mut Rng) -> Refusal {
    let why = random_text(rng);
    match rng.below(9) {
        0 => Refusal::Invalid(why),
        1 => Refusal::Conflict { condition: random_condition(rng), found: maybe(rng, random_revision) },
        2 => Refusal::Held { holding: random_holding(rng), holder: why.into() },
        3 => Refusal::NotHeld(random_holding(rng)),
        4 => Refusal::TooLarge(why),
        5 => Refusal::Forgotten(random_request(rng)),
        6 => Refusal::ForgottenForward(random_forward(rng)),
        7 => Refusal::Blocked { why, status: 503, retryable: rng.percent(50) },
        _ => Refusal::Overloaded(why),
    }
}

fn random_pending(rng: &mut Rng) -> PendingTask {
    let priorities =
        [Priority::Immediate, Priority::Urgent, Priority::High, Priority::Normal, Priority::Low, Priority::Languid];
    PendingTask {
        insert_order: rng.next_u64(),
        priority: *rng.pick(&priorities).expect("there are priorities"),
        source: random_text(rng),
        executing: rng.percent(50),
        time_in_queue_millis: rng.next_u64(),
    }
}
