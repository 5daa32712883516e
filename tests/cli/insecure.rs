//! Settings in force that weaken what keeps strangers out are named before a node runs.

use super::{Folder, ends_with};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// What each of these is told by.
const WEAK: [(&str, &str); 7] = [
    ("zazen.security.allow_open: true", "[zazen.security.allow_open: true]"),
    ("zazen.security.users: users", "[zazen.security.users: users]"),
    ("zazen.security.http.certificate: http.crt", "[zazen.security.http.certificate: http.crt]"),
    ("transport.host: 192.0.2.1\nzazen.security.secret: secret", "[zazen.security.secret: secret]"),
    ("http.cors.enabled: true\nhttp.cors.allow-origin: '*'", "[http.cors.allow-origin: \"*\"]"),
    ("zazen.http.allowed_hosts: '*'", "[zazen.http.allowed_hosts: \"*\"]"),
    ("zazen.faults.enabled: true", "[zazen.faults.enabled: true]"),
];

#[test]
fn check_config_names_every_insecure_setting() {
    let folder = Folder::new("insecure-check");
    for (lines, expected) in WEAK {
        folder.file("zazen.yml", format!("{lines}\n").as_bytes());
        let (code, out, err) = folder.check_config("-c zazen.yml", &[]);
        // Where a node would not find its files it would not start.
        let is_missing = ["users: users", "http.crt", "secret: secret"].iter().any(|file| lines.contains(file));
        let is_refused = ["cannot read", "belong together"].iter().any(|why| err.contains(why));
        let (expected_code, is_told) = if is_missing { (2, is_refused) } else { (0, err.is_empty()) };
        assert!(code == Some(expected_code) && is_told, "{lines}: {code:?} {err}");
        let told: Vec<&str> = out.lines().filter(|line| line.starts_with("insecure: ")).collect();
        assert!(matches!(told[..], [line] if line.contains(expected)), "{lines}: {out}");
    }
}

/// What the doctor says of a file with these lines, for ports and a directory that are free, if it ends with this code.
fn doctor(folder: &Folder, code: i32, lines: &str, more: &str) -> String {
    let data = folder.0.join("data");
    let common =
        format!("http.port: 0\ntransport.port: 0\ndiscovery.type: single-node\npath.data: {}\n", data.display());
    folder.file("zazen.yml", format!("{common}{lines}\n").as_bytes());
    ends_with(code, &format!("doctor{more} -c {}", folder.0.join("zazen.yml").display())).0
}

#[test]
fn the_doctor_names_what_lets_strangers_in_and_what_keeps_a_node_from_starting() {
    let folder = Folder::new("insecure-doctor");
    let users = folder.0.join("users");
    fs::write(&users, "# nobody yet\n").expect("the folder of a test can be written to");
    fs::set_permissions(&users, Permissions::from_mode(0o600)).expect("it is the test's own");
    assert!(doctor(&folder, 0, "", "").contains("ok  no setting weakens what keeps strangers out"));
    for (lines, expected) in WEAK.into_iter().filter(|(lines, _)| !lines.starts_with("transport.host")) {
        // A certificate without its key is no start.
        let code = if lines.contains("http.certificate") { 2 } else { 1 };
        let out = doctor(&folder, code, lines, "");
        assert!(out.contains("insecure-setting") && out.contains(expected), "{lines}: {out}");
    }
    let line = "zazen.security.http: {certificate: http.crt, key: http.key}";
    for are_there in [false, true] {
        let told = doctor(&folder, 1, "zazen.security.users: users", "");
        assert_eq!(told.contains(line), are_there, "no line names files that are not there: {told}");
        for file in ["http.crt", "http.key"] {
            folder.file(file, b"");
        }
    }
    let missing = doctor(&folder, 2, "zazen.security.secret: nowhere", "");
    assert!(missing.contains("bad-settings: cannot read") && missing.contains("nowhere"), "{missing}");
    fs::set_permissions(&users, Permissions::from_mode(0o644)).expect("it is the test's own");
    let readable = doctor(&folder, 2, "zazen.security.users: users", "");
    assert!(readable.contains("chmod 600 ") && readable.contains(" start -c "), "{readable}");
    let open = doctor(&folder, 1, "http.host: 0.0.0.0\nzazen.security.allow_open: true", "");
    assert!(open.contains("open-to-strangers") && open.contains("http listens beyond loopback"), "{open}");
    let refused = doctor(&folder, 2, "http.host: 0.0.0.0", "");
    let is_command =
        |line: &str| line.trim_start().starts_with("zazen setup --out security ") && !line.contains("0.0.0.0");
    assert!(refused.lines().any(is_command) && refused.contains("bad-settings"), "{refused}");
}

#[test]
fn the_doctor_tells_programs_the_same() {
    let folder = Folder::new("doctor-json");
    let told = doctor(&folder, 2, "http.host: 0.0.0.0", " --json");
    let told: serde_json::Value = serde_json::from_str(&told).expect("it is JSON");
    assert_eq!(
        (&told["would_not_start"], &told["verdicts"][0]["code"]),
        (&true.into(), &"bad-settings".into()),
        "{told}"
    );
    let ok = told["ok"].as_array().expect("what is well is a list");
    assert!(ok.iter().any(|line| line.as_str().is_some_and(|line| line.starts_with("transport can listen"))), "{told}");
}

