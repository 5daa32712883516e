//! Who does not belong: strangers at the transport port of nodes that share a secret, pages of browsers, ports that would be
//! open to everybody, and users who may not do what they ask for.

use super::cluster::Cluster;
use super::http::{self, connect};
use super::node::{Node, wait_for};
use super::ports::{free_port, free_ports};
use super::tool::{output, zazen};
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use zazen::client::{Access, Client};

const PATHS: [&str; 15] = [
    "ping",
    "notice",
    "join",
    "fetch",
    "publish",
    "commit",
    "fd/node",
    "fd/master",
    "handover",
    "leave",
    "task",
    "read",
    "task/pending",
    "task/relay",
    "handover/wish",
];

/// Writes a file that is nobody else's business.
pub(crate) fn private(path: &Path, text: &str) {
    fs::write(path, text).expect("the folder of a node can be written to");
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("a file of this process can be closed to others");
}

fn secret(letter: char) -> String {
    letter.to_string().repeat(40)
}

/// Lets a node share secrets with others.
fn share(node: &mut Node, secrets: &str) {
    private(&node.home().join("secret"), secrets);
    node.settings.push("zazen.security.secret: secret".into());
}

fn secure(count: usize) -> Cluster {
    Cluster::start_with(count, |_, node| share(node, &secret('s')))
}

/// The status with which a port answers.
fn status(port: u16, method: &str, path: &str, headers: &str, body: &str) -> u16 {
    let mut stream = connect(port).expect("a node that lives takes connections");
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all((head + body).as_bytes()).expect("a connection that was just taken is open");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("a node answers in text");
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("no answer: {answer:?}"))
}

#[test]
fn nodes_that_share_a_secret_lead_fail_over_and_hear_nobody_else() {
    let mut cluster = secure(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let before = cluster.view(master);
    let json = "Content-Type: application/json\r\n";
    let forged = format!(
        "{json}zazen-address: 127.0.0.1:1\r\nzazen-seal: - {} 1 {} {}\r\n",
        "a".repeat(32),
        "b".repeat(64),
        "c".repeat(64)
    );
    for at in 0..3 {
        let port = cluster.nodes[at].transport;
        for path in PATHS.into_iter().chain(["failed_start"]) {
            for headers in [json, &forged] {
                assert_eq!(status(port, "POST", &format!("/_zen/{path}"), headers, "{}"), 401, "{path} {headers}");
            }
        }
        let link = "zazen-address: 127.0.0.1:1\r\n";
        assert_eq!(status(port, "POST", "/_zen/lifeline", link, ""), 401);
        for path in ["/_zen/figures", "/_zen/info", "/", "/_cluster/state"] {
            assert_eq!(status(port, "GET", path, "", ""), 401, "{path}");
        }
        assert_eq!(status(port, "POST", "/_zen/ping", "Content-Type: text/plain\r\nOrigin: http://a\r\n", "{}"), 403);
    }
    for at in 0..3 {
        assert_eq!(cluster.view(at), before, "nothing of it changed anything");
    }
    // What users ask of all nodes goes the same way.
    let told = cluster.nodes[master].get("/_nodes/stats").expect("a node answers").json();
    assert_eq!((&told["_nodes"]["successful"], &told["_nodes"]["failed"]), (&3.into(), &0.into()), "{told}");
    cluster.kill(master);
    let left = cluster.others(&[master]);
    cluster.wait_master(&left);
    cluster.restart(master);
    cluster.wait_master(&[0, 1, 2]);
}

#[test]
fn a_node_with_another_secret_or_none_stays_outside() {
    let cluster = secure(2);
    for (name, own) in [("liar", Some(secret('t'))), ("open", None)] {
        let mut stranger = cluster.stranger("tested", name);
        if let Some(own) = own {
            share(&mut stranger, &own);
        }
        stranger.start();
        cluster.wait("the stranger answers", || stranger.state());
        let refused = || cluster.nodes[0].get("/_cat/nodes?h=name&local=true").ok().filter(|told| told.status == 200);
        // It looks for a master as long as it runs; by now it has asked several times.
        cluster.wait("the stranger has looked around", || {
            let told = stranger.get("/_zazen/explain").ok()?.json();
            (told["has_master"] == false || !told["master"].is_object()).then_some(())
        });
        let names = cluster.wait("a node lists its cluster", refused).body;
        assert!(!names.contains(name), "{names}");
        stranger.kill();
    }
    cluster.wait_master(&[0, 1]);
}

#[test]
fn a_secret_is_changed_while_clients_write() {
    let cluster = secure(3);
    let rounds =
        [format!("{}\n{}\n", secret('s'), secret('t')), format!("{}\n{}\n", secret('t'), secret('s')), secret('t')];
    let mut written = 0;
    for secrets in rounds {
        for node in &cluster.nodes {
            private(&node.home().join("secret"), &secrets);
        }
        let marker = "the secret of the cluster changed";
        let before: Vec<usize> = cluster.nodes.iter().map(|node| node.log().matches(marker).count()).collect();
        cluster.wait("all nodes take the secret over", || {
            written += 1;
            let port = cluster.nodes[written % 3].http;
            let told = http::ask(port, "PUT", &format!("/_zazen/kv/k{}", written % 10), "x").expect("a node answers");
            assert!((200..300).contains(&told.status), "{told:?}");
            let all =
                cluster.nodes.iter().zip(&before).all(|(node, before)| node.log().matches(marker).count() > *before);
            all.then_some(())
        });
    }
    cluster.wait_master(&[0, 1, 2]);
    assert!(cluster.nodes.iter().all(|node| !node.log().contains("master_left")), "nobody lost the master meanwhile");
}

#[test]
fn a_port_that_others_reach_is_not_opened_without_security() {
    let scratch = std::env::temp_dir().join(format!("zazen-open-{}", std::process::id()));
    let start = |settings: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
        command.arg("start").arg("-E").arg(format!("path.data={}", scratch.display())).env_clear();
        for setting in ["http.port=0", "transport.port=0"].iter().chain(settings) {
            command.arg("-E").arg(setting);
        }
        command.output().expect("the command that was built with this test can be run")
    };
    for settings in [&["network.host=0.0.0.0"], &["transport.host=0.0.0.0"], &["http.host=::"]] {
        let told = start(settings);
        let text = String::from_utf8_lossy(&told.stderr).into_owned();
        assert_eq!(told.status.code(), Some(2), "{settings:?}: {text}");
        assert!(text.contains("zazen setup --out security") && text.contains("zazen start -c"), "{settings:?}: {text}");
    }
    let _ = fs::remove_dir_all(&scratch);
}

