//! The places of a listener, one for each connection that it serves at a time.
//!
//! A newcomer is not locked out. When all places are taken, whoever has let the node wait for longest gives way: those
//! first who never sent a whole request, then those who let it wait for the next one. Those whose requests are being
//! answered stay; when there are only such, a few places more are there for short visits, so that an operator can look at
//! a node that is full. An address that has more than half of all places loses some of them to newcomers of others before
//! anybody else does, and at last such as are being answered: one user who watches a thousand times shuts nobody out, nor
//! does one who asks a thousand times and stays.

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How many places there are for short visits.
const SHORT: usize = 8;

/// All places of a listener.
pub(super) struct Places {
    most: usize,
    /// Whether those stay who sent a whole request: a node takes it for dead whose connection breaks under a request.
    keeps_known: bool,
    taken: Mutex<Taken>,
    freed: Notify,
    /// The node waits for nobody any more.
    all_served: Notify,
}

#[derive(Default)]
struct Taken {
    usual: usize,
    short: usize,
    /// Those that the node waits for, and their addresses, in the order in which they give way.
    waiting: BTreeMap<Turn, IpAddr>,
    of_address: BTreeMap<IpAddr, Held>,
    /// How many places each address has: the most stand last.
    counts: BTreeSet<(usize, IpAddr)>,
    next: u64,
}

/// The usual places of an address, and what ends its connections.
#[derive(Default)]
struct Held {
    /// All of them, the oldest first: they end at once.
    places: BTreeMap<u64, CancellationToken>,
    /// Those that the node waits for: they give way.
    waiting: BTreeMap<Turn, CancellationToken>,
}

impl Taken {
    fn enter(&mut self, from: IpAddr, number: u64, is_ended: CancellationToken) {
        self.usual += 1;
        self.count(from, |held| held.places.insert(number, is_ended));
    }

    fn leave(&mut self, from: IpAddr, number: u64) {
        self.usual -= 1;
        self.count(from, |held| held.places.remove(&number));
        if self.of_address.get(&from).is_some_and(|held| held.places.is_empty()) {
            self.of_address.remove(&from);
        }
    }

    /// Changes what an address has, and what is counted of it.
    fn count<T>(&mut self, from: IpAddr, change: impl FnOnce(&mut Held) -> T) -> T {
        let held = self.of_address.entry(from).or_default();
        self.counts.remove(&(held.places.len(), from));
        let changed = change(held);
        if !held.places.is_empty() {
            self.counts.insert((held.places.len(), from));
        }
        changed
    }

    fn wait(&mut self, from: IpAddr, turn: Turn, gives_way: CancellationToken) {
        self.waiting.insert(turn, from);
        self.of_address.entry(from).or_default().waiting.insert(turn, gives_way);
    }

    /// Nobody waits for this one any more; its end, if somebody did.
    fn waits_no_more(&mut self, turn: Turn) -> Option<CancellationToken> {
        let from = self.waiting.remove(&turn)?;
        self.of_address.get_mut(&from)?.waiting.remove(&turn)
    }

    /// The address that has more than half of all places, if it is another one.
    fn crowd(&self, most: usize, from: IpAddr) -> Option<IpAddr> {
        self.counts.last().filter(|(count, address)| *address != from && count * 2 > most).map(|(_, address)| *address)
    }
}

/// When somebody gives way: whether it ever sent a whole request, and since when the node waits for it.
type Turn = (bool, u64);

/// What is known of a connection.
#[derive(Default)]
struct Manner {
    has_asked: bool,
    /// Whether the head of a request is here that has no answer yet.
    is_asking: bool,
    /// Its turn and since when it has it, while the node waits for it.
    turn: Option<(Turn, Instant)>,
}

/// What a connection may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    /// Ask as often as it likes.
    Usual,
    /// Ask once, and soon.
    Short,
}

/// The place of one connection, free again when this is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    pub(super) visit: Visit,
    /// Ends when another one needs the place.
    pub(super) gives_way: CancellationToken,
    /// Ends when its address has more than its share of all places, whatever goes on there.
    pub(super) is_ended: CancellationToken,
    from: IpAddr,
    number: u64,
    manner: Mutex<Manner>,
}

impl Places {
    pub(super) fn new(most: usize, keeps_known: bool) -> Arc<Self> {
        Arc::new(Places { most, keeps_known, taken: Mutex::default(), freed: Notify::new(), all_served: Notify::new() })
    }

