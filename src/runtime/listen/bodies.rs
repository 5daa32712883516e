//! The bodies of requests and answers on their way, which tell whom a connection waits for.

use super::places::Place;
use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The body of a request. The node waits for it until it has all of it.
pub(super) struct Arriving {
    body: Incoming,
    place: Arc<Place>,
}

impl Arriving {
    /// One that is endless is part of a conversation, in which nobody waits for its end.
    pub(super) fn new(body: Incoming, place: &Arc<Place>, is_endless: bool) -> Self {
        if body.is_end_stream() || is_endless {
            place.is_served();
        }
        Arriving { body, place: place.clone() }
    }
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(cx);
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
pub(super) struct Leaving {
    body: Body,
    place: Arc<Place>,
}

impl Leaving {
    pub(super) fn new(body: Body, place: &Arc<Place>) -> Self {
        Leaving { body, place: place.clone() }
    }
}

impl HttpBody for Leaving {
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

impl Drop for Leaving {
    fn drop(&mut self) {
        self.place.waits();
    }
}
