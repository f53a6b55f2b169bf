//! Who asks Git servers where the manifests name a provider: identities at clouds and GitHub Apps, shared by the automations
//! of a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cloud::{Cloud, Environment, GitIdentity, GitLogin};
use crate::git::{Auth, Remote};
use crate::net::{Fetched, Peer, Tls};

/// The identities of a run. What is kept of one is never used for a remote with other trust or another proxy.
#[derive(Debug, Default)]
pub struct GitIdentities {
    /// By the way to services.
    clouds: Mutex<Vec<(Peer, Arc<Cloud>)>>,
    known: Mutex<Vec<Known>>,
}

#[derive(Debug)]
struct Known {
    peer: Peer,
    identity: GitIdentity,
    url: String,
    login: Fetched,
}

impl GitIdentities {
    /// The credentials of an identity at a remote. Nothing is asked before the first request needs it.
    ///
    /// # Errors
    /// In Flux' words, when the remote's address is not the provider's.
    pub fn auth(&self, identity: GitIdentity, remote: &Remote) -> Result<Auth, String> {
        let (peer, url) = (peer(&identity, remote), remote.url.to_string());
        let mut all = held(&self.known);
        let known = all
            .iter()
            .find(|known| known.peer == peer && known.identity == identity && known.url == url);
        if let Some(known) = known {
            return Ok(Auth::Fetched(known.login.clone()));
        }
        let login = GitLogin::new(self.cloud(&peer), identity.clone(), &url)
            .map_err(|e| format!("failed to configure authentication options: {e}"))?;
        let login = Fetched::new(login);
        all.push(Known {
            peer,
            identity,
            url,
            login: login.clone(),
        });
        Ok(Auth::Fetched(login))
    }

    fn cloud(&self, peer: &Peer) -> Arc<Cloud> {
        let mut all = held(&self.clouds);
        if let Some((_, cloud)) = all.iter().find(|(other, _)| other == peer) {
            return Arc::clone(cloud);
        }
        let cloud = Cloud::new(Environment::of_process(), Default::default(), peer.clone());
        let cloud = Arc::new(cloud);
        all.push((peer.clone(), Arc::clone(&cloud)));
        cloud
    }
}

/// How services are reached: through the remote's own proxy; GitHub's API, which may be on the same host as the repository,
/// with the remote's certificates besides the system's.
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

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
