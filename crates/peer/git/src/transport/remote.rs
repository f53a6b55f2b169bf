//! Everything that one remote needs: address, credentials, trust, proxy, time limit.

use std::time::Duration;

use super::remote_url::RemoteUrl;
use bumpwright_http::{Fetched, Peer, Proxy, Tls};
use bumpwright_secret::Secret;

/// One remote. Nothing here is shared with another remote or with the process; `Debug` shows no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub url: RemoteUrl,
    pub auth: Auth,
    /// Trust and client certificate for `https://`.
    pub tls: Tls,
    /// Trust and algorithms for SSH.
    pub ssh: Ssh,
    /// The proxy to connect through; without one, [`Auth::User`] and [`Auth::Fetched`] use the environment's,
    /// the others connect directly.
    pub proxy: Option<Proxy>,
    /// The time limit of one conversation (a fetch, a push).
    pub timeout: Duration,
    /// Why the configured source of credentials has given none: reported when the server asks for a login.
    pub no_login: Option<String>,
}

impl Remote {
    /// A remote without credentials, with the system's trust and with Flux's default limit of 60 seconds
    /// (GitRepository `spec.timeout`).
    #[must_use]
    pub fn new(url: RemoteUrl) -> Self {
        let (auth, tls, ssh) = (Auth::default(), Tls::default(), Ssh::default());
        Self {
            url,
            auth,
            tls,
            ssh,
            proxy: None,
            timeout: Duration::from_secs(60),
            no_login: None,
        }
    }

    /// Whether a server that asks for a login over HTTP got one, after a semicolon.
    pub(crate) fn login_hint(&self) -> String {
        match (&self.auth, &self.no_login, self.url.user()) {
            (Auth::None, Some(why), None) => format!("; no credentials were sent: {why}"),
            (Auth::None, None, None) => "; no credentials were sent".to_owned(),
            (Auth::User, _, None) => {
                "; neither git's credential helpers nor ~/.netrc have a login that the server accepts: BUMPWRIGHT_GIT_USERNAME and \
                 BUMPWRIGHT_GIT_PASSWORD give one, too"
                    .to_owned()
            }
            _ => "; the server refused the credentials that were sent".to_owned(),
        }
    }
}

/// Servers distinguish git from browsers by this prefix.
const USER_AGENT: &str = concat!("git/2.0 (bumpwright/", env!("CARGO_PKG_VERSION"), ")");

impl Remote {
    /// The connection settings of its HTTP server.
    pub fn peer(&self) -> Peer {
        Peer {
            tls: self.tls.clone(),
            proxy: self.proxy.clone(),
            environment: matches!(self.auth, Auth::User | Auth::Fetched(_)),
            timeout: self.timeout,
            silence: None,
            user_agent: USER_AGENT.to_owned(),
        }
    }
}

/// The credentials for a Git server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    #[default]
    None,
    /// HTTP basic authentication; for SSH, password authentication.
    Basic {
        username: String,
        /// The password or token.
        password: Secret,
    },
    /// An HTTP bearer token.
    Bearer { token: Secret },
    /// A private key for SSH.
    SshKey {
        /// The key: OpenSSH, PKCS#1, PKCS#8 or SEC1, in PEM.
        identity: Secret,
        /// The passphrase that it is encrypted with.
        passphrase: Option<Secret>,
    },
    /// HTTP logins that are fetched on demand, and once more when the server refuses one.
    Fetched(Fetched),
    /// The credentials of the user's own git: credential helpers after a 401; ssh-agent and `~/.ssh` for SSH. Never
    /// prompts on the terminal.
    User,
}

/// Trust and algorithms for SSH.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ssh {
    /// The host keys to trust.
    pub known_hosts: KnownHosts,
    /// Key exchange algorithms, best first; without them the defaults (Flux's flag `--ssh-kex-algos`).
    pub kex: Option<Vec<String>>,
    /// Host key algorithms, best first; without them those that known_hosts has keys for (`--ssh-hostkey-algos`).
    pub host_keys: Option<Vec<String>>,
}

/// The source of trusted host keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KnownHosts {
    /// The text of a known_hosts file (`man sshd`, *SSH_KNOWN_HOSTS FILE FORMAT*), and nothing else.
    Given(Vec<u8>),
    /// `~/.ssh/known_hosts` (or what `~/.ssh/config` names) and `/etc/ssh/ssh_known_hosts`.
    #[default]
    User,
}
