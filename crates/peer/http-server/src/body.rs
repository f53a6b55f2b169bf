//! Bodies of responses: bytes, ranges of a file, which are read as the client takes them, and streams
//! without a known end.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc::Receiver;
use tokio::task::{JoinHandle, spawn_blocking};

/// What is read of a file at once, in bytes: the most that a client who does not read makes this process hold.
const CHUNK: u64 = 64 << 10;

/// A body. Unless it is a stream, its size is known before its first byte is sent.
#[derive(Debug, Default)]
pub struct Body {
    pieces: VecDeque<Piece>,
    /// What [`Piece::Range`] refers to.
    file: Option<Arc<File>>,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
    /// What comes after the pieces.
    stream: Option<Receiver<Bytes>>,
}

/// A part of a body.
#[derive(Debug)]
pub enum Piece {
    /// Bytes of our own.
    Bytes(Bytes),
    /// Bytes of the file.
    Range { start: u64, length: u64 },
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self {
            pieces: VecDeque::from([Piece::Bytes(bytes.into())]),
            ..Self::default()
        }
    }
}

impl Body {
    /// Pieces, with ranges of a file.
    #[must_use]
    pub fn of_file(file: File, pieces: Vec<Piece>) -> Self {
        Self {
            pieces: pieces.into(),
            file: Some(Arc::new(file)),
            ..Self::default()
        }
    }

    /// What is sent to the channel, until its sender is dropped. A client is waited for while the channel is full.
    #[must_use]
    pub fn streamed(stream: Receiver<Bytes>) -> Self {
        Self {
            stream: Some(stream),
            ..Self::default()
        }
    }

    /// What is left of it, in bytes; none of a stream.
    pub(super) fn size(&self) -> Option<u64> {
        let pieces = || self.pieces.iter().map(Piece::size).sum();
        self.stream.is_none().then(pieces)
    }

    /// Begins to read the next bytes of the range at the front.
    fn read(&self, start: u64, length: u64) -> io::Result<JoinHandle<io::Result<Vec<u8>>>> {
        let file = Arc::clone(self.file.as_ref().ok_or(io::ErrorKind::NotFound)?);
        let size = length.min(CHUNK) as usize;
        Ok(spawn_blocking(move || {
            let mut bytes = vec![0; size];
            let number = file.read_at(&mut bytes, start)?;
            bytes.truncate(number);
            if bytes.is_empty() {
                // The file became shorter.
                Err(io::ErrorKind::UnexpectedEof.into())
            } else {
                Ok(bytes)
            }
        }))
    }

    /// Takes bytes that were read off the range at the front.
    fn advance(&mut self, number: u64) {
        if let Some(Piece::Range { start, length }) = self.pieces.front_mut() {
            *start += number;
            *length = length.saturating_sub(number);
        }
        self.drop_empty();
    }

    fn poll_stream(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(None);
        };
        let bytes = ready!(stream.poll_recv(cx));
        if bytes.is_none() {
            self.stream = None;
        }
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn drop_empty(&mut self) {
        while self.pieces.front().is_some_and(|piece| piece.size() == 0) {
            self.pieces.pop_front();
        }
    }
}

impl Piece {
    fn size(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Range { length, .. } => *length,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let body = self.get_mut();
        body.drop_empty();
        let (start, length) = match body.pieces.front_mut() {
            None => return body.poll_stream(cx),
            Some(Piece::Bytes(bytes)) => {
                let bytes = std::mem::take(bytes);
                body.drop_empty();
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            Some(Piece::Range { start, length }) => (*start, *length),
        };
        let reading = match &mut body.reading {
            Some(reading) => reading,
            None => {
                let reading = body.read(start, length)?;
                body.reading.insert(reading)
            }
        };
        let bytes = ready!(Pin::new(reading).poll(cx)).map_err(io::Error::other)??;
        body.reading = None;
        body.advance(bytes.len() as u64);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.size() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.size().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
