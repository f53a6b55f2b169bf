//! Mirrors of test repositories, with common operations of their tests.

use std::collections::BTreeMap;
use std::io::{BufRead, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bumpwright_git::{
    Checkout, Commit, Connection, Fetched, GitError, Mirror, MirrorOptions, ObjectId, Pack, Person, Protocol, Push,
    RefUpdate, Remote, RemoteUrl, Service, Transport, TransportError, open,
};

use crate::repo::Repo;

/// The protocol of a server, whatever the client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    Two,
    One,
    Zero,
}

/// A transport that counts, and that can be limited to an old protocol.
pub struct Counted {
    inner: Box<dyn Transport>,
    speaks: Speaks,
    pub requests: Arc<AtomicUsize>,
}

impl Transport for Counted {
    fn connect(&self, service: Service, protocol: Protocol) -> Result<Box<dyn Connection>, TransportError> {
        let protocol = if self.speaks == Speaks::Two {
            protocol
        } else {
            Protocol::V0
        };
        let inner = self.inner.connect(service, protocol)?;
        let one = self.speaks == Speaks::One && service == Service::UploadPack;
        Ok(Box::new(CountedConnection {
            inner,
            one,
            requests: Arc::clone(&self.requests),
        }))
    }
}

struct CountedConnection {
    inner: Box<dyn Connection>,
    one: bool,
    requests: Arc<AtomicUsize>,
}

impl Connection for CountedConnection {
    fn stateless(&self) -> bool {
        self.inner.stateless()
    }

    fn advertisement(&mut self) -> Result<Box<dyn BufRead + Send + '_>, TransportError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let reader = self.inner.advertisement()?;
        // Version 1 is version 0 with a line in front.
        if self.one {
            Ok(Box::new(Cursor::new(b"000eversion 1\n").chain(reader)))
        } else {
            Ok(reader)
        }
    }

    fn request(&mut self, body: &[u8]) -> Result<Box<dyn BufRead + Send + '_>, TransportError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.inner.request(body)
    }

    fn finish(self: Box<Self>) -> Result<(), TransportError> {
        self.inner.finish()
    }
}

/// The transport to a URL or path.
pub fn transport(url: &str, speaks: Speaks) -> Arc<Counted> {
    let remote = Remote {
        timeout: Duration::from_secs(120),
        ..Remote::new(RemoteUrl::parse(url).unwrap())
    };
    Arc::new(Counted {
        inner: open(&remote).unwrap(),
        speaks,
        requests: Arc::default(),
    })
}

/// A shallow mirror.
pub fn mirror(storage: &Path, url: &str) -> Mirror {
    mirror_with(storage, url, Speaks::Two, true)
}

pub fn mirror_with(storage: &Path, url: &str, speaks: Speaks, shallow: bool) -> Mirror {
    Mirror::open(storage, "m", transport(url, speaks), MirrorOptions { shallow }).unwrap()
}

pub fn branch(name: &str) -> Checkout<'static> {
    Checkout::Branch(name.to_owned())
}

pub fn id(hex: &str) -> ObjectId {
    ObjectId::from_hex(hex.as_bytes()).unwrap()
}

/// Everything below a tree: path to mode name and content.
pub fn files(fetched: &Fetched) -> BTreeMap<String, String> {
    try_files(fetched).unwrap()
}

pub fn try_files(fetched: &Fetched) -> Result<BTreeMap<String, String>, GitError> {
    let mut all = BTreeMap::new();
    let mut queue = vec![(String::new(), fetched.tip.tree)];
    while let Some((at, tree)) = queue.pop() {
        for entry in fetched.objects.tree(tree)?.entries() {
            let entry = entry?;
            let path = format!("{at}{}", String::from_utf8_lossy(entry.name));
            match entry.kind {
                bumpwright_git::EntryKind::Tree => queue.push((format!("{path}/"), entry.id)),
                bumpwright_git::EntryKind::Submodule => {
                    all.insert(path, entry.id.to_string());
                }
                _ => {
                    let content = fetched.objects.blob(entry.id, 1 << 30)?;
                    all.insert(path, String::from_utf8_lossy(&content).into_owned());
                }
            }
        }
    }
    Ok(all)
}

/// Makes a commit on top of the fetched one.
pub fn bump(fetched: &Fetched, message: &str, edits: &[(&str, &[u8])]) -> (ObjectId, Pack) {
    let edits = edits
        .iter()
        .map(|(path, content)| (path.as_bytes().to_vec(), content.to_vec()))
        .collect();
    let (tree, mut new) = fetched.objects.write_edits(fetched.tip.tree, &edits).unwrap();
    let person = Person {
        name: "Bump".into(),
        email: "bump@example.com".into(),
        seconds: 1_700_000_000,
        offset_minutes: 0,
    };
    let commit = Commit {
        tree,
        parents: vec![fetched.tip.commit],
        author: person.clone(),
        committer: person,
        message: message.as_bytes().to_vec(),
        signature: None,
    };
    let id = new.add_commit(&commit).unwrap();
    (id, new.pack().unwrap())
}

pub fn update(reference: &str, expect: Option<ObjectId>, new: Option<ObjectId>) -> RefUpdate {
    RefUpdate {
        reference: reference.to_owned(),
        expect,
        new,
        force: true,
    }
}

pub fn push_of(update: RefUpdate) -> Push {
    Push {
        updates: vec![update],
        ..Push::default()
    }
}

/// Stores and pushes a commit to a branch that should be unchanged since the fetch.
pub fn push(mirror: &Mirror, fetched: &Fetched, new: ObjectId, pack: &Pack) -> Result<(), GitError> {
    mirror.store(&fetched.objects, pack)?;
    let lease = update(&fetched.tip.reference, Some(fetched.tip.commit), Some(new));
    mirror.push(&push_of(lease), Some(pack))
}

/// The mirror's folder, for the real git.
pub fn folder(storage: &Path) -> Repo {
    Repo { dir: storage.join("m") }
}

/// The number of packs in the mirror.
pub fn packs(storage: &Path) -> usize {
    let entries = std::fs::read_dir(storage.join("m/objects/pack")).unwrap();
    entries
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|e| e == "pack"))
        .count()
}
