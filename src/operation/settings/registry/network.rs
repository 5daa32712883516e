//! Where a node listens, and under which address others are told of it.

use super::{Changes, DefaultValue, Effect, Kind, Setting, Topic, put};
use crate::settings::RestSettings;
use crate::settings::units::{parse_bytes, parse_memory, parse_ports};
use crate::zen::parse_time;
use std::time::Duration;

/// The loopback addresses.
const LOCAL: &str = "_local_";
/// A port as number, or none if it is `-1`.
fn published(text: &str) -> Option<u16> {
    text.parse().ok()
}

/// A number of connections, or none.
const CONNECTIONS: Kind = Kind::Integer { min: 1, none: Some(-1) };

/// The number in a text; none stands for the one below zero.
fn connections(text: &str) -> Option<Option<usize>> {
    let number: i32 = text.parse().ok()?;
    Some(usize::try_from(number).ok())
}

/// Of all that listens.
pub(super) const NETWORK: [Setting; 23] = [
    Setting {
        key: "network.host",
        topic: Topic::Network,
        kind: Kind::List,
        default: DefaultValue::Fixed(LOCAL),
        original: None,
        changes: Changes::Static,
        effect: Effect::Others,
        doc: "The addresses that the node listens on and is known by, for nodes and users alike: names, addresses, \
              `_local_` (loopback), `_site_` (private addresses), `_global_` (public ones), or an interface as in \
              `_eth0_`, each of these also as `_eth0:ipv4_` or `_eth0:ipv6_`.\n\
              What is more special wins: `transport.bind_host` over `transport.host` over `network.bind_host` over this.\n\
              Beyond loopback a node needs `zazen.security.*`, or it does not start.",
    },
    Setting {
        key: "network.bind_host",
        topic: Topic::Network,
        kind: Kind::List,
        default: DefaultValue::First { keys: &["network.host"], otherwise: LOCAL },
        original: None,
        changes: Changes::Static,
        effect: Effect::Others,
        doc: "The addresses that the node listens on, where they are others than it is known by.\n\
              `0.0.0.0` or `::` listens on all; then `network.publish_host` should say which one the others use.",
    },
    Setting {
        key: "network.publish_host",
        topic: Topic::Network,
        kind: Kind::List,
        default: DefaultValue::First { keys: &["network.host"], otherwise: "" },
        original: None,
        changes: Changes::Static,
        effect: Effect::Others,
        doc: "The address that other nodes and users are told, where it is not the one that the node listens on, as \
              behind a translation of addresses.\n\
              Of several the best one is published; without one, the best of those that were bound.",
    },
    Setting {
        key: "transport.host",
        topic: Topic::Transport,
        kind: Kind::List,
        default: DefaultValue::First { keys: &[], otherwise: "" },
        original: None,
        changes: Changes::Static,
        effect: Effect::Others,
        doc: "The addresses for other nodes, where they are not those of `network.host`.\n\
              It stands for both `transport.bind_host` and `transport.publish_host`.",
    },
    Setting {
        key: "transport.bind_host",
        topic: Topic::Transport,
        kind: Kind::List,
        default: DefaultValue::First {
            keys: &["transport.host", "network.bind_host", "network.host"],
            otherwise: LOCAL,
        },
        original: None,
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| node.transport.bind_hosts = elements),
        doc: "The addresses on which the node listens to other nodes.\n\
              A cluster of more than one machine needs one here that the others reach; keep users away from it, for \
              whoever speaks to it speaks as a node.",
    },
    Setting {
        key: "transport.publish_host",
        topic: Topic::Transport,
        kind: Kind::List,
        default: DefaultValue::First {
            keys: &["transport.host", "network.publish_host", "network.host"],
            otherwise: "",
        },
        original: None,
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| node.transport.publish_hosts = elements),
        doc: "The address under which other nodes are told of this one; they must all reach it.\n\
              Of several the best one is published; without one, the best of those that were bound.",
    },
    Setting {
        key: "transport.port",
        topic: Topic::Transport,
        kind: Kind::Ports,
        default: DefaultValue::First { keys: &["transport.tcp.port"], otherwise: "9300-9400" },
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.transport.ports = parse_ports(text)?;
            Some(())
        }),
        doc: "The port on which the node listens to other nodes: the first free one of a range, or any free one with `0`.\n\
              Seed hosts without a port are looked for at its first port, so one port for all hosts spares naming it.",
    },
    Setting {
        key: "transport.tcp.port",
        topic: Topic::Transport,
        kind: Kind::Ports,
        default: DefaultValue::Fixed("9300-9400"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Others,
        doc: "The older name of `transport.port`, which follows it.\n\
              Give one of the two; where both are given, `transport.port` holds.",
    },
    Setting {
        key: "transport.publish_port",
        topic: Topic::Transport,
        kind: Kind::Port,
        default: DefaultValue::Fixed("-1"),
        original: Some("`-1`; `0` and ports above `65535` are taken as well"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.transport.publish_port = published(text);
            Some(())
        }),
        doc: "The port that other nodes are told, where it is not the one that was bound, as behind a proxy or in a \
              container whose ports are mapped.\n\
              Nothing listens on it here: whatever forwards it must be set up by its own means.",
    },
    Setting {
        key: "http.enabled",
        topic: Topic::Http,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("true"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| put(&mut node.rest.enabled, text)),
        doc: "Whether the node listens to users at all.\n\
              With `false` it takes part in the cluster and answers nobody but nodes; ask another one for the state.",
    },
    Setting {
        key: "http.host",
        topic: Topic::Http,
        kind: Kind::List,
        default: DefaultValue::First { keys: &[], otherwise: "" },
        original: None,
        changes: Changes::Static,
        effect: Effect::Others,
        doc: "The addresses for users, where they are not those of `network.host`.\n\
              It stands for both `http.bind_host` and `http.publish_host`; `_local_` lets nodes in from elsewhere and \
              users from this machine only.",
    },
    Setting {
        key: "http.bind_host",
        topic: Topic::Http,
        kind: Kind::List,
        default: DefaultValue::First { keys: &["http.host", "network.bind_host", "network.host"], otherwise: LOCAL },
        original: None,
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| node.http.bind_hosts = elements),
        doc: "The addresses on which the node listens to users.\n\
              Without `zazen.security.users` whoever reaches one can change the cluster's settings.",
    },
    Setting {
        key: "http.publish_host",
        topic: Topic::Http,
        kind: Kind::List,
        default: DefaultValue::First { keys: &["http.host", "network.publish_host", "network.host"], otherwise: "" },
        original: None,
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| node.http.publish_hosts = elements),
        doc: "The address under which users are told of the node, where it is not one that it listens on: by `_nodes`, \
              `_cat/nodes` and the dashboard, to clients that sniff, and to `zazen status`, which asks each node there.\n\
              The node need not be able to reach it itself; `zazen doctor` tells if this host does not.\n\
              Of several the best one is published; without one, the best of those that were bound.",
    },
    Setting {
        key: "http.port",
        topic: Topic::Http,
        kind: Kind::Ports,
        default: DefaultValue::Fixed("9200-9300"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.http.ports = parse_ports(text)?;
            Some(())
        }),
        doc: "The port on which the node listens to users: the first free one of a range, or any free one with `0`.\n\
              Several nodes on one machine take one after the other; fix the port where scripts must know it.",
    },
    Setting {
        key: "http.publish_port",
        topic: Topic::Http,
        kind: Kind::Port,
        default: DefaultValue::Fixed("-1"),
        original: Some("`-1`; `0` and ports above `65535` are taken as well"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.http.publish_port = published(text);
            Some(())
        }),
        doc: "The port that clients that sniff are told, where it is not the one that was bound, as behind a proxy or in \
              a container whose ports are mapped.\n\
              Nothing listens on it here: whatever forwards it must be set up by its own means.",
    },
    Setting {
        key: "http.max_content_length",
        topic: Topic::Http,
        kind: Kind::Bytes { min: 0 },
        default: DefaultValue::Fixed("100mb"),
        original: Some("`100mb`; more than `2gb` means `100mb`"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.rest.max_content_length = parse_bytes(text)?;
            Some(())
        }),
        doc: "The longest body of a request; a longer one is refused with 413.\n\
              Each request is held in memory until it is answered, so this bounds what one user can make a node hold.",
    },
    Setting {
        key: "http.read_timeout",
        topic: Topic::Http,
        kind: Kind::Time { min: Duration::ZERO },
        default: DefaultValue::Fixed("30s"),
        original: Some("`0ms`, which stands for none"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            let time = parse_time(text)?;
            node.rest.read_timeout = if time.is_zero() { RestSettings::READ_TIMEOUT } else { time };
            Some(())
        }),
        doc: "How long the body of a request may take to arrive, from its head on; one that takes longer is answered with 408.\n\
              There is always a limit: `0ms` stands for `30s`.\n\
              Raise it where users send megabytes over slow lines; each of them holds memory until then.",
    },
    Setting {
        key: "zazen.http.write_timeout",
        topic: Topic::Http,
        kind: Kind::Time { min: Duration::from_secs(1) },
        default: DefaultValue::Fixed("30s"),
        original: Some("it has none"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.rest.write_timeout = parse_time(text)?;
            Some(())
        }),
        doc: "How long a user may leave an answer untaken: when it has taken less than 64 KB of it in this time, its connection \
              is closed.\n\
              Watchers that are told nothing are not meant, for there is nothing to take.",
    },
    Setting {
        key: "network.breaker.inflight_requests.limit",
        topic: Topic::Http,
        kind: Kind::Memory,
        default: DefaultValue::Fixed("25%"),
        original: Some("`100%` of the heap; dynamic"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.rest.memory = parse_memory(text)?;
            Some(())
        }),
        doc: "How much memory the requests and answers of users that are under way may take together, as a size or as a part of \
              what the process may have: the least limit of its control groups, else the memory of the machine.\n\
              A body counts several times, because it is read, understood and sent on: sixteen times if it is a tree as JSON \
              is, else four times.\n\
              What does not fit at the moment is answered with 429 and `Retry-After`, and what never fits with 413; an eighth \
              is kept for what is small.",
    },
    Setting {
        key: "zazen.http.max_connections",
        topic: Topic::Http,
        kind: CONNECTIONS,
        default: DefaultValue::Fixed("-1"),
        original: Some("it has none"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.rest.connections = connections(text)?;
            Some(())
        }),
        doc: "How many connections of users there are at a time; `-1` stands for `8192`, or half of the files and sockets that \
              the process may have open besides a reserve, if that is less.\n\
              When there are more, those give way that never sent a whole request, then those that wait for nothing; whoever \
              comes when all are being answered gets one answer and is asked to close.\n\
              An address that has more than half of them loses some to newcomers of others first, answered or not.\n\
              Requests that wait, as for changes, a health or a lease, have three of four of them at the most: one more is \
              answered with 429 and `Retry-After`.\n\
              A number that does not fit is lowered with a warning, for a node without descriptors cannot write its journal.",
    },
    Setting {
        key: "zazen.transport.max_connections",
        topic: Topic::Transport,
        kind: CONNECTIONS,
        default: DefaultValue::Fixed("-1"),
        original: Some("it has none"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.peer_connections = connections(text)?;
            Some(())
        }),
        doc: "How many connections of other nodes there are at a time; `-1` stands for `8192`, or a quarter of the files and \
              sockets that the process may have open besides a reserve, if that is less.\n\
              Each node makes a few to each other one, so a cluster of 100 takes some hundreds.\n\
              When there are more, those give way that never sent a whole message; a number that does not fit is lowered with a \
              warning.",
    },
    Setting {
        key: "http.detailed_errors.enabled",
        topic: Topic::Http,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("true"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| put(&mut node.rest.detailed_errors, text)),
        doc: "Whether an error tells its type, its reason and its causes.\n\
              With `false` users get one line, and asking for a stack trace by `error_trace` is refused.",
    },
    Setting {
        key: "transport.tcp.connect_timeout",
        topic: Topic::Transport,
        kind: Kind::Time { min: Duration::ZERO },
        default: DefaultValue::Fixed("30s"),
        original: None,
        changes: Changes::Static,
        effect: Effect::None,
        doc: "How long Elasticsearch waits for a connection to a node.\n\
              Here a connection is part of the request that needs it, and that has a time of its own: \
              `discovery.zen.ping_timeout` or `discovery.zen.fd.ping_timeout`.",
    },
];
