//! The page of all settings, made from the registry.

use super::spell::time;
use super::{Preset, REGISTRY, Setting, Topic};
use crate::zen::Tuning;
use std::fmt::Write;

const HEAD: &str = "\
<!-- Made from src/settings by `ZAZEN_BLESS=1 cargo test --test settings`. -->

# Settings

Every setting that Zazen has, with the default that holds when none is given.
Keys and values are those of Elasticsearch 6.8; a value that it would refuse is refused here, in its words.
A **dynamic** setting can be changed in a running cluster; a **static** one is read when a node starts.
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
    for setting in REGISTRY {
        let (default, original) = (default(setting), setting.original.unwrap_or("the same"));
        let _ = writeln!(table, "| `{}` | {default} | {original} | {} |", setting.key, update(setting));
    }
    table
}

fn update(setting: &Setting) -> &'static str {
    if setting.is_dynamic() { "dynamic" } else { "static" }
}

fn default(setting: &Setting) -> String {
    let value = setting.effective::<&str>(&[]);
    match setting.preset {
        Preset::Fixed(_) => format!("`{value}`"),
        Preset::Follows { key, times, by: 1 } => format!("{times} × `{key}` = `{value}`"),
        Preset::Follows { key, times: 1, by } => format!("`{key}` / {by} = `{value}`"),
        Preset::Follows { key, times, by } => format!("{times} × `{key}` / {by} = `{value}`"),
    }
}

fn section(setting: &Setting) -> String {
    let original = setting.original.map(|original| format!(" Elasticsearch 6.8: {original}.")).unwrap_or_default();
    format!(
        "\n### `{}`\n\n*{}; {}.*\nDefault: {}.{original}\n\n{}\n",
        setting.key,
        setting.kind,
        update(setting),
        default(setting),
        setting.doc
    )
}
