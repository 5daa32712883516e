//! A stream that is given up when its other end takes nothing of what is sent to it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Whoever takes so much of an answer gets the whole time for the next part: slow lines are no offence.
const ENOUGH: usize = 64 << 10;

/// A stream with a time within which something must be taken.
pub(super) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Since when it is waited, and how much was taken meanwhile.
    waiting: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Patient { stream, patience, waiting: None }
    }

    fn judge(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match (&written, &mut self.waiting) {
            (Poll::Pending, waiting) => {
                let (over, _) = waiting.get_or_insert_with(|| (Box::pin(sleep(self.patience)), 0));
                if over.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
            (Poll::Ready(Ok(length)), Some((_, taken))) => {
                *taken += length;
                if *taken >= ENOUGH {
                    self.waiting = None;
                }
            }
            (Poll::Ready(_), _) => {}
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.judge(cx, written)
    }

    /// Called when all is handed over, so nothing is waited for.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.waiting = None;
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncWriteExt, duplex};

    const PATIENCE: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn whoever_takes_nothing_is_given_up() {
        let (ours, _theirs) = duplex(10);
        let mut ours = Patient::new(ours, PATIENCE);
        let written = ours.write_all(&[0; 11]).await;
        assert_eq!(written.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
    }

    #[tokio::test]
    async fn whoever_takes_enough_gets_all_the_time_again() {
        let mut patient = Patient::new((), PATIENCE);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(patient.judge(&mut cx, Poll::Pending).is_pending());
        assert!(patient.judge(&mut cx, Poll::Ready(Ok(ENOUGH - 1))).is_ready() && patient.waiting.is_some());
        assert!(patient.judge(&mut cx, Poll::Ready(Ok(1))).is_ready() && patient.waiting.is_none());
    }
}
