//! The references of a remote: version 2's `ls-refs`, or the advertisement of older versions.

use std::io::BufRead;

use gix::hash::Kind as Hash;

use super::layout::parse_id;
use super::pktline::{Packet, PacketReader, PacketWriter, broken, text};
use super::{GitError, ObjectId};

/// The user agent of this program.
pub(super) const AGENT: &str = concat!("bumpwright/", env!("CARGO_PKG_VERSION"));

/// The longest allowed name of a reference.
pub(super) const MAX_NAME: usize = 4096;

/// More references than this are an attack, not a repository.
const MAX_REFS: usize = 5_000_000;

/// Capabilities of a server that speaks version 2 (gitprotocol-v2, *Capability Advertisement*).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Capabilities {
    pub(super) hash: Hash,
    /// `fetch=shallow`: it can cut history.
    pub(super) shallow: bool,
    /// `ls-refs=unborn`: it reports the target of an unborn HEAD.
    pub(super) unborn: bool,
}

impl Capabilities {
    /// As text, for [`Capabilities::remembered`].
    pub(super) fn to_remember(&self) -> String {
        let mut text = format!("version 2\nobject-format {}\n", self.hash);
        for (has, name) in [(self.shallow, "shallow"), (self.unborn, "unborn")] {
            if has {
                text.push_str(name);
                text.push('\n');
            }
        }
        text
    }

    /// Parses the text of [`Capabilities::to_remember`]; none for anything else.
    pub(super) fn remembered(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("version 2\nobject-format ")?;
        let (hash, features) = rest.split_once('\n')?;
        let has = |name: &str| features.lines().any(|line| line == name);
        Some(Self {
            hash: hash.parse().ok()?,
            shallow: has("shallow"),
            unborn: has("unborn"),
        })
    }
}

/// One reference of the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) name: String,
    /// `None`: HEAD points at a branch without commits.
    pub(super) id: Option<ObjectId>,
    /// The object of an annotated tag.
    pub(super) peeled: Option<ObjectId>,
    /// The target of a symbolic reference.
    pub(super) target: Option<String>,
}

/// The requested references, or all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) refs: Vec<Listed>,
}

impl Listing {
    pub(super) fn find(&self, name: &str) -> Option<&Listed> {
        self.refs.iter().find(|listed| listed.name == name)
    }
}

/// The greeting of a server.
#[derive(Debug)]
pub(super) enum Greeting {
    V2(Capabilities),
    /// Versions 0 and 1: the references, and the capabilities of the first line.
    V0 {
        listing: Listing,
        capabilities: Vec<String>,
        hash: Hash,
    },
}

/// Reads the greeting.
pub(super) fn read_greeting(reader: impl BufRead) -> Result<Greeting, GitError> {
    let mut packets = PacketReader::new(reader);
    let Some(first) = packets.line()?.map(<[u8]>::to_vec) else {
        return Ok(no_references());
    };
    match first.as_slice() {
        b"version 2" => read_capabilities(&mut packets).map(Greeting::V2),
        b"version 1" => {
            let first = packets.line()?.map(<[u8]>::to_vec);
            read_advertisement(first, &mut packets)
        }
        _ => read_advertisement(Some(first), &mut packets),
    }
}

/// An empty repository of an older git does not even send its capabilities.
fn no_references() -> Greeting {
    Greeting::V0 {
        listing: Listing::default(),
        capabilities: Vec::new(),
        hash: Hash::Sha1,
    }
}

fn read_capabilities(packets: &mut PacketReader<impl BufRead>) -> Result<Capabilities, GitError> {
    let mut found = Capabilities {
        hash: Hash::Sha1,
        shallow: false,
        unborn: false,
    };
    let mut commands = (false, false);
    while let Some(line) = packets.line()? {
        let line = String::from_utf8_lossy(line);
        let (name, value) = line.split_once('=').unwrap_or((&line, ""));
        let has = |word: &str| value.split(' ').any(|w| w == word);
        match name {
            "object-format" => found.hash = object_format(value)?,
            "ls-refs" => (commands.0, found.unborn) = (true, has("unborn")),
            "fetch" => (commands.1, found.shallow) = (true, has("shallow")),
            _ => {}
        }
    }
    if commands == (true, true) {
        return Ok(found);
    }
    Err(GitError::protocol(
        "the server speaks version 2 but offers neither ls-refs nor fetch",
    ))
}

fn object_format(value: &str) -> Result<Hash, GitError> {
    match value {
        "sha1" => Ok(Hash::Sha1),
        "sha256" => Ok(Hash::Sha256),
        other => Err(GitError::protocol(format!(
            "the server's object format {other} is not supported"
        ))),
    }
}

