//! The `zazen` command as a process: what it prints where, and how it ends.

#[path = "cli/alone.rs"]
mod alone;
#[path = "cli/doctor.rs"]
mod doctor;
#[path = "cli/insecure.rs"]
mod insecure;
#[path = "cli/interrupt.rs"]
mod interrupt;
#[path = "cli/lab.rs"]
mod lab;
#[path = "process/ports.rs"]
mod ports;

use alone::Alone;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Help is read in terminals of this width.
const WIDTH: usize = 79;

/// All that the command can do.
const SUBCOMMANDS: [&str; 18] = [
    "start",
    "dev",
    "status",
    "explain",
    "events",
    "check-config",
    "doctor",
    "kv",
    "lease",
    "member",
    "settings",
    "run",
    "state",
    "recover",
    "sim",
    "lab",
    "completions",
    "man",
];

/// Runs the command with arguments that hold no spaces.
fn zazen(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
    command.args(arguments.split_whitespace()).env("COLUMNS", "200");
    command.output().expect("the command that was built with this test can be run")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the command prints UTF-8")
}

/// What the command prints and says, if it ends with this code.
fn ends_with(code: i32, arguments: &str) -> (String, String) {
    let output = zazen(arguments);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "zazen {arguments}\n{out}\n{err}");
    (out, err)
}

