//! A file that is no YAML, with the slips put right that anybody sees: a bracket or a quote that is not closed, a colon
//! without a blank behind it or none at all, an equals sign in its place, a tab or a blank before a key.
//!
//! Each line that cannot be read by itself gets what it lacks. That is believed only if the whole file can be read then.

use super::fault::{Remedy, Way};
use super::sources::FileText;
use super::{known, setting, yaml};

/// In longer files nothing is looked for.
const BYTES_MAX: usize = 64 << 10;

/// So many lines are tried.
const TRIED_MAX: usize = 50;

/// What no bare value begins with.
const MARKS: [char; 8] = ['@', '`', '%', '!', '&', '*', '|', '>'];

/// A file that can be read, and what makes it so.
pub(super) struct Repaired {
    pub(super) text: String,
    pub(super) remedies: Vec<Remedy>,
}

/// The file with what was meant in its lines. One line that alone makes it readable is the slip; else it is all of them.
pub(super) fn repaired(text: &str) -> Option<Repaired> {
    if text.len() > BYTES_MAX || is_read(text) {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let meant = |(at, line): (usize, &&str)| Some(Remedy { line: at + 1, way: Way::Line(line_meant(line)?) });
    let all: Vec<Remedy> = lines.iter().enumerate().filter_map(meant).collect();
    let aligned = (1..lines.len()).filter_map(|at| aligned(&lines, at));
    let one = all.iter().cloned().chain(aligned).take(TRIED_MAX).find_map(|remedy| carried_out(&lines, vec![remedy]));
    one.or_else(|| carried_out(&lines, all))
}

/// A line as far indented as the one before it.
fn aligned(lines: &[&str], at: usize) -> Option<Remedy> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (line, before) = (lines[at], lines[at - 1]);
    let is_apart = indent(line) > 0 && indent(before) != indent(line) && !before.trim().is_empty();
    let text = || format!("{}{}", &before[..indent(before)], line.trim_start());
    (is_apart && !before.ends_with(':')).then(|| Remedy { line: at + 1, way: Way::Line(text()) })
}

/// The lines with these others, if they can be read.
fn carried_out(lines: &[&str], remedies: Vec<Remedy>) -> Option<Repaired> {
    let other = |line: usize| {
        remedies.iter().find_map(|remedy| match &remedy.way {
            Way::Line(text) if remedy.line == line => Some(text.as_str()),
            Way::Line(_) | Way::Key(..) | Way::Value(..) | Way::Remove => None,
        })
    };
    let line = |(at, line): (usize, &&str)| format!("{}\n", other(at + 1).unwrap_or(line));
    let text: String = lines.iter().enumerate().map(line).collect();
    is_read(&text).then_some(Repaired { text, remedies })
}

/// A file with remedies carried out.
pub fn mended(text: &str, remedies: &[Remedy]) -> String {
    let line = |(at, line): (usize, &str)| {
        let of_line = remedies.iter().filter(|remedy| remedy.line == at + 1);
        of_line.fold(line.to_owned(), |line, remedy| remedy.way.carried_out(&line)) + "\n"
    };
    text.lines().enumerate().map(line).collect()
}

impl Way {
    fn carried_out(&self, line: &str) -> String {
        match self {
            Way::Key(from, to) => line.replacen(from, to, 1),
            Way::Value(from, to) => {
                match line.split('#').next().unwrap_or(line).rfind(from).or_else(|| line.rfind(from)) {
                    Some(at) => format!("{}{to}{}", &line[..at], &line[at + from.len()..]),
                    None => line.to_owned(),
                }
            }
            Way::Line(text) => text.clone(),
            Way::Remove => format!("#{line}"),
        }
    }
}

fn is_read(text: &str) -> bool {
    yaml::read(&FileText { name: "", text }).is_whole
}

/// What somebody meant by a line that cannot be read, or that stands where its key cannot.
fn line_meant(line: &str) -> Option<String> {
    let body = line.trim_start();
    let indent = &line[..line.len() - body.len()];
    if body.starts_with("//") || body.starts_with(';') {
        return Some(format!("{indent}#{body}"));
    }
    let (content, comment) = body.split_at(body.find(" #").unwrap_or(body.len()));
    let (key, rest) = content.split_at(content.find(|c: char| !is_of_key(c)).unwrap_or(content.len()));
    let is_whole_key = setting(key).is_ok() || known(key).is_some();
    let indent = if is_whole_key { String::new() } else { indent.replace('\t', "  ") };
    if is_read(line) && line.starts_with(&indent) && (!indent.is_empty() || line == body) {
        return None;
    }
    let straight = line.replace(['\u{201c}', '\u{201d}', '\u{201e}'], "\"").replace(['\u{2018}', '\u{2019}'], "'");
    if straight != line && is_read(&straight) {
        return Some(straight);
    }
    let value = value_after(rest, is_whole_key).filter(|value| !value.is_empty() || rest.starts_with(':'))?;
    let blank = if value.is_empty() { "" } else { " " };
    let meant = format!("{indent}{key}:{blank}{}{comment}", value_meant(value)?);
    (!key.is_empty() && meant != line && is_read(&meant)).then_some(meant)
}

fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '*')
}

/// What stands behind a key: after a colon or an equals sign, or after blanks alone if the key is one.
fn value_after(rest: &str, is_whole_key: bool) -> Option<&str> {
    // In a list over several lines these are hosts and ports.
    let is_element = rest.ends_with(',');
    let bare = rest.trim_start();
    let behind_a_sign = bare.strip_prefix([':', '=']).filter(|_| is_whole_key || !is_element);
    let behind_blanks = || Some(bare).filter(|_| is_whole_key && rest.starts_with([' ', '\t']));
    behind_a_sign.or_else(behind_blanks).map(str::trim)
}

/// A value with its brackets and quotes; nothing where it is not clear how they belong together.
fn value_meant(value: &str) -> Option<String> {
    if value.starts_with('[') && value.contains("]:") && !value.starts_with("[[") {
        return Some(quoted(value));
    }
    let value = without_second_bracket(value);
    let (opens, closes) = (value.starts_with('['), value.ends_with(']') && !value.ends_with("]]"));
    let is_bare_list = value.starts_with(QUOTES) && (value.contains("\",") || value.contains("',"));
    if !opens && !closes && !is_bare_list {
        return Some(element_meant(value));
    }
    let inner = value.strip_prefix('[').unwrap_or(value);
    let inner = if closes { inner.strip_suffix(']').unwrap_or(inner) } else { inner };
    let elements: Vec<String> = inner.split(',').map(element_meant).collect();
    // A comma may stand within quotes: then more than one seems to lack its own.
    let changed = elements.iter().zip(inner.split(',')).filter(|(meant, written)| meant != written).count();
    (changed <= 1).then(|| format!("[{}]", elements.join(",")))
}

/// A list with one bracket at the end where there are two of them at one end only.
fn without_second_bracket(value: &str) -> &str {
    let is_address = value.contains("]:");
    match (value.starts_with("[["), value.ends_with("]]")) {
        (true, false) if !is_address => &value[1..],
        (false, true) if !is_address => &value[..value.len() - 1],
        (true, true) | (true, false) | (false, true) | (false, false) => value,
    }
}

const QUOTES: [char; 2] = ['"', '\''];

/// An element with a quote at either end, or at none.
fn element_meant(element: &str) -> String {
    let bare = element.trim();
    let blanks = &element[..element.len() - element.trim_start().len()];
    let (first, last) = (bare.chars().next(), bare.chars().last().filter(|_| bare.len() > 1));
    let [first_quote, last_quote] = [first, last].map(|char| char.filter(|char| QUOTES.contains(char)));
    let meant = match (first_quote, last_quote) {
        (Some(quote), None) => format!("{bare}{quote}"),
        (None, Some(quote)) => format!("{quote}{bare}"),
        (Some(quote), Some(other)) if quote != other => format!("{}{quote}", &bare[..bare.len() - 1]),
        (None, None) if first.is_some_and(|first| MARKS.contains(&first)) => quoted(bare),
        (None, None) if bare.starts_with('[') && bare.contains("]:") => quoted(bare),
        (None, None) if is_with_a_colon(bare) => quoted(bare),
        (Some(_), Some(_)) | (None, None) => return element.to_owned(),
    };
    format!("{blanks}{meant}")
}

