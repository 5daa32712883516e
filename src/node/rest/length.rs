//! How long a request takes, as far as its route, its headers and its body tell.
//!
//! Where those that take long are answered is told in `lane`, and how many may wait at a time in `waits`.

use super::error::RestError;
use super::lane::SHORT_BODY;
use super::route::Way;
use super::watch::EVENT_STREAM;
use axum::http::{HeaderMap, header};

/// What is short whoever asks: one key, one lease, one number. All other routes may have much to tell.
const SHORT: [&str; 17] = [
    "cluster_health_action",
    "main_action",
    "refused_action",
    "zazen_drain_post_action",
    "zazen_handover_post_action",
    "zazen_kv_one_delete_action",
    "zazen_kv_one_get_action",
    "zazen_kv_one_put_action",
    "zazen_lease_one_delete_action",
    "zazen_lease_one_get_action",
    "zazen_lease_one_post_action",
    "zazen_lease_one_put_action",
    "zazen_livez_get_action",
    "zazen_readyz_get_action",
    "zazen_safe_to_stop_get_action",
    "zazen_startupz_get_action",
    "zazen_txn_post_action",
];

/// What sends its body to the master, and is answered as soon as that has it.
const SENT_ON: [&str; 3] = ["cluster_update_settings_action", "zazen_kv_one_put_action", "zazen_txn_post_action"];

/// What goes on as long as it is listened to, and gives its long parts to `lane` itself.
pub(super) const WATCH: &str = "zazen_watch_get_action";

/// Whether a request takes no longer than any other.
pub(super) fn is_short(way: &Result<Way, RestError>, headers: &HeaderMap, body: &[u8]) -> bool {
    let Ok(Way::Here(route, _)) = way else {
        return true;
    };
    let accepts =
        |kind| headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|it| it.contains(kind));
    let is_listener = route.name == WATCH && accepts(EVENT_STREAM);
    body.len() <= SHORT_BODY && (is_listener || SHORT.contains(&route.name))
}

/// Whether a body goes to the master: whoever waits with one holds up nobody.
pub(super) fn is_sent_on(way: &Result<Way, RestError>) -> bool {
    matches!(way, Ok(Way::Here(route, _)) if SENT_ON.contains(&route.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::routes;

    #[test]
    fn every_name_is_one_of_a_route() {
        for name in SHORT.iter().chain(&SENT_ON).chain([&WATCH]) {
            assert!(routes::routes().any(|route| route.name == *name), "no route is called {name}");
        }
    }

    #[test]
    fn who_waits_for_something_else_waits_for_no_turn() {
        assert!(is_sent_on(&routes::way("PUT", "/_zazen/kv/large")));
        for (method, path) in [
            ("GET", "/_cluster/health"),
            ("POST", "/_zazen/lease/held"),
            ("GET", "/_zazen/watch"),
            ("GET", "/_cluster/state"),
        ] {
            let way = routes::way(method, path);
            assert!(matches!(way, Ok(Way::Here(..))), "{path} is a route");
            assert!(!is_sent_on(&way), "{path}");
        }
    }
}
