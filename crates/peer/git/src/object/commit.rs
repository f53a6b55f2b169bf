//! Commit objects: the bytes of a new one, the parts of an old one.

use std::borrow::Cow;

use crate::{GitError, ObjectId};
use bumpwright_text::Parts;

/// An author or committer, with the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name; may be empty.
    pub name: String,
    /// The address, without `<` and `>`.
    pub email: String,
    /// Seconds since 1970-01-01 UTC.
    pub seconds: i64,
    /// Offset from UTC in minutes, as shown: `+0130` is 90.
    pub offset_minutes: i32,
}

/// A commit to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub tree: ObjectId,
    /// The parents, first parent first.
    pub parents: Vec<ObjectId>,
    /// The author of the change.
    pub author: Person,
    /// The creator of the commit.
    pub committer: Person,
    /// The message; its bytes are kept, also when it is empty or has no final newline.
    pub message: Vec<u8>,
    /// A detached signature over [`Commit::payload`], in its armour (`gpgsig` header).
    pub signature: Option<String>,
}

impl Commit {
    /// The bytes that a signature is made over: the commit without its signature.
    #[must_use]
    pub fn payload(&self) -> Vec<u8> {
        self.write(None)
    }

    /// The bytes of the commit object.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.write(self.signature.as_deref())
    }

    fn write(&self, signature: Option<&str>) -> Vec<u8> {
        let mut out = format!("tree {}\n", self.tree);
        for parent in &self.parents {
            out.push_str(&format!("parent {parent}\n"));
        }
        out.push_str(&format!(
            "author {}\ncommitter {}\n",
            self.author.line(),
            self.committer.line()
        ));
        out.push('\n');
        let mut out = out.into_bytes();
        out.extend_from_slice(&self.message);
        match signature {
            Some(signature) => add_signature(&out, signature),
            None => out,
        }
    }
}

/// The bytes of a commit object with a signature over them added, as git does it: the last header, its lines folded.
/// Repositories with SHA-256 use a header name of their own (git, *hash-function-transition*).
#[must_use]
pub fn add_signature(commit: &[u8], signature: &str) -> Vec<u8> {
    const SHA256_TREE: usize = "tree ".len() + 64;
    let header = match memchr::memchr(b'\n', commit) {
        Some(SHA256_TREE) => "gpgsig-sha256",
        _ => "gpgsig",
    };
    let folded = signature.trim_end_matches('\n').replace('\n', "\n ");
    let end = memchr::memmem::find(commit, b"\n\n").map_or(commit.len(), |at| at + 1);
    let (headers, message) = commit.split_at(end);
    [headers, format!("{header} {folded}\n").as_bytes(), message].concat()
}

impl Person {
    /// `name <email> seconds offset`, without the characters that would end a part early.
    fn line(&self) -> String {
        let clean = |text: &str| -> String { text.chars().filter(|c| !matches!(c, '<' | '>' | '\n' | '\0')).collect() };
        let (sign, minutes) = if self.offset_minutes < 0 {
            ('-', -self.offset_minutes)
        } else {
            ('+', self.offset_minutes)
        };
        let (name, email) = (clean(&self.name), clean(&self.email));
        format!(
            "{name} <{email}> {} {sign}{:02}{:02}",
            self.seconds,
            minutes / 60,
            minutes % 60
        )
    }
}

/// The parts of an existing commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    pub tree: ObjectId,
    /// The parents, first parent first.
    pub parents: Vec<ObjectId>,
    /// The author line as written: `name <email> seconds offset`.
    pub author: Vec<u8>,
    pub committer: Vec<u8>,
    /// The committer's time in seconds since 1970-01-01 UTC; 0 when it cannot be read.
    pub seconds: i64,
    /// Whether it carries a signature, valid or not.
    pub signed: bool,
    pub message: Vec<u8>,
}

impl CommitInfo {
    /// Whether this person is author and committer.
    #[must_use]
    pub fn is_by(&self, name: &str, email: &str) -> bool {
        let person = Person {
            name: name.to_owned(),
            email: email.to_owned(),
            seconds: 0,
            offset_minutes: 0,
        };
        let line = person.line();
        let who = line.strip_suffix("0 +0000").unwrap_or(&line).as_bytes();
        self.author.starts_with(who) && self.committer.starts_with(who)
    }

