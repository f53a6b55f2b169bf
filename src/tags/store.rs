//! The database: one file, one table, safe against being cut off at any moment.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

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

/// Is told, once each time, what happened to the file that nobody asked for.
type Notice = dyn Fn(&str) + Send + Sync;

/// The tags of image repositories by their canonical names (`status.canonicalImageName`), so that ImageRepositories of the
/// same image share them, as in Flux.
pub struct TagStore {
    path: PathBuf,
    /// None after an error: the database refuses everything from then on, until it is opened again.
    database: RwLock<Option<Database>>,
    notice: Box<Notice>,
}

impl std::fmt::Debug for TagStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TagStore {}", self.path.display())
    }
}

impl TagStore {
    /// Opens the database in a folder, or makes it. A file that cannot be read as one is set aside, now or later: its tags
    /// will be scanned again. `notice` is told of that.
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub fn open(folder: &Path, notice: impl Fn(&str) + Send + Sync + 'static) -> Result<Self, TagsError> {
        let store = Self {
            path: folder.join(FILE),
            database: RwLock::new(None),
            notice: Box::new(notice),
        };
        store.with(|_| Ok(()))?;
        Ok(store)
    }

    /// The tags that were kept last; none when there are none.
    ///
    /// # Errors
    /// When the file cannot be read. The next call opens it anew.
    pub fn tags(&self, canonical: &str) -> Result<Vec<String>, TagsError> {
        self.read(canonical, split)
    }

    /// Whether there are any, which is told without taking them apart.
    ///
    /// # Errors
    /// As [`TagStore::tags`].
    pub fn has_tags(&self, canonical: &str) -> Result<bool, TagsError> {
        self.read(canonical, |tags| !tags.is_empty())
    }

    /// What `taken` makes of the list of an image; its default when there is none.
    fn read<T: Default>(&self, canonical: &str, taken: impl Fn(&[u8]) -> T) -> Result<T, TagsError> {
        self.with(|database| {
            let table = match database.begin_read()?.open_table(TAGS) {
                Ok(table) => table,
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(T::default()),
                Err(error) => return Err(error.into()),
            };
            let found = table.get(canonical)?;
            Ok(found.map(|tags| taken(tags.value())).unwrap_or_default())
        })
    }

    /// Keeps the tags of an image instead of those that were kept before, and gives their checksum. A list that is just
    /// the same is not written again. When the file is gone, a new one is made.
    ///
    /// # Errors
    /// When the file cannot be written; what was kept before stays. The next call opens it anew.
    pub fn set(&self, canonical: &str, tags: &[String]) -> Result<String, TagsError> {
        if !self.path.exists() {
            self.close();
        }
        let joined = tags.join("\n");
        self.with(|database| {
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
        })?;
        Ok(checksum(tags))
    }

    /// Does something with the open database. After an error it is closed, and after damage set aside.
    fn with<T>(&self, work: impl Fn(&Database) -> Result<T, redb::Error>) -> Result<T, TagsError> {
        self.reopen()?;
        let done = {
            let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
            let Some(database) = database.as_ref() else {
                return Err(self.failed(&"it was closed by an error at the same time"));
            };
            // What is damaged may also make the library panic.
            let caught = catch_unwind(AssertUnwindSafe(|| work(database)));
            caught.unwrap_or_else(|_| Err(redb::Error::Corrupted("reading it failed".to_owned())))
        };
        done.map_err(|error| {
            self.close();
            let failed = self.failed(&error);
            if matches!(error, redb::Error::Corrupted(_))
                && let Err(error) = self.set_aside(&error)
            {
                return error;
            }
            failed
        })
    }

