//! Runs of the binary in a hermetic environment, with a cache and a home of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::fixture::repo;

/// A throw-away home with a cache; commands run in `dir`.
pub struct Bench {
    pub home: tempfile::TempDir,
    pub dir: PathBuf,
}

/// The result of a run of the binary.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Bench {
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("work");
        std::fs::create_dir(&dir).unwrap();
        Self { home, dir }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The command, with nothing of the machine's user in its environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::program());
        repo::hermetic(&mut command);
        for name in [
            "BUMPWRIGHT_GIT_TOKEN",
            "BUMPWRIGHT_GIT_USERNAME",
            "BUMPWRIGHT_GIT_PASSWORD",
            "BUMPWRIGHT_PULL_REQUEST_TOKEN",
            "GIT_AUTHOR_NAME",
            "GIT_AUTHOR_EMAIL",
            "GITHUB_ACTIONS",
            "GITEA_ACTIONS",
            "FORGEJO_ACTIONS",
            "GITLAB_CI",
        ] {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .current_dir(&self.dir)
            .env("HOME", self.home.path())
            .env("BUMPWRIGHT_CACHE", self.home.path().join("cache"))
            // The servers of tests are folders, mostly.
            .env("BUMPWRIGHT_GIT_SERVER", "file://")
            .env("NO_COLOR", "1");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments).output().unwrap())
    }

    /// Runs a command that must succeed.
    pub fn ok(&self, arguments: &[&str]) -> Ran {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}\n{}\n{}", ran.out, ran.err);
        ran
    }

    /// Runs with `--output json` and returns exit code and document.
    pub fn json(&self, arguments: &[&str]) -> (i32, serde_json::Value) {
        let ran = self.run(&[arguments, &["--output", "json"]].concat());
        let document = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}\n{}\n{}", ran.out, ran.err));
        (ran.code, document)
    }

    /// As [`Bench::run`], with the peak memory of the process, in KiB.
    pub fn weighed(&self, arguments: &[&str]) -> (Ran, u64) {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            peak = peak.max(now.unwrap_or(0));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        (ran(child.wait_with_output().unwrap()), peak)
    }

    /// The folder of the only mirror so far.
    pub fn mirror(&self) -> repo::Repo {
        let mut todo = vec![self.home.path().join("cache")];
        while let Some(dir) = todo.pop() {
            if dir.join("packed-refs").exists() {
                return repo::Repo { dir };
            }
            let entries = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
            todo.extend(entries.filter(|path| path.is_dir()));
        }
        panic!("there is no mirror in the cache");
    }

    pub fn repository(&self, name: &str) -> repo::Repo {
        repo::Repo::init(self.path(name))
    }
}

pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// An ImagePolicy whose status names an image.
pub fn policy(namespace: &str, name: &str, image: &str, tag: &str) -> String {
    format!(
        "---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
         spec: {{imageRepositoryRef: {{name: {name}}}, policy: {{semver: {{range: '*'}}}}}}\n\
         status: {{latestRef: {{name: {image}, tag: {tag:?}}}}}\n"
    )
}

/// A GitRepository.
pub fn git_repository(namespace: &str, name: &str, url: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
         spec:\n  interval: 1h\n  url: {url}\n{spec}"
    )
}

/// An ImageUpdateAutomation; `git` and `rest` are indented YAML below `spec.git` and `spec`.
pub fn automation(namespace: &str, name: &str, repository: &str, git: &str, rest: &str) -> String {
    format!(
        "---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageUpdateAutomation\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
         spec:\n  interval: 1h\n  sourceRef: {{kind: GitRepository, name: {repository}}}\n  git:\n    commit:\n      \
         author: {{name: fluxbot, email: flux@example.com}}\n{git}{rest}"
    )
}

/// All files below a folder with their bytes, without Git's own.
pub fn files(root: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut out = std::collections::BTreeMap::new();
    let mut todo = vec![root.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap() == ".git" {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                todo.push(path);
            } else if path.is_file() {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                out.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    out
}
