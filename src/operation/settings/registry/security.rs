//! What tells those who belong from all others: files of secrets, certificates and users.

use super::{Changes, DefaultValue, Effect, Kind, Setting, Topic, put};

/// What Elasticsearch has in their place.
const NONE: Option<&str> = Some("`xpack.security.*`, which has no meaning here");

/// Of who is let in.
pub(super) const SECURITY: [Setting; 9] = [
    Setting {
        key: "zazen.security.secret",
        topic: Topic::Security,
        kind: Kind::Name { without: None },
        default: DefaultValue::Unset { example: "zazen.security.secret: cluster.secret" },
        original: NONE,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.security.secret = Some(text.into());
            Some(())
        }),
        doc: "The file with the secret that the nodes of the cluster share: one line of 32 to 256 letters, as `zazen setup` makes it.\n\
              With it every message between nodes and every answer is sealed with HMAC-SHA256, and what is not is refused before \
              its body is read.\n\
              The file must be readable by its owner only; while the secret is changed it holds two lines, of which the first \
              seals and both are accepted; what changes in it takes effect within 5 s.",
    },
    Setting {
        key: "zazen.security.certificate",
        topic: Topic::Security,
        kind: Kind::Name { without: None },
        default: DefaultValue::Unset { example: "zazen.security.certificate: node.crt" },
        original: NONE,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.security.certificate = Some(text.into());
            Some(())
        }),
        doc: "The certificate, with those above it, that this node shows to other nodes: with it they speak TLS 1.3 only.\n\
              It must name the addresses that the node is reached at, and the role of a node of this cluster, as `zazen setup` \
              makes it; other certificates of the same authority are refused.\n\
              What changes in the file takes effect within 5 s.",
    },
    Setting {
        key: "zazen.security.key",
        topic: Topic::Security,
        kind: Kind::Name { without: None },
        default: DefaultValue::Unset { example: "zazen.security.key: node.key" },
        original: NONE,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.security.key = Some(text.into());
            Some(())
        }),
        doc: "The private key of `zazen.security.certificate`: a file in PEM that only its owner may read.\n\
              A node does not start with one that others may read, or that belongs to another certificate.",
    },
    Setting {
        key: "zazen.security.authorities",
        topic: Topic::Security,
        kind: Kind::Name { without: None },
        default: DefaultValue::Unset { example: "zazen.security.authorities: ca.crt" },
        original: NONE,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.security.authorities = Some(text.into());
            Some(())
        }),
        doc: "The certificates of those who may vouch for nodes: of several each may, while one takes the place of another.\n\
              What changes in the file takes effect within 5 s.",
    },
    Setting {
        key: "zazen.security.http.certificate",
        topic: Topic::Security,
        kind: Kind::Name { without: None },
        default: DefaultValue::Unset { example: "zazen.security.http.certificate: http.crt" },
        original: NONE,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.security.http_certificate = Some(text.into());
            Some(())
        }),
        doc: "The certificate, with those above it, that users are shown: with it they are served over TLS 1.3 only.\n\
              What changes in the file takes effect within 5 s, for connections that are made from then on.",
    },
    Setting {
        key: "zazen.security.http.key",
        topic: Topic::Security,
        kind: Kind::Name { without: None },
        default: DefaultValue::Unset { example: "zazen.security.http.key: http.key" },
        original: NONE,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.security.http_key = Some(text.into());
            Some(())
        }),
        doc: "The private key of `zazen.security.http.certificate`: a file in PEM that only its owner may read.\n\
              A node does not start with one that others may read, or that belongs to another certificate.",
    },
    Setting {
        key: "zazen.security.users",
        topic: Topic::Security,
        kind: Kind::Name { without: None },
        default: DefaultValue::Unset { example: "zazen.security.users: users" },
        original: NONE,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.security.users = Some(text.into());
            Some(())
        }),
        doc: "The file of those who may ask this node, with the hashes of their passwords and tokens, their roles and what they may \
              touch, as `zazen user` writes it.\n\
              With it everybody must log in; every node needs it. What changes in it takes effect within 5 s.",
    },
    Setting {
        key: "zazen.security.audit",
        topic: Topic::Security,
        kind: Kind::Name { without: None },
        default: DefaultValue::Unset { example: "zazen.security.audit: /var/log/zazen/audit.log" },
        original: NONE,
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.security.audit = Some(text.into());
            Some(())
        }),
        doc: "The file to which a line is added for every request that changes something and for every one that is refused: who, from \
              where, what, and how it was answered.\n\
              Without it, where users log in, it is `audit.log` in the directory of `path.data`.",
    },
    Setting {
        key: "zazen.security.allow_open",
        topic: Topic::Security,
        kind: Kind::Boolean,
        default: DefaultValue::Fixed("false"),
        original: Some("ports are always open"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| put(&mut node.security.allow_open, text)),
        doc: "Lets the node listen beyond loopback without security.\n\
              A node refuses that otherwise: its transport needs `zazen.security.secret` or `zazen.security.certificate`, and its \
              HTTP port `zazen.security.users` and `zazen.security.http.certificate`.\n\
              With `true` whoever reaches the ports can do everything, and the node says so every minute.",
    },
];
