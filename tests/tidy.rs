//! What the compiler does not check: who uses whom, what pure modules must not name, and how large things may grow.
//!
//! Reads the sources as text, through a small lexer, and takes the module table from `src/lib.rs`. Comments and string
//! literals are not code: naming a clock in a sentence is fine. Each checker is a function from a source to findings, and
//! tests on small samples beside it show that it can fail.

#[path = "tidy/dependencies.rs"]
mod dependencies;
#[path = "tidy/glossary.rs"]
mod glossary;
#[path = "tidy/layers.rs"]
mod layers;
#[path = "tidy/lexer.rs"]
mod lexer;
#[path = "tidy/looks.rs"]
mod looks;
#[path = "tidy/rooms.rs"]
mod rooms;

use dependencies::dependencies;
use layers::{Table, layers, purity, table};
use looks::{debugging, header, names, paths, promises, sizes, titles};
use rooms::rooms;
use std::path::Path;
use std::process::Command;
use std::{fmt, fs};

/// What no pure package may depend on.
const SERVER_CRATES: [&str; 6] = ["tokio", "axum", "reqwest", "hyper", "tracing", "clap"];

/// The folders below `src` that are packages of their own.
const PACKAGES: [&str; 5] = ["core", "elections", "node", "operation", "simulator"];

/// Those of them that touch nothing outside.
const PURE_PACKAGES: [&str; 4] = ["core", "elections", "operation", "simulator"];

type Checker = fn(&Source) -> Vec<Finding>;

fn library_table() -> (Table, Vec<Finding>) {
    let sources = sources("rs");
    let roots: Vec<&Source> = sources.iter().filter(|source| source.path.ends_with("/lib.rs")).collect();
    table(&roots)
}

fn check_all(extension: &str, checkers: &[Checker]) {
    let sources = sources(extension);
    assert!(!sources.is_empty(), "no .{extension} file was found, so nothing was checked");
    let findings: Vec<Finding> =
        sources.iter().flat_map(|source| checkers.iter().flat_map(|check| check(source))).collect();
    demand_none(&findings);
}

#[test]
fn the_module_table_names_every_module_and_has_no_circle() {
    let (table, findings) = library_table();
    demand_none(&findings);
    assert!(table.pure.contains("zen") && !table.pure.contains("cli"), "zen is pure and the command line is not");
}

#[test]
fn modules_use_only_what_the_table_allows() {
    let (table, _) = library_table();
    let findings: Vec<Finding> = sources("rs").iter().flat_map(|source| layers(source, &table)).collect();
    demand_none(&findings);
}

#[test]
fn modules_of_a_folder_use_one_another_in_one_direction() {
    demand_none(&rooms(&sources("rs")));
}

#[test]
fn pure_modules_name_no_clock_no_entropy_no_socket_and_no_hash_map() {
    let (table, _) = library_table();
    let findings: Vec<Finding> = sources("rs").iter().flat_map(|source| purity(source, &table)).collect();
    demand_none(&findings);
}

#[test]
fn sources_open_with_their_purpose_and_stay_small_and_finished() {
    check_all("rs", &[header, promises, debugging, paths, sizes, names]);
}

#[test]
fn pages_have_one_title_and_are_finished() {
    check_all("md", &[titles, promises]);
}

#[test]
fn the_glossary_has_a_row_for_each_file_of_the_state_machine() {
    let sources = sources("rs");
    let files = sources.iter().filter_map(|source| source.path.strip_prefix("src/core/zen/"));
    let name = |file: &str| {
        let name = file.trim_end_matches(".rs");
        name.strip_suffix("/mod").unwrap_or(name).to_owned()
    };
    let page = include_str!("../docs/glossary.md");
    assert_eq!(glossary::glossary(page, &files.map(name).collect()), Vec::<String>::new());
}

#[test]
fn what_is_pure_depends_on_nothing_of_the_server() {
    let pure = cargo_tree(&[
        "--package",
        "zazen-core",
        "--package",
        "zazen-elections",
        "--package",
        "zazen-operation",
        "--package",
        "zazen-simulator",
    ]);
    assert!(pure.contains("serde"), "the graph is empty, so nothing was checked:\n{pure}");
    assert_eq!(
        server_crates(&pure),
        Vec::<&str>::new(),
        "allowed: none of {SERVER_CRATES:?}; leave it to zazen-node\n{pure}"
    );
    assert!(!server_crates(&cargo_tree(&[])).is_empty(), "the server depends on some of {SERVER_CRATES:?}");
}

