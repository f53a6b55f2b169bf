//! A run in a folder: files are edited in place, as a formatter would, and committed if that is wanted.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::RunError;
use super::job::Edits;
use super::path::{Node, join};
use super::policies::Policies;
use super::preview;
use super::report::{FileChange, Run};
use super::repository_policies;
use super::survey::{Marked, facts};
use super::worktree::{self, WorktreeCommit};
use crate::edit;

/// One run in a folder.
#[derive(Clone, Debug)]
pub struct FolderJob {
    /// What to set.
    pub edits: Edits,
    /// The folder that paths are relative to.
    pub root: PathBuf,
    /// Only this file of it, when TARGET is a file.
    pub only: Option<String>,
    /// The folder or file as the user wrote it.
    pub shown: String,
    /// How to commit, if at all.
    pub commit: Option<WorktreeCommit>,
}

/// Runs `job`. A failure is in the report's `error`; then no file was changed.
#[must_use]
pub fn run(job: &FolderJob) -> Run {
    let mut report = Run {
        automation: job.edits.automation.clone(),
        target: job.shown.clone(),
        ..Run::default()
    };
    if let Err(error) = attempt(job, &mut report) {
        report.error = Some(error.to_string());
        report.commit = None;
    }
    report
}

fn attempt(job: &FolderJob, report: &mut Run) -> Result<(), RunError> {
    let root = fs::canonicalize(&job.root).map_err(failed("open", &job.root))?;
    let marked = find_marked(job, &root)?;
    let policies = all_policies(job, &root, &marked, report)?;
    let mut planned = preview::preview(&marked, &job.edits, &policies)?;
    report.changes = std::mem::take(&mut planned.changes);
    report.skips = std::mem::take(&mut planned.skips);
    for (n, plan) in &planned.files {
        let Some(file) = marked.get(*n) else { continue };
        let old = fs::read(&file.place).map_err(failed("read", &file.place))?;
        report.files.push(preview::spliced(&file.path, &old, plan)?);
    }
    if report.files.is_empty() {
        return Ok(());
    }
    let Some(commit) = &job.commit else {
        return if job.edits.dry_run {
            Ok(())
        } else {
            write_all(&root, &report.files)
        };
    };
    report.commit = Some(worktree::prepare(commit, &root, &report.files)?);
    if job.edits.dry_run {
        return Ok(());
    }
    write_all(&root, &report.files)?;
    match worktree::commit(commit, &root, &report.files) {
        Ok(made) => {
            report.commit = Some(made);
            Ok(())
        }
        Err(error) => {
            // Nothing is left half done: the files are as they were.
            write_all(&root, &report.files.iter().map(undone).collect::<Vec<_>>())?;
            Err(error)
        }
    }
}

fn undone(file: &FileChange) -> FileChange {
    FileChange {
        path: file.path.clone(),
        old: file.new.clone(),
        new: file.old.clone(),
    }
}

fn failed<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> RunError + 'a {
    move |source| RunError::File {
        action,
        path: path.display().to_string(),
        source,
    }
}

/// The marked files below the job's path.
fn find_marked(job: &FolderJob, root: &Path) -> Result<Vec<Marked<PathBuf>>, RunError> {
    let given = job.edits.path.as_deref().or(job.only.as_deref()).unwrap_or_default();
    let path = join(given, |at| node(&root.join(at)))?;
    let start = root.join(&path);
    if fs::symlink_metadata(&start).is_err() {
        return Err(RunError::NoSuchPath {
            path: given.to_owned(),
            target: job.shown.clone(),
        });
    }
    let mut found = Vec::new();
    visit(&start, path.into_bytes(), &mut found)?;
    Ok(found)
}

/// What stands at a path of the folder.
fn node(path: &Path) -> Result<Node, RunError> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => {
            let target = fs::read_link(path).map_err(failed("read", path))?;
            Ok(Node::Link(target.to_string_lossy().into_owned()))
        }
        Ok(_) => Ok(Node::Present),
        Err(_) => Ok(Node::Missing),
    }
}

