//! How users are answered: packed or not, to pages of which origin, and in whose name.

use super::{Changes, DefaultValue, Effect, Kind, Setting, Topic, put};

/// Of the users' side, besides where it listens.
pub(super) const HTTP: [Setting; 11] = [
    Setting {
        key: "zazen.http.allowed_hosts",
        topic: Topic::Http,
        kind: Kind::List,
        default: DefaultValue::Fixed(""),
        original: Some("it has none, and heeds no name"),
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| node.rest.allowed_hosts = elements),
        doc: "By which names users may ask this node, as `Host` has them: besides addresses, names without a dot, this \
              machine's name and the names that it listens on or is published by.\n\
              `.example.com` stands for all names below one, and `*` for all names.\n\
              A request by another name is refused with 403: it may come from a page whose name was bound to this machine \
              after a browser had loaded it.\n\
              Where users log in any name will do unless some are listed here: such a page knows no password.",
    },
    Setting {
        key: "http.compression",
        topic: Topic::Http,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("true"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| put(&mut node.rest.compression, text)),
        doc: "Whether answers are packed, with gzip or deflate, for users whose `Accept-Encoding` allows it.\n\
              Bodies of requests may be packed in any case.",
    },
    Setting {
        key: "http.compression_level",
        topic: Topic::Http,
        kind: Kind::Integer { min: 0, none: None },
        default: DefaultValue::Fixed("3"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.rest.compression_level = text.parse::<u32>().ok()?.min(9);
            Some(())
        }),
        doc: "How hard to try to pack: 0 not at all, 9 as well as can be; more counts as 9.\n\
              More takes more time of a processor for every answer and spares some bytes.",
    },
    Setting {
        key: "http.cors.enabled",
        topic: Topic::Http,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("false"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| put(&mut node.rest.cors.enabled, text)),
        doc: "Whether pages of other origins may ask this node from a browser.\n\
              With `true` requests of origins that `http.cors.allow-origin` does not name are refused with 403.",
    },
    Setting {
        key: "http.cors.allow-origin",
        topic: Topic::Http,
        kind: Kind::List,
        default: DefaultValue::Fixed(""),
        original: None,
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| node.rest.cors.allow_origin = elements.join(",")),
        doc: "The origins whose pages may ask: none, `*` for all, some with commas between them, or a regular expression \
              between slashes, as in `/https?:\\/\\/localhost(:[0-9]+)?/`.\n\
              Whoever opens a page of an origin that is named lets it do all that its user could.",
    },
    Setting {
        key: "http.cors.max-age",
        topic: Topic::Http,
        kind: Kind::Integer { min: 0, none: None },
        default: DefaultValue::Fixed("1728000"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| put(&mut node.rest.cors.max_age, text)),
        doc: "For how many seconds a browser may remember what it was allowed.\n\
              Until then it does not ask again, whatever is changed here.",
    },
    Setting {
        key: "http.cors.allow-methods",
        topic: Topic::Http,
        kind: Kind::List,
        default: DefaultValue::Fixed("OPTIONS,HEAD,GET,POST,PUT,DELETE"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| node.rest.cors.allow_methods = elements),
        doc: "The methods that pages may use.\n\
              A browser is told so when it asks beforehand; other clients are not kept from any.",
    },
    Setting {
        key: "http.cors.allow-headers",
        topic: Topic::Http,
        kind: Kind::List,
        default: DefaultValue::Fixed("X-Requested-With,Content-Type,Content-Length"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Elements(|node, elements| node.rest.cors.allow_headers = elements),
        doc: "The headers that pages may send.\n\
              A page that sends JSON needs `Content-Type` among them, and a browser sends no others.",
    },
    Setting {
        key: "http.cors.allow-credentials",
        topic: Topic::Http,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("false"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| put(&mut node.rest.cors.allow_credentials, text)),
        doc: "Whether a browser may send along who its user is.\n\
              With `true` the origin is named in every answer, even where all may ask.",
    },
    Setting {
        key: "compatibility.version",
        topic: Topic::Http,
        kind: Kind::Enum { what: "releases of Elasticsearch", words: &["6.8.23", "5.6.16"] },
        default: DefaultValue::Fixed("6.8.23"),
        original: Some("–"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.rest.compatibility = text.into();
            Some(())
        }),
        doc: "The release of Elasticsearch that the node says to be, for clients that ask `GET /` whether they know it.\n\
              What it answers to other requests is that of 6.8 in any case.",
    },
    Setting {
        key: "zazen.health.green_without_redundancy",
        topic: Topic::Http,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("false"),
        original: None,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.rest.green_without_redundancy = text.parse().ok()?;
            Some(())
        }),
        doc: "Whether `/_cluster/health` stays green, as Elasticsearch's does, when a node whose vote counts is gone, or the vote of a \
              new one is yet to count.\n\
              By default it is yellow then: the cluster works, and survives fewer losses than it was built for. Clients that \
              wait for green and do not care want `true`.",
    },
];
