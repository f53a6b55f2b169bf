//! The database: one file, one table, crash-safe.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parking_lot::RwLock;
use redb::{
    Database, ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _, TableDefinition, TableHandle as _,
};

use super::checksum::checksum;
use super::room::{REMOVED, make_room, space};
use super::stored::{Stored, of_image, split};
use bumpwright_budget::Exceeded;
use bumpwright_http::Job;
use bumpwright_registry::TagList;

/// From the scan's owner to its result: the canonical image name, then the tags, one per line.
pub(super) const TAGS: TableDefinition<'static, &'static str, &'static [u8]> = TableDefinition::new("tags of objects");

/// The table of older versions: tags by image without the scanning object, so that access cannot be decided.
const SHARED: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("tags");

/// Page cache, in bytes: policies read each list once.
const CACHE: usize = 1 << 20;

pub(super) const FILE: &str = "tags.redb";

/// From the scan's owner to the disk space of its tags; [`REMOVED`] when they made room for those of others.
const SIZES: TableDefinition<'static, &'static str, u64> = TableDefinition::new("sizes of tags");

/// The disk space of all tags by default, in bytes.
const MOST: u64 = 256 << 20;

/// Why tags are not stored, or not read.
#[derive(Debug, thiserror::Error)]
pub enum TagsError {
    /// The database is unusable.
    #[error("{}: {error}", path.display())]
    Unusable { path: PathBuf, error: String },
    /// The tags do not fit into it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The tags do not fit into memory.
    #[error("no memory for the tags: {0}")]
    Memory(#[from] Exceeded),
}

/// Why tags do not fit into the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The namespace has its share.
    #[error("the tags of the namespace take more than {0} bytes of disk space; --tags-size raises the bound")]
    Namespace(u64),
    /// The other namespaces take all, and none takes more than this one.
    #[error("no room now: all tags take more than {0} bytes of disk space; --tags-size raises the bound")]
    Full(u64),
}

/// Callback for incidents with the file, such as a damaged one set aside.
type Notice = dyn Fn(&str) + Send + Sync;

/// The owner of a scan.
///
/// Unlike in Flux, ImageRepositories of the same image share nothing: one may lack the credentials that another has, or
/// use a proxy that answers what its owner wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scanned {
    owner: String,
    canonical: String,
}

impl Scanned {
    /// A scan by the ImageRepository of this namespace, name and uid, of the image with this canonical name
    /// (`status.canonicalImageName`).
    #[must_use]
    pub fn new(namespace: &str, name: &str, uid: &str, canonical: &str) -> Self {
        Self {
            owner: format!("{namespace}/{name}/{uid}"),
            canonical: canonical.to_owned(),
        }
    }

    /// The owner, for [`TagStore::keep`].
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }
}

/// The scanned tags of each ImageRepository.
pub struct TagStore {
    path: PathBuf,
    /// None after an error: redb refuses further work until the file is opened again.
    database: RwLock<Option<Database>>,
    /// The bound on the disk space of all tags, in bytes. The file takes more, since redb writes again before it frees.
    most: u64,
    notice: Box<Notice>,
}

impl std::fmt::Debug for TagStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TagStore {}", self.path.display())
    }
}

impl TagStore {
    /// Opens or creates the database in a folder. An unreadable file is set aside, now or later, and `notice` is
    /// called: its tags will be scanned again.
    ///
    /// # Errors
    /// The folder is unusable.
    pub fn open(folder: &Path, notice: impl Fn(&str) + Send + Sync + 'static) -> Result<Self, TagsError> {
        let store = Self {
            path: folder.join(FILE),
            database: RwLock::new(None),
            most: MOST,
            notice: Box::new(notice),
        };
        store.with(|_| Ok(()))?;
        Ok(store)
    }

