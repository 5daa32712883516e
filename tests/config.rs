//! Configuration files: what is accepted, what is refused and how that is told, and the files of this repository.
//!
//! The cases stand in text files: a title, environment (`$ NAME=value`), arguments (`-E key=value`) and a file, then what
//! comes of it. They are written anew, to be read before they are kept, by the command in [`BLESS`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};
use zazen::cluster::Metadata;
use zazen::settings::{
    self, FileText, Hook, Loaded, NodeSettings, Origin, REGISTRY, SecuritySettings, Sources, sample,
};
use zazen::zen::Tuning;

const BLESS: &str = "ZAZEN_BLESS=1 cargo test --test config";

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name} cannot be read: {error}"))
}

/// Compares a file with what it should hold, after writing that if it is asked for.
fn demand(name: &str, made: &str) {
    if env::var_os("ZAZEN_BLESS").is_some_and(|value| value == "1") {
        fs::write(path(name), made).expect("a file of this repository can be written");
    }
    let found = fs::read_to_string(path(name)).unwrap_or_default();
    let differs = made.lines().zip(found.lines()).position(|(made, found)| made != found);
    let line = differs.unwrap_or_else(|| made.lines().count().min(found.lines().count())) + 1;
    let shown = |text: &str| text.lines().nth(line - 1).unwrap_or("(the end)").to_owned();
    let (new, old) = (shown(made), shown(&found));
    assert!(made == found, "{name}:{line}: `{old}` should be `{new}`; if that is right, write it anew with: {BLESS}");
}

fn load_text(name: &str, text: &str) -> Result<Loaded, String> {
    load(Some((name, text)), &BTreeMap::new(), &[])
}

fn load(
    file: Option<(&str, &str)>,
    environment: &BTreeMap<String, String>,
    arguments: &[(String, String)],
) -> Result<Loaded, String> {
    let file = file.map(|(name, text)| FileText { name, text });
    let sources = Sources { file, environment, arguments, path_conf: "config".into() };
    settings::load(&sources).map_err(|faults| faults.to_string())
}

/// One case of a file of cases.
struct Case<'a> {
    title: &'a str,
    input: &'a str,
}

fn cases(text: &str) -> Vec<Case<'_>> {
    let cases = text.split("### ").skip(1).map(|case| {
        let (title, rest) = case.split_once('\n').expect("a title has a line of its own");
        let (input, _) = rest.split_once("----\n").expect("a case has a line of dashes");
        Case { title, input }
    });
    cases.collect()
}

/// What comes of a case.
fn outcome(input: &str) -> Result<String, String> {
    let pair = |line: &str| {
        let (key, value) = line.split_once('=').expect("a name and a value");
        (key.to_owned(), value.to_owned())
    };
    let environment = input.lines().filter_map(|line| line.strip_prefix("$ ")).map(pair).collect();
    let arguments: Vec<_> = input.lines().filter_map(|line| line.strip_prefix("-E ")).map(pair).collect();
    let is_file = |line: &&str| !line.starts_with("$ ") && !line.starts_with("-E ");
    let file: String = input.lines().filter(is_file).flat_map(|line| [line, "\n"]).collect();
    let loaded = load(Some(("f.yml", &file.replace('→', "\t"))), &environment, &arguments)?;
    Ok(told(&loaded))
}

