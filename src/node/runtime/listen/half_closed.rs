//! A stream whose other end says that it will send no more, as `nc -N` does behind its request, and waits for the answer.
//!
//! The same is seen of a user who went away. So the end is told a moment later while a request is carried out: an answer that
//! is there by then is sent, and what waits for long ends. The original answers whom it can within that moment, too.

use super::places::Place;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// For so long an answer is waited for.
const MOMENT: Duration = Duration::from_secs(1);

/// A stream whose end is told late.
pub(super) struct HalfClosed<S> {
    stream: S,
    place: Arc<Place>,
    /// Until when the end is kept back, once it was seen.
    over: Option<Pin<Box<Sleep>>>,
}

impl<S> HalfClosed<S> {
    pub(super) fn new(stream: S, place: Arc<Place>) -> Self {
        HalfClosed { stream, place, over: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HalfClosed<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.over.is_none() {
            let before = into.filled().len();
            ready!(Pin::new(&mut this.stream).poll_read(cx, into))?;
            if into.filled().len() > before || into.capacity() == before {
                return Poll::Ready(Ok(()));
            }
        }
        let over = this.over.get_or_insert_with(|| Box::pin(sleep(MOMENT)));
        if this.place.is_waiting() {
            return Poll::Ready(Ok(()));
        }
        over.as_mut().poll(cx).map(Ok)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HalfClosed<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
