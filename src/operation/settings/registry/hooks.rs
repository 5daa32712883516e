//! What a node runs when its master or its members change.

use super::{Changes, DefaultValue, Effect, Kind, Setting, Topic};
use crate::settings::Hook;
use crate::zen::parse_time;
use std::time::Duration;

macro_rules! hook {
    ($key:literal, $example:literal, $doc:literal) => {
        Setting {
            key: concat!("hooks.", $key),
            topic: Topic::Hooks,
            kind: Kind::Hook,
            default: DefaultValue::Unset { example: $example },
            original: Some("it has none"),
            changes: Changes::Static,
            effect: Effect::Elements(|node, elements| {
                if let Some(hook) = Hook::of(&elements) {
                    node.hooks.on.insert($key.into(), hook);
                }
            }),
            doc: $doc,
        }
    };
}

/// Of hooks.
pub(super) const HOOKS: [Setting; 8] = [
    hook!(
        "on_master_elected",
        "hooks.on_master_elected: [\"/usr/local/bin/move-vip\", \"10.0.0.100/24\", \"eth0\"]",
        "What to run when there is a master, or the same one in a higher term: a program with its arguments, without a shell, \
         or the address of a webhook, `http://…` or `https://…` (TLS 1.3, by the authorities that the system trusts or those of \
         `SSL_CERT_FILE`).\nEvery node runs its own; `is_master` tells whether it is the master itself, \
         and `fencing_token` tells this mastership from all others."
    ),
    hook!(
        "on_step_down",
        "hooks.on_step_down: [\"/usr/local/bin/move-vip\", \"10.0.0.100/24\", \"eth0\"]",
        "What to run when this node is master no more: it lost its quorum, handed over, or ends.\nA process that is killed \
         runs nothing; the next start begins with `hooks.on_no_master`."
    ),
    hook!(
        "on_no_master",
        "hooks.on_no_master: [\"/usr/local/bin/move-vip\", \"10.0.0.100/24\", \"eth0\"]",
        "What to run when this node has no master any more, and once when it is started, before it has one.\nSo whatever an \
         earlier process left behind can be taken away."
    ),
    hook!(
        "on_node_joined",
        "hooks.on_node_joined: \"http://127.0.0.1:8000/zazen\"",
        "What to run when another node joined, as this node sees it; `subject` names it.\nA node that is restarted leaves and \
         joins."
    ),
    hook!(
        "on_node_left",
        "hooks.on_node_left: \"http://127.0.0.1:8000/zazen\"",
        "What to run when another node left or was removed, as this node sees it; `subject` names it.\nA node that is cut off \
         from its master sees nobody leave: it has no master."
    ),
    hook!(
        "on_reduced",
        "hooks.on_reduced: [\"/usr/local/bin/page\", \"zazen is reduced\"]",
        "What to run when just a majority of the voting nodes is left, so that one more that is lost stops the cluster.\nIt is \
         run once for each time that the cluster gets there; sets of one and two never can spare anybody and are not told of."
    ),
    Setting {
        key: "hooks.timeout",
        topic: Topic::Hooks,
        kind: Kind::Time { min: Duration::from_millis(100) },
        default: DefaultValue::Fixed("5s"),
        original: Some("it has none"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.hooks.timeout = parse_time(text)?;
            Some(())
        }),
        doc: "How long a hook may take; a program that takes longer is killed with all that it started.\nHooks are run one \
              after the other, so this is how long one may hold up the next, times `hooks.attempts`; a node that ends waits \
              so long for its last ones.",
    },
    Setting {
        key: "hooks.attempts",
        topic: Topic::Hooks,
        kind: Kind::Integer { min: 1, none: None },
        default: DefaultValue::Fixed("3"),
        original: Some("it has none"),
        changes: Changes::Static,
        effect: Effect::Node(|node, text| {
            node.hooks.attempts = text.parse::<u32>().ok()?.clamp(1, 100);
            Some(())
        }),
        doc: "How often a hook is tried until it ends with 0, or a webhook answers with a status of 200 to 299; at the most 100 \
              times, with half a second between the first two and twice as much from each to the next.\nAn event may so be \
              told twice, and is by the same `number`; after the last try it is given up with a warning.",
    },
];
