//! Errors of requests to the API server.

use kube::client::AuthError;
use kube::config::KubeconfigError;

use bumpwright_api::ObjectName;
use bumpwright_budget::Exceeded;
use bumpwright_http::InvalidProxy;
use bumpwright_yaml::{ReadError, WriteError};

/// Why a request failed. The messages of the API server are kept: Flux shows them in conditions.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The cluster cannot be connected to: kubeconfig, certificates, address.
    #[error("cannot connect to the cluster: {0}")]
    Connect(String),
    /// A kubeconfig is not usable.
    #[error("{0}")]
    Remote(#[source] Box<RemoteError>),
    /// A name is not valid for an object, in the words of Go's client. No request was made.
    #[error("{0}")]
    Name(String),
    /// The object does not exist, in the words of Go's client.
    #[error("{plural}{dot_group} {name:?} not found", dot_group = dotted(group))]
    NotFound {
        /// The kind's name in paths, or the caller's name for it.
        plural: String,
        group: String,
        name: String,
    },
    /// A concurrent write was first.
    #[error("{0}")]
    Conflict(String),
    /// No kind of that name is served, in the words of Go's client.
    #[error("no matches for kind {kind:?} in version {api_version:?}")]
    NoMatch {
        kind: String,
        /// `group/version`, or `v1`.
        api_version: String,
    },
    /// The API server refuses.
    #[error("{message}")]
    Refused {
        code: u16,
        /// `metav1.StatusReason`; may be empty.
        reason: String,
        message: String,
    },
    #[error("the lease {0} expired; no further requests are sent")]
    Deposed(ObjectName),
    /// The server does not answer.
    #[error("{0}")]
    Unreachable(String),
    /// An answer exceeds the memory budget.
    #[error("{what}: {cause}")]
    TooMuch { what: String, cause: Exceeded },
    /// The object does not match its kind.
    #[error("{kind} {name}: {error}")]
    Unreadable {
        kind: &'static str,
        name: ObjectName,
        error: String,
    },
}

/// Another cluster cannot be used, in the words of Go's libraries where known.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The kubeconfig is not YAML.
    #[error("{}", .0.go())]
    Syntax(ReadError),
    /// It has a number that JSON has not.
    #[error("{}", .0.go())]
    Number(WriteError),
    /// It is not a kubeconfig.
    #[error("the kubeconfig is not valid: {0}")]
    Fields(#[from] serde_json::Error),
    /// Certificate authorities are in a file.
    #[error("cluster '{0}' references a certificate-authority file, only certificate-authority-data is supported")]
    AuthorityFile(String),
    /// The credentials of a user are in a file.
    #[error("user '{user}' references {file}")]
    UserFile {
        user: String,
        /// The file, and what is supported.
        file: &'static str,
    },
    /// The current context does not exist.
    #[error("invalid configuration: [context was not found for specified context: {0}, cluster has no server defined]")]
    NoContext(String),
    #[error(
        "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable"
    )]
    Nothing,
    /// Its cluster has no address.
    #[error("invalid configuration: no server found for cluster {0:?}")]
    NoServer(String),
    /// It has no cluster.
    #[error("it has no cluster")]
    NoCluster,
    /// Its proxy cannot be used.
    #[error("invalid proxy-url: {0}")]
    Proxy(#[from] InvalidProxy),
    /// Certificate authorities are not text.
    #[error("its certificate-authority-data is not Base64")]
    NotBase64,
    /// The authorities have no certificate.
    #[error("unable to load root certificates: unable to parse bytes as PEM block")]
    NoAuthorities,
    /// An address is not one.
    #[error("the address {address:?} cannot be used: {error}")]
    Address {
        address: String,
        /// What is wrong with it.
        error: http::uri::InvalidUri,
    },
    /// The settings of the kubeconfig do not make a client.
    #[error("{0}")]
    Client(#[from] KubeconfigError),
}

/// An error with its causes, without repetition. Variables and output of a kubeconfig's program are secret.
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

/// The cause of a failed login, with client-go's prefix; kube's own message has the program's variables and output.
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

impl From<RemoteError> for ClusterError {
    fn from(error: RemoteError) -> Self {
        Self::Remote(Box::new(error))
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
            // kube's message is `client error (Connect)`; its cause has the address, or the certificate.
            kube::Error::Service(error) => Self::Unreachable(full(&*error)),
            other => Self::Unreachable(full(&other)),
        }
    }

    /// The `metav1.StatusReason` of a refusal; empty without a reason, or without an answer.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::NotFound { .. } => "NotFound",
            Self::Conflict(_) => "Conflict",
            Self::Refused { reason, .. } => reason,
            _ => "",
        }
    }

    /// Whether the error is transient (an etcd timeout, say): a retry may succeed, and the request
    /// may have taken effect.
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

    /// Whether the answer to a list says that it cannot be had: it is not allowed, not served, or too much. Otherwise
    /// no answer came, or the server could not give one now, and the next may be another.
    #[must_use]
    pub fn is_unlistable(&self) -> bool {
        match self {
            Self::Refused { code, .. } => {
                *code == 501 || (400..500).contains(code) && !matches!(code, 401 | 408 | 410 | 429)
            }
            Self::NotFound { .. } | Self::NoMatch { .. } | Self::Name(_) | Self::TooMuch { .. } => true,
            Self::Connect(_)
            | Self::Remote(_)
            | Self::Conflict(_)
            | Self::Deposed(_)
            | Self::Unreachable(_)
            | Self::Unreadable { .. } => false,
        }
    }

    /// Whether the credentials were refused.
    #[must_use]
    pub(crate) fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Refused { code: 401, .. })
    }

    /// Whether the request is not allowed.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { code: 403, .. })
    }

    /// Whether the caller may not act as the account that it impersonates.
    #[must_use]
    pub fn is_not_impersonated(&self) -> bool {
        matches!(self, Self::Refused { code: 403, message, .. } if message.contains("cannot impersonate"))
    }

    /// Whether the account has no right, in the words of the authorization; admission control forbids in others.
    #[must_use]
    pub fn lacks_right(&self) -> bool {
        let says = |message: &str| message.contains("\" cannot ") && message.contains(" resource \"");
        matches!(self, Self::Refused { code: 403, message, .. } if says(message))
    }

    /// Whether the server does not have the path: its kinds have changed.
    #[must_use]
    pub fn is_unserved(&self) -> bool {
        let says = |message: &str| message.contains("could not find the requested resource");
        matches!(self, Self::Refused { code: 404, message, .. } if says(message))
    }

    /// Whether the object, or its kind, does not exist.
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

    use super::ClusterError;
    use crate::{Cluster, RemoteRules, SECRET};
    use bumpwright_api::ObjectName;

    #[test]
    fn a_list_is_refused_for_good_or_not_answered_now() {
        let refused = |code| ClusterError::Refused {
            code,
            reason: String::new(),
            message: String::new(),
        };
        for code in [400, 403, 404, 405, 406, 501] {
            assert!(refused(code).is_unlistable(), "{code}");
        }
        for code in [401, 408, 410, 429, 500, 502, 503, 504] {
            assert!(!refused(code).is_unlistable(), "{code}");
        }
        assert!(!ClusterError::Unreachable(String::new()).is_unlistable());
        assert!(!ClusterError::Deposed(ObjectName::new("a", "b")).is_unlistable());
    }

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
