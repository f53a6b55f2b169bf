//! The folder of a mirror: its files, and how they are replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gix::hash::Kind as Hash;
use gix::odb::pack::index::File as Index;

use super::lock::FileLock;
use super::private::private_folder;
use crate::{GitError, ObjectId};

/// The name prefix of unfinished files.
pub(crate) const UNFINISHED: &str = "incoming-";

/// The paths of one mirror. It is a bare repository that Git itself can read; all its references are in `packed-refs`,
/// which is replaced as a whole, so that a name can become a folder of names without leftovers.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    root: PathBuf,
}

/// Distinguishes one creation of the folder from the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) hash: Hash,
    made: String,
}

/// The most references that are kept: each is offered as common ground in every fetch, and keeps its tree.
const MAX_REFS: usize = 256;

/// References by full name.
pub(crate) type Refs = BTreeMap<String, ObjectId>;

impl Layout {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.root.join("objects")
    }

    pub(crate) fn packs(&self) -> PathBuf {
        self.root.join("objects/pack")
    }

    /// Held shared by readers of objects, exclusively by those that drop some.
    pub(crate) fn lease(&self) -> PathBuf {
        self.root.join("lease.lock")
    }

    /// True when this repository's history turned out to be too large (see [`Layout::mark_tips_only`]).
    pub(crate) fn tips_only(&self) -> bool {
        self.root.join("tips-only").exists()
    }

    /// Remembers, also for other processes, that only tips should be fetched from this repository.
    pub(crate) fn mark_tips_only(&self) -> Result<(), GitError> {
        let _update = self.lock_update()?;
        self.replace("tips-only", b"", false)
    }

    /// Held exclusively while `packed-refs` and `shallow` are read, changed and replaced.
    pub(crate) fn lock_update(&self) -> Result<FileLock, GitError> {
        FileLock::exclusive(&self.root.join("update.lock"))
    }

    /// Object format and creation of the folder; `None` when it is not a complete mirror of this program.
    pub(crate) fn identity(&self) -> Option<Identity> {
        let config = fs::read_to_string(self.root.join("config")).ok()?;
        let whole = self.packs().is_dir() && self.root.join("refs").is_dir() && self.root.join("HEAD").is_file();
        let hash = [Hash::Sha1, Hash::Sha256]
            .into_iter()
            .find(|hash| whole && config.starts_with(&config_text(*hash)))?;
        let created = config.rsplit_once('#').map_or("", |(_, made)| made.trim()).to_owned();
        Some(Identity { hash, made: created })
    }

    /// Recreates the folder for an object format. References are dropped first and packs deleted last, so that an
    /// interruption leaves an empty mirror rather than a wrong one. The caller holds the update lock.
    pub(crate) fn reset(&self, hash: Hash) -> Result<(), GitError> {
        for name in ["packed-refs", "shallow", "config"] {
            remove(&self.root.join(name))?;
        }
        for name in ["objects", "refs"] {
            remove(&self.root.join(name))?;
        }
        for name in ["objects/pack", "objects/info", "refs"] {
            make_folder(&self.root.join(name))?;
        }
        self.replace("HEAD", b"ref: refs/heads/main\n", false)?;
        // Last: without it the folder does not count as a mirror.
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let config = format!("{}# made {now} by {}\n", config_text(hash), std::process::id());
        self.replace("config", config.as_bytes(), false)
    }

    /// The references. An invalid file counts as empty: then everything is fetched.
    pub(crate) fn refs(&self, hash: Hash) -> Refs {
        let mut refs = Refs::new();
        let Ok(text) = fs::read_to_string(self.root.join("packed-refs")) else {
            return refs;
        };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let parsed = line
                .split_once(' ')
                .and_then(|(id, name)| Some((parse_id(id.as_bytes(), hash)?, name)));
            let Some((id, name)) = parsed else { return Refs::new() };
            refs.insert(name.to_owned(), id);
        }
        refs
    }

    /// Replaces the references. The caller holds the update lock.
    pub(crate) fn write_refs(&self, refs: &Refs) -> Result<(), GitError> {
        let mut text = String::from("# pack-refs with: sorted \n");
        for (name, id) in refs {
            text.push_str(&format!("{id} {name}\n"));
        }
        // Not synced: an older or an empty file only means that more is fetched.
        self.replace("packed-refs", text.as_bytes(), false)
    }

    /// The commits whose parents the mirror does not have.
    ///
    /// # Errors
    /// The list exists and cannot be read: without it the history would count as complete.
    pub(crate) fn shallow(&self, hash: Hash) -> Result<BTreeSet<ObjectId>, GitError> {
        let path = self.root.join("shallow");
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            text => text.map_err(GitError::storage("read", &path))?,
        };
        let lines = text.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| parse_id(line, hash)).collect())
    }

    /// Replaces the list of those commits. Synced: a reference without its boundary would promise missing
    /// history. The caller holds the update lock.
    pub(crate) fn write_shallow(&self, shallow: &BTreeSet<ObjectId>) -> Result<(), GitError> {
        if shallow.is_empty() {
            return remove(&self.root.join("shallow"));
        }
        let text: String = shallow.iter().map(|id| format!("{id}\n")).collect();
        self.replace("shallow", text.as_bytes(), true)
    }

    /// The names of the packs with an index, without extension, and their sizes in bytes.
    pub(crate) fn packs_with_sizes(&self) -> Result<Vec<(String, u64)>, GitError> {
        let folder = self.packs();
        let mut packs = Vec::new();
        for entry in fs::read_dir(&folder).map_err(GitError::storage("read", &folder))? {
            let name = entry
                .map_err(GitError::storage("read", &folder))?
                .file_name()
                .to_string_lossy()
                .into_owned();
            if let Some(stem) = name.strip_suffix(".idx") {
                let size = fs::metadata(folder.join(format!("{stem}.pack"))).map_or(0, |data| data.len());
                packs.push((stem.to_owned(), size));
            }
        }
        Ok(packs)
    }

    /// True when each index still has its pack, by the checksums at their ends. Finds truncated, emptied
    /// and lost files without reading them.
    pub(crate) fn packs_are_whole(&self, hash: Hash) -> Result<bool, GitError> {
        let length = hash.len_in_bytes();
        let whole = |stem: &str| {
            let at = |extension: &str| self.packs().join(format!("{stem}.{extension}"));
            let index = tail(&at("idx"), 2 * length)?;
            let pack = tail(&at("pack"), length)?;
            Some(index.get(..length)? == pack)
        };
        Ok(self
            .packs_with_sizes()?
            .iter()
            .all(|(stem, _)| whole(stem) == Some(true)))
    }

    /// Removes leftovers of interrupted processes, unless another is active; and the rights of others, from
    /// folders of older versions.
    pub(crate) fn tidy(&self) -> Result<(), GitError> {
        let Some(identity) = self.identity() else { return Ok(()) };
        make_folder(&self.root)?;
        let Some(_alone) = FileLock::try_exclusive(&self.lease())? else {
            return Ok(());
        };
        let (folder, refs) = (self.packs(), self.refs(identity.hash));
        for entry in fs::read_dir(&folder).map_err(GitError::storage("read", &folder))? {
            let path = entry.map_err(GitError::storage("read", &folder))?.path();
            let is_unfinished = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED));
            if is_unfinished {
                remove(&path)?;
            } else if path.extension().is_some_and(|extension| extension == "keep") {
                let index = Index::at(path.with_extension("idx"), identity.hash);
                let leads = |index: &Index| refs.values().any(|id| index.lookup(id).is_some());
                let is_used = index.is_ok_and(|index| leads(&index));
                for extension in ["idx", "pack"].into_iter().filter(|_| !is_used) {
                    remove(&path.with_extension(extension))?;
                }
                remove(&path)?;
            }
        }
        Ok(())
    }

    /// Writes a file beside the old one and renames it into place.
    fn replace(&self, name: &str, bytes: &[u8], durable: bool) -> Result<(), GitError> {
        let path = self.root.join(name);
        let fresh = self.root.join(format!("{name}.new"));
        let write = || -> io::Result<()> {
            let mut options = fs::OpenOptions::new();
            let mut file = options
                .create(true)
                .write(true)
                .truncate(true)
                .mode(0o600)
                .open(&fresh)?;
            file.write_all(bytes)?;
            if durable {
                file.sync_all()?;
            }
            fs::rename(&fresh, &path)
        };
        write().map_err(GitError::storage("write", &path))
    }
}

