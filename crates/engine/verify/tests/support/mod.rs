//! Real signers: gpg, ssh-keygen and git, in a folder for each test.
#![allow(dead_code)] // not every test needs all of it

use std::path::Path;
use std::process::{Command, Stdio};

/// A folder with a keyring and keys; gpg's agent is stopped on drop.
pub struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        // Socket paths must be short: not below the folder of a test.
        let folder = tempfile::Builder::new().prefix("vf").tempdir_in("/tmp").unwrap();
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.path().join(file)).unwrap()
    }

    /// Runs a program in the folder, which must succeed, and returns its output.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Vec<u8> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.env("GNUPGHOME", self.path()).env("HOME", self.path());
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        let out = command.output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{program} {arguments:?}: {said}");
        out.stdout
    }

    pub fn line(&self, program: &str, arguments: &[&str]) -> String {
        String::from_utf8(self.run(program, arguments))
            .unwrap()
            .trim()
            .to_owned()
    }

    /// A new key of gpg: its id and its public half.
    pub fn gpg(&self, algorithm: &str) -> (String, String) {
        let options = ["--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""];
        let make = ["--quick-gen-key", "A <a@example.com>", algorithm, "sign,cert", "0"];
        self.run("gpg", &[&options[..], &make].concat());
        let shown = self.line("gpg", &["--with-colons", "--list-keys"]);
        let id = shown.lines().find_map(|line| line.strip_prefix("pub:")).unwrap();
        let id = id.split(':').nth(3).unwrap().to_owned();
        let public = self.line("gpg", &["--armor", "--export", &id]);
        (id, public)
    }

    /// A new key of ssh-keygen: its fingerprint and its public half. The private half is in the file `key`.
    pub fn ssh(&self, arguments: &[&str]) -> (String, String) {
        self.run("ssh-keygen", &[arguments, &["-q", "-N", "", "-f", "key"]].concat());
        let shown = self.line("ssh-keygen", &["-l", "-f", "key.pub"]);
        (shown.split(' ').nth(1).unwrap().to_owned(), self.text("key.pub"))
    }

    /// A repository with a signed commit that a signed tag `v1` and an unsigned one `plain` point to.
    pub fn repository(&self, format: &str, settings: &[(&str, &str)]) {
        self.run("git", &["init", "-q", &format!("--object-format={format}"), "."]);
        for (name, value) in [("user.name", "A"), ("user.email", "a@example.com")]
            .iter()
            .chain(settings)
        {
            self.run("git", &["config", name, value]);
        }
        self.run(
            "git",
            &["commit", "-q", "-S", "--allow-empty", "-m", "first", "-m", "body"],
        );
        self.run("git", &["tag", "-s", "-m", "release", "v1"]);
        self.run("git", &["tag", "-a", "--no-sign", "-m", "release", "plain"]);
    }

    /// The id and the content of an object.
    pub fn object(&self, kind: &str, revision: &str) -> (String, Vec<u8>) {
        (
            self.line("git", &["rev-parse", revision]),
            self.run("git", &["cat-file", kind, revision]),
        )
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.run("gpgconf", &["--kill", "gpg-agent"]);
    }
}
