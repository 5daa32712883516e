//! Who may ask what, where users log in: every route with every credential that is not enough.

use crate::world::{Told, World, local, state_of};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;
use zazen::runtime::secure::{fresh_token, hash_of_password};
use zazen::settings::{NodeSettings, SecuritySettings};

/// The users of a test, and the file of them.
struct Users {
    directory: PathBuf,
    reader: String,
    operator: String,
    admin: String,
    shared: String,
}

impl Drop for Users {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Users {
    fn make(name: &str) -> Self {
        let directory =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("zazen-access-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("the directory for temporary files can be written to");
        let fresh = |name: &str| fresh_token(name).expect("there is entropy");
        let [reader, operator, admin, shared] = ["reader", "operator", "admin", "shared"].map(fresh);
        let password = hash_of_password("correct horse").expect("there is entropy");
        let text = format!(
            "reader read {}\noperator operate {}\nadmin admin {}\nshared admin {} keys=app/ leases=app-*\nelastic admin {password}\n",
            reader.1, operator.1, admin.1, shared.1
        );
        let path = directory.join("users");
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).expect("the directory is there");
        Users { directory, reader: reader.0, operator: operator.0, admin: admin.0, shared: shared.0 }
    }

    fn world(&self) -> World {
        let security = SecuritySettings {
            users: Some(self.directory.join("users")),
            audit: Some(self.directory.join("audit.log")),
            ..SecuritySettings::default()
        };
        World::of(local(), NodeSettings { security, ..NodeSettings::default() }, state_of("led"))
    }

