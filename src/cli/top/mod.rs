//! `zazen top`: a cluster in a terminal, kept up to date, to look into.
//!
//! Three parts: `feed` asks nodes from a thread of its own, so that a node that is silent does not hold up a key that is
//! pressed; `screen` holds what was told, which page is shown and which row is chosen; `draw` puts that on the terminal. What
//! is told is the same that the dashboard shows; `sheets` makes rows of it.

mod cells;
mod draw;
mod feed;
mod member;
mod overview;
mod page;
mod screen;
mod seen;
mod sheets;

use super::ask::{Asker, UrlArgs};
use super::paint::ColorWhen;
use super::{CommandError, CommandOutcome, failed};
use clap::Args;
use feed::{Feed, News};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use screen::{Next, Screen};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// How long a key is waited for before what was told meanwhile is looked at.
const TICK: Duration = Duration::from_millis(100);

/// Watch a cluster in the terminal: members, links, events, keys, leases, tasks, settings.
///
/// Any one node is asked, and another one when it does not answer. Press ? for the keys.
#[derive(Debug, Args)]
pub(super) struct TopArgs {
    #[command(flatten)]
    urls: UrlArgs,
    /// When to use colours.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    color: ColorWhen,
}

impl TopArgs {
    pub(super) fn run(&self) -> Result<CommandOutcome, CommandError> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return Err(CommandError::Usage(
                "zazen top needs a terminal; allowed without one: zazen status --watch".into(),
            ));
        }
        let feed = Feed::start(Asker::new(&self.urls.access()?)?, self.urls.places())?;
        let mut screen = Screen::new(self.color.is_wanted());
        let mut terminal = ratatui::try_init().map_err(|error| failed("set up the terminal", error))?;
        let shown = show(&mut terminal, &mut screen, &feed);
        ratatui::restore();
        shown.map_err(|error| failed("use the terminal", error)).map(|()| CommandOutcome::Fine)
    }
}

/// Shows what is told until somebody has seen enough.
fn show(terminal: &mut DefaultTerminal, screen: &mut Screen, feed: &Feed) -> io::Result<()> {
    loop {
        for news in feed.told() {
            match news {
                News::End => return Ok(()),
                News::Update(told) => screen.take(told),
            }
        }
        terminal.draw(|frame| draw::draw(frame, screen))?;
        if !event::poll(TICK)? {
            continue;
        }
        if let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
        {
            match screen.press(key) {
                Next::Stay => {}
                Next::Turn => feed.ask_for(screen.page()),
                Next::Quit => return Ok(()),
            }
        }
    }
}
