//! A look at the stage that a policy promotes from: a Kustomization here or in another cluster, its
//! workloads and their pods.

use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use serde_json::Value;

use super::error::Error;
use super::stage_error::StageError;
use crate::images::context::ImagesContext;
use crate::kustomizations::cluster;
use crate::kustomizations::health::selector_text;
use bumpwright_api::{Kustomization, ObjectId, ObjectName, SecretKeyRef};
use bumpwright_json::Texts as _;
use bumpwright_kube::{
    Answered, Cluster, ClusterError, DAEMON_SET, DEPLOYMENT, HELM_RELEASE, KUSTOMIZATION, POD, Resource, STATEFUL_SET,
};
use bumpwright_policy::Promotion;
use bumpwright_rollout::{Inventory, MOST_PODS, Proof, Workload, runs};
use bumpwright_runtime::clock;

/// How long a look takes at most: a worker waits for it.
pub(super) const LONGEST: Duration = Duration::from_secs(10);

/// How long to wait for the first list of Kustomizations; in a cluster without the kind it never comes.
const LISTED: Duration = Duration::from_secs(5);

/// The most HelmReleases of a Kustomization that are looked into.
const RELEASES: usize = 50;

/// The number of requests at a time.
const TOGETHER: usize = 8;

/// Checks that a policy of the namespace `own` may name the Kustomization. In another cluster the rights are
/// those of its kubeconfig.
pub(super) fn check_access(context: &ImagesContext, own: &str, promotion: &Promotion) -> Result<(), Error> {
    let is_foreign = promotion.kubeconfig.is_none() && promotion.namespace != own;
    if is_foreign && context.shared.settings.no_cross_namespace_refs {
        Err(Error::PromotionDenied(format!(
            "cannot access 'Kustomization/{}/{}', cross-namespace references have been blocked",
            promotion.namespace, promotion.name
        )))
    } else {
        Ok(())
    }
}

/// What the Kustomization proves about images of `repository` for a policy of the namespace `own`.
pub(super) async fn proof(
    context: &ImagesContext,
    own: &str,
    promotion: &Promotion,
    repository: &str,
) -> Result<Proof, StageError> {
    let looked = tokio::time::timeout(LONGEST, look(context, own, promotion, repository)).await;
    looked.unwrap_or(Err(StageError::Late))
}

async fn look(
    context: &ImagesContext,
    own: &str,
    promotion: &Promotion,
    repository: &str,
) -> Result<Proof, StageError> {
    let name = ObjectName::new(&promotion.namespace, &promotion.name);
    let (inventory, reader) = match &promotion.kubeconfig {
        None => here(context, own, &name).await?,
        Some(secret) => elsewhere(context, own, secret, &name).await?,
    };
    let inventory = reader.with_releases(inventory).await?;
    let observed = reader.workloads(&inventory, repository).await?;
    let workloads: Vec<Workload<'_>> = observed
        .iter()
        .map(|(id, object, pods)| Workload { id, object, pods })
        .collect();
    Ok(inventory.prove(repository, &workloads, &clock::now())?)
}

/// A Kustomization of this cluster.
async fn here(context: &ImagesContext, own: &str, name: &ObjectName) -> Result<(Inventory, Reader), StageError> {
    let kustomizations = &context.kustomizations;
    kustomizations.need();
    let _ = tokio::time::timeout(LISTED, kustomizations.listed()).await;
    let Some(object) = kustomizations.get(name) else {
        kustomizations.is_listed().map_err(StageError::Unlisted)?;
        return Err(StageError::Absent);
    };
    let inventory = Inventory::of(&object.status(), object.generation)?;
    let kustomization: Kustomization = object.read(&KUSTOMIZATION)?;
    let shared = &context.shared;
    cluster::check_login(shared, &kustomization)?;
    let cluster = cluster::of(shared, &kustomization).await?.cluster;
    let reader = Reader {
        cluster: cluster.within(shared.settings.builds.of(own)),
        account: cluster::account(shared, &kustomization).map(|account| account.to_string()),
        is_own: kustomization.spec.kube_config.is_none(),
    };
    Ok((inventory, reader))
}

