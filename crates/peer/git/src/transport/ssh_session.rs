//! One authenticated SSH connection: address, host key check, keys and passwords.

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use russh::client::{self, AuthResult, Handle};
use russh::keys::agent::client::AgentClient;
use russh::keys::{
    Algorithm, HashAlg, PrivateKey, PrivateKeyWithHashAlg, PublicKey, PublicKeyOrCertificate, decode_secret_key,
};
use russh::{Preferred, SshId, kex};
use tokio::net::TcpStream;

use super::known_hosts::{HostKeyError, HostKeys};
use super::remote::{Auth, KnownHosts, Remote, Ssh};
use super::ssh_config::{HostConfig, home};
use crate::TransportError;
use bumpwright_http::ProxyParts;
use bumpwright_secret::Secret;
use bumpwright_signing::ssh_private_key;

/// The files that ssh tries by default (`man ssh`, `-i`), without those for hardware keys.
const DEFAULT_KEYS: [&str; 3] = ["id_ed25519", "id_ecdsa", "id_rsa"];

/// The identification string of the protocol.
const CLIENT_ID: &str = concat!("SSH-2.0-bumpwright_", env!("CARGO_PKG_VERSION"));

/// The connection settings of one host, from the remote and the user's files.
pub(crate) struct Route {
    url: String,
    host: String,
    port: u16,
    user: String,
    /// The name in known_hosts.
    name: String,
    trust: Trust,
    preferred: Preferred,
    proxy: Option<ProxyParts>,
    timeout: Duration,
    /// The caller chose the host key algorithms.
    fixed_host_keys: bool,
    login: Login,
}

enum Trust {
    Given(Vec<u8>),
    Files(Vec<PathBuf>),
}

enum Login {
    None,
    Password(Secret),
    Key(Arc<PrivateKey>),
    User { files: Vec<PathBuf>, only_files: bool },
}

impl Route {
    /// # Errors
    /// [`TransportError::Config`] for unreadable keys and unknown algorithms.
    pub(crate) fn new(remote: &Remote, host: &str, port: Option<u16>) -> Result<Self, TransportError> {
        let url = remote.url.to_string();
        let refused = |detail: String| TransportError::Config {
            url: url.clone(),
            detail,
        };
        let proxy = remote
            .proxy
            .as_ref()
            .map(|proxy| proxy.parts())
            .transpose()
            .map_err(|error| refused(error.to_string()))?;
        // A caller with its own key and known_hosts (a controller) must not depend on files of the account.
        let of_user = matches!(remote.auth, Auth::User) || matches!(remote.ssh.known_hosts, KnownHosts::User);
        let config = if of_user {
            HostConfig::of_user(host)
        } else {
            HostConfig::default()
        };
        if let Some(problem) = &config.problem {
            return Err(refused(problem.to_string()));
        }
        let target = config.host_name.clone().unwrap_or_else(|| host.to_owned());
        let user = match (&remote.auth, remote.url.user(), &config.user) {
            (_, Some(user), _) => user.to_owned(),
            (Auth::Basic { username, .. }, None, _) => username.clone(),
            (_, None, Some(user)) => user.clone(),
            (_, None, None) => "git".to_owned(),
        };
        let port = port.or(config.port).unwrap_or(22);
        let name = config.alias.clone().unwrap_or_else(|| target.clone());
        let trust = trust(&remote.ssh.known_hosts, config.known_hosts.as_deref());
        let preferred = preferred(&remote.ssh).map_err(|error| refused(error.to_string()))?;
        let fixed_host_keys = remote.ssh.host_keys.is_some();
        let login = login(&remote.auth, config).map_err(|error| refused(error.to_string()))?;
        Ok(Self {
            host: target,
            port,
            user,
            name,
            trust,
            preferred,
            proxy,
            fixed_host_keys,
            login,
            timeout: remote.timeout,
            url: url.clone(),
        })
    }

