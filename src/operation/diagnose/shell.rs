//! Words as a shell reads them.

/// A word as a shell reads it. What would move the cursor is escaped, as it could not be pasted: bash, zsh and ksh read
/// `$'…'`, and POSIX has it since 2024.
pub fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+=:@,".contains(char);
    if word.chars().any(char::is_control) {
        format!("$'{}'", word.chars().map(escaped).collect::<String>())
    } else if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A character between `$'` and `'`. Three octal digits are one byte in every shell, whatever stands behind them.
fn escaped(char: char) -> String {
    match char {
        '\n' => r"\n".into(),
        '\t' => r"\t".into(),
        '\'' | '\\' => format!("\\{char}"),
        _ if char.is_control() => char.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect(),
        _ => char.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_or_a_terminal_would_take_it_otherwise() {
        let cases = [
            ("a.b=3s", "a.b=3s"),
            ("", "''"),
            ("a=1 h", "'a=1 h'"),
            ("a='", r"'a='\'''"),
            ("~/a", "'~/a'"),
            ("größe", "'größe'"),
            ("/a\tb\nc", r"$'/a\tb\nc'"),
            ("it's\\ \u{1b}7\u{9b}", r"$'it\'s\\ \0337\302\233'"),
        ];
        for (word, expected) in cases {
            assert_eq!(quoted(word), expected);
        }
    }
}
