//! Which path carries which kind of message.

use crate::wire;

/// How many bytes an answer may have that carries neither a state nor what users wrote.
const SMALL_MAX: usize = 1 << 20;

/// The same where it tells of a node and all that it knows.
const REPORT_MAX: usize = 16 << 20;

/// The path under `/_zen/` of every kind of request, by Elasticsearch's names of the actions where there are any.
const PATHS: [(&str, &str); 15] = [
    ("ping", "ping"),
    ("notice", "notice"),
    ("join", "join"),
    ("fetch", "fetch"),
    ("publish", "publish"),
    ("commit", "commit"),
    ("fd/node", "node_ping"),
    ("fd/master", "master_ping"),
    ("handover", "call_vote"),
    ("leave", "leave"),
    ("task", "submit"),
    ("read", "read"),
    ("task/pending", "pending_tasks"),
    ("task/relay", "relay"),
    ("handover/wish", "succession"),
];

/// The path of a kind of request.
pub(in crate::runtime) fn path_of(kind: &str) -> Option<&'static str> {
    PATHS.iter().find(|(_, known)| *known == kind).map(|(path, _)| *path)
}

/// The kind of request that a path carries.
pub(in crate::runtime) fn kind_of(path: &str) -> Option<&'static str> {
    PATHS.iter().find(|(known, _)| *known == path).map(|(_, kind)| *kind)
}

/// How many bytes the answer to a request may have: a stranger among the seed hosts may answer without end.
pub(super) fn answer_max(target: &str) -> usize {
    match target.strip_prefix("/_zen/").and_then(kind_of) {
        Some("fetch" | "submit" | "read" | "pending_tasks" | "relay") => wire::SIZE_MAX,
        Some(_) => SMALL_MAX,
        None => REPORT_MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zen::Message;

    #[test]
    fn every_request_has_a_path_and_no_reply_has_one() {
        let replies = ["pong", "joining", "fetched", "report", "master_pong", "gone", "answered", "rejected"];
        for kind in Message::KINDS {
            assert_eq!(path_of(kind).is_none(), replies.contains(&kind), "{kind}");
            assert!(path_of(kind).is_none_or(|path| kind_of(path) == Some(kind)), "{kind}");
        }
        assert_eq!(kind_of("node_ping"), None);
    }
}
