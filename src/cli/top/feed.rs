//! Asks the nodes of a cluster again and again, from a thread of its own.
//!
//! One node is asked for what all see; who does not answer is followed by the next one that is known, and the one that
//! answered is asked first the next time.

use super::super::ask::{Asker, Place, Silence};
use super::super::status::{View, nodes_of};
use super::super::stopwatch::Stopwatch;
use super::super::{CommandError, failed};
use super::overview::Overview;
use super::page::Page;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::sync::watch;

/// How long it takes from one answer to the next question.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a node may take to tell what all see; it waits for each of them for half a second.
const OVERVIEW_MAX: Duration = Duration::from_millis(1_500);

/// How long it may take to tell what is on one page.
const PAGE_MAX: Duration = Duration::from_secs(2);

/// How many nodes are remembered.
const PLACES_MAX: usize = 256;

/// How many events each member tells.
const OVERVIEW: &str = "/_zazen/overview?events=100";

/// Something that a node told.
#[derive(Debug)]
pub(super) enum Update {
    /// What all see, and which node told it, when.
    Overview(Box<Overview>, Place, Stopwatch),
    /// What is wrong.
    Findings(Box<View>),
    /// What is on a page.
    Page(Page, Value),
    /// Nobody answers.
    Silent(Vec<(Place, Silence)>),
}

/// What comes from the thread.
#[derive(Debug)]
pub(super) enum News {
    /// A node told something.
    Update(Update),
    /// The system asks this process to end.
    End,
}

/// The thread.
#[derive(Debug)]
pub(super) struct Feed {
    news: mpsc::Receiver<News>,
    page: watch::Sender<Page>,
}

impl Feed {
    /// Begins to ask; the thread ends when the feed is dropped.
    pub(super) fn start(asker: Asker, places: Vec<Place>) -> Result<Self, CommandError> {
        let runtime = super::super::runtime()?;
        let (sender, news) = mpsc::channel();
        let (page, wanted) = watch::channel(Page::Members);
        let round = Round { asker, sender, wanted };
        thread::Builder::new()
            .name("zazen-top".into())
            .spawn(move || runtime.block_on(round.all(places)))
            .map_err(|error| failed("start a thread", error))?;
        Ok(Feed { news, page })
    }

    /// What was told since the last time.
    pub(super) fn told(&self) -> impl Iterator<Item = News> {
        self.news.try_iter()
    }

    /// Has what is on a page asked for, from now on.
    pub(super) fn ask_for(&self, page: Page) {
        self.page.send_replace(page);
    }
}

/// What the thread has to do its work with.
struct Round {
    asker: Asker,
    sender: mpsc::Sender<News>,
    wanted: watch::Receiver<Page>,
}

impl Round {
    /// Asks for everything, each in its own time, until nobody looks any more.
    async fn all(self, places: Vec<Place>) {
        let (whom, follow) = watch::channel(None);
        tokio::select! {
            () = self.overviews(places, &whom) => {}
            () = self.findings(follow.clone()) => {}
            () = self.pages(follow) => {}
            () = asked_to_end() => {
                let _ = self.sender.send(News::End);
            }
        }
    }

    /// Tells news; not if nobody looks any more.
    fn tell(&self, told: Update) -> bool {
        self.sender.send(News::Update(told)).is_ok()
    }

    async fn overviews(&self, mut places: Vec<Place>, whom: &watch::Sender<Option<Place>>) {
        loop {
            let told = match self.overview(&mut places).await {
                Ok((overview, place)) => {
                    whom.send_replace(Some(place.clone()));
                    Update::Overview(Box::new(overview), place, Stopwatch::start())
                }
                Err(silent) => Update::Silent(silent),
            };
            if !self.tell(told) {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Asks one after the other; the one that answers is the first from then on, and names the others.
    async fn overview(&self, places: &mut Vec<Place>) -> Result<(Overview, Place), Vec<(Place, Silence)>> {
        let mut silent = Vec::new();
        for place in places.clone() {
            match self.asker.ask::<Overview>(&place, OVERVIEW, OVERVIEW_MAX).await {
                Ok(overview) => {
                    self.learn(places, &place).await;
                    return Ok((overview, place));
                }
                Err(why) => silent.push((place, why)),
            }
        }
        Err(silent)
    }

    /// Puts a place first, and the places of all members that it names behind those that are known.
    async fn learn(&self, places: &mut Vec<Place>, first: &Place) {
        let (named, _) = nodes_of(&self.asker, std::slice::from_ref(first), &[]).await;
        let mut seen = BTreeSet::new();
        let all = std::iter::once(first.clone()).chain(places.drain(..)).chain(named);
        let all: Vec<Place> = all.filter(|place| seen.insert(place.clone())).take(PLACES_MAX).collect();
        *places = all;
    }

    async fn findings(&self, mut whom: watch::Receiver<Option<Place>>) {
        loop {
            let place = known(&mut whom).await;
            if let Ok(view) = View::of(&self.asker, &place).await
                && !self.tell(Update::Findings(Box::new(view)))
            {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn pages(&self, mut whom: watch::Receiver<Option<Place>>) {
        let mut wanted = self.wanted.clone();
        loop {
            let place = known(&mut whom).await;
            let page = *wanted.borrow_and_update();
            if let Some(path) = page.path()
                && let Ok(value) = self.asker.ask(&place, path, PAGE_MAX).await
                && !self.tell(Update::Page(page, value))
            {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                changed = wanted.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// The node that answered last, as soon as there is one.
async fn known(whom: &mut watch::Receiver<Option<Place>>) -> Place {
    match whom.wait_for(Option::is_some).await.map(|place| place.clone()) {
        Ok(Some(place)) => place,
        // The loop that asks has ended, and so does this one.
        Ok(None) | Err(_) => std::future::pending().await,
    }
}

/// Waits for the signal to end; Ctrl-C is a key here. A terminal that goes away ends the process by SIGHUP, as any.
async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => drop(terminate.recv().await),
        Err(_) => std::future::pending().await,
    }
}
