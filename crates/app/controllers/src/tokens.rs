//! Tokens of ServiceAccounts for identities at clouds (N-024, N-037, N-050).

use std::sync::{Arc, OnceLock};

use tokio::runtime::Handle;

use super::audiences::{audiences_of, is_kept};
use crate::parts::context::Context;
use bumpwright_api::{GitRepository, ObjectName, Objects};
use bumpwright_cloud::{
    CloudError, GitIdentity, Requester, ServiceAccounts, TokenRefusal, TokenRequest, Use, WorkloadIdentity,
};
use bumpwright_connect::ProviderAccount;
use bumpwright_connect::git::{GitConnection, GitLoginError};
use bumpwright_git::Remote;
use bumpwright_http::Deadline;
use bumpwright_kube::{Cluster, ClusterError, SERVICE_ACCOUNT};
use bumpwright_secret::Secret;

/// The ServiceAccounts of a cluster. Their tokens are requested on threads that may block, never on the runtime's own.
pub(crate) fn accounts(cluster: &Cluster, default: Option<String>) -> ServiceAccounts {
    let (cluster, runtime) = (cluster.clone(), Handle::current());
    // The audiences of the API server, which are the same for all tokens.
    let taken = OnceLock::new();
    let issue = move |request: &TokenRequest<'_>, deadline: Deadline| {
        let name = ObjectName::new(request.namespace, request.name);
        let issued = |audiences: &[&str], life| {
            let issued = cluster.issue_token(&name, audiences, life, deadline.left());
            runtime.block_on(issued).map_err(|error| match error.reason() {
                "Forbidden" => TokenRefusal::Forbidden(error.to_string()),
                _ => TokenRefusal::ApiServer(error.to_string()),
            })
        };
        if request.for_chosen {
            let taken = match taken.get() {
                Some(taken) => taken,
                None => {
                    let token = issued(&[], None)?;
                    let audiences = audiences_of(&token).ok_or(TokenRefusal::UnknownAudiences)?;
                    taken.get_or_init(|| audiences)
                }
            };
            if let Some(audience) = request.audiences.iter().find(|audience| is_kept(audience, taken)) {
                return Err(TokenRefusal::Audience((*audience).to_owned()));
            }
        }
        let token = issued(request.audiences, request.expiration)?;
        Ok(Secret::new(token.as_str()))
    };
    ServiceAccounts {
        default,
        issue: Arc::new(issue),
    }
}

/// Flux's prefix for errors of this process's token.
pub(crate) const OWN: &str = "failed to create provider access token for the controller";

/// Why the ServiceAccount of this process is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OwnAccountError {
    #[error("{OWN}: the API server does not say who the controller is: {0}")]
    Unanswered(ClusterError),
    /// It logs in by a certificate or as a person.
    #[error("{OWN}: its identity is not a ServiceAccount; name one by {field}")]
    NoServiceAccount { field: &'static str },
}

/// The ServiceAccount of this process. Flux reads its name from the Pod's token; the API server also knows it outside
/// of Pods. `field` can name another one.
pub(crate) async fn own(cluster: &Cluster, field: &'static str) -> Result<ObjectName, OwnAccountError> {
    let own = cluster.own_account().await.map_err(OwnAccountError::Unanswered)?;
    own.ok_or(OwnAccountError::NoServiceAccount { field })
}

/// The identity of the ServiceAccount `given` in `namespace`, by its
/// current annotations; as [`ServiceAccounts::identity`].
///
/// # Errors
/// The error `unread` for an answer that does not tell whether the ServiceAccount exists.
pub(crate) async fn identity<E>(
    context: &Context,
    accounts: &ServiceAccounts,
    (namespace, given): (&str, &str),
    wanted: Use,
    unread: impl FnOnce(ObjectName, ClusterError) -> E,
) -> Result<Result<Option<WorkloadIdentity>, CloudError>, E> {
    let annotations = match accounts.name(given) {
        None => None,
        Some(name) => {
            let name = ObjectName::new(namespace, name);
            match context.cluster.get(&SERVICE_ACCOUNT, &name).await {
                Ok(account) => Some(account.annotations),
                Err(error) if error.is_not_found() => None,
                Err(error) => return Err(unread(name, error)),
            }
        }
    };
    Ok(accounts.identity(namespace, given, annotations.as_ref(), wanted))
}

/// The remote of a Git repository with the login of its identity, if it has one, for the connecting object. Blocks. The
/// ServiceAccount is in the namespace of that object.
pub(crate) fn git_login(
    context: &Context,
    requester: Requester,
    repository: &GitRepository,
    objects: &Objects,
    connection: GitConnection,
) -> Result<Remote, GitLoginError> {
    let GitConnection {
        mut remote,
        mut identity,
        ..
    } = connection;
    remote.ssh.kex.clone_from(&context.settings.ssh_kex);
    remote.ssh.host_keys.clone_from(&context.settings.ssh_host_keys);
    if let Some(GitIdentity::Provider { service_account, .. }) = &mut identity {
        let account = ProviderAccount::of(repository).within(&requester.namespace);
        *service_account = account.identity(&context.accounts, objects, Use::Git)?;
    }
    if let Some(identity) = identity {
        remote.auth = context.identities.log_in(identity, &remote, requester)?;
    }
    Ok(remote)
}
