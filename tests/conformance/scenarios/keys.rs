//! The values of the placeholders of scenarios: certificates, an SSH server, keys. Made once for all scenarios.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use bumpwright_testkit::repo::run;
use bumpwright_testkit::sshd::{Sshd, keygen};
use bumpwright_testkit::tls::Certificates;

pub struct Keys {
    dir: tempfile::TempDir,
    pub tls: Option<Certificates>,
    other_ca: Option<Vec<u8>>,
    pub sshd: Option<Sshd>,
    gpg: OnceLock<Option<(String, String)>>,
}

impl Keys {
    pub fn make() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["ssh_key", "ssh_other", "sshsign"] {
            keygen(&path(name), &["-t", "ed25519"]);
        }
        std::fs::copy(path("ssh_key"), path("ssh_key_pass")).unwrap();
        run(Command::new("ssh-keygen")
            .args(["-q", "-p", "-P", "", "-N", "sshpass", "-f"])
            .arg(path("ssh_key_pass")));
        let sshd = Sshd::start();
        if let Some(sshd) = &sshd {
            sshd.authorize(&path("ssh_key"));
        }
        Self {
            tls: Certificates::make(),
            other_ca: Certificates::make().map(|other| other.ca),
            sshd,
            gpg: OnceLock::new(),
            dir,
        }
    }

    /// The text that a placeholder stands for, if it is one of these.
    pub fn text(&self, name: &str) -> Option<String> {
        let pem = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
        let tls = self.tls.as_ref();
        match name {
            "GIT_CA" => tls.map(|tls| pem(&tls.ca)),
            "GIT_CRT" => tls.map(|tls| pem(&tls.client.0)),
            "GIT_KEY" => tls.map(|tls| pem(&tls.client.1)),
            "OTHER_CA" => self.other_ca.as_ref().map(pem),
            "SSH_HOSTKEY" => self.sshd.as_ref().map(|sshd| sshd.host_line("ed25519")),
            "SSH_KEY" => Some(self.read("ssh_key")),
            "SSH_PUB" => Some(self.read("ssh_key.pub")),
            "SSH_OTHERKEY" => Some(self.read("ssh_other")),
            "SSH_KEY_PASS" => Some(self.read("ssh_key_pass")),
            "SSHSIGN_KEY" => Some(self.read("sshsign")),
            "GPG_KEY" => self.gpg().map(|(open, _)| open.clone()),
            "GPG_KEY_PASS" => self.gpg().map(|(_, locked)| locked.clone()),
            _ => None,
        }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap()
    }

    /// Two armoured private keys, the second under a passphrase.
    fn gpg(&self) -> Option<&(String, String)> {
        let make = || {
            let home = self.dir.path().join("gpg");
            std::fs::create_dir(&home).unwrap();
            Some((gpg(&home, "gpg", "")?, gpg(&home, "gpg_pass", "abcde12345")?))
        };
        self.gpg.get_or_init(make).as_ref()
    }

    /// `GOODSIG gpg`, `GOODSIG ssh`, `bad …` or `none` for the commit at `reference`.
    pub fn verify(&self, repository: &Path, reference: &str) -> String {
        let commit = run(bumpwright_testkit::repo::git(repository).args(["cat-file", "commit", reference]));
        let commit = String::from_utf8_lossy(&commit).into_owned();
        let head = commit.split("\n\n").next().unwrap_or_default();
        if !head.contains("\ngpgsig ") {
            return "none".to_owned();
        }
        let kind = if head.contains("SSH SIGNATURE") { "ssh" } else { "gpg" };
        let signers = self.dir.path().join("allowed_signers");
        std::fs::write(&signers, format!("* {}", self.read("sshsign.pub"))).unwrap();
        let mut command = bumpwright_testkit::repo::git(repository);
        command
            .arg("-c")
            .arg(format!("gpg.ssh.allowedSignersFile={}", signers.display()))
            .args(["verify-commit", reference])
            .env("GNUPGHOME", self.dir.path().join("gpg"));
        let good = command.output().unwrap().status.success();
        format!("{} {kind}", if good { "GOODSIG" } else { "bad" })
    }
}

/// Makes a key with GnuPG and exports it; none without GnuPG.
fn gpg(home: &Path, name: &str, passphrase: &str) -> Option<String> {
    let call = |arguments: &[&str]| {
        let mut command = Command::new("gpg");
        command.arg("--homedir").arg(home);
        command.args([
            "--batch",
            "--yes",
            "--pinentry-mode",
            "loopback",
            "--passphrase",
            passphrase,
        ]);
        let output = command.args(arguments).stdin(Stdio::null()).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8(output.stdout).unwrap())
    };
    let mail = format!("{name}@example.com");
    call(&["--quick-gen-key", &format!("{name} <{mail}>"), "ed25519", "sign", "0"])?;
    call(&["--armor", "--export-secret-keys", &mail])
}

impl Drop for Keys {
    fn drop(&mut self) {
        let home = self.dir.path().join("gpg");
        if home.exists() {
            // The agent that GnuPG started for this folder alone.
            let _ = Command::new("gpgconf")
                .arg("--homedir")
                .arg(home)
                .args(["--kill", "gpg-agent"])
                .status();
        }
    }
}
