//! What a node logs, and what only tests need.

use super::{Changes, DefaultValue, Effect, Kind, Setting, Topic, put};
use crate::settings::units::parse_bytes;
use crate::zen::parse_time;
use std::time::Duration;

/// Of logs and tests.
pub(super) const LOG: [Setting; 9] = [
    Setting {
        key: "logger.level",
        topic: Topic::Logging,
        kind: Kind::Level,
        default: DefaultValue::Fixed("info"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.log.levels.insert("_root".into(), text.to_ascii_lowercase());
            Some(())
        }),
        doc: "From which level on lines are logged, unless a `logger.*` says otherwise.\n\
              At `info` a healthy cluster is silent: lines tell of masters and nodes that come and go; `debug` tells of \
              every ping round as well.",
    },
    Setting {
        key: "logger.*",
        topic: Topic::Logging,
        kind: Kind::Level,
        default: DefaultValue::Unset { example: "logger.discovery: debug" },
        original: None,
        changes: Changes::Dynamic,
        effect: Effect::Family(|node, name, text| {
            node.log.levels.insert(name.into(), text.to_ascii_lowercase());
            Some(())
        }),
        doc: "From which level on the lines of one logger are logged: `logger.org.elasticsearch.discovery: trace`, or \
              `logger.discovery` for short; the longest name that fits a logger counts.\n\
              `logger._root` is all of them, and wins over `logger.level`; of more than 256 names the first are heeded.\n\
              It can be changed while the node runs, which is how one looks closer at a cluster in trouble.",
    },
    Setting {
        key: "zazen.log.format",
        topic: Topic::Logging,
        kind: Kind::Enum { what: "log format", words: &["text", "json"] },
        default: DefaultValue::Fixed("text"),
        original: Some("it has none"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.log.json = text == "json";
            Some(())
        }),
        doc: "How lines of the log look.\n\
              `text` is for people and for those who search for Elasticsearch's lines; `json` is one object a line, for \
              programs that collect logs.",
    },
    Setting {
        key: "zazen.log.max_size",
        topic: Topic::Logging,
        kind: Kind::Bytes { min: 4096 },
        default: DefaultValue::Fixed("128mb"),
        original: Some("`128mb`, in `log4j2.properties`"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.log.max_size = parse_bytes(text)?;
            Some(())
        }),
        doc: "How large the file of the log in `path.logs` may get; before a line that would make it larger it is put aside \
              under the name of its day, and begun anew.\n\
              With `zazen.log.max_files` this bounds what all of them take.",
    },
    Setting {
        key: "zazen.log.max_age",
        topic: Topic::Logging,
        kind: Kind::Time { min: Duration::from_secs(1) },
        default: DefaultValue::Fixed("1d"),
        original: Some("a day, in `log4j2.properties`"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.log.max_age = parse_time(text)?;
            Some(())
        }),
        doc: "How long a file of the log in `path.logs` is written to before it is put aside, even if it is small.\n\
              Looked at with each line: while nothing is logged nothing is begun anew.",
    },
    Setting {
        key: "zazen.log.max_files",
        topic: Topic::Logging,
        kind: Kind::Integer { min: 0, none: None },
        default: DefaultValue::Fixed("10"),
        original: Some("as many as have 2 GB, in `log4j2.properties`"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| put(&mut node.log.max_files, text)),
        doc: "How many files of the log in `path.logs` are kept that were put aside; of more the oldest are removed.\n\
              Files of other names in that directory are left alone.",
    },
    Setting {
        key: "zazen.tracing.otlp.endpoint",
        topic: Topic::Logging,
        kind: Kind::Url,
        default: DefaultValue::Unset { example: "zazen.tracing.otlp.endpoint: http://127.0.0.1:4318" },
        original: Some("it has none"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.tracing.endpoint = Some(text.to_owned());
            Some(())
        }),
        doc: "The collector that is sent how long each part of a change took, as OpenTelemetry's spans: they are posted to \
              `/v1/traces` below this address, as JSON, once a second.\n\
              All nodes tell their parts of one change in one trace; a request with a `traceparent` stays in its own trace, with \
              a link to that one. What the collector does not take in time is dropped, and counted in \
              `zazen_spans_dropped`.",
    },
    Setting {
        key: "zazen.faults.enabled",
        topic: Topic::Testing,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("false"),
        original: Some("it has none"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| put(&mut node.faults, text)),
        doc: "Whether the links of the node can be cut by request, so that tests can split a cluster on one machine.\n\
              Leave it off in earnest: with `true` everybody who reaches the node can silence it.",
    },
    Setting {
        key: "zazen.lab.zookeeper",
        topic: Topic::Testing,
        kind: Kind::List,
        default: DefaultValue::Unset { example: "zazen.lab.zookeeper: [\"127.0.0.1:2181\"]" },
        original: Some("it has none"),
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| node.discovery.zookeeper = elements),
        doc: "The servers of a ZooKeeper, `host:port` each, through which the nodes elect if `discovery.type` is \
              `kafka-controller`, and nothing otherwise.\n\
              All that is written there lies below `/zazen` and the name of the cluster.",
    },
];
