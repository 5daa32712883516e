//! `zazen explain`: why there is a master or none, in the words of one node.

use super::ask::{Asker, UrlArgs, nobody};
use super::status::{View, called};
use super::{Outcome, Trouble, failed};
use clap::Args;
use std::io::{self, Write};

/// Tell why there is a master or none, and what to do.
///
/// The first node that answers tells what it knows; nodes may know different things, and `zazen status` asks all of them.
/// What the words mean stands in docs/explain.md.
///
/// Exit codes: 0 the node sees a master, 1 it sees none, or no node answers, 2 the arguments make no sense.
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    urls: UrlArgs,
}

impl ExplainArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<Outcome, Trouble> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed("make a runtime", error))?;
        let view = runtime.block_on(self.first_view())?;
        print(&view, out)?;
        Ok(if view.master_node.is_some() { Outcome::Fine } else { Outcome::Broken })
    }

    async fn first_view(&self) -> Result<View, Trouble> {
        let asker = Asker::new(&self.urls.access()?)?;
        let mut tried = Vec::new();
        for place in self.urls.places() {
            match View::of(&asker, &place).await {
                Ok(view) => return Ok(view),
                Err(why) => tried.push((place, why)),
            }
        }
        Err(Trouble::Failed(nobody(&tried)))
    }
}

fn print(view: &View, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} ({}), {}: {}", called(&view.node), view.node.address, view.mode, view.summary)?;
    for advice in &view.advice {
        writeln!(out, "  - {advice}")?;
    }
    Ok(())
}