    /// Connects, checks the host key and authenticates. Dropping the future aborts it.
    pub(crate) async fn connect(&self) -> Result<Handle<HostKeyCheck>, TransportError> {
        let stream = match &self.proxy {
            Some(proxy) => proxy
                .tunnel(&self.host, self.port)
                .await
                .map_err(|error| error.to_string()),
            None => TcpStream::connect((self.host.as_str(), self.port))
                .await
                .map_err(|e| e.to_string()),
        };
        let stream = stream
            .map_err(|e| self.connect_error(&format!("no connection to {} port {}: {e}", self.host, self.port)))?;
        // Without it small requests wait for the other side's delayed ACK; a failure only costs time.
        let _ = stream.set_nodelay(true);
        let keys = HostKeys::find(&self.known_hosts(), &self.name, self.port);
        let mut preferred = self.preferred.clone();
        if !self.fixed_host_keys {
            preferred.key = Cow::Owned(keys.algorithms(&preferred.key));
        }
        // Ends unused sessions; while one is used, its deadline comes first.
        let inactivity_timeout = Some(self.timeout);
        let client_id = SshId::Standard(Cow::Borrowed(CLIENT_ID));
        let config = client::Config {
            client_id,
            preferred,
            inactivity_timeout,
            ..client::Config::default()
        };
        let mut session = client::connect_stream(Arc::new(config), stream, HostKeyCheck(keys))
            .await
            .map_err(|e| match e {
                HandshakeError::HostKey(error) => TransportError::HostKey {
                    url: self.url.clone(),
                    detail: error.to_string(),
                },
                HandshakeError::Ssh(russh::Error::InactivityTimeout) => TransportError::Timeout {
                    url: self.url.clone(),
                    limit: self.timeout,
                },
                HandshakeError::Ssh(e) => self.connect_error(&format!("the SSH handshake failed: {e}")),
            })?;
        self.log_in(&mut session).await?;
        Ok(session)
    }

    fn known_hosts(&self) -> Vec<u8> {
        match &self.trust {
            Trust::Given(text) => text.clone(),
            // A missing file counts as empty.
            Trust::Files(paths) => {
                let texts: Vec<_> = paths.iter().filter_map(|path| fs::read(path).ok()).collect();
                texts.join(&b'\n')
            }
        }
    }

    async fn log_in(&self, session: &mut Handle<HostKeyCheck>) -> Result<(), TransportError> {
        let mut tried = Vec::new();
        let done = match &self.login {
            Login::None => session.authenticate_none(&self.user).await.map(|r| r.success()),
            Login::Password(password) => {
                tried.push("password".to_owned());
                session
                    .authenticate_password(&self.user, password.expose())
                    .await
                    .map(|r| r.success())
            }
            Login::Key(key) => {
                tried.push(describe(key.public_key()));
                offer(session, &self.user, Arc::clone(key)).await
            }
            Login::User { files, only_files } => self.log_in_as_user(session, files, *only_files, &mut tried).await,
        };
        let tried = if tried.is_empty() {
            "no key was there to offer".to_owned()
        } else {
            format!("tried {}", tried.join(", "))
        };
        let unauthorized = |why: &str| TransportError::Unauthorized {
            url: self.url.clone(),
            detail: format!("{why} for user {} ({tried})", self.user),
            hint: String::new(),
        };
        match done {
            Ok(true) => Ok(()),
            Ok(false) => Err(unauthorized("the server accepted no key or password")),
            Err(e) => Err(unauthorized(&format!("the server ended the login ({e})"))),
        }
    }

    async fn log_in_as_user(
        &self,
        session: &mut Handle<HostKeyCheck>,
        files: &[PathBuf],
        only_files: bool,
        tried: &mut Vec<String>,
    ) -> Result<bool, russh::Error> {
        let chosen: Vec<_> = files.iter().filter_map(|file| public_part(file)).collect();
        if let Ok(mut agent) = AgentClient::connect_env().await {
            let identities = agent.request_identities().await.unwrap_or_else(|error| {
                tried.push(format!("the agent, which lists no keys: {error}"));
                Vec::new()
            });
            for identity in identities {
                let key = identity.public_key().into_owned();
                if only_files && !chosen.iter().any(|file| file.key_data() == key.key_data()) {
                    continue;
                }
                tried.push(format!("{} of the agent", describe(&key)));
                let hash = hash_for(session, &key.algorithm()).await;
                let result = session
                    .authenticate_publickey_with(&self.user, key, hash, &mut agent)
                    .await;
                // An agent that declines to sign (a key that needs a touch) does not end the login.
                if result.is_ok_and(|r| r.success()) {
                    return Ok(true);
                }
            }
        }
        for file in files {
            let Ok(text) = fs::read_to_string(file).map(Secret::from) else {
                continue;
            };
            match decode(&text, None) {
                Ok(key) => {
                    tried.push(format!("{} of {}", describe(key.public_key()), file.display()));
                    if offer(session, &self.user, Arc::new(key)).await? {
                        return Ok(true);
                    }
                }
                Err(why) => tried.push(format!("{}: {why}", file.display())),
            }
        }
        Ok(false)
    }

