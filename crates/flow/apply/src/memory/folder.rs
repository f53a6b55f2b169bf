//! Memories on a disk, so that a process that was started again compares no object that is as the one before left it.
//!
//! A file for each Kustomization: `HEAD`, the version of the program, then the settings and entries of [`Memory`],
//! then their HMAC. The key is a file beside them. The HMAC also covers the Kustomization's name and uid: what is
//! damaged, cut off, of another version, of another folder or of another Kustomization counts as missing, and all
//! objects are compared. An old file does no harm: an entry says that an object at one version of the server is as
//! desired, which stays true.
//!
//! Nothing is synchronised with the disk: what a crash of the machine loses is compared again.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use super::applied::{ENTRY, Memory};
use crate::object::digest::Key;
use bumpwright_api::ObjectName;

/// The beginning of each file, with the version of its format.
const HEAD: &[u8] = b"bumpwright applied 1\n";

const KEY: &str = "key";

/// Bytes of the HMAC at the end.
const MAC: usize = 32;

/// Larger memories are not kept: the inventory of a Kustomization has to fit into one object of the API server, so none
/// has as many objects.
const MOST: usize = 100_000;

/// The Kustomization of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryOwner {
    /// Its namespace and name.
    pub name: ObjectName,
    /// Its uid: another one with the same name has applied nothing yet.
    pub uid: String,
}

/// The folder of memories.
#[derive(Debug)]
pub struct MemoryFolder {
    folder: PathBuf,
    /// The version of the program: a newer one may apply the same objects in another way.
    version: String,
    key: OnceLock<Key>,
}

impl MemoryFolder {
    /// Those of this version of the program. The folder is made when it is needed.
    #[must_use]
    pub fn new(folder: PathBuf, version: &str) -> Self {
        Self {
            folder,
            version: version.to_owned(),
            key: OnceLock::new(),
        }
    }

    /// The memory of a Kustomization; an empty one if none was kept.
    ///
    /// # Errors
    /// The folder cannot be used, or the file is damaged: the memory is empty then.
    pub fn read(&self, owner: &MemoryOwner) -> Result<Memory, (Memory, io::Error)> {
        let key = self.key().map_err(|error| (Memory::default(), error))?;
        let empty = || Memory::with(key.clone());
        let read = self.read_with(key, owner).map_err(|error| (empty(), error))?;
        Ok(read.unwrap_or_else(empty))
    }

    /// Keeps a memory that has changed.
    ///
    /// # Errors
    /// The file cannot be written; the next call tries again.
    pub fn write(&self, owner: &MemoryOwner, memory: &mut Memory) -> io::Result<()> {
        if !memory.is_changed || memory.key != *self.key()? {
            return Ok(());
        }
        let path = self.path(&memory.key, owner);
        if memory.len() == 0 || memory.len() > MOST {
            removed(&path)?;
        } else {
            let mut bytes = self.head();
            bytes.extend(memory.to_bytes(now()));
            let mac = mac(&memory.key, owner, &bytes);
            bytes.extend(mac);
            self.make()?;
            let mut fresh = tempfile::NamedTempFile::new_in(&self.folder)?;
            fresh.write_all(&bytes)?;
            fresh.persist(path)?;
        }
        memory.is_changed = false;
        Ok(())
    }

    /// Removes the memory of a Kustomization that is gone.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self, owner: &MemoryOwner) -> io::Result<()> {
        removed(&self.path(self.key()?, owner))
    }

    /// Removes the memories of all others.
    pub fn retain(&self, owners: &[MemoryOwner]) -> io::Result<()> {
        let key = self.key()?;
        let paths = owners.iter().map(|owner| self.path(key, owner));
        let paths: BTreeSet<PathBuf> = paths.chain([self.folder.join(KEY)]).collect();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if !paths.contains(&path) {
                removed(&path)?;
            }
        }
        Ok(())
    }

    fn read_with(&self, key: &Key, owner: &MemoryOwner) -> io::Result<Option<Memory>> {
        let path = self.path(key, owner);
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let head = self.head();
        let most = head.len() + ENTRY * (MOST + 1) + MAC;
        let mut bytes = Vec::new();
        file.take(most as u64).read_to_end(&mut bytes)?;
        // Another format or version; it may be of any length.
        if !bytes.is_empty() && !bytes.starts_with(&head) && is_a_head(&bytes) {
            return Ok(None);
        }
        let whole = bytes.split_last_chunk::<MAC>();
        let whole = whole.filter(|(bytes, found)| mac(key, owner, bytes) == **found);
        let body = whole.and_then(|(bytes, _)| bytes.strip_prefix(head.as_slice()));
        let memory = body.and_then(|body| Memory::of_bytes(key.clone(), body, now()));
        let damaged = || {
            let why = format!(
                "{} is damaged: all objects of {} are compared",
                path.display(),
                owner.name
            );
            io::Error::new(ErrorKind::InvalidData, why)
        };
        memory.map(Some).ok_or_else(damaged)
    }

    fn head(&self) -> Vec<u8> {
        [HEAD, self.version.as_bytes(), b"\n"].concat()
    }

    /// Its name says nothing about the Kustomization.
    fn path(&self, key: &Key, owner: &MemoryOwner) -> PathBuf {
        let digest = key.digest("file", &named(owner));
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(name)
    }

    fn make(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }

    /// The key of the folder, made if it is missing. With a new one all files count as damaged.
    fn key(&self) -> io::Result<&Key> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        self.make()?;
        let path = self.folder.join(KEY);
        let key = match read_key(&path)? {
            Some(key) => key,
            None => made_key(&self.folder, &path)?,
        };
        Ok(self.key.get_or_init(|| Key::of(key)))
    }
}

/// Whether a file begins as one of any format.
fn is_a_head(bytes: &[u8]) -> bool {
    let stem = HEAD.strip_suffix(b"1\n").unwrap_or(HEAD);
    bytes.starts_with(stem)
}

fn mac(key: &Key, owner: &MemoryOwner, bytes: &[u8]) -> [u8; MAC] {
    let [namespace, name, uid] = named(owner);
    key.whole("memory", &[namespace, name, uid, bytes])
}

fn named(owner: &MemoryOwner) -> [&[u8]; 3] {
    let MemoryOwner { name, uid } = owner;
    [name.namespace.as_bytes(), name.name.as_bytes(), uid.as_bytes()]
}

/// None for a file that is missing or not a key.
fn read_key(path: &Path) -> io::Result<Option<[u8; 32]>> {
    match fs::read(path) {
        Ok(bytes) => Ok(<[u8; 32]>::try_from(bytes).ok()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a key, which counts once its file is complete; the first of several processes wins.
fn made_key(folder: &Path, path: &Path) -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.write_all(&key)?;
    match fresh.persist_noclobber(path) {
        Ok(_) => Ok(key),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => match read_key(path)? {
            Some(key) => Ok(key),
            // It was cut off, or is somebody's file.
            None => error.file.persist(path).map(|_| key).map_err(|error| error.error),
        },
        Err(error) => Err(error.error),
    }
}

fn removed(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// The time of day, in seconds.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
#[path = "folder_tests.rs"]
mod tests;
