//! Trusted host keys (`man sshd`, *SSH_KNOWN_HOSTS FILE FORMAT*), checked strictly.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use russh::keys::{Algorithm, HashAlg, PublicKey, parse_public_key_base64};
use sha1::Sha1;

use super::ssh_pattern::list_matches;

/// The entries of known_hosts files for one host.
#[derive(Debug, Default)]
pub(crate) struct HostKeys {
    name: String,
    port: u16,
    trusted: Vec<PublicKey>,
    revoked: Vec<PublicKey>,
    /// There is a certificate authority for the host; host certificates are not supported.
    authority: bool,
}

impl HostKeys {
    /// Collects the lines for a host. As in ssh, a line for the bare name also counts on a port other than 22.
    pub(crate) fn find(text: &[u8], host: &str, port: u16) -> Self {
        let host = host.to_ascii_lowercase();
        let with_port = format!("[{host}]:{port}");
        let names = if port == 22 {
            vec![host.as_str()]
        } else {
            vec![with_port.as_str(), host.as_str()]
        };
        let mut hosts = Self {
            name: host.clone(),
            port,
            ..Self::default()
        };
        for line in String::from_utf8_lossy(text).lines() {
            hosts.take_line(line.trim(), &names);
        }
        hosts
    }

    fn take_line(&mut self, line: &str, names: &[&str]) {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().filter(|word| !word.starts_with('#'));
        let (marker, hosts) = match first {
            Some(marker) if marker.starts_with('@') => (Some(marker), words.next()),
            hosts => (None, hosts),
        };
        let (Some(hosts), Some(_kind), Some(key)) = (hosts, words.next(), words.next()) else {
            return;
        };
        if !names.iter().any(|name| is_for(hosts, name)) {
            return;
        }
        // Key types that cannot be parsed cannot be offered either.
        let Ok(key) = parse_public_key_base64(key) else { return };
        match marker {
            None => self.trusted.push(key),
            Some("@revoked") => self.revoked.push(key),
            Some("@cert-authority") => self.authority = true,
            Some(_) => {}
        }
    }

    /// The algorithms to request: first those of known keys, as in ssh, so that a server with several keys
    /// sends one that can be checked; then the others, so that the error can name its key. Never RSA with SHA-1.
    pub(crate) fn algorithms(&self, all: &[Algorithm]) -> Vec<Algorithm> {
        let plain = |algorithm: &Algorithm| match algorithm {
            Algorithm::Rsa { .. } => Algorithm::Rsa { hash: None },
            other => other.clone(),
        };
        let is_trusted = |algorithm: &Algorithm| {
            self.trusted
                .iter()
                .any(|key| plain(&key.algorithm()) == plain(algorithm))
        };
        let usable = all
            .iter()
            .filter(|algorithm| !matches!(algorithm, Algorithm::Rsa { hash: None }));
        let (mut first, rest): (Vec<_>, Vec<_>) = usable.cloned().partition(is_trusted);
        first.extend(rest);
        first
    }

    /// Checks whether the server's key is trusted.
    ///
    /// # Errors
    /// The mismatch, with the key's fingerprint, and how to fix it.
    pub(crate) fn check(&self, key: &PublicKey) -> Result<(), HostKeyError> {
        let same = |known: &PublicKey| known.key_data() == key.key_data();
        let (host, offered) = (self.name.clone(), print(key));
        if self.revoked.iter().any(same) {
            return Err(HostKeyError::Revoked { host, offered });
        }
        if self.trusted.iter().any(same) {
            return Ok(());
        }
        let port = self.port;
        if self.trusted.is_empty() {
            let authority = if self.authority {
                " (an @cert-authority line is there, but is not supported)"
            } else {
                ""
            };
            return Err(HostKeyError::Unknown {
                host,
                port,
                authority,
                offered,
            });
        }
        let fingerprints: Vec<_> = self.trusted.iter().map(print).collect();
        Err(HostKeyError::Other {
            host,
            port,
            offered,
            known: fingerprints.join(", "),
        })
    }
}

/// Why the key of a server is not trusted. Keys are given by their kind and fingerprint.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostKeyError {
    /// By a `@revoked` line.
    #[error("the host key of {host} is revoked in known_hosts: the server offers {offered}")]
    Revoked { host: String, offered: String },
    /// The host has no line.
    #[error(
        "the host key of {host} is not in known_hosts{authority}: the server offers {offered}; {scan}",
        scan = scan(.host, *.port)
    )]
    Unknown {
        host: String,
        port: u16,
        authority: &'static str,
        offered: String,
    },
    /// The host has lines with other keys.
    #[error(
        "the host key of {host} is not the one in known_hosts: the server offers {offered}, known is {known}; either the \
         connection is intercepted, or the server has a new key: {scan}",
        scan = scan(.host, *.port)
    )]
    Other {
        host: String,
        port: u16,
        offered: String,
        known: String,
    },
}

