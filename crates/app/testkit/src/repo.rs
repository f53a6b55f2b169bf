//! Bare repositories made and read by the real git, without the user's configuration.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// A change of one path.
pub enum Change<'a> {
    File(&'a str, &'a [u8]),
    Executable(&'a str, &'a [u8]),
    Symlink(&'a str, &'a str),
    Submodule(&'a str, &'a str),
    Delete(&'a str),
}

/// A line of `git ls-tree -r`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub mode: String,
    pub id: String,
    pub path: String,
}

/// A commit in `git log`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    pub id: String,
    pub parents: Vec<String>,
    /// `name <mail>`
    pub author: String,
    pub message: String,
}

/// `git` without the user's and the system's configuration, with fixed names and dates.
pub fn git(dir: &Path) -> Command {
    let mut command = Command::new("git");
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_PARAMETERS",
    ] {
        command.env_remove(name);
    }
    hermetic(&mut command);
    command.current_dir(dir);
    command
}

/// The environment of [`git`] for another program that starts git.
pub fn hermetic(command: &mut Command) {
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("LC_ALL", "C");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "Test")
            .env(format!("GIT_{who}_EMAIL"), "test@example.com");
        command.env(format!("GIT_{who}_DATE"), "1700000000 +0000");
    }
}

/// Runs a command that must succeed and returns its output.
pub fn run(command: &mut Command) -> Vec<u8> {
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {errors}");
    output.stdout
}

/// Like [`run`], as text without the line break at its end.
pub fn run_text(command: &mut Command) -> String {
    String::from_utf8(run(command))
        .expect("the output is text")
        .trim_end()
        .to_owned()
}

/// A bare repository.
#[derive(Clone, Debug)]
pub struct Repo {
    pub dir: PathBuf,
}

impl Repo {
    /// Creates an empty one with `main` as HEAD.
    pub fn init(dir: impl Into<PathBuf>) -> Self {
        Self::init_with(dir, &[])
    }

    /// With further arguments for `git init`, such as `--object-format=sha256`.
    pub fn init_with(dir: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        let dir = dir.into();
        std::fs::create_dir_all(&dir).unwrap();
        run(git(&dir)
            .args(["init", "-q", "--bare", "--initial-branch=main"])
            .args(arguments));
        Self { dir }
    }

    /// `git ARGUMENTS` in the repository; must succeed.
    pub fn git(&self, arguments: &[&str]) -> String {
        run_text(git(&self.dir).args(arguments))
    }

    pub fn config(&self, key: &str, value: &str) {
        self.git(&["config", key, value]);
    }

    /// Adds a commit to a branch, created if missing, and returns its id. One process, no work tree.
    pub fn commit(&self, branch: &str, message: &str, changes: &[Change<'_>]) -> String {
        let name = format!("refs/heads/{branch}");
        let old = self.rev(&name);
        let mut input = Vec::new();
        header(&mut input, &name, message, old.as_deref());
        for change in changes {
            match change {
                Change::File(path, bytes) => inline(&mut input, "100644", path, bytes),
                Change::Executable(path, bytes) => inline(&mut input, "100755", path, bytes),
                Change::Symlink(path, target) => inline(&mut input, "120000", path, target.as_bytes()),
                Change::Submodule(path, id) => writeln!(input, "M 160000 {id} {}", quoted(path)).unwrap(),
                Change::Delete(path) => writeln!(input, "D {}", quoted(path)).unwrap(),
            }
        }
        self.fast_import(&input);
        self.rev(&name).expect("the branch is there now")
    }

    fn fast_import(&self, input: &[u8]) {
        let mut child = git(&self.dir)
            .args(["fast-import", "--quiet", "--date-format=raw"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("git starts");
        child.stdin.take().unwrap().write_all(input).unwrap();
        assert!(child.wait().unwrap().success(), "git fast-import failed");
    }

    /// The commit or object of a revision.
    pub fn rev(&self, revision: &str) -> Option<String> {
        let output = git(&self.dir)
            .args(["rev-parse", "--verify", "-q", revision])
            .output()
            .unwrap();
        output
            .status
            .success()
            .then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    /// All files below a revision.
    pub fn tree(&self, revision: &str) -> Vec<Entry> {
        let listing = String::from_utf8(run(git(&self.dir).args(["ls-tree", "-r", "-z", revision]))).unwrap();
        let lines = listing.split_terminator('\0');
        lines
            .map(|line| {
                let (meta, path) = line.split_once('\t').unwrap();
                let mut meta = meta.split(' ');
                let mode = meta.next().unwrap().to_owned();
                Entry {
                    mode,
                    id: meta.nth(1).unwrap().to_owned(),
                    path: path.to_owned(),
                }
            })
            .collect()
    }

    /// The bytes of a file.
    pub fn show(&self, revision: &str, path: &str) -> Vec<u8> {
        run(git(&self.dir).args(["cat-file", "blob", &format!("{revision}:{path}")]))
    }

    /// Commits from a revision back, newest first.
    pub fn log(&self, revision: &str) -> Vec<Logged> {
        let format = "--format=%H%x1f%P%x1f%an <%ae>%x1f%B%x1e";
        let text = self.git(&["log", "--topo-order", format, revision]);
        let records = text
            .split('\u{1e}')
            .map(str::trim_start)
            .filter(|record| !record.is_empty());
        records
            .map(|record| {
                let mut fields = record.split('\u{1f}');
                let mut next = || fields.next().unwrap().to_owned();
                let (id, parents, author, message) = (next(), next(), next(), next());
                let parents = parents.split_whitespace().map(str::to_owned).collect();
                Logged {
                    id,
                    parents,
                    author,
                    message: message.trim_end_matches('\n').to_owned(),
                }
            })
            .collect()
    }

    /// All references and their ids.
    pub fn refs(&self) -> BTreeMap<String, String> {
        let text = self.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, id)| (name.to_owned(), id.to_owned()))
            .collect()
    }

    /// Panics when `git fsck` finds something wrong.
    pub fn fsck(&self) {
        run(git(&self.dir).args(["fsck", "--full", "--strict", "--no-dangling"]));
    }

    /// Installs a hook: a shell script without its first line.
    pub fn hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.dir.join("hooks").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Each commit is one second later than the one before, so that their order in a log is defined.
fn header(input: &mut Vec<u8>, name: &str, message: &str, old: Option<&str>) {
    static CLOCK: AtomicU64 = AtomicU64::new(1_700_000_000);
    let time = CLOCK.fetch_add(1, Ordering::Relaxed);
    writeln!(input, "commit {name}\ncommitter Test <test@example.com> {time} +0000").unwrap();
    writeln!(input, "data {}\n{message}", message.len()).unwrap();
    if let Some(old) = old {
        writeln!(input, "from {old}").unwrap();
    }
}

fn inline(input: &mut Vec<u8>, mode: &str, path: &str, bytes: &[u8]) {
    writeln!(input, "M {mode} inline {}\ndata {}", quoted(path), bytes.len()).unwrap();
    input.extend_from_slice(bytes);
    input.push(b'\n');
}

fn quoted(path: &str) -> String {
    format!(
        "\"{}\"",
        path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
    )
}
