//! Mirrors of remotes in the storage folder, one for each remote and user, shared by all automations that may use it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::clock;
use super::counting::CountedTransport;
use crate::automation::{Index, Lanes, Place};
use crate::budget::Budgets;
use crate::git::{Mirror, MirrorAtRest, MirrorOptions, Remote, open};
use crate::observe::Counter;

/// So many are kept open; beyond that, those that nobody uses are closed. On disk they stay. An open one takes a tenth of a
/// megabyte and what its index knows; to open it again takes a moment.
const MOST: usize = 8;

/// The mirrors that are open.
#[derive(Debug)]
pub(super) struct Mirrors {
    folder: PathBuf,
    options: MirrorOptions,
    requests: Counter,
    fetches: Budgets,
    open: Mutex<HashMap<String, Opened>>,
}

#[derive(Clone)]
struct Opened {
    mirror: MirrorAtRest,
    index: Arc<Index>,
    lanes: Arc<Lanes>,
}

impl Opened {
    /// Whether somebody reads, fetches or pushes here: to open the folder once more meanwhile would fetch twice.
    fn is_used(&self) -> bool {
        self.mirror.is_used() || Arc::strong_count(&self.index) > 1
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opened")
    }
}

impl Mirrors {
    /// Mirrors below the storage folder, whose requests to servers are counted; `shallow` ones hold tips without their
    /// history.
    pub(super) fn new(storage: &Path, shallow: bool, requests: Counter, fetches: Budgets) -> Self {
        Self {
            folder: storage.join("mirrors"),
            options: MirrorOptions { shallow },
            requests,
            fetches,
            open: Mutex::default(),
        }
    }

    /// The mirror of a remote, for those who only read.
    ///
    /// # Errors
    /// As [`Mirrors::place`].
    pub(super) fn mirror(&self, remote: &Remote, namespace: &str) -> Result<Arc<Mirror>, String> {
        self.place(remote, namespace).map(|place| place.mirror)
    }

    /// The mirror of a remote, to be reached as the remote says. The objects are shared; credentials never are: each run
    /// has a transport of its own, and the mirror is used only once the server has accepted it.
    ///
    /// # Errors
    /// When the settings cannot work or the storage folder cannot be used, in words for the user.
    pub(super) fn place(&self, remote: &Remote, namespace: &str) -> Result<Place, String> {
        let transport = Arc::new(CountedTransport {
            inner: open(remote).map_err(|e| e.to_string())?,
            requests: self.requests.clone(),
        });
        let key = remote.mirror_name();
        let mut known = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (mirror, opened) = match known.get(&key) {
            Some(opened) => (opened.mirror.with_transport(transport), opened.clone()),
            None => {
                std::fs::create_dir_all(&self.folder).map_err(|e| format!("{}: {e}", self.folder.display()))?;
                let mirror = Mirror::open(&self.folder, &key, transport, self.options).map_err(|e| e.to_string())?;
                if known.len() >= MOST {
                    known.retain(|_, opened| opened.is_used());
                }
                let opened = Opened {
                    mirror: mirror.at_rest(),
                    index: Arc::new(Index::open(&self.folder.join(format!("{key}.index")))),
                    lanes: Arc::default(),
                };
                known.insert(key, opened.clone());
                (mirror, opened)
            }
        };
        Ok(Place {
            mirror: Arc::new(mirror.within(self.fetches.of(namespace))),
            index: opened.index,
            lanes: opened.lanes,
            now: || clock::now().unix_seconds(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::budget::Memory;
    use crate::git::RemoteUrl;

    fn remote(number: usize) -> Remote {
        Remote::new(RemoteUrl::parse(&format!("https://git.example.com/fleet-{number}.git")).unwrap())
    }

    fn budgets() -> Budgets {
        Budgets::new(Memory::single(1 << 20, "--fetch-memory"), 10, 10)
    }

    fn is_open(mirrors: &Mirrors, number: usize) -> bool {
        mirrors.open.lock().unwrap().contains_key(&remote(number).mirror_name())
    }

    #[test]
    fn few_stay_open_besides_those_that_somebody_uses() {
        let storage = tempfile::tempdir().unwrap();
        let mirrors = Mirrors::new(storage.path(), true, Counter::default(), budgets());
        let read = mirrors.mirror(&remote(0), "apps").unwrap();
        let run = mirrors.place(&remote(1), "apps").unwrap();
        for number in 2..10 * MOST {
            mirrors.place(&remote(number), "apps").unwrap();
        }
        assert!(is_open(&mirrors, 0), "its objects are read");
        assert!(is_open(&mirrors, 1), "a run is at it");
        assert!(mirrors.open.lock().unwrap().len() <= MOST);
        drop((read, run));
        for number in 2..=MOST {
            mirrors.place(&remote(number), "apps").unwrap();
        }
        assert!(!is_open(&mirrors, 0) && !is_open(&mirrors, 1));
    }
}
