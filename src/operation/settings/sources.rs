//! What settings may come from: a file with places in it, the environment and the command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// All that settings may come from.
#[derive(Clone, Debug)]
pub struct Sources<'a> {
    /// The configuration file, if there is one.
    pub file: Option<FileText<'a>>,
    /// The environment: for `ZAZEN_…` variables and for placeholders.
    pub environment: &'a BTreeMap<String, String>,
    /// Keys and values from the command line.
    pub arguments: &'a [(String, String)],
    /// The directory of the configuration.
    pub path_conf: PathBuf,
}

/// The text of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileText<'a> {
    /// The file, as the user named it.
    pub name: &'a str,
    /// What is in it.
    pub text: &'a str,
}

impl FileText<'_> {
    /// The text at a place of it.
    pub(super) fn written(&self, span: Span) -> Option<String> {
        let line = self.text.lines().nth(span.line.checked_sub(1)?)?;
        let text: String = line.chars().skip(span.column.checked_sub(1)?).take(span.width).collect();
        Some(text).filter(|text| !text.is_empty())
    }
}

/// Characters of one line of a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) line: usize,
    pub(super) column: usize,
    /// How many there are.
    pub(super) width: usize,
}
