//! The row of a flaw in `docs/flaws.md`.

use super::{Flaw, Outcome, play};

/// What the page says of a flaw: its script is played for it, under its rules and under ours.
pub fn row(flaw: &Flaw) -> String {
    let Flaw { id, title, source, dialect, file, cure, .. } = flaw;
    let seen = match play(flaw, Some(*dialect)) {
        Outcome::Flawed(evidence) => evidence,
        Outcome::Clean => "**nothing**".into(),
        Outcome::Broken(why) => format!("**{why}**"),
    };
    let here = match play(flaw, None) {
        Outcome::Clean => "does not happen".into(),
        Outcome::Flawed(evidence) => format!("**{evidence}**"),
        Outcome::Broken(why) => format!("**{why}**"),
    };
    format!("| [{id}](../tests/flaws/{file}) | {title} | {source} | `{dialect}` | {seen} | {here}: {cure} |")
}
