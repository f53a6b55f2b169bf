//! Logins at Git servers by a provider: identities at clouds and GitHub Apps, shared by the automations of a run.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::clouds::{CloudRoute, Clouds};
use bumpwright_cloud::{CloudError, GitIdentity, GitLogin, Requester, TokenCache};
use bumpwright_git::{Auth, Remote};
use bumpwright_http::{Deadline, FetchLoginError, Fetched, Peer, Tls};

/// Limit on identities. In a cluster, objects come and go.
const MOST: usize = 4096;

/// The identities of a run. Cached data of one is never used for a remote with other trust or another proxy.
#[derive(Debug, Default)]
pub struct GitIdentities {
    clouds: Clouds,
    known: Mutex<Vec<Known>>,
}

#[derive(Debug)]
struct Known {
    peer: Peer,
    identity: GitIdentity,
    url: String,
    requester: Option<Requester>,
    login: Fetched,
}

/// Why an identity has no login at a Git server, in Flux's words.
#[derive(Debug, thiserror::Error)]
pub enum GitLoginError {
    /// The identity cannot be used there.
    #[error("failed to configure authentication options: {0}")]
    Identity(#[from] CloudError),
    /// The login was not given.
    #[error("failed to configure authentication options: {0}")]
    Login(#[from] FetchLoginError),
}

impl GitIdentities {
    /// Identities with a shared cache of tokens.
    #[must_use]
    pub fn sharing(tokens: TokenCache) -> Self {
        Self {
            clouds: Clouds::new(tokens),
            known: Mutex::default(),
        }
    }

    /// The credentials of an identity at a remote, for an object of a cluster or for a command. They are fetched with
    /// the first request that needs them.
    ///
    /// # Errors
    /// The remote's address is not the provider's.
    pub fn auth(
        &self,
        identity: GitIdentity,
        remote: &Remote,
        requester: Option<Requester>,
    ) -> Result<Auth, GitLoginError> {
        // The settings of a command come from the user who runs it.
        if requester.is_some() && is_own(&identity) && remote.peer().is_intercepted() {
            return Err(CloudError::intercepted().into());
        }
        let (peer, url) = (peer(&identity, remote), remote.url.to_string());
        let mut logins = self.known.lock();
        let cached = logins.iter().find(|known| {
            known.peer == peer && known.identity == identity && known.url == url && known.requester == requester
        });
        if let Some(cached) = cached {
            return Ok(Auth::Fetched(cached.login.clone()));
        }
        let cloud = self.clouds.by(CloudRoute {
            peer: peer.clone(),
            aws_sts: None,
        });
        let cloud = match &requester {
            Some(requester) => cloud.asked_by(requester.clone()),
            None => cloud,
        };
        let login = Fetched::new(GitLogin::new(Arc::new(cloud), identity.clone(), &url)?);
        if logins.len() >= MOST {
            // They are created again when needed; their tokens are cached elsewhere.
            logins.clear();
        }
        logins.push(Known {
            peer,
            identity,
            url,
            requester,
            login: login.clone(),
        });
        Ok(Auth::Fetched(login))
    }

    /// The credentials of an identity at a remote, for an object of a cluster. They are tried here, so this blocks:
    /// their errors are not Git's.
    pub fn log_in(&self, identity: GitIdentity, remote: &Remote, requester: Requester) -> Result<Auth, GitLoginError> {
        let auth = self.auth(identity, remote, Some(requester))?;
        if let Auth::Fetched(source) = &auth {
            source.login(None, Deadline::after(remote.timeout))?;
        }
        Ok(auth)
    }
}

/// Returns whether the login is by the identity of this process.
fn is_own(identity: &GitIdentity) -> bool {
    matches!(
        identity,
        GitIdentity::Provider {
            service_account: None,
            ..
        }
    )
}

/// The connection to services: through the remote's own proxy; for GitHub's API, which may be on the repository's host,
/// with the remote's certificates in addition to the system's.
fn peer(identity: &GitIdentity, remote: &Remote) -> Peer {
    let tls = match identity {
        GitIdentity::GitHubApp(_) => Tls {
            beside_system: true,
            ..remote.tls.clone()
        },
        GitIdentity::Provider { .. } => Tls::default(),
    };
    Peer {
        tls,
        proxy: remote.proxy.clone(),
        ..Peer::default()
    }
}