    fn close(&self) {
        *self.database.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn reopen(&self) -> Result<(), TagsError> {
        let is_open = |database: &Option<Database>| database.is_some();
        if is_open(&self.database.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        if is_open(&database) {
            return Ok(());
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|e| self.failed(&e))?;
        let opened = match create(&self.path) {
            Err(error) if is_unreadable(&error) && self.path.is_file() => {
                self.set_aside(&error)?;
                create(&self.path)
            }
            other => other,
        };
        *database = Some(opened.map_err(|e| self.failed(&e))?);
        Ok(())
    }

    fn set_aside(&self, why: &dyn std::fmt::Display) -> Result<(), TagsError> {
        let aside = self.path.with_extension("redb.unreadable");
        std::fs::rename(&self.path, &aside).map_err(|e| self.failed(&e))?;
        (self.notice)(&format!(
            "{} is damaged ({why}) and now called {}; all tags are scanned again",
            self.path.display(),
            aside.display()
        ));
        Ok(())
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> TagsError {
        TagsError {
            path: self.path.clone(),
            error: error.to_string(),
        }
    }
}

fn create(path: &Path) -> Result<Database, redb::DatabaseError> {
    let open = || Database::builder().set_cache_size(CACHE).create(path);
    let damaged = || redb::DatabaseError::Storage(redb::StorageError::Corrupted("opening it failed".to_owned()));
    catch_unwind(open).unwrap_or_else(|_| Err(damaged()))
}

/// Whether the file is no database, as against a disk that cannot be used just now.
fn is_unreadable(error: &redb::DatabaseError) -> bool {
    use std::io::ErrorKind;
    match error {
        redb::DatabaseError::Storage(redb::StorageError::Corrupted(_))
        | redb::DatabaseError::UpgradeRequired(_)
        | redb::DatabaseError::RepairAborted => true,
        redb::DatabaseError::Storage(redb::StorageError::Io(error)) => {
            matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof)
        }
        _ => false,
    }
}

fn split(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.split('\n')
        .filter(|tag| !tag.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn open(folder: &Path) -> Result<TagStore, TagsError> {
        TagStore::open(folder, |_| {})
    }

    fn list(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|tag| (*tag).to_owned()).collect()
    }

    #[test]
    fn what_was_set_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        assert!(store.tags("ghcr.io/o/app").unwrap().is_empty());
        store.set("ghcr.io/o/app", &list(&["2", "1"])).unwrap();
        store.set("ghcr.io/o/none", &[]).unwrap();
        drop(store);
        let store = open(folder.path()).unwrap();
        assert_eq!(store.tags("ghcr.io/o/app").unwrap(), ["2", "1"]);
        assert!(store.tags("ghcr.io/o/none").unwrap().is_empty());
    }

    #[test]
    fn a_file_that_is_no_database_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), b"not a database, but somebody's file").unwrap();
        let store = open(folder.path()).unwrap();
        store.set("app", &list(&["1"])).unwrap();
        assert_eq!(store.tags("app").unwrap(), ["1"]);
        assert!(folder.path().join("tags.redb.unreadable").exists());
    }

    /// Every prefix of the file's last write: what was committed before is there, or the file is set aside.
    #[test]
    fn a_torn_file_opens() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        store.set("app", &list(&["1"])).unwrap();
        drop(store);
        let whole = std::fs::read(folder.path().join(FILE)).unwrap();
        for part in 0..16 {
            let torn = tempfile::tempdir().unwrap();
            let cut = whole.len() * part / 16;
            std::fs::write(torn.path().join(FILE), whole.get(..cut).unwrap()).unwrap();
            let store = open(torn.path()).unwrap();
            store.set("app", &list(&["2"])).unwrap();
            assert_eq!(store.tags("app").unwrap(), ["2"]);
        }
    }

    #[test]
    fn a_deleted_folder_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("data");
        let store = open(&inner).unwrap();
        store.set("app", &list(&["1"])).unwrap();
        std::fs::remove_dir_all(&inner).unwrap();
        store.set("app", &list(&["2"])).unwrap();
        drop(store);
        assert_eq!(open(&inner).unwrap().tags("app").unwrap(), ["2"]);
    }

    /// After an error of the disk the library refuses all further work on an open database.
    #[test]
    fn it_works_again_once_the_disk_does() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("data");
        let store = open(&inner).unwrap();
        store.set("app", &list(&["1"])).unwrap();
        std::fs::remove_dir_all(&inner).unwrap();
        std::fs::write(&inner, "somebody's file").unwrap();
        assert!(store.set("app", &list(&["2"])).is_err());
        assert!(store.tags("app").is_err());
        std::fs::remove_file(&inner).unwrap();
        assert!(store.tags("app").unwrap().is_empty());
        store.set("app", &list(&["2"])).unwrap();
        assert_eq!(store.tags("app").unwrap(), ["2"]);
    }

    #[test]
    fn what_is_set_aside_is_told() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), vec![7; 1 << 16]).unwrap();
        let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let telling = std::sync::Arc::clone(&told);
        TagStore::open(folder.path(), move |what| telling.lock().unwrap().push(what.to_owned())).unwrap();
        let told = told.lock().unwrap();
        assert!(told.len() == 1 && told[0].contains("tags.redb is damaged"), "{told:?}");
    }

    /// Whatever bytes of the file are overwritten: the tags are read as they were, or the next scan is kept.
    #[test]
    fn damage_inside_the_file_is_survived() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        store.set("app", &list(&["1"])).unwrap();
        drop(store);
        let whole = std::fs::read(folder.path().join(FILE)).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 24) {
            let mut bytes = whole.clone();
            let end = (at + 4096).min(bytes.len());
            bytes[at..end].fill(0xff);
            let torn = tempfile::tempdir().unwrap();
            std::fs::write(torn.path().join(FILE), bytes).unwrap();
            let store = open(torn.path()).unwrap();
            let _ = store.tags("app");
            let _ = store.set("app", &list(&["2"]));
            store.set("app", &list(&["2"])).unwrap();
            assert_eq!(store.tags("app").unwrap(), ["2"], "damaged at {at}");
        }
    }
}
