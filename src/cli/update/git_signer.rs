//! Signing with the programs and settings that git itself would use
//! (git-config, `commit.gpgSign`, `gpg.*`, `user.signingKey`).

use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::author::setting;
use crate::cli::error::CliError;
use bumpwright_signing::{Signer, SigningError};
use bumpwright_update::Author;

/// Signs by running gpg or ssh-keygen, which have the key or ask for its passphrase.
#[derive(Debug)]
pub(super) struct GitSigner {
    format: Format,
    program: String,
    key: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// gpg, or gpgsm, which has the same interface.
    Gpg,
    Ssh,
}

impl GitSigner {
    /// The signer of git's settings here; none when commits are not signed.
    ///
    /// # Errors
    /// Settings that are not supported.
    pub(super) fn of_settings(author: &Author) -> Result<Option<Self>, CliError> {
        let read = |key: &[&str]| setting(None, key);
        if read(&["--type=bool", "commit.gpgsign"]).as_deref() != Some("true") {
            return Ok(None);
        }
        let program = |names: &[&str], default: &str| {
            let configured = names.iter().find_map(|name| read(&["--type=path", name]));
            configured.unwrap_or_else(|| default.to_owned())
        };
        let format = read(&["gpg.format"]).unwrap_or_else(|| "openpgp".to_owned());
        let (format, program) = match format.as_str() {
            "openpgp" => (Format::Gpg, program(&["gpg.openpgp.program", "gpg.program"], "gpg")),
            "x509" => (Format::Gpg, program(&["gpg.x509.program"], "gpgsm")),
            "ssh" => (Format::Ssh, program(&["gpg.ssh.program"], "ssh-keygen")),
            other => {
                return Err(CliError::new(format!(
                    "git's gpg.format is {other:?}: expected openpgp, x509 or ssh"
                )));
            }
        };
        let key = match (read(&["user.signingkey"]), format) {
            (Some(key), Format::Ssh) if !is_literal(&key) => read(&["--type=path", "user.signingkey"]).unwrap_or(key),
            (Some(key), _) => key,
            // As git does: gpg finds the key by the committer's name.
            (None, Format::Gpg) => author.to_string(),
            (None, Format::Ssh) => {
                return Err(CliError::new(
                    "git's commit.gpgsign asks for signed commits with SSH: set user.signingkey, or give --sign-key or --no-sign",
                ));
            }
        };
        Ok(Some(Self { format, program, key }))
    }

    fn failed(&self, why: impl std::fmt::Display) -> SigningError {
        SigningError::Failed {
            name: self.name(),
            why: why.to_string(),
        }
    }

    /// gpg reads the bytes, writes the signature, and confirms it in a status line.
    fn gpg(&self, payload: &[u8]) -> Result<String, SigningError> {
        let mut command = Command::new(&self.program);
        command
            .args(["--status-fd=2", "-bsau", &self.key])
            .stdin(Stdio::piped());
        let out = self.run(command, payload)?;
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let is_signed = said.lines().any(|line| line.starts_with("[GNUPG:] SIG_CREATED "));
        if !out.status.success() || !is_signed {
            let words: Vec<&str> = said.lines().filter(|line| !line.starts_with("[GNUPG:]")).collect();
            return Err(self.failed(ended(&out, words.join("; ").trim())));
        }
        self.text(out.stdout)
    }

    /// ssh-keygen signs a file, and writes the signature beside it.
    fn ssh_keygen(&self, payload: &[u8]) -> Result<String, SigningError> {
        let folder = tempfile::tempdir().map_err(|e| self.failed(e))?;
        let (buffer, public) = (folder.path().join("commit"), folder.path().join("key.pub"));
        std::fs::write(&buffer, payload).map_err(|e| self.failed(e))?;
        let mut command = Command::new(&self.program);
        command.args(["-Y", "sign", "-n", "git", "-f"]);
        if is_literal(&self.key) {
            // The private key is in the agent.
            let line = self.key.strip_prefix("key::").unwrap_or(&self.key);
            std::fs::write(&public, format!("{line}\n")).map_err(|e| self.failed(e))?;
            command.arg(&public).arg("-U");
        } else {
            command.arg(&self.key);
        }
        command.arg(&buffer).stdin(Stdio::null());
        let out = self.run(command, b"")?;
        let signature = std::fs::read(folder.path().join("commit.sig"));
        match signature {
            Ok(signature) if out.status.success() => self.text(signature),
            _ => Err(self.failed(ended(&out, String::from_utf8_lossy(&out.stderr).trim()))),
        }
    }

    fn run(&self, mut command: Command, input: &[u8]) -> Result<Output, SigningError> {
        let cannot = |e: std::io::Error| self.failed(format!("cannot run {}: {e}", self.program));
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(cannot)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input ends first; its exit status says more than the broken pipe.
            let _ = stdin.write_all(input);
        }
        child.wait_with_output().map_err(cannot)
    }

    fn text(&self, signature: Vec<u8>) -> Result<String, SigningError> {
        String::from_utf8(signature).map_err(|_| self.failed("what it wrote is not text"))
    }
}

impl Signer for GitSigner {
    /// The programs use their own clock.
    fn sign(&self, payload: &[u8], _seconds: i64) -> Result<String, SigningError> {
        match self.format {
            Format::Gpg => self.gpg(payload),
            Format::Ssh => self.ssh_keygen(payload),
        }
    }

    fn name(&self) -> String {
        format!("{} with the key {}", self.program, self.key)
    }
}

/// Returns whether a setting is a public key itself and not the name of its file (git-config, `user.signingKey`).
fn is_literal(key: &str) -> bool {
    key.starts_with("key::") || key.starts_with("ssh-")
}

fn ended(out: &Output, said: &str) -> String {
    match said {
        "" => format!("it ended without a word ({})", out.status),
        said => said.to_owned(),
    }
}