/// gitprotocol-pack, *Reference Discovery*. The capabilities follow a NUL in the first line.
fn read_advertisement(first: Option<Vec<u8>>, packets: &mut PacketReader<impl BufRead>) -> Result<Greeting, GitError> {
    let mut listing = Listing::default();
    let Some(first) = first else { return Ok(no_references()) };
    let nul = memchr::memchr(0, &first).unwrap_or(first.len());
    let (head, rest) = first.split_at(nul);
    let rest = String::from_utf8_lossy(rest.get(1..).unwrap_or_default()).into_owned();
    let capabilities: Vec<String> = rest.split_ascii_whitespace().map(str::to_owned).collect();
    let value = |key: &str| capabilities.iter().find_map(|c| c.strip_prefix(key)?.strip_prefix('='));
    let hash = value("object-format").map_or(Ok(Hash::Sha1), object_format)?;
    add_advertised(&mut listing, head, hash)?;
    while let Some(line) = packets.line()? {
        add_advertised(&mut listing, line, hash)?;
    }
    for symref in capabilities.iter().filter_map(|c| c.strip_prefix("symref=")) {
        if let Some((name, target)) = symref.split_once(':')
            && let Some(listed) = listing.refs.iter_mut().find(|listed| listed.name == name)
        {
            listed.target = Some(target.to_owned());
        }
    }
    Ok(Greeting::V0 {
        listing,
        capabilities,
        hash,
    })
}

fn add_advertised(listing: &mut Listing, line: &[u8], hash: Hash) -> Result<(), GitError> {
    if line.is_empty() || line.starts_with(b"shallow ") {
        return Ok(());
    }
    let shown = || GitError::protocol(format!("not the Git protocol: \"{}\"", short(line)));
    let space = memchr::memchr(b' ', line).ok_or_else(shown)?;
    let id = line
        .get(..space)
        .and_then(|hex| parse_id(hex, hash))
        .ok_or_else(shown)?;
    let name = String::from_utf8_lossy(line.get(space + 1..).unwrap_or_default()).into_owned();
    if let Some(tag) = name.strip_suffix("^{}") {
        if let Some(last) = listing.refs.last_mut().filter(|last| last.name == tag) {
            last.peeled = Some(id);
        }
        return Ok(());
    }
    push(
        listing,
        Listed {
            name,
            id: Some(id),
            peeled: None,
            target: None,
        },
    )
}

fn push(listing: &mut Listing, listed: Listed) -> Result<(), GitError> {
    if listing.refs.len() >= MAX_REFS {
        return Err(GitError::protocol("the server lists too many references"));
    }
    // Names are written to files of lines, and to messages.
    let has_control = |name: &str| name.contains(|c: char| c.is_control() || c == ' ');
    if has_control(&listed.name) || listed.target.as_deref().is_some_and(has_control) {
        let shown = short(listed.name.as_bytes());
        return Err(GitError::protocol(format!(
            "the server lists a reference with a forbidden name: \"{shown}\""
        )));
    }
    listing.refs.push(listed);
    Ok(())
}

/// The body of an `ls-refs` request; references are listed whose name starts with one of `prefixes`.
pub(super) fn ls_refs(capabilities: &Capabilities, prefixes: &[String]) -> Vec<u8> {
    let mut body = PacketWriter::default();
    body.line("command=ls-refs\n").line(&format!("agent={AGENT}\n"));
    body.line(&format!("object-format={}\n", capabilities.hash)).delimiter();
    body.line("peel\n").line("symrefs\n");
    if capabilities.unborn {
        body.line("unborn\n");
    }
    for prefix in prefixes {
        body.line(&format!("ref-prefix {prefix}\n"));
    }
    body.flush();
    body.into_bytes()
}

/// Reads the answer to `ls-refs`.
pub(super) fn read_ls_refs(reader: impl BufRead, hash: Hash) -> Result<Listing, GitError> {
    let mut packets = PacketReader::new(reader);
    let mut listing = Listing::default();
    loop {
        match packets.expect().map_err(broken)? {
            Packet::Flush => return Ok(listing),
            Packet::Data(line) => {
                let line = text(line)?;
                let listed = listed(&String::from_utf8_lossy(line), hash)
                    .ok_or_else(|| GitError::protocol(format!("not an answer to ls-refs: \"{}\"", short(line))))?;
                push(&mut listing, listed)?;
            }
            other => return Err(GitError::protocol(format!("not an answer to ls-refs: {other:?}"))),
        }
    }
}

