//! The memories of applied objects, by Kustomization: in the process, and on its disk for the next one.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex as StdMutex;
use tokio::sync::Mutex;

use bumpwright_api::ObjectName;
use bumpwright_apply::{Memory, MemoryFolder, MemoryOwner};
use bumpwright_kube::{Cache, Change, Object};
use bumpwright_runtime::{Log, blocking};

/// The memory of applied objects, by Kustomization.
#[derive(Debug, Clone)]
pub(crate) struct Memories {
    known: Arc<StdMutex<HashMap<ObjectName, Arc<Mutex<Memory>>>>>,
    folder: Arc<MemoryFolder>,
}

/// Those below the storage folder.
pub(crate) fn folder(storage: &Path) -> MemoryFolder {
    MemoryFolder::new(storage.join("applied"), env!("CARGO_PKG_VERSION"))
}

/// Removes the memories of Kustomizations that are gone, or have moved to another process; what fails is tried again
/// by the next cleanup.
pub(crate) fn tidy(folder: &MemoryFolder, kustomizations: &Cache, has_moved: impl Fn(&Object) -> bool) {
    if kustomizations.is_listed().is_ok() {
        let owners = kustomizations.list(|object| !has_moved(object));
        let owners: Vec<MemoryOwner> = owners.iter().map(|object| owner(object)).collect();
        let _ = folder.retain(&owners);
    }
}

fn owner(object: &Object) -> MemoryOwner {
    MemoryOwner {
        name: object.name.clone(),
        uid: object.uid.clone(),
    }
}

impl Memories {
    /// Those of a folder; deleted Kustomizations are dropped, from the folder too.
    pub(crate) fn forgetting(kustomizations: &Cache, storage: &Path) -> Self {
        let memories = Self {
            known: Arc::default(),
            folder: Arc::new(folder(storage)),
        };
        let dropped = memories.clone();
        kustomizations.listen(move |change| {
            if let Change::Deleted(object) = change {
                dropped.known.lock().remove(&object.name);
                let (folder, owner) = (Arc::clone(&dropped.folder), owner(object));
                // What is left is removed by the next cleanup.
                tokio::task::spawn_blocking(move || folder.remove(&owner));
            }
        });
        memories
    }

    /// The memory of one Kustomization.
    pub(crate) async fn of(&self, object: &Object, log: &Log) -> Arc<Mutex<Memory>> {
        if let Some(memory) = self.known.lock().get(&object.name) {
            return Arc::clone(memory);
        }
        let (folder, owner) = (Arc::clone(&self.folder), owner(object));
        let read = blocking::run(move || folder.read(&owner)).await;
        let memory = match read {
            Ok(Ok(memory)) => memory,
            Ok(Err((memory, error))) => {
                log.error(&error, "what was applied is not known from the disk");
                memory
            }
            Err(_) => Memory::default(),
        };
        let mut memories = self.known.lock();
        let memory = || Arc::new(Mutex::new(memory));
        Arc::clone(memories.entry(object.name.clone()).or_insert_with(memory))
    }

    /// Drops the memory of a Kustomization that another process owns. What is on the disk stays for a while: it is as
    /// good as the day it was written, should this process own the Kustomization again.
    pub(crate) fn drop_of(&self, name: &ObjectName) {
        self.known.lock().remove(name);
    }

    /// Keeps the memory of one Kustomization on the disk, if it has changed.
    pub(crate) async fn keep(&self, object: &Object, memory: &Arc<Mutex<Memory>>, log: &Log) {
        let mut memory = Arc::clone(memory).lock_owned().await;
        let (folder, owner) = (Arc::clone(&self.folder), owner(object));
        let written = blocking::run(move || folder.write(&owner, &mut memory)).await;
        if let Ok(Err(error)) = written {
            log.error(
                &error,
                "what was applied is not kept on the disk: a restart compares all objects",
            );
        }
    }
}