    /// A place for somebody of this address who is there already.
    pub(super) async fn take(self: &Arc<Self>, from: IpAddr) -> Place {
        loop {
            // Asked for before the look, so that a place that is given back in between is not missed.
            let freed = self.freed.notified();
            if let Some((visit, number, is_ended)) = self.try_take(from) {
                let gives_way = CancellationToken::new();
                let (places, manner) = (self.clone(), Mutex::default());
                let place = Place { places, visit, gives_way, is_ended, from, number, manner };
                place.waits();
                return place;
            }
            freed.await;
        }
    }

    /// Takes a place, or has one given back.
    fn try_take(&self, from: IpAddr) -> Option<(Visit, u64, CancellationToken)> {
        let mut taken = self.taken.lock();
        let is_ended = CancellationToken::new();
        taken.next += 1;
        let number = taken.next;
        if taken.usual < self.most {
            taken.enter(from, number, is_ended.clone());
            return Some((Visit::Usual, number, is_ended));
        }
        let crowd = taken.crowd(self.most, from).filter(|_| !self.keeps_known);
        let first = crowd.and_then(|crowd| taken.of_address.get(&crowd)?.waiting.keys().next().copied());
        if first.is_some_and(|first| sent_away(&mut taken, first)) || self.send_away(&mut taken) {
            return None;
        }
        if let Some(oldest) = crowd.and_then(|crowd| taken.count(crowd, |held| held.places.pop_first())) {
            oldest.1.cancel();
            return None;
        }
        (taken.short < SHORT).then(|| {
            taken.short += 1;
            (Visit::Short, number, is_ended)
        })
    }

    /// Has somebody give way, if anybody can.
    pub(super) fn make_room(&self) {
        self.send_away(&mut self.taken.lock());
    }

    /// Returns when the node waits for nobody.
    pub(super) async fn wait_all_served(&self) {
        loop {
            let all_served = self.all_served.notified();
            if self.taken.lock().waiting.is_empty() {
                return;
            }
            all_served.await;
        }
    }

    fn send_away(&self, taken: &mut Taken) -> bool {
        let first = taken.waiting.keys().next().copied().filter(|first| !(self.keeps_known && first.0));
        first.is_some_and(|first| sent_away(taken, first))
    }
}

/// Whether somebody gives way now who has this turn.
fn sent_away(taken: &mut Taken, turn: Turn) -> bool {
    taken.waits_no_more(turn).map(|gives_way| gives_way.cancel()).is_some()
}

impl Place {
    /// The node waits for whoever is connected.
    pub(super) fn waits(&self) {
        let mut manner = self.manner.lock();
        let mut taken = self.places.taken.lock();
        taken.next += 1;
        let turn = (manner.has_asked, taken.next);
        manner.is_asking = false;
        if let Some((before, _)) = manner.turn.replace((turn, Instant::now())) {
            taken.waits_no_more(before);
        }
        if self.visit == Visit::Usual {
            taken.wait(self.from, turn, self.gives_way.clone());
        }
    }

    /// Whether the node waits for whoever is connected.
    pub(super) fn is_waiting(&self) -> bool {
        self.manner.lock().turn.is_some()
    }

    /// The head of a request is here.
    pub(super) fn begins(&self) {
        self.manner.lock().is_asking = true;
    }

    /// Whether whoever is connected has begun a request and waits for its answer.
    pub(super) fn is_asking(&self) -> bool {
        self.manner.lock().is_asking
    }

    /// Since when the node waits for whoever is connected.
    pub(super) fn waiting_since(&self) -> Option<Instant> {
        self.manner.lock().turn.map(|(_, since)| since)
    }

