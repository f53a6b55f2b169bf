//! The program `git` in the user's working repository: as the user would run it, or read-only
//! without starting other programs.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};

/// Why the program `git` has not done what it was to do.
#[derive(Debug, thiserror::Error)]
pub enum GitProgramError {
    /// It could not be started, or its output not be read.
    #[error("cannot run git: {0}; --commit needs it on the PATH")]
    Start(#[source] std::io::Error),
    /// It refused, in these words.
    #[error("git refused: {0}")]
    Refused(String),
    /// It refused and printed nothing.
    #[error("git refused without a word ({0}); a hook may have")]
    Silent(ExitStatus),
    /// A filter that would run in a preview.
    #[error("{filter}: git cannot be told to leave out a filter with this name; rename it, or run without --commit")]
    Filter {
        /// `filter.NAME`
        filter: String,
    },
    /// Its output has another form than that of Git.
    #[error("git {command} printed {answer:?}, which is not what Git prints; check which git is the first on the PATH")]
    Unexpected {
        /// Its arguments.
        command: &'static str,
        answer: String,
    },
}

/// Settings by which a repository starts programs when files are looked at: its file system monitor and its hooks.
/// Before Git 2.36 a monitor was always a program, so only an empty name disables it everywhere.
const OFF: [&str; 2] = ["core.fsmonitor=", "core.hooksPath=/dev/null"];

/// No path is a pattern.
const LITERAL: &str = "GIT_LITERAL_PATHSPECS";

/// Git, run in a folder.
#[derive(Debug)]
pub(crate) struct Git<'a> {
    root: &'a Path,
    is_quiet: bool,
    /// Settings that override those of the repository.
    settings: Vec<String>,
}

impl<'a> Git<'a> {
    /// Git with the settings of the user and of the repository.
    pub(crate) fn of_user(root: &'a Path) -> Self {
        Self {
            root,
            is_quiet: false,
            settings: Vec::new(),
        }
    }

    /// Git without any program that the repository names, so that a preview of a foreign repository is as harmless as
    /// reading it. Files that a filter would have to read are compared unfiltered.
    ///
    /// # Errors
    ///
    /// When the folder is in no repository, or the settings name a filter that cannot be left out.
    pub(crate) fn quiet(root: &'a Path) -> Result<Self, GitProgramError> {
        let mut git = Self {
            root,
            is_quiet: true,
            settings: OFF.map(str::to_owned).to_vec(),
        };
        for filter in git.filters()? {
            if filter.contains(['=', char::REPLACEMENT_CHARACTER]) {
                return Err(GitProgramError::Filter { filter });
            }
            let off = ["clean=", "smudge=", "process=", "required=false"];
            git.settings.extend(off.map(|setting| format!("{filter}.{setting}")));
        }
        Ok(git)
    }

    /// The names of the content filters in the settings, `filter.NAME`.
    fn filters(&self) -> Result<BTreeSet<String>, GitProgramError> {
        let names = self.run(&["config", "-z", "--name-only", "--list"], b"")?;
        let names = String::from_utf8_lossy(&names);
        let filters = names.split('\0').filter(|name| name.starts_with("filter."));
        Ok(filters
            .filter_map(|name| name.rsplit_once('.'))
            .map(|(filter, _)| filter.to_owned())
            .collect())
    }

    /// `git` without arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = if self.is_quiet {
            git_without_fetches(self.root)
        } else {
            git_in(self.root)
        };
        command.env(LITERAL, "1");
        for setting in &self.settings {
            command.arg("-c").arg(setting);
        }
        command
    }

    /// Runs it and returns its output, or its error text.
    ///
    /// # Errors
    ///
    /// When git is missing or refuses.
    pub(crate) fn run(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, GitProgramError> {
        let mut command = self.command();
        command.args(args);
        output(command, input)
    }

    /// Its output as text, without the final line break.
    pub(crate) fn text(&self, args: &[&str]) -> Result<String, GitProgramError> {
        let out = self.run(args, b"")?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    /// The paths that it prints, relative to the folder.
    pub(crate) fn listed(&self, args: &[&str]) -> Result<BTreeSet<Vec<u8>>, GitProgramError> {
        Ok(paths_in(&self.run(args, b"")?))
    }

    /// Those of the paths, relative to the folder, that a command picks. It ends with 1 where it picks none.
    pub(crate) fn picked(&self, args: &[&str], paths: &[&[u8]]) -> Result<BTreeSet<Vec<u8>>, GitProgramError> {
        let mut command = self.command();
        // It refuses this setting; no path with a dot before it has a pattern's beginning.
        command.env_remove(LITERAL).args(args);
        let dotted: Vec<u8> = paths.iter().flat_map(|path| [b"./", *path, b"\0"].concat()).collect();
        let out = ended(command, &dotted)?;
        if out.status.code() == Some(1) {
            return Ok(BTreeSet::new());
        }
        let picked = paths_in(&accepted(out)?).into_iter();
        Ok(picked
            .map(|path| path.strip_prefix(b"./").map_or(path.clone(), <[u8]>::to_vec))
            .collect())
    }
}

/// `git` without arguments in the repository of a folder. The folder names the repository, even when a hook of another
/// repository runs this program.
fn git_in(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
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

/// `git` without arguments in the repository of a folder, without lazy fetches: a partial clone would fetch missing
/// objects, with programs from its settings.
#[must_use]
pub fn git_without_fetches(folder: &Path) -> Command {
    let mut command = git_in(folder);
    command.env("GIT_ALLOW_PROTOCOL", "none").env("GIT_NO_LAZY_FETCH", "1");
    command
}

/// Paths that end with a NUL each.
fn paths_in(out: &[u8]) -> BTreeSet<Vec<u8>> {
    let paths = out.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(<[u8]>::to_vec).collect()
}

/// Runs a git command and returns its output, or its error text.
///
/// # Errors
///
/// When git is missing or refuses.
pub(crate) fn output(command: Command, input: &[u8]) -> Result<Vec<u8>, GitProgramError> {
    accepted(ended(command, input)?)
}

/// Runs a git command to its end.
fn ended(mut command: Command, input: &[u8]) -> Result<Output, GitProgramError> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(GitProgramError::Start)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input ends first; its exit status says more than the broken pipe.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output().map_err(GitProgramError::Start)
}

/// What a command printed, unless it refused.
fn accepted(out: Output) -> Result<Vec<u8>, GitProgramError> {
    if out.status.success() {
        return Ok(out.stdout);
    }
    let said = String::from_utf8_lossy(&out.stderr);
    Err(match said.trim() {
        "" => GitProgramError::Silent(out.status),
        said => GitProgramError::Refused(said.to_owned()),
    })
}
