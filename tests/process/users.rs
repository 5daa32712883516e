//! Users of a node, and what becomes of them while it runs: their rights, what they wait for, and what is kept of strangers.

use super::http::{Response, ask_with};
use super::node::{Node, wait_for};
use super::place::Scratch;
use super::ports::free_port;
use super::security::private;
use super::tool::{output, zazen};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;

/// A node by itself whose users log in, and its directory.
struct Guarded {
    node: Node,
    scratch: Scratch,
}

impl Guarded {
    fn new() -> Self {
        let scratch = Scratch::new();
        let mut node = Node::new(scratch.path(), "tested", "n0", (free_port(), free_port()));
        node.settings.extend(["zazen.security.users: users".into(), "discovery.type: single-node".into()]);
        Guarded { node, scratch }
    }

    fn file(&self) -> PathBuf {
        self.node.home().join("users")
    }

    /// Runs `zazen user`, and gives what it prints.
    fn user(&self, arguments: &str) -> String {
        let file = self.file().display().to_string();
        let all: Vec<&str> = ["user", "--file", &file].into_iter().chain(arguments.split(' ')).collect();
        output(0, &all).trim().to_owned()
    }

    fn ask(&self, token: &str, method: &str, path: &str, body: &str) -> Option<Response> {
        let lines = format!("Authorization: Bearer {token}\r\n");
        ask_with(self.node.http, (method, path), &lines, body).ok()
    }

    fn start(&mut self, token: &str) {
        self.node.start();
        let led = || self.ask(token, "GET", "/_cluster/health?timeout=1s", "").filter(|told| told.status == 200);
        assert!(wait_for(led).is_some(), "{}", self.node.tail());
    }

    fn audit(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.node.data.join("audit.log")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.node.kill();
    }
}

#[test]
fn who_is_no_user_any_more_waits_for_nothing_and_is_granted_nothing() {
    let mut guarded = Guarded::new();
    let (alice, eve) = (guarded.user("add alice --role operate"), guarded.user("add eve --role operate"));
    guarded.start(&alice);
    let held = guarded.ask(&alice, "POST", "/_zazen/lease/l?ttl=60s&holder=alice", "").expect("a node answers").json();
    let now = guarded.ask(&alice, "GET", "/_zazen/watch", "").expect("a node answers").json();
    let watch = format!("/_zazen/watch?wait_for=25s&from={}", now["at"].as_str().expect("it says how far it tells"));
    let lease = "/_zazen/lease/l?ttl=60s&holder=eve&wait=25s";
    thread::scope(|scope| {
        let waits = [("GET", &*watch), ("POST", lease)].map(|(method, path)| {
            let guarded = &guarded;
            let eve = &eve;
            scope.spawn(move || guarded.ask(eve, method, path, "").expect("a node answers"))
        });
        let stays = scope.spawn(|| guarded.ask(&alice, "GET", &watch, "").expect("a node answers"));
        let waiting = || {
            let told = guarded.ask(&alice, "GET", "/_tasks?detailed", "")?.body;
            (told.matches("wait_for=25s").count() >= 2 && told.contains("holder=eve")).then_some(())
        };
        assert!(wait_for(waiting).is_some(), "{}", guarded.node.tail());
        guarded.user("remove eve");
        for wait in waits {
            let told = wait.join().expect("it was answered");
            assert_eq!(told.status, 401, "{}", told.body);
            assert!(told.body.contains("the rights of user [eve] changed meanwhile"), "{}", told.body);
        }
        let release = format!("/_zazen/lease/l?token={}", held["token"]);
        assert_eq!(guarded.ask(&alice, "DELETE", &release, "").map(|told| told.status), Some(200));
        let free = guarded.ask(&alice, "GET", "/_zazen/lease/l", "").expect("a node answers");
        assert_eq!(free.status, 404, "nobody was granted it: {}", free.body);
        assert_eq!(guarded.ask(&alice, "PUT", "/_zazen/kv/k", "1").map(|told| told.status), Some(200));
        let told = stays.join().expect("it was answered");
        assert_eq!(told.status, 200, "others go on waiting: {}", told.body);
    });
}

#[test]
fn a_file_without_users_locks_nobody_out_and_is_told_of() {
    let mut guarded = Guarded::new();
    let alice = guarded.user("add alice --role read");
    guarded.start(&alice);
    private(&guarded.file(), "");
    let told = wait_for(|| guarded.node.log().contains("has no user").then_some(()));
    assert!(told.is_some(), "{}", guarded.node.tail());
    let explained = guarded.ask(&alice, "GET", "/_zazen/explain", "").expect("a node answers");
    assert_eq!(explained.status, 200, "{}", explained.body);
    assert!(explained.body.contains("cannot be used") && explained.body.contains("has no user"));
}

