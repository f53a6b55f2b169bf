//! Mirrors of remotes in the cache folder, one for each set of connection settings, shared by the jobs of a run.

use std::collections::HashMap;
use std::fs::DirBuilder;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::cli::error::{Attempt as _, CliError};
use bumpwright_budget::Budget;
use bumpwright_git::{IdentityKey, Mirror, MirrorOptions, Remote, discard, mirrors_in, open, private_folder};
use bumpwright_gostd::Time;
use bumpwright_update::{Index, Lanes, Place};
use tempfile::NamedTempFile;

/// The mirrors that this command has opened, by remote.
#[derive(Default)]
pub struct Places {
    cache: Option<PathBuf>,
    budget: Budget,
    /// By the name of the mirror. Remotes of one name may differ in credentials, trust or proxy: each has a
    /// transport of its own.
    open: HashMap<String, Vec<(Remote, Place)>>,
}

impl Places {
    /// Mirrors in this folder, independent of the environment.
    #[must_use]
    pub fn in_folder(cache: PathBuf) -> Self {
        Self {
            cache: Some(cache),
            ..Self::default()
        }
    }

    /// Sets the limits on fetches of mirrors opened later.
    pub fn bound(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// The mirror of `remote`, opened at the first call.
    ///
    /// # Errors
    ///
    /// Invalid settings or an unusable cache folder, in words for the user.
    pub fn place(&mut self, remote: &Remote) -> Result<Place, CliError> {
        let name = remote.mirror_name(&IdentityKey::of_one_user());
        let same = self.open.get(&name).map_or(&[][..], Vec::as_slice);
        if let Some((_, place)) = same.iter().find(|(other, _)| other == remote) {
            return Ok(place.clone());
        }
        let key = match same.len() {
            0 => name.clone(),
            others => format!("{name}-{others}"),
        };
        let storage = self.cache.clone().map_or_else(cache, Ok)?.join("mirrors");
        private_folder(&storage)
            .at(storage.display())
            .hint("set BUMPWRIGHT_CACHE to a folder that can be written")?;
        remove_shared(&storage);
        let transport = open(remote)?;
        let mirror = Mirror::open(&storage, &key, Arc::from(transport), MirrorOptions::default())?;
        let place = Place {
            mirror: Arc::new(mirror.within(self.budget.clone())),
            index: Arc::new(Index::open(&storage.join(format!("{key}.index")))),
            lanes: Arc::new(Lanes::default()),
            now,
        };
        self.open.entry(name).or_default().push((remote.clone(), place.clone()));
        Ok(place)
    }
}

/// Removes mirrors of older versions, whose names contain only address and user.
fn remove_shared(storage: &Path) {
    let is_old = |name: &String| name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    for name in mirrors_in(storage).iter().filter(|name| is_old(name)) {
        // Mirrors in use by another process are removed another time.
        let _ = discard(storage, name);
    }
}

/// `BUMPWRIGHT_CACHE`, or `bumpwright` in the user's cache folder.
pub(super) fn cache() -> Result<PathBuf, CliError> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    variable("BUMPWRIGHT_CACHE")
        // The XDG base directory specification: a relative path is to be ignored.
        .or_else(|| variable("XDG_CACHE_HOME").filter(|folder| folder.is_absolute()).map(|folder| folder.join("bumpwright")))
        .or_else(|| variable("HOME").map(|folder| folder.join(".cache/bumpwright")))
        .ok_or_else(|| CliError::new("no cache folder: set BUMPWRIGHT_CACHE"))
}

/// A new file in the folder of a place of the cache, which only the user can read; it takes the place when it is whole.
///
/// # Errors
/// The folder cannot be made, or not be written.
pub(super) fn file_beside(place: &Path) -> io::Result<NamedTempFile> {
    let folder = place.parent().ok_or(io::ErrorKind::NotFound)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    NamedTempFile::new_in(folder)
}

/// Keeps bytes at a place of the cache. What cannot be kept is fetched again next time.
pub(super) fn keep(place: &Path, bytes: &[u8]) {
    let write = || -> io::Result<()> {
        let mut file = file_beside(place)?;
        file.write_all(bytes)?;
        file.persist(place)?;
        Ok(())
    };
    drop(write());
}

/// The clock, in seconds since 1970-01-01 UTC.
fn now() -> i64 {
    Time::from(SystemTime::now()).unix_seconds()
}
