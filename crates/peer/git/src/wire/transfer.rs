//! One fetch request and its answer, up to the pack.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Cursor, Read};

use super::conversation::{Conversation, ServerProtocol};
use super::listing::{AGENT, Capabilities, short};
use super::pktline::{Packet, PacketReader, PacketWriter, broken, text};
use super::sideband::{SideBand, Stopped};
use crate::mirror::layout::parse_id;
use crate::{GitError, ObjectId};

/// More boundaries than this are an attack, not a history.
const MAX_BOUNDARIES: usize = 200_000;

/// How much history to request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The history between the wanted commits and those of the mirror.
    Missing,
    /// The wanted commits without their parents.
    TipOnly,
    /// So many commits of the history of the wanted ones.
    Commits(u32),
    /// All of it, also beyond the mirror's boundaries (`git fetch --unshallow`).
    Everything,
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) want: BTreeSet<ObjectId>,
    pub(crate) have: Vec<ObjectId>,
    pub(crate) shallow: BTreeSet<ObjectId>,
    pub(crate) depth: Depth,
    /// With [`Depth::Missing`]: stop when the server counts more objects than this, and when a wanted
    /// commit does not descend from commits of the mirror.
    pub(crate) object_limit: Option<u64>,
}

/// The outcome of a request.
#[derive(Debug)]
pub(crate) enum Answer<T> {
    /// A pack, which was passed to the caller's function, and its boundaries.
    Pack {
        taken: T,
        shallow: Vec<ObjectId>,
        unshallow: Vec<ObjectId>,
    },
    /// The wanted commits do not descend from commits of the mirror; the connection can be reused.
    Unrelated,
    /// More than the limit; the connection cannot be reused.
    OutOfProportion,
}

/// Sends the request and passes the pack to `take`, as a stream that starts with the pack's header.
pub(crate) fn transfer<T>(
    conversation: &mut Conversation<'_>,
    request: &Request,
    take: impl FnOnce(&mut dyn BufRead) -> Result<T, GitError>,
) -> Result<Answer<T>, GitError> {
    let hash = conversation.hash();
    let (body, v2, cuts) = match conversation.speaks() {
        ServerProtocol::V2(known) => (body_v2(known, request), true, known.shallow),
        ServerProtocol::V0(offered, _) => (
            body_v0(offered, request)?,
            false,
            offered.iter().any(|c| c == "shallow"),
        ),
    };
    let mut packets = PacketReader::new(conversation.request(&body)?);
    let mut boundary = Boundary {
        hash,
        shallow: Vec::new(),
        unshallow: Vec::new(),
    };
    if v2 {
        if !read_sections(&mut packets, &mut boundary)? {
            return Ok(Answer::Unrelated);
        }
    } else if request.depth != Depth::Missing && cuts {
        while let Some(line) = packets.line()? {
            boundary.read(line)?;
        }
    }
    let mut band = SideBand::new(&mut packets, request.object_limit);
    match take_pack(&mut band, request.object_limit, take) {
        Ok(Some(taken)) => {
            band.drain().map_err(stopped)?;
            Ok(Answer::Pack {
                taken,
                shallow: boundary.shallow,
                unshallow: boundary.unshallow,
            })
        }
        Ok(None) => Ok(Answer::OutOfProportion),
        Err(error) => match band.take_failure() {
            Some(failure) if is_out_of_proportion(&failure) => Ok(Answer::OutOfProportion),
            Some(failure) => Err(stopped(failure)),
            None => Err(error),
        },
    }
}

/// Checks the header before the pack is read: `None` when it announces more objects than the limit.
#[expect(
    clippy::disallowed_methods,
    reason = "the head of a pack; bound: 12 bytes, and the objects that it announces (`--max-entries`); account: packs on that of fetches"
)]
fn take_pack<T>(
    band: &mut impl BufRead,
    limit: Option<u64>,
    take: impl FnOnce(&mut dyn BufRead) -> Result<T, GitError>,
) -> Result<Option<T>, GitError> {
    let mut header = [0_u8; 12];
    band.read_exact(&mut header).map_err(broken)?;
    let [b'P', b'A', b'C', b'K', _, _, _, _, count @ ..] = header else {
        return Err(GitError::protocol(format!(
            "a pack was expected where \"{}\" is",
            short(&header)
        )));
    };
    if limit.is_some_and(|limit| u64::from(u32::from_be_bytes(count)) > limit) {
        return Ok(None);
    }
    take(&mut Cursor::new(header).chain(band)).map(Some)
}

fn is_out_of_proportion(error: &io::Error) -> bool {
    error
        .get_ref()
        .and_then(|inner| inner.downcast_ref())
        .is_some_and(|stopped| matches!(stopped, Stopped::OutOfProportion))
}

/// The error of a side band that stopped.
pub(crate) fn stopped(error: io::Error) -> GitError {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(Stopped::Fatal(words)) => GitError::protocol(format!("the server stopped: {words}")),
        _ => broken(error),
    }
}