fn print(key: &PublicKey) -> String {
    format!("{} {}", key.algorithm(), key.fingerprint(HashAlg::Sha256))
}

/// How the lines of a host are had.
fn scan(host: &str, port: u16) -> String {
    let port = if port == 22 {
        String::new()
    } else {
        format!("-p {port} ")
    };
    format!("`ssh-keyscan {port}{host}` prints the lines; compare the fingerprint before you trust them")
}

/// Whether the first field of a line is for this name.
fn is_for(hosts: &str, name: &str) -> bool {
    match hosts.strip_prefix("|1|") {
        Some(hashed) => hash_matches(hashed, name).unwrap_or(false),
        None => list_matches(hosts.split(','), name),
    }
}

/// `salt|hash`, both base64; the hash is HMAC-SHA1 of the name.
fn hash_matches(hashed: &str, name: &str) -> Option<bool> {
    let (salt, hash) = hashed.split_once('|')?;
    let (salt, hash) = (STANDARD.decode(salt).ok()?, STANDARD.decode(hash).ok()?);
    let hmac = Hmac::<Sha1>::new_from_slice(&salt).ok()?;
    Some(hmac.chain_update(name).verify_slice(&hash).is_ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ED: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
    const OTHER: &str = "AAAAC3NzaC1lZDI1NTE5AAAAILIG2T/B0l0gaqj3puu510tu9N1OkQ4znY3LYuEm5zCF";

    fn check(text: &str, host: &str, port: u16) -> Result<(), String> {
        let keys = HostKeys::find(text.as_bytes(), host, port);
        let checked = keys.check(&parse_public_key_base64(ED).unwrap());
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn plain_names_patterns_and_ports() {
        assert!(
            check(
                &format!("# c\ngithub.com,1.2.3.4 ssh-ed25519 {ED} note\n"),
                "GitHub.com",
                22
            )
            .is_ok()
        );
        assert!(
            check(
                &format!("[git.example.com]:2222 ssh-ed25519 {ED}"),
                "git.example.com",
                2222
            )
            .is_ok()
        );
        assert!(
            check(
                &format!("[git.example.com]:2222 ssh-ed25519 {ED}"),
                "git.example.com",
                22
            )
            .is_err()
        );
        assert!(
            check(
                &format!("*.example.com,!bad.example.com ssh-ed25519 {ED}"),
                "git.example.com",
                22
            )
            .is_ok()
        );
        assert!(
            check(
                &format!("*.example.com,!bad.example.com ssh-ed25519 {ED}"),
                "bad.example.com",
                22
            )
            .is_err()
        );
        assert!(check(&format!("git.example.com ssh-ed25519 {ED}"), "git.example.com", 2222).is_ok());
    }

    #[test]
    fn hashed_names() {
        let line = |name: &str| {
            let salt = b"01234567890123456789";
            let hash = Hmac::<Sha1>::new_from_slice(salt)
                .unwrap()
                .chain_update(name)
                .finalize()
                .into_bytes();
            format!(
                "|1|{}|{} ssh-ed25519 {ED}",
                STANDARD.encode(salt),
                STANDARD.encode(hash)
            )
        };
        assert!(check(&line("example.com"), "example.com", 22).is_ok());
        assert!(check(&line("[example.com]:2222"), "example.com", 2222).is_ok());
        assert!(check(&line("example.com"), "example.org", 22).is_err());
        assert!(check("|1|%%|x ssh-ed25519 AAAA", "example.org", 22).is_err());
    }

    #[test]
    fn markers_and_words_of_errors() {
        let revoked = format!("h ssh-ed25519 {ED}\n@revoked * ssh-ed25519 {ED}\n");
        assert!(check(&revoked, "h", 22).unwrap_err().contains("revoked"));
        let error = check(&format!("@cert-authority * ssh-ed25519 {ED}"), "h", 22).unwrap_err();
        assert!(
            error.contains("not in known_hosts") && error.contains("@cert-authority"),
            "{error}"
        );
        let error = check("", "h", 2200).unwrap_err();
        assert!(
            error.contains("ssh-ed25519 SHA256:") && error.contains("`ssh-keyscan -p 2200 h`"),
            "{error}"
        );
        let error = check(&format!("h ssh-ed25519 {OTHER}"), "h", 22).unwrap_err();
        assert!(error.contains("not the one in known_hosts"), "{error}");
    }

    #[test]
    fn known_kinds_come_first() {
        let all = [
            Algorithm::Ed25519,
            Algorithm::Rsa {
                hash: Some(HashAlg::Sha512),
            },
            Algorithm::Rsa { hash: None },
        ];
        let none = HostKeys::default().algorithms(&all);
        assert_eq!(
            none,
            [
                Algorithm::Ed25519,
                Algorithm::Rsa {
                    hash: Some(HashAlg::Sha512)
                }
            ]
        );
        let rsa = "AAAAB3NzaC1yc2EAAAADAQABAAAAgQC/";
        assert!(parse_public_key_base64(rsa).is_err(), "cut keys are skipped");
    }
}
