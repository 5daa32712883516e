//! How sources and pages look: what they open with, how large they grow, what they are called.

use crate::lexer::{Token, tokens};
use crate::{Finding, Source};
use std::path::Path;

const FILE_LINES_MAX: usize = 700;

const FUNCTION_LINES_MAX: usize = 70;

/// Words that promise work instead of doing it; spelt in halves, so that this file passes its own check.
const PROMISES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "helper", "helpers", "common", "misc"];

pub(crate) fn header(source: &Source) -> Vec<Finding> {
    if source.text.starts_with("//!") {
        return Vec::new();
    }
    let first = source.text.lines().next().unwrap_or("");
    let remedy = "say in one sentence what the file is responsible for, then what it does not do";
    vec![source.finding(1, format!("`{first}`"), "`//! …` as the first line", remedy)]
}

pub(crate) fn promises(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, line) in source.text.lines().enumerate() {
        let words = line.split(|c: char| !c.is_alphanumeric());
        for word in words.filter(|word| PROMISES.contains(word)) {
            let remedy = "do it now, or write down what is missing where the work is planned";
            findings.push(source.finding(at + 1, format!("`{word}`"), "no notes of work left over", remedy));
        }
    }
    findings
}

pub(crate) fn debugging(source: &Source) -> Vec<Finding> {
    let tokens = tokens(&source.text);
    let calls = tokens.windows(2).filter(|pair| pair[0].text == "dbg" && pair[1].text == "!");
    calls.map(|pair| source.finding(pair[0].line, "`dbg!`", "no debugging output", "remove it")).collect()
}

/// Modules whose path is written out. The fuzz package has such of other tests, and is built with other tools than these.
pub(crate) fn paths(source: &Source) -> Vec<Finding> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(Path::new(&source.path).parent().unwrap_or(Path::new("")));
    let tokens = tokens(&source.text);
    let written = tokens.windows(5).filter(|five| {
        let texts: Vec<&str> = five.iter().map(|token| token.text).collect();
        matches!(texts[..], ["#", "[", "path", "=", _])
    });
    let missing = written.map(|five| &five[4]).filter(|path| !folder.join(path.text.trim_matches('"')).is_file());
    let remedy = "name the file where it is now, from the folder of this one";
    missing.map(|path| source.finding(path.line, path.text, "a file that is there", remedy)).collect()
}

pub(crate) fn sizes(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = source.text.lines().count();
    if lines > FILE_LINES_MAX {
        let remedy = "give one of its nouns a file of its own";
        findings.push(source.finding(lines, format!("{lines} lines"), &format!("{FILE_LINES_MAX} a file"), remedy));
    }
    let tokens = tokens(&source.text);
    for at in 0..tokens.len().saturating_sub(1) {
        let names_a_function = tokens[at + 1].text.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if tokens[at].text != "fn" || !names_a_function {
            continue;
        }
        let Some(end) = last_line_of_function(&tokens[at..]) else {
            continue;
        };
        let lines = end - tokens[at].line + 1;
        if lines > FUNCTION_LINES_MAX {
            let found = format!("`fn {}` of {lines} lines", tokens[at + 1].text);
            let remedy =
                "cut along its control flow (the parent decides, the parts compute), or make a table a constant";
            findings.push(source.finding(tokens[at].line, found, &format!("{FUNCTION_LINES_MAX} a function"), remedy));
        }
    }
    findings
}

/// Where the function that `tokens` begin with ends, if it has a body.
fn last_line_of_function(tokens: &[Token<'_>]) -> Option<usize> {
    let (mut braces, mut brackets) = (0, 0);
    for token in tokens {
        match token.text {
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets -= 1,
            "{" => braces += 1,
            "}" => braces -= 1,
            ";" if braces == 0 && brackets == 0 => return None,
            _ => {}
        }
        if token.text == "}" && braces == 0 && brackets == 0 {
            return Some(token.line);
        }
    }
    None
}

pub(crate) fn names(source: &Source) -> Vec<Finding> {
    let allowed = "a noun of the domain for every module";
    let remedy = "name it after what it holds, or move its functions to the types they serve";
    let parts = source.path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part));
    let mut findings: Vec<Finding> = parts
        .filter(|part| EMPTY_NAMES.contains(part))
        .map(|part| source.finding(1, format!("a module named `{part}`"), allowed, remedy))
        .collect();
    let tokens = tokens(&source.text);
    let inline = tokens.windows(3).filter(|three| three[0].text == "mod" && three[2].text == "{");
    for three in inline.filter(|three| EMPTY_NAMES.contains(&three[1].text)) {
        findings.push(source.finding(three[1].line, format!("a module named `{}`", three[1].text), allowed, remedy));
    }
    findings
}

pub(crate) fn titles(source: &Source) -> Vec<Finding> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for (at, line) in source.text.lines().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        if line.starts_with("# ") && !is_code {
            lines.push(at + 1);
        }
    }
    if lines.len() == 1 {
        return Vec::new();
    }
    let line = lines.get(1).copied().unwrap_or(1);
    let remedy = "give the page one `# ` line at its top, and `## ` to its sections";
    vec![source.finding(line, format!("{} titles", lines.len()), "one title a page", remedy)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checker, places, sample};

    #[test]
    fn careless_sources_are_found() {
        let function = |lines: usize| format!("fn f() -> [u8; 2] {{\n{}}}\n", "    '{';\n".repeat(lines - 2));
        let cases: [(Checker, &str, String, &[&str]); 13] = [
            (header, "src/a.rs", "// A file.\n".into(), &["src/a.rs:1"]),
            (header, "src/a.rs", "//! A file.\n".into(), &[]),
            (promises, "src/a.rs", format!("\n// {}: more\n", PROMISES[0]), &["src/a.rs:2"]),
            (promises, "src/a.rs", format!("const A{}B: u8 = 1;", PROMISES[2]), &[]),
            (debugging, "src/a.rs", "fn f() { dbg!(1); let s = \"dbg!\"; }".into(), &["src/a.rs:1"]),
            (paths, "tests/a.rs", "\n#[path = \"tidy/gone.rs\"]\nmod gone;".into(), &["tests/a.rs:2"]),
            (paths, "tests/fuzz/a.rs", "#[path = \"../tidy/looks.rs\"]\nmod looks;".into(), &[]),
            (sizes, "src/a.rs", "\n".repeat(FILE_LINES_MAX + 1), &["src/a.rs:701"]),
            (sizes, "src/a.rs", format!("trait T {{ fn g(&self);\n{} }}", function(71)), &["src/a.rs:2"]),
            (sizes, "src/a.rs", function(70), &[]),
            (names, "src/a/utils.rs", "mod helpers { }".into(), &["src/a/utils.rs:1", "src/a/utils.rs:1"]),
            (titles, "a.md", "# One\n\n# Two\n".into(), &["a.md:3"]),
            (titles, "a.md", "# One\n\n```\n# comment\n```\n".into(), &[]),
        ];
        for (check, path, text, expected) in cases {
            assert_eq!(places(&check(&sample(path, &text))), expected, "in {path}: {text}");
        }
        assert_eq!(titles(&sample("a.md", "Text.\n")).len(), 1, "a page without a title");
    }
}
