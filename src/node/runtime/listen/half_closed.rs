//! A stream whose other end says that it will send no more, as `nc -N` does behind its request, and waits for the answer.
//!
//! The same is seen of a user who went away. So the end is told a moment later while a request is carried out: an answer that
//! is there by then is sent, and what waits for long ends. Elasticsearch answers a read so, and drops a change.

use super::places::Place;
use crate::runtime::read_side::{ReadSide, Through};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Sleep, sleep};

/// For so long an answer is waited for.
const MOMENT: Duration = Duration::from_secs(1);

/// A stream whose end is told late.
pub(super) type HalfClosed<S> = Through<S, KeptBack>;

/// The end of a stream, while whoever has this place waits for an answer.
pub(super) struct KeptBack {
    place: Arc<Place>,
    /// Until when, once the end was seen.
    over: Option<Pin<Box<Sleep>>>,
}

impl<S> HalfClosed<S> {
    pub(super) fn new(stream: S, place: Arc<Place>) -> Self {
        Through::with(stream, KeptBack { place, over: None })
    }
}

impl ReadSide for KeptBack {
    fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.over.is_none() {
            let before = into.filled().len();
            ready!(Pin::new(stream).poll_read(cx, into))?;
            if into.filled().len() > before || into.capacity() == before {
                return Poll::Ready(Ok(()));
            }
        }
        let over = self.over.get_or_insert_with(|| Box::pin(sleep(MOMENT)));
        // The body may not have been looked at yet that came with its head and the end.
        if !self.place.is_asking() {
            return Poll::Ready(Ok(()));
        }
        over.as_mut().poll(cx).map(Ok)
    }
}
