//! The settings of Elasticsearch 6.8 that it changes at run time, with the form of their values.
//!
//! A key with `*` is a family. Most of them have no meaning here: tools set them before and after a restart. Mirrors the
//! settings with `Property.Dynamic` in `ClusterSettings` (6.8).

use super::form::Form;
use super::known::is_of_family;

const COUNT: Form = Form::Integer { min: 0, max: i32::MAX };
const COUNT_OR_NONE: Form = Form::Integer { min: -1, max: i32::MAX };
const TIME: Form = Form::Time { min: Some("0ms") };
const ANY_TIME: Form = Form::Time { min: None };
const SLOW_TIME: Form = Form::Time { min: Some("10s") };
const LONG_TIME: Form = Form::Time { min: Some("0s") };
const ALLOCATION: Form = Form::Words {
    told: ("Illegal allocation.enable value ", ""),
    words: &["ALL", "NEW_PRIMARIES", "NONE", "PRIMARIES"],
};
const REBALANCE: Form =
    Form::Words { told: ("Illegal rebalance.enable value ", ""), words: &["ALL", "NONE", "PRIMARIES", "REPLICAS"] };
const ASSIGNMENT: Form = Form::Words { told: ("Illegal value ", " for [KEY]"), words: &["ALL", "NONE"] };

/// Each with the form of its values.
const DYNAMIC: &[(&str, Form)] = &[
    ("action.auto_create_index", Form::AutoCreate),
    ("action.destructive_requires_name", Form::Boolean),
    ("action.search.shard_count.limit", Form::Long),
    ("cluster.blocks.read_only", Form::Boolean),
    ("cluster.blocks.read_only_allow_delete", Form::Boolean),
    ("cluster.indices.close.enable", Form::Boolean),
    ("cluster.info.update.interval", SLOW_TIME),
    ("cluster.info.update.timeout", TIME),
    ("cluster.max_shards_per_node", Form::Integer { min: 1, max: i32::MAX }),
    ("cluster.metadata.*", Form::Text),
    ("cluster.persistent_tasks.allocation.enable", ASSIGNMENT),
    ("cluster.persistent_tasks.allocation.recheck_interval", SLOW_TIME),
    ("cluster.remote.*.proxy", Form::Address),
    ("cluster.remote.*.seeds", Form::Addresses),
    ("cluster.remote.*.skip_unavailable", Form::Boolean),
    ("cluster.remote.*.transport.compress", Form::Boolean),
    ("cluster.remote.*.transport.ping_schedule", ANY_TIME),
    ("cluster.routing.allocation.allow_rebalance", Form::AllowRebalance),
    ("cluster.routing.allocation.awareness.attributes", Form::List),
    ("cluster.routing.allocation.awareness.force.*", Form::Text),
    ("cluster.routing.allocation.balance.index", Form::Decimal),
    ("cluster.routing.allocation.balance.shard", Form::Decimal),
    ("cluster.routing.allocation.balance.threshold", Form::Decimal),
    ("cluster.routing.allocation.cluster_concurrent_rebalance", COUNT_OR_NONE),
    ("cluster.routing.allocation.disk.include_relocations", Form::Boolean),
    ("cluster.routing.allocation.disk.reroute_interval", TIME),
    ("cluster.routing.allocation.disk.threshold_enabled", Form::Boolean),
    ("cluster.routing.allocation.disk.watermark.flood_stage", Form::Watermark),
    ("cluster.routing.allocation.disk.watermark.high", Form::Watermark),
    ("cluster.routing.allocation.disk.watermark.low", Form::Watermark),
    ("cluster.routing.allocation.enable", ALLOCATION),
    ("cluster.routing.allocation.exclude.*", Form::Filter),
    ("cluster.routing.allocation.include.*", Form::Filter),
    ("cluster.routing.allocation.node_concurrent_incoming_recoveries", COUNT),
    ("cluster.routing.allocation.node_concurrent_outgoing_recoveries", COUNT),
    ("cluster.routing.allocation.node_concurrent_recoveries", COUNT),
    ("cluster.routing.allocation.node_initial_primaries_recoveries", COUNT),
    ("cluster.routing.allocation.require.*", Form::Filter),
    ("cluster.routing.allocation.same_shard.host", Form::Boolean),
    ("cluster.routing.allocation.total_shards_per_node", COUNT_OR_NONE),
    ("cluster.routing.rebalance.enable", REBALANCE),
    ("cluster.routing.use_adaptive_replica_selection", Form::Boolean),
    ("cluster.service.slow_task_logging_threshold", TIME),
    ("discovery.zen.commit_timeout", ANY_TIME),
    ("discovery.zen.minimum_master_nodes", Form::Integer { min: i32::MIN, max: i32::MAX }),
    ("discovery.zen.no_master_block", Form::MasterBlock),
    ("discovery.zen.publish_diff.enable", Form::Boolean),
    ("discovery.zen.publish_timeout", TIME),
    ("indices.breaker.accounting.limit", Form::Memory),
    ("indices.breaker.accounting.overhead", Form::Decimal),
    ("indices.breaker.fielddata.limit", Form::Memory),
    ("indices.breaker.fielddata.overhead", Form::Decimal),
    ("indices.breaker.request.limit", Form::Memory),
    ("indices.breaker.request.overhead", Form::Decimal),
    ("indices.breaker.total.limit", Form::Memory),
    ("indices.mapping.dynamic_timeout", TIME),
    ("indices.recovery.internal_action_long_timeout", LONG_TIME),
    ("indices.recovery.internal_action_timeout", TIME),
    ("indices.recovery.max_bytes_per_sec", Form::Bytes),
    ("indices.recovery.max_concurrent_file_chunks", Form::Integer { min: 1, max: 5 }),
    ("indices.recovery.recovery_activity_timeout", LONG_TIME),
    ("indices.recovery.retry_delay_network", TIME),
    ("indices.recovery.retry_delay_state_sync", TIME),
    ("logger.*", Form::Level),
    ("network.breaker.inflight_requests.overhead", Form::Decimal),
    ("script.max_compilations_rate", Form::Rate),
    ("script.max_size_in_bytes", COUNT),
    ("search.default_allow_partial_results", Form::Boolean),
    ("search.default_keep_alive", TIME),
    ("search.default_search_timeout", ANY_TIME),
    ("search.low_level_cancellation", Form::Boolean),
    ("search.max_buckets", COUNT_OR_NONE),
    ("search.max_keep_alive", TIME),
    ("search.max_open_scroll_context", COUNT),
    ("search.remote.*.proxy", Form::Address),
    ("search.remote.*.seeds", Form::Addresses),
    ("search.remote.*.skip_unavailable", Form::Boolean),
    ("transport.tracer.exclude", Form::List),
    ("transport.tracer.include", Form::List),
];

/// The form of a setting that Elasticsearch changes at run time.
pub(super) fn form(key: &str) -> Option<Form> {
    let exact = DYNAMIC.iter().find(|(known, _)| *known == key);
    exact.or_else(|| DYNAMIC.iter().find(|(known, _)| is_of_family(known, key))).map(|(_, form)| *form)
}

#[cfg(test)]
mod tests {
    use super::super::{known, setting};
    use super::*;

    #[test]
    fn every_dynamic_setting_is_known() {
        for (key, _) in DYNAMIC {
            let one = key.replace(".*.", ".a.").replace(".*", ".a");
            assert!(setting(&one).is_ok() || known(&one).is_some(), "{key}");
        }
    }
}
