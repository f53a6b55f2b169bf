//! A commit in the user's own working repository, created by the user's own git with its index, hooks and settings.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::SystemTime;

use tempfile::NamedTempFile;

use super::git_program::{Git, GitProgramError, output};
use super::rewrite::FileChange;
use super::worktree_error::WorktreeError;
use crate::commit::message::CommitMessage;
use crate::error::RunError;
use crate::find::path::shown;
use crate::job::edits::Edits;
use crate::job::remote_job::Author;
use crate::report::run::CommitReport;
use bumpwright_git::add_signature;
use bumpwright_gostd::Time;
use bumpwright_signing::Signer;

/// How to commit in a working repository.
#[derive(Clone, Debug)]
pub struct WorktreeCommit {
    pub author: Author,
    pub message: CommitMessage,
    pub signing: WorktreeSigning,
}

/// The signer of a commit that the user's git creates.
#[derive(Clone, Debug)]
pub enum WorktreeSigning {
    /// Git, if its settings enable signing (`commit.gpgsign`).
    AsGitSays,
    /// None, whatever git's settings are.
    Unsigned,
    With(Arc<dyn Signer>),
}

/// Checks that the commit can be created and describes it. A preview starts no program that the repository names.
///
/// # Errors
///
/// When the folder is in no repository, or a file to edit is not tracked or has uncommitted changes
/// (docs/cli.md, *TARGET*, rule 2).
pub(crate) fn prepare(
    commit: &WorktreeCommit,
    message: &[u8],
    root: &Path,
    files: &[FileChange],
    edits: &Edits,
) -> Result<CommitReport, RunError> {
    let git = git_for(root, edits.dry_run)?;
    let has_commit = git.text(&["rev-parse", "--verify", "--quiet", "HEAD"]).is_ok();
    if !has_commit && git.text(&["rev-parse", "--git-dir"]).is_ok() {
        return Err(WorktreeError::NoCommits.into());
    }
    check_clean(&git, files, &edits.folder)?;
    let signed = match commit.signing {
        WorktreeSigning::AsGitSays => {
            let says = git.text(&["config", "--type=bool", "--get", "commit.gpgsign"]);
            says.is_ok_and(|says| says == "true")
        }
        WorktreeSigning::Unsigned => false,
        WorktreeSigning::With(_) => true,
    };
    Ok(report(commit, message, None, branch(&git), signed))
}

/// Git, without programs of the repository in a preview.
fn git_for(root: &Path, is_preview: bool) -> Result<Git<'_>, GitProgramError> {
    if is_preview {
        Git::quiet(root)
    } else {
        Ok(Git::of_user(root))
    }
}

/// Those of the paths that git ignores. None outside of a repository: [`prepare`] says so.
///
/// # Errors
///
/// When git is missing.
pub(crate) fn ignored(root: &Path, paths: &[&[u8]], is_preview: bool) -> Result<BTreeSet<Vec<u8>>, RunError> {
    if paths.is_empty() {
        return Ok(BTreeSet::new());
    }
    let git = git_for(root, is_preview)?;
    if git.text(&["rev-parse", "--git-dir"]).is_err() {
        return Ok(BTreeSet::new());
    }
    Ok(git.picked(&["check-ignore", "-z", "--stdin"], paths)?)
}

/// Refuses files with uncommitted changes.
fn check_clean(git: &Git<'_>, files: &[FileChange], folder: &str) -> Result<(), RunError> {
    let tracked = git.listed(&["ls-files", "-z", "--cached", "."])?;
    let compare = [
        "diff",
        "-z",
        "--name-only",
        "--relative",
        "--ignore-submodules",
        "HEAD",
        "--",
        ".",
    ];
    let dirty = git.listed(&compare)?;
    for file in files {
        let path = || shown(folder, &String::from_utf8_lossy(&file.path));
        if !tracked.contains(&file.path) {
            return Err(WorktreeError::Untracked { path: path() }.into());
        }
        if dirty.contains(&file.path) {
            return Err(WorktreeError::Uncommitted { path: path() }.into());
        }
    }
    Ok(())
}