    fn connect_error(&self, detail: &str) -> TransportError {
        TransportError::Connect {
            url: self.url.clone(),
            detail: detail.to_owned(),
        }
    }
}

/// Checks the server's key during the handshake.
pub(crate) struct HostKeyCheck(HostKeys);

/// Why a handshake was aborted.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    HostKey(HostKeyError),
    Ssh(russh::Error),
}

impl From<russh::Error> for HandshakeError {
    fn from(error: russh::Error) -> Self {
        Self::Ssh(error)
    }
}

impl client::Handler for HostKeyCheck {
    type Error = HandshakeError;

    async fn check_server_key(&mut self, offered: &PublicKeyOrCertificate) -> Result<bool, HandshakeError> {
        self.0
            .check(&offered.public_key())
            .map(|()| true)
            .map_err(HandshakeError::HostKey)
    }
}

fn trust(known_hosts: &KnownHosts, configured: Option<&[PathBuf]>) -> Trust {
    match known_hosts {
        KnownHosts::Given(text) => Trust::Given(text.clone()),
        KnownHosts::User => {
            let folder = home().join(".ssh");
            let mut files = match configured {
                Some(files) => files.to_vec(),
                None => vec![folder.join("known_hosts"), folder.join("known_hosts2")],
            };
            files.extend(["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"].map(PathBuf::from));
            Trust::Files(files)
        }
    }
}

/// Why a session cannot be opened with the settings of a remote.
#[derive(Debug, thiserror::Error)]
enum SshSettingsError {
    #[error("a bearer token is of no use over SSH; give a private key")]
    Bearer,
    #[error("a login of a provider is of no use over SSH; give a private key")]
    Provider,
    #[error("the private key {0}")]
    Key(#[from] PrivateKeyError),
    #[error("SSH key exchange algorithm `{0}` is not known; there are {known}", known = key_exchanges())]
    KeyExchange(String),
    #[error(
        "SSH host key algorithm `{0}` is not known; there are ssh-ed25519, ecdsa-sha2-nistp256, ecdsa-sha2-nistp384, \
         ecdsa-sha2-nistp521, rsa-sha2-512, rsa-sha2-256, ssh-rsa"
    )]
    HostKey(String),
}

/// Why a private key cannot be used; the text follows the name of the key.
#[derive(Debug, thiserror::Error)]
enum PrivateKeyError {
    #[error("is encrypted; give its passphrase")]
    Encrypted,
    #[error("cannot be read with the passphrase given")]
    Passphrase,
    #[error("cannot be read ({0}); give it as OpenSSH writes it, or as PEM")]
    Format(russh::keys::Error),
}

fn login(auth: &Auth, config: HostConfig) -> Result<Login, SshSettingsError> {
    Ok(match auth {
        Auth::None => Login::None,
        Auth::Basic { password, .. } => Login::Password(password.clone()),
        Auth::Bearer { .. } => return Err(SshSettingsError::Bearer),
        Auth::Fetched(_) => return Err(SshSettingsError::Provider),
        Auth::SshKey { identity, passphrase } => Login::Key(Arc::new(decode(identity, passphrase.as_ref())?)),
        Auth::User => {
            let folder = home().join(".ssh");
            let defaults = || DEFAULT_KEYS.map(|name| folder.join(name)).to_vec();
            let files = if config.identities.is_empty() {
                defaults()
            } else {
                config.identities
            };
            Login::User {
                files,
                only_files: config.identities_only,
            }
        }
    })
}

/// Whether a private key is encrypted.
#[must_use]
pub fn is_encrypted(key: &Secret) -> bool {
    let trimmed = trimmed(key);
    decode_secret_key(trimmed.expose(), None).is_err_and(|error| names_encryption(&trimmed, &error))
}

fn names_encryption(key: &Secret, error: &russh::keys::Error) -> bool {
    key.expose().contains("ENCRYPTED") || matches!(error, russh::keys::Error::KeyIsEncrypted)
}