/// Whether a value has a colon in it that YAML takes for that of a key, and none is meant.
fn is_with_a_colon(bare: &str) -> bool {
    let ends_with_key = |before: &str| {
        let word = before.split_whitespace().last();
        word.is_some_and(|word| setting(word).is_ok() || known(word).is_some())
    };
    let parts: Vec<&str> = bare.split(": ").collect();
    let is_plain = !bare.contains(['"', '\\', '{', '}', '[', ']']);
    parts.len() > 1 && is_plain && !parts[..parts.len() - 1].iter().any(|before| ends_with_key(before))
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_are_carried_out_in_their_lines_and_in_no_comment() {
        let way = |line, way| Remedy { line, way };
        let remedies = [
            way(1, Way::Key("prot".into(), "port".into())),
            way(2, Way::Value("5".into(), "5s".into())),
            way(3, Way::Line("c: d".into())),
            way(4, Way::Remove),
        ];
        let text = "prot: prot\nt5: 5 # 5 seconds\nc d\ne: f\ng: h\n";
        assert_eq!(mended(text, &remedies), "port: prot\nt5: 5s # 5 seconds\nc: d\n#e: f\ng: h\n");
    }

    fn lines(text: &str) -> Option<Vec<(usize, String)>> {
        let line = |remedy: &Remedy| match &remedy.way {
            Way::Line(text) => (remedy.line, text.clone()),
            Way::Key(..) | Way::Value(..) | Way::Remove => unreachable!("lines are replaced"),
        };
        repaired(text).map(|repaired| repaired.remedies.iter().map(line).collect())
    }

    #[test]
    fn a_slip_in_one_line_is_put_right() {
        let hosts = "discovery.zen.ping.unicast.hosts: ";
        let cases = [
            ("cluster.name:shop", "cluster.name: shop"),
            ("cluster.name shop", "cluster.name: shop"),
            ("// ours", "#// ours"),
            ("cluster.name = shop", "cluster.name: shop"),
            ("cluster.name=shop # ours", "cluster.name: shop # ours"),
            ("  node.name: n1", "node.name: n1"),
            ("\tnode.name: n1", "node.name: n1"),
            ("node.name: \"n1", "node.name: \"n1\""),
            ("node.name: n1\"", "node.name: n1\""),
            ("node.name: 'n1\"", "node.name: 'n1'"),
            ("node.name: @home", "node.name: \"@home\""),
            ("node.name: %h", "node.name: \"%h\""),
            ("node.name: n2: data", "node.name: \"n2: data\""),
            (&format!("{hosts}[\"a:9300\", \"b:9300\""), &format!("{hosts}[\"a:9300\", \"b:9300\"]")),
            (&format!("{hosts}\"a:9300\", \"b:9300\"]"), &format!("{hosts}[\"a:9300\", \"b:9300\"]")),
            (&format!("{hosts}\"a:9300\", \"b:9300\""), &format!("{hosts}[\"a:9300\", \"b:9300\"]")),
            (&format!("{hosts}[\"a:9300, \"b:9300\"]"), &format!("{hosts}[\"a:9300\", \"b:9300\"]")),
            (&format!("{hosts}[\"a:9300\", b:9300\"]"), &format!("{hosts}[\"a:9300\", \"b:9300\"]")),
            (&format!("{hosts}[[a, b, c]"), &format!("{hosts}[a, b, c]")),
            (&format!("{hosts}[a, b]]"), &format!("{hosts}[a, b]")),
            (&format!("{hosts}[::1]:9300"), &format!("{hosts}\"[::1]:9300\"")),
        ];
        for (wrong, right) in cases {
            let text = format!("path.data: d\n{wrong}\nhttp.port: 9200\n");
            let expected = if is_read(&text) { None } else { Some(vec![(2, right.to_owned())]) };
            assert_eq!(lines(&text), expected, "{wrong}");
        }
    }

    #[test]
    fn several_slips_are_put_right_at_once() {
        let text = "cluster.name:shop\nnode:\n\tname: n1\n# ours\nhttp.port: \"9200\npath.data: d\n";
        let expected = [(1, "cluster.name: shop"), (3, "  name: n1"), (5, "http.port: \"9200\"")];
        assert_eq!(lines(text), Some(expected.map(|(line, text)| (line, text.to_owned())).to_vec()));
    }

    #[test]
    fn what_is_indented_too_far_is_put_below_its_kind() {
        let text = "node:\n  name: n1\n   master: true\nhttp.port: 9200\n";
        assert_eq!(lines(text), Some(vec![(3, "  master: true".to_owned())]));
    }

    #[test]
    fn lists_over_several_lines_stay_as_they_are() {
        let hosts = "discovery.zen.ping.unicast.hosts: [\n  a:9300,\n  \"b:9300\",\n  c:9300]\n";
        assert_eq!(lines(&format!("{hosts}node.name:n1\n")), Some(vec![(5, "node.name: n1".to_owned())]));
    }

    #[test]
    fn what_is_not_clear_is_left() {
        for text in [
            "shop",
            "- a\n- b\n",
            "no such thing\nnode.name: a\n",
            "path.data: /d node.name: a\n",
            "discovery.zen.ping.unicast.hosts: [\"a,b\", \"c\nnode.name: a\n",
            "discovery.zen.ping.unicast.hosts: [\n  a,\n  b\nnode.name: a\n",
            "{",
            "",
        ] {
            assert_eq!(lines(text), None, "{text}");
        }
    }
}