    /// Name and address of the author.
    #[must_use]
    pub fn author(&self) -> (Cow<'_, str>, Cow<'_, str>) {
        let end = memchr::memrchr(b'>', &self.author).unwrap_or(self.author.len());
        let who = self.author.part(..end);
        let start = memchr::memrchr(b'<', who).unwrap_or(who.len());
        let (name, address) = who.split_at(start);
        let address = address.strip_prefix(b"<").unwrap_or(address);
        (
            String::from_utf8_lossy(name.trim_ascii()),
            String::from_utf8_lossy(address),
        )
    }

    /// Reads the bytes of a commit object.
    pub(crate) fn parse(id: ObjectId, data: &[u8]) -> Result<Self, GitError> {
        Self::read(data).ok_or_else(|| GitError::damaged(format!("commit {id} cannot be read")))
    }

    fn read(data: &[u8]) -> Option<Self> {
        let (mut tree, mut parents, mut author, mut committer) = (None, Vec::new(), Vec::new(), Vec::new());
        let mut rest = data;
        let mut signed = false;
        loop {
            let end = memchr::memchr(b'\n', rest)?;
            let (line, tail) = (rest.get(..end)?, rest.get(end + 1..)?);
            rest = tail;
            if line.is_empty() {
                break;
            }
            if let Some(hex) = line.strip_prefix(b"tree ") {
                tree = Some(ObjectId::from_hex(hex).ok()?);
            } else if let Some(hex) = line.strip_prefix(b"parent ") {
                parents.push(ObjectId::from_hex(hex).ok()?);
            } else if let Some(person) = line.strip_prefix(b"author ") {
                author = person.to_vec();
            } else if let Some(person) = line.strip_prefix(b"committer ") {
                committer = person.to_vec();
            }
            signed |= line.starts_with(b"gpgsig");
        }
        let seconds = committer_seconds(&committer).unwrap_or(0);
        Some(Self {
            tree: tree?,
            parents,
            author,
            committer,
            seconds,
            signed,
            message: rest.to_vec(),
        })
    }
}

fn committer_seconds(line: &[u8]) -> Option<i64> {
    let after = line.get(memchr::memrchr(b'>', line)? + 1..)?;
    std::str::from_utf8(after)
        .ok()?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn commit(signature: Option<&str>) -> Commit {
        let id = ObjectId::from_hex("1".repeat(40).as_bytes()).unwrap();
        let author = Person {
            name: "A <b> é".into(),
            email: "a@x\n".into(),
            seconds: 5,
            offset_minutes: -90,
        };
        let committer = Person {
            name: String::new(),
            email: "c@x".into(),
            seconds: 7,
            offset_minutes: 330,
        };
        let message = b"no line break".to_vec();
        Commit {
            tree: id,
            parents: vec![id],
            author,
            committer,
            message,
            signature: signature.map(str::to_owned),
        }
    }

    #[test]
    fn the_bytes_are_gits() {
        let one = "1".repeat(40);
        let expected =
            format!("tree {one}\nparent {one}\nauthor A b é <a@x> 5 -0130\ncommitter  <c@x> 7 +0530\n\nno line break");
        assert_eq!(String::from_utf8(commit(None).encode()).unwrap(), expected);
    }

    #[test]
    fn a_signature_is_folded_into_its_header_and_not_signed_itself() {
        let signed = commit(Some("-----BEGIN X-----\n\nabc\n-----END X-----\n"));
        assert_eq!(signed.payload(), commit(None).encode());
        let text = String::from_utf8(signed.encode()).unwrap();
        assert!(
            text.contains("+0530\ngpgsig -----BEGIN X-----\n \n abc\n -----END X-----\n\nno line"),
            "{text}"
        );
        let info = CommitInfo::parse(signed.tree, &signed.encode()).unwrap();
        assert_eq!((info.tree, info.parents.len(), info.seconds), (signed.tree, 1, 7));
        assert_eq!(info.message, b"no line break");
        assert_eq!(info.author(), ("A b é".into(), "a@x".into()));
        assert!(info.signed);
        assert!(!CommitInfo::parse(signed.tree, &signed.payload()).unwrap().signed);
    }

    #[test]
    fn garbage_is_damage() {
        let id = ObjectId::from_hex("1".repeat(40).as_bytes()).unwrap();
        for bytes in [&b""[..], b"tree x\n\n", b"parent \n", b"author\n\nmessage"] {
            assert!(matches!(CommitInfo::parse(id, bytes), Err(GitError::Damaged(_))));
        }
    }
}