#[test]
fn a_page_in_a_browser_reads_and_changes_nothing() {
    let cluster = Cluster::start(1);
    let (users, nodes) = (cluster.nodes[0].http, cluster.nodes[0].transport);
    let before = cluster.view(0);
    let rebound = |port: u16, path: &str| {
        let mut stream = connect(port).expect("a node that lives takes connections");
        let head = format!("GET {path} HTTP/1.1\r\nHost: evil.example:9200\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("a connection that was just taken is open");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("a node answers in text");
        answer
    };
    for (port, path) in [(users, "/_cluster/state"), (users, "/"), (nodes, "/_zen/figures")] {
        let answer = rebound(port, path);
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("evil.example"), "{answer}");
    }
    let of_page = "Origin: http://evil.example\r\nContent-Type: text/plain\r\n";
    for (method, path) in [("POST", "/_zazen/handover"), ("POST", "/_zazen/lease/x"), ("PUT", "/_zazen/kv/x")] {
        assert_eq!(status(users, method, path, of_page, ""), 403, "{method} {path}");
    }
    assert_eq!(status(nodes, "POST", "/_zen/ping", of_page, "{}"), 403);
    assert_eq!(status(nodes, "POST", "/_zen/ping", "Content-Type: text/plain\r\n", "{}"), 415);
    assert_eq!(status(users, "GET", "/", "", ""), 200, "whoever is no page is answered");
    assert_eq!(cluster.view(0), before);
}

/// A secure cluster under one terminal, and the directory with all that it was given.
struct Dev {
    child: Child,
    directory: PathBuf,
    http: u16,
    transport: u16,
}

