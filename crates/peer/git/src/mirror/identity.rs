//! Names of mirrors: a mirror belongs to those who reach its remote in the same way, and to no other.
//!
//! Any tenant can name any address. A tenant who sets a proxy, a certificate authority or host keys controls
//! the server's answers, and a server can claim that a branch is at a commit without having the commit. So
//! objects, facts about a server and the order of pushes are shared only between users of the same address,
//! trust, proxy and credentials.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::transport::remote::{Auth, KnownHosts, Remote, Ssh};
use bumpwright_http::{Proxy, Tls};
use bumpwright_secret::Secret;

const FILE: &str = "identities.key";

/// The key of the hash that names mirrors, so that names do not reveal credentials.
#[derive(Clone)]
pub struct IdentityKey {
    key: [u8; 64],
    /// Whether credentials distinguish mirrors. They need not where all belong to one user.
    credentials: bool,
}

impl std::fmt::Debug for IdentityKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IdentityKey")
    }
}

impl IdentityKey {
    /// For a process that serves several tenants: the key of this folder, created if missing. Only its
    /// owner may read it.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub fn of_tenants(folder: &Path) -> io::Result<Self> {
        let file = folder.join(FILE);
        let key = match fs::read(&file) {
            Ok(bytes) => <[u8; 64]>::try_from(bytes).ok(),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let key = match key {
            Some(key) => key,
            None => made(folder, &file)?,
        };
        Ok(Self { key, credentials: true })
    }

    /// For a process with one user, whose tokens may change each time.
    #[must_use]
    pub fn of_one_user() -> Self {
        Self {
            key: [0; 64],
            credentials: false,
        }
    }
}

/// Creates a key, which is valid once the file is complete; the first of several processes wins.
fn made(folder: &Path, file: &Path) -> io::Result<[u8; 64]> {
    let mut key = [0; 64];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.write_all(&key)?;
    match fresh.persist_noclobber(file) {
        Ok(_) => Ok(key),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => match <[u8; 64]>::try_from(fs::read(file)?) {
            Ok(key) => Ok(key),
            // It was truncated, or is a foreign file.
            Err(_) => error.file.persist(file).map(|_| key).map_err(|error| error.error),
        },
        Err(error) => Err(error.error),
    }
}

impl Remote {
    /// The name of its mirror: a plain file name, different for each address, trust, proxy, set of host keys and, among
    /// tenants, credentials. Fetched credentials count by what they are issued for.
    #[must_use]
    pub fn mirror_name(&self, key: &IdentityKey) -> String {
        // A new field has to be considered here.
        let Self {
            url,
            auth,
            tls,
            ssh,
            proxy,
            timeout: _,
            no_login: _,
        } = self;
        let mut name = Name::new(key);
        name.text(&url.to_string()).text(url.user().unwrap_or_default());
        name.auth(auth).tls(tls).ssh(ssh).proxy(proxy.as_ref());
        name.finish()
    }
}

/// A name under construction.
struct Name {
    mac: Hmac<Sha256>,
    credentials: bool,
}

impl Name {
    fn new(key: &IdentityKey) -> Self {
        Self {
            mac: <Hmac<Sha256> as KeyInit>::new(&key.key.into()),
            credentials: key.credentials,
        }
    }

    /// Hashes the length too, so that the boundaries of parts count.
    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.mac
            .update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
        self.mac.update(bytes);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    fn option(&mut self, bytes: Option<&[u8]>) -> &mut Self {
        match bytes {
            Some(bytes) => self.text("some").bytes(bytes),
            None => self.text("none"),
        }
    }

    fn secret(&mut self, secret: &Secret) -> &mut Self {
        if self.credentials {
            self.text(secret.expose());
        }
        self
    }

    fn auth(&mut self, auth: &Auth) -> &mut Self {
        match auth {
            Auth::None => self.text("none"),
            Auth::Basic { username, password } => self.text("basic").text(username).secret(password),
            Auth::Bearer { token } => self.text("bearer").secret(token),
            Auth::SshKey {
                identity,
                passphrase: _,
            } => self.text("key").secret(identity),
            Auth::Fetched(source) => self.text("fetched").text(&source.identity()),
            Auth::User => self.text("user"),
        }
    }

    fn tls(&mut self, tls: &Tls) -> &mut Self {
        let Tls {
            ca,
            beside_system,
            client,
            unverified,
        } = tls;
        self.option(ca.as_deref());
        self.bytes(&[u8::from(*beside_system), u8::from(*unverified)]);
        self.option(client.as_ref().map(|(chain, _)| chain.as_slice()));
        if let Some((_, key)) = client {
            self.secret(key);
        }
        self
    }

