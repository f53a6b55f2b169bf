//! A commit in the user's own working repository, made by the user's own git: its index, hooks and settings are theirs.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::error::RunError;
use super::job::Author;
use super::message::CommitMessage;
use super::report::{CommitReport, FileChange};
use crate::git::add_signature;
use crate::signing::Signer;

/// How to commit in a working repository.
#[derive(Clone, Debug)]
pub struct WorktreeCommit {
    /// Author and committer.
    pub author: Author,
    /// The message.
    pub message: CommitMessage,
    /// Who signs.
    pub signing: WorktreeSigning,
}

/// Who signs a commit that the user's own git makes.
#[derive(Clone, Debug)]
pub enum WorktreeSigning {
    /// Git, if its settings say so (`commit.gpgsign`).
    AsGitSays,
    /// Nobody, whatever git's settings say.
    Unsigned,
    /// This key.
    With(Arc<dyn Signer>),
}

/// Checks that the commit can be made and says what it will be.
///
/// # Errors
///
/// When the folder is in no repository, or a file to edit is not tracked or has uncommitted changes (CLI.md rule 2).
pub(super) fn prepare(
    commit: &WorktreeCommit,
    message: &[u8],
    root: &Path,
    files: &[FileChange],
) -> Result<CommitReport, RunError> {
    if text(root, &["rev-parse", "--verify", "--quiet", "HEAD"]).is_err()
        && text(root, &["rev-parse", "--git-dir"]).is_ok()
    {
        return Err(RunError::Other(
            "the repository has no commits; make a first one, or run without --commit".to_owned(),
        ));
    }
    let tracked = listed(root, &["ls-files", "-z", "--cached", "."])?;
    let dirty = listed(root, &["diff", "-z", "--name-only", "--relative", "HEAD", "--", "."])?;
    for file in files {
        let path = String::from_utf8_lossy(&file.path);
        if !tracked.contains(&file.path) {
            return Err(RunError::Other(format!(
                "{path} is not tracked by git; `git add` it, or run without --commit"
            )));
        }
        if dirty.contains(&file.path) {
            let why = format!("{path} has uncommitted changes; commit or stash them first, or run without --commit");
            return Err(RunError::Other(why));
        }
    }
    let signed = match commit.signing {
        WorktreeSigning::AsGitSays => {
            let says = text(root, &["config", "--type=bool", "--get", "commit.gpgsign"]);
            says.is_ok_and(|says| says == "true")
        }
        WorktreeSigning::Unsigned => false,
        WorktreeSigning::With(_) => true,
    };
    Ok(report(commit, message, None, branch(root), signed))
}

/// The commit that is checked out.
///
/// # Errors
///
/// When there is none.
pub(super) fn head(root: &Path) -> Result<String, RunError> {
    text(root, &["rev-parse", "--verify", "HEAD"])
}

/// Commits these files and nothing else, whatever is staged.
///
/// # Errors
///
/// When git refuses, with its words.
pub(super) fn commit(
    commit: &WorktreeCommit,
    message: &[u8],
    root: &Path,
    files: &[FileChange],
) -> Result<CommitReport, RunError> {
    let mut names =
        tempfile::NamedTempFile::new().map_err(|e| RunError::Other(format!("cannot make a temporary file: {e}")))?;
    for file in files {
        let line = [file.path.as_slice(), b"\0"].concat();
        names
            .write_all(&line)
            .map_err(|e| RunError::Other(format!("cannot write a temporary file: {e}")))?;
    }
    let mut command = git(root);
    command
        .args([
            "commit",
            "--only",
            "--quiet",
            "--allow-empty-message",
            "--cleanup=verbatim",
            "--file=-",
        ])
        .arg(format!("--pathspec-from-file={}", names.path().display()))
        .arg("--pathspec-file-nul");
    if !matches!(commit.signing, WorktreeSigning::AsGitSays) {
        command.arg("--no-gpg-sign");
    }
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), &commit.author.name);
        command.env(format!("GIT_{role}_EMAIL"), &commit.author.email);
    }
    let before = head(root)?;
    output(command, message)?;
    if let WorktreeSigning::With(signer) = &commit.signing {
        sign(root, signer.as_ref()).inspect_err(|_| undo(root, &before, names.path()))?;
    }
    let id = text(root, &["rev-parse", "HEAD"])?;
    let raw = output(git_with(root, &["cat-file", "commit", "HEAD"]), b"")?;
    let raw = String::from_utf8_lossy(&raw);
    // A hook may have had the last word.
    let (head, message) = raw.split_once("\n\n").unwrap_or((&raw, ""));
    let signed = head.lines().any(|line| line.starts_with("gpgsig"));
    Ok(report(commit, message.as_bytes(), Some(id), branch(root), signed))
}