/// Looks at a file, or at all files below a folder in the order of their names. Links, Git's own folders and the roots
/// of other repositories (submodules) are left alone.
fn visit(at: &Path, path: Vec<u8>, found: &mut Vec<Marked<PathBuf>>) -> Result<(), RunError> {
    let meta = fs::symlink_metadata(at).map_err(failed("read", at))?;
    if meta.is_file() {
        if let Some(marked) = look_at(at, path, meta.len())? {
            found.push(marked);
        }
        return Ok(());
    }
    let foreign = !path.is_empty() && at.join(".git").exists();
    if !meta.is_dir() || foreign {
        return Ok(());
    }
    let entries = fs::read_dir(at).map_err(failed("read", at))?;
    let mut names = entries
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed("read", at))?;
    names.sort();
    for name in names.into_iter().filter(|name| name != ".git") {
        let mut below = path.clone();
        if !below.is_empty() {
            below.push(b'/');
        }
        below.extend_from_slice(name.as_encoded_bytes());
        visit(&at.join(&name), below, found)?;
    }
    Ok(())
}

/// Reads one file, unless it is too large to be looked at.
fn look_at(at: &Path, path: Vec<u8>, size: u64) -> Result<Option<Marked<PathBuf>>, RunError> {
    let kind = edit::file_kind(&String::from_utf8_lossy(&path));
    let limit = super::survey::size_limit(kind);
    let facts = if size > limit {
        super::survey::too_large(kind, size)
    } else {
        let mut bytes = Vec::new();
        let file = fs::File::open(at).map_err(failed("read", at))?;
        file.take(limit).read_to_end(&mut bytes).map_err(failed("read", at))?;
        facts(kind, &bytes)
    };
    Ok(facts.matters().then(|| Marked {
        path,
        place: at.to_owned(),
        kind,
        facts,
    }))
}

/// The given policies and, when markers name others, those that the folder (or the file) holds.
fn all_policies(
    job: &FolderJob,
    root: &Path,
    marked: &[Marked<PathBuf>],
    report: &mut Run,
) -> Result<Arc<Policies>, RunError> {
    if preview::missing(marked, &job.edits).is_empty() {
        return Ok(job.edits.policies.clone());
    }
    let mut all = Vec::new();
    match &job.only {
        Some(file) => visit(&root.join(file), file.clone().into_bytes(), &mut all)?,
        None => visit(root, Vec::new(), &mut all)?,
    }
    let mut found = repository_policies::Found::default();
    for file in all.into_iter().filter(|file| file.facts.manifests) {
        let bytes = fs::read(&file.place).map_err(failed("read", &file.place))?;
        found.read(&file.path, &bytes);
    }
    let (policies, mut notes) = found.below(&job.edits.policies);
    report.notes.append(&mut notes);
    Ok(Arc::new(policies))
}

/// Replaces files, each at once: all new contents are on disk before the first file is replaced.
fn write_all(root: &Path, files: &[FileChange]) -> Result<(), RunError> {
    let mut staged = Vec::with_capacity(files.len());
    for file in files {
        let path = root.join(native(&file.path));
        staged.push((stage(&path, &file.new).map_err(failed("write", &path))?, path));
    }
    for (temporary, path) in staged {
        temporary.persist(&path).map_err(|e| failed("write", &path)(e.error))?;
    }
    Ok(())
}

/// The new content beside the file, with its permissions.
fn stage(path: &Path, content: &[u8]) -> std::io::Result<tempfile::NamedTempFile> {
    use std::io::Write;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".bumpwright-").tempfile_in(folder)?;
    temporary.write_all(content)?;
    temporary.as_file().set_permissions(fs::metadata(path)?.permissions())?;
    temporary.as_file().sync_data()?;
    Ok(temporary)
}

/// A repository path as this system spells it.
fn native(path: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        PathBuf::from(std::ffi::OsStr::from_bytes(path))
    }
    #[cfg(not(unix))]
    {
        PathBuf::from(String::from_utf8_lossy(path).into_owned())
    }
}