    fn ssh(&mut self, ssh: &Ssh) -> &mut Self {
        let Ssh {
            known_hosts,
            kex,
            host_keys,
        } = ssh;
        match known_hosts {
            KnownHosts::Given(text) => self.text("given").bytes(text),
            KnownHosts::User => self.text("user"),
        };
        for algorithms in [kex, host_keys] {
            let algorithms = algorithms.as_ref().map(|names| names.join(","));
            self.option(algorithms.as_ref().map(String::as_bytes));
        }
        self
    }

    fn proxy(&mut self, proxy: Option<&Proxy>) -> &mut Self {
        let Some(Proxy {
            address,
            username,
            password,
        }) = proxy
        else {
            return self.text("direct");
        };
        self.text("proxy")
            .text(address)
            .option(username.as_ref().map(String::as_bytes));
        match password {
            Some(password) => self.secret(password),
            None => self,
        }
    }

    fn finish(self) -> String {
        let digest = self.mac.finalize().into_bytes();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::RemoteUrl;

    fn remote(change: impl FnOnce(&mut Remote)) -> Remote {
        let mut remote = Remote::new(RemoteUrl::parse("https://git.example.com/fleet.git").unwrap());
        remote.auth = basic("hunter2");
        remote.ssh.known_hosts = KnownHosts::Given(Vec::new());
        change(&mut remote);
        remote
    }

    fn basic(password: &str) -> Auth {
        Auth::Basic {
            username: "fleet".to_owned(),
            password: Secret::new(password),
        }
    }

    fn proxy(password: Option<&str>) -> Option<Proxy> {
        Some(Proxy {
            address: "http://proxy.example.com".to_owned(),
            username: None,
            password: password.map(Secret::new),
        })
    }

    /// Remotes with the same address and one other difference each.
    fn others() -> Vec<Remote> {
        vec![
            remote(|_| {}),
            remote(|r| r.url = RemoteUrl::parse("https://git.example.com/other.git").unwrap()),
            remote(|r| r.url = RemoteUrl::parse("https://bob@git.example.com/fleet.git").unwrap()),
            remote(|r| r.auth = Auth::None),
            remote(|r| r.auth = Auth::User),
            remote(|r| {
                r.auth = Auth::Bearer {
                    token: Secret::new("hunter2"),
                };
            }),
            remote(|r| r.tls.ca = Some(b"ca".to_vec())),
            remote(|r| r.tls.unverified = true),
            remote(|r| r.tls.client = Some((b"chain".to_vec(), Secret::new("key")))),
            remote(|r| r.ssh.known_hosts = KnownHosts::Given(b"* ssh-ed25519 AAAA".to_vec())),
            remote(|r| r.ssh.known_hosts = KnownHosts::User),
            remote(|r| r.ssh.kex = Some(vec!["diffie-hellman-group1-sha1".to_owned()])),
            remote(|r| r.proxy = proxy(None)),
        ]
    }

    #[test]
    fn whoever_reaches_a_server_in_another_way_has_another_mirror() {
        let folder = tempfile::tempdir().unwrap();
        let key = IdentityKey::of_tenants(folder.path()).unwrap();
        let mut others = others();
        others.push(remote(|r| r.auth = basic("guess")));
        others.push(remote(|r| r.proxy = proxy(Some("login"))));
        others.push(remote(|r| {
            r.tls.client = Some((b"chain".to_vec(), Secret::new("other")))
        }));
        let names: BTreeSet<String> = others.iter().map(|remote| remote.mirror_name(&key)).collect();
        assert_eq!(names.len(), others.len());
        let patient = remote(|r| r.timeout = std::time::Duration::from_secs(1));
        assert!(names.contains(&patient.mirror_name(&key)));
    }

    #[test]
    fn a_users_own_tokens_may_change() {
        let key = IdentityKey::of_one_user();
        let others = others();
        let names: BTreeSet<String> = others.iter().map(|remote| remote.mirror_name(&key)).collect();
        assert_eq!(names.len(), others.len());
        assert!(names.contains(&remote(|r| r.auth = basic("newer")).mirror_name(&key)));
    }

    #[test]
    fn the_key_of_a_folder_stays_and_is_another_one_elsewhere() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let name = |folder: &Path| remote(|_| {}).mirror_name(&IdentityKey::of_tenants(folder).unwrap());
        assert_eq!(name(folder.path()), name(folder.path()));
        assert_ne!(name(folder.path()), name(other.path()));
        // A truncated key is replaced.
        fs::write(folder.path().join(FILE), b"short").unwrap();
        assert_eq!(name(folder.path()), name(folder.path()));
    }
}
