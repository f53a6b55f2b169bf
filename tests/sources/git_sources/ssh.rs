//! GitRepositories over SSH, at a real server: keys with and without a passphrase, known and unknown hosts.

use serde_json::{Value as Json, json};

use crate::rounds::Case;
use bumpwright_testkit::sshd::{Sshd, keygen};

/// The server, with the keys that may log in.
pub struct Ssh {
    server: Sshd,
    plain: String,
    locked: String,
    /// A key that is not authorized.
    stranger: String,
}

const PASSPHRASE: &str = "open sesame";

impl Ssh {
    pub fn start() -> Self {
        let server = Sshd::start().expect("an SSH server");
        let read = |path| std::fs::read_to_string(path).unwrap();
        Self {
            plain: read(server.key("plain", &["-t", "ed25519"])),
            locked: read(server.key("locked", &["-t", "ed25519", "-N", PASSPHRASE])),
            stranger: read(keygen(&server.dir.path().join("stranger"), &["-t", "ed25519"])),
            server,
        }
    }

    /// The Secrets that the sources name: name and `stringData`.
    pub fn secrets(&self) -> Vec<(&'static str, Json)> {
        let known = self.server.host_line("ed25519");
        let other = known.replace(&self.server.port.to_string(), "1");
        let with = |identity: &str, more: Json| {
            let mut data = json!({"identity": identity, "known_hosts": known});
            data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            data
        };
        vec![
            ("key", with(&self.plain, json!({}))),
            ("locked-key", with(&self.locked, json!({"password": PASSPHRASE}))),
            ("locked-key-alone", with(&self.locked, json!({}))),
            ("locked-key-wrong", with(&self.locked, json!({"password": "sesame"}))),
            ("needless-password", with(&self.plain, json!({"password": PASSPHRASE}))),
            ("strange-key", with(&self.stranger, json!({}))),
            ("no-hosts", json!({"identity": self.plain})),
            ("other-hosts", with(&self.plain, json!({"known_hosts": other}))),
        ]
    }

    /// `path` is a repository.
    pub fn cases(&self, path: &std::path::Path) -> Vec<Case> {
        let url = self.server.url(path);
        let of = |name: &'static str, secret: &str| Case {
            name,
            spec: json!({"url": url, "ref": {"branch": "main"}, "secretRef": {"name": secret}}),
            change: None,
        };
        vec![
            of("ssh", "key"),
            of("ssh-passphrase", "locked-key"),
            of("ssh-passphrase-missing", "locked-key-alone"),
            of("ssh-passphrase-wrong", "locked-key-wrong"),
            of("ssh-passphrase-needless", "needless-password"),
            of("ssh-stranger", "strange-key"),
            of("ssh-hosts-missing", "no-hosts"),
            of("ssh-hosts-others", "other-hosts"),
        ]
    }
}
