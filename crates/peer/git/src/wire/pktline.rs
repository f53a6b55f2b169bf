//! Packet lines (gitprotocol-common, *pkt-line Format*).

use std::io::{self, BufRead};

use super::sideband::ServerText;
use crate::{GitError, TransportError};
use bumpwright_text::Cuts;

/// The longest packet, with its four length digits.
pub(crate) const MAX_PACKET: usize = 65_520;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packet<'a> {
    /// `0000`: the end of a message or list.
    Flush,
    /// `0001`: the end of a section (version 2).
    Delimiter,
    /// `0002`: the end of an answer (version 2, stateless).
    ResponseEnd,
    /// A line's bytes, without the length.
    Data(&'a [u8]),
}

/// Reads packets of a stream.
pub(crate) struct PacketReader<R> {
    inner: R,
    buffer: Vec<u8>,
}

impl<R: BufRead> PacketReader<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            buffer: Vec::with_capacity(1024),
        }
    }

    /// The next packet, or `None` when the stream has ended between two packets.
    #[expect(
        clippy::disallowed_methods,
        reason = "packets of Git: references, refusals, packs; bound: 64 KiB each; account: lists of references and packs on that of fetches"
    )]
    pub(crate) fn next(&mut self) -> io::Result<Option<Packet<'_>>> {
        let begin = self.inner.fill_buf()?;
        if begin.is_empty() {
            return Ok(None);
        }
        // A program other than git may run there, and print text.
        if begin.first_chunk().is_some_and(|digits| length(digits).is_none()) {
            return Err(bad_length(begin));
        }
        let mut digits = [0_u8; 4];
        self.inner.read_exact(&mut digits)?;
        let length = length(&digits).ok_or_else(|| bad_length(&digits))?;
        let size = match length {
            0 => return Ok(Some(Packet::Flush)),
            1 => return Ok(Some(Packet::Delimiter)),
            2 => return Ok(Some(Packet::ResponseEnd)),
            _ => length - 4,
        };
        self.buffer.resize(size, 0);
        self.inner.read_exact(&mut self.buffer)?;
        Ok(Some(Packet::Data(&self.buffer)))
    }

    /// The next packet; the end of the stream is an error.
    pub(crate) fn expect(&mut self) -> io::Result<Packet<'_>> {
        self.next()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// The next line of text without its line break, or `None` at a flush packet. `ERR` lines are errors.
    pub(crate) fn line(&mut self) -> Result<Option<&[u8]>, GitError> {
        match self.expect().map_err(broken)? {
            Packet::Data(data) => text(data).map(Some),
            _ => Ok(None),
        }
    }
}

/// A line without its line break; an `ERR` packet (gitprotocol-pack, *error-line*) becomes an error with its words.
pub(crate) fn text(data: &[u8]) -> Result<&[u8], GitError> {
    if let Some(words) = data.strip_prefix(b"ERR ") {
        return Err(GitError::protocol(format!(
            "the server refuses: {}",
            ServerText::clean(words)
        )));
    }
    Ok(data.strip_suffix(b"\n").unwrap_or(data))
}

/// Parses the length of a packet.
fn length(digits: &[u8; 4]) -> Option<usize> {
    let text = std::str::from_utf8(digits).ok()?;
    let number = text.bytes().all(|b| b.is_ascii_hexdigit()).then_some(text)?;
    let length = usize::from_str_radix(number, 16).ok()?;
    (length != 3 && length <= MAX_PACKET).then_some(length)
}

/// The most bytes of an invalid packet that are shown, up to the end of its line.
const SHOWN: usize = 200;

fn bad_length(begin: &[u8]) -> io::Error {
    let line = begin.before(b'\n');
    let shown = line.get(..SHOWN).unwrap_or(line).escape_ascii();
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("not the Git protocol: a packet length was expected where \"{shown}\" is"),
    )
}

/// The error of a broken stream: the transport's own error when there is one, else a protocol error.
pub(crate) fn broken(error: io::Error) -> GitError {
    match error.kind() {
        io::ErrorKind::InvalidData => GitError::Protocol(error.to_string()),
        io::ErrorKind::UnexpectedEof if error.get_ref().is_none() => GitError::Transport(TransportError::Connect {
            url: "remote".to_owned(),
            detail: "the answer is truncated".to_owned(),
        }),
        _ => GitError::Transport(TransportError::from_stream("remote", error)),
    }
}

/// Builds a body of packets.
#[derive(Default)]
pub(crate) struct PacketWriter {
    bytes: Vec<u8>,
}

impl PacketWriter {
    /// Adds a line; callers keep it below [`MAX_PACKET`].
    pub(crate) fn line(&mut self, text: &str) -> &mut Self {
        self.data(text.as_bytes())
    }

    pub(crate) fn data(&mut self, data: &[u8]) -> &mut Self {
        self.bytes
            .extend_from_slice(format!("{:04x}", data.len() + 4).as_bytes());
        self.bytes.extend_from_slice(data);
        self
    }

    pub(crate) fn flush(&mut self) -> &mut Self {
        self.bytes.extend_from_slice(b"0000");
        self
    }

    pub(crate) fn delimiter(&mut self) -> &mut Self {
        self.bytes.extend_from_slice(b"0001");
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<String>, GitError> {
        let mut reader = PacketReader::new(bytes);
        let mut out = Vec::new();
        while let Some(packet) = reader.next().map_err(broken)? {
            out.push(match packet {
                Packet::Data(data) => String::from_utf8_lossy(text(data)?).into_owned(),
                other => format!("{other:?}"),
            });
        }
        Ok(out)
    }

    #[test]
    fn reads_what_is_written() {
        let mut writer = PacketWriter::default();
        writer.line("command=ls-refs\n").delimiter().line("peel").flush();
        assert_eq!(
            all(&writer.into_bytes()).unwrap(),
            ["command=ls-refs", "Delimiter", "peel", "Flush"]
        );
    }

    #[test]
    fn bad_lengths_are_protocol_errors() {
        for bytes in [&b"zzzz"[..], b"0003", b"fff5aaaa", b"+00aaaaaaa", b"<html>"] {
            let error = all(bytes).unwrap_err();
            assert!(matches!(error, GitError::Protocol(_)), "{bytes:?}: {error}");
        }
    }

    #[test]
    fn a_stream_that_ends_inside_a_packet_is_a_broken_connection() {
        for bytes in [&b"00"[..], b"0010abc"] {
            assert!(matches!(all(bytes).unwrap_err(), GitError::Transport(_)));
        }
    }

    #[test]
    fn error_packets_carry_the_words_of_the_server() {
        let error = all(b"0015ERR access denied").unwrap_err();
        assert_eq!(error.to_string(), "the server refuses: access denied");
    }
}
