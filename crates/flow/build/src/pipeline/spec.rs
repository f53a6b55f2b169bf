//! The fields of a Kustomization that affect the build.

use bumpwright_api::{Json6902Operation, Json6902Patch, KustomizationSpec, ObjectSelector};
use bumpwright_overlay::{Image, JsonPatch, Operation, Overlay, Patch, Target};

/// Converts a spec. `no_remote_bases`: bases outside of the artifact are refused.
#[must_use]
pub fn overlay(spec: &KustomizationSpec, no_remote_bases: bool) -> Overlay {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Overlay {
        path: spec.path.clone(),
        target_namespace: text(&spec.target_namespace),
        name_prefix: text(&spec.name_prefix),
        name_suffix: text(&spec.name_suffix),
        patches: spec
            .patches
            .iter()
            .map(|patch| Patch {
                patch: patch.patch.clone(),
                target: patch.target.as_ref().map(target),
            })
            .collect(),
        patches_strategic_merge: spec.patches_strategic_merge.clone(),
        patches_json6902: spec.patches_json6902.iter().map(json_patch).collect(),
        images: spec
            .images
            .iter()
            .map(|image| Image {
                name: image.name.clone(),
                new_name: image.new_name.clone(),
                new_tag: image.new_tag.clone(),
                digest: image.digest.clone(),
            })
            .collect(),
        components: spec.components.clone(),
        ignore_missing_components: spec.ignore_missing_components,
        build_metadata: spec.build_metadata.clone(),
        no_remote_bases,
    }
}

fn target(selector: &ObjectSelector) -> Target {
    Target {
        group: selector.group.clone(),
        version: selector.version.clone(),
        kind: selector.kind.clone(),
        namespace: selector.namespace.clone(),
        name: selector.name.clone(),
        annotation_selector: selector.annotation_selector.clone(),
        label_selector: selector.label_selector.clone(),
    }
}

fn json_patch(patch: &Json6902Patch) -> JsonPatch {
    let operation = |operation: &Json6902Operation| Operation {
        op: operation.op.clone(),
        path: operation.path.clone(),
        from: operation.from.clone(),
        value: operation.value.clone(),
    };
    JsonPatch {
        patch: patch.patch.iter().map(operation).collect(),
        target: target(&patch.target),
    }
}