fn told(loaded: &Loaded) -> String {
    let mut text = String::new();
    for one in loaded.effective.iter().filter(|one| one.origin != Origin::Default) {
        let _ = writeln!(text, "{} = {} ({})", one.key, one.value, one.origin);
    }
    for one in &loaded.without_meaning {
        let _ = writeln!(text, "without meaning: {} ({})", one.key, one.origin);
    }
    for warning in &loaded.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

/// Plays all cases of a file; each must be told as the file has it.
fn play(name: &str, tell: fn(Result<String, String>) -> Result<String, String>) {
    let text = text(name);
    let mut made = String::new();
    for (at, Case { title, input }) in cases(&text).iter().enumerate() {
        let told = tell(outcome(input)).unwrap_or_else(|other| panic!("{name}: {title}\n{input}----\n{other}"));
        let blank = if at > 0 { "\n" } else { "" };
        let _ = write!(made, "{blank}### {title}\n{input}----\n{told}");
    }
    demand(name, &made);
}

#[test]
fn what_is_accepted_takes_effect_as_it_is_told() {
    play("tests/config/accepted.txt", |outcome| outcome);
}

#[test]
fn what_is_refused_is_told_with_its_place() {
    play("tests/config/refused.txt", |outcome| match outcome {
        Ok(accepted) => Err(accepted),
        Err(told) => Ok(format!("error: {told}\n")),
    });
}

#[test]
fn what_goes_over_the_cluster_is_what_is_told_to_do_so() {
    let argument = |key: &&str| ((*key).to_owned(), "2s".to_owned());
    let keys = ["discovery.zen.commit_timeout", "discovery.zen.fd.ping_timeout", "discovery.zen.ping_timeout"];
    let file = "discovery.zen.fd.ping_interval: 1s";
    let loaded = load(Some(("f.yml", file)), &BTreeMap::new(), &keys.each_ref().map(argument));
    let loaded = loaded.expect("nothing is wrong");
    let own: Vec<&str> = loaded.settings.tuning.overrides.iter().copied().collect();
    assert_eq!(own, keys[..2], "the third cannot change, and the fourth is in a file");
    let told = loaded.effective.iter().filter(|one| one.origin == Origin::Override);
    assert_eq!(told.map(|one| one.key.as_str()).collect::<BTreeSet<_>>(), own.into_iter().collect());
}

#[test]
fn no_minimum_of_the_cluster_counts_on_a_node_that_is_one_by_itself() {
    let loaded = load_text("f.yml", "discovery.type: single-node\ndiscovery.zen.minimum_master_nodes: 3");
    let tuning = loaded.expect("nothing is wrong").settings.tuning;
    let mut metadata = Metadata::default();
    metadata.persistent.insert("discovery.zen.minimum_master_nodes".into(), "3".into());
    assert_eq!((tuning.minimum(), tuning.with_dynamic(&metadata).0.minimum()), (0, 0));
}

#[test]
fn without_anything_the_defaults_hold() {
    let loaded = load(None, &BTreeMap::new(), &[]).expect("nothing is wrong");
    assert_eq!(loaded.settings, NodeSettings::default());
    assert_eq!((told(&loaded).as_str(), &loaded.without_meaning[..], &loaded.warnings[..]), ("", &[][..], &[][..]));
}

#[test]
fn the_file_of_all_settings_is_in_step_with_the_registry() {
    demand("config/zazen.yml", &sample());
}

#[test]
fn the_file_of_all_settings_says_what_holds_anyway() {
    let sample = sample();
    let as_it_is = load_text("zazen.yml", &sample).expect("a file of comments is accepted");
    assert_eq!(as_it_is.settings, NodeSettings { file: Some("zazen.yml".into()), ..NodeSettings::default() });

    let uncommented: Vec<&str> =
        sample.lines().filter_map(|line| line.strip_prefix('#').filter(|line| !line.starts_with(' '))).collect();
    let all = load_text("zazen.yml", &uncommented.join("\n")).expect("every default and every example is accepted");
    assert_eq!(told_without_meaning(&all), Vec::<&str>::new());
    let stems = REGISTRY.iter().filter(|setting| setting.has_effect()).map(|setting| setting.stem());
    for stem in stems {
        assert!(uncommented.iter().any(|line| line.starts_with(stem)), "{stem} is missing");
    }
    let mut expected = NodeSettings::default();
    // What is published follows `network.host` where that is given, even if it says what holds anyway.
    expected.transport.publish_hosts = vec!["_local_".into()];
    expected.http.publish_hosts = vec!["_local_".into()];
    expected.node_name = Some("n0".into());
    expected.attributes.insert("rack".into(), "r1".into());
    expected.discovery.hosts = Some(["host1", "host2:9301", "[::1]:9300"].map(String::from).into());
    expected.discovery.zookeeper = vec!["127.0.0.1:2181".into()];
    expected.discovery.initial_master_nodes = Some(["n0", "n1", "n2"].map(String::from).into());
    expected.log.levels.insert("discovery".into(), "debug".into());
    expected.tuning.gateway.recover_after_time = Some(Duration::from_secs(300));
    let file = |name: &str| Some(name.into());
    expected.security = SecuritySettings {
        secret: file("cluster.secret"),
        certificate: file("node.crt"),
        key: file("node.key"),
        authorities: file("ca.crt"),
        http_certificate: file("http.crt"),
        http_key: file("http.key"),
        users: file("users"),
        audit: file("/var/log/zazen/audit.log"),
        allow_open: false,
    };
    expected.log.path = Some("logs".into());
    expected.tracing.endpoint = Some("http://127.0.0.1:4318".into());
    let hooks = REGISTRY.iter().filter_map(|setting| setting.key.strip_prefix("hooks.on_")).collect::<Vec<_>>();
    let on = hooks.iter().map(|name| format!("on_{name}")).map(|name| {
        let hook = Hook::of(&all.settings.given[&format!("hooks.{name}")].elements()).expect("an example can be run");
        (name, hook)
    });
    expected.hooks.on = on.collect();
    assert!(matches!(&expected.hooks.on["on_reduced"], Hook::Exec { arguments, .. } if arguments.len() == 1));
    expected.file = Some("zazen.yml".into());
    expected.given = all.settings.given.clone();
    expected.origins = all.settings.origins.clone();
    expected.in_file = all.settings.in_file.clone();
    assert!(expected.origins.keys().eq(expected.given.keys()), "each is known by its place");
    assert!(expected.in_file.keys().eq(expected.given.keys()), "the file gives each of them");
    assert_eq!(all.settings, expected);
}

fn told_without_meaning(loaded: &Loaded) -> Vec<&str> {
    loaded.without_meaning.iter().map(|one| one.key.as_str()).collect()
}

/// The settings of a file of this repository, which has nothing to warn of.
fn example(name: &str) -> NodeSettings {
    let loaded = load_text(name, &text(name)).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!((&loaded.without_meaning[..], &loaded.warnings[..]), (&[][..], &[][..]), "{name}");
    loaded.settings
}

/// Nodes of one cluster on one machine share a name and their hosts, and nothing else.
fn demand_cluster(nodes: &[NodeSettings]) {
    for (at, node) in nodes.iter().enumerate() {
        for other in &nodes[..at] {
            assert_eq!((&node.cluster_name, &node.discovery), (&other.cluster_name, &other.discovery));
            assert_ne!(node.node_name, other.node_name);
            assert_ne!(node.path_data, other.path_data);
            assert_ne!(node.http.ports, other.http.ports);
            assert_ne!(node.transport.ports, other.transport.ports);
        }
        let hosts = node.discovery.hosts.as_ref().expect("they know each other");
        let own = format!("127.0.0.1:{}", node.transport.ports.first.first);
        assert_eq!(hosts.contains(&own), node.roles.master, "hosts are the nodes that can be master");
    }
}

#[test]
fn three_nodes_are_ready() {
    let nodes = ["n0", "n1", "n2"].map(|name| example(&format!("config/three/{name}.yml")));
    demand_cluster(&nodes);
    assert!(nodes.iter().all(|node| node.roles.master && node.roles.data && node.tuning == Tuning::default()));
}

#[test]
fn five_nodes_have_their_roles() {
    let nodes = ["m0", "m1", "m2", "d3", "x4"].map(|name| example(&format!("config/five/{name}.yml")));
    demand_cluster(&nodes);
    let roles = nodes.map(|node| [node.roles.master, node.roles.data, node.roles.ingest]);
    let (master, data, other) = ([true, false, true], [false, true, false], [false, true, true]);
    assert_eq!(roles, [master, master, master, data, other]);
}

#[test]
fn zen_had_other_timings() {
    let tuning = example("config/zen-timings.yml").tuning;
    let seconds = [
        tuning.ping_timeout,
        tuning.join_timeout,
        tuning.wait_for_joins_timeout,
        tuning.fd_ping_interval,
        tuning.fd_ping_timeout,
        tuning.commit_timeout,
    ]
    .map(|time| time.as_secs_f64());
    assert_eq!((seconds, tuning.fd_ping_retries), ([3.0, 60.0, 30.0, 1.0, 30.0, 30.0], 3));
}

#[test]
fn every_file_in_config_is_loaded_by_a_test() {
    let mut files = Vec::new();
    collect(&path("config"), &mut files);
    files.sort();
    let five = ["d3", "m0", "m1", "m2", "x4"].map(|name| format!("five/{name}.yml"));
    let three = ["n0", "n1", "n2"].map(|name| format!("three/{name}.yml"));
    let alone = ["zazen.yml", "zen-timings.yml"].map(String::from);
    assert_eq!(files, [&five[..], &three, &alone].concat());
}

fn collect(folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder of this repository can be listed") {
        let path = entry.expect("a folder of this repository can be listed").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            let below = path.strip_prefix(self::path("config")).expect("it lies below the folder that was listed");
            files.push(below.display().to_string());
        }
    }
}