/// A Kustomization of the cluster of a kubeconfig, which says with which rights it is read.
async fn elsewhere(
    context: &ImagesContext,
    own: &str,
    secret: &str,
    name: &ObjectName,
) -> Result<(Inventory, Reader), StageError> {
    let shared = &context.shared;
    let reference = SecretKeyRef {
        name: secret.to_owned(),
        key: None,
    };
    let cluster = cluster::of_secret(shared, own, &reference)
        .await?
        .led_by(&shared.cluster);
    let cluster = cluster.within(shared.settings.builds.of(own));
    let object = cluster.fetch(&Resource::of(&KUSTOMIZATION, true), name).await;
    let object = object.map_err(|error| {
        if error.is_not_found() {
            StageError::Absent
        } else {
            StageError::Cluster(error)
        }
    })?;
    let generation = object.pointer("/metadata/generation").and_then(Value::as_i64);
    let status = object.get("status").unwrap_or(&Value::Null);
    let inventory = Inventory::of(status, generation.unwrap_or_default())?;
    let reader = Reader {
        cluster,
        account: None,
        is_own: false,
    };
    Ok((inventory, reader))
}

/// A workload and its pods.
type Seen = (ObjectId, Answered<Value>, Answered<Vec<Value>>);

/// Reads workloads and pods.
struct Reader {
    cluster: Cluster,
    /// The account that is impersonated. The controller's own rights never take its place: who names an account
    /// would read with more.
    account: Option<String>,
    /// Whether it reads with the rights of the controller, if nobody is impersonated.
    is_own: bool,
}

impl Reader {
    /// Adds what HelmReleases install. One that may not be read, or is too many, is not looked into: its Kustomization
    /// may prove the image without it.
    async fn with_releases(&self, inventory: Inventory) -> Result<Inventory, StageError> {
        let names = inventory.helm_releases.clone();
        let requests = names.iter().take(RELEASES);
        let requests: Vec<BoxFuture<'_, _>> = requests.map(|name| self.release(name).boxed()).collect();
        let answers: Vec<(&ObjectName, Result<Answered<Value>, StageError>)> =
            futures::stream::iter(requests).buffered(TOGETHER).collect().await;
        let mut inventory = inventory;
        for (name, object) in answers {
            inventory = match object {
                Ok(object) => inventory.with_release(name, &object)?,
                Err(why) => inventory.without_release(name, &why.to_string()),
            };
        }
        for name in names.iter().skip(RELEASES) {
            inventory = inventory.without_release(name, &format!("its Kustomization has more than {RELEASES}"));
        }
        Ok(inventory)
    }

    async fn release<'n>(&self, name: &'n ObjectName) -> (&'n ObjectName, Result<Answered<Value>, StageError>) {
        let object = self.cluster.fetch(&Resource::of(&HELM_RELEASE, true), name).await;
        (name, object.map_err(|error| self.unread(error)))
    }

    /// The workloads that run an image of `repository`, with their pods.
    async fn workloads(&self, inventory: &Inventory, repository: &str) -> Result<Vec<Seen>, StageError> {
        let ids = inventory.workloads.iter();
        let requests: Vec<BoxFuture<'_, _>> = ids.map(|id| self.workload(id, repository).boxed()).collect();
        let answers: Vec<Result<Option<Seen>, StageError>> =
            futures::stream::iter(requests).buffered(TOGETHER).collect().await;
        answers.into_iter().filter_map(Result::transpose).collect()
    }

    async fn workload(&self, id: &ObjectId, repository: &str) -> Result<Option<Seen>, StageError> {
        let Some(resource) = resource(id) else { return Ok(None) };
        let object = self.cluster.fetch(&resource, &id.name).await;
        let object = object.map_err(|error| {
            if error.is_not_found() {
                StageError::NoWorkload(id.clone())
            } else {
                self.unread(error)
            }
        })?;
        if !runs(&object, repository) {
            return Ok(None);
        }
        let selector = selector_text(object.value_at("/spec/selector"));
        if selector.is_empty() {
            return Err(StageError::NoSelector(id.clone()));
        }
        let pods = Resource::of(&POD, true);
        let pods = self
            .cluster
            .list_few(&pods, (&id.name.namespace, &selector), MOST_PODS)
            .await;
        let pods = pods.map_err(|error| self.unread(error))?;
        Ok(Some((id.clone(), object, pods)))
    }

    /// With the way out, where rights are missing.
    fn unread(&self, cause: ClusterError) -> StageError {
        match &self.account {
            Some(account) if cause.is_not_impersonated() => {
                let account = account.clone();
                StageError::NotImpersonated { cause, account }
            }
            None if self.is_own && cause.is_forbidden() => StageError::Forbidden(cause),
            _ => StageError::Cluster(cause),
        }
    }
}

fn resource(id: &ObjectId) -> Option<Resource> {
    let kinds = [&DEPLOYMENT, &STATEFUL_SET, &DAEMON_SET];
    let kind = kinds.into_iter().find(|kind| kind.kind == id.kind)?;
    Some(Resource::of(kind, true))
}
