//! What can go wrong between us and the API server.

use kube::client::AuthError;

use bumpwright_api::ObjectName;
use bumpwright_budget::Exceeded;

/// A request that failed. The words of the API server are kept: Flux shows them in conditions.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// There is no way to the cluster: kubeconfig, certificates, address.
    #[error("cannot connect to the cluster: {0}")]
    Connect(String),
    /// A kubeconfig that cannot be used.
    #[error("{0}")]
    Remote(String),
    /// A name that cannot be that of an object, in the words of Go's client. Nothing was asked.
    #[error("{0}")]
    Name(String),
    /// The object is not there, in the words of Go's client.
    #[error("{plural}{dot_group} {name:?} not found", dot_group = dotted(group))]
    NotFound {
        /// The kind's name in paths, or as the caller knows it.
        plural: String,
        /// Its group.
        group: String,
        /// The object's name.
        name: String,
    },
    /// Somebody else wrote first.
    #[error("{0}")]
    Conflict(String),
    /// No kind of that name is served, in the words of Go's client.
    #[error("no matches for kind {kind:?} in version {api_version:?}")]
    NoMatch {
        /// The kind.
        kind: String,
        /// `group/version`, or `v1`.
        api_version: String,
    },
    /// The API server refuses.
    #[error("{message}")]
    Refused {
        /// HTTP status.
        code: u16,
        /// `metav1.StatusReason`; empty when the server gives none.
        reason: String,
        /// Its words.
        message: String,
    },
    /// We may not act any more.
    #[error("the lease {0} expired; no further requests are sent")]
    Deposed(ObjectName),
    /// It does not answer.
    #[error("{0}")]
    Unreachable(String),
    /// An answer finds no room.
    #[error("{what}: {cause}")]
    TooMuch {
        /// Which one.
        what: String,
        /// Which bound.
        cause: Exceeded,
    },
    /// The object is not what its kind says.
    #[error("{kind} {name}: {error}")]
    Unreadable {
        /// The kind.
        kind: &'static str,
        /// The object.
        name: ObjectName,
        /// What does not fit.
        error: String,
    },
}

/// An error with all that it comes from, each said once. What a program of a kubeconfig was given and printed is a secret.
pub(super) fn full(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(fault) = login_fault(error) {
        return fault;
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}

/// Why a login failed, if it is that, as client-go begins it; kube's own words hold the program's variables and its output.
fn login_fault(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(fault) = error.downcast_ref::<AuthError>() {
            let why = match fault {
                AuthError::AuthExecRun { out, .. } => match out.status.code() {
                    Some(code) => format!("the program of the kubeconfig failed with exit code {code}"),
                    None => "the program of the kubeconfig was killed".to_owned(),
                },
                AuthError::AuthExecParse(_) => "the program of the kubeconfig printed no ExecCredential".to_owned(),
                AuthError::AuthExecStart(error) => error.to_string(),
                other => return Some(format!("getting credentials: {other}")),
            };
            return Some(format!("getting credentials: exec: {why}"));
        }
        next = error.source();
    }
    None
}

fn dotted(group: &str) -> String {
    match group {
        "" => String::new(),
        group => format!(".{group}"),
    }
}

impl ClusterError {
    pub(super) fn of(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 409 => Self::Conflict(status.message),
            kube::Error::Api(status) => Self::Refused {
                code: status.code,
                reason: status.reason,
                message: status.message,
            },
            // kube says `client error (Connect)`; what it comes from says which address refused, or which certificate.
            kube::Error::Service(error) => Self::Unreachable(full(&*error)),
            other => Self::Unreachable(full(&other)),
        }
    }

    /// Why the server refuses, as `metav1.StatusReason` has it; empty when it gives no reason, or did not answer.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::NotFound { .. } => "NotFound",
            Self::Conflict(_) => "Conflict",
            Self::Refused { reason, .. } => reason,
            _ => "",
        }
    }

    /// Whether the server faltered (etcd timed out, say), so that the same request may work a moment later, and may have worked now.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Refused {
                code: 500 | 502..=504,
                ..
            }
        )
    }

    /// Whether the server does not know who asks.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Refused { code: 401, .. })
    }

    /// Whether who asks may not.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { code: 403, .. })
    }

    /// Whether the server does not have the path: its kinds are others than they were.
    #[must_use]
    pub fn is_unserved(&self) -> bool {
        let says = |message: &str| message.contains("could not find the requested resource");
        matches!(self, Self::Refused { code: 404, message, .. } if says(message))
    }

    /// Whether the object, or its kind, is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. } | Self::Refused { code: 404, .. })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;

    use crate::{Cluster, RemoteRules, SECRET};
    use bumpwright_api::ObjectName;

    #[tokio::test]
    async fn a_server_that_does_not_answer_is_told_with_the_reason() {
        let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        let kubeconfig = format!(
            "clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
             users: [{{name: u, user: {{}}}}]\n\
             current-context: c\n"
        );
        let rules = RemoteRules {
            exec: false,
            skip_tls_verify: false,
        };
        let cluster = Cluster::from_kubeconfig(&kubeconfig, rules, Arc::new(|_, _, _| {}));
        let cluster = cluster.await.unwrap();
        let error = cluster
            .get(&SECRET, &ObjectName::new("apps", "creds"))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("onnection refused"), "{error}");
    }
}
