//! Target clusters described by a ConfigMap, and the identity used for them (fluxcd/pkg `auth/utils`, `GetRESTConfig`;
//! K-105, K-112 … K-121).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;

use super::error::TargetError;
use crate::audiences::{audiences_of, is_kept};
use crate::parts::context::Context;
use crate::parts::remotes::RemoteKey;
use crate::{request_metrics, tokens};
use bumpwright_api::{Kustomization, ObjectName};
use bumpwright_cloud::{
    Cloud, ClusterLogin, ClusterPlace, ClusterProvider, ClusterRequest, CredentialSettings, ServiceAccounts, Use,
    WorkloadIdentity,
};
use bumpwright_connect::cluster::ClusterSettings;
use bumpwright_connect::requester;
use bumpwright_http::Deadline;
use bumpwright_kube::{Cluster, ClusterError, ServerToken, TokenSource, kubeconfig_place};
use bumpwright_runtime::blocking;
use bumpwright_secret::Secret;

/// Flux's prefix for errors of the identity.
pub(super) const DOING: &str = "failed to get access token for cluster";

/// How long a request to the cluster waits for its token.
const TOKEN: Duration = Duration::from_secs(30);

/// The cluster of a ConfigMap.
pub(crate) async fn cluster(
    context: &Context,
    kustomization: &Kustomization,
    map: &str,
) -> Result<Cluster, TargetError> {
    let namespace = kustomization.metadata.namespace_or_default();
    let settings = settings(context, ObjectName::new(namespace, map)).await?;
    let request = request(context, namespace, &settings).await?;
    let cloud = context.clouds.direct();
    let asking = cloud.asked_by(requester("Kustomization", &kustomization.metadata));
    let login = login(asking, Arc::clone(&request), kustomization.spec.timeout()).await?;
    let key = key(&request, &login);
    if let Some(cluster) = context.remotes.get(key, Instant::now()) {
        return Ok(cluster);
    }
    let (address, ca) = (&login.address, login.ca.as_deref());
    let on_answer = request_metrics::of_cluster(&context.metrics);
    let cluster = Cluster::with_tokens(address, ca, source(cloud, request), on_answer)?;
    context.remotes.put(key, namespace, &cluster, Instant::now());
    Ok(cluster)
}

async fn settings(context: &Context, name: ObjectName) -> Result<BTreeMap<String, String>, TargetError> {
    let data = context.configs.data(&name).await;
    data.map_err(|cause| TargetError::ConfigMap {
        name,
        cause: cause.into(),
    })
}

async fn request(
    context: &Context,
    namespace: &str,
    settings: &BTreeMap<String, String>,
) -> Result<Arc<ClusterRequest>, TargetError> {
    let ClusterSettings {
        place,
        audiences,
        service_account,
    } = ClusterSettings::read(settings)?;
    let named = account(context, namespace, &service_account).await?;
    let is_own = named.is_none() && place.provider == ClusterProvider::Generic;
    if named.is_none() {
        keep_own(context, &place)?;
    }
    let account = if is_own { Some(own(context).await?) } else { named };
    let account = account.map(|account| with_audiences(account, audiences)).transpose()?;
    if let Some(own) = account.as_ref().filter(|_| is_own) {
        refuse_audiences(context, own, &place.address).await?;
    }
    Ok(Arc::new(ClusterRequest {
        place,
        account,
        is_own,
        read_kubeconfig: |text| Ok(kubeconfig_place(text)?),
    }))
}

/// The account with the audiences of the ConfigMap, which its annotations replace.
fn with_audiences(account: WorkloadIdentity, audiences: Vec<String>) -> Result<WorkloadIdentity, TargetError> {
    let annotated = account.credential.opted_in || !account.credential.audiences.is_empty();
    match (audiences.is_empty(), annotated) {
        (true, _) => Ok(account),
        (false, true) => Err(TargetError::AudiencesTwice(ObjectName::new(
            &account.namespace,
            &account.name,
        ))),
        (false, false) => Ok(WorkloadIdentity {
            credential: CredentialSettings {
                audiences,
                ..account.credential
            },
            ..account
        }),
    }
}

