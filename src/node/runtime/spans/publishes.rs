//! Looks at the publishes of a node, on the node's thread, and tells them as spans: the master's by their phases, a
//! follower's by when it stored and applied a state.
//!
//! It changes nothing and waits for nothing.

use super::{Attribute, Kind, Span, SpanContext, Spans, fresh, of_state};
use crate::cluster::{ClusterState, StateId};
use crate::protocol::{Exchange, Time};
use crate::zen::message::Body;
use crate::zen::{Message, Mode, Zen};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many states may be on their way to a follower's disk that are looked at.
const STORING_MAX: usize = 64;

/// A publish of this node.
struct Publishing {
    id: StateId,
    reason: String,
    tasks: usize,
    /// When the task that waited longest was asked for.
    asked: Time,
    since: Time,
    committed: Option<Time>,
    is_told: bool,
}

/// Looks at one node.
pub(in crate::runtime) struct PublishSpans {
    spans: Arc<Spans>,
    publishing: Option<Publishing>,
    storing: BTreeMap<Exchange, (StateId, Time)>,
    /// The state that was acknowledged last, and when.
    stored: Option<(StateId, Time)>,
}

impl PublishSpans {
    pub(in crate::runtime) fn new(spans: Arc<Spans>) -> Self {
        PublishSpans { spans, publishing: None, storing: BTreeMap::new(), stored: None }
    }

    /// Another node sent something.
    pub(in crate::runtime) fn received(&mut self, exchange: Exchange, message: &Message) {
        let Message::Publish { body, .. } = message else {
            return;
        };
        if !self.spans.are_wanted() {
            return;
        }
        let id = match body {
            Body::Full(state) => state.id(),
            Body::Diff(diff) => diff.to,
        };
        if self.storing.len() >= STORING_MAX {
            self.storing.pop_first();
        }
        self.storing.insert(exchange, (id, self.spans.now()));
    }

    /// It is answered.
    pub(in crate::runtime) fn replied(&mut self, exchange: Exchange) {
        if let Some((id, since)) = self.storing.remove(&exchange) {
            let now = self.spans.now();
            part(&self.spans, "store", id, (since, now));
            self.stored = Some((id, now));
        }
    }

    /// The node shows its readers a state.
    pub(in crate::runtime) fn applied(&mut self, state: &ClusterState) {
        if let Some((id, since)) = self.stored.take_if(|(id, _)| *id == state.id()) {
            part(&self.spans, "apply", id, (since, self.spans.now()));
        }
    }

    /// The core handled something.
    pub(in crate::runtime) fn stepped(&mut self, now: Time, zen: &Zen) {
        if !self.spans.are_wanted() {
            return;
        }
        let publish = match zen.mode() {
            Mode::Leading(lead) => lead.publish.as_ref(),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => None,
        };
        let is_same = |seen: &Publishing| publish.is_some_and(|publish| publish.state.id() == seen.id);
        if let Some(mut seen) = self.publishing.take_if(|seen| !is_same(seen)) {
            seen.tell(&self.spans, now);
        }
        let Some(publish) = publish else {
            return;
        };
        let seen = self.publishing.get_or_insert_with(|| Publishing {
            id: publish.state.id(),
            reason: publish.reason.clone(),
            tasks: publish.tasks.len(),
            asked: publish.tasks.iter().map(|task| task.queued.waiter.since).min().unwrap_or(publish.since),
            since: publish.since,
            committed: None,
            is_told: false,
        });
        if publish.is_committed {
            seen.committed.get_or_insert(now);
            let others = publish.acks.keys().filter(|id| **id != zen.local().id).count() + 1;
            if others >= publish.state.nodes.len() {
                seen.tell(&self.spans, now);
            }
        }
    }
}

impl Publishing {
    /// Tells of it once: when all members have it, or when the next one begins or the mastership ends before.
    fn tell(&mut self, spans: &Spans, now: Time) {
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        let own = [
            ("zazen.reason", Attribute::Text(self.reason.clone())),
            ("zazen.tasks", Attribute::Number(self.tasks as u64)),
            ("zazen.committed", Attribute::Flag(self.committed.is_some())),
        ];
        spans.tell(Span {
            context: SpanContext::of_state(self.id),
            parent: None,
            link: None,
            name: "publish".into(),
            kind: Kind::Internal,
            began: spans.wall(self.asked),
            ended: spans.wall(now),
            attributes: of_state(self.id).into_iter().chain(own).collect(),
        });
        part(spans, "queue", self.id, (self.asked, self.since));
        part(spans, "commit", self.id, (self.since, self.committed.unwrap_or(now)));
        if let Some(committed) = self.committed {
            part(spans, "acknowledge", self.id, (committed, now));
        }
    }
}

/// A part of the publish of a state.
fn part(spans: &Spans, name: &str, id: StateId, (began, ended): (Time, Time)) {
    let SpanContext { trace, span: parent } = SpanContext::of_state(id);
    spans.tell(Span {
        context: SpanContext { trace, span: fresh() },
        parent: Some(parent),
        link: None,
        name: name.to_owned(),
        kind: Kind::Internal,
        began: spans.wall(began),
        ended: spans.wall(ended),
        attributes: of_state(id).into(),
    });
}
