//! The fields of a Kustomization's spec that decide what is built.

use serde_json::Value;

/// What of a Kustomization's spec decides what is built. Empty fields are as if they were not there.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs)] // each is named as its field, see the sections of the API document
pub struct Overlay {
    /// The directory to build, from the root of the artifact; confined to it (K-039, K-040).
    pub path: String,
    pub target_namespace: String,
    pub name_prefix: String,
    pub name_suffix: String,
    pub patches: Vec<Patch>,
    /// `patchesStrategicMerge` of v1beta1: objects (KB-003).
    pub patches_strategic_merge: Vec<Value>,
    /// `patchesJson6902` of v1beta1 (KB-004).
    pub patches_json6902: Vec<JsonPatch>,
    pub images: Vec<Image>,
    pub components: Vec<String>,
    pub ignore_missing_components: bool,
    pub build_metadata: Vec<String>,
    /// The flag `--no-remote-bases`: directories of repositories are refused, and files behind URLs, which Flux fetches.
    pub no_remote_bases: bool,
}

/// An entry of `patches`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// A strategic merge patch or a JSON patch, as text.
    pub patch: String,
    /// What it is for; by its own name if nothing.
    pub target: Option<Target>,
}

/// Which objects a patch is for. Empty fields fit all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs)] // each is named as its field
pub struct Target {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub annotation_selector: String,
    pub label_selector: String,
}

/// An entry of `patchesJson6902` of v1beta1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JsonPatch {
    /// The operations, in their order.
    pub patch: Vec<Operation>,
    /// What they are for.
    pub target: Target,
}

/// An operation of a JSON patch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operation {
    /// `add`, `remove`, `replace`, `move`, `copy` or `test`.
    pub op: String,
    /// Where.
    pub path: String,
    /// From where, for `move` and `copy`.
    pub from: String,
    /// What, for `add`, `replace` and `test`. A null counts as nothing, as with Flux.
    pub value: Option<Value>,
}

/// An entry of `images`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// The image as manifests name it, without a tag.
    pub name: String,
    /// Another name for it.
    pub new_name: String,
    /// Another tag.
    pub new_tag: String,
    /// A digest; then the tag does not count.
    pub digest: String,
}
