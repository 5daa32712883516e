//! Who a node is, what it does in its cluster, and where its files lie.

use super::{Changes, DefaultValue, Effect, Kind, Setting, Topic, put};

/// Of the node itself.
pub(super) const NODE: [Setting; 9] = [
    Setting {
        key: "cluster.name",
        topic: Topic::Node,
        kind: Kind::Name { without: Some(':') },
        default: DefaultValue::Fixed("elasticsearch"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.cluster_name = text.into();
            Some(())
        }),
        doc: "The name of the cluster that the node belongs to; nodes of clusters with other names are not talked to.\n\
              Give each cluster its own name where several share a network, so that a host that changed hands joins \
              nothing by accident.\n\
              Once a cluster is formed, its UUID tells it from others of the same name as well.",
    },
    Setting {
        key: "node.name",
        topic: Topic::Node,
        kind: Kind::Name { without: None },
        default: DefaultValue::Unset { example: "node.name: n0" },
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.node_name = Some(text.into());
            Some(())
        }),
        doc: "What people call the node: in every line of its log, in `_cat/nodes`, in `cluster.initial_master_nodes`.\n\
              Without one the node goes by the first seven characters of its id, which it draws once and keeps in its \
              data directory.",
    },
    Setting {
        key: "node.master",
        topic: Topic::Node,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("true"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| put(&mut node.roles.master, text)),
        doc: "Whether the node may become master, and with that whether it votes and counts in quorums.\n\
              Three such nodes survive the loss of one, five that of two; more make every commit wait for more disks.\n\
              With `false` the node follows whoever is elected, and its failure never costs a majority.",
    },
    Setting {
        key: "node.data",
        topic: Topic::Node,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("true"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| put(&mut node.roles.data, text)),
        doc: "Whether the node holds data, as the cluster state and `_cat/nodes` tell everybody.\n\
              A node with neither `node.master` nor `node.data` nor `node.ingest` only coordinates: it serves users and \
              follows the cluster state.",
    },
    Setting {
        key: "node.ingest",
        topic: Topic::Node,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("true"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| put(&mut node.roles.ingest, text)),
        doc: "Whether the node is one that runs ingest pipelines, as the cluster state and `_cat/nodes` tell everybody.\n\
              There are no pipelines here: the role is kept for those who look for it.",
    },
    Setting {
        key: "node.attr.*",
        topic: Topic::Node,
        kind: Kind::String,
        default: DefaultValue::Unset { example: "node.attr.rack: r1" },
        original: None,
        changes: Changes::Static,
        effect: Effect::Family(|node, name, text| {
            node.attributes.insert(name.into(), text.into());
            Some(())
        }),
        doc: "What the user wants to be known of the node, under any name: `node.attr.rack: r1` shows as `rack` in the \
              cluster state, in `_nodes` and in `_cat/nodeattrs`.\n\
              Nodes can be picked by it in requests, as in `_nodes/rack:r1`.\n\
              Names that begin with `zazen.` are the node's own: what is given for one is passed over with a warning.",
    },
    Setting {
        key: "path.home",
        topic: Topic::Paths,
        kind: Kind::String,
        default: DefaultValue::Fixed("."),
        original: Some("where it is installed"),
        changes: Changes::Static,
        effect: Effect::Others,
        doc: "The directory that a relative `path.data` or `path.logs` starts from; itself relative to the directory that \
              the node was started in.\n\
              It can be written as `${path.home}` in other settings.",
    },
    Setting {
        key: "path.data",
        topic: Topic::Paths,
        kind: Kind::List,
        default: DefaultValue::Fixed("data"),
        original: Some("`data` below `path.home`; several directories share the shards"),
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| {
            if let Some(first) = elements.into_iter().next() {
                node.path_data = first.into();
            }
        }),
        doc: "The directory that holds what the node must not forget: its id, its term and vote, the last cluster state.\n\
              It is created if it is missing, locked while the node runs, and belongs to the node alone; a node that \
              finds it empty is a new node.\n\
              Of several directories only the first is used, and the others are named in a warning.\n\
              Every vote and every commit waits until the disk has it, so the disk's sync time is part of every update.",
    },
    Setting {
        key: "path.logs",
        topic: Topic::Paths,
        kind: Kind::String,
        default: DefaultValue::Unset { example: "path.logs: logs" },
        original: Some("`logs` below `path.home`"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.log.path = Some(text).filter(|text| !text.is_empty()).map(Into::into);
            Some(())
        }),
        doc: "The directory for log files; without it there are none: the log goes to the standard output, and whoever \
              starts the node decides where it lands.\n\
              With it nothing goes to the standard output; a relative one starts from `path.home`.\n\
              The file is called after the cluster, `<cluster.name>.log`, and is made with the directory where it is \
              missing; each node needs a directory of its own.\n\
              `zazen.log.max_size`, `zazen.log.max_age` and `zazen.log.max_files` say when it is begun anew and what is kept.",
    },
];
