//! Signatures beside images in a registry, as cosign stores them.

use serde_json::{Value as Json, json};

use crate::fixture::images::{Images, Media};

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// Stores the bundles of cosign 3 about an image as its referrers, in place of others.
pub fn bundles(images: &Images, repository: &str, digest: &str, bundles: &[Json]) {
    let entries = bundles.iter().map(|bundle| {
        let text = bundle.to_string();
        let layer =
            json!({"mediaType": BUNDLE, "digest": images.blob(repository, text.as_bytes()), "size": text.len()});
        refer(images, repository, digest, BUNDLE, &layer)
    });
    referrers(images, repository, digest, &entries.collect::<Vec<_>>());
}

/// Stores a signature of cosign 2 below its tag: a small text about the image, with the signature in the
/// annotations of its layer.
pub fn simple(images: &Images, repository: &str, digest: &str, content: &str, annotations: &Json) {
    let media = "application/vnd.dev.cosign.simplesigning.v1+json";
    let blob = images.blob(repository, content.as_bytes());
    let layer = json!({"mediaType": media, "digest": blob, "size": content.len(), "annotations": annotations});
    let manifest = manifest(images, repository, &[layer]);
    let tag = format!("{}.sig", digest.replace(':', "-"));
    images.tag(repository, &tag, &images.manifest(repository, &manifest));
}

/// The manifest of a referrer with one layer; returns its entry in the index.
fn refer(images: &Images, repository: &str, digest: &str, kind: &str, layer: &Json) -> Json {
    let mut manifest = manifest(images, repository, std::slice::from_ref(layer));
    manifest["artifactType"] = json!(kind);
    manifest["subject"] = json!({"mediaType": Media::Oci.manifest(), "digest": digest, "size": 1});
    let size = manifest.to_string().len();
    let digest = images.manifest(repository, &manifest);
    json!({"mediaType": Media::Oci.manifest(), "digest": digest, "size": size, "artifactType": kind})
}

/// The index of an image's referrers, below its tag: distribution has no API for them.
fn referrers(images: &Images, repository: &str, digest: &str, entries: &[Json]) {
    let index = json!({"schemaVersion": 2, "mediaType": Media::Oci.index(), "manifests": entries});
    images.tag(
        repository,
        &digest.replace(':', "-"),
        &images.manifest(repository, &index),
    );
}

fn manifest(images: &Images, repository: &str, layers: &[Json]) -> Json {
    let config = images.blob(repository, b"{}");
    json!({"schemaVersion": 2, "mediaType": Media::Oci.manifest(),
        "config": {"mediaType": EMPTY, "digest": config, "size": 2}, "layers": layers})
}