/// A directory for one test, gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the folder for the files of tests can be written to");
        Folder(path)
    }

    fn file(&self, name: &str, text: &[u8]) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("it lies in the folder")).expect("the folder can be written to");
        fs::write(path, text).expect("the folder can be written to");
    }

    /// What `zazen check-config` prints and says in this directory, and its exit code.
    fn check_config(&self, arguments: &str, environment: &[(&str, &str)]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
        command.arg("check-config").args(arguments.split_whitespace()).current_dir(&self.0);
        command.env_clear().envs(environment.iter().copied());
        let output = command.output().expect("the command that was built with this test can be run");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file for one test, gone afterwards.
struct Script(PathBuf);

impl Script {
    fn new(name: &str, text: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, text).expect("the folder for the files of tests can be written to");
        Script(path)
    }

    fn play(&self) -> String {
        format!("sim --scenario {}", self.0.display())
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn runs_that_break_no_rule_end_with_a_summary() {
    let (out, err) = ends_with(0, "sim --runs 5 --updates 60 --jobs 2");
    for label in ["runs", "events", "updates asked for", "acknowledged", "faults", "median", "disturbances outlived"] {
        assert!(out.lines().any(|line| line.trim_start().starts_with(label)), "no line `{label}` in\n{out}");
    }
    assert!(out.ends_with("\nNo rule was broken.\n"), "{out}");
    assert!(err.contains("5 of 5 runs, "), "{err}");
}

#[test]
fn what_runs_show_goes_into_a_page_between_its_marks() {
    let marks =
        |name: &str, text: &str| format!("# {name}\n<!-- measured: {name} -->\n{text}<!-- end of measured -->\n");
    let [runs, crowd] = ["zazen sim", "zazen sim --crowd"].map(|name| marks(name, "As it was.\n"));
    let page = Script::new("page.md", &format!("{runs}{crowd}"));
    let write = |arguments: &str| ends_with(0, &format!("sim {arguments} --markdown {}", page.0.display())).0;
    let printed = write("--runs 2 --updates 20");
    let quoted = format!("\n```text\n{}\n```\n\n", printed.trim());
    let written = || fs::read_to_string(&page.0).expect("the page can be read");
    assert_eq!(written(), marks("zazen sim", &quoted) + &crowd);
    write("--runs 2 --updates 20 --crowd 2");
    assert!(!written().contains("As it was."), "{}", written());
    let (_, err) = ends_with(2, &format!("sim --around tests/golden --runs 9 --markdown {}", page.0.display()));
    assert!(err.contains("has no line `<!-- measured: zazen sim --around -->`"), "{err}");
}

#[test]
fn what_runs_show_does_not_depend_on_the_threads() {
    let figures = |jobs: &str| {
        let (out, _) = ends_with(0, &format!("sim --runs 6 --updates 20 --until 4000 --jobs {jobs}"));
        let is_timed = |line: &&str| line.contains(" thread") || line.contains("/s") || line.contains("times as fast");
        out.lines()
            .filter(|line| !is_timed(line))
            .map(|line| line.split_whitespace().collect())
            .collect::<Vec<String>>()
    };
    assert_eq!(figures("1"), figures("3"));
}

#[test]
fn a_single_run_prints_its_trace_up_to_the_event_that_is_asked_for() {
    let (out, err) = ends_with(0, "sim --seed 3 --runs 1 --nodes 3 --trace full --until 200 --lines 7");
    assert!(out.starts_with("seed 3: 3 nodes"), "{out}");
    let trace: Vec<&str> = out.split("\n\n").nth(1).expect("the trace is a paragraph").lines().collect();
    assert_eq!(trace.len(), 7, "{out}");
    let last: Option<u64> = trace[6].split_whitespace().nth(1).and_then(|event| event.parse().ok());
    // Not every event has a line.
    assert!(last.is_some_and(|last| (190..=200).contains(&last)), "{out}");
    assert_eq!(err, "");
}

#[test]
fn a_run_that_breaks_a_rule_says_how_to_see_it_again() {
    let broken = "sim --runs 10 --updates 20 --jobs 2 --without whole-commits -E discovery.zen.commit_timeout=500ms";
    let (out, err) = ends_with(1, broken);
    assert!(out.contains("\nFAIL ") && out.contains(" runs broke a rule.\n"), "{out}\n{err}");
    let replay = out.lines().find_map(|line| line.strip_prefix("replay: zazen ")).expect("a failure can be replayed");
    let (again, _) = ends_with(1, &replay.replace("--trace full", "--trace short --lines 3"));
    let verdict =
        |out: &str| out.lines().skip_while(|line| !line.starts_with("FAIL ")).take(2).collect::<Vec<_>>().concat();
    assert_eq!(verdict(&again), verdict(&out));
    assert!(!out.contains("depends on more than its seed"), "{out}");
    assert!(!err.contains("panicked"), "{err}");
}

#[test]
fn changed_stories_break_no_rule_but_that_of_a_missing_protection() {
    let (out, _) = ends_with(0, "sim --around tests/golden --runs 150");
    assert!(out.starts_with("150 runs around ") && out.contains(", 0 failed, in "), "{out}");
    let (out, _) = ends_with(1, "sim --around tests/golden --runs 100 --jobs 1 --without every-bootstrap");
    assert!(out.contains("\nFAIL S"), "{out}");
    let replay = out.lines().find_map(|line| line.strip_prefix("replay: zazen ")).expect("a failure can be replayed");
    let (again, _) = ends_with(1, replay);
    let story = |out: &str| out.split("\nreplay: ").next().map(str::to_owned);
    assert_eq!(story(&again), story(&out));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let unknown = "error: unknown setting [discovery.zen.ping_timout] did you mean [discovery.zen.ping_timeout]?\n";
    let cases = [
        ("sim -E discovery.zen.ping_timout=1s", unknown),
        ("sim -E discovery.zen.ping_timeout=100", "as a time value: unit is missing or unrecognized"),
        ("sim -E discovery.zen.commit_timeout=1ms", "must be >= [500ms] and <= [365d]"),
        ("sim -E discovery.zen.fd.ping_retries=0", "must be >= 1"),
        ("sim -E discovery.zen.fd.ping_retries", "allowed: KEY=VALUE"),
        ("sim --runs 0", "0 is not in 1.."),
        ("sim --nodes 0", "0 is not in 1..=1000"),
        ("sim --seed 18446744073709551615", "make seeds above"),
        ("sim --trace loud", "[possible values: short, full]"),
        ("sim --scenario a.txt --seed 7", "cannot be used with"),
        ("sim --scenario no/such/file", "cannot read no/such/file"),
        ("dance", "unrecognized subcommand 'dance'"),
    ];
    for (arguments, expected) in cases {
        let (out, err) = ends_with(2, arguments);
        assert!(err.contains(expected), "zazen {arguments}: no `{expected}` in\n{err}");
        assert_eq!(out, "");
    }
}

#[test]
fn a_scenario_is_printed_with_what_the_nodes_say() {
    let story = "# A node that is alone elects itself.\n\nnodes a\nstart\nnotes off\nstabilise\n----\n";
    let script = Script::new("alone.txt", story);
    let (out, err) = ends_with(0, &script.play());
    assert!(out.starts_with(story) && out.contains("a leads alone in term 1"), "{out}");
    assert_eq!(err, "");
}

#[test]
fn a_scenario_that_goes_otherwise_is_told_with_its_line() {
    let script =
        Script::new("otherwise.txt", "# It says so.\n\nnodes a\n----\nok\n\nstart\nnotes off\nmasters\n----\nb\n");
    let (out, err) = ends_with(1, &script.play());
    assert!(out.contains("\n----\nok\n"), "{out}");
    assert!(err.contains("otherwise.txt:7: the nodes say something else than expected here"), "{err}");
}

#[test]
fn a_scenario_with_a_mistake_is_refused_with_its_line() {
    let script = Script::new("mistake.txt", "# It has one.\n\nnodes a\nstrat\n----\n");
    let (_, err) = ends_with(2, &script.play());
    assert!(err.contains("mistake.txt:4: ") && err.contains("strat"), "{err}");
}

#[test]
fn help_fits_the_width_of_a_terminal() {
    let all = SUBCOMMANDS.iter().flat_map(|name| [format!("{name} --help"), format!("{name} -h")]);
    for arguments in all.chain(["--help".into(), "-h".into()]) {
        let (out, _) = ends_with(0, &arguments);
        let long: Vec<&str> = out.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(long.is_empty(), "zazen {arguments} has lines of more than {WIDTH} characters: {long:#?}");
    }
}

#[test]
fn check_config_prints_what_is_set_and_where() {
    let folder = Folder::new("check-config-prints");
    folder.file(
        "n0.yml",
        b"node.name: n0\nnetwork.host: [_local_, _site_]\nbootstrap.memory_lock: true\npath.data: [a, b]\n",
    );
    let environment = [("ZAZEN_HTTP_PORT", "9250"), ("ZAZEN_PROT", "1")];
    let (code, out, err) = folder.check_config("-c n0.yml -E cluster.name=c", &environment);
    let expected = "\
cluster.name            c                  command line
node.name               n0                 n0.yml:1:12
path.data               [a, b]             n0.yml:4:12
network.host            [_local_, _site_]  n0.yml:2:15
network.bind_host       [_local_, _site_]  follows network.host
network.publish_host    [_local_, _site_]  follows network.host
transport.bind_host     [_local_, _site_]  follows network.host
transport.publish_host  [_local_, _site_]  follows network.host
http.bind_host          [_local_, _site_]  follows network.host
http.publish_host       [_local_, _site_]  follows network.host
http.port               9250               ZAZEN_HTTP_PORT

warning: [path.data] names 2 directories, only the first is used: [a]

warning: the environment variable [ZAZEN_PROT] names no setting, see docs/configuration.md

Known to Elasticsearch, without a meaning here:
  bootstrap.memory_lock  n0.yml:3:24
";
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), expected, ""));

    let (_, all, _) = folder.check_config("-c n0.yml --all", &[]);
    let line =
        all.lines().find(|line| line.starts_with("discovery.zen.ping_timeout ")).expect("all settings are shown");
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["discovery.zen.ping_timeout", "1s", "default"]);
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused_with_its_place() {
    let folder = Folder::new("check-config-refuses");
    folder.file("bad.yml", b"cluster.name: x\ndiscovery.zen.ping_timout: 3s\n");
    folder.file("bytes.yml", b"cluster.name: x\nnode.name: \xff\n");
    folder.file("large.yml", &[b'#'; (1 << 20) + 1]);
    fs::create_dir(folder.0.join("empty")).expect("the folder can be written to");
    let snippet = "\
error: bad.yml:2:1: unknown setting [discovery.zen.ping_timout] did you mean [discovery.zen.ping_timeout]?
   |
 2 | discovery.zen.ping_timout: 3s
   | ^^^^^^^^^^^^^^^^^^^^^^^^^
";
    let cases = [
        ("-c bad.yml", snippet),
        ("-c bytes.yml", "error: bytes.yml:2:12: byte 0xff is not UTF-8, allowed is UTF-8 text\n"),
        ("-c large.yml", "error: large.yml has more than 1048576 bytes, which no file of settings needs\n"),
        ("-c empty", "error: there is neither a zazen.yml nor an elasticsearch.yml in the directory empty\n"),
        ("-E node.master=maybe", "-E node.master=maybe: Failed to parse value [maybe] for setting [node.master]"),
        ("-c no/such/file.yml", "error: cannot read no/such/file.yml: "),
        ("-E node.master", "allowed: KEY=VALUE"),
    ];
    for (arguments, expected) in cases {
        let (code, out, err) = folder.check_config(arguments, &[]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments}\n{err}");
        assert!(err.contains(expected), "zazen check-config {arguments}: no `{expected}` in\n{err}");
    }
}