    /// Whoever is connected has asked, and waits for the node.
    pub(super) fn is_served(&self) {
        let mut manner = self.manner.lock();
        manner.has_asked = true;
        if let Some((before, _)) = manner.turn.take() {
            let mut taken = self.places.taken.lock();
            taken.waits_no_more(before);
            if taken.waiting.is_empty() {
                self.places.all_served.notify_waiters();
            }
            // Who was to give way asks for something at this moment, and may stay for long: another one is to go.
            if self.gives_way.is_cancelled() {
                self.places.freed.notify_waiters();
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.is_served();
        let mut taken = self.places.taken.lock();
        match self.visit {
            Visit::Usual => taken.leave(self.from, self.number),
            Visit::Short => taken.short -= 1,
        }
        drop(taken);
        self.places.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::net::Ipv4Addr;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

    fn take(places: &Arc<Places>) -> Option<Place> {
        places.take(HERE).now_or_never()
    }

    #[test]
    fn where_whoever_is_to_give_way_asks_at_that_moment_another_one_goes() {
        let places = Places::new(2, false);
        let (first, second) = (take(&places).expect("there is room"), take(&places).expect("there is room"));
        let mut newcomer = Box::pin(places.take(HERE));
        assert!(newcomer.as_mut().now_or_never().is_none() && first.gives_way.is_cancelled());
        first.is_served();
        assert!(newcomer.as_mut().now_or_never().is_none() && second.gives_way.is_cancelled());
        drop(second);
        assert_eq!(newcomer.now_or_never().map(|place| place.visit), Some(Visit::Usual));
    }

    #[test]
    fn an_address_that_has_most_places_gives_way_before_strangers_do() {
        let places = Places::new(4, false);
        let crowd: Vec<Place> = (0..3).filter_map(|_| take(&places)).collect();
        for place in &crowd {
            place.is_served();
            place.waits();
        }
        let stranger = places.take(ELSEWHERE).now_or_never().expect("there is room");
        let mut newcomer = Box::pin(places.take(ELSEWHERE));
        assert!(newcomer.as_mut().now_or_never().is_none(), "somebody must give way first");
        assert!(crowd[0].gives_way.is_cancelled() && !stranger.gives_way.is_cancelled());
    }

    #[test]
    fn an_address_that_has_most_places_loses_some_to_others() {
        let places = Places::new(4, false);
        let crowd: Vec<Place> = (0..4).filter_map(|_| take(&places)).collect();
        crowd.iter().for_each(Place::is_served);
        assert_eq!(take(&places).map(|place| place.visit), Some(Visit::Short), "it loses none to itself");
        let mut newcomer = Box::pin(places.take(ELSEWHERE));
        assert!(newcomer.as_mut().now_or_never().is_none(), "the oldest must end first");
        let ended: Vec<bool> = crowd.iter().map(|place| place.is_ended.is_cancelled()).collect();
        assert_eq!(ended, [true, false, false, false]);
        let mut left = crowd.into_iter();
        drop(left.next());
        let second = newcomer.now_or_never().expect("there is room");
        assert_eq!(second.visit, Visit::Usual);
        drop(left.next());
        let third = places.take(ELSEWHERE).now_or_never().expect("there is room");
        assert_eq!(third.visit, Visit::Usual);
        // Nobody has more than half now.
        [&second, &third].into_iter().for_each(Place::is_served);
        assert_eq!(places.take(ELSEWHERE).now_or_never().map(|place| place.visit), Some(Visit::Short));
        drop((second, third, left));
        let taken = places.taken.lock();
        assert!(taken.of_address.is_empty() && taken.counts.is_empty() && taken.waiting.is_empty());
    }

    #[test]
    fn who_waited_longest_gives_way_and_who_is_served_does_not() {
        let places = Places::new(3, false);
        let [first, second, third] = [(); 3].map(|()| take(&places).expect("there is room"));
        first.waits();
        third.is_served();
        let mut newcomer = Box::pin(places.take(HERE));
        assert!(newcomer.as_mut().now_or_never().is_none(), "somebody must give way first");
        assert!(second.gives_way.is_cancelled(), "it waited for longest");
        assert!(!first.gives_way.is_cancelled() && !third.gives_way.is_cancelled());
        drop(second);
        assert_eq!(newcomer.now_or_never().map(|place| place.visit), Some(Visit::Usual));
    }

    #[test]
    fn strangers_give_way_before_those_who_asked_and_these_may_be_kept() {
        for keeps_known in [false, true] {
            let places = Places::new(2, keeps_known);
            let [known, stranger] = [(); 2].map(|()| take(&places).expect("there is room"));
            known.is_served();
            known.waits();
            places.make_room();
            assert!(stranger.gives_way.is_cancelled() && !known.gives_way.is_cancelled());
            places.make_room();
            assert_eq!(known.gives_way.is_cancelled(), !keeps_known);
        }
    }

    #[test]
    fn where_all_are_served_there_are_a_few_places_for_short_visits() {
        let places = Places::new(1, false);
        let usual = take(&places).expect("there is room");
        usual.is_served();
        let short: Vec<Place> = (0..SHORT).filter_map(|_| take(&places)).collect();
        assert!(short.len() == SHORT && short.iter().all(|place| place.visit == Visit::Short));
        assert!(take(&places).is_none(), "that was all");
        drop(usual);
        assert_eq!(take(&places).map(|place| place.visit), Some(Visit::Usual));
        drop(short);
        let taken = places.taken.lock();
        assert_eq!((taken.usual, taken.short, taken.waiting.len()), (0, 0, 0));
    }
}
