//! Several processes in the place of one: the component `deploy/shards`, put over the manifests of one process by the
//! rules of kustomize. So it is written once, and what is printed here has no comments where it changes something.

use super::manifests::{Installation, Manifest, manifest, moved, written};
use bumpwright_kube::{DEPLOYMENT, Kind, ROLE, SERVICE, STATEFUL_SET};
use bumpwright_kustomize::tree::{MemoryTree, Sealed};
use bumpwright_kustomize::{BuildError, Options, build};
use bumpwright_shards::BUCKETS;

/// Why objects cannot be shared by so many processes.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ShardsError {
    #[error(
        "--shards: at least 2 processes share objects, not {0}; without the flag one process has all of them, as a Deployment"
    )]
    Few(u32),
    #[error("--shards: at most {BUCKETS} processes share objects, not {0}: there are {BUCKETS} parts")]
    Many(u32),
    #[error("--shards: the manifests in this program do not fit each other: {0}")]
    Build(#[from] BuildError),
}

/// All objects of an installation of so many processes, in apply order; of one process for None.
///
/// # Errors
/// So many processes make no sense.
pub(in crate::cli) fn manifests(wanted: &Installation<'_>, members: Option<u32>) -> Result<Vec<Manifest>, ShardsError> {
    let Some(members) = members else {
        return Ok(super::manifests::manifests(wanted));
    };
    if members < 2 {
        return Err(ShardsError::Few(members));
    }
    if usize::try_from(members).is_ok_and(|members| members > BUCKETS) {
        return Err(ShardsError::Many(members));
    }
    let shared = shared(written(wanted), members)?;
    Ok(shared.into_iter().map(|one| moved(one, wanted.namespace)).collect())
}

/// The objects that an installation of one process does not have.
pub(in crate::cli) fn own_objects(namespace: &str) -> [Manifest; 2] {
    [service(), manifest(&STATEFUL_SET, "bumpwright", "")].map(|one| moved(one, namespace))
}

/// Puts the component over what it changes: the Deployment and the Role of leases.
fn shared(mut all: Vec<Manifest>, members: u32) -> Result<Vec<Manifest>, BuildError> {
    let mut tree = MemoryTree::new();
    let kustomization = format!(
        "resources: [deployments.yaml, roles.yaml]\ncomponents: [shards]\nreplicas: [{{name: bumpwright, count: {members}}}]\n"
    );
    tree.add_file("/kustomization.yaml", kustomization);
    tree.add_file(
        "/shards/kustomization.yaml",
        include_str!("../../../deploy/shards/kustomization.yaml"),
    );
    tree.add_file("/shards/service.yaml", service().text);
    for one in all.iter().filter(|one| is_changed(one)) {
        tree.add_file(&format!("/{}.yaml", one.kind.plural), one.text.as_bytes());
    }
    let built = build(&tree, "/", &Options::default(), &Sealed)?;
    for object in &built.objects {
        let mut text = String::new();
        built.write(object, &mut text)?;
        put(&mut all, object.kind(), text);
    }
    // The names of the pods come from it.
    let last = all.len().saturating_sub(1);
    all.insert(last, service());
    Ok(all)
}

/// A changed object in the place of what it was.
fn put(all: &mut [Manifest], kind: &str, text: String) {
    let before: &Kind = match kind {
        "StatefulSet" => &DEPLOYMENT,
        "Role" => &ROLE,
        _ => return,
    };
    let Some(one) = all.iter_mut().find(|one| is_changed(one) && *one.kind == *before) else {
        return;
    };
    if *before == DEPLOYMENT {
        one.kind = &STATEFUL_SET;
    }
    one.text = text;
}

fn is_changed(one: &Manifest) -> bool {
    *one.kind == DEPLOYMENT || is_role_of_leases(one)
}

/// Whether it is what processes need to find each other.
pub(super) fn is_role_of_leases(one: &Manifest) -> bool {
    *one.kind == ROLE && one.name.name == "bumpwright-leases"
}

fn service() -> Manifest {
    manifest(
        &SERVICE,
        "bumpwright-shards",
        include_str!("../../../deploy/shards/service.yaml"),
    )
}
