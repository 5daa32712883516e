//! The settings that the protocol runs by: how nodes ping, elect, join, watch each other and publish.

use super::{Changes, DefaultValue, Effect, Kind, Setting, Topic, put};
use crate::zen::{Tuning, parse_count, parse_time};

/// A number of which there must be at least one.
const COUNT: Kind = Kind::Integer { min: 1, none: None };

/// What the protocol runs by.
pub(super) const PROTOCOL: [Setting; 13] = [
    Setting {
        key: "discovery.zen.ping_timeout",
        topic: Topic::Pinging,
        kind: Kind::Time { min: Tuning::PING_TIMEOUT_MIN },
        default: DefaultValue::Fixed("1s"),
        original: Some("`3s`, at least `0ms`"),
        changes: Changes::Static,
        effect: Effect::Protocol(|tuning, text| {
            tuning.ping_timeout = parse_time(text)?;
            Some(())
        }),
        doc: "How long a ping round lasts at the most, and how long a single ping or join waits for its answer.\n\
              A round ends as soon as the answers suffice. Silent hosts are waited for 100 ms once a choice is possible, \
              and half a `ping_timeout` where a cluster is formed for the first time; so the whole time passes only where \
              nothing can be decided without them.\n\
              A vote waits 2 × `ping_timeout` for its candidate, a candidate at least 4 × `ping_timeout` for its \
              votes, and 4 × `ping_timeout` is part of the time within which a cluster recovers.\n\
              Raise it where round trips take longer than half of it: a ping goes over a new connection, which takes a \
              round trip of its own. A lower value makes elections faster among silent hosts, and repeats them in vain \
              where answers arrive too late.",
    },
    Setting {
        key: "discovery.zen.join_timeout",
        topic: Topic::Election,
        kind: Kind::Time { min: Tuning::JOIN_TIMEOUT_MIN },
        default: DefaultValue::Follows { key: "discovery.zen.ping_timeout", times: 20, by: 1 },
        original: Some("20 × `discovery.zen.ping_timeout` = `60s`, at least `0ms`"),
        changes: Changes::Static,
        effect: Effect::Protocol(|tuning, text| {
            tuning.join_timeout = parse_time(text)?;
            Some(())
        }),
        doc: "How long a node goes on asking a master to take it in while that master answers but does not publish a \
              state that holds the node.\n\
              It waits max(`join_timeout`, 2 × `ping_timeout`) in all, but never longer than 2 × `ping_timeout` \
              without an answer; then it looks for a master anew.\n\
              A higher value spares a busy master repeated joins; a lower one leaves sooner a master that cannot \
              commit.",
    },
    Setting {
        key: "discovery.zen.join_retry_attempts",
        topic: Topic::Election,
        kind: COUNT,
        default: DefaultValue::Fixed("3"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Protocol(|tuning, text| {
            tuning.join_retry_attempts = parse_count(text)?;
            Some(())
        }),
        doc: "How often a node tries to join a master that answers that it is none, before it looks for a master \
              anew.\n\
              A node gives up on such a master after (`join_retry_attempts` − 1) × `join_retry_delay` and as many \
              round trips as attempts.\n\
              More tries help when a master is just being elected; fewer return sooner to pinging.",
    },
    Setting {
        key: "discovery.zen.join_retry_delay",
        topic: Topic::Election,
        kind: Kind::Time { min: Tuning::JOIN_RETRY_DELAY_MIN },
        default: DefaultValue::Fixed("100ms"),
        original: Some("`100ms`, at least `0ms`"),
        changes: Changes::Static,
        effect: Effect::Protocol(|tuning, text| {
            tuning.join_retry_delay = parse_time(text)?;
            Some(())
        }),
        doc: "The pause between two tries of `join_retry_attempts`, after a join that failed, and before a request of \
              a client that met no master is sent again.\n\
              A lower value joins sooner after an election, at the price of more messages while there is no master.",
    },
    Setting {
        key: "discovery.zen.master_election.wait_for_joins_timeout",
        topic: Topic::Election,
        kind: Kind::Time { min: Tuning::WAIT_FOR_JOINS_TIMEOUT_MIN },
        default: DefaultValue::Follows { key: "discovery.zen.join_timeout", times: 1, by: 2 },
        original: Some("`discovery.zen.join_timeout` / 2 = `30s`, at least `0ms`"),
        changes: Changes::Static,
        effect: Effect::Protocol(|tuning, text| {
            tuning.wait_for_joins_timeout = parse_time(text)?;
            Some(())
        }),
        doc: "How long a candidate waits for the votes of a quorum: max(`wait_for_joins_timeout`, 4 × \
              `ping_timeout`).\n\
              It goes on pinging meanwhile, and yields at once to a master or to a better candidate, so a high value \
              costs nothing where the network works.\n\
              A low value lets the next election begin sooner when voters promised their votes elsewhere.",
    },
    Setting {
        key: "discovery.zen.master_election.ignore_non_master_pings",
        topic: Topic::Election,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("false"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Protocol(|tuning, text| put(&mut tuning.ignore_non_master_pings, text)),
        doc: "Whether answers of nodes that cannot be master (`node.master: false`) are left out when a node looks for \
              the master that others follow.\n\
              With `false`, such a node can lead a newcomer to the master; with `true`, only master-eligible nodes \
              are believed, which helps where data nodes are too busy to notice that their master is gone.\n\
              Votes are counted from master-eligible nodes only, either way.",
    },
    Setting {
        key: "discovery.zen.minimum_master_nodes",
        topic: Topic::Election,
        kind: Kind::Integer { min: 1, none: Some(-1) },
        default: DefaultValue::Fixed("-1"),
        original: Some("`-1`, which like every number below 1 lets a node elect itself alone"),
        changes: Changes::Dynamic,
        effect: Effect::Cluster,
        doc: "How many master-eligible nodes must take part in an election, acknowledge a publish before it is \
              committed, and stay in sight of a master, besides the quorum that is counted by itself: a majority of \
              the voting sets that the cluster state carries.\n\
              A number N asks for max(N, majority), so one that is too low splits nothing, and one above the majority \
              trades availability for more copies: with n master-eligible nodes the cluster survives the loss of \
              n − N of them.\n\
              It is not needed; an existing one may stay.\n\
              A number above that of the master-eligible nodes in the cluster is refused when it is set.",
    },
    Setting {
        key: "discovery.zen.fd.ping_interval",
        topic: Topic::FaultDetection,
        kind: Kind::Time { min: Tuning::FD_PING_INTERVAL_MIN },
        default: DefaultValue::Fixed("200ms"),
        original: Some("`1s`, at least `0ms`"),
        changes: Changes::Dynamic,
        effect: Effect::Cluster,
        doc: "The pause between two pings of a fault detector: the master pings every node, every node its master.\n\
              A node that its master pings does not ping it in turn, unless the next ping is late by an eighth.\n\
              A peer that falls silent is given up after 9/8 × `fd.ping_interval` + `fd.ping_retries` × \
              `fd.ping_timeout` at the latest, and a master after `fd.ping_interval` + 3/2 × `fd.ping_timeout` if \
              nobody of those who could elect another one hears it.\n\
              A lower value finds silent peers sooner, and costs the master (nodes − 1) / `fd.ping_interval` pings a \
              second.",
    },
    Setting {
        key: "discovery.zen.fd.ping_timeout",
        topic: Topic::FaultDetection,
        kind: Kind::Time { min: Tuning::FD_PING_TIMEOUT_MIN },
        default: DefaultValue::Fixed("250ms"),
        original: Some("`30s`, any time"),
        changes: Changes::Dynamic,
        effect: Effect::Cluster,
        doc: "How long a ping of a fault detector waits for its answer; `fd.ping_retries` such failures in a row make a \
              peer gone.\n\
              It concerns peers that are silent: frozen, overloaded or behind a network that swallows messages. A \
              process that died is noticed at once, because its connections close.\n\
              A lower value replaces a frozen master sooner, and a healthy one in vain if it stalls for longer than \
              that and all of its followers miss it, or its disk for longer than `fd.ping_retries` × \
              `fd.ping_timeout`.\n\
              A node whose own clockwork was late by more than half of it doubts itself for `fd.ping_timeout` before \
              it doubts others.",
    },
    Setting {
        key: "discovery.zen.fd.ping_retries",
        topic: Topic::FaultDetection,
        kind: COUNT,
        default: DefaultValue::Fixed("3"),
        original: Some("`3`, any number; below 1 means 1"),
        changes: Changes::Dynamic,
        effect: Effect::Cluster,
        doc: "How many pings of a fault detector must fail in a row before a peer counts as gone.\n\
              More of them ride out the loss of single messages: with a loss of p each way, a healthy peer is taken for \
              dead with a chance of about (2p) ^ `fd.ping_retries` at each ping.\n\
              Each one adds `fd.ping_timeout` to the time until a silent peer is given up. A master that a quorum does \
              not hear is not waited for so often.",
    },
    Setting {
        key: "discovery.zen.commit_timeout",
        topic: Topic::Publishing,
        kind: Kind::Time { min: Tuning::COMMIT_TIMEOUT_MIN },
        default: DefaultValue::Fixed("5s"),
        original: Some("that of `discovery.zen.publish_timeout` = `30s`, any time"),
        changes: Changes::Dynamic,
        effect: Effect::Cluster,
        doc: "How long a publish may lack acknowledgements of a quorum before the master steps down; the changes in it \
              end as unknown then, for they may yet be committed.\n\
              A publish waits for two beats of `discovery.zen.fd.ping_interval` in any case: an acknowledgement that was \
              lost comes with the next one.\n\
              It also bounds how long a node that says good-bye waits to be let go.\n\
              Less than 500 ms is refused: with less than a slow disk takes for a write, every mastership ends as it begins, \
              and no change comes through that could set it right.\n\
              Raise it where disks or links need seconds for a full cluster state; a lower value ends the mastership of a \
              master sooner that hears its nodes but cannot commit, and is part of the time within which a cluster \
              recovers.",
    },
    Setting {
        key: "discovery.zen.publish_diff.enable",
        topic: Topic::Publishing,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("true"),
        original: None,
        changes: Changes::Dynamic,
        effect: Effect::Cluster,
        doc: "Whether a change of the cluster state is sent as a difference to nodes that hold the state before it.\n\
              Nodes that do not hold it are sent the full state in any case.\n\
              With `false` every publish carries the full state: the traffic of one change grows from the size of the \
              change to the size of the state, times the nodes.",
    },
    Setting {
        key: "discovery.zen.no_master_block",
        topic: Topic::Publishing,
        kind: Kind::Enum { what: "master block", words: &["write", "all"] },
        default: DefaultValue::Fixed("write"),
        original: None,
        changes: Changes::Dynamic,
        effect: Effect::Cluster,
        doc: "What a node without a master refuses.\n\
              With `write` it still answers reads from the last state that it applied, which may be out of date; with \
              `all` it refuses reads as well.\n\
              A change is heeded when a node loses its master the next time; a block that is already there stays.",
    },
];
