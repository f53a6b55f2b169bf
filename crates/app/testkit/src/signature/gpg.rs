//! A separate GnuPG home, with keys made by the real gpg.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A keyring in a temporary folder, with its agent.
pub struct Gpg {
    home: tempfile::TempDir,
}

impl Gpg {
    pub fn new() -> Self {
        // Paths of sockets have to be short: not below the folder of a test.
        let home = tempfile::Builder::new().prefix("gpg").tempdir_in("/tmp").unwrap();
        Self { home }
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    fn command(&self, passphrase: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new("gpg");
        command.arg("--homedir").arg(self.home.path());
        command.args([
            "--batch",
            "--yes",
            "--pinentry-mode",
            "loopback",
            "--passphrase",
            passphrase,
        ]);
        command.args(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs gpg, which must succeed, and returns its output.
    pub fn run(&self, passphrase: &str, arguments: &[&str]) -> String {
        let out = self.command(passphrase, arguments);
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "gpg {arguments:?}: {said}");
        String::from_utf8(out.stdout).unwrap()
    }

    /// Makes a key for `NAME@example.com`, dated back if `made` says so, and returns its fingerprint.
    pub fn make(
        &self,
        name: &str,
        passphrase: &str,
        algorithm: &str,
        usage: &str,
        expires: &str,
        more: &[&str],
    ) -> String {
        let user = format!("{name} <{name}@example.com>");
        self.run(
            passphrase,
            &[more, &["--quick-gen-key", &user, algorithm, usage, expires]].concat(),
        );
        let shown = self.run("", &["--with-colons", "--list-keys", &format!("{name}@example.com")]);
        let line = shown.lines().find(|line| line.starts_with("fpr:")).unwrap();
        line.split(':').nth(9).unwrap().to_owned()
    }

    /// The armoured private keys.
    pub fn export(&self, passphrase: &str, keys: &[&str]) -> String {
        self.run(passphrase, &[&["--armor", "--export-secret-keys"], keys].concat())
    }

    /// The key ids of the parts that may sign, in order.
    pub fn signing_parts(&self, name: &str) -> Vec<String> {
        let shown = self.run("", &["--with-colons", "--list-keys", &format!("{name}@example.com")]);
        let fields = shown.lines().map(|line| line.split(':').collect::<Vec<_>>());
        fields
            .filter(|fields| matches!(fields[0], "pub" | "sub") && fields[11].contains('s'))
            .map(|fields| fields[4].to_owned())
            .collect()
    }

    /// The revocation certificate that gpg made with the key, applied.
    pub fn revoke(&self, fingerprint: &str) {
        let file = self.home.path().join(format!("openpgp-revocs.d/{fingerprint}.rev"));
        let text = std::fs::read_to_string(file)
            .unwrap()
            .replace(":-----BEGIN", "-----BEGIN");
        let ready = self.home.path().join("ready.rev");
        std::fs::write(&ready, text).unwrap();
        self.run("", &["--import", ready.to_str().unwrap()]);
    }

    /// Verifies the signature of a commit by git, with only the public keys of this keyring.
    pub fn verify(&self, repository: &Path, revision: &str) -> (bool, String) {
        // A keyring that never saw a private key.
        let public = tempfile::Builder::new().prefix("gpg").tempdir_in("/tmp").unwrap();
        let exported = public.path().join("public.asc");
        std::fs::write(&exported, self.run("", &["--armor", "--export"])).unwrap();
        let mut import = Command::new("gpg");
        import
            .arg("--homedir")
            .arg(public.path())
            .args(["--batch", "--import"])
            .arg(&exported);
        assert!(import.output().unwrap().status.success());
        let mut command = crate::fixture::repo::git(repository);
        command
            .args(["verify-commit", "--raw", revision])
            .env("GNUPGHOME", public.path());
        let out = command.output().unwrap();
        stop_agent(public.path());
        (out.status.success(), String::from_utf8_lossy(&out.stderr).into_owned())
    }
}

impl Drop for Gpg {
    fn drop(&mut self) {
        stop_agent(self.home.path());
    }
}

fn stop_agent(home: &Path) {
    let _ = Command::new("gpgconf")
        .arg("--homedir")
        .arg(home)
        .args(["--kill", "gpg-agent"])
        .status();
}

/// A file beside others of a test.
pub fn file(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}
