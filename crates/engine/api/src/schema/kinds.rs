//! All kinds with their schemas.

use super::crd::CustomResource;
use crate::{
    automation, bucket, external_artifact, git_repository, helm_chart, helm_repository, image_policy, image_repository,
    kustomization, oci_repository,
};

/// All kinds that bumpwright has a schema for, by group and name.
#[must_use]
pub fn custom_resources() -> Vec<CustomResource> {
    vec![
        image_policy::schema::definition(),
        image_repository::schema::definition(),
        automation::schema::definition(),
        kustomization::schema::definition(),
        bucket::schema::definition(),
        external_artifact::schema::definition(),
        git_repository::schema::definition(),
        helm_chart::schema::definition(),
        helm_repository::schema::definition(),
        oci_repository::schema::definition(),
    ]
}
