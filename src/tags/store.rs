//! The database: one file, one table, safe against being cut off at any moment.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::RwLock;

use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use super::checksum::checksum;

/// Canonical image name to tags, one on each line.
const TAGS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("tags");

/// The pages that are kept in memory, in bytes: policies read each list once.
const CACHE: usize = 1 << 20;

const FILE: &str = "tags.redb";

/// The database cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct TagsError {
    /// Its file.
    pub path: PathBuf,
    /// Why not.
    pub error: String,
}

/// The tags of image repositories by their canonical names (`status.canonicalImageName`), so that ImageRepositories of the
/// same image share them, as in Flux.
pub struct TagStore {
    path: PathBuf,
    database: RwLock<Database>,
}

impl std::fmt::Debug for TagStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TagStore {}", self.path.display())
    }
}

impl TagStore {
    /// Opens the database in a folder, or makes it. A file that cannot be read as one is set aside: its tags will be
    /// scanned again.
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub fn open(folder: &Path) -> Result<Self, TagsError> {
        let path = folder.join(FILE);
        let failed = |error: &dyn std::fmt::Display| TagsError {
            path: path.clone(),
            error: error.to_string(),
        };
        std::fs::create_dir_all(folder).map_err(|e| failed(&e))?;
        let database = match create(&path) {
            Err(redb::DatabaseError::Storage(redb::StorageError::Corrupted(_) | redb::StorageError::Io(_)))
            | Err(redb::DatabaseError::UpgradeRequired(_) | redb::DatabaseError::RepairAborted)
                if path.is_file() =>
            {
                std::fs::rename(&path, path.with_extension("redb.unreadable")).map_err(|e| failed(&e))?;
                create(&path)
            }
            other => other,
        };
        Ok(Self {
            database: RwLock::new(database.map_err(|e| failed(&e))?),
            path,
        })
    }

    /// The tags that were kept last; none when there are none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn tags(&self, canonical: &str) -> Result<Vec<String>, TagsError> {
        let read = || -> Result<Vec<String>, redb::Error> {
            let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
            let table = match database.begin_read()?.open_table(TAGS) {
                Ok(table) => table,
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
                Err(error) => return Err(error.into()),
            };
            let found = table.get(canonical)?;
            Ok(found.map(|tags| split(tags.value())).unwrap_or_default())
        };
        read().map_err(|e| self.failed(&e))
    }

    /// Keeps the tags of an image instead of those that were kept before, and gives their checksum. A list that is just
    /// the same is not written again. When the file is gone, a new one is made.
    ///
    /// # Errors
    /// When the file cannot be written; what was kept before stays.
    pub fn set(&self, canonical: &str, tags: &[String]) -> Result<String, TagsError> {
        if !self.path.exists() {
            let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
            let folder = self.path.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder).map_err(|e| self.failed(&e))?;
            *database = create(&self.path).map_err(|e| self.failed(&e))?;
        }
        let joined = tags.join("\n");
        let write = || -> Result<(), redb::Error> {
            let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
            let transaction = database.begin_write()?;
            let same = {
                let mut table = transaction.open_table(TAGS)?;
                let same = table
                    .get(canonical)?
                    .is_some_and(|old| old.value() == joined.as_bytes());
                if !same {
                    table.insert(canonical, joined.as_bytes())?;
                }
                same
            };
            if same {
                transaction.abort()?;
            } else {
                transaction.commit()?;
            }
            Ok(())
        };
        write().map_err(|e| self.failed(&e))?;
        Ok(checksum(tags))
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> TagsError {
        TagsError {
            path: self.path.clone(),
            error: error.to_string(),
        }
    }
}

fn create(path: &Path) -> Result<Database, redb::DatabaseError> {
    Database::builder().set_cache_size(CACHE).create(path)
}

fn split(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.split('\n')
        .filter(|tag| !tag.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn list(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|tag| (*tag).to_owned()).collect()
    }

    #[test]
    fn what_was_set_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let store = TagStore::open(folder.path()).unwrap();
        assert!(store.tags("ghcr.io/o/app").unwrap().is_empty());
        store.set("ghcr.io/o/app", &list(&["2", "1"])).unwrap();
        store.set("ghcr.io/o/none", &[]).unwrap();
        drop(store);
        let store = TagStore::open(folder.path()).unwrap();
        assert_eq!(store.tags("ghcr.io/o/app").unwrap(), ["2", "1"]);
        assert!(store.tags("ghcr.io/o/none").unwrap().is_empty());
    }

    #[test]
    fn a_file_that_is_no_database_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), b"not a database, but somebody's file").unwrap();
        let store = TagStore::open(folder.path()).unwrap();
        store.set("app", &list(&["1"])).unwrap();
        assert_eq!(store.tags("app").unwrap(), ["1"]);
        assert!(folder.path().join("tags.redb.unreadable").exists());
    }

    /// Every prefix of the file's last write: what was committed before is there, or the file is set aside.
    #[test]
    fn a_torn_file_opens() {
        let folder = tempfile::tempdir().unwrap();
        let store = TagStore::open(folder.path()).unwrap();
        store.set("app", &list(&["1"])).unwrap();
        drop(store);
        let whole = std::fs::read(folder.path().join(FILE)).unwrap();
        for part in 0..16 {
            let torn = tempfile::tempdir().unwrap();
            let cut = whole.len() * part / 16;
            std::fs::write(torn.path().join(FILE), whole.get(..cut).unwrap()).unwrap();
            let store = TagStore::open(torn.path()).unwrap();
            store.set("app", &list(&["2"])).unwrap();
            assert_eq!(store.tags("app").unwrap(), ["2"]);
        }
    }

    #[test]
    fn a_deleted_folder_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("data");
        let store = TagStore::open(&inner).unwrap();
        store.set("app", &list(&["1"])).unwrap();
        std::fs::remove_dir_all(&inner).unwrap();
        store.set("app", &list(&["2"])).unwrap();
        drop(store);
        assert_eq!(TagStore::open(&inner).unwrap().tags("app").unwrap(), ["2"]);
    }
}
