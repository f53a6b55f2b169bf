//! The settings of a connection.

use std::path::PathBuf;
use std::time::Duration;

use super::limit::Pace;

/// The timeout of a plain request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a watch may be silent. Go's client finds a dead connection after 45 s: 30 s without a frame, 15 s for the
/// answer to a ping (client-go `rest`, HTTP/2 health checks). 5 s come on top of ours.
const SILENCE: Duration = Duration::from_secs(40);

/// The settings of the connection.
#[derive(Clone, Debug)]
pub struct Connect {
    /// A kubeconfig file; without it `KUBECONFIG`, the service account of the pod or the user's own file.
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig; without it the current one.
    pub context: Option<String>,
    /// How long a watch may be silent before it is restarted, in whole seconds.
    pub silence: Duration,
    /// The rate limit; none without.
    pub pace: Option<Pace>,
    /// How long one request may take.
    pub patience: Duration,
}

impl Default for Connect {
    fn default() -> Self {
        Self {
            kubeconfig: None,
            context: None,
            silence: SILENCE,
            pace: None,
            patience: REQUEST_TIMEOUT,
        }
    }
}

/// The scope of watches.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Only those of this namespace (`--watch-all-namespaces=false`).
    pub namespace: Option<String>,
    /// Only those with these labels (`--watch-label-selector`).
    pub labels: Option<String>,
    /// Only those with these fields, as `involvedObject.kind=Pod`.
    pub fields: Option<String>,
}