#[test]
fn strangers_are_told_of_by_name_and_fill_no_disk() {
    const ASKED: usize = 400;
    let mut guarded = Guarded::new();
    let alice = guarded.user("add alice --role operate");
    guarded.start(&alice);
    let basic = "Authorization: Basic YWxpY2U6d3Jvbmd3cm9uZw==\r\n";
    let told = ask_with(guarded.node.http, ("GET", "/"), basic, "").expect("a node answers");
    assert_eq!(told.status, 401);
    for _ in 0..ASKED {
        let told = ask_with(guarded.node.http, ("GET", "/_cat/nodes"), "", "").expect("a node answers");
        assert_eq!(told.status, 401);
    }
    assert_eq!(guarded.ask(&alice, "PUT", "/_zazen/kv/k", "1").map(|told| told.status), Some(200));
    let last = || guarded.audit().pop().filter(|event| event["method"] == "PUT");
    assert!(wait_for(last).is_some(), "{:?}", guarded.audit());
    let all = guarded.audit();
    assert_eq!((&all[0]["user"], &all[0]["tried"]), (&Value::Null, &"alice".into()), "{:?}", all[0]);
    let left_out: u64 = all.iter().filter_map(|event| event["left_out"].as_u64()).sum();
    assert!(all.len() < ASKED && all.len() as u64 + left_out == ASKED as u64 + 2, "{} and {left_out}", all.len());
    // Whoever keeps it elsewhere takes it away while the node runs.
    let file = guarded.node.data.join("audit.log");
    fs::rename(&file, guarded.node.data.join("taken")).expect("it is there");
    assert_eq!(guarded.ask(&alice, "PUT", "/_zazen/kv/k", "2").map(|told| told.status), Some(200));
    assert!(wait_for(|| (guarded.audit().len() == 1).then_some(())).is_some());
}

#[test]
fn who_guesses_at_once_is_braked_and_the_many_clients_of_one_user_are_not() {
    const RIGHT: &str = "Authorization: Basic YWxpY2U6cmlnaHQtcGFzc3dvcmQ=\r\n";
    const WRONG: &str = "Authorization: Basic YWxpY2U6d3Jvbmd3cm9uZw==\r\n";
    let mut guarded = Guarded::new();
    let bob = guarded.user("add bob --role read");
    let file = guarded.file().display().to_string();
    let mut command = zazen(&["user", "--file", &file, "add", "alice", "--role", "read", "--password-stdin"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the command can be run");
    child.stdin.take().expect("it is piped").write_all(b"right-password\n").expect("it reads");
    assert!(child.wait().expect("it ends").success());
    guarded.start(&bob);
    let port = guarded.node.http;
    let all = |lines: &'static str, count: usize| -> Vec<u16> {
        thread::scope(|scope| {
            let ask = move || ask_with(port, ("GET", "/"), lines, "").expect("a node answers").status;
            let asked: Vec<_> = (0..count).map(|_| scope.spawn(ask)).collect();
            asked.into_iter().map(|one| one.join().expect("it was answered")).collect()
        })
    };
    assert_eq!(all(RIGHT, 40), [200; 40]);
    let guessed = all(WRONG, 60);
    let tried = guessed.iter().filter(|status| **status == 401).count();
    assert!(tried <= 12 && guessed.iter().all(|status| matches!(status, 401 | 429)), "{guessed:?}");
    assert_eq!(all(RIGHT, 3), [200; 3], "who is known goes on");
}

#[test]
fn whoever_has_a_password_logs_in_from_the_command_line() {
    let mut guarded = Guarded::new();
    let alice = guarded.user("add alice --role read");
    guarded.start(&alice);
    let login = guarded.scratch.path().join("login");
    // A token is a password as well.
    private(&login, &format!("alice:{alice}\n"));
    let url = format!("127.0.0.1:{}", guarded.node.http);
    let told = output(0, &["status", "--token-file", &login.display().to_string(), "--url", &url]);
    assert!(told.contains("n0"), "{told}");
    private(&login, "alice:wrong\n");
    output(1, &["status", "--token-file", &login.display().to_string(), "--url", &url]);
}

#[test]
fn what_a_user_may_do_is_changed_and_the_token_stays() {
    let mut guarded = Guarded::new();
    let (alice, bob) = (guarded.user("add alice --role admin"), guarded.user("add bob --role read --leases l"));
    guarded.start(&alice);
    let becomes = |change: &str, expected: [u16; 2]| {
        guarded.user(change);
        let put = |key: &str| guarded.ask(&bob, "PUT", &format!("/_zazen/kv/{key}"), "1").map(|told| told.status);
        let told = || (expected.map(Some) == ["a/k", "b/k"].map(put)).then_some(());
        assert!(wait_for(told).is_some(), "{change}: {:?}, not {expected:?}", ["a/k", "b/k"].map(put));
    };
    becomes("change bob --role operate --keys a/,c/ --leases l", [200, 403]);
    becomes("change bob --keys b/", [403, 200]);
    becomes("change bob --role read", [403, 403]);
    assert!(guarded.user("list").contains("keys [b/]"), "{}", guarded.user("list"));
    becomes("change bob --role operate --everything", [200, 200]);
    let file = guarded.file().display().to_string();
    output(1, &["user", "--file", &file, "change", "eve", "--role", "read"]);
    output(2, &["user", "--file", &file, "change", "bob"]);
}
