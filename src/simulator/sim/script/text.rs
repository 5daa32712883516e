//! Scripts as text: paragraphs that are comments, and blocks of commands with what they are expected to print.
//!
//! ```text
//! # A paragraph that says what the script shows.
//!
//! nodes a b c
//! start
//! ----
//! ok
//! ```
//!
//! Paragraphs end with an empty line. Lines that begin with `#` above the commands of a block say something about it.
//! Knows nothing of what commands mean.

use super::mistake::Mistake;

/// Stands between the commands of a block and what they print.
const DIVIDER: &str = "----";

/// One line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number in the file; the first has 1.
    pub number: usize,
    /// What it says.
    pub text: String,
}

/// Commands, and what they are expected to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The lines above the divider, comments included.
    pub lines: Vec<Line>,
    /// The lines below it.
    pub expected: Vec<String>,
}

impl Block {
    /// The commands, without comments.
    pub fn commands(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| !line.text.starts_with('#'))
    }

    /// The block as text, with this output.
    pub fn with_output(&self, told: &[String]) -> String {
        format!("{}{DIVIDER}\n{}", joined(&self.lines), told.concat_lines())
    }

    /// The number of its first line.
    pub fn number(&self) -> usize {
        self.lines.first().map_or(0, |line| line.number)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Paragraph {
    Comment(Vec<Line>),
    Block(Block),
}

/// A script that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    paragraphs: Vec<Paragraph>,
}

impl Script {
    /// Reads a script.
    pub fn parse(text: &str) -> Result<Script, Mistake> {
        let mut paragraphs = Vec::new();
        let mut open: Vec<Line> = Vec::new();
        for (index, line) in text.lines().chain([""]).enumerate() {
            if !line.trim().is_empty() {
                open.push(Line { number: index + 1, text: line.trim_end().to_owned() });
            } else if !open.is_empty() {
                paragraphs.push(paragraph(std::mem::take(&mut open))?);
            }
        }
        match paragraphs.first() {
            Some(Paragraph::Comment(_)) => Ok(Script { paragraphs }),
            Some(Paragraph::Block(_)) | None => {
                Err(Mistake::new("a script that does not say what it shows", "a comment paragraph first").at(1))
            }
        }
    }

    /// A script that says this of itself.
    pub(super) fn of(says: &str, blocks: impl IntoIterator<Item = Block>) -> Script {
        let comment = Paragraph::Comment(vec![Line { number: 0, text: format!("# {says}") }]);
        Script { paragraphs: [comment].into_iter().chain(blocks.into_iter().map(Paragraph::Block)).collect() }
    }

    /// The blocks, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.paragraphs.iter().filter_map(|paragraph| match paragraph {
            Paragraph::Comment(_) => None,
            Paragraph::Block(block) => Some(block),
        })
    }

    /// The script as text, with these outputs in the place of those that were expected.
    pub fn with_outputs(&self, outputs: &[Vec<String>]) -> String {
        let mut outputs = outputs.iter();
        let paragraphs = self.paragraphs.iter().map(|paragraph| match paragraph {
            Paragraph::Comment(lines) => joined(lines),
            Paragraph::Block(block) => block.with_output(outputs.next().unwrap_or(&block.expected)),
        });
        paragraphs.collect::<Vec<_>>().join("\n")
    }
}

trait ConcatLines {
    fn concat_lines(&self) -> String;
}

impl ConcatLines for [String] {
    fn concat_lines(&self) -> String {
        self.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn joined(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{}\n", line.text)).collect()
}

fn paragraph(mut lines: Vec<Line>) -> Result<Paragraph, Mistake> {
    let is_comment = |line: &Line| line.text.starts_with('#');
    let Some(divider) = lines.iter().position(|line| line.text == DIVIDER) else {
        return match lines.iter().find(|line| !is_comment(line)) {
            None => Ok(Paragraph::Comment(lines)),
            Some(line) => {
                let read = format!("`{}` in a paragraph without `{DIVIDER}`", line.text);
                Err(Mistake::new(read, "commands, `----`, what they print; or lines that begin with `#`")
                    .at(line.number))
            }
        };
    };
    let expected: Vec<String> = lines.split_off(divider).into_iter().skip(1).map(|line| line.text).collect();
    if lines.iter().all(is_comment) {
        let number = lines.first().map_or(0, |line| line.number);
        return Err(Mistake::new(format!("`{DIVIDER}` without a command above it"), "commands, `----`").at(number));
    }
    Ok(Paragraph::Block(Block { lines, expected }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_written_as_it_was_read() {
        let text = "# What it shows.\n# More.\n\n# About this.\nstart a\nmasters\n----\n  one\n\n# Last.\n";
        let script = Script::parse(text).expect("it is well formed");
        let blocks: Vec<_> = script.blocks().collect();
        assert_eq!(blocks.len(), 1);
        assert_eq!(blocks[0].commands().map(|line| line.number).collect::<Vec<_>>(), [5, 6]);
        assert_eq!(blocks[0].expected, ["  one"]);
        assert_eq!(script.with_outputs(&[vec!["  one".into()]]), text);
        assert_eq!(script.with_outputs(&[vec!["two".into()]]), text.replace("  one", "two"));
    }

    #[test]
    fn a_malformed_script_is_refused_with_its_line() {
        let cases = [
            ("start\n----\n", 1, "does not say what it shows"),
            ("# A.\n\nstart\n", 3, "`start` in a paragraph without `----`"),
            ("# A.\n\n----\nok\n", 0, "without a command"),
            ("# A.\n\n# B.\n----\nok\n", 3, "without a command"),
        ];
        for (text, line, what) in cases {
            let mistake = Script::parse(text).expect_err(text);
            assert_eq!(mistake.line, line, "{text}");
            assert!(mistake.to_string().contains(what), "{mistake}");
        }
    }
}
