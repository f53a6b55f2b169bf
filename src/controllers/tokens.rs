//! Tokens of ServiceAccounts for identities at clouds (gate `ObjectLevelWorkloadIdentity`; N-024, N-037, N-050).

use std::sync::Arc;

use tokio::runtime::Handle;

use super::context::Context;
use super::settings::Gates;
use bumpwright_api::{GitRepository, ObjectName, Objects};
use bumpwright_cloud::{CloudError, GitIdentity, Requester, ServiceAccounts, TokenRequest, Use, WorkloadIdentity};
use bumpwright_connect::ProviderAccount;
use bumpwright_connect::git::GitConnection;
use bumpwright_git::Remote;
use bumpwright_http::Deadline;
use bumpwright_kube::{Cluster, ClusterError, SERVICE_ACCOUNT};
use bumpwright_runtime::Outcome;
use bumpwright_secret::Secret;

/// The ServiceAccounts of a cluster. Their tokens are asked for on threads that may block, never on the runtime's own.
pub(crate) fn accounts(cluster: &Cluster, default: Option<String>) -> ServiceAccounts {
    let (cluster, runtime) = (cluster.clone(), Handle::current());
    let issue = move |request: &TokenRequest<'_>, deadline: Deadline| {
        let name = ObjectName::new(request.namespace, request.name);
        let issued = cluster.issue_token(&name, request.audiences, deadline.left());
        match runtime.block_on(issued) {
            Ok(token) => Ok(Secret::new(token.as_str())),
            Err(error) => Err(error.to_string()),
        }
    };
    ServiceAccounts {
        default,
        issue: Arc::new(issue),
    }
}

/// What Flux says before an error of the token of this process.
pub(crate) const OWN: &str = "failed to create provider access token for the controller";

/// The ServiceAccount that this process is. Flux reads its name out of the Pod's token; the API server knows it as well outside of
/// Pods. `field` is where another one can be named.
pub(crate) async fn own(cluster: &Cluster, field: &str) -> Result<ObjectName, String> {
    let own = cluster.own_account().await;
    let own = own.map_err(|error| format!("{OWN}: the API server does not say who the controller is: {error}"))?;
    own.ok_or_else(|| format!("{OWN}: it is no ServiceAccount; name one by {field}"))
}

/// The identity of the ServiceAccount of an object of `namespace` that names `given`, as its annotations have it now; as
/// [`ServiceAccounts::identity`].
///
/// # Errors
/// What `unread` makes of an answer of the API server that does not tell whether there is such a ServiceAccount.
pub(crate) async fn identity(
    context: &Context,
    accounts: &ServiceAccounts,
    (namespace, given): (&str, &str),
    wanted: Use,
    unread: impl FnOnce(&ObjectName, ClusterError) -> String,
) -> Result<Result<Option<WorkloadIdentity>, CloudError>, String> {
    let annotations = match accounts.name(given) {
        None => None,
        Some(name) => {
            let name = ObjectName::new(namespace, name);
            match context.cluster.get(&SERVICE_ACCOUNT, &name).await {
                Ok(account) => Some(account.annotations),
                Err(error) if error.is_not_found() => None,
                Err(error) => return Err(unread(&name, error)),
            }
        }
    };
    Ok(accounts.identity(namespace, given, annotations.as_ref(), wanted))
}

/// An object names a ServiceAccount for its provider while the gate is off.
#[derive(Debug, thiserror::Error)]
#[error(
    "to use {field} for {purpose} authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller"
)]
pub(crate) struct GateClosed {
    field: &'static str,
    purpose: &'static str,
}

impl GateClosed {
    pub(crate) const REASON: &str = "FeatureGateDisabled";

    /// The ServiceAccount is not for the provider but for the keys of encrypted files.
    pub(crate) fn for_decryption(self) -> Self {
        Self {
            purpose: "decryption",
            ..self
        }
    }
}

impl From<GateClosed> for Outcome {
    fn from(closed: GateClosed) -> Self {
        Self::stalled(GateClosed::REASON, &closed)
    }
}

/// Refuses an object that names the ServiceAccount `given` for its provider while the gate is off. `field` is what its message
/// calls the field.
pub(crate) fn check_gate(gates: Gates, given: &str, field: &'static str) -> Result<(), GateClosed> {
    match given.is_empty() || gates.object_level_identity {
        true => Ok(()),
        false => Err(GateClosed {
            field,
            purpose: "provider",
        }),
    }
}

/// Why the identity of a Git repository gives no credentials.
pub(crate) enum NoGitLogin {
    /// A feature is not switched on.
    Gate(GateClosed),
    /// In Flux' words.
    Failed(String),
}

/// The remote of a Git repository with the login of its identity, if it has one, for the object that connects. This blocks. The
/// ServiceAccount is one of the namespace of that object.
///
/// # Errors
/// [`NoGitLogin`]
pub(crate) fn git_login(
    context: &Context,
    requester: Requester,
    repository: &GitRepository,
    objects: &Objects,
    connection: GitConnection,
) -> Result<Remote, NoGitLogin> {
    let GitConnection {
        mut remote,
        mut identity,
        ..
    } = connection;
    remote.ssh.kex.clone_from(&context.settings.ssh_kex);
    remote.ssh.host_keys.clone_from(&context.settings.ssh_host_keys);
    if let Some(GitIdentity::Provider { service_account, .. }) = &mut identity {
        let account = ProviderAccount::of(repository).within(&requester.namespace);
        check_gate(context.settings.gates, account.given(), "spec.serviceAccountName").map_err(NoGitLogin::Gate)?;
        let found = account.identity(&context.accounts, objects, Use::Git);
        *service_account = found.map_err(|error| {
            let message = format!("failed to configure authentication options: {error}");
            NoGitLogin::Failed(message)
        })?;
    }
    if let Some(identity) = identity {
        let auth = context.identities.log_in(identity, &remote, requester);
        remote.auth = auth.map_err(NoGitLogin::Failed)?;
    }
    Ok(remote)
}
