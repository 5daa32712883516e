//! Texts as a configuration file has them: bare where YAML reads them as they are, else in quotes.

/// What a bare value does not begin with.
const MARKS: &str = "!&*-?|>@`\"%#{}[],:'=<~";

/// What reads as something else than a text.
const WORDS: [&str; 12] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", ".inf", "+.inf", ".nan"];

/// A text as the value of a setting.
pub fn yaml(text: &str) -> String {
    let is_bare = !text.is_empty()
        && text.trim() == text
        && !text.starts_with(|char| MARKS.contains(char))
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && !text.chars().any(is_escaped)
        && !is_no_text(text);
    if is_bare { text.to_owned() } else { in_quotes(text) }
}

/// A text in quotes, as it may stand in a list.
pub(super) fn in_quotes(text: &str) -> String {
    let escaped = |char: char| match char {
        '"' | '\\' => format!("\\{char}"),
        _ if is_escaped(char) => format!("\\u{:04x}", u32::from(char)),
        _ => char.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// Control characters, and those that end a line or begin a file.
fn is_escaped(char: char) -> bool {
    char.is_control() || ['\u{2028}', '\u{2029}', '\u{feff}'].contains(&char)
}

/// Whether YAML takes it for a number, a time, a day, a truth or nothing.
fn is_no_text(text: &str) -> bool {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_parted = |by: char| text.contains(by) && text.split(by).all(is_digits);
    let is_based = || text.starts_with("0x") || text.starts_with("0o") || text.starts_with("0b");
    let is_number = || text.replace('_', "").parse::<f64>().is_ok();
    let is_word = || WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    is_parted(':') || is_parted('-') || is_based() || is_number() || is_word()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_yaml_reads_as_it_is_stays_bare() {
        for text in
            ["shop", "prod#1", "a:b", "127.0.0.1:9300", "10.0.0.1", "/var/lib/zazen data", "_local_", "es-1", "größe"]
        {
            assert_eq!(yaml(text), text);
        }
    }

    #[test]
    fn what_yaml_reads_otherwise_stands_in_quotes() {
        let same = [
            "",
            " a",
            "a ",
            "prod #1",
            "a: b",
            "a:",
            "#a",
            "*",
            "::1",
            "- a",
            "[a]",
            "'a'",
            "12",
            "1.5",
            "1e3",
            "1_000",
            "0x1f",
            "22:30",
            "2020-01-01",
            "True",
            "no",
            "NULL",
            "~",
            ".inf",
            "=",
        ];
        for text in same {
            assert_eq!(yaml(text), format!("\"{text}\""), "{text}");
        }
        assert_eq!(yaml("\"a\\b\""), r#""\"a\\b\"""#);
        assert_eq!(yaml("a\nb\u{1b}[2J"), r#""a\u000ab\u001b[2J""#);
    }
}
