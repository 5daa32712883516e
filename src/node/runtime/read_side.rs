//! A stream of which what is read goes through something first, and what is written passes as it is.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What is read of a stream goes through it.
pub trait ReadSide {
    /// Reads of the stream, as `AsyncRead` does.
    fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>;
}

/// Such a stream.
pub struct Through<S, R> {
    stream: S,
    reads: R,
}

impl<S, R> Through<S, R> {
    /// Has what is read of a stream go through this.
    pub(super) fn with(stream: S, reads: R) -> Self {
        Through { stream, reads }
    }
}

impl<S: AsyncRead + Unpin, R: ReadSide + Unpin> AsyncRead for Through<S, R> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.reads.poll_read(&mut this.stream, cx, into)
    }
}

impl<S: AsyncWrite + Unpin, R: Unpin> AsyncWrite for Through<S, R> {
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
