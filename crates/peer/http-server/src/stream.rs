//! A TCP stream whose reads and writes fail when the client is too slow.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::progress::Progress;

/// A stream with the time limits of its connection's phase.
#[derive(Debug)]
pub(super) struct TimedStream {
    pub(super) stream: TcpStream,
    progress: Arc<Progress>,
    timer: Pin<Box<Sleep>>,
    /// When the client has to have taken some bytes; none while it does.
    stalled_until: Option<Instant>,
}

impl TimedStream {
    pub(super) fn new(stream: TcpStream, progress: Arc<Progress>) -> Self {
        Self {
            stream,
            progress,
            timer: Box::pin(sleep_until(Instant::now())),
            stalled_until: None,
        }
    }

    /// Waits until `deadline`, and returns the error then.
    fn poll_deadline<T>(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<io::Result<T>> {
        if self.timer.deadline() != deadline {
            self.timer.as_mut().reset(deadline);
        }
        let elapsed = self.timer.as_mut().poll(cx);
        elapsed.map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_write_with(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let deadline = self.progress.write_deadline();
        // A client that takes a little each time is never waited for.
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if let Poll::Ready(written) = write(Pin::new(&mut self.stream), cx) {
            self.stalled_until = None;
            return Poll::Ready(written);
        }
        let stall_time = self.progress.limits.stall_time;
        let stalled_until = *self.stalled_until.get_or_insert_with(|| Instant::now() + stall_time);
        self.poll_deadline(cx, deadline.map_or(stalled_until, |at| at.min(stalled_until)))
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.progress.received_bytes();
        }
        match self.progress.read_deadline() {
            Some(deadline) if read.is_pending() => self.poll_deadline(cx, deadline),
            _ => read,
        }
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |stream, cx| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.progress.flushed();
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
