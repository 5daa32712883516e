//! A verdict as people read it. Who came to it, and what else is told with it, is for each command to say.

use crate::diagnose::{Certainty, Verdict};
use crate::runtime::printable::line;
use std::io::{self, Write};

/// A verdict, with what to type on a line of its own.
pub(super) fn tell(verdict: &Verdict, out: &mut impl Write) -> io::Result<()> {
    let certainty = match verdict.certainty {
        Certainty::Certain => "",
        Certainty::Likely => " (likely)",
        Certainty::Possible => " (possible)",
    };
    writeln!(out)?;
    line(out, format_args!("{}{certainty}: {}", verdict.code.name(), verdict.summary))?;
    for evidence in &verdict.evidence {
        line(out, format_args!("  {} says: {}", evidence.by, evidence.what))?;
    }
    let Some(mend) = &verdict.mend else { return Ok(()) };
    let node = mend.node.as_deref().unwrap_or("the node");
    match (mend.place(), mend.is_setting) {
        (Some(place), true) if mend.file.is_some() => line(out, format_args!("  {place}, then restart {node}:"))?,
        (Some(place), true) => line(out, format_args!("  in the configuration of {node} {place}, then restart it:"))?,
        (None, true) => line(out, format_args!("  in the configuration of {node}, then restart it:"))?,
        (Some(place), false) => line(out, format_args!("  type {place}:"))?,
        (None, false) => line(out, format_args!("  type:"))?,
    }
    if let Some(besides) = mend.besides() {
        line(out, format_args!("  ({besides})"))?;
    }
    line(out, format_args!("    {}", mend.line))
}
