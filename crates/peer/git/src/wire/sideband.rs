//! The side band: data, progress and fatal errors in one stream (gitprotocol-pack, *Packfile Data*).

use std::io::{self, BufRead, Read};

use super::pktline::{Packet, PacketReader};
use bumpwright_text::Parts;

/// Bytes of the server's text that are kept.
const WORDS_LIMIT: usize = 16 * 1024;

/// The data of band 1 as a stream that ends at the flush packet; the text of band 2 is kept apart.
pub(crate) struct SideBand<'p, R> {
    packets: &'p mut PacketReader<R>,
    data: Vec<u8>,
    at: usize,
    ended: bool,
    words: ServerText,
    /// Stops the transfer when the server counts more objects than this.
    object_limit: Option<u64>,
    /// Why it stopped. Outer readers wrap the error, so the original is kept here.
    failure: Option<io::Error>,
}

/// Why a side band stopped early; wrapped in an [`io::Error`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    /// Band 3.
    #[error("{0}")]
    Fatal(String),
    /// The server is about to send more objects than the limit.
    #[error("the server is about to send too many objects")]
    OutOfProportion,
}

impl<'p, R: BufRead> SideBand<'p, R> {
    pub(crate) fn new(packets: &'p mut PacketReader<R>, object_limit: Option<u64>) -> Self {
        Self {
            packets,
            data: Vec::new(),
            at: 0,
            ended: false,
            words: ServerText::default(),
            object_limit,
            failure: None,
        }
    }

    /// The error that ended the stream, if any.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Text of the server and its hooks, cleaned.
    pub(crate) fn words(&self) -> String {
        self.words.cleaned()
    }

    /// Reads to the flush packet, so that the connection is at the start of the next answer.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        while !self.ended {
            self.refill()?;
        }
        Ok(())
    }

    fn refill(&mut self) -> io::Result<()> {
        self.data.clear();
        self.at = 0;
        match self.packets.expect()? {
            Packet::Flush | Packet::Delimiter | Packet::ResponseEnd => self.ended = true,
            Packet::Data([1, data @ ..]) => self.data.extend_from_slice(data),
            Packet::Data([2, words @ ..]) => {
                self.words.push(words);
                if let Some(limit) = self.object_limit
                    && counted(words).is_some_and(|count| count > limit)
                {
                    return Err(io::Error::other(Stopped::OutOfProportion));
                }
            }
            Packet::Data([3, words @ ..]) => {
                return Err(io::Error::other(Stopped::Fatal(ServerText::clean(words))));
            }
            Packet::Data(b"") => {}
            // Version 0 sends its last acknowledgments before the bands.
            Packet::Data(b"NAK\n" | b"NAK") => {}
            Packet::Data(line) if line.starts_with(b"ACK ") => {}
            Packet::Data(other) => {
                let words = other.strip_prefix(b"ERR ").unwrap_or(other);
                return Err(io::Error::other(Stopped::Fatal(ServerText::clean(words))));
            }
        }
        Ok(())
    }
}

impl<R: BufRead> BufRead for SideBand<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at >= self.data.len() && !self.ended {
            if let Err(error) = self.refill() {
                let copy = io::Error::new(error.kind(), error.to_string());
                self.failure = Some(error);
                self.ended = true;
                return Err(copy);
            }
        }
        Ok(self.data.part(self.at..))
    }

    fn consume(&mut self, n: usize) {
        self.at = (self.at + n).min(self.data.len());
    }
}

impl<R: BufRead> Read for SideBand<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut data = self.fill_buf()?;
        let n = data.read(out)?;
        self.consume(n);
        Ok(n)
    }
}

/// The first part of a server's text.
#[derive(Default)]
pub(crate) struct ServerText {
    bytes: Vec<u8>,
    cut: bool,
}

impl ServerText {
    pub(crate) fn push(&mut self, more: &[u8]) {
        let room = WORDS_LIMIT - self.bytes.len().min(WORDS_LIMIT);
        self.cut |= more.len() > room;
        self.bytes.extend_from_slice(more.part(..room.min(more.len())));
    }

    /// Cleans a whole text.
    pub(crate) fn clean(bytes: &[u8]) -> String {
        let mut words = Self::default();
        words.push(bytes);
        words.cleaned()
    }

    /// Lines without trailing blanks and control characters, none of them empty; of an overwritten line
    /// (`\r`) the last state.
    pub(crate) fn cleaned(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let mut lines: Vec<String> = Vec::new();
        for line in text.split('\n') {
            let shown = line.split('\r').rfind(|part| !part.trim().is_empty()).unwrap_or("");
            let line = without_escapes(shown);
            // Gitea's hooks put such lines around their words, for the eye.
            if !line.is_empty() && line != "error:" {
                lines.push(line);
            }
        }
        if self.cut {
            lines.push("…".to_owned());
        }
        lines.join("\n")
    }
}

/// Removes terminal escape sequences (`ESC [ … letter`) and other control characters.
fn without_escapes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            if chars.next_if_eq(&'[').is_some() {
                while chars.next_if(|c| !c.is_ascii_alphabetic()).is_some() {}
                chars.next();
            }
        } else if c == '\t' {
            out.push(' ');
        } else if !c.is_control() {
            out.push(c);
        }
    }
    out.trim_end().to_owned()
}

/// The number in `Enumerating objects: 12345` or `Counting objects: 12345`, which git and JGit print while they walk.
/// (A percentage, `Counting objects: 50% (1/2)`, comes after the walk and is ignored.)
fn counted(words: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(words).ok()?;
    let last = text.rsplit(['\r', '\n']).find(|part| part.contains("objects: "))?;
    let (what, count) = last.split_once("objects: ")?;
    if !what.ends_with("Enumerating ") && !what.ends_with("Counting ") {
        return None;
    }
    let digits: &str = count.split(|c: char| !c.is_ascii_digit()).next()?;
    if count.get(digits.len()..)?.starts_with('%') {
        None
    } else {
        digits.parse().ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wire::pktline::PacketWriter;

    #[test]
    fn bands_are_told_apart() {
        let mut writer = PacketWriter::default();
        writer
            .data(b"\x01one ")
            .data(b"\x02hello\n")
            .data(b"\x01two")
            .data(b"\x02\x1b[31mred\x1b[0m\rdone\n")
            .flush();
        writer.line("after");
        let bytes = writer.into_bytes();
        let mut packets = PacketReader::new(&bytes[..]);
        let mut band = SideBand::new(&mut packets, None);
        let mut out = String::new();
        band.read_to_string(&mut out).unwrap();
        assert_eq!(out, "one two");
        assert_eq!(band.words(), "hello\ndone");
        assert_eq!(packets.next().unwrap(), Some(Packet::Data(b"after")));
    }

    #[test]
    fn endless_words_are_cut() {
        let mut words = ServerText::default();
        for _ in 0..2_000 {
            words.push(&[b'x'; 1_000]);
        }
        assert!(words.cleaned().len() < WORDS_LIMIT + 10 && words.cleaned().ends_with('…'));
    }

    #[test]
    fn objects_are_counted() {
        assert_eq!(counted(b"Enumerating objects: 123"), Some(123));
        assert_eq!(counted(b"Enumerating objects: 5, done.\n"), Some(5));
        assert_eq!(counted(b"remote: Counting objects: 77\r"), Some(77));
        assert_eq!(counted(b"Counting objects:  50% (1/2)\r"), None);
        assert_eq!(counted(b"Total 3 (delta 0)"), None);
    }
}
