//! What every setting is on a node, given or not.

use super::{Kind, REGISTRY, Value, known};
use std::collections::BTreeMap;

/// What Elasticsearch shows as one text, though it is taken apart at its commas.
const SHOWN_AS_TEXT: [&str; 3] = ["http.cors.allow-headers", "http.cors.allow-methods", "http.cors.allow-origin"];

/// What stands in Elasticsearch for what is not set.
const STANDS_FOR_NONE: [(&str, &str); 1] = [("gateway.recover_after_time", "0ms")];

/// What every setting is on a node that was given these: what was given, and the defaults of all others that have one.
pub fn in_full(given: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut all: BTreeMap<String, Value> = known::defaults().collect();
    for setting in REGISTRY.iter().filter(|setting| !setting.is_family()) {
        if let Some(value) = setting.presumed(&|key| given.get(key)).value {
            let is_list = setting.kind.is_list() && !SHOWN_AS_TEXT.contains(&setting.key);
            let shown = match value {
                value if is_list => Value::List(value.elements()),
                value if setting.kind == Kind::Level => Value::from(value.joined().to_uppercase().as_str()),
                value => value,
            };
            all.insert(setting.key.into(), shown);
        }
    }
    all.extend(STANDS_FOR_NONE.map(|(key, value)| (key.to_owned(), Value::from(value))));
    all.extend(given.iter().map(|(key, value)| (key.clone(), value.clone())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_full_there_is_what_was_given_what_follows_it_and_what_holds_anyway() {
        let given = BTreeMap::from([
            ("discovery.zen.ping_timeout".to_owned(), Value::from("2s")),
            ("node.attr.rack".to_owned(), Value::from("r1")),
        ]);
        let all = in_full(&given);
        let text = |key: &str| all.get(key).map(ToString::to_string);
        assert_eq!(text("discovery.zen.ping_timeout").as_deref(), Some("2s"));
        assert_eq!(text("discovery.zen.join_timeout").as_deref(), Some("40s"));
        assert_eq!(text("node.attr.rack").as_deref(), Some("r1"));
        assert_eq!(text("cluster.max_shards_per_node").as_deref(), Some("1000"));
        assert_eq!(text("http.cors.allow-headers").as_deref(), Some("X-Requested-With,Content-Type,Content-Length"));
        assert!(matches!(all.get("http.cors.allow-methods"), Some(Value::Text(_))));
        assert_eq!(text("logger.level").as_deref(), Some("INFO"));
        assert_eq!(text("gateway.recover_after_time").as_deref(), Some("0ms"));
        assert_eq!(text("cluster.initial_master_nodes"), None);
        assert_eq!(all.get("discovery.zen.hosts_provider"), Some(&Value::List(Vec::new())));
    }
}
