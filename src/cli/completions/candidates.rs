//! What may stand where a shell asks: keys and values of settings, and what a cluster has.
//!
//! Who does not answer at once has nothing: nobody waits at a prompt.

use super::super::ask::{Asker, UrlArgs};
use crate::settings::{Kind, REGISTRY, Setting};
use clap::{Args, Command, FromArgMatches};
use clap_complete::CompletionCandidate;
use serde_json::Value;
use std::ffi::OsStr;
use std::time::Duration;

/// How long a cluster may take to answer.
const PATIENCE: Duration = Duration::from_millis(400);

/// What tells whom to ask, and how.
const OURS: [&str; 3] = ["--url", "--ca", "--token-file"];

/// How many keys are told of.
const KEYS_MAX: &str = "200";

/// Any setting of a node, as `KEY=VALUE`.
pub(in crate::cli) fn setting_value(current: &OsStr) -> Vec<CompletionCandidate> {
    pairs(current, |setting| setting.has_effect())
}

/// A setting that a running cluster can be told, as `KEY=VALUE`.
pub(in crate::cli) fn key_value(current: &OsStr) -> Vec<CompletionCandidate> {
    pairs(current, Setting::is_dynamic)
}

/// A setting that a running cluster can be told.
pub(in crate::cli) fn setting(current: &OsStr) -> Vec<CompletionCandidate> {
    let dynamic = REGISTRY.iter().filter(|setting| setting.is_dynamic());
    beginning(dynamic.map(|setting| candidate(setting, setting.stem().to_owned())), current)
}

fn pairs(current: &OsStr, is_wanted: impl Fn(&Setting) -> bool) -> Vec<CompletionCandidate> {
    let text = current.to_string_lossy();
    let wanted = REGISTRY.iter().filter(|setting| is_wanted(setting));
    let Some((key, _)) = text.split_once('=') else {
        let named = |setting: &'static Setting| {
            let end = if setting.is_family() { "" } else { "=" };
            candidate(setting, format!("{}{end}", setting.stem()))
        };
        return beginning(wanted.map(named), current);
    };
    let words = wanted.filter(|setting| setting.key == key).flat_map(words);
    beginning(words.map(|word| CompletionCandidate::new(format!("{key}={word}"))), current)
}

/// The values of a setting, if they are words.
fn words(setting: &Setting) -> Vec<&'static str> {
    match &setting.kind {
        Kind::Boolean => vec!["true", "false"],
        Kind::Enum { words, .. } | Kind::Words { words, .. } => words.to_vec(),
        Kind::Level => vec!["off", "fatal", "error", "warn", "info", "debug", "trace", "all"],
        Kind::Time { .. }
        | Kind::Integer { .. }
        | Kind::Bytes { .. }
        | Kind::Memory
        | Kind::Ports
        | Kind::Port
        | Kind::Name { .. }
        | Kind::String
        | Kind::List
        | Kind::Hook
        | Kind::Url => Vec::new(),
    }
}

/// With the first sentence of its documentation.
fn candidate(setting: &Setting, text: String) -> CompletionCandidate {
    let sentence = setting.doc.lines().next().unwrap_or_default();
    CompletionCandidate::new(text).help(Some(sentence.to_owned().into()))
}

fn beginning(all: impl Iterator<Item = CompletionCandidate>, current: &OsStr) -> Vec<CompletionCandidate> {
    let begin = current.as_encoded_bytes();
    all.filter(|one| one.get_value().as_encoded_bytes().starts_with(begin)).collect()
}

/// The names of the nodes.
pub(in crate::cli) fn nodes(current: &OsStr) -> Vec<CompletionCandidate> {
    named(ask("/_cat/nodes?local=true&format=json&h=name"), "name", current)
}

/// The keys that begin so.
pub(in crate::cli) fn keys(current: &OsStr) -> Vec<CompletionCandidate> {
    let prefix = current.to_string_lossy();
    let query = [("prefix", &*prefix), ("limit", KEYS_MAX), ("local", "true")];
    let Ok(url) = reqwest::Url::parse_with_params("http://node/_zazen/kv", query) else { return Vec::new() };
    let told = ask(&format!("{}?{}", url.path(), url.query().unwrap_or_default()));
    named(told.map(|told| told["keys"].clone()), "key", current)
}

/// The leases that are held.
pub(in crate::cli) fn leases(current: &OsStr) -> Vec<CompletionCandidate> {
    named(ask("/_zazen/lease?local=true").map(|told| told["leases"].clone()), "name", current)
}

/// What the elements of a list are called.
fn named(list: Option<Value>, field: &str, current: &OsStr) -> Vec<CompletionCandidate> {
    let list = list.unwrap_or_default();
    let names = list.as_array().into_iter().flatten().filter_map(|one| one[field].as_str());
    beginning(names.map(CompletionCandidate::new), current)
}

/// What the first node says that answers, of those that the line names.
fn ask(path: &str) -> Option<Value> {
    let runtime = crate::cli::runtime().ok()?;
    runtime.block_on(async {
        let urls = urls()?;
        let asker = Asker::new(&urls.access().ok()?).ok()?;
        for place in urls.places() {
            if let Ok(told) = asker.ask(&place, path, PATIENCE).await {
                return Some(told);
            }
        }
        None
    })
}

/// Whom to ask, as the line says that is being typed: of all its words those that tell this.
fn urls() -> Option<UrlArgs> {
    let command = UrlArgs::augment_args(Command::new("zazen").no_binary_name(true));
    let words: Vec<String> = std::env::args_os()
        .filter_map(|word| word.into_string().ok())
        .skip_while(|word| word != "--")
        .skip(1)
        .collect();
    let is_ours = |word: &str| OURS.contains(&word.split('=').next().unwrap_or_default());
    let mut chosen = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_value = at > 0 && OURS.contains(&words[at - 1].as_str());
        if is_ours(word) || is_value {
            chosen.push(word);
        }
    }
    UrlArgs::from_arg_matches(&command.try_get_matches_from(chosen).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(candidates: &[CompletionCandidate]) -> Vec<String> {
        candidates.iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn keys_of_settings_are_known_and_the_words_that_are_their_values() {
        let of = |text: &str| texts(&setting_value(OsStr::new(text)));
        assert_eq!(of("discovery.zen.ping_t"), ["discovery.zen.ping_timeout="]);
        assert_eq!(of("node.attr"), ["node.attr."], "a family has names of its own");
        assert_eq!(of("discovery.type=si"), ["discovery.type=single-node"]);
        assert_eq!(of("node.master="), ["node.master=true", "node.master=false"]);
        assert!(of("no.such").is_empty());
    }

    #[test]
    fn a_running_cluster_is_told_only_what_is_dynamic() {
        let all = texts(&key_value(OsStr::new("discovery.zen.fd.")));
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(texts(&setting(OsStr::new(""))).iter().all(|key| key != "cluster.name"));
    }
}