    fn audit(&self) -> String {
        fs::read_to_string(self.directory.join("audit.log")).unwrap_or_default()
    }
}

/// Every route as the page of the API has it: method, path, and the role that it needs.
fn routes() -> Vec<(String, String, String)> {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rest.md")).expect("the page is there");
    let mut found = Vec::new();
    for section in page.split("\n## ").skip(1) {
        let lines: Vec<&str> = section.lines().collect();
        let named = lines.iter().filter(|line| line.starts_with("Also ") || **line == lines[0]);
        let names = named.flat_map(|line| line.split('`').skip(1).step_by(2));
        let role = lines.iter().find_map(|line| line.strip_prefix("Where users log in, it needs the role `"));
        let Some(role) = role.and_then(|role| role.split('`').next()) else { continue };
        let routes = names.filter_map(|name| name.split_once(' '));
        found.extend(routes.map(|(method, path)| (method.to_owned(), filled(path), role.to_owned())));
    }
    assert!(found.len() > 150, "the page lists {} routes only, so nothing was checked", found.len());
    found
}

/// A path with something in the place of what it captures.
fn filled(path: &str) -> String {
    let pieces = path.split('/').map(|piece| if piece.starts_with('{') { "x" } else { piece });
    pieces.collect::<Vec<_>>().join("/")
}

async fn ask(world: &World, (method, path): (&str, &str), login: Option<&str>, body: &str) -> Told {
    let json = [("content-type", "application/json")];
    let headers: Vec<(&str, &str)> = json.into_iter().chain(login.map(|login| ("authorization", login))).collect();
    world.ask(method, path, &headers, body).await
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[tokio::test]
async fn no_route_answers_whoever_is_nobody() {
    let users = Users::make("nobody");
    let world = users.world();
    let before = world.version();
    let (start, last) = users.admin.split_at(users.admin.len() - 1);
    let forged = format!("{start}{}", if last == "0" { "1" } else { "0" });
    let logins = [
        None,
        Some(bearer(&forged)),
        Some(bearer("admin")),
        Some(bearer("nobody.0")),
        Some("Basic !!!".to_owned()),
        Some("Negotiate x".to_owned()),
        Some(format!("bearer{}", users.admin)),
    ];
    // Whoever watches over processes has no password.
    let probes = ["/livez", "/readyz", "/startupz"];
    for (method, path, _) in routes().into_iter().filter(|(_, path, _)| !probes.contains(&path.as_str())) {
        for (at, login) in logins.iter().enumerate() {
            let told = ask(&world, (&method, &path), login.as_deref(), "{}").await;
            // Whoever was wrong too often is told so, which is no answer either.
            let is_refused = matches!(told.status.as_u16(), 401 | 429);
            assert!(is_refused, "{method} {path} with {login:?}: {told:?}");
            assert!(at > 0 || told.header("www-authenticate").is_some(), "{method} {path}: {told:?}");
        }
    }
    assert_eq!(world.version(), before, "nothing was changed");
}

#[tokio::test]
async fn each_route_answers_its_role_and_no_lesser_one() {
    let users = Users::make("roles");
    let world = users.world();
    let before = world.version();
    let mut refused = 0;
    for (method, path, role) in routes() {
        for (name, token) in [("read", &users.reader), ("operate", &users.operator)] {
            let is_less = matches!((name, role.as_str()), ("read", "operate" | "admin") | ("operate", "admin"));
            // What is allowed is done elsewhere; it may wait for something.
            if is_less {
                let told = ask(&world, (&method, &path), Some(&bearer(token)), "{}").await;
                assert_eq!(told.status.as_u16(), 403, "{method} {path} as {name}: {told:?}");
                refused += 1;
            }
        }
    }
    assert!(refused > 15, "{refused}");
    assert_eq!(world.version(), before, "nothing was changed");
    let writes = [
        ("PUT", "/_zazen/kv/k"),
        ("PUT", "/_cluster/settings"),
        ("POST", "/_zazen/handover"),
        ("DELETE", "/_zazen/members/x"),
    ];
    for (method, path) in writes {
        let told = ask(&world, (method, path), Some(&bearer(&users.reader)), "{}").await;
        assert_eq!(told.status.as_u16(), 403, "{method} {path}: {told:?}");
    }
    assert_eq!(ask(&world, ("GET", "/_cat/nodes"), Some(&bearer(&users.reader)), "").await.status, 200);
    assert_eq!(ask(&world, ("PUT", "/_zazen/kv/k"), Some(&bearer(&users.operator)), "x").await.status, 200);
}

#[tokio::test]
async fn whoever_has_a_share_touches_nothing_else() {
    let users = Users::make("share");
    let world = users.world();
    let login = bearer(&users.shared);
    let before = world.version();
    let put = |key: &str| format!("{{\"puts\": [{{\"key\": \"{key}\", \"value\": \"x\"}}]}}");
    let tie = "{\"puts\": [{\"key\": \"app/a\", \"value\": \"x\", \"lease\": {\"name\": \"other\", \"token\": 1}}]}";
    let refused = [
        ("GET", "/_zazen/kv/other/a", String::new()),
        ("PUT", "/_zazen/kv/other/a", "x".into()),
        ("PUT", "/_zazen/kv/app%2Fa?lease=other&token=1", "x".into()),
        ("DELETE", "/_zazen/kv/ap", String::new()),
        ("GET", "/_zazen/kv", String::new()),
        ("GET", "/_zazen/kv?prefix=ap", String::new()),
        ("POST", "/_zazen/txn", put("other")),
        ("POST", "/_zazen/txn", "{\"deletes\": [\"other\"]}".into()),
        ("POST", "/_zazen/txn", "{\"conditions\": [{\"absent\": {\"key\": \"other\"}}]}".into()),
        ("POST", "/_zazen/txn", tie.into()),
        ("GET", "/_zazen/lease", String::new()),
        ("GET", "/_zazen/lease/other", String::new()),
        ("POST", "/_zazen/lease/other", String::new()),
        ("DELETE", "/_zazen/lease/other?token=1", String::new()),
        ("GET", "/_zazen/watch?wait_for=1ms", String::new()),
        ("GET", "/_zazen/watch?prefix=app/&kinds=leases&wait_for=1ms", String::new()),
        ("GET", "/_zazen/state", String::new()),
        ("GET", "/_cluster/state", String::new()),
        ("GET", "/_tasks", String::new()),
        ("PUT", "/_cluster/settings", "{}".into()),
        ("POST", "/_zazen/handover", String::new()),
        ("DELETE", "/_zazen/members/x", String::new()),
    ];
    for (method, path, body) in refused {
        let told = ask(&world, (method, path), Some(&login), &body).await;
        assert_eq!(told.status.as_u16(), 403, "{method} {path} {body}: {told:?}");
        assert!(told.body.contains("security_exception") && told.body.contains("[shared]"), "{told:?}");
    }
    assert_eq!(world.version(), before, "nothing was changed");
    let allowed = [
        ("PUT", "/_zazen/kv/app/a", "x".into()),
        ("GET", "/_zazen/kv/app/a", String::new()),
        ("GET", "/_zazen/kv?prefix=app/", String::new()),
        ("POST", "/_zazen/txn", put("app/b")),
        ("GET", "/_zazen/watch?prefix=app/&wait_for=1ms", String::new()),
        ("POST", "/_zazen/lease/app-1", String::new()),
        ("GET", "/", String::new()),
        ("GET", "/_cat/nodes", String::new()),
    ];
    for (method, path, body) in allowed {
        let told = ask(&world, (method, path), Some(&login), &body).await;
        assert_eq!(told.status.as_u16(), 200, "{method} {path}: {told:?}");
    }
}

#[tokio::test]
async fn a_password_logs_in_as_elasticsearchs_clients_send_it_and_guessing_is_braked() {
    let users = Users::make("password");
    let world = users.world();
    // `elastic:correct horse`, and `elastic:wrong`.
    let (right, wrong) = ("Basic ZWxhc3RpYzpjb3JyZWN0IGhvcnNl", "Basic ZWxhc3RpYzp3cm9uZw==");
    let told = ask(&world, ("GET", "/"), Some(right), "").await;
    assert_eq!(told.status, 200, "{told:?}");
    let told = ask(&world, ("GET", "/"), Some(wrong), "").await;
    assert_eq!(told.status, 401);
    assert!(told.body.contains("unable to authenticate user [elastic]") && !told.body.contains("wrong"), "{told:?}");
    let mut last = told;
    for _ in 0..10 {
        last = ask(&world, ("GET", "/"), Some("Bearer nobody.x"), "").await;
    }
    assert_eq!((last.status.as_u16(), last.header("retry-after").is_some()), (429, true), "{last:?}");
    let told = ask(&world, ("GET", "/"), Some(&bearer(&users.admin)), "").await;
    assert_eq!(told.status, 429, "nor is it heard what is right, before the time is over");
    assert_eq!(ask(&world, ("GET", "/"), Some(right), "").await.status, 200, "who is known goes on");
}

#[tokio::test]
async fn what_is_changed_and_what_is_refused_is_written_down() {
    let users = Users::make("audit");
    let world = users.world();
    ask(&world, ("PUT", "/_zazen/kv/k"), Some(&bearer(&users.operator)), "hidden value").await;
    ask(&world, ("GET", "/_cat/nodes"), Some(&bearer(&users.operator)), "").await;
    ask(&world, ("GET", "/_cat/nodes"), None, "").await;
    ask(&world, ("POST", "/_zazen/handover"), Some(&bearer(&users.reader)), "").await;
    let mut lines = String::new();
    // A thread of its own writes.
    for _ in 0..1_000 {
        lines = users.audit();
        if lines.lines().count() >= 3 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let told: Vec<String> =
        lines.lines().map(|line| line.split_once("\"user\"").expect("it has a user").1.to_owned()).collect();
    let expected = [
        ":\"operator\",\"from\":null,\"method\":\"PUT\",\"target\":\"/_zazen/kv/k\",\"status\":200}",
        ":null,\"from\":null,\"method\":\"GET\",\"target\":\"/_cat/nodes\",\"status\":401}",
        ":\"reader\",\"from\":null,\"method\":\"POST\",\"target\":\"/_zazen/handover\",\"status\":403}",
    ];
    assert_eq!(told, expected, "{lines}");
    for secret in [&users.operator, &users.reader, &"hidden value".to_owned()] {
        assert!(!lines.contains(secret.as_str()), "{lines}");
    }
}
