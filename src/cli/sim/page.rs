//! What a command measured, on the terminal and between its marks in a page; tables as Markdown.

use crate::cli::{CommandError, CommandOutcome, interrupt};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Where a section ends that a command wrote.
const END: &str = "<!-- end of measured -->";

/// Lines whose columns are aligned; the first is the head.
#[derive(Clone, Debug)]
pub(super) struct Page {
    /// What writes it, as its first mark says.
    command: &'static str,
    rows: Vec<Vec<String>>,
    /// What is said below.
    remarks: Vec<String>,
}

impl Page {
    pub(super) fn new(command: &'static str, head: &[&str]) -> Self {
        Page { command, rows: vec![head.iter().map(ToString::to_string).collect()], remarks: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // A bar would end the cell.
        self.rows.push(cells.into_iter().map(|cell| cell.replace('|', "\\|")).collect());
    }

    pub(super) fn remark(&mut self, sentence: String) {
        self.remarks.push(sentence);
    }

    /// Prints it, and writes it into a page if one is named.
    pub(super) fn publish(&self, file: Option<&Path>, out: &mut impl Write) -> Result<(), CommandError> {
        let text = self.text();
        write!(out, "{text}")?;
        write(file, self.command, &text)
    }

    fn text(&self) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let padded =
            |row: &Vec<String>| line(row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect());
        let mut lines: Vec<String> = self.rows.iter().map(padded).collect();
        lines.insert(1, line(widths.iter().map(|width| "-".repeat(*width)).collect()));
        let remarks: String = self.remarks.iter().map(|remark| format!("{remark}\n")).collect();
        format!("{}\n{remarks}", lines.concat())
    }
}

/// Writes what a command printed into a page if one is named, as it stands.
pub(super) fn quote(file: Option<&Path>, command: &str, text: &str) -> Result<(), CommandError> {
    write(file, command, &format!("```text\n{}\n```", text.trim()))
}

fn write(file: Option<&Path>, command: &str, text: &str) -> Result<(), CommandError> {
    // Half a measurement is none.
    let Some(file) = file.filter(|_| !interrupt::came()) else {
        return Ok(());
    };
    let name = file.display();
    let failed = |what: String| CommandError::Usage(format!("{name}: {what}"));
    let page = fs::read_to_string(file).map_err(|error| failed(format!("cannot be read: {error}")))?;
    let begin = format!("<!-- measured: {command} -->");
    let page = replaced(&page, &begin, text)
        .ok_or_else(|| failed(format!("has no line `{begin}` with a line `{END}` behind it")))?;
    fs::write(file, page).map_err(|error| failed(format!("cannot be written: {error}")))
}

/// The page with another text between the two marks, if it has them.
fn replaced(page: &str, begin: &str, text: &str) -> Option<String> {
    let start = page.find(begin)? + begin.len();
    let end = start + page[start..].find(END)?;
    Some(format!("{}\n\n{}\n\n{}", &page[..start], text.trim(), &page[end..]))
}

/// How a command ends that found so many faults.
pub(super) fn outcome(faults: usize) -> CommandOutcome {
    if faults == 0 { CommandOutcome::Fine } else { CommandOutcome::Broken }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let page = "a\n<!-- measured: x -->\nold\n<!-- end of measured -->\nb\n<!-- end of measured -->\n";
        let expected = "a\n<!-- measured: x -->\n\nnew\n\n<!-- end of measured -->\nb\n<!-- end of measured -->\n";
        assert_eq!(replaced(page, "<!-- measured: x -->", "new\n").as_deref(), Some(expected));
        assert_eq!(replaced(page, "<!-- measured: y -->", "new"), None);
    }

    #[test]
    fn columns_are_aligned() {
        let mut page = Page::new("x", &["a", "long"]);
        page.row(["one".into(), "a|b".into()]);
        page.remark("It is so.".into());
        assert_eq!(page.text(), "| a   | long |\n| --- | ---- |\n| one | a\\|b |\n\nIt is so.\n");
    }
}
