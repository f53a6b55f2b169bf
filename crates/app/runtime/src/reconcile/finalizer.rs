//! The finalizer of an object: added before anything is made for it, removed when all of that is gone.

use std::sync::Arc;

use serde_json::json;

use super::driver::{ATTEMPTS, Driver, Reconcile, ReconcileRequest, Suspension, contested};
use super::error::ReconcileError;
use bumpwright_kube::{ClusterError, Object};

/// The finalizer of Flux's controllers.
pub(super) const FINALIZER: &str = "finalizers.fluxcd.io";

impl<R: Reconcile> Driver<R> {
    /// Takes everything back that an object had before it became static (source-controller v1.9, `migrationToStatic`).
    pub(super) async fn leave(&self, request: &ReconcileRequest<'_>) -> Result<(), ReconcileError> {
        let object = request.object;
        let is_suspended = object
            .spec::<Suspension>()
            .is_some_and(|spec| spec.suspend == Some(true));
        let status = object.status();
        let fields: Vec<&String> = status.as_object().into_iter().flat_map(serde_json::Map::keys).collect();
        let has_finalizer = object.finalizers.iter().any(|finalizer| finalizer == FINALIZER);
        if is_suspended || (fields.is_empty() && !has_finalizer) {
            return Ok(());
        }
        self.reconciler.finalize(request).await?;
        self.reconciler.forgotten(&object.name).await;
        self.statuses.forget(&object.name);
        if !fields.is_empty() {
            let nothing: serde_json::Map<_, _> = fields.into_iter().map(|field| (field.clone(), json!(null))).collect();
            let cluster = &self.services.cluster;
            let patch = json!({ "status": nothing });
            cluster.patch_status(R::KIND, &object.name, R::MANAGER, &patch).await?;
        }
        self.patch_finalizers(object, |finalizers| finalizers.retain(|one| one != FINALIZER))
            .await
            .map(drop)
    }

    pub(super) async fn add_finalizer(&self, object: &Arc<Object>) -> Result<Arc<Object>, ReconcileError> {
        let added = self.patch_finalizers(object, |finalizers| {
            if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
                finalizers.push(FINALIZER.to_owned());
            }
        });
        added.await?.ok_or_else(|| ReconcileError::Gone {
            kind: R::KIND.kind,
            name: object.name.clone(),
        })
    }

    pub(super) async fn remove_finalizer(&self, object: &Arc<Object>) -> Result<(), ReconcileError> {
        self.queue.forget(&object.name);
        let left = self.patch_finalizers(object, |finalizers| {
            finalizers.retain(|finalizer| finalizer != FINALIZER)
        });
        left.await.map(drop)
    }

    /// Changes the finalizers, and returns the updated object; none when it is gone. Finalizers of others must
    /// not get lost: only the version that was read is written.
    async fn patch_finalizers(
        &self,
        object: &Arc<Object>,
        change: impl Fn(&mut Vec<String>),
    ) -> Result<Option<Arc<Object>>, ReconcileError> {
        let mut object = Arc::clone(object);
        for _ in 0..ATTEMPTS {
            let mut finalizers = object.finalizers.clone();
            change(&mut finalizers);
            if finalizers == object.finalizers {
                return Ok(Some(object));
            }
            let patch = json!({ "metadata": { "resourceVersion": object.resource_version, "finalizers": finalizers } });
            let cluster = &self.services.cluster;
            match cluster.patch(R::KIND, &object.name, R::MANAGER, &patch).await {
                Ok(after) => {
                    self.cache.wrote(&object.resource_version, after.clone());
                    return Ok(Some(Arc::new(after)));
                }
                Err(error) if error.is_not_found() => return Ok(None),
                Err(ClusterError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
            match self.writer().again(&object).await? {
                Some(now) => object = Arc::new(now),
                None => return Ok(None),
            }
        }
        Err(ReconcileError::Contested(contested(&object)))
    }
}