    /// The same with a bound on the disk space of all tags, in bytes; a namespace gets half of it.
    #[must_use]
    pub fn within(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// The last stored tags, if any, on the account of the job.
    ///
    /// # Errors
    /// The file cannot be read. The next call opens it again.
    pub fn tags(&self, scanned: &Scanned) -> Result<TagList, TagsError> {
        let read = |tags: &[u8]| {
            let mut list = TagList::new(&Job::account());
            for tag in split(&String::from_utf8_lossy(tags)) {
                list.push(tag)?;
            }
            Ok(list)
        };
        let empty = || Ok(TagList::new(&Job::account()));
        let list: Result<TagList, Exceeded> = self.read(scanned, read)?.unwrap_or_else(empty);
        Ok(list?)
    }

    /// The checksum of the last stored tags, if there are any.
    pub fn stored(&self, scanned: &Scanned) -> Result<Option<String>, TagsError> {
        let read = |tags: &[u8]| {
            let text = String::from_utf8_lossy(tags);
            split(&text).next().map(|_| checksum(split(&text)))
        };
        Ok(self.read(scanned, read)?.flatten())
    }

    /// Whether the tags of a scan were removed to make room for those of other namespaces.
    pub fn made_room(&self, scanned: &Scanned) -> Result<bool, TagsError> {
        self.with(|database| {
            let table = database.begin_read()?.open_table(SIZES)?;
            Ok(table
                .get(scanned.owner.as_str())?
                .is_some_and(|size| size.value() == REMOVED))
        })
    }

    fn read<T>(&self, scanned: &Scanned, read: impl Fn(&[u8]) -> T) -> Result<Option<T>, TagsError> {
        self.with(|database| {
            let table = match database.begin_read()?.open_table(TAGS) {
                Ok(table) => table,
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let stored = table.get(scanned.owner.as_str())?;
            // Tags scanned before the object named another image are ignored.
            let tags = stored
                .as_ref()
                .and_then(|stored| of_image(stored.value(), &scanned.canonical));
            Ok(tags.map(&read))
        })
    }

    /// Replaces the stored tags of a scan, and returns their checksum. An equal list is not written again. A missing
    /// file is recreated. Tags of other namespaces may have to make room, which is reported.
    ///
    /// # Errors
    /// The file cannot be written, or the tags do not fit; stored tags stay. The next call opens it again.
    pub fn set(&self, scanned: &Scanned, tags: &[String]) -> Result<String, TagsError> {
        if !self.path.exists() {
            self.close();
        }
        let stored = Stored {
            canonical: &scanned.canonical,
            tags,
        };
        // The page in which the database writes it.
        let _page = Job::account().reserve(stored.len() as u64)?;
        let removed = self.with(|database| self.write(database, scanned.owner.as_str(), &stored))??;
        for owner in removed {
            let name = owner.rsplit_once('/').map_or(owner.as_str(), |(name, _)| name);
            (self.notice)(&format!(
                "the tags of ImageRepository {name} made room for those of other namespaces, and are scanned again; --tags-size raises the bound"
            ));
        }
        Ok(checksum(tags.iter().map(String::as_str)))
    }

    /// Writes a scan, unless it is stored already. Returns the owners of scans that made room.
    fn write(
        &self,
        database: &Database,
        owner: &str,
        stored: &Stored<'_>,
    ) -> Result<Result<Vec<String>, Refused>, redb::Error> {
        let transaction = database.begin_write()?;
        let outcome = {
            let mut table = transaction.open_table(TAGS)?;
            let mut sizes = transaction.open_table(SIZES)?;
            let is_there = table.get(owner)?.is_some_and(|old| stored.is(old.value()));
            if is_there {
                None
            } else {
                let size = space(owner, stored.len());
                let made = make_room(&mut table, &mut sizes, (owner, size), self.most)?;
                if made.is_ok() {
                    stored.copy_to(table.insert_reserve(owner, stored.len())?.as_mut());
                    sizes.insert(owner, size)?;
                }
                Some(made)
            }
        };
        match outcome {
            Some(Ok(_)) => transaction.commit()?,
            _ => transaction.abort()?,
        }
        Ok(outcome.unwrap_or_else(|| Ok(Vec::new())))
    }

    /// Removes the tags of all other owners: their objects are deleted.
    pub fn keep(&self, owners: &BTreeSet<String>) -> Result<(), TagsError> {
        self.with(|database| {
            let transaction = database.begin_write()?;
            let gone = {
                let mut table = transaction.open_table(TAGS)?;
                let mut sizes = transaction.open_table(SIZES)?;
                let before = table.len()? + sizes.len()?;
                table.retain(|owner, _| owners.contains(owner))?;
                sizes.retain(|owner, _| owners.contains(owner))?;
                before - table.len()? - sizes.len()?
            };
            match gone {
                0 => transaction.abort()?,
                _ => transaction.commit()?,
            }
            Ok(())
        })
    }

    /// Runs a closure with the open database. After an error the database is closed, and after damage set aside.
    fn with<T>(&self, work: impl Fn(&Database) -> Result<T, redb::Error>) -> Result<T, TagsError> {
        self.reopen()?;
        let done = {
            let database = self.database.read();
            let Some(database) = database.as_ref() else {
                return Err(self.failed(&"it was closed by an error at the same time"));
            };
            // Damage may also make the library panic.
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
        *self.database.write() = None;
    }

    fn reopen(&self) -> Result<(), TagsError> {
        let is_open = |database: &Option<Database>| database.is_some();
        if is_open(&self.database.read()) {
            return Ok(());
        }
        let mut database = self.database.write();
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
        let opened = opened.map_err(|e| self.failed(&e))?;
        // Private, even if an older version created it otherwise.
        std::fs::set_permissions(&self.path, Permissions::from_mode(0o600)).map_err(|e| self.failed(&e))?;
        forget_shared(&opened).map_err(|e| self.failed(&e))?;
        measure(&opened).map_err(|e| self.failed(&e))?;
        *database = Some(opened);
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
        TagsError::Unusable {
            path: self.path.clone(),
            error: error.to_string(),
        }
    }
}

/// Notes the sizes of tags that an older version stored.
fn measure(database: &Database) -> Result<(), redb::Error> {
    let has_sizes = database
        .begin_read()?
        .list_tables()?
        .any(|table| table.name() == SIZES.name());
    if has_sizes {
        return Ok(());
    }
    let transaction = database.begin_write()?;
    {
        let table = transaction.open_table(TAGS)?;
        let mut sizes = transaction.open_table(SIZES)?;
        for entry in table.iter()? {
            let (owner, tags) = entry?;
            sizes.insert(owner.value(), space(owner.value(), tags.value().len()))?;
        }
    }
    Ok(transaction.commit()?)
}

/// Drops the table of older versions.
fn forget_shared(database: &Database) -> Result<(), redb::Error> {
    let is_there = database
        .begin_read()?
        .list_tables()?
        .any(|table| table.name() == SHARED.name());
    if is_there {
        let transaction = database.begin_write()?;
        transaction.delete_table(SHARED)?;
        transaction.commit()?;
    }
    Ok(())
}

fn create(path: &Path) -> Result<Database, redb::DatabaseError> {
    let open = || Database::builder().set_cache_size(CACHE).create(path);
    let damaged = || redb::DatabaseError::Storage(redb::StorageError::Corrupted("opening it failed".to_owned()));
    catch_unwind(open).unwrap_or_else(|_| Err(damaged()))
}

/// Returns whether the file is not a database, as opposed to a failing disk.
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::super::stored::of_size;
    use super::*;
    use bumpwright_budget::Memory;

    fn open(folder: &Path) -> Result<TagStore, TagsError> {
        TagStore::open(folder, |_| {})
    }

    fn of(canonical: &str) -> Scanned {
        Scanned::new("apps", "app", "uid", canonical)
    }

    fn list(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|tag| (*tag).to_owned()).collect()
    }

    #[test]
    fn what_was_set_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        assert!(store.tags(&of("ghcr.io/o/app")).unwrap().is_empty());
        store.set(&of("ghcr.io/o/app"), &list(&["2", "1"])).unwrap();
        let none = Scanned::new("apps", "none", "uid", "ghcr.io/o/none");
        store.set(&none, &[]).unwrap();
        drop(store);
        let store = open(folder.path()).unwrap();
        assert_eq!(*store.tags(&of("ghcr.io/o/app")).unwrap(), ["2", "1"]);
        assert!(store.tags(&none).unwrap().is_empty());
    }