#[test]
fn setup_makes_no_second_authority_where_certificates_are_and_tells_where_the_key_is() {
    let folder = Folder::new("setup-without-key");
    let (made, copied) = (folder.0.join("made"), folder.0.join("copied"));
    let setup = |code: i32, out: &std::path::Path, more: &str| {
        ends_with(code, &format!("setup --cluster-name shop {more} --out {} 10.0.0.1", out.display()))
    };
    setup(0, &made, "");
    fs::create_dir_all(&copied).expect("the folder of a test can be written to");
    for name in ["node.crt", "ca.crt"] {
        fs::copy(made.join("10.0.0.1").join(name), copied.join(name)).expect("it was made");
    }
    let key = format!("which is [{}] on [", fs::canonicalize(&made).expect("it is there").display());
    for (more, asked) in [("--renew", "make certificates anew"), ("", "make certificates for more hosts")] {
        let (_, said) = setup(1, &copied, more);
        assert!(said.contains(asked) && said.contains("there is no ca.key") && said.contains(&key), "{said}");
    }
    assert!(!copied.join("ca.key").exists());
    setup(0, &made, "--renew");
}

#[test]
fn setup_goes_on_under_the_name_that_its_authority_has() {
    let folder = Folder::new("setup-cluster");
    let out = folder.0.join("security");
    let setup = |code: i32, more: &str| ends_with(code, &format!("setup {more} --out {}", out.display())).1;
    setup(0, "--cluster-name shop 10.0.0.1");
    setup(0, "10.0.0.2");
    let written = fs::read_to_string(out.join("10.0.0.2/zazen.yml")).expect("it was made");
    assert!(written.starts_with("cluster.name: \"shop\"\n"), "{written}");
    let said = setup(1, "--renew --cluster-name prod 10.0.0.1");
    assert!(said.contains("its authority is that of cluster [shop]; allowed: --cluster-name shop"), "{said}");
}

#[test]
fn setup_takes_no_name_that_certificates_could_name_no_address_for() {
    let folder = Folder::new("setup-names");
    let out = folder.0.join("made");
    // Names are not that long, so nobody else is asked.
    let name = "n".repeat(64);
    let (_, said) = ends_with(1, &format!("setup --out {} {name}", out.display()));
    let told = format!("cannot find the address of [{name}]");
    assert!(said.contains(&told) && said.contains("allowed: an address") && !out.exists(), "{said}");
    ends_with(0, &format!("setup --out {} localhost", out.display()));
}

#[test]
fn a_node_that_names_no_file_that_setup_made_for_it_is_told_to_start_with_these() {
    let folder = Folder::new("setup-unnamed");
    let out = folder.0.join("made");
    ends_with(0, &format!("setup --out {} 127.0.0.1", out.display()));
    let (host, file) = (out.join("127.0.0.1"), out.join("127.0.0.1/zazen.yml"));
    let text = "network.host: 0.0.0.0\nhttp.port: 0\ntransport.port: 0\nzazen.security.secret: cluster.secret\n\
                zazen.security.certificate: node.crt\nzazen.security.key: node.key\nzazen.security.authorities: ca.crt\n";
    fs::write(&file, text).expect("it was made");
    let (_, said) = ends_with(2, &format!("start -c {} -E path.data={}", file.display(), out.join("data").display()));
    for name in ["users", "http.certificate", "http.key"] {
        assert!(said.contains(&format!(" -E zazen.security.{name}={}/", host.display())), "{said}");
    }
    assert!(!said.contains("-E zazen.security.secret"), "{said}");
}

#[test]
fn check_config_tells_that_a_port_would_be_open() {
    let folder = Folder::new("insecure-open");
    folder.file("zazen.yml", b"network.host: 192.0.2.1\n");
    let (code, _, err) = folder.check_config("-c zazen.yml", &[]);
    assert!(code == Some(2) && err.contains("zazen setup --out security 192.0.2.1"), "{code:?} {err}");
}

#[test]
fn a_host_that_is_added_looks_for_those_that_were_there() {
    let folder = Folder::new("setup-more");
    let out = folder.0.join("made");
    let setup = |more: &str| ends_with(0, &format!("setup --out {} {more}", out.display()));
    setup("10.0.0.1 10.0.0.2");
    setup("10.0.0.3");
    let written = fs::read_to_string(out.join("10.0.0.3/zazen.yml")).expect("it was made");
    assert!(written.contains("unicast.hosts: [\"10.0.0.1\", \"10.0.0.2\", \"10.0.0.3\"]"), "{written}");
    let (_, refused) = ends_with(2, &format!("setup --out {} 0.0.0.0", out.display()));
    assert!(refused.contains("no address that others reach"), "{refused}");
}

#[test]
fn all_hosts_have_the_users_and_the_secret_that_stand_beside_the_authority() {
    let folder = Folder::new("setup-shared");
    let out = folder.0.join("made");
    let setup = |more: &str| ends_with(0, &format!("setup --out {} {more}", out.display())).0;
    let user = |more: &str| ends_with(0, &format!("user --file {} {more}", out.join("users").display())).0;
    let of_host = |name: &str| fs::read_to_string(out.join("10.0.0.1").join(name)).expect("it was made");
    setup("10.0.0.1");
    user("add billing --role operate --keys billing/");
    assert!(of_host("users").contains("billing operate"), "{}", of_host("users"));
    user("add billing --role read");
    let line = of_host("users").lines().find(|line| line.starts_with("billing read")).map(ToOwned::to_owned);
    assert!(line.is_some_and(|line| line.ends_with(" keys=billing/")), "another token gives no other keys");
    fs::write(out.join("cluster.secret"), "0123456789abcdef0123456789abcdef\n").expect("it was made");
    setup("--renew 10.0.0.1");
    assert_eq!(of_host("cluster.secret"), "0123456789abcdef0123456789abcdef\n");
    // What was changed in one place only is not thrown away.
    fs::write(out.join("10.0.0.1/users"), "").expect("it was made");
    let said = setup("");
    assert!(said.contains("10.0.0.1/users  is newer than the one beside ca.key, and stays"), "{said}");
    assert_eq!(of_host("users"), "");
}