/// The checked-out commit.
///
/// # Errors
///
/// When there is none.
pub(crate) fn head(root: &Path) -> Result<String, RunError> {
    Ok(Git::of_user(root).text(&["rev-parse", "--verify", "HEAD"])?)
}

/// Commits these files and nothing else, whatever is staged.
///
/// # Errors
///
/// When git refuses, with its error text.
pub(crate) fn commit(
    commit: &WorktreeCommit,
    message: &[u8],
    root: &Path,
    files: &[FileChange],
) -> Result<CommitReport, RunError> {
    let names = names(files)?;
    let git = Git::of_user(root);
    let command = command(&git, commit, names.path());
    let before = head(root)?;
    output(command, message)?;
    if let WorktreeSigning::With(signer) = &commit.signing {
        sign(&git, signer.as_ref()).inspect_err(|_| undo(&git, &before, names.path()))?;
    }
    let id = git.text(&["rev-parse", "HEAD"])?;
    let raw = git.run(&["cat-file", "commit", "HEAD"], b"")?;
    let raw = String::from_utf8_lossy(&raw);
    // A hook may have changed the message.
    let (head, message) = raw.split_once("\n\n").unwrap_or((&raw, ""));
    let signed = head.lines().any(|line| line.starts_with("gpgsig"));
    Ok(report(commit, message.as_bytes(), Some(id), branch(&git), signed))
}

/// A file listing the paths of these files, for git.
fn names(files: &[FileChange]) -> Result<NamedTempFile, WorktreeError> {
    let failed = |action| move |source| WorktreeError::Temporary { action, source };
    let mut names = NamedTempFile::new().map_err(failed("make"))?;
    for file in files {
        let line = [file.path.as_slice(), b"\0"].concat();
        names.write_all(&line).map_err(failed("write"))?;
    }
    Ok(names)
}

/// `git commit` of the files in `names`.
fn command(git: &Git<'_>, commit: &WorktreeCommit, names: &Path) -> Command {
    let mut command = git.command();
    command
        .args([
            "commit",
            "--only",
            "--quiet",
            "--allow-empty-message",
            "--cleanup=verbatim",
            "--file=-",
        ])
        .arg(format!("--pathspec-from-file={}", names.display()))
        .arg("--pathspec-file-nul");
    if !matches!(commit.signing, WorktreeSigning::AsGitSays) {
        command.arg("--no-gpg-sign");
    }
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), &commit.author.name);
        command.env(format!("GIT_{role}_EMAIL"), &commit.author.email);
    }
    command
}

/// Signs the commit that git has just created: only now is its content final, after hooks.
fn sign(git: &Git<'_>, signer: &dyn Signer) -> Result<(), RunError> {
    let made = git.text(&["rev-parse", "--verify", "HEAD"])?;
    let unsigned = git.run(&["cat-file", "commit", &made], b"")?;
    let signature = signer.sign(&unsigned, Time::from(SystemTime::now()).unix_seconds())?;
    let signed = add_signature(&unsigned, &signature);
    let id = git.run(&["hash-object", "-t", "commit", "-w", "--stdin"], &signed)?;
    let id = String::from_utf8_lossy(&id).trim().to_owned();
    git.text(&["update-ref", "-m", "commit: signed", "HEAD", &id, &made])?;
    Ok(())
}

/// Removes the commit that could not be signed from the branch and the index.
fn undo(git: &Git<'_>, before: &str, names: &Path) {
    // Whether the removal worked shows in where HEAD points, which is checked next.
    let _ = git.text(&["update-ref", "-m", "commit: not signed, taken back", "HEAD", before]);
    let names = format!("--pathspec-from-file={}", names.display());
    let _ = git.text(&["reset", "--quiet", &names, "--pathspec-file-nul"]);
}

fn report(
    commit: &WorktreeCommit,
    message: &[u8],
    id: Option<String>,
    branch: Option<String>,
    signed: bool,
) -> CommitReport {
    CommitReport {
        id,
        branch,
        message: String::from_utf8_lossy(message).into_owned(),
        author: commit.author.to_string(),
        signed,
    }
}

/// The current branch; none on a detached HEAD.
fn branch(git: &Git<'_>) -> Option<String> {
    git.text(&["symbolic-ref", "--short", "--quiet", "HEAD"]).ok()
}