fn listed(line: &str, hash: Hash) -> Option<Listed> {
    let mut words = line.split(' ');
    let id = match words.next()? {
        "unborn" => None,
        hex => Some(parse_id(hex.as_bytes(), hash)?),
    };
    let name = words.next()?.to_owned();
    let (mut peeled, mut target) = (None, None);
    for word in words {
        if let Some(hex) = word.strip_prefix("peeled:") {
            peeled = Some(parse_id(hex.as_bytes(), hash)?);
        } else if let Some(name) = word.strip_prefix("symref-target:") {
            target = Some(name.to_owned());
        }
    }
    Some(Listed {
        name,
        id,
        peeled,
        target,
    })
}

/// The start of an unexpected line, fit for a message.
pub(super) fn short(line: &[u8]) -> String {
    line.get(..80).unwrap_or(line).escape_ascii().to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn body(lines: &[&str]) -> Vec<u8> {
        let mut body = PacketWriter::default();
        for line in lines {
            body.line(line);
        }
        body.flush();
        body.into_bytes()
    }

    fn greeting(lines: &[&str]) -> Result<Greeting, GitError> {
        read_greeting(&body(lines)[..])
    }

    #[test]
    fn version_2_tells_what_it_can_do() {
        let all = [
            "version 2\n",
            "agent=git/2\n",
            "ls-refs=unborn\n",
            "fetch=shallow wait-for-done\n",
            "object-format=sha256\n",
        ];
        let Greeting::V2(found) = greeting(&all).unwrap() else {
            panic!()
        };
        assert_eq!(
            found,
            Capabilities {
                hash: Hash::Sha256,
                shallow: true,
                unborn: true
            }
        );
        assert!(matches!(
            greeting(&["version 2\n", "ls-refs\n"]),
            Err(GitError::Protocol(_))
        ));
        assert!(matches!(
            greeting(&["version 2\n", "object-format=sha3\n"]),
            Err(GitError::Protocol(_))
        ));
    }

    #[test]
    fn older_versions_list_their_references() {
        let first = format!("{ONE} HEAD\0shallow symref=HEAD:refs/heads/x\n");
        let lines = [
            first,
            format!("{ONE} refs/heads/x\n"),
            format!("{ONE} refs/tags/t\n"),
            format!("{TWO} refs/tags/t^{{}}\n"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        for start in [&["version 1\n"][..], &[]] {
            let all: Vec<&str> = start.iter().chain(&lines).copied().collect();
            let Greeting::V0 {
                listing, capabilities, ..
            } = greeting(&all).unwrap()
            else {
                panic!()
            };
            assert_eq!(capabilities, ["shallow", "symref=HEAD:refs/heads/x"]);
            assert_eq!(listing.find("HEAD").unwrap().target.as_deref(), Some("refs/heads/x"));
            let tag = listing.find("refs/tags/t").unwrap();
            assert_eq!(tag.peeled.unwrap().to_string(), TWO);
            assert_eq!(listing.refs.len(), 3);
        }
    }

    #[test]
    fn a_repository_without_references_is_told_by_its_capabilities() {
        let line = format!("{} capabilities^{{}}\0report-status\n", "0".repeat(40));
        let Greeting::V0 {
            listing, capabilities, ..
        } = greeting(&[&line]).unwrap()
        else {
            panic!()
        };
        assert!(listing.refs.is_empty() && capabilities == ["report-status"]);
        assert!(matches!(greeting(&[]).unwrap(), Greeting::V0 { .. }));
    }

    #[test]
    fn what_is_not_git_is_shown() {
        for line in ["<html>", "no id here", &format!("{} refs/heads/x", "z".repeat(40))] {
            assert!(matches!(greeting(&[line]), Err(GitError::Protocol(_))), "{line}");
        }
        let error = read_ls_refs(&body(&["what? \u{1b}[31m"])[..], Hash::Sha1).unwrap_err();
        assert!(!error.to_string().contains('\u{1b}'), "{error}");
        assert!(read_ls_refs(&b"0001"[..], Hash::Sha1).is_err());
    }

    #[test]
    fn attributes_of_references_are_read() {
        let lines = [
            format!("{ONE} refs/tags/t peeled:{TWO}\n"),
            "unborn HEAD symref-target:refs/heads/main\n".to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let listing = read_ls_refs(&body(&lines)[..], Hash::Sha1).unwrap();
        assert_eq!(listing.find("refs/tags/t").unwrap().peeled.unwrap().to_string(), TWO);
        assert_eq!(listing.find("HEAD").unwrap().id, None);
    }
}