#[test]
fn a_users_file_of_elasticsearch_is_accepted() {
    let environment = [("HOSTNAME".to_owned(), "es-1".to_owned())].into();
    let name = "tests/config/elasticsearch.yml";
    let loaded = load(Some((name, &text(name))), &environment, &[]).unwrap_or_else(|faults| panic!("{faults}"));
    let NodeSettings { cluster_name, node_name, discovery, rest, tuning, log, .. } = &loaded.settings;
    assert_eq!((cluster_name.as_str(), node_name.as_deref()), ("logging-prod", Some("es-1")));
    assert_eq!(discovery.hosts.as_ref().map(Vec::len), Some(3));
    assert_eq!((rest.max_content_length, tuning.minimum_master_nodes), (200 << 20, Some(2)));
    assert_eq!(log.path.as_deref(), Some(Path::new("/var/log/elasticsearch")));
    assert_eq!((tuning.ping_timeout.as_secs(), tuning.fd_ping_timeout.as_secs()), (10, 60));
    let without_meaning = told_without_meaning(&loaded);
    for key in ["bootstrap.memory_lock", "xpack.security.enabled"] {
        assert!(without_meaning.contains(&key), "{key} is not named");
    }
    assert_eq!(loaded.warnings, Vec::<String>::new());
}

