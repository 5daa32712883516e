//! `zazen status`: the nodes of a cluster, and what each of them sees.
//!
//! Asking is done in `survey`, and `picture` shows it; here it is decided how often, where, and how it ends. What is watched
//! is shown with its age, also while nodes are slow to answer.

mod picture;
mod survey;

pub(super) use survey::{View, called, doing, nodes_of};

use super::ask::{Asker, UrlArgs};
use super::paint::{ColorWhen, Paint, Tone};
use super::stopwatch::Stopwatch;
use super::{CommandError, CommandOutcome};
use clap::Args;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;
use survey::{Agreement, Book, Survey};

/// Clears a terminal and goes to its first line.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// How often the age of a picture is told while the next one is waited for.
const TELL_AGE: Duration = Duration::from_secs(1);

/// Show the nodes of a cluster, who is master, and what each node sees.
///
/// One node is asked for the members, then each of them for its own view. If a node sees no master, it tells why and what
/// to do.
///
/// Exit codes: 0 all members, and all nodes that were named, answer and agree on one master, 1 they do not, 2 the arguments
/// make no sense.
#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    urls: UrlArgs,
    /// Ask again every second, or as often as is said, until Ctrl-C.
    ///
    /// Below stands how old the picture is, counted from when the nodes were asked.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1",
          value_parser = pause)]
    watch: Option<Duration>,
    /// Print JSON; with --watch, one object a line.
    #[arg(long)]
    json: bool,
    /// When to use colours.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    color: ColorWhen,
}

fn pause(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "allowed: seconds from 0.1 to 3600".into())
}

impl StatusArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let runtime = super::runtime()?;
        match self.watch {
            None => runtime.block_on(self.once(out)),
            Some(pause) => runtime.block_on(self.again(pause, out)),
        }
    }

    async fn once(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let survey = self.survey(&Asker::new(&self.urls.access()?)?, &mut Book::default()).await;
        if survey.verdict() == Agreement::Nobody && !self.json {
            return Err(CommandError::Failed(picture::headline(&survey)));
        }
        self.show(&survey, out)?;
        Ok(outcome(&survey))
    }

    async fn again(&self, pause: Duration, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let (asker, mut book) = (Asker::new(&self.urls.access()?)?, Book::default());
        let mut last: Option<(Survey, Stopwatch)> = None;
        let interrupted = tokio::signal::ctrl_c();
        tokio::pin!(interrupted);
        loop {
            let asked = Stopwatch::start();
            let survey = self.survey(&asker, &mut book);
            tokio::pin!(survey);
            let survey = loop {
                tokio::select! {
                    survey = &mut survey => break survey,
                    () = tokio::time::sleep(TELL_AGE) => self.redraw(last.as_ref(), true, out)?,
                    _ = &mut interrupted => return Ok(last.map_or(CommandOutcome::Broken, |(survey, _)| outcome(&survey))),
                }
            };
            let known = last.insert((survey, asked));
            self.redraw(Some(known), false, out)?;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = &mut interrupted => return Ok(outcome(&known.0)),
            }
        }
    }

    async fn survey(&self, asker: &Asker, book: &mut Book) -> Survey {
        Survey::take(asker, &self.urls.places(), &self.urls.given(), book).await
    }

    /// Shows a picture with its age, if there is one. Programs are told each once.
    fn redraw(&self, known: Option<&(Survey, Stopwatch)>, is_waiting: bool, out: &mut impl Write) -> io::Result<()> {
        match known {
            Some((survey, _)) if self.json && !is_waiting => self.show(survey, out)?,
            None | Some(_) if self.json => {}
            None => writeln!(out, "asking ...")?,
            Some((survey, asked)) => {
                // Where nothing can be cleared, an empty line stands between two pictures.
                write!(out, "{}", if io::stdout().is_terminal() { CLEAR } else { "\n" })?;
                self.show(survey, out)?;
                let waits = if is_waiting { ", asking again" } else { "" };
                let age = format!("{:.1} s old{waits}", asked.elapsed().as_secs_f64());
                writeln!(out, "\n{}", Paint::new(self.color).paint(Tone::Faint, &age))?;
            }
        }
        out.flush()
    }

    fn show(&self, survey: &Survey, out: &mut impl Write) -> io::Result<()> {
        match (self.json, self.watch) {
            (true, None) => writeln!(out, "{:#}", picture::data(survey)),
            (true, Some(_)) => writeln!(out, "{}", picture::data(survey)),
            (false, _) => write!(out, "{}", picture::picture(survey, Paint::new(self.color))),
        }
    }
}

fn outcome(survey: &Survey) -> CommandOutcome {
    match survey.verdict() {
        Agreement::Agreed(_) if survey.untold.is_none() => CommandOutcome::Fine,
        Agreement::Agreed(_)
        | Agreement::Nobody
        | Agreement::Partly { .. }
        | Agreement::Several(_)
        | Agreement::NoMaster => CommandOutcome::Broken,
    }
}
