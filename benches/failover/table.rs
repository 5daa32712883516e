//! Tables as Markdown, and pages that hold them.

use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The lines in a page between which the newest tables are.
pub(crate) struct Mark {
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
}

/// A table that reads well both as text and as Markdown.
pub(crate) fn table(lines: &[Vec<String>]) -> String {
    let Some(head) = lines.first() else {
        return String::new();
    };
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(text, "| {cell:<width$} ");
        }
        text += "|\n";
        if at == 0 {
            widths.iter().for_each(|width| text += &format!("|{}", "-".repeat(width + 2)));
            text += "|\n";
        }
    }
    text
}

/// Puts the tables between the marks of a page.
pub(crate) fn refresh(page: &Path, Mark { begin, end }: Mark, tables: &str) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("[{}] cannot be refreshed: {error}", page.display());
    let text = fs::read_to_string(page).map_err(cannot)?;
    let parts = text.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let Some((before, after)) = parts else {
        return Err(format!("[{}] has no lines `{begin}` and `{end}` to put the tables between", page.display()));
    };
    fs::write(page, format!("{before}{begin}\n\n{tables}\n{end}{after}")).map_err(cannot)
}
