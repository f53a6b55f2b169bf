//! The references of a remote: version 2's `ls-refs`, or the advertisement of older versions.

use std::io::BufRead;

use gix::hash::Kind as Hash;

use super::pktline::{Packet, PacketReader, PacketWriter, broken, text};
use crate::mirror::layout::parse_id;
use crate::{GitError, ObjectId};
use bumpwright_budget::{Reservation, Share};
use bumpwright_http::Job;
use bumpwright_text::Parts;

/// The user agent of this program.
pub(crate) const AGENT: &str = concat!("bumpwright/", env!("CARGO_PKG_VERSION"));

/// The longest allowed name of a reference.
pub(crate) const MAX_NAME: usize = 4096;

/// More references than this are an attack, not a repository. Those that nobody asked for count, too.
const MAX_REFS: usize = 5_000_000;

/// Symbolic references of an advertisement that count; git has one.
const MAX_SYMREFS: usize = 64;

/// Memory for references is taken in steps of this many bytes.
const STEP: u64 = 64 << 10;

/// Capabilities of a server that speaks version 2 (gitprotocol-v2, *Capability Advertisement*).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub(crate) hash: Hash,
    /// `fetch=shallow`: it can cut history.
    pub(crate) shallow: bool,
    /// `ls-refs=unborn`: it reports the target of an unborn HEAD.
    pub(crate) unborn: bool,
}

