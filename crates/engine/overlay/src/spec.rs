//! The fields of a Kustomization's spec that decide what is built.

use serde_json::Value;

/// The fields of a Kustomization's spec that decide what is built. Empty fields count as absent.
#[derive(Debug, Clone, Default, PartialEq)]
// each is named as its field, see the sections of the API document
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
    /// The flag `--no-remote-bases`: directories of repositories are rejected, and files behind
    /// URLs, which Flux fetches.
    pub no_remote_bases: bool,
}

/// An entry of `patches`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// A strategic merge patch or a JSON patch, as text.
    pub patch: String,
    /// The objects to patch; without it, the one that the patch names.
    pub target: Option<Target>,
}

/// The objects of a patch. Empty fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
// each is named as its field
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
    /// The objects to patch.
    pub target: Target,
}

/// An operation of a JSON patch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operation {
    /// `add`, `remove`, `replace`, `move`, `copy` or `test`.
    pub op: String,
    pub path: String,
    /// The source path, for `move` and `copy`.
    pub from: String,
    /// The value, for `add`, `replace` and `test`. A null counts as absent, as with Flux.
    pub value: Option<Value>,
}

/// An entry of `images`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// The image as manifests name it, without a tag.
    pub name: String,
    pub new_name: String,
    pub new_tag: String,
    /// A digest; it takes precedence over the tag.
    pub digest: String,
}
