//! Whether the glossary has a row for each file of the core's state machine, and none for a file that is gone.

use std::collections::BTreeSet;

/// What separates the words from the files.
const FILES: &str = "\n## Files of the core\n";

/// Names that the page and the folder do not have in common, each with what is wrong about it.
pub(crate) fn glossary(page: &str, files: &BTreeSet<String>) -> Vec<String> {
    let (_, part) = page.split_once(FILES).unwrap_or_default();
    let rows: Vec<&str> = part.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0)).collect();
    let named: BTreeSet<String> = rows.iter().map(|name| (*name).to_owned()).collect();
    let missing = files.difference(&named).map(|name| format!("{name} has no row"));
    let gone = named.difference(files).map(|name| format!("{name} is no file"));
    let twice = (rows.len() > named.len()).then(|| "a file has two rows".to_owned());
    missing.chain(gone).chain(twice).collect()
}

#[cfg(test)]
mod tests {
    use super::glossary;

    #[test]
    fn rows_that_are_missing_superfluous_or_doubled_are_found() {
        let page = "| `term` | no file |\n\n## Files of the core\n\n| file | … |\n|---|---|\n| `a` | x |\n| `c` | x |\n| `c` | x |\n";
        let files = ["a", "b"].map(str::to_owned).into();
        assert_eq!(glossary(page, &files), ["b has no row", "c is no file", "a file has two rows"]);
    }
}