impl Capabilities {
    /// As text, for [`Capabilities::remembered`].
    pub(crate) fn to_remember(&self) -> String {
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
    pub(crate) fn remembered(text: &str) -> Option<Self> {
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
pub(crate) struct Listed {
    pub(crate) name: String,
    /// `None`: HEAD points at a branch without commits.
    pub(crate) id: Option<ObjectId>,
    /// The object of an annotated tag.
    pub(crate) peeled: Option<ObjectId>,
    /// The target of a symbolic reference.
    pub(crate) target: Option<String>,
}

/// The requested references. Others are dropped as they are read: older servers, and hostile ones, list all of them.
/// The memory of those that stay is on the account of the job as long as the listing lives.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) refs: Vec<Listed>,
    /// Whether there are references with a value, requested or not.
    pub(crate) has_any: bool,
    /// How many were read.
    seen: usize,
    used: u64,
    held: Option<Reservation>,
}

impl Listing {
    fn on(account: &Share) -> Self {
        Self {
            held: Some(account.nothing()),
            ..Self::default()
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Listed> {
        self.refs.iter().find(|listed| listed.name == name)
    }

    /// The references, and their memory, which is to be kept as long as they or their names are.
    pub(crate) fn into_parts(self) -> (Vec<Listed>, Option<Reservation>) {
        (self.refs, self.held)
    }

    /// Counts a reference. Returns whether it is to be kept.
    fn counts(&mut self, name: &str, has_value: bool, prefixes: &[String]) -> Result<bool, GitError> {
        if self.seen >= MAX_REFS {
            return Err(GitError::protocol("the server lists too many references"));
        }
        self.seen += 1;
        self.has_any |= has_value;
        Ok(is_wanted(name, prefixes))
    }

    fn push(&mut self, listed: Listed) -> Result<(), GitError> {
        let target = listed.target.as_deref();
        // Names are written to files of lines, and to messages.
        let is_forbidden = |name: &str| name.len() > MAX_NAME || name.contains(|c: char| c.is_control() || c == ' ');
        if is_forbidden(&listed.name) || target.is_some_and(is_forbidden) {
            let shown = short(listed.name.as_bytes());
            return Err(GitError::protocol(format!(
                "the server lists a reference with a forbidden name: \"{shown}\""
            )));
        }
        let (length, room) = (self.refs.len(), self.refs.capacity());
        let more = if length == room { (length / 2).max(16) } else { 0 };
        // Who asked copies the name.
        let copied = 2 * listed.name.len() + size_of::<RemoteRef>();
        let bytes = copied + target.map_or(0, str::len) + more * size_of::<Listed>();
        self.used = self.used.saturating_add(bytes as u64);
        if let Some(held) = &mut self.held {
            held.reach(self.used, STEP)
                .map_err(|bound| GitError::exceeded("the list of references", bound))?;
        }
        self.refs.reserve_exact(more);
        self.refs.push(listed);
        Ok(())
    }
}

fn is_wanted(name: &str, prefixes: &[String]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
}

/// The greeting of a server.
#[derive(Debug)]
pub(crate) enum Greeting {
    V2(Capabilities),
    /// Versions 0 and 1: the references, and the capabilities of the first line.
    V0 {
        listing: Listing,
        capabilities: Vec<String>,
        hash: Hash,
    },
}

/// Reads the greeting. Of the references in it those stay that begin with one of `prefixes`.
pub(crate) fn read_greeting(reader: impl BufRead, prefixes: &[String]) -> Result<Greeting, GitError> {
    let mut packets = PacketReader::new(reader);
    let Some(first) = packets.line()?.map(<[u8]>::to_vec) else {
        return Ok(no_references());
    };
    match first.as_slice() {
        b"version 2" => read_capabilities(&mut packets).map(Greeting::V2),
        b"version 1" => {
            let first = packets.line()?.map(<[u8]>::to_vec);
            read_advertisement(first, &mut packets, prefixes)
        }
        _ => read_advertisement(Some(first), &mut packets, prefixes),
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
    let mut capabilities = Capabilities {
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
            "object-format" => capabilities.hash = object_format(value)?,
            "ls-refs" => (commands.0, capabilities.unborn) = (true, has("unborn")),
            "fetch" => (commands.1, capabilities.shallow) = (true, has("shallow")),
            _ => {}
        }
    }
    if commands == (true, true) {
        return Ok(capabilities);
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
fn read_advertisement(
    first: Option<Vec<u8>>,
    packets: &mut PacketReader<impl BufRead>,
    prefixes: &[String],
) -> Result<Greeting, GitError> {
    let mut listing = Listing::on(&Job::account());
    let Some(first) = first else { return Ok(no_references()) };
    let nul = memchr::memchr(0, &first).unwrap_or(first.len());
    let (head, rest) = first.split_at(nul);
    let rest = String::from_utf8_lossy(rest.tail(1)).into_owned();
    let capabilities: Vec<String> = rest.split_ascii_whitespace().map(str::to_owned).collect();
    let value = |key: &str| capabilities.iter().find_map(|c| c.strip_prefix(key)?.strip_prefix('='));
    let hash = value("object-format").map_or(Ok(Hash::Sha1), object_format)?;
    add_advertised(&mut listing, head, hash, prefixes)?;
    while let Some(line) = packets.line()? {
        add_advertised(&mut listing, line, hash, prefixes)?;
    }
    let symrefs = capabilities.iter().filter_map(|c| c.strip_prefix("symref="));
    for symref in symrefs.take(MAX_SYMREFS) {
        if let Some((name, target)) = symref.split_once(':')
            && is_wanted(name, prefixes)
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

fn add_advertised(listing: &mut Listing, line: &[u8], hash: Hash, prefixes: &[String]) -> Result<(), GitError> {
    if line.is_empty() || line.starts_with(b"shallow ") {
        return Ok(());
    }
    let shown = || GitError::protocol(format!("not the Git protocol: \"{}\"", short(line)));
    let space = memchr::memchr(b' ', line).ok_or_else(shown)?;
    let id = line
        .get(..space)
        .and_then(|hex| parse_id(hex, hash))
        .ok_or_else(shown)?;
    let name = String::from_utf8_lossy(line.part(space + 1..));
    if let Some(tag) = name.strip_suffix("^{}") {
        if let Some(last) = listing.refs.last_mut().filter(|last| last.name == tag) {
            last.peeled = Some(id);
        }
        return Ok(());
    }
    if !listing.counts(&name, true, prefixes)? {
        return Ok(());
    }
    listing.push(Listed {
        name: name.into_owned(),
        id: Some(id),
        peeled: None,
        target: None,
    })
}

/// The body of an `ls-refs` request; references are listed whose name starts with one of `prefixes`.
pub(crate) fn ls_refs(capabilities: &Capabilities, prefixes: &[String]) -> Vec<u8> {
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

/// Reads the answer to `ls-refs`. References stay that begin with one of `prefixes`.
pub(crate) fn read_ls_refs(reader: impl BufRead, hash: Hash, prefixes: &[String]) -> Result<Listing, GitError> {
    let mut packets = PacketReader::new(reader);
    let mut listing = Listing::on(&Job::account());
    loop {
        match packets.expect().map_err(broken)? {
            Packet::Flush => return Ok(listing),
            Packet::Data(line) => {
                let line = text(line)?;
                let listed = listed(&String::from_utf8_lossy(line), hash)
                    .ok_or_else(|| GitError::protocol(format!("not an answer to ls-refs: \"{}\"", short(line))))?;
                if listing.counts(&listed.name, listed.id.is_some(), prefixes)? {
                    listing.push(listed)?;
                }
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
pub(crate) fn short(line: &[u8]) -> String {
    line.get(..80).unwrap_or(line).escape_ascii().to_string()
}

/// The value of another reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteRef {
    /// The full name.
    pub reference: String,
    /// What it points at (peeled), `None` when the remote does not have it.
    pub commit: Option<ObjectId>,
    /// Its value, which a push has to expect: `commit`, or the tag object of an annotated tag.
    pub object: Option<ObjectId>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use bumpwright_budget::Memory;

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

    fn all() -> Vec<String> {
        vec![String::new()]
    }

    fn greeting(lines: &[&str]) -> Result<Greeting, GitError> {
        read_greeting(&body(lines)[..], &all())
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
        let error = read_ls_refs(&body(&["what? \u{1b}[31m"])[..], Hash::Sha1, &all()).unwrap_err();
        assert!(!error.to_string().contains('\u{1b}'), "{error}");
        assert!(read_ls_refs(&b"0001"[..], Hash::Sha1, &all()).is_err());
    }

    #[test]
    fn attributes_of_references_are_read() {
        let lines = [
            format!("{ONE} refs/tags/t peeled:{TWO}\n"),
            "unborn HEAD symref-target:refs/heads/main\n".to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let listing = read_ls_refs(&body(&lines)[..], Hash::Sha1, &all()).unwrap();
        assert_eq!(listing.find("refs/tags/t").unwrap().peeled.unwrap().to_string(), TWO);
        assert_eq!(listing.find("HEAD").unwrap().id, None);
    }
    /// Names of references in both protocols: those of an advertisement, and those that a server sends although
    /// others are asked for.
    fn both(names: &[String], prefixes: &[String]) -> [Result<Listing, GitError>; 2] {
        let lines: Vec<String> = names.iter().map(|name| format!("{ONE} {name}\n")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let advertised = read_greeting(&body(&lines)[..], prefixes).map(|greeting| match greeting {
            Greeting::V0 { listing, .. } => listing,
            Greeting::V2(_) => panic!(),
        });
        [advertised, read_ls_refs(&body(&lines)[..], Hash::Sha1, prefixes)]
    }

    #[test]
    fn references_that_nobody_asked_for_are_not_kept() {
        let long = format!("refs/pull/{}", "x".repeat(60_000));
        let names = ["HEAD", "refs/heads/x", &long, "refs/tags/t", &long].map(str::to_owned);
        for listing in both(&names, &["refs/tags/".to_owned(), "HEAD".to_owned()]) {
            let listing = listing.unwrap();
            let kept: Vec<&str> = listing.refs.iter().map(|listed| listed.name.as_str()).collect();
            assert_eq!(kept, ["HEAD", "refs/tags/t"]);
            assert_eq!((listing.seen, listing.has_any), (5, true));
        }
        for listing in both(&names, &[]) {
            let listing = listing.unwrap();
            assert!(listing.refs.is_empty() && listing.has_any);
        }
        for listing in both(&names, &["refs/pull/".to_owned()]) {
            let error = listing.unwrap_err().to_string();
            assert!(error.contains("a forbidden name"), "{error}");
        }
    }

    #[test]
    fn references_are_on_the_account_as_long_as_the_listing_lives() {
        let memory = Memory::shared(4 << 20, "--fetch-memory");
        let names: Vec<String> = (0..2_000).map(|n| format!("refs/tags/{n:0100}")).collect();
        Job::on(memory.of("apps")).run(|| {
            for is_first in [true, false] {
                let [advertised, listed] = both(&names, &["refs/".to_owned()]);
                let listing = if is_first {
                    advertised.ok()
                } else {
                    advertised.err().map(|_| Listing::default())
                };
                let listing = listing.or_else(|| listed.ok()).unwrap();
                assert!(memory.held() > 2_000 * 200, "{} bytes", memory.held());
                assert_eq!(listing.refs.len(), 2_000);
                let (refs, held) = listing.into_parts();
                drop(refs);
                assert!(memory.held() > 0);
                drop(held);
                assert_eq!(memory.held(), 0);
            }
            let names: Vec<String> = (0..10_000).map(|n| format!("refs/tags/{n:0100}")).collect();
            for listing in both(&names, &["refs/".to_owned()]) {
                let error = listing.unwrap_err().to_string();
                assert!(error.contains("--fetch-memory raises the bound"), "{error}");
                assert_eq!(memory.held(), 0);
            }
            assert!(both(&names, &["refs/heads/".to_owned()]).iter().all(Result::is_ok));
        });
    }
}
