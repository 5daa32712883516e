//! States as large as users may make them: they reach whoever comes back, and a new master.

use super::cluster::Cluster;
use super::http::ask;
use serde_json::json;

/// A name as long as one may be, of letters that take six bytes each in JSON.
fn long_name(number: usize) -> String {
    let digits = number.to_string();
    format!("{digits}{}", "\u{1}".repeat(512 - digits.len()))
}

/// Writes keys until no more are taken, and tells what was said then.
fn fill_keys(port: u16) -> String {
    for group in 0..100 {
        let puts: Vec<_> = (0..256).map(|key| json!({"key": long_name(group * 256 + key), "value": "v"})).collect();
        let answer = ask(port, "POST", "/_zazen/txn", &json!({"puts": puts}).to_string()).expect("a node answers");
        if answer.status != 200 {
            return answer.body;
        }
    }
    panic!("there is no end to the room for keys");
}

/// The same with settings.
fn fill_settings(port: u16) -> String {
    for number in 0..100 {
        let body = json!({"persistent": {format!("cluster.metadata.x{number}"): "\"".repeat(200_000)}}).to_string();
        let answer = ask(port, "PUT", "/_cluster/settings", &body).expect("a node answers");
        if answer.status != 200 {
            return answer.body;
        }
    }
    panic!("there is no end to the room for settings");
}

#[test]
fn a_state_of_the_largest_size_reaches_who_was_away_and_outlives_its_master() {
    let mut cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let away = cluster.others(&[master])[0];
    cluster.kill(away);
    cluster.wait_master(&cluster.others(&[away]));
    let port = cluster.nodes[master].http;
    let refused = fill_keys(port);
    assert!(refused.contains("allowed are 16777216"), "{refused}");
    let refused = fill_settings(port);
    assert!(refused.contains("allowed are 4194304"), "{refused}");
    cluster.restart(away);
    assert_eq!(cluster.wait_master(&[0, 1, 2]), master);
    let before = cluster.view(master);
    cluster.kill(master);
    let next = cluster.wait_master(&cluster.others(&[master]));
    assert!(cluster.view(next).version > before.version);
    cluster.restart(master);
    cluster.wait_master(&[0, 1, 2]);
    let removed =
        ask(cluster.nodes[next].http, "PUT", "/_cluster/settings", r#"{"persistent":{"cluster.metadata.*":null}}"#);
    assert_eq!(removed.expect("a node answers").status, 200, "what frees room always works");
}
