//! What others say of themselves, as a terminal may have it.

use std::fmt;
use std::io::{self, Write};

/// The text on one line: a name may hold what clears a screen or looks like a line of ours.
pub fn printable(text: &str) -> String {
    let escaped = |char: char| if char.is_control() { char.escape_default().to_string() } else { char.to_string() };
    text.chars().map(escaped).collect()
}

/// Prints a line.
pub fn line(out: &mut impl Write, text: fmt::Arguments<'_>) -> io::Result<()> {
    writeln!(out, "{}", printable(&text.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_move_the_cursor_is_shown() {
        assert_eq!(printable("größe \u{1b}[2J\r\nok\u{9b}\t"), r"größe \u{1b}[2J\r\nok\u{9b}\t");
    }
}
