//! The file that shows every setting with a meaning, made from the registry.

use super::{DefaultValue, REGISTRY, Setting, Topic, page};
use std::fmt::Write;

/// Lines are not longer, where words allow.
const WIDTH: usize = 100;

const HEAD: &str = "\
# Every setting that has a meaning here, with its default or an example.
# Take away the `#` before a setting to give it; lines with a blank behind the `#` explain.
# Keys can be dotted, as here, or nested; docs/configuration.md tells how a file is read.
#
# Made from src/operation/settings by `ZAZEN_BLESS=1 cargo test --test config`.
";

/// The file, in YAML.
pub fn sample() -> String {
    let mut file = HEAD.to_owned();
    for topic in Topic::ALL {
        let settings: Vec<&Setting> =
            REGISTRY.iter().filter(|setting| setting.topic == topic && setting.has_effect()).collect();
        if settings.is_empty() {
            continue;
        }
        let title = topic.title();
        let _ = write!(file, "\n# {title}\n# {}\n", "-".repeat(title.chars().count()));
        for setting in settings {
            file += &entry(setting);
        }
    }
    file
}

fn entry(setting: &Setting) -> String {
    let mut entry = String::from("\n");
    let name = if setting.is_family() { "…" } else { "" };
    let kind = format!("({}; {}; {}{name})", setting.kind, page::update(setting), setting.variable());
    for sentence in setting.doc.lines().chain([kind.as_str()]) {
        for line in wrapped(sentence) {
            let _ = writeln!(entry, "# {line}");
        }
    }
    let _ = writeln!(entry, "#{}", line(setting));
    entry
}

/// How it is given.
fn line(setting: &Setting) -> String {
    match setting.default {
        DefaultValue::Unset { example } => example.to_owned(),
        DefaultValue::Fixed(_) | DefaultValue::Follows { .. } | DefaultValue::First { .. } => {
            let value = setting.effective::<&str>(&[]).unwrap_or_default();
            let value = if value.is_empty() { "[]".into() } else { value };
            format!("{}: {value}", setting.key)
        }
    }
}

/// A sentence in lines.
fn wrapped(sentence: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH - 2 => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}
