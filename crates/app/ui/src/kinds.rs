//! The kinds that pages are made of.

use bumpwright_kube::{
    BUCKET, EVENT, EXTERNAL_ARTIFACT, GIT_REPOSITORY, HELM_CHART, HELM_RELEASE, HELM_REPOSITORY, IMAGE_POLICY,
    IMAGE_REPOSITORY, IMAGE_UPDATE_AUTOMATION, KUSTOMIZATION, Kind, OCI_REPOSITORY,
};

/// The kinds that pages show.
pub(super) static KINDS: [&Kind; 11] = [
    &IMAGE_POLICY,
    &IMAGE_REPOSITORY,
    &IMAGE_UPDATE_AUTOMATION,
    &KUSTOMIZATION,
    &GIT_REPOSITORY,
    &OCI_REPOSITORY,
    &BUCKET,
    &EXTERNAL_ARTIFACT,
    &HELM_REPOSITORY,
    &HELM_CHART,
    &HELM_RELEASE,
];

/// The kind of a name, with that of events.
pub(super) fn named(name: &str) -> Option<&'static Kind> {
    let kinds = KINDS.into_iter().chain([&EVENT]);
    kinds.into_iter().find(|kind| kind.kind == name)
}
