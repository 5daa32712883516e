//! What a request does, by Elasticsearch's names.

/// The names of routes, and of what they do.
const ACTIONS: [(&str, &str); 17] = [
    ("cluster_health_action", "cluster:monitor/health"),
    ("cluster_state_action", "cluster:monitor/state"),
    ("cluster_get_settings_action", "cluster:monitor/state"),
    ("cluster_update_settings_action", "cluster:admin/settings/update"),
    ("pending_cluster_tasks_action", "cluster:monitor/task"),
    ("cluster_stats_action", "cluster:monitor/stats"),
    ("cluster_reroute_action", "cluster:admin/reroute"),
    ("cluster_allocation_explain_action", "cluster:monitor/allocation/explain"),
    ("remote_cluster_info_action", "cluster:monitor/remote/info"),
    ("nodes_info_action", "cluster:monitor/nodes/info"),
    ("nodes_stats_action", "cluster:monitor/nodes/stats"),
    ("nodes_usage_action", "cluster:monitor/nodes/usage"),
    ("nodes_hot_threads_action", "cluster:monitor/nodes/hot_threads"),
    ("list_tasks_action", super::LIST),
    ("get_task_action", "cluster:monitor/task/get"),
    ("cancel_tasks_action", "cluster:admin/tasks/cancel"),
    ("cat_tasks_action", super::LIST),
];

/// The requests that wait for as long as they are told to, and so can be ended.
const WAITING: [&str; 3] = ["cluster_health_action", "cluster_state_action", "zazen_watch_get_action"];

/// What the route of this name does.
pub(in crate::rest) fn action(route: &'static str) -> String {
    let known = ACTIONS.iter().find(|(name, _)| *name == route).map(|(_, action)| (*action).to_owned());
    known.unwrap_or_else(|| format!("rest:{}", route.trim_end_matches("_action")))
}

/// Whether it can be ended.
pub(in crate::rest) fn is_cancellable(route: &'static str) -> bool {
    WAITING.contains(&route)
}