/// gitprotocol-v2, *fetch*.
fn body_v2(capabilities: &Capabilities, request: &Request) -> Vec<u8> {
    let mut body = PacketWriter::default();
    body.line("command=fetch\n").line(&format!("agent={AGENT}\n"));
    body.line(&format!("object-format={}\n", capabilities.hash)).delimiter();
    body.line("thin-pack\n").line("ofs-delta\n");
    if request.object_limit.is_none() {
        // With a limit the server's count is watched, so that it need not count to the end.
        body.line("no-progress\n");
    }
    for id in &request.want {
        body.line(&format!("want {id}\n"));
    }
    if capabilities.shallow {
        add_boundaries(&mut body, request);
    }
    for id in &request.have {
        body.line(&format!("have {id}\n"));
    }
    // Without `done` the server sends the pack only when it sees that every wanted commit descends from a `have`.
    if request.object_limit.is_none() || request.have.is_empty() {
        body.line("done\n");
    }
    body.flush();
    body.into_bytes()
}

fn add_boundaries(body: &mut PacketWriter, request: &Request) {
    for id in &request.shallow {
        body.line(&format!("shallow {id}\n"));
    }
    match request.depth {
        Depth::Missing => {}
        Depth::TipOnly => {
            body.line("deepen 1\n");
        }
        Depth::Commits(count) => {
            body.line(&format!("deepen {count}\n"));
        }
        Depth::Everything => {
            body.line("deepen 2147483647\n");
        }
    }
}

/// gitprotocol-pack, *Packfile Negotiation*. Everything is sent at once, so that one request is enough.
fn body_v0(capabilities: &[String], request: &Request) -> Result<Vec<u8>, GitError> {
    let offered = |name: &str| capabilities.iter().any(|offered| offered == name);
    if !offered("side-band-64k") {
        return Err(GitError::protocol(
            "the server offers no side-band-64k: it is too old to be fetched from",
        ));
    }
    let mut wanted = vec!["side-band-64k"];
    // Some servers send nothing to clients without acknowledgments.
    let acknowledgments = ["multi_ack_detailed", "multi_ack"]
        .into_iter()
        .find(|name| offered(name));
    let optional = ["thin-pack", "ofs-delta"];
    wanted.extend(acknowledgments);
    wanted.extend(optional.into_iter().filter(|name| offered(name)));
    if request.object_limit.is_none() && offered("no-progress") {
        wanted.push("no-progress");
    }
    let mut body = PacketWriter::default();
    let mut first = format!(" {} agent={AGENT}", wanted.join(" "));
    if let Some(format) = capabilities.iter().find(|c| c.starts_with("object-format=")) {
        first.push_str(&format!(" {format}"));
    }
    for id in &request.want {
        body.line(&format!("want {id}{first}\n"));
        first.clear();
    }
    if offered("shallow") {
        add_boundaries(&mut body, request);
    }
    body.flush();
    for id in &request.have {
        body.line(&format!("have {id}\n"));
    }
    body.line("done\n");
    Ok(body.into_bytes())
}

/// The commits that became or ceased to be the edge of history.
struct Boundary {
    hash: gix::hash::Kind,
    shallow: Vec<ObjectId>,
    unshallow: Vec<ObjectId>,
}

impl Boundary {
    fn read(&mut self, line: &[u8]) -> Result<(), GitError> {
        let (list, hex) = match (line.strip_prefix(b"shallow "), line.strip_prefix(b"unshallow ")) {
            (Some(hex), _) => (&mut self.shallow, hex),
            (_, Some(hex)) => (&mut self.unshallow, hex),
            _ => {
                return Err(GitError::protocol(format!(
                    "a shallow line was expected where \"{}\" is",
                    short(line)
                )));
            }
        };
        let id = parse_id(hex, self.hash)
            .ok_or_else(|| GitError::protocol(format!("not an object id: \"{}\"", short(hex))))?;
        if list.len() >= MAX_BOUNDARIES {
            return Err(GitError::protocol("the server sends too many boundaries of history"));
        }
        list.push(id);
        Ok(())
    }
}

/// Reads the sections before the pack; false when the server continues to negotiate.
fn read_sections(packets: &mut PacketReader<impl BufRead>, boundary: &mut Boundary) -> Result<bool, GitError> {
    let mut section = Vec::new();
    loop {
        match packets.expect().map_err(broken)? {
            Packet::Delimiter => section.clear(),
            Packet::Flush if section == b"acknowledgments" => return Ok(false),
            Packet::Data(line) => {
                let line = text(line)?;
                match section.as_slice() {
                    b"" if line == b"packfile" => return Ok(true),
                    b"" => section = line.to_vec(),
                    b"shallow-info" => boundary.read(line)?,
                    _ => {}
                }
            }
            other => {
                let shown = format!(
                    "the answer to fetch has no pack: {other:?} in section \"{}\"",
                    short(&section)
                );
                return Err(GitError::Protocol(shown));
            }
        }
    }
}
