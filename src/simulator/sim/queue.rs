//! What is to happen, by time; what was queued first comes first where times are equal.
//!
//! In a large world very much happens at few times: each time has a plain queue, which costs the same however much is in
//! it. Queues that were emptied are used again.

use crate::protocol::Time;
use std::collections::{BTreeMap, VecDeque};

/// Events in the order of their times.
pub(super) struct Queue<E> {
    /// Where the events of a time stand.
    times: BTreeMap<Time, usize>,
    queues: Vec<VecDeque<E>>,
    free: Vec<usize>,
    count: usize,
}

impl<E> Queue<E> {
    pub(super) fn new() -> Self {
        Queue { times: BTreeMap::new(), queues: Vec::new(), free: Vec::new(), count: 0 }
    }

    pub(super) fn push(&mut self, at: Time, event: E) {
        let Queue { times, queues, free, .. } = self;
        let place = *times.entry(at).or_insert_with(|| {
            free.pop().unwrap_or_else(|| {
                queues.push(VecDeque::new());
                queues.len() - 1
            })
        });
        queues[place].push_back(event);
        self.count += 1;
    }

    pub(super) fn next_at(&self) -> Option<Time> {
        self.times.first_key_value().map(|(at, _)| *at)
    }

    pub(super) fn pop(&mut self) -> Option<(Time, E)> {
        let first = self.times.first_entry()?;
        let (at, place) = (*first.key(), *first.get());
        let queue = &mut self.queues[place];
        let event = queue.pop_front().expect("a time without events is taken out");
        if queue.is_empty() {
            first.remove();
            self.free.push(place);
        }
        self.count -= 1;
        Some((at, event))
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }
}