#[test]
fn a_configuration_is_found_where_it_is_expected() {
    let folder = Folder::new("check-config-finds");
    let nothing = "Nothing is set, so everything has its default.\n";
    assert_eq!(folder.check_config("", &[]).1, nothing);
    folder.file("config/elasticsearch.yml", b"cluster.name: es\n");
    folder.file("here/zazen.yml", b"\xef\xbb\xbfcluster.name: here\r\nnode.name: ${HOST}\r\n");
    folder.file("here/elasticsearch.yml", b"cluster.name: no\n");
    let (es, here) = (
        "cluster.name  es  config/elasticsearch.yml:1:15\n",
        "cluster.name  here  here/zazen.yml:1:15\nnode.name     h     here/zazen.yml:2:12\n\n\
         warning: [here/zazen.yml] is read, and [here/elasticsearch.yml] beside it is not\n",
    );
    let named = here.split("\nwarning").next().expect("it begins with what is set").trim_end_matches('\n');
    let named = format!("{named}\n");
    let cases = [
        ("", vec![], es),
        ("-c config", vec![], es),
        ("-c here", vec![("HOST", "h")], here),
        // Who names a file means it.
        ("-c here/zazen.yml", vec![("HOST", "h")], &named),
        ("", vec![("ZAZEN_PATH_CONF", "here"), ("HOST", "h")], here),
        ("", vec![("ES_PATH_CONF", "here"), ("HOST", "h")], here),
        ("", vec![("ES_PATH_CONF", "config"), ("ZAZEN_PATH_CONF", "here"), ("HOST", "h")], here),
    ];
    for (arguments, environment, expected) in cases {
        let (code, out, err) = folder.check_config(arguments, &environment);
        assert_eq!((code, out.as_str(), err.as_str()), (Some(0), expected, ""), "{arguments} {environment:?}");
    }
    let (code, _, err) = folder.check_config("", &[("ZAZEN_PATH_CONF", "nowhere")]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.starts_with("error: cannot read nowhere: "), "{err}");
}

