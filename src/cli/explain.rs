//! `zazen explain`: what is wrong with a cluster, how that is known, and what to type.

use super::ask::{Asker, UrlArgs, nobody};
use super::status::{View, called};
use super::verdict::tell;
use super::{CommandError, CommandOutcome};
use crate::diagnose::Standing;
use crate::runtime::printable::line;
use clap::Args;
use std::io::{self, Write};

/// Tell what is wrong with a cluster, how that is known, and what to type.
///
/// The first node that answers asks all others that answer, with a master and without. What the codes mean stands in
/// docs/troubleshooting.md.
///
/// Exit codes: 0 there is a master and nothing is wrong, 1 there is a master and something is wrong, 2 the node has no
/// master, or no node answers, or the arguments make no sense.
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    urls: UrlArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ExplainArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let runtime = super::runtime()?;
        let view = runtime.block_on(self.first_view())?;
        match self.json {
            true => writeln!(out, "{:#}", view.data())?,
            false => print(&view, out)?,
        }
        Ok(match view.standing() {
            Standing::Sound => CommandOutcome::Fine,
            Standing::Reduced => CommandOutcome::Broken,
            Standing::NoMaster => CommandOutcome::Ended(2),
        })
    }

    async fn first_view(&self) -> Result<View, CommandError> {
        let asker = Asker::new(&self.urls.access()?)?;
        let mut tried = Vec::new();
        for place in asker.awake_first(self.urls.places()).await {
            match View::of(&asker, &place).await {
                Ok(view) => return Ok(view),
                Err(why) => tried.push((place, why)),
            }
        }
        Err(CommandError::Usage(nobody(&tried)))
    }
}

fn print(view: &View, out: &mut impl Write) -> io::Result<()> {
    line(out, format_args!("{} ({}), {}: {}", called(&view.node), view.node.address, view.does(), view.summary))?;
    if let Some(losses) = view.losses_survived {
        line(out, format_args!("it survives the loss of {losses} more of the nodes whose votes count"))?;
    }
    if let Some(remark) = &view.remark {
        line(out, format_args!("{remark}"))?;
    }
    for verdict in &view.verdicts {
        tell(verdict, out)?;
    }
    if view.verdicts.is_empty() || view.master_node.is_some() {
        for advice in &view.advice {
            line(out, format_args!("  - {advice}"))?;
        }
    }
    Ok(())
}
