//! Which changes of the cluster's settings are understood: the one rule of all that take such changes, and of the master.
//!
//! Mirrors `AbstractScopedSettings.updateSettings` (6.8), its messages included.

use super::known::is_of_family;
use super::nearest::nearest;
use super::{REGISTRY, Setting, known};
use crate::service::{ARCHIVED, Update};

/// The settings of Elasticsearch 6.8 that change at run time and have no meaning here: tools set them before and after a
/// restart.
const DYNAMIC: &[&str] = &[
    "action.auto_create_index",
    "action.destructive_requires_name",
    "action.search.shard_count.limit",
    "cluster.indices.close.enable",
    "cluster.info.update.*",
    "cluster.max_shards_per_node",
    "cluster.metadata.*",
    "cluster.persistent_tasks.allocation.*",
    "cluster.remote.*",
    "cluster.routing.*",
    "indices.breaker.*",
    "indices.lifecycle.*",
    "indices.mapping.dynamic_timeout",
    "indices.recovery.*",
    "network.breaker.inflight_requests.*",
    "script.max_compilations_rate",
    "search.default_allow_partial_results",
    "search.default_keep_alive",
    "search.default_search_timeout",
    "search.low_level_cancellation",
    "search.max_buckets",
    "search.max_keep_alive",
    "search.max_open_scroll_context",
    "search.remote.*",
    "transport.tracer.*",
    "xpack.*",
];

/// Says why a setting of the cluster cannot be changed so, if it cannot.
pub fn rule(update: Update<'_>) -> Result<(), String> {
    let Update { persistent, key, value } = update;
    let scope = if persistent { "persistent" } else { "transient" };
    let is_removed = value.is_none();
    if is_removed && (key.ends_with('*') || key.starts_with(ARCHIVED)) {
        return Ok(());
    }
    let own = own(key);
    let is_known = own.is_some() || known(key).is_some();
    if !is_known || key.contains('*') {
        let meant = nearest(key).map(|nearest| format!(", did you mean [{nearest}]?")).unwrap_or_default();
        return Err(format!("{scope} setting [{key}], not recognized{meant}"));
    }
    let is_dynamic = match own {
        Some(setting) => setting.is_dynamic(),
        None => DYNAMIC.iter().any(|pattern| *pattern == key || is_of_family(pattern, key)),
    };
    if !is_dynamic {
        return Err(format!("{scope} setting [{key}], not dynamically updateable"));
    }
    let Some(value) = value else {
        return Ok(());
    };
    let checked = match own {
        Some(setting) => setting.kind.check(key, &value.into()),
        None => known(key).map_or(Ok(()), |known| known.check(key, &value.into())),
    };
    checked.map_err(|error| error.to_string())
}

fn own(key: &str) -> Option<&'static Setting> {
    let exact = REGISTRY.iter().find(|setting| setting.key == key);
    exact.or_else(|| REGISTRY.iter().find(|setting| setting.is_family() && is_of_family(setting.key, key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(key: &str, value: Option<&str>) -> Result<(), String> {
        rule(Update { persistent: false, key, value })
    }

    #[test]
    fn only_what_changes_at_run_time_and_fits_is_taken() {
        let fine = [
            ("discovery.zen.commit_timeout", Some("5s")),
            ("discovery.zen.commit_timeout", None),
            ("discovery.zen.no_master_block", Some("all")),
            ("cluster.metadata.owner", Some("anybody")),
            ("cluster.routing.allocation.enable", Some("none")),
            ("logger.org.elasticsearch.discovery", Some("DEBUG")),
            ("discovery.*", None),
            ("archived.some.thing", None),
        ];
        for (key, value) in fine {
            assert_eq!(judge(key, value), Ok(()), "{key}: {value:?}");
        }
        let refused = [
            ("foo.bar", Some("1"), "transient setting [foo.bar], not recognized"),
            ("foo.bar", None, "transient setting [foo.bar], not recognized"),
            ("cluster.name", Some("x"), "transient setting [cluster.name], not dynamically updateable"),
            ("gateway.expected_nodes", None, "transient setting [gateway.expected_nodes], not dynamically updateable"),
            ("path.repo", Some("x"), "transient setting [path.repo], not dynamically updateable"),
            ("logger.level", Some("debug"), "transient setting [logger.level], not dynamically updateable"),
            (
                "discovery.zen.minimum_master_node",
                Some("2"),
                "transient setting [discovery.zen.minimum_master_node], not recognized, did you mean \
                 [discovery.zen.minimum_master_nodes]?",
            ),
            ("archived.some.thing", Some("1"), "transient setting [archived.some.thing], not recognized"),
            (
                "discovery.zen.minimum_master_nodes",
                Some("abc"),
                "Failed to parse value [abc] for setting [discovery.zen.minimum_master_nodes] must be >= 1, or -1 for none",
            ),
        ];
        for (key, value, why) in refused {
            assert_eq!(judge(key, value), Err(why.into()), "{key}: {value:?}");
        }
        assert!(judge("logger.*", Some("debug")).is_err_and(|why| why.contains("not recognized")));
    }

    #[test]
    fn every_dynamic_setting_without_a_meaning_is_known() {
        for pattern in DYNAMIC {
            let stem = pattern.trim_end_matches('*');
            let is_known =
                known(pattern).is_some() || super::super::known::known_keys().any(|key| key.starts_with(stem));
            assert!(is_known, "{pattern}");
        }
    }
}