/// The last bytes of a file; `None` when it has fewer or cannot be read.
#[expect(
    clippy::disallowed_methods,
    reason = "the end of a file of a mirror; bound: its known length; account: none, our own"
)]
fn tail(path: &Path, length: usize) -> Option<Vec<u8>> {
    let mut file = fs::File::open(path).ok()?;
    file.seek(SeekFrom::End(-i64::try_from(length).ok()?)).ok()?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Drops all references but those in use, when there are too many: branches that get a new name with
/// each run, tags of each version. Later they are fetched again, as a difference to the kept ones.
pub(crate) fn bound(refs: &mut Refs, in_use: impl Fn(&str) -> bool) {
    if refs.len() > MAX_REFS {
        refs.retain(|name, _| in_use(name));
    }
}

/// An id of the right length for the format.
pub(crate) fn parse_id(hex: &[u8], hash: Hash) -> Option<ObjectId> {
    ObjectId::from_hex(hex).ok().filter(|id| id.kind() == hash)
}

fn config_text(hash: Hash) -> String {
    let (version, extension) = match hash {
        Hash::Sha256 => (1, "[extensions]\n\tobjectformat = sha256\n"),
        _ => (0, ""),
    };
    format!(
        "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{extension}[gc]\n\tauto = 0\n\
         [bumpwright]\n\tlargeobjects = whole\n"
    )
}

/// Creates a folder for its owner only, with its parents, and restricts one of an older version with its content.
pub(crate) fn make_folder(path: &Path) -> Result<(), GitError> {
    private_folder(path).map_err(GitError::storage("create", path))
}

/// Removes a file, or a folder with its content, if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), GitError> {
    let result = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(GitError::storage("remove", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn id(digit: char) -> ObjectId {
        ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).unwrap()
    }

    #[test]
    fn a_fresh_folder_is_a_mirror_and_an_unfinished_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().to_owned());
        assert_eq!(layout.identity(), None);
        layout.reset(Hash::Sha256).unwrap();
        let first = layout.identity().unwrap();
        assert_eq!(first.hash, Hash::Sha256);
        layout.reset(Hash::Sha256).unwrap();
        assert_ne!(layout.identity().unwrap(), first);
        fs::remove_dir_all(layout.packs()).unwrap();
        assert_eq!(layout.identity(), None);
    }

    #[test]
    fn references_and_boundaries_survive_a_round_trip() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().to_owned());
        layout.reset(Hash::Sha1).unwrap();
        let refs = Refs::from([
            ("refs/heads/a".to_owned(), id('1')),
            ("refs/heads/a/b".to_owned(), id('2')),
        ]);
        layout.write_refs(&refs).unwrap();
        assert_eq!(layout.refs(Hash::Sha1), refs);
        let shallow = BTreeSet::from([id('3')]);
        layout.write_shallow(&shallow).unwrap();
        assert_eq!(layout.shallow(Hash::Sha1).unwrap(), shallow);
        // Anything in its place that is not a file.
        layout.write_shallow(&BTreeSet::new()).unwrap();
        fs::create_dir(dir.path().join("shallow")).unwrap();
        let error = layout.shallow(Hash::Sha1).unwrap_err().to_string();
        assert!(error.contains("shallow"), "{error}");
        layout.write_shallow(&BTreeSet::new()).unwrap();
        assert!(!dir.path().join("shallow").exists());
    }

    #[test]
    fn what_an_interruption_leaves_is_gone_when_the_folder_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().join("mirror"));
        make_folder(layout.root()).unwrap();
        layout.reset(Hash::Sha1).unwrap();
        for name in ["incoming-x1y2z3", "pack-1.keep", "pack-1.pack", "pack-1.idx"] {
            fs::write(layout.packs().join(name), b"x").unwrap();
        }
        let reader = FileLock::shared(&layout.lease()).unwrap();
        let count = || fs::read_dir(layout.packs()).unwrap().count();
        layout.tidy().unwrap();
        assert_eq!(count(), 4, "somebody is at work");
        drop(reader);
        layout.tidy().unwrap();
        assert_eq!(count(), 0);
    }

    #[test]
    fn only_the_owner_has_rights_in_the_folder_of_an_older_version_too() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().join("mirror"));
        make_folder(layout.root()).unwrap();
        layout.reset(Hash::Sha1).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let config = layout.root().join("config");
        assert_eq!(
            (mode(layout.root()), mode(&layout.packs()), mode(&config)),
            (0o700, 0o700, 0o600)
        );
        for (path, rights) in [
            (config.as_path(), 0o644),
            (&layout.packs(), 0o755),
            (layout.root(), 0o755),
        ] {
            fs::set_permissions(path, fs::Permissions::from_mode(rights)).unwrap();
        }
        fs::set_permissions(layout.objects(), fs::Permissions::from_mode(0o755)).unwrap();
        layout.tidy().unwrap();
        assert_eq!(
            (mode(layout.root()), mode(&layout.packs()), mode(&config)),
            (0o700, 0o700, 0o600)
        );
    }

    #[test]
    fn garbage_instead_of_references_means_that_nothing_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().to_owned());
        layout.reset(Hash::Sha1).unwrap();
        fs::write(
            dir.path().join("packed-refs"),
            format!("{} refs/heads/a\n\0\0\0", id('1')),
        )
        .unwrap();
        assert!(layout.refs(Hash::Sha1).is_empty());
    }
}
