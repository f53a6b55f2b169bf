//! The input files of commands that rewrite them: named ones, and the wanted files of named folders.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use bumpwright_edit::{YAML_LIMIT, unified};
use bumpwright_update::FileChange;

/// Files in the order of their names, each once; and read errors, in words for the user.
pub struct FoundFiles<'a> {
    /// Path as named, and content.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// Read errors.
    pub faults: Vec<String>,
    seen: HashSet<PathBuf>,
    /// Which paths of a folder are read.
    wanted: &'a dyn Fn(&str) -> bool,
}

/// The changes as a unified diff.
pub fn diff<'a>(changes: impl IntoIterator<Item = &'a FileChange>) -> Vec<u8> {
    let mut diff = Vec::new();
    for change in changes {
        let path = change.path.strip_prefix(b"./").unwrap_or(&change.path);
        unified::append(&mut diff, path, &change.old, &change.new);
    }
    diff
}

/// Finds and reads all files; those of folders if they are `wanted` by their paths.
pub fn find<'a>(paths: &[PathBuf], wanted: &'a dyn Fn(&str) -> bool) -> FoundFiles<'a> {
    let mut found = FoundFiles {
        files: Vec::new(),
        faults: Vec::new(),
        seen: HashSet::new(),
        wanted,
    };
    for path in paths {
        if let Err(error) = found.named(path) {
            found.fault(path, &error.to_string());
        }
    }
    found
}

impl FoundFiles<'_> {
    fn fault(&mut self, path: &Path, why: &str) {
        self.faults.push(format!("{}: {why}", path.display()));
    }

    /// A path named by the user: links are followed.
    fn named(&mut self, path: &Path) -> std::io::Result<()> {
        let real = fs::canonicalize(path)?;
        if real.is_dir() {
            self.folder(path)
        } else {
            let link = fs::symlink_metadata(path)?.is_symlink();
            self.file(if link { &real } else { path })
        }
    }

    /// All files below a folder. Links, Git's own folders and the roots of other repositories are left alone.
    fn folder(&mut self, path: &Path) -> std::io::Result<()> {
        let mut below = fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<Result<Vec<_>, _>>()?;
        below.sort();
        for name in below.iter().filter(|name| *name != ".git") {
            let child = match path {
                here if here == Path::new(".") => PathBuf::from(name),
                folder => folder.join(name),
            };
            if let Err(error) = self.below(&child) {
                self.fault(&child, &error.to_string());
            }
        }
        Ok(())
    }

    fn below(&mut self, path: &Path) -> std::io::Result<()> {
        let meta = fs::symlink_metadata(path)?;
        if meta.is_dir() && !path.join(".git").exists() {
            return self.folder(path);
        }
        match meta.is_file() && (self.wanted)(&path.to_string_lossy()) {
            true => self.file(path),
            false => Ok(()),
        }
    }

    fn file(&mut self, path: &Path) -> std::io::Result<()> {
        if !self.seen.insert(fs::canonicalize(path)?) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let limit = u64::try_from(YAML_LIMIT).unwrap_or(u64::MAX);
        fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
        match bytes.len() > YAML_LIMIT {
            true => self.fault(path, "larger than 32 MiB; not looked at"),
            false => self.files.push((path.to_owned(), bytes)),
        }
        Ok(())
    }
}