impl Dev {
    fn start() -> Self {
        let directory = std::env::temp_dir().join(format!("zazen-secure-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        // Each of its three nodes takes the next ones that are free.
        let (http, transport) = (free_ports(3), free_ports(3));
        let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
        command.args(["dev", "--secure", "--data"]).arg(&directory).env_clear().env("PATH", "/nowhere");
        command.arg("--http-port").arg(http.to_string()).arg("--transport-port").arg(transport.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("the command that was built with this test can be run");
        Dev { child, directory, http, transport }
    }

    /// What the node with this number is configured with.
    fn port(&self, at: usize, key: &str) -> u16 {
        let text = fs::read_to_string(self.directory.join(format!("node-{at}.conf/zazen.yml"))).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|port| port.trim().parse().ok()).unwrap_or(if key.starts_with("http") {
            self.http
        } else {
            self.transport
        })
    }

    fn status(&self) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
        command.arg("status").arg("--ca").arg(self.directory.join("ca.crt"));
        command.arg("--token-file").arg(self.directory.join("admin.token"));
        command.arg("--url").arg(self.port(0, "http.port:").to_string()).env_clear();
        let told = command.output().expect("the command that was built with this test can be run");
        String::from_utf8_lossy(&told.stdout).into_owned() + &String::from_utf8_lossy(&told.stderr)
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // Its nodes end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

#[test]
fn a_secure_cluster_speaks_tls_to_those_who_log_in_and_to_nobody_else() {
    let dev = Dev::start();
    let formed = wait_for(|| dev.status().contains("all 3 nodes agree").then_some(()));
    assert!(formed.is_some(), "{}", dev.status());
    assert!(!dev.status().contains("certificate-expires"), "it was just made: {}", dev.status());
    let (users, nodes) = (dev.port(0, "http.port:"), dev.port(0, "transport.tcp.port:"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    let place = format!("127.0.0.1:{users}");
    let ca = Access::new(Some(dev.directory.join("ca.crt")));
    let access = ca.clone().with_token_file(&dev.directory.join("admin.token")).expect("it is there");
    let client =
        Client::with_access([place.clone()], &access).expect("one is named").with_patience(Duration::from_secs(10));
    runtime.block_on(async {
        client.put("k", "v").await.expect("an administrator may write");
        let entry = client.get("k").await.expect("and read").expect("what was written");
        assert_eq!(entry.value.as_bytes(), b"v");
        for (what, access) in [("nobody", ca), ("somebody who trusts nobody", Access::default())] {
            let stranger = Client::with_access([place.clone()], &access).expect("one is named");
            let told = stranger.with_patience(Duration::from_millis(500)).get("k").await;
            assert!(told.is_err(), "{what}: {told:?}");
        }
        // The certificate that users are shown opens no door for nodes, nor do users' logins.
        let other = Client::with_access([format!("127.0.0.1:{nodes}")], &access).expect("one is named");
        let told = other.with_patience(Duration::from_millis(500)).get("k").await;
        assert!(told.is_err(), "{told:?}");
    });
    for port in [users, nodes] {
        let mut stream = connect(port).expect("a node that lives takes connections");
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .expect("a connection that was just taken is open");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&answer));
    }
    for (file, mode) in [("ca.key", 0o600), ("admin.token", 0o600), ("node-0.conf/node.key", 0o600), ("node-0", 0o700)]
    {
        let found = fs::metadata(dev.directory.join(file)).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(found, mode, "{file}: {found:o}");
    }
}

/// A node by itself whose certificates end in so many days, and the directory that they were made in.
struct Ending {
    child: Child,
    directory: PathBuf,
    http: u16,
}

impl Ending {
    fn start(days: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("zazen-ending-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        let out = directory.join("security");
        output(0, &["setup", "--cluster-name=own", "--days", days, "--out", &out.display().to_string(), "127.0.0.1"]);
        let (http, file) = (free_port(), out.join("127.0.0.1/zazen.yml"));
        let mut command = zazen(&["start", "-c", &file.display().to_string(), "-E", "transport.tcp.port=0"]);
        command.args(["-E", "discovery.type=single-node"]);
        command.arg("-E").arg(format!("http.port={http}"));
        command.arg("-E").arg(format!("path.data={}", directory.join("data").display()));
        let child = command.stdout(Stdio::null()).spawn().expect("the command can be run");
        Ending { child, directory, http }
    }

    /// What the command tells whom the administrator has run it.
    fn told(&self, command: &str) -> String {
        let security = self.directory.join("security");
        let mut command = zazen(&[command, "--url", &self.http.to_string()]);
        command.arg("--ca").arg(security.join("ca.crt")).arg("--token-file").arg(security.join("admin.token"));
        let told = command.output().expect("the command can be run");
        String::from_utf8_lossy(&told.stdout).into_owned()
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

#[test]
fn a_certificate_that_ends_soon_is_told_and_what_is_printed_renews_it() {
    let node = Ending::start("5");
    let told = wait_for(|| Some(node.told("explain")).filter(|told| told.contains("certificate-expires")));
    let told = told.unwrap_or_else(|| panic!("{}", node.told("explain")));
    let line = told.lines().skip_while(|line| !line.contains("type:")).nth(1).expect("something is to be typed");
    let typed = Command::new("sh").args(["-c", line.trim()]).output().expect("a shell runs");
    assert!(typed.status.success(), "{line}\n{}", String::from_utf8_lossy(&typed.stderr));
    let told =
        wait_for(|| Some(node.told("explain")).filter(|told| told.contains("is master") && !told.contains("expires")));
    assert!(told.is_some(), "{}", node.told("explain"));
}