#[test]
fn the_name_of_the_host_is_known_where_no_variable_has_it() {
    let folder = Folder::new("check-config-host");
    folder.file("zazen.yml", b"node.name: ${HOSTNAME}\n");
    let (code, out, err) = folder.check_config("-c zazen.yml", &[("HOSTNAME", "es1")]);
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "node.name  es1  zazen.yml:1:12\n", ""));
    let (code, out, err) = folder.check_config("-c zazen.yml", &[]);
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.split_whitespace().eq(["node.name", &host, "zazen.yml:1:12"]), "{out}");
}

/// The blocks of code in a page, with their languages.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n')).collect()
}

#[test]
fn the_page_about_configuration_shows_what_is_printed() {
    let page = include_str!("../docs/configuration.md");
    let folder = Folder::new("check-config-page");
    let blocks = blocks(page);
    let mut shown = 0;
    for pair in blocks.windows(2) {
        let [("yaml", file), ("text", session)] = pair else {
            continue;
        };
        let (command, expected) = session.split_once('\n').expect("a session begins with its command");
        let (environment, arguments) = command.split_once("zazen check-config ").expect("it is about this command");
        let environment: Vec<(&str, &str)> =
            environment.split_whitespace().filter_map(|variable| variable.split_once('=')).collect();
        let name = arguments.split_whitespace().nth(1).expect("it names the file");
        folder.file(name, file.as_bytes());
        let (_, out, err) = folder.check_config(arguments, &environment);
        assert_eq!(format!("{out}{err}"), expected, "paste this into docs/configuration.md");
        shown += 1;
    }
    assert_eq!(shown, 2, "of {} blocks", blocks.len());
}

#[test]
fn completions_name_every_subcommand() {
    for shell in ["bash", "zsh", "fish"] {
        let (script, _) = ends_with(0, &format!("completions {shell}"));
        assert!(script.contains("ZAZEN_COMPLETE"), "{script}");
        let out = completed(shell, &["zazen", ""]);
        for name in SUBCOMMANDS {
            assert!(out.contains(name), "the completions of {shell} do not name {name}: {out}");
        }
    }
}

/// What may stand in the place of the last word.
fn completed(shell: &str, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
    let index = (words.len() - 1).to_string();
    command.env("ZAZEN_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", index).env("_CLAP_IFS", "\n").arg("--");
    text(&command.args(words).output().expect("the command that was built with this test can be run").stdout)
}