/// Removes the blanks around lines, which come from YAML and from copying.
fn trimmed(key: &Secret) -> Secret {
    let lines: Vec<&str> = key.expose().lines().map(str::trim).collect();
    lines.join("\n").into()
}

/// Parses a private key. A passphrase for an unencrypted key is not an error.
fn decode(text: &Secret, passphrase: Option<&Secret>) -> Result<PrivateKey, PrivateKeyError> {
    let trimmed = trimmed(text);
    let given = passphrase.filter(|p| !p.is_empty());
    let passphrase = given.map(Secret::expose);
    let key = decode_secret_key(trimmed.expose(), passphrase);
    let key = if passphrase.is_some() {
        // The library does not read encrypted elliptic curve keys in the old format.
        let old = |error| ssh_private_key(&trimmed, given).map_err(|_| error);
        key.or_else(|_| decode_secret_key(trimmed.expose(), None)).or_else(old)
    } else {
        key
    };
    key.map_err(|error| match passphrase {
        None if names_encryption(&trimmed, &error) => PrivateKeyError::Encrypted,
        Some(_) => PrivateKeyError::Passphrase,
        None => PrivateKeyError::Format(error),
    })
}

/// The public key beside a private one, or inside it.
fn public_part(file: &std::path::Path) -> Option<PublicKey> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".pub");
    let text = fs::read_to_string(PathBuf::from(beside)).ok();
    let public = text.and_then(|text| PublicKey::from_openssh(text.trim()).ok());
    public.or_else(|| {
        let text = Secret::from(fs::read_to_string(file).ok()?);
        PrivateKey::from_openssh(text.expose())
            .ok()
            .map(|key| key.public_key().clone())
    })
}

fn describe(key: &PublicKey) -> String {
    format!("{} {}", key.algorithm(), key.fingerprint(HashAlg::Sha256))
}

async fn offer(session: &mut Handle<HostKeyCheck>, user: &str, key: Arc<PrivateKey>) -> Result<bool, russh::Error> {
    let hash = hash_for(session, &key.algorithm()).await;
    let result = session
        .authenticate_publickey(user, PrivateKeyWithHashAlg::new(key, hash))
        .await?;
    Ok(matches!(result, AuthResult::Success))
}

/// RSA signs with SHA-2: current servers refuse SHA-1. Other keys have a fixed hash.
async fn hash_for(session: &Handle<HostKeyCheck>, algorithm: &Algorithm) -> Option<HashAlg> {
    if !matches!(algorithm, Algorithm::Rsa { .. }) {
        return None;
    }
    let best = session.best_supported_rsa_hash().await.ok().flatten().flatten();
    Some(best.unwrap_or(HashAlg::Sha512))
}

/// The lists for the handshake. The markers that follow the key exchanges announce extensions and strict ordering.
fn preferred(ssh: &Ssh) -> Result<Preferred, SshSettingsError> {
    let mut preferred = Preferred::DEFAULT;
    if let Some(names) = &ssh.kex {
        let mut list = names
            .iter()
            .map(|name| key_exchange(name))
            .collect::<Result<Vec<_>, _>>()?;
        list.extend([
            kex::EXTENSION_SUPPORT_AS_CLIENT,
            kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT,
        ]);
        preferred.kex = Cow::Owned(list);
    }
    if let Some(names) = &ssh.host_keys {
        let list = names.iter().map(|name| host_key(name)).collect::<Result<Vec<_>, _>>()?;
        preferred.key = Cow::Owned(list);
    }
    Ok(preferred)
}

fn key_exchange(name: &str) -> Result<kex::Name, SshSettingsError> {
    let exchange = kex::Name::try_from(name).ok().filter(|name| *name != kex::NONE);
    exchange.ok_or_else(|| SshSettingsError::KeyExchange(name.to_owned()))
}

/// The names of all key exchange algorithms.
fn key_exchanges() -> String {
    let names = kex::ALL_KEX_ALGORITHMS.iter().map(|name| name.as_ref());
    names.filter(|name| *name != "none").collect::<Vec<&str>>().join(", ")
}

fn host_key(name: &str) -> Result<Algorithm, SshSettingsError> {
    match Algorithm::new(name) {
        Ok(Algorithm::Other(_) | Algorithm::Dsa) | Err(_) => Err(SshSettingsError::HostKey(name.to_owned())),
        Ok(algorithm) => Ok(algorithm),
    }
}