#[test]
fn dependencies_have_licences_and_origins_that_are_allowed() {
    demand_none(&dependencies());
}

#[test]
fn only_with_the_simulator_a_protection_can_be_switched_off() {
    let has_switches =
        |args: &[&str]| cargo_tree(&[&["-e", "features"], args].concat()).contains("zazen-core feature \"switches\"");
    assert!(has_switches(&["--package", "zazen-simulator"]), "the simulator turns them on");
    for args in
        [&["--package", "zazen-node"][..], &["--package", "zazen", "--no-default-features", "--features", "node"]]
    {
        assert!(!has_switches(args), "{args:?}: what a node is built of must not turn on `switches` of zazen-core");
    }
}

#[test]
fn a_crate_of_the_server_is_found_by_its_whole_name() {
    assert_eq!(server_crates("zazen v0.1.0 (/x)\ntokio v1.0.0\ntokio-util v0.7\n"), ["tokio"]);
}

/// One thing that is not as it should be.
struct Finding {
    place: String,
    found: String,
    allowed: String,
    remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { place, found, allowed, remedy } = self;
        write!(f, "{place}: found {found}\n    allowed: {allowed}\n    do: {remedy}")
    }
}

fn demand_none(findings: &[Finding]) {
    let report: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(report.is_empty(), "{} to put right:\n\n{}\n", report.len(), report.join("\n\n"));
}

/// A file of this repository.
struct Source {
    /// From the root of the repository, with `/` between its parts.
    path: String,
    text: String,
}

impl Source {
    fn finding(&self, line: usize, found: impl Into<String>, allowed: &str, remedy: &str) -> Finding {
        let place = format!("{}:{line}", self.path);
        Finding { place, found: found.into(), allowed: allowed.into(), remedy: remedy.into() }
    }

    /// The top-level module it belongs to, if it is part of the library.
    fn module(&self) -> Option<&str> {
        let inside = self.path.strip_prefix("src/")?;
        let inside =
            PACKAGES.iter().find_map(|package| inside.strip_prefix(package)?.strip_prefix('/')).unwrap_or(inside);
        let head = inside.split('/').next().unwrap_or(inside);
        match head.strip_suffix(".rs") {
            Some("lib" | "main") => None,
            Some(stem) => Some(stem),
            None => Some(head),
        }
    }

    /// How many modules lie between the crate and the items of this file.
    fn depth(&self) -> usize {
        let is_in_package = self.path.split('/').nth(1).is_some_and(|folder| PACKAGES.contains(&folder));
        let parts = self.path.split('/').count() - 1 - usize::from(is_in_package);
        if self.path.ends_with("/mod.rs") { parts - 1 } else { parts }
    }
}

/// All files below the root whose names end in `.extension`, but for hidden and built ones.
fn sources(extension: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    collect(root, "", extension, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(folder: &Path, prefix: &str, extension: &str, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("a folder of this repository can be listed") {
        let entry = entry.expect("a folder of this repository can be listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().expect("an entry of this repository has a type");
        if name.starts_with('.') || path == "target" {
            continue;
        } else if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), extension, found);
        } else if Path::new(&name).extension().is_some_and(|ending| ending == extension) {
            let text = fs::read_to_string(entry.path()).expect("a source of this repository is UTF-8");
            found.push(Source { path, text });
        }
    }
}

fn server_crates(tree: &str) -> Vec<&str> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| SERVER_CRATES.contains(name)).collect()
}

fn cargo_tree(features: &[&str]) -> String {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "-e", "normal", "--prefix", "none"])
        .args(features)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the cargo that runs this test can be run again");
    assert!(tree.status.success(), "cargo tree failed:\n{}", String::from_utf8_lossy(&tree.stderr));
    String::from_utf8_lossy(&tree.stdout).into_owned()
}

fn sample(path: &str, text: &str) -> Source {
    Source { path: path.into(), text: text.into() }
}

fn places(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.place.as_str()).collect()
}