/// Puts a signature on the commit that git has just made: only now is it known what hooks have left of it.
fn sign(root: &Path, signer: &dyn Signer) -> Result<(), RunError> {
    let made = head(root)?;
    let unsigned = output(git_with(root, &["cat-file", "commit", &made]), b"")?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let signature = signer.sign(&unsigned, i64::try_from(since.as_secs()).unwrap_or(i64::MAX))?;
    let signed = add_signature(&unsigned, &signature);
    let id = output(
        git_with(root, &["hash-object", "-t", "commit", "-w", "--stdin"]),
        &signed,
    )?;
    let id = String::from_utf8_lossy(&id).trim().to_owned();
    text(root, &["update-ref", "-m", "commit: signed", "HEAD", &id, &made]).map(drop)
}

/// Takes back the commit that could not be signed, from the branch and from the index.
fn undo(root: &Path, before: &str, names: &Path) {
    // What cannot be undone shows in where HEAD stands, which is looked at next.
    let _ = text(
        root,
        &["update-ref", "-m", "commit: not signed, taken back", "HEAD", before],
    );
    let names = format!("--pathspec-from-file={}", names.display());
    let _ = text(root, &["reset", "--quiet", &names, "--pathspec-file-nul"]);
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
fn branch(root: &Path) -> Option<String> {
    text(root, &["symbolic-ref", "--short", "--quiet", "HEAD"]).ok()
}

fn git(root: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(root).env("GIT_LITERAL_PATHSPECS", "1");
    // TARGET names the repository, also when a hook of another one runs this program.
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_PREFIX",
        "GIT_COMMON_DIR",
    ] {
        command.env_remove(name);
    }
    command
}

fn git_with(root: &Path, args: &[&str]) -> Command {
    let mut command = git(root);
    command.args(args);
    command
}

/// Paths that a git command lists, relative to the folder.
fn listed(root: &Path, args: &[&str]) -> Result<BTreeSet<Vec<u8>>, RunError> {
    let out = output(git_with(root, args), b"")?;
    Ok(out
        .split(|b| *b == 0)
        .filter(|path| !path.is_empty())
        .map(<[u8]>::to_vec)
        .collect())
}

fn text(root: &Path, args: &[&str]) -> Result<String, RunError> {
    let out = output(git_with(root, args), b"")?;
    Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
}

/// Runs git and gives what it printed, or its words.
fn output(mut command: Command, input: &[u8]) -> Result<Vec<u8>, RunError> {
    let missing = |e: std::io::Error| RunError::Other(format!("cannot run git: {e}; --commit needs it on the PATH"));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input ends first; its status tells more than the broken pipe.
        let _ = stdin.write_all(input);
    }
    let out = child.wait_with_output().map_err(missing)?;
    if out.status.success() {
        return Ok(out.stdout);
    }
    let said = String::from_utf8_lossy(&out.stderr);
    Err(RunError::Other(match said.trim() {
        "" => format!("git refused without a word ({}); a hook may have", out.status),
        said => format!("git refused: {said}"),
    }))
}
