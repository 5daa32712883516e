//! The row of a flaw in `docs/flaws.md`.

use super::{Flaw, PlayOutcome, play};

/// What the page says of a flaw: its script is played for it, under its rules and under ours.
pub fn row(flaw: &Flaw) -> String {
    let Flaw { id, title, source, dialect, file, cure, .. } = flaw;
    let seen = match play(flaw, Some(*dialect)) {
        PlayOutcome::Flawed(evidence) => evidence,
        PlayOutcome::Clean => "**nothing**".into(),
        PlayOutcome::Broken(why) => format!("**{why}**"),
    };
    let here = match play(flaw, None) {
        PlayOutcome::Clean => "does not happen".into(),
        PlayOutcome::Flawed(evidence) => format!("**{evidence}**"),
        PlayOutcome::Broken(why) => format!("**{why}**"),
    };
    format!("| [{id}](../tests/flaws/{file}) | {title} | {source} | `{dialect}` | {seen} | {here}: {cure} |")
}
