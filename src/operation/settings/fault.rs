//! What is wrong with what a user gave: where, what, and the line itself.

use super::sources::{FileText, Span};
use std::fmt;

/// After so many faults no more are looked for.
pub(super) const FAULTS_MAX: usize = 20;

/// More characters of a message, which may hold a whole value, are not shown.
const MESSAGE_MAX: usize = 1_000;

/// More of a line is not shown.
const WIDTH_MAX: usize = 100;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// `file:line:column`, an environment variable, or an argument.
    place: Box<str>,
    message: String,
    excerpt: Option<Excerpt>,
    remedies: Option<Box<[Remedy]>>,
}

/// What to do with a line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The line, counted from 1.
    pub line: usize,
    /// What.
    pub way: Way,
}

/// How a line is mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Its first such text, a key, becomes another one.
    Key(String, String),
    /// Its last such text, a value, becomes another one.
    Value(String, String),
    /// It becomes another one, or several.
    Line(String),
    /// It is better without.
    Remove,
}

/// The line of a file that a fault is in.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Excerpt {
    line: usize,
    text: String,
    /// What stands before the caret: blanks, and tabs where the text has them.
    indent: String,
    /// How many characters are meant.
    width: usize,
}

impl Fault {
    /// A fault outside of a file.
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Fault { place: printed(&place.into()).into(), message: printed(&message.into()), excerpt: None, remedies: None }
    }

    /// A fault in a file.
    pub(super) fn in_file(file: &FileText<'_>, span: Span, message: impl Into<String>) -> Self {
        let place = format!("{}:{}:{}", file.name, span.line, span.column).into();
        let line = file.text.lines().nth(span.line.saturating_sub(1)).unwrap_or_default();
        let excerpt = Some(Excerpt::new(line, span));
        Fault { place, message: printed(&message.into()), excerpt, remedies: None }
    }

    /// The same fault, with what to do about it.
    pub(super) fn with_remedy(self, remedy: Option<Remedy>) -> Self {
        self.with_remedies(remedy.map(|remedy| vec![remedy]))
    }

    /// The same fault, with all that is to be done about it.
    pub(super) fn with_remedies(self, remedies: Option<Vec<Remedy>>) -> Self {
        Fault { remedies: remedies.map(Into::into), ..self }
    }
}

/// A text that is not too long, without what would move the cursor.
fn printed(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    let cut = if text.chars().nth(MESSAGE_MAX).is_some() { "…" } else { "" };
    text.chars().take(MESSAGE_MAX).map(escaped).chain([cut.to_owned()]).collect()
}

impl Excerpt {
    /// The part of a line that holds the span.
    fn new(line: &str, span: Span) -> Self {
        let start = span.column.saturating_sub(1);
        // Of a long line, what is around the place.
        let skipped = start.saturating_sub(WIDTH_MAX / 2);
        let shown: String = line.chars().skip(skipped).take(WIDTH_MAX).map(printable).collect();
        let before = start - skipped;
        let indent: String = shown.chars().chain(std::iter::repeat(' ')).take(before).map(blank).collect();
        let width = span.width.clamp(1, shown.chars().count().saturating_sub(before).max(1));
        Excerpt { line: span.line, text: shown.trim_end().into(), indent, width }
    }
}

/// Tabs stay, other characters that move the cursor do not.
fn printable(c: char) -> char {
    if c.is_control() && c != '\t' { '\u{fffd}' } else { c }
}

fn blank(c: char) -> char {
    if c == '\t' { '\t' } else { ' ' }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        let Some(Excerpt { line, text, indent, width }) = &self.excerpt else {
            return Ok(());
        };
        let (number, carets) = (line.to_string(), "^".repeat(*width));
        let margin = " ".repeat(number.len());
        write!(f, "\n {margin} |\n {number} | {text}\n {margin} | {indent}{carets}")
    }
}

/// What is wrong, as far as it was looked at; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl From<Vec<Fault>> for Faults {
    /// Those in a file come first, in the order of its lines.
    fn from(mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| fault.excerpt.as_ref().map_or(usize::MAX, |excerpt| excerpt.line));
        Faults(faults)
    }
}

impl Faults {
    /// The first one, with its place, in a line; the place alone where the line in question is not to be told.
    pub fn first(&self, is_told: impl Fn(&str) -> bool) -> String {
        let Some(Fault { place, message, excerpt, .. }) = self.0.first() else { return String::new() };
        let line = excerpt.as_ref().map_or(message, |excerpt| &excerpt.text);
        if is_told(line) && is_told(message) { format!("{place}: {message}") } else { place.to_string() }
    }

    /// What to do about all of them, if that is known of each.
    pub(super) fn remedies(&self) -> Option<Vec<Remedy>> {
        let all: Option<Vec<&[Remedy]>> = self.0.iter().map(|fault| fault.remedies.as_deref()).collect();
        Some(all?.concat())
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.0.iter().enumerate() {
            if at > 0 {
                write!(f, "\nerror: ")?;
            }
            write!(f, "{fault}")?;
        }
        if self.0.len() >= FAULTS_MAX {
            write!(f, "\nerror: this is so much that the rest was not looked at")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_underlined() {
        let text = "a: 1\n\tb: x\n";
        let fault = Fault::in_file(&FileText { name: "f.yml", text }, Span { line: 2, column: 5, width: 9 }, "no");
        assert_eq!(fault.to_string(), "f.yml:2:5: no\n   |\n 2 | \tb: x\n   | \t   ^");
    }

    #[test]
    fn of_a_long_line_the_place_is_shown() {
        let text = format!("{}here{}", "é".repeat(5_000), "x".repeat(5_000));
        let span = Span { line: 1, column: 5_001, width: 4 };
        let shown = Fault::in_file(&FileText { name: "f", text: &text }, span, "no").to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[2], format!(" 1 | {}here{}", "é".repeat(50), "x".repeat(46)));
        assert_eq!(lines[3], format!("   | {}^^^^", " ".repeat(50)));
    }

    #[test]
    fn a_place_behind_the_end_is_shown_as_well() {
        let file = FileText { name: "f", text: "a" };
        let shown = Fault::in_file(&file, Span { line: 7, column: 3, width: 0 }, "no").to_string();
        assert_eq!(shown, "f:7:3: no\n   |\n 7 | \n   |   ^");
    }
}
