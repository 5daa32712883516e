//! Remedies of a configuration as a line for a shell.

use crate::diagnose::quoted;
use crate::settings::{Remedy, Way};

/// A call of sed that carries remedies out in a file.
pub(in crate::runtime) fn mending(remedies: &[Remedy], file: &str) -> String {
    format!("{} {}", script(remedies), quoted(file))
}

fn script(remedies: &[Remedy]) -> String {
    let commands: Vec<String> = remedies.iter().map(|remedy| format!(" -e {}", quoted(&command(remedy)))).collect();
    format!("sed -i{}", commands.concat())
}

fn command(remedy: &Remedy) -> String {
    let line = remedy.line;
    match &remedy.way {
        Way::Key(from, to) => format!("{line}s/{}/{}/", pattern(from), replacement(to)),
        // The key may hold the same text, and so may a comment.
        Way::Value(from, to) if from.contains('#') => {
            format!("{line}s/\\(.*\\){}/\\1{}/", pattern(from), replacement(to))
        }
        Way::Value(from, to) => format!("{line}s/^\\([^#]*\\){}/\\1{}/", pattern(from), replacement(to)),
        Way::Line(text) => format!("{line}s/.*/{}/", replacement(text).replace('\n', "\\n")),
        Way::Remove => format!("{line}s/^/#/"),
    }
}

fn pattern(text: &str) -> String {
    escaped(text, "\\/.*[]^$")
}

fn replacement(text: &str) -> String {
    escaped(text, "\\/&")
}

fn escaped(text: &str, special: &str) -> String {
    text.chars().flat_map(|char| special.contains(char).then_some('\\').into_iter().chain([char])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_become_one_call_of_sed() {
        let key = Remedy { line: 3, way: Way::Key("ping_timout".into(), "ping_timeout".into()) };
        let value = Remedy { line: 4, way: Way::Value("5/s".into(), "5s".into()) };
        let removed = Remedy { line: 9, way: Way::Remove };
        let expected = r"sed -i -e 3s/ping_timout/ping_timeout/ -e '4s/^\([^#]*\)5\/s/\15s/' -e '9s/^/#/'";
        assert_eq!(script(&[key, value, removed]), expected);
    }
}
