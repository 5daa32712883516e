//! Where a node looks for the others.

use super::{Changes, DefaultValue, Effect, Kind, Setting, Topic};
use crate::settings::{DiscoveryKind, EXPERIMENTS};
use crate::zen::{parse_count, parse_time};
use std::time::Duration;

/// The least time for looking names up: in less, none would ever be found.
const RESOLVE_TIMEOUT_MIN: Duration = Duration::from_millis(100);

/// The words of `discovery.type`.
const KINDS: [&str; 2 + EXPERIMENTS.len()] = {
    let mut words = ["zen"; 2 + EXPERIMENTS.len()];
    words[1] = "single-node";
    let mut at = 0;
    while at < EXPERIMENTS.len() {
        words[2 + at] = EXPERIMENTS[at];
        at += 1;
    }
    words
};

/// Of seed hosts and the first master.
pub(super) const HOSTS: [Setting; 7] = [
    Setting {
        key: "discovery.type",
        topic: Topic::Hosts,
        kind: Kind::Enum { what: "discovery type", words: &KINDS },
        default: DefaultValue::Fixed("zen"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.discovery.kind = match text {
                "zen" => DiscoveryKind::Zen,
                "single-node" => DiscoveryKind::SingleNode,
                name => DiscoveryKind::Lab(EXPERIMENTS.iter().find(|known| **known == name)?),
            };
            Some(())
        }),
        doc: "Whether nodes look for each other.\n\
              With `single-node` the node is a cluster by itself: it looks for nobody, lets nobody in and leads at once, \
              which suits tests; seed hosts and `discovery.zen.minimum_master_nodes` have no effect then, and \
              `node.master` must be `true`.\n\
              All others are experiments of the lab: the seed hosts and the node itself elect by that algorithm, show at \
              `/_cluster/state` and `/_cat/master` whom, and do nothing else; no safety is promised.",
    },
    Setting {
        key: "discovery.zen.ping.unicast.hosts",
        topic: Topic::Hosts,
        kind: Kind::List,
        default: DefaultValue::Unset {
            example: "discovery.zen.ping.unicast.hosts: [\"host1\", \"host2:9301\", \"[::1]:9300\"]",
        },
        original: None,
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| node.discovery.hosts = Some(elements)),
        doc: "The seed hosts, which a node pings to find its cluster: `host`, `host:port` or `host:9300-9304`; a name may \
              stand for many addresses and is looked up anew in every round, and `_zen._tcp.example.com` for the hosts and \
              ports of its SRV records.\n\
              One that answers is enough, for nodes tell each other of the rest; give all master-eligible nodes, so that \
              any of them may be down.\n\
              Without it the first five transport ports on loopback are pinged; an empty list pings nobody.\n\
              Before a cluster is formed for the first time, a majority of these hosts and the node itself must vote, \
              unless `cluster.initial_master_nodes` says otherwise.",
    },
    Setting {
        key: "discovery.zen.ping.unicast.hosts.resolve_timeout",
        topic: Topic::Hosts,
        kind: Kind::Time { min: RESOLVE_TIMEOUT_MIN },
        default: DefaultValue::Fixed("5s"),
        original: Some("`5s`, at least `0ms`"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.discovery.resolve_timeout = parse_time(text)?;
            Some(())
        }),
        doc: "How long the names of seed hosts are looked up in a round, all of them together.\n\
              A name that is not found in time is left out of the round and named in a warning; raise it where name \
              servers are slow.",
    },
    Setting {
        key: "discovery.zen.ping.unicast.concurrent_connects",
        topic: Topic::Hosts,
        kind: Kind::Integer { min: 1, none: None },
        default: DefaultValue::Fixed("10"),
        original: Some("`10`, at least `0`, but with `0` it does not start"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.discovery.concurrent_connects = usize::try_from(parse_count(text)?).ok()?;
            Some(())
        }),
        doc: "How many names of seed hosts are looked up at a time.\n\
              More of them shorten a round with many names, of which some do not answer, at the price of a burst at the \
              name server.",
    },
    Setting {
        key: "discovery.zen.hosts_provider",
        topic: Topic::Hosts,
        kind: Kind::Words { what: "zen hosts provider", words: &["settings", "file"] },
        default: DefaultValue::Fixed(""),
        original: Some("plugins provide more"),
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| {
            node.discovery.hosts_file = elements.iter().any(|element| element == "file");
        }),
        doc: "Who names seed hosts besides `discovery.zen.ping.unicast.hosts`, which always counts.\n\
              `file` reads `unicast_hosts.txt` beside the configuration file, one host a line, and reads it again when \
              it changes, so that hosts can come and go without a restart.",
    },
    Setting {
        key: "cluster.initial_master_nodes",
        topic: Topic::Hosts,
        kind: Kind::List,
        default: DefaultValue::Unset { example: "cluster.initial_master_nodes: [n0, n1, n2]" },
        original: Some("it has none; Elasticsearch 7 has"),
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| {
            node.discovery.initial_master_nodes = (!elements.is_empty()).then_some(elements);
        }),
        doc: "The master-eligible nodes of a new cluster, by name or address: a majority of them must vote before a first \
              state is committed.\n\
              Give the same list to all of them, and none to nodes that join later; once the cluster is formed it has no \
              effect and can go.\n\
              Without it the seed hosts and the node itself are this list.",
    },
    Setting {
        key: "discovery.initial_state_timeout",
        topic: Topic::Hosts,
        kind: Kind::Time { min: Duration::ZERO },
        default: DefaultValue::Fixed("30s"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.discovery.initial_state_timeout = parse_time(text)?;
            Some(())
        }),
        doc: "After which time a node that starts warns that it has no master yet; `0` never warns.\n\
              Elasticsearch does not listen to users before that; here they are answered from the start, and requests \
              that need a master wait for one as long as they say themselves.\n\
              The node goes on looking for a master afterwards, however long it takes.",
    },
];
