//! The bodies of requests and answers on their way, which tell whom a connection waits for, and for how long at the most.

use super::places::Place;
use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// A body did not arrive within the time that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSlow(Duration);

impl fmt::Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the body did not arrive within [{:?}]", self.0)
    }
}

impl Error for TooSlow {}

impl TooSlow {
    /// Whether that is why a body could not be read.
    pub fn is_cause_of(error: &(dyn Error + 'static)) -> bool {
        std::iter::successors(Some(error), |error| (*error).source()).any(|error| error.is::<TooSlow>())
    }
}

/// The body of a request. The node waits for it until it has all of it, or the time is over.
pub(super) struct Arriving {
    body: Incoming,
    place: Arc<Place>,
    time: Duration,
    /// Runs from the first look at a body that is not there; one that is endless has no time.
    over: Option<Pin<Box<Sleep>>>,
    is_endless: bool,
}

impl Arriving {
    /// One that is endless is part of a conversation, in which nobody waits for its end. Most requests have none.
    pub(super) fn body(body: Incoming, place: &Arc<Place>, time: Duration, is_endless: bool) -> Body {
        let is_empty = body.is_end_stream();
        if is_empty || is_endless {
            place.is_served();
        }
        if is_empty {
            return Body::empty();
        }
        Body::new(Arriving { body, place: place.clone(), time, over: None, is_endless })
    }

    fn is_too_slow(&mut self, cx: &mut Context<'_>) -> bool {
        let over = self.over.get_or_insert_with(|| Box::pin(sleep(self.time)));
        !self.is_endless && over.as_mut().poll(cx).is_ready()
    }
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(cx).map_err(Into::into);
        if polled.is_pending() && this.is_too_slow(cx) {
            return Poll::Ready(Some(Err(TooSlow(this.time).into())));
        }
        if matches!(polled, Poll::Ready(None)) || polled.is_ready() && this.body.is_end_stream() {
            this.place.is_served();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Arriving {
    /// Whoever answers before all is there waits for it no more.
    fn drop(&mut self) {
        self.place.is_served();
    }
}

/// The body of an answer. Once it is handed over the node waits for the next request.
pub(super) fn leaving(body: Body, place: &Arc<Place>) -> Body {
    keeping(body, Answering(place.clone()))
}

/// Somebody who is being answered.
struct Answering(Arc<Place>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.waits();
    }
}

/// A body that keeps something until it is handed over, or nobody takes it any more.
pub fn keeping(body: Body, kept: impl Send + Unpin + 'static) -> Body {
    Body::new(Keeping { body, _kept: kept })
}

struct Keeping<T> {
    body: Body,
    _kept: T,
}

impl<T: Unpin> HttpBody for Keeping<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