/// What Elasticsearch 6.8.23 printed for `GET /_cluster/settings?include_defaults&flat_settings`.
fn original() -> BTreeMap<String, serde_json::Value> {
    serde_json::from_str(&text("tests/config/original.json")).expect("it is a map")
}

#[test]
fn every_key_of_elasticsearch_is_accepted_with_its_default() {
    let original = original();
    assert!(original.len() > 300, "there are {}, so most were not recorded", original.len());
    let file: String = original.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
    let loaded = load_text("original.yml", &file).unwrap_or_else(|faults| panic!("{faults}"));
    let heeded: Vec<&str> = loaded.effective.iter().map(|one| one.key.as_str()).collect();
    let accounted = told_without_meaning(&loaded);
    for (key, value) in &original {
        let is_heeded = heeded.contains(&key.as_str());
        let says_nothing = value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty);
        assert!(is_heeded || accounted.contains(&key.as_str()) || says_nothing, "{key} was lost");
    }
}

#[test]
fn every_key_of_elasticsearch_is_accepted_alone() {
    for (key, value) in original() {
        let file = format!("{key}: {value}");
        assert!(load_text("f.yml", &file).is_ok(), "{file}");
    }
}

/// Bytes that depend on nothing but a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// A text with some of its parts lost, doubled, or replaced by what confuses parsers.
fn mutated(text: &str, dice: &mut Dice) -> String {
    const SPICE: [&str; 24] = [
        ":", ": ", "\n", "\t", "- ", "[", "]", "{", "}", "\"", "'", "#", "&a ", "*a", "!", "|", ">", "%", "@", "${",
        "}", ",", "\u{e9}", "\u{0}",
    ];
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..=dice.below(8) {
        let at = dice.below(characters.len() + 1);
        let end = (at + dice.below(12)).min(characters.len());
        match dice.below(3) {
            0 => drop(characters.drain(at..end)),
            1 => {
                let again: Vec<char> = characters[at..end].to_vec();
                let _ = characters.splice(at..at, again).count();
            }
            _ => {
                let _ = characters.splice(at..at, SPICE[dice.below(SPICE.len())].chars()).count();
            }
        }
    }
    characters.into_iter().collect()
}

#[test]
fn no_text_makes_loading_panic() {
    let refused = text("tests/config/refused.txt");
    let accepted = text("tests/config/accepted.txt");
    let users = text("tests/config/elasticsearch.yml");
    let inputs = cases(&refused).into_iter().chain(cases(&accepted)).map(|case| case.input);
    let seeds: Vec<&str> = inputs.chain([users.as_str()]).collect();
    let mut dice = Dice(1);
    let (mut fine, mut wrong) = (0, 0);
    for round in 0..1_500 {
        let text = mutated(seeds[round % seeds.len()], &mut dice);
        match load_text("f.yml", &text) {
            Ok(loaded) => fine += usize::from(told(&loaded).len() < 1_000_000),
            Err(_) => wrong += 1,
        }
    }
    assert!(fine > 30 && wrong > 500, "{fine} were accepted and {wrong} refused, so this shows little");
}

#[test]
fn files_that_are_made_to_hurt_are_refused_in_a_few_lines() {
    let long = 1 << 19;
    let hostile = [
        "[".repeat(long),
        "{".repeat(long),
        "- ".repeat(long),
        "? ".repeat(long / 2),
        "---\n".repeat(long / 4),
        "a: {".repeat(long / 4),
        "a:\n".repeat(long / 2),
        format!("a: {}", "[".repeat(long)),
        format!("a: {}", "&x ".repeat(long / 2)),
        format!("a: !{}", "x".repeat(long)),
        format!("{}: x", "a.".repeat(long / 2)),
        format!("http.port: {}", "9".repeat(long)),
        format!("cluster.name: {}{}", "${".repeat(long / 4), "}".repeat(long / 4)),
        (0..1 << 16).map(|at| format!("k{at}: x\n")).collect(),
        (0..1 << 14).map(|at| format!("{}k{at}:\n", " ".repeat(at % 50))).collect(),
        "cluster.name: x\n".repeat(1 << 15),
        "x".repeat((1 << 20) + 1),
    ];
    for text in hostile {
        let Err(told) = load_text("f.yml", &text) else {
            panic!("{}… was accepted", &text[..20]);
        };
        assert!(told.len() < 50_000, "the error itself has {} bytes", told.len());
    }
}
