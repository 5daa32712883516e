//! Settings of Zen and the cluster service that have nothing to act on here, and why.

use super::{Changes, DefaultValue, Effect, Kind, Setting, Topic};
use std::time::Duration;

/// Any time.
const TIME: Kind = Kind::Time { min: Duration::ZERO };

/// A static setting without a meaning here.
const fn unused(key: &'static str, topic: Topic, kind: Kind, default: &'static str, doc: &'static str) -> Setting {
    let (default, changes, effect) = (DefaultValue::Fixed(default), Changes::Static, Effect::None);
    Setting { key, topic, kind, default, original: None, changes, effect, doc }
}

/// A dynamic setting without a meaning here.
const fn unused_dynamic(
    key: &'static str,
    topic: Topic,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> Setting {
    Setting { changes: Changes::Dynamic, ..unused(key, topic, kind, default, doc) }
}

/// What is known and without a meaning.
pub(super) const SERVICE: [Setting; 11] = [
    unused(
        "discovery.zen.send_leave_request",
        Topic::FaultDetection,
        Kind::Boolean,
        "true",
        "Whether a node of Elasticsearch says good-bye when it stops, which only its tests switch off.\n\
         Here a node always does, for its cluster would need the fault detectors to find out otherwise.",
    ),
    unused(
        "discovery.zen.fd.connect_on_network_disconnect",
        Topic::FaultDetection,
        Kind::Boolean,
        "false",
        "Whether Elasticsearch tries to connect once more when a connection to a node is lost.\n\
         Here the peer is always probed at once, and only a refusal or a reset makes it gone.",
    ),
    unused(
        "discovery.zen.fd.register_connection_listener",
        Topic::FaultDetection,
        Kind::Boolean,
        "true",
        "Whether Elasticsearch heeds lost connections at all, which it advises never to switch off.\n\
         Here they are always heeded, for they tell of the death of a process within a millisecond.",
    ),
    unused(
        "discovery.zen.max_pings_from_another_master",
        Topic::FaultDetection,
        Kind::Integer { min: 1, none: None },
        "3",
        "How many pings of another master Elasticsearch waits for before one of the two steps down.\n\
         Here the first one is enough: there is one master in a term, and the one of the lower term steps down.",
    ),
    unused_dynamic(
        "discovery.zen.publish_timeout",
        Topic::Publishing,
        TIME,
        "30s",
        "How long a master of Elasticsearch waits for all nodes to take over a state, and, unless it is set apart, how \
         long for a quorum.\n\
         Here it waits for a quorum only, for `discovery.zen.commit_timeout`, which does not follow this setting; nodes \
         that lag are sent what they lack by the fault detectors.",
    ),
    unused(
        "discovery.zen.publish.max_pending_cluster_states",
        Topic::Publishing,
        Kind::Integer { min: 1, none: None },
        "25",
        "How many published states a node of Elasticsearch holds in memory until they are committed.\n\
         Here a node holds one accepted state, on disk, for a newer one takes its place.",
    ),
    unused_dynamic(
        "cluster.service.slow_task_logging_threshold",
        Topic::Service,
        TIME,
        "30s",
        "From which time on Elasticsearch warns of a task of its master or of a state that takes long to apply.\n\
         Here a task is a computation on data in memory, and the disk and the network it waits for are bounded by \
         `discovery.zen.commit_timeout`.",
    ),
    unused(
        "cluster.nodes.reconnect_interval",
        Topic::Service,
        TIME,
        "10s",
        "How often Elasticsearch checks that it is connected to every node of the cluster.\n\
         Here connections are opened by the requests that need them, and each node holds one open to its master.",
    ),
    unused(
        "cluster.indices.tombstones.size",
        Topic::Service,
        Kind::Integer { min: i32::MIN, none: None },
        "500",
        "How many deleted indices Elasticsearch remembers, so that nodes that were away delete them as well.\n\
         Here no node holds files of indices that it could bring back.",
    ),
    unused_dynamic(
        "cluster.blocks.read_only",
        Topic::Service,
        Kind::Boolean,
        "false",
        "Whether the cluster refuses all writes.\n\
         As in Elasticsearch it is heeded where it is set through the API, as a part of the cluster state; in a file it \
         has no effect.",
    ),
    unused_dynamic(
        "cluster.blocks.read_only_allow_delete",
        Topic::Service,
        Kind::Boolean,
        "false",
        "Whether the cluster refuses all writes but deletions.\n\
         As in Elasticsearch it is heeded where it is set through the API, as a part of the cluster state; in a file it \
         has no effect.",
    ),
];
