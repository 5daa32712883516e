//! The page of all settings, made from the registry.

use super::spell::time;
use super::{DefaultValue, REGISTRY, Setting, Topic};
use crate::zen::Tuning;
use std::fmt::Write;

const HEAD: &str = "\
<!-- Made from src/operation/settings by `ZAZEN_BLESS=1 cargo test --test pages`. -->

# Settings

Every setting of a node, with the default that holds when none is given; [configuration](configuration.md) tells how they are given.
Keys and values are those of Elasticsearch 6.8; a value that it would refuse is refused here, in its words.
Times that nothing works with are refused as well: the column of Elasticsearch tells where it takes shorter ones.
A **dynamic** setting can be changed in a running cluster; a **static** one is read when a node starts.
What the cluster is told of a dynamic one goes over a node's file and environment, and [what `-E` gives to a node goes over the cluster](configuration.md#settings-of-the-cluster).
One that is marked **–** is Elasticsearch's and has no effect here; many more of these are accepted in a file, and named once in a warning.
Times are a whole number and a unit: `nanos`, `micros`, `ms`, `s`, `m`, `h` or `d`; `0` needs none.
";

/// The page, in Markdown.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    let _ = write!(page, "\n{}\n{}", bounds(), overview());
    for topic in Topic::ALL {
        let _ = write!(page, "\n## {}\n", topic.title());
        for setting in REGISTRY.iter().filter(|setting| setting.topic == topic) {
            page += &section(setting);
        }
    }
    page
}

/// What the settings add up to.
fn bounds() -> String {
    let tuning = Tuning::default();
    format!(
        "With the defaults, a node that falls silent is found out within {}, and once nothing fails any more one master \
         leads all within {}.\nA process that dies is noticed at once, whatever is set here, because its connections \
         close.\n",
        time(tuning.detection_bound()),
        time(tuning.recovery_bound())
    )
}

fn overview() -> String {
    let mut table = "| setting | default | Elasticsearch 6.8 | changes |\n|---|---|---|---|\n".to_owned();
    for topic in Topic::ALL {
        for setting in REGISTRY.iter().filter(|setting| setting.topic == topic) {
            let (default, original) = (default(setting), setting.original.unwrap_or("the same"));
            let changes = if setting.has_effect() { update(setting) } else { "–" };
            let _ = writeln!(table, "| `{}` | {default} | {original} | {changes} |", setting.key);
        }
    }
    table
}

/// When it changes, in a word.
pub(super) fn update(setting: &Setting) -> &'static str {
    if setting.is_dynamic() { "dynamic" } else { "static" }
}

fn default(setting: &Setting) -> String {
    let value = setting.effective::<&str>(&[]).filter(|value| !value.is_empty());
    let value = value.map_or_else(|| "none".into(), |value| format!("`{value}`"));
    match setting.default {
        DefaultValue::Fixed(_) | DefaultValue::Unset { .. } | DefaultValue::First { keys: [], .. } => value,
        DefaultValue::First { keys, .. } => {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            format!("{}, else {value}", keys.join(", "))
        }
        DefaultValue::Follows { key, times, by: 1 } => format!("{times} × `{key}` = {value}"),
        DefaultValue::Follows { key, times: 1, by } => format!("`{key}` / {by} = {value}"),
        DefaultValue::Follows { key, times, by } => format!("{times} × `{key}` / {by} = {value}"),
    }
}

fn section(setting: &Setting) -> String {
    let original = setting.original.map(|original| format!(" Elasticsearch 6.8: {original}.")).unwrap_or_default();
    let effect = if setting.has_effect() { "" } else { "; no effect here" };
    format!(
        "\n### `{}`\n\n*{}; {}{effect}.*\nDefault: {}.{original}\n\n{}\n",
        setting.key,
        setting.kind,
        update(setting),
        default(setting),
        setting.doc
    )
}
