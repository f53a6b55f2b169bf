//! The repositories of the sources: ordinary ones, and one for each oddity.

use std::path::Path;
use std::process::Command;

use super::ssh::Ssh;
use bumpwright_testkit::git_http::{Fault, GitHttp, Login, Options};
use bumpwright_testkit::gpg::Gpg;
use bumpwright_testkit::repo::{Change, Repo, git, run, run_text};

/// Servers with repositories, and the keys that some were signed with.
pub struct World {
    /// For anybody.
    pub open: GitHttp,
    /// For `user` with `secret`.
    pub basic: GitHttp,
    /// For the token `t0ken`.
    pub bearer: GitHttp,
    pub plain: Repo,
    pub moving: Repo,
    pub gpg_public: String,
    pub other_gpg_public: String,
    pub ssh_public: String,
    pub first_commit: String,
    /// For who has a key.
    pub ssh: Ssh,
    /// Where no server is.
    pub nowhere: String,
    _gpg: Gpg,
    folder: tempfile::TempDir,
}

impl World {
    pub fn build() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("git");
        let (plain, first_commit) = plain(&root.join("plain.git"));
        ignores(&root.join("ignores.git"));
        empty(&root.join("empty.git"));
        lib(&root.join("lib.git"));
        odd(&root.join("odd.git"));
        sha256(&root.join("sha256.git"));
        let moving = Repo::init(root.join("moving.git"));
        moving.commit("main", "one", &[file("a.txt", "1")]);
        let open = GitHttp::start(&root);
        modules(&root, &open);
        let gpg = Gpg::new();
        signed(&root.join("signed.git"), &gpg, folder.path());
        open.intercept(|seen| {
            let slow = seen.path.starts_with("/slow.git");
            slow.then(|| Fault::Delay(std::time::Duration::from_secs(8)))
        });
        let with = |login| {
            GitHttp::with(
                &root,
                Options {
                    login,
                    ..Options::default()
                },
            )
        };
        let closed = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        Self {
            basic: with(Login::Basic("user".to_owned(), "secret".to_owned())),
            bearer: with(Login::Bearer("t0ken".to_owned())),
            gpg_public: gpg.run("", &["--armor", "--export", "signer@example.com"]),
            other_gpg_public: gpg.run("", &["--armor", "--export", "other@example.com"]),
            ssh_public: std::fs::read_to_string(folder.path().join("ssh.pub")).unwrap(),
            nowhere: format!("http://{closed}"),
            ssh: Ssh::start(),
            open,
            plain,
            moving,
            first_commit,
            _gpg: gpg,
            folder,
        }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn file<'a>(path: &'a str, text: &'a str) -> Change<'a> {
    Change::File(path, text.as_bytes())
}

/// Branches, tags of all kinds, and files of all kinds. Gives the first commit too.
fn plain(dir: &Path) -> (Repo, String) {
    let repo = Repo::init(dir);
    let first = repo.commit(
        "main",
        "first: a subject that is a good deal longer than fifty characters\n\nAnd a body.",
        &[
            file("deploy/app.yaml", "kind: App\n"),
            file("deploy/base/kustomization.yaml", "resources: []\n"),
            file("README.md", "# read me\n"),
            Change::Executable("run.sh", b"#!/bin/sh\n"),
            Change::Symlink("link", "README.md"),
            Change::Symlink("dir-link", "deploy"),
            Change::Symlink("outside", "../../etc/passwd"),
            file("empty", ""),
            file("img/logo.png", "png"),
            file(".github/workflows/ci.yaml", "on: push\n"),
            file(".gitignore", "*.o\n"),
            file(".gitattributes", "* text\n"),
            file("sub/.gitignore", "*.o\n"),
            file("a/.sops.yaml", "{}\n"),
            file("deployment/x.yaml", "x: 1\n"),
        ],
    );
    repo.git(&["tag", "v0.9.0"]);
    repo.git(&["tag", "-a", "-m", "release", "v1.0.0"]);
    repo.commit("main", "second", &[file("deploy/app.yaml", "kind: App\nv: 2\n")]);
    repo.git(&["tag", "v1.1.0"]);
    repo.git(&["tag", "not-a-version"]);
    repo.git(&["tag", "1.2.3+b", "main"]);
    repo.commit("main", "third", &[file("deploy/app.yaml", "kind: App\nv: 3\n")]);
    repo.git(&["tag", "1.2.3+a", "main"]);
    repo.git(&["tag", "-a", "-m", "candidate", "v2.0.0-rc.1", "main"]);
    repo.commit("dev", "on dev", &[file("dev.txt", "dev\n")]);
    repo.commit("feature/one", "on feature", &[file("feature.txt", "one\n")]);
    repo.commit("master", "on master", &[file("master.txt", "m\n")]);
    repo.git(&["update-ref", "refs/pull/1/head", "dev"]);
    (repo, first)
}

fn ignores(dir: &Path) {
    Repo::init(dir).commit(
        "main",
        "rules",
        &[
            file(".sourceignore", "# all but deploy\n/*\n!/deploy\n*.tmp\n"),
            file("deploy/.sourceignore", "secret/\n!keep.tmp\n"),
            file("deploy/app.yaml", "a\n"),
            file("deploy/secret/key", "k\n"),
            file("deploy/keep.tmp", "k\n"),
            file("deploy/drop.tmp", "d\n"),
            file("deploy/logo.png", "png\n"),
            file("deploy/.github/x", "x\n"),
            file("other/app.yaml", "o\n"),
            file("root.yaml", "r\n"),
        ],
    );
}

fn empty(dir: &Path) {
    Repo::init(dir);
}

fn lib(dir: &Path) {
    let repo = Repo::init(dir);
    repo.commit(
        "main",
        "lib",
        &[
            file("chart/values.yaml", "v: 1\n"),
            file("chart/templates/t.yaml", "t: 1\n"),
            Change::Executable("tool.sh", b"#!/bin/sh\n"),
            file(".sourceignore", "*.md\n"),
            file("notes.md", "n\n"),
        ],
    );
}

/// Names and sizes that archives have trouble with.
fn odd(dir: &Path) {
    let long = format!("{}/{}.yaml", "d".repeat(90), "f".repeat(140));
    let longer = format!("{}{}", "deep/".repeat(60), "x.yaml");
    let big: Vec<u8> = (0..3_000_000_u32).flat_map(|n| (n % 251).to_be_bytes()).collect();
    Repo::init(dir).commit(
        "main",
        "odd names\n",
        &[
            file("with space.txt", "s"),
            file("ümläut/日本.yaml", "u"),
            file("-dash", "d"),
            file("a b/c'd\".txt", "q"),
            file(&long, "l"),
            file(&longer, "l"),
            Change::File("big.bin", &big),
            file("a", "a"),
            file("a.b", "ab"),
            file("a-b/c", "c"),
            file("B", "b"),
        ],
    );
}

fn sha256(dir: &Path) {
    let repo = Repo::init_with(dir, &["--object-format=sha256"]);
    repo.commit("main", "with SHA-256", &[file("a.txt", "256\n")]);
}

fn modules(root: &Path, server: &GitHttp) {
    let inner = Repo::init(root.join("inner.git"));
    let innermost = Repo::init(root.join("innermost.git"));
    let deepest = innermost.commit("main", "innermost", &[file("deep.txt", "deep\n")]);
    let names = "[submodule \"deep\"]\n\tpath = deep\n\turl = ../innermost.git\n";
    let pinned = inner.commit(
        "main",
        "inner",
        &[
            file("inner.txt", "inner\n"),
            file(".gitmodules", names),
            Change::Submodule("deep", &deepest),
            Change::Executable("x.sh", b"x"),
        ],
    );
    inner.commit("main", "later", &[file("later.txt", "later\n")]);
    let names = format!(
        "[submodule \"inner\"]\n\tpath = third/inner\n\turl = {}\n[submodule \"again\"]\n\tpath = again\n\turl = ../innermost.git\n",
        server.url("inner.git")
    );
    Repo::init(root.join("modules.git")).commit(
        "main",
        "modules",
        &[
            file("root.txt", "root\n"),
            file(".gitmodules", &names),
            Change::Submodule("third/inner", &pinned),
            Change::Submodule("again", &deepest),
        ],
    );
    let lost = "[submodule \"lost\"]\n\tpath = lost\n\turl = ../lost.git\n";
    Repo::init(root.join("lost-module.git")).commit(
        "main",
        "a module that is nowhere",
        &[file(".gitmodules", lost), Change::Submodule("lost", &deepest)],
    );
}

/// Branches whose tips are signed by OpenPGP and by SSH, and tags of both kinds.
fn signed(dir: &Path, gpg: &Gpg, folder: &Path) {
    gpg.make("signer", "", "ed25519", "sign", "never", &[]);
    gpg.make("other", "", "ed25519", "sign", "never", &[]);
    let key = folder.join("ssh");
    run(Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "signer", "-f"])
        .arg(&key));
    let repo = Repo::init(dir);
    repo.commit("main", "unsigned", &[file("a.txt", "a\n")]);
    repo.git(&["tag", "-a", "-m", "unsigned", "v-unsigned"]);
    let ssh = format!("user.signingkey={}", key.display());
    for (branch, settings) in [
        ("pgp", vec!["-c", "user.signingkey=signer@example.com"]),
        ("ssh", vec!["-c", "gpg.format=ssh", "-c", &ssh]),
    ] {
        let command = |arguments: &[&str]| {
            let mut command = git(dir);
            command.env("GNUPGHOME", gpg.home()).args(&settings).args(arguments);
            run_text(&mut command)
        };
        let commit = command(&["commit-tree", "-S", "-p", "main", "-m", "signed", "main^{tree}"]);
        repo.git(&["branch", branch, &commit]);
        command(&["tag", "-s", "-m", "signed", &format!("v-{branch}"), branch]);
        repo.git(&["tag", &format!("light-{branch}"), branch]);
    }
}