#[test]
fn completions_know_settings_nodes_keys_and_leases() {
    assert_eq!(completed("bash", &["zazen", "start", "-E", "discovery.zen.join_t"]), "discovery.zen.join_timeout=");
    assert_eq!(
        completed("bash", &["zazen", "settings", "set", "discovery.zen.publish_d"]),
        "discovery.zen.publish_diff.enable="
    );
    let alone = Alone::start();
    let url = format!("--url={}", alone.http);
    ends_with(0, &format!("kv put {url} app/limit 1"));
    ends_with(0, &format!("lease acquire {url} nightly"));
    let of = |words: &[&str]| completed("bash", &[&["zazen"], words].concat());
    assert_eq!(of(&["kv", "get", &url, "app"]), "app/limit");
    assert_eq!(of(&["member", "handover", &url, "a"]), "alone");
    assert_eq!(of(&["lease", "release", &url, "n"]), "nightly");
}

#[test]
fn the_manual_has_a_page_for_every_subcommand() {
    let (whole, _) = ends_with(0, "man");
    assert!(whole.contains(".TH zazen 1"), "{whole}");
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("man-{}", std::process::id()));
    ends_with(0, &format!("man {}", directory.display()));
    for name in SUBCOMMANDS {
        let page = fs::read_to_string(directory.join(format!("zazen-{name}.1"))).unwrap_or_default();
        assert!(page.contains(".TH ") && page.contains(name), "{name}: {page}");
    }
    fs::remove_dir_all(&directory).expect("the pages can be removed");
}

#[test]
fn where_no_node_answers_it_is_told_who_was_asked() {
    let port = ports::free_port();
    for (command, code) in [("status", 1), ("explain", 2)] {
        let (out, err) = ends_with(code, &format!("{command} --url 127.0.0.1:{port}"));
        let told = format!("error: no node answers, tried 127.0.0.1:{port} (refused); name the HTTP address");
        assert!(err.starts_with(&told), "{err}");
        assert_eq!(out, "");
    }
    let (out, _) = ends_with(1, &format!("status --json --url {port}"));
    assert!(out.contains(r#""agreed": false"#), "{out}");
    let (_, err) = ends_with(2, "status --url 127.0.0.1:9200,127.0.0.1:9201");
    assert!(err.contains("repeat --url for each node"), "{err}");
    let (_, err) = ends_with(2, "status --watch=0");
    assert!(err.contains("allowed: seconds from 0.1 to 3600"), "{err}");
}

#[test]
fn a_key_has_one_line_whatever_it_holds() {
    let alone = Alone::start_at(0, "alone-values");
    let url = format!("--url={}", alone.http);
    let put = |key: &str, value: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
        let status = command.args(["kv", "put", &url, key, value]).status();
        assert!(status.is_ok_and(|status| status.success()), "{key}");
    };
    put("app/text", "one\ntwo\tthree");
    put("app/z", "plain");
    let (out, _) = ends_with(0, &format!("kv list {url} --values"));
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() == 2 && lines[0].ends_with(r"  one\ntwo\tthree") && lines[1].ends_with("  plain"), "{out}");
    assert_eq!(ends_with(0, &format!("kv get {url} app/text")).0, "one\ntwo\tthree");
}

#[test]
fn a_node_is_asked_who_is_master_and_why() {
    let node = Alone::start();
    let http = &node.http;
    let (out, _) = ends_with(0, &format!("status --color never --url {http}"));
    assert!(out.starts_with("cluster elasticsearch: alone is master of term 1, the only node sees it\n"), "{out}");
    let row: Vec<&str> = out.lines().last().unwrap_or_default().split_whitespace().collect();
    assert_eq!(row[..7], ["*", "alone", http, "leading", "alone", "1", "1"], "{out}");
    let (painted, _) = ends_with(0, &format!("status --color always --url {http}"));
    assert!(painted.contains("\x1b[32malone is master"), "{painted}");
    let (json, _) = ends_with(0, &format!("status --json --url http://{http}/"));
    assert!(json.contains(r#""agreed": true"#) && json.contains(r#""mode": "leading""#), "{json}");
    let (out, _) = ends_with(0, &format!("explain --url {http}"));
    assert!(out.starts_with("alone (127.0.0.1:") && out.contains("), leading: alone ("), "{out}");
}