/// Returns whether this process may use its own identity at a place that a ConfigMap describes. With tenant isolation
/// only an address from a cloud counts: another server would keep the token.
fn keep_own(context: &Context, place: &ClusterPlace) -> Result<(), TargetError> {
    let told_by_cloud = place.provider != ClusterProvider::Generic && (place.address.is_empty() || place.ca.is_empty());
    if told_by_cloud || !context.settings.keeps_tenants_apart() {
        Ok(())
    } else {
        Err(TargetError::OwnIdentityKept)
    }
}

/// Refuses to issue a token of this process that is valid at places other than the target cluster: at this
/// cluster's own API server, or at a cloud for this process's identity. The API server itself defines its
/// audiences, including the default one.
async fn refuse_audiences(context: &Context, own: &WorkloadIdentity, address: &str) -> Result<(), TargetError> {
    let name = ObjectName::new(&own.namespace, &own.name);
    let token = match context.cluster.issue_token(&name, &[], None, TOKEN).await {
        Ok(token) => token,
        Err(cause) => {
            let cause = cause.into();
            return Err(TargetError::OwnToken { name, cause });
        }
    };
    let taken = audiences_of(&token).ok_or(TargetError::UnknownAudiences(name))?;
    let audiences: Vec<&str> = match own.credential.audiences.as_slice() {
        [] => vec![address],
        given => given.iter().map(String::as_str).collect(),
    };
    match audiences.into_iter().find(|audience| is_kept(audience, &taken)) {
        None => Ok(()),
        Some(audience) => Err(TargetError::KeptAudience(audience.to_owned())),
    }
}

/// The ServiceAccount of the identity; none for this process.
async fn account(context: &Context, namespace: &str, given: &str) -> Result<Option<WorkloadIdentity>, TargetError> {
    let accounts = ServiceAccounts {
        default: context.settings.kustomize.default_kubeconfig_account.clone(),
        ..context.accounts.clone()
    };
    let unread = |name, cause: ClusterError| TargetError::Account {
        name,
        cause: cause.into(),
    };
    Ok(tokens::identity(context, &accounts, (namespace, given), Use::Cluster, unread).await??)
}

/// The identity of this process.
async fn own(context: &Context) -> Result<WorkloadIdentity, TargetError> {
    let own = tokens::own(
        &context.cluster,
        "serviceAccountName in the ConfigMap of the kubeconfig",
    )
    .await?;
    Ok(WorkloadIdentity {
        namespace: own.namespace,
        name: own.name,
        annotations: BTreeMap::new(),
        credential: CredentialSettings::default(),
        issue: Arc::clone(&context.accounts.issue),
    })
}

async fn login(cloud: Cloud, request: Arc<ClusterRequest>, timeout: Duration) -> Result<ClusterLogin, TargetError> {
    let ask = move || cloud.cluster_login(&request, Deadline::after(timeout));
    Ok(blocking::ask(ask).await??)
}

/// Source of the tokens for requests: a health check may outlast a token.
fn source(cloud: Cloud, request: Arc<ClusterRequest>) -> TokenSource {
    Arc::new(move |refused: Option<Secret>| {
        if let Some(token) = refused {
            cloud.forget_cluster_login(&token);
        }
        let login = login(cloud.clone(), Arc::clone(&request), TOKEN);
        let token = login.map(|login| {
            let login = login.map_err(|error| error.to_string())?;
            Ok(ServerToken {
                token: login.token,
                expires: login.expires,
            })
        });
        token.boxed()
    })
}

/// The key of a connected cluster: its place and the identity.
fn key(request: &ClusterRequest, login: &ClusterLogin) -> RemoteKey {
    let account = request.account.as_ref().map(|account| {
        (
            &account.namespace,
            &account.name,
            &account.annotations,
            &account.credential.audiences,
        )
    });
    RemoteKey::of(&(
        "config map",
        &request.place,
        &login.address,
        &login.ca,
        request.is_own,
        account,
    ))
}