    #[test]
    fn nobody_sees_what_another_object_has_scanned() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        store.set(&of("ghcr.io/o/app"), &list(&["1"])).unwrap();
        for other in [
            Scanned::new("other", "app", "uid", "ghcr.io/o/app"),
            Scanned::new("apps", "other", "uid", "ghcr.io/o/app"),
            // Deleted and recreated.
            Scanned::new("apps", "app", "later", "ghcr.io/o/app"),
            // The new image.
            of("ghcr.io/o/ap"),
            of("ghcr.io/o/app\n1"),
        ] {
            assert!(store.tags(&other).unwrap().is_empty(), "{other:?}");
        }
        assert_eq!(*store.tags(&of("ghcr.io/o/app")).unwrap(), ["1"]);
    }

    #[test]
    fn tags_go_with_their_objects() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        let other = Scanned::new("apps", "other", "uid", "app");
        store.set(&of("app"), &list(&["1"])).unwrap();
        store.set(&other, &list(&["1"])).unwrap();
        store.keep(&BTreeSet::from(["apps/other/uid".to_owned()])).unwrap();
        assert!(store.tags(&of("app")).unwrap().is_empty());
        assert_eq!(*store.tags(&other).unwrap(), ["1"]);
    }

    /// As 0.1 wrote it, without owners.
    #[test]
    fn a_database_of_the_shared_form_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        {
            let old = Database::create(folder.path().join(FILE)).unwrap();
            let transaction = old.begin_write().unwrap();
            transaction
                .open_table(SHARED)
                .unwrap()
                .insert("app", b"1\n2".as_slice())
                .unwrap();
            transaction.commit().unwrap();
        }
        let store = open(folder.path()).unwrap();
        assert!(store.tags(&of("app")).unwrap().is_empty());
        store.set(&of("app"), &list(&["3"])).unwrap();
        drop(store);
        let database = Database::create(folder.path().join(FILE)).unwrap();
        let reading = database.begin_read().unwrap();
        let tables = reading.list_tables().unwrap();
        let mut names: Vec<String> = tables.map(|table| table.name().to_owned()).collect();
        names.sort();
        assert_eq!(names, [SIZES.name(), TAGS.name()]);
    }

    #[test]
    fn a_file_that_is_no_database_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), b"not a database, but somebody's file").unwrap();
        let store = open(folder.path()).unwrap();
        store.set(&of("app"), &list(&["1"])).unwrap();
        assert_eq!(*store.tags(&of("app")).unwrap(), ["1"]);
        assert!(folder.path().join("tags.redb.unreadable").exists());
    }

    /// Every prefix of the file's last write: earlier commits survive, or the file is set aside.
    #[test]
    fn a_torn_file_opens() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        store.set(&of("app"), &list(&["1"])).unwrap();
        drop(store);
        let whole = std::fs::read(folder.path().join(FILE)).unwrap();
        for part in 0..16 {
            let torn = tempfile::tempdir().unwrap();
            let cut = whole.len() * part / 16;
            std::fs::write(torn.path().join(FILE), whole.get(..cut).unwrap()).unwrap();
            let store = open(torn.path()).unwrap();
            store.set(&of("app"), &list(&["2"])).unwrap();
            assert_eq!(*store.tags(&of("app")).unwrap(), ["2"]);
        }
    }

    #[test]
    fn a_deleted_folder_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("data");
        let store = open(&inner).unwrap();
        store.set(&of("app"), &list(&["1"])).unwrap();
        std::fs::remove_dir_all(&inner).unwrap();
        store.set(&of("app"), &list(&["2"])).unwrap();
        drop(store);
        assert_eq!(*open(&inner).unwrap().tags(&of("app")).unwrap(), ["2"]);
    }

    /// After an error of the disk the library refuses all further work on an open database.
    #[test]
    fn it_works_again_once_the_disk_does() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("data");
        let store = open(&inner).unwrap();
        store.set(&of("app"), &list(&["1"])).unwrap();
        std::fs::remove_dir_all(&inner).unwrap();
        std::fs::write(&inner, "somebody's file").unwrap();
        assert!(store.set(&of("app"), &list(&["2"])).is_err());
        assert!(store.tags(&of("app")).is_err());
        std::fs::remove_file(&inner).unwrap();
        assert!(store.tags(&of("app")).unwrap().is_empty());
        store.set(&of("app"), &list(&["2"])).unwrap();
        assert_eq!(*store.tags(&of("app")).unwrap(), ["2"]);
    }

    #[test]
    fn what_is_set_aside_is_told() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), vec![7; 1 << 16]).unwrap();
        let told = std::sync::Arc::new(parking_lot::Mutex::new(Vec::new()));
        let telling = std::sync::Arc::clone(&told);
        TagStore::open(folder.path(), move |what| telling.lock().push(what.to_owned())).unwrap();
        let told = told.lock();
        assert!(told.len() == 1 && told[0].contains("tags.redb is damaged"), "{told:?}");
    }

    /// Whatever bytes of the file are overwritten: the old tags are read, or the next scan is stored.
    #[test]
    fn damage_inside_the_file_is_survived() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        store.set(&of("app"), &list(&["1"])).unwrap();
        drop(store);
        let whole = std::fs::read(folder.path().join(FILE)).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 24) {
            let mut bytes = whole.clone();
            let end = (at + 4096).min(bytes.len());
            bytes[at..end].fill(0xff);
            let torn = tempfile::tempdir().unwrap();
            std::fs::write(torn.path().join(FILE), bytes).unwrap();
            let store = open(torn.path()).unwrap();
            let _ = store.tags(&of("app"));
            let _ = store.set(&of("app"), &list(&["2"]));
            store.set(&of("app"), &list(&["2"])).unwrap();
            assert_eq!(*store.tags(&of("app")).unwrap(), ["2"], "damaged at {at}");
        }
    }

    #[test]
    fn stored_tags_are_read_on_the_account_of_the_job() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        let tags = of_size(100_000, 1);
        let stored = store.set(&of("app"), &tags).unwrap();
        assert_eq!(store.stored(&of("app")).unwrap(), Some(stored));
        let memory = Memory::shared(200_000, "--fetch-memory");
        Job::on(memory.of("apps")).run(|| {
            assert!(matches!(store.tags(&of("app")), Err(TagsError::Memory(_))));
            assert!(matches!(
                store.set(&of("app"), &of_size(110_000, 2)),
                Err(TagsError::Memory(_))
            ));
            assert!(store.stored(&of("app")).unwrap().is_some());
        });
        assert_eq!((memory.held(), &*store.tags(&of("app")).unwrap()), (0, &*tags));
    }
}
