//! What is waited for after a full restart, before users get the state back.

use super::{Changes, DefaultValue, Effect, Kind, Setting, Topic};
use crate::zen::{Tuning, parse_time};
use std::time::Duration;

/// A number of nodes, or none.
const NODES: Kind = Kind::Integer { min: 0, none: Some(-1) };

/// Takes a number of nodes over.
type Set = fn(&mut Tuning, &str) -> Option<()>;

const fn nodes(key: &'static str, set: Set, doc: &'static str) -> Setting {
    let (default, changes, effect) = (DefaultValue::Fixed("-1"), Changes::Static, Effect::Protocol(set));
    Setting { key, topic: Topic::Gateway, kind: NODES, default, original: None, changes, effect, doc }
}

/// The number in a text; none stands for the one below zero.
fn number(text: &str) -> Option<Option<u32>> {
    let number: i32 = text.parse().ok()?;
    Some(u32::try_from(number).ok())
}

/// What is waited for.
pub(super) const GATEWAY: [Setting; 7] = [
    nodes(
        "gateway.expected_nodes",
        |tuning, text| {
            tuning.gateway.expected_nodes = number(text)?;
            Some(())
        },
        "How many master-eligible and data nodes are expected after a full restart: with them users get the state back at \
         once, with fewer after `gateway.recover_after_time`.\n\
         Until then every request of users is refused, or waits, with `state not recovered / initialized`.\n\
         Nothing is lost without it: a master is elected only by a quorum that has the state on disk.\n\
         Set it where whoever reads the state would act on missing nodes.",
    ),
    nodes(
        "gateway.expected_master_nodes",
        |tuning, text| {
            tuning.gateway.expected_master_nodes = number(text)?;
            Some(())
        },
        "How many master-eligible nodes are expected after a full restart; see `gateway.expected_nodes`.\n\
         A quorum of them is there in any case, or nobody is elected.",
    ),
    nodes(
        "gateway.expected_data_nodes",
        |tuning, text| {
            tuning.gateway.expected_data_nodes = number(text)?;
            Some(())
        },
        "How many data nodes are expected after a full restart; see `gateway.expected_nodes`.\n\
         They have no vote, so a master may be elected long before they are there.",
    ),
    Setting {
        key: "gateway.recover_after_time",
        topic: Topic::Gateway,
        kind: Kind::Time { min: Duration::ZERO },
        default: DefaultValue::Unset { example: "gateway.recover_after_time: 5m" },
        original: Some("`0ms`, which stands for the same"),
        changes: Changes::Static,
        effect: Effect::Protocol(|tuning, text| {
            tuning.gateway.recover_after_time = Some(parse_time(text)?);
            Some(())
        }),
        doc: "How long the expected nodes are waited for after a full restart; five minutes, if any are expected and this is \
              not set.\n\
              The time begins when there are as many nodes as `gateway.recover_after_nodes` and its like ask for, and anew \
              with another master.\n\
              As in Elasticsearch, it passes in full where it is set and no nodes are expected.",
    },
    nodes(
        "gateway.recover_after_nodes",
        |tuning, text| {
            tuning.gateway.recover_after_nodes = number(text)?;
            Some(())
        },
        "Below how many master-eligible and data nodes users do not get the state back after a full restart, however long \
         that takes.\n\
         It counts once after a restart: nodes that go later take nothing away again.",
    ),
    Setting {
        default: DefaultValue::Fixed("0"),
        kind: Kind::Integer { min: 0, none: None },
        original: Some("`0`, which stands for `discovery.zen.minimum_master_nodes` if it is not set"),
        ..nodes(
            "gateway.recover_after_master_nodes",
            |tuning, text| {
                tuning.gateway.recover_after_master_nodes = number(text)?.filter(|nodes| *nodes > 0);
                Some(())
            },
            "Below how many master-eligible nodes users do not get the state back after a full restart; see \
             `gateway.recover_after_nodes`.\n\
             A quorum and `discovery.zen.minimum_master_nodes` are there in any case.",
        )
    },
    nodes(
        "gateway.recover_after_data_nodes",
        |tuning, text| {
            tuning.gateway.recover_after_data_nodes = number(text)?;
            Some(())
        },
        "Below how many data nodes users do not get the state back after a full restart; see \
         `gateway.recover_after_nodes`.\n\
         Data nodes have no vote, so without it a cluster may be there for its users before any of them is.",
    ),
];
