//! `zazen --version`: which program this is, and what it is made of.
//!
//! `scripts/package` says at the build which commit it is and what is linked; a build without it says so.

use super::CommandError;
use super::CommandOutcome;
use crate::runtime::VERSION;
use std::io::Write;

/// The commit that was built.
const COMMIT: Option<&str> = option_env!("ZAZEN_COMMIT");

/// The packages that are linked, a line each: name, version, licence.
const LINKED: Option<&str> = option_env!("ZAZEN_LINKED");

const UNTOLD: &str = "not told to this build; those of scripts/package know it";

/// Prints the version, and all else that is known of this build if that is wanted.
pub(super) fn print(is_verbose: bool, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
    writeln!(out, "zazen {}", env!("CARGO_PKG_VERSION"))?;
    if is_verbose {
        writeln!(out, "commit: {}", COMMIT.unwrap_or(UNTOLD))?;
        writeln!(out, "for: {} {}", std::env::consts::ARCH, std::env::consts::OS)?;
        writeln!(out, "speaks as: Elasticsearch {VERSION}")?;
        writeln!(out, "licence: {}", env!("CARGO_PKG_LICENSE"))?;
        writeln!(out, "linked, with their licences:")?;
        for line in LINKED.unwrap_or(UNTOLD).lines() {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(CommandOutcome::Fine)
}
