//! Images that failed are held at their policies.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::images::automation::context::AutomationContext;
use bumpwright_api::ObjectName;
use bumpwright_kube::{ClusterError, IMAGE_POLICY};
use bumpwright_policy::{FAILED_VERSIONS, FailedVersion, FailedVersions, LatestRef, PolicyName};
use bumpwright_rollout::{Failing, HeldImage, Record};
use bumpwright_runtime::clock;
use bumpwright_update::Policies;

/// Attempts of a write that others contest.
const ATTEMPTS: u32 = 5;

/// The field manager of the annotation.
const MANAGER: &str = "image-automation-controller";

/// The API server refuses to record an image at its policy.
#[derive(Debug, thiserror::Error)]
#[error("unable to hold {image} at ImagePolicy {policy}: {cause}")]
pub(super) struct NotHeld {
    image: LatestRef,
    policy: ObjectName,
    cause: ClusterError,
}

/// Holds the images of policies (`namespace/name`) since a Kustomization failed with them: for everybody at policies of
/// the automation's own namespace, for this automation alone at those of others.
pub(super) async fn hold(
    context: &AutomationContext,
    own: &str,
    images: &BTreeMap<String, String>,
    (kustomization, failing): (&str, &Failing),
    record: &mut Record,
) -> Result<(), NotHeld> {
    for (policy, image) in images {
        let Some((namespace, name)) = policy.split_once('/') else {
            continue;
        };
        if namespace != own {
            let held = HeldImage {
                image: image.clone(),
                kustomization: kustomization.to_owned(),
                message: failing.message.clone(),
            };
            record.hold(policy, held);
            continue;
        }
        let (image, failed) = version(image, kustomization, &failing.message, &failing.commit);
        let policy = ObjectName::new(namespace, name);
        if let Err(cause) = one(context, &policy, &image, &failed).await {
            return Err(NotHeld { image, policy, cause });
        }
    }
    Ok(())
}

/// Has a run leave the images alone that the automation holds at policies of other namespaces.
pub(super) fn respect(policies: &mut Arc<Policies>, record: &Record) {
    if record.held.is_empty() {
        return;
    }
    let policies = Arc::make_mut(policies);
    for (policy, held) in &record.held {
        let Some((namespace, name)) = policy.split_once('/') else {
            continue;
        };
        let (image, failed) = version(&held.image, &held.kustomization, &held.message, "");
        policies.hold(&PolicyName::new(namespace, name), &image, failed);
    }
}

fn version(image: &str, kustomization: &str, message: &str, commit: &str) -> (LatestRef, FailedVersion) {
    let (name, tag, digest) = LatestRef::split(image);
    let image = LatestRef {
        name: name.to_owned(),
        tag: tag.unwrap_or_default().to_owned(),
        digest: digest.map(str::to_owned),
    };
    let failed = FailedVersion {
        image: image.name.clone(),
        kustomization: kustomization.to_owned(),
        message: message.to_owned(),
        commit: commit.to_owned(),
        at: clock::now().unix_seconds(),
    };
    (image, failed)
}

async fn one(
    context: &AutomationContext,
    policy: &ObjectName,
    image: &LatestRef,
    failed: &FailedVersion,
) -> Result<(), ClusterError> {
    let cluster = &context.shared.cluster;
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let object = match cluster.get(&IMAGE_POLICY, policy).await {
            Ok(object) => object,
            // It is not written any more, either.
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut failures = FailedVersions::of(&object.annotations);
        if failures.get(image).is_some_and(|known| known.commit == failed.commit) {
            return Ok(());
        }
        failures.add(image, failed.clone());
        let metadata = json!({
            "resourceVersion": object.resource_version,
            "annotations": {FAILED_VERSIONS: failures.text()},
        });
        match cluster
            .patch(&IMAGE_POLICY, policy, MANAGER, &json!({"metadata": metadata}))
            .await
        {
            Ok(after) => {
                context.policies.wrote(&object.resource_version, after);
                return Ok(());
            }
            Err(error @ ClusterError::Conflict(_)) => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    last.map_or(Ok(()), Err)
}
