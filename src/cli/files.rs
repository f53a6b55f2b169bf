//! The input files of commands that rewrite them: named ones, and the wanted files of named folders.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::cli::console::{complain, say};
use crate::cli::error::CliError;
use crate::cli::words;
use bumpwright_adopt::SourceFile;
use bumpwright_edit::{YAML_LIMIT, unified};
use bumpwright_nearest::{nearest, nearest_path};
use bumpwright_update::{FileChange, replace_files};

/// Files in the order of their names, each once; and read errors.
pub struct FoundFiles<'a> {
    /// Path as named, and content.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    pub faults: Vec<CliError>,
    /// Whether a named path cannot be read: it is misspelt, or does not exist.
    is_partial: bool,
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

/// The last line of a preview: that nothing is written, and the flag that writes. Nothing, where nothing would be.
pub fn say_preview(has_changes: bool) {
    if has_changes {
        say("note", "nothing was written: --write makes these changes");
    }
}

/// The files with their paths in their repositories; `except` is not one of them.
pub fn in_repositories(paths: &[PathBuf], files: Vec<(PathBuf, Vec<u8>)>, except: &Path) -> Vec<SourceFile> {
    let except = fs::canonicalize(except).ok();
    let mut roots: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut sources = Vec::new();
    for (name, bytes) in files {
        let real = fs::canonicalize(&name).unwrap_or_else(|_| name.clone());
        if except.as_ref() == Some(&real) {
            continue;
        }
        let root = root(paths, &real);
        let path = real.strip_prefix(&root).unwrap_or(&real);
        let parts: Vec<_> = path
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        let next = roots.len();
        sources.push(SourceFile {
            path: parts.join("/"),
            root: *roots.entry(root).or_insert(next),
            name: name.to_string_lossy().into_owned(),
            bytes,
        });
    }
    sources
}

/// The repository of a file; outside of one, the folder that was given.
fn root(paths: &[PathBuf], file: &Path) -> PathBuf {
    let folders = || file.ancestors().skip(1);
    if let Some(repository) = folders().find(|folder| folder.join(".git").exists()) {
        return repository.to_owned();
    }
    let given: Vec<PathBuf> = paths.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let folder = folders().find(|folder| given.iter().any(|path| path == folder));
    folder.or_else(|| file.parent()).unwrap_or(file).to_owned()
}

/// Writes a new file and all changes, or nothing.
///
/// # Errors
/// The new file exists, or one cannot be written.
pub fn write_all(new: Option<(&Path, &[u8])>, changes: &[FileChange]) -> Result<(), CliError> {
    if let Some((path, bytes)) = new {
        let mut file = fs::File::create_new(path).map_err(|error| unwritable(path, error))?;
        let written = file.write_all(bytes);
        if let Err(error) = written.and_then(|()| file.sync_all()) {
            drop(fs::remove_file(path));
            return Err(unwritable(path, error));
        }
    }
    replace_files(changes).map_err(|error| {
        if let Some((path, _)) = new {
            drop(fs::remove_file(path));
        }
        error.into()
    })
}

fn unwritable(path: &Path, error: std::io::Error) -> CliError {
    CliError::from(error).at(words::inline(&path.display().to_string()))
}

/// Finds and reads all files; those of folders if they are `wanted` by their paths.
pub fn find<'a>(paths: &[PathBuf], wanted: &'a dyn Fn(&str) -> bool) -> FoundFiles<'a> {
    let mut files_found = FoundFiles {
        files: Vec::new(),
        faults: Vec::new(),
        is_partial: false,
        seen: HashSet::new(),
        wanted,
    };
    for path in paths {
        if let Err(error) = files_found.named(path) {
            files_found.is_partial = true;
            files_found.faults.push(absent(path, error));
        }
    }
    files_found
}

/// That a path cannot be read; with the one that may be meant, where its folder has one of nearly that name.
pub fn absent(path: &Path, error: std::io::Error) -> CliError {
    let near = near_path(path, &error);
    CliError::from(error).at(path.display()).meant(near.as_deref())
}

/// The path that may be meant by one that is not there. The folders of it that exist are kept as they were given.
pub fn near_path(path: &Path, error: &std::io::Error) -> Option<String> {
    if error.kind() != ErrorKind::NotFound {
        return None;
    }
    let is_there = |folder: &&Path| folder.as_os_str().is_empty() || folder.is_dir();
    let folder = path.ancestors().skip(1).find(is_there)?;
    let here = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let rest = path.strip_prefix(folder).ok()?.to_str()?;
    let near = nearest_path(rest, |below| names(&here.join(below)))?;
    Some(folder.join(near).display().to_string())
}

/// The names in a folder; none if it cannot be read.
fn names(folder: &Path) -> Option<Vec<String>> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    Some(names.collect())
}

/// A path that is not there and nearly a subcommand: what was meant.
pub(super) fn meant<'p>(
    paths: impl IntoIterator<Item = &'p Path>,
    subcommands: &'static [&'static str],
) -> Option<CliError> {
    let missing = paths.into_iter().find(|path| fs::symlink_metadata(path).is_err())?;
    let name = missing.to_str().filter(|name| !name.contains(['/', '.']))?;
    let near = nearest(name, subcommands.iter().copied())?;
    Some(CliError::new(format!(
        "{name} is neither a file nor a command: did you mean {near}?"
    )))
}

impl FoundFiles<'_> {
    /// Before something is written: with a path that is not there something else was meant.
    ///
    /// # Errors
    /// A named path cannot be read; `faults` have it.
    pub fn check_named(&self) -> Result<(), CliError> {
        if self.is_partial {
            Err(CliError::new("nothing was written").hint("correct the path, or leave it out"))
        } else {
            Ok(())
        }
    }

    /// That nothing which was named can be read: there is nothing to answer then.
    ///
    /// # Errors
    /// The last fault; those before are shown.
    pub fn refuse_nothing(&mut self) -> Result<(), CliError> {
        if !self.is_partial || !self.files.is_empty() {
            return Ok(());
        }
        let last = self.faults.pop();
        self.faults.iter().for_each(complain);
        last.map_or(Ok(()), Err)
    }

    fn fault(&mut self, path: &Path, why: impl Into<CliError>) {
        self.faults.push(why.into().at(path.display()));
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
                self.fault(&child, error);
            }
        }
        Ok(())
    }

    fn below(&mut self, path: &Path) -> std::io::Result<()> {
        let meta = fs::symlink_metadata(path)?;
        if meta.is_dir() && !path.join(".git").exists() {
            return self.folder(path);
        }
        if meta.is_file() && (self.wanted)(&path.to_string_lossy()) {
            self.file(path)
        } else {
            Ok(())
        }
    }

    fn file(&mut self, path: &Path) -> std::io::Result<()> {
        if !self.seen.insert(fs::canonicalize(path)?) {
            return Ok(());
        }
        let limit = u64::try_from(YAML_LIMIT).unwrap_or(u64::MAX);
        let file = fs::File::open(path)?;
        let length = file.metadata()?.len().min(limit);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() > YAML_LIMIT {
            self.fault(path, "larger than 32 MiB; not looked at")
        } else {
            self.files.push((path.to_owned(), bytes))
        }
        Ok(())
    }
}
