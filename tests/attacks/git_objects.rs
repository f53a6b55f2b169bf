//! Hostile Git objects: made by the real git where possible, else by hand.

use std::io::Write as _;
use std::process::Stdio;
use std::sync::Arc;

use bumpwright_testkit::git_http::{Fault, GitHttp, Maker, Seen};
use bumpwright_testkit::packets::{deflated, entry_head, repack, sealed};
use bumpwright_testkit::repo::{Repo, git};

/// An entry of a tree: mode, name, id.
pub type Entry<'a> = (&'a str, &'a str, &'a str);

/// Writes an object with these bytes, without git's checks.
pub fn object(repo: &Repo, kind: &str, bytes: &[u8]) -> String {
    let mut child = git(&repo.dir)
        .args(["hash-object", "-t", kind, "-w", "--literally", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Writes a tree with these entries, which have to be in order.
pub fn tree(repo: &Repo, entries: &[Entry<'_>]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        write!(bytes, "{mode} {name}\0").unwrap();
        let digits = id.as_bytes().chunks(2);
        bytes.extend(digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()));
    }
    object(repo, "tree", &bytes)
}

/// A tree of so many levels, each of which has the one below under ten names: the lowest has the file ten times.
pub fn unfolding(repo: &Repo, file: &[u8], levels: usize) -> String {
    let mut id = object(repo, "blob", file);
    for level in 0..levels {
        let names: Vec<String> = (0..10).map(|n| format!("{n}.yaml")).collect();
        let mode = if level == 0 { "100644" } else { "40000" };
        let entries: Vec<Entry<'_>> = names.iter().map(|name| (mode, name.as_str(), id.as_str())).collect();
        id = tree(repo, &entries);
    }
    id
}

/// Sets the branch main to a commit of this tree.
pub fn commit(repo: &Repo, tree: &str) {
    let id = repo.git(&["commit-tree", "-m", "attack", tree]);
    repo.git(&["update-ref", "refs/heads/main", &id]);
}

/// A pack by hand.
pub struct Pack {
    bytes: Vec<u8>,
}

impl Pack {
    /// One that announces so many objects, whatever comes.
    pub fn announcing(count: u32) -> Self {
        let mut bytes = b"PACK\0\0\0\x02".to_vec();
        bytes.extend(count.to_be_bytes());
        Self { bytes }
    }

    /// Adds a blob; returns its offset.
    pub fn blob(&mut self, content: &[u8]) -> usize {
        let at = self.bytes.len();
        self.bytes.extend(entry_head(3, content.len()));
        self.bytes.extend(deflated(content));
        at
    }

    /// Adds a delta on the entry at `base`; returns its offset.
    pub fn delta(&mut self, base: usize, instructions: &[u8]) -> usize {
        let at = self.bytes.len();
        self.bytes.extend(entry_head(6, instructions.len()));
        let mut distance = at - base;
        let mut digits = vec![u8::try_from(distance & 0x7f).unwrap()];
        while distance > 0x7f {
            distance = (distance >> 7) - 1;
            digits.push(u8::try_from(distance & 0x7f).unwrap() | 0x80);
        }
        self.bytes.extend(digits.iter().rev());
        self.bytes.extend(deflated(instructions));
        at
    }

    /// Adds the same bytes so many times: entries that were made before.
    pub fn repeat(&mut self, entry: &[u8], times: usize) {
        self.bytes.reserve(entry.len() * times);
        for _ in 0..times {
            self.bytes.extend_from_slice(entry);
        }
    }

    /// What was added from there on.
    pub fn since(&self, at: usize) -> Vec<u8> {
        self.bytes[at..].to_vec()
    }

    pub fn finish(self) -> Vec<u8> {
        sealed(self.bytes)
    }
}

/// The instructions of a delta that makes `size` bytes of a base of as many, from its beginning over and over.
pub fn copying(base: usize, size: usize) -> Vec<u8> {
    const MOST: usize = 0xff_ffff;
    let mut out = number(base);
    out.extend(number(size));
    let mut left = size;
    while left > 0 {
        let length = left.min(MOST);
        out.push(0b1111_0000);
        out.extend(&length.to_le_bytes()[..3]);
        left -= length;
    }
    out
}

fn number(mut value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while value > 0x7f {
        out.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap());
    out
}

/// Answers each fetch of a repository with this pack.
pub fn answer_with(server: &GitHttp, repository: &'static str, pack: fn() -> Vec<u8>) {
    let is_fetch = move |seen: &Seen| {
        let fetches = seen.body.windows(13).any(|part| part == b"command=fetch");
        fetches && seen.path.starts_with(&format!("/{repository}"))
    };
    server.intercept(move |seen| {
        let made = move |answer: &[u8]| repack(answer, |_| pack());
        is_fetch(seen).then(|| Fault::Made(Maker(Arc::new(made))))
    });
}
