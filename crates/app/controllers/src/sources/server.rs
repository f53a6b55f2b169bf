//! Serves artifacts once this process leads (source-controller v1.9, `main.go`): before that another one may still
//! write to the folder.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::SetOnce;
use tokio::task::JoinSet;

use crate::settings::Settings;
use crate::start_error::StartError;
use bumpwright_runtime::Log;
use bumpwright_storage::{self as storage, Storage, StorageError};

/// The controller that writes the artifacts.
pub(crate) const CONTROLLER: &str = "source-controller";

/// The pause before another attempt at an address in use.
const PAUSE: Duration = Duration::from_secs(5);

/// Whether this process serves artifacts, and who does while it waits.
#[derive(Debug, Default)]
pub(crate) struct Serving {
    /// Since when this process leads.
    elected: SetOnce<Instant>,
    leader: Mutex<Option<String>>,
}

impl Serving {
    /// This process leads from now on.
    pub(crate) fn begin(&self) {
        let _ = self.elected.set(Instant::now());
    }

    /// Whether this process leads.
    pub(crate) fn has_begun(&self) -> bool {
        self.elected.initialized()
    }

    /// Since when this process leads; none while it waits.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.elected.get().copied()
    }

    /// Waits until this process leads.
    pub(crate) async fn begun(&self) {
        self.elected.wait().await;
    }

    /// The process with this identity leads.
    pub(crate) fn wait_for(&self, holder: &str) {
        *self.leader.lock() = Some(holder.to_owned());
    }

    /// Whether a Service may send requests for artifacts to this process, `own`. While it waits for another pod of its
    /// ReplicaSet it refuses connections that the other one would answer. Waiting for others it is ready all the same:
    /// for a controller of Flux, whose artifacts have another address, and for the pod that a rolling update ends once
    /// this one is ready.
    pub(crate) fn ready(&self, own: &str) -> Result<(), NotServing> {
        if self.has_begun() {
            return Ok(());
        }
        match &*self.leader.lock() {
            None => Err(NotServing::Unknown),
            Some(leader) if set_of(leader) == set_of(own) => Err(NotServing::Other(leader.clone())),
            Some(_) => Ok(()),
        }
    }
}

/// Why this process does not serve artifacts.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotServing {
    #[error("it is not known yet which process has the lease")]
    Unknown,
    /// Another pod of the ReplicaSet.
    #[error("artifacts are served by {0}")]
    Other(String),
}

/// The ReplicaSet of a pod by the identity of its process, `NAME-OF-SET-xxxxx_…`; outside of a cluster, the machine.
fn set_of(identity: &str) -> &str {
    let host = identity.split_once('_').map_or(identity, |(host, _)| host);
    host.rsplit_once('-').map_or(host, |(set, _)| set)
}

/// Serves the storage once this process leads. Without leader election it listens at once.
///
/// # Errors
/// [`StartError::Listen`]
pub(crate) async fn serve(
    settings: &Settings,
    storage: Option<&Storage>,
    log: &Log,
    serving: Arc<Serving>,
    background: &mut JoinSet<()>,
) -> Result<(), StartError> {
    let (Some(artifacts), Some(storage)) = (&settings.artifacts, storage) else {
        return Ok(());
    };
    let (log, storage, address) = (log.named("artifacts"), storage.clone(), artifacts.listen.clone());
    let listener = match settings.election {
        Some(_) => None,
        None => {
            let listener = storage::listen(&address).await;
            Some(listener.map_err(|error| StartError::Listen(error.to_string()))?)
        }
    };
    background.spawn(async move {
        serving.begun().await;
        let mut listener = listener;
        let listener = loop {
            match listener.take() {
                Some(listener) => break listener,
                None => match storage::listen(&address).await {
                    Ok(found) => listener = Some(found),
                    Err(error) => {
                        log.error(&error, "unable to serve artifacts");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
            }
        };
        let on_fault = move |fault: &StorageError| log.error(fault, "unable to serve an artifact");
        storage::serve(listener, storage, storage::limits(), on_fault, std::future::pending()).await;
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "bumpwright-5c9f8d7b66-abcde_0b1f";

    /// docs/decisions.md, *readiness of a standby*.
    #[test]
    fn a_standby_of_the_same_replica_set_is_not_ready() {
        for (leader, ready) in [
            ("bumpwright-5c9f8d7b66-xyz12_77aa", false),
            ("bumpwright-7f6d5c4b33-xyz12_77aa", true),
            ("source-controller-5c9f8d7b66-xyz12_77aa", true),
        ] {
            let serving = Serving::default();
            assert!(serving.ready(OWN).is_err(), "nothing is known yet");
            serving.wait_for(leader);
            assert_eq!(serving.ready(OWN).is_ok(), ready, "{leader}");
            serving.begin();
            assert_eq!(serving.ready(OWN), Ok(()));
        }
        let (one, other) = ("laptop_1", "laptop_2");
        assert_eq!(set_of(one), set_of(other));
    }
}
