//! What every setting is on a node, given or not.

use super::{REGISTRY, Value, known};
use std::collections::BTreeMap;

/// What every setting is on a node that was given these: what was given, and the defaults of all others that have one.
pub fn in_full(given: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut all: BTreeMap<String, Value> = known::defaults().collect();
    for setting in REGISTRY.iter().filter(|setting| !setting.is_family()) {
        if let Some(value) = setting.presumed(&|key| given.get(key)).value {
            let is_list = setting.kind.is_list();
            all.insert(setting.key.into(), if is_list { Value::List(value.elements()) } else { value });
        }
    }
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
        assert_eq!(text("cluster.initial_master_nodes"), None);
        assert_eq!(all.get("discovery.zen.hosts_provider"), Some(&Value::List(Vec::new())));
    }
}
