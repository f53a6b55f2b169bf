//! The schema of `Kustomization` (`kustomize.toolkit.fluxcd.io`: v1beta1, v1beta2, v1).

use crate::manifest::emit::Yaml;
use crate::schema::crd::{AGE, CustomResource, READY, STATUS, version};
use crate::schema::shared::{go_duration, local_ref, reconciled_status, source_ref, suspend};
use crate::schema::structural::{Schema, anything, boolean, int64, list, map, object, one_of, string, time};

pub(crate) fn definition() -> CustomResource {
    let columns = [AGE, READY, STATUS];
    CustomResource {
        group: "kustomize.toolkit.fluxcd.io",
        kind: "Kustomization",
        plural: "kustomizations",
        short_names: &["ks"],
        category: "fluxcd-appliers",
        versions: vec![
            version("v1", &columns),
            version("v1beta2", &columns),
            version("v1beta1", &[READY, STATUS, AGE]),
        ],
        spec: with_apply(with_build(with_schedule(object()))),
        status: status(),
    }
}

/// Source and schedule. `OCIRepository` is v1beta2's and v1's, `ExternalArtifact` and `dependsOn.readyExpr` v1's.
///
/// v1beta1 has no pattern for the durations: [`go_duration`].
fn with_schedule(spec: Schema) -> Schema {
    let kind = one_of(&["OCIRepository", "GitRepository", "Bucket", "ExternalArtifact"]);
    let dependency = object()
        .field("name", string().required())
        .field("namespace", string())
        .field(
            "readyExpr",
            string().about("CEL over self and dep, in place of the Ready condition"),
        );
    spec.field(
        "sourceRef",
        source_ref(kind).about("Where the files come from").required(),
    )
    .field("path", string().about("A folder of the source; its root when absent"))
    .field("interval", go_duration().about("How often at least").required())
    .field(
        "retryInterval",
        go_duration().about("How soon after a failure; the interval when absent"),
    )
    .field(
        "timeout",
        go_duration().about("Deadline of building, applying and health checks"),
    )
    .field(
        "dependsOn",
        list(&dependency).about("Kustomizations that must be ready first"),
    )
    .field("suspend", suspend())
}

/// Build settings. `patchesJson6902` and `patchesStrategicMerge` are the betas'; `components`, `commonMetadata` are
/// v1beta2's and v1's; `buildMetadata`, `ignore`, `ignoreMissingComponents`, `namePrefix`, `nameSuffix` v1's.
fn with_build(spec: Schema) -> Schema {
    let image = object()
        .field("name", string().required())
        .field("newName", string())
        .field("newTag", string())
        .field("digest", string());
    let metadata = object()
        .about("Labels and annotations for all objects")
        .field("labels", map(&string()))
        .field("annotations", map(&string()));
    let affix = || string().min_length(1).max_length(200);
    let ignored = object()
        .field("target", selector())
        .field("paths", list(&string()).about("JSON pointers").required());
    spec.field(
        "components",
        list(&string()).about("Kustomize components to add, relative to path"),
    )
    .field("ignoreMissingComponents", boolean())
    .field("targetNamespace", string().min_length(1).max_length(63))
    .field("namePrefix", affix())
    .field("nameSuffix", affix())
    .field("commonMetadata", metadata)
    .field(
        "images",
        list(&image).about("Names, tags and digests to put in place of others"),
    )
    .field("patches", list(&patch()))
    .field("patchesStrategicMerge", list(&anything()))
    .field("patchesJson6902", list(&json_patch()))
    .field("postBuild", post_build())
    .field("decryption", decryption())
    .field(
        "ignore",
        list(&ignored).about("Fields that are left as they are in the cluster"),
    )
    .field(
        "buildMetadata",
        list(&one_of(&["originAnnotations", "transformerAnnotations"])),
    )
}

/// `kubeConfig`: v1beta1 requires its `secretRef`, the others either that or a `configMapRef`. `validation` is the
/// betas' (docs/decisions.md C05); `wait` is v1beta2's and v1's; `deletionPolicy` and `healthCheckExprs` are v1's.
fn with_apply(spec: Schema) -> Schema {
    spec.field(
        "prune",
        boolean()
            .about("Whether objects that left the source are deleted")
            .required(),
    )
    .field(
        "deletionPolicy",
        one_of(&["MirrorPrune", "Delete", "WaitForTermination", "Orphan"])
            .about("What becomes of the objects with the Kustomization; MirrorPrune when absent"),
    )
    .field(
        "force",
        boolean()
            .default(Yaml::Flag(false))
            .about("Whether objects are recreated when an immutable field changes"),
    )
    .field("wait", boolean().about("Whether all objects must become ready"))
    .field(
        "healthChecks",
        list(&object_ref()).about("Objects that must become ready"),
    )
    .field("healthCheckExprs", list(&health_expressions()))
    .field("serviceAccountName", string().about("The service account to apply as"))
    .field("kubeConfig", kube_config())
    .field(
        "validation",
        one_of(&["none", "client", "server"]).about("How objects are checked before they are applied"),
    )
}

fn patch() -> Schema {
    object()
        .field(
            "patch",
            string().about("A strategic merge or JSON 6902 patch").required(),
        )
        .field("target", selector())
}

fn json_patch() -> Schema {
    let operation = object()
        .field(
            "op",
            one_of(&["test", "remove", "add", "replace", "move", "copy"]).required(),
        )
        .field("path", string().required())
        .field("from", string())
        .field("value", anything());
    object()
        .field("patch", list(&operation).required())
        .field("target", selector().required())
}

/// A selection of objects by regular expressions on their identity, and by selectors.
fn selector() -> Schema {
    [
        "group",
        "version",
        "kind",
        "name",
        "namespace",
        "labelSelector",
        "annotationSelector",
    ]
    .into_iter()
    .fold(object(), |schema, name| schema.field(name, string()))
}

/// `optional` is v1beta2's and v1's, `substituteStrategy` v1's.
fn post_build() -> Schema {
    let from = object()
        .field("kind", one_of(&["Secret", "ConfigMap"]).required())
        .field("name", string().min_length(1).max_length(253).required())
        .field("optional", boolean().default(Yaml::Flag(false)));
    object()
        .about("Variables to replace in the manifests")
        .field("substitute", map(&string()))
        .field(
            "substituteFrom",
            list(&from).about("Objects with variables; later ones win"),
        )
        .field("substituteStrategy", one_of(&["WithVariables", "Always"]))
}

/// `serviceAccountName` is v1's.
fn decryption() -> Schema {
    object()
        .about("How secrets in the source are decrypted")
        .field("provider", one_of(&["sops"]).required())
        .field("secretRef", local_ref().about("A Secret with the keys"))
        .field(
            "serviceAccountName",
            string().about("The service account whose identity is used at the key service"),
        )
}

fn object_ref() -> Schema {
    object()
        .field("apiVersion", string())
        .field("kind", string().required())
        .field("name", string().required())
        .field("namespace", string())
}

fn health_expressions() -> Schema {
    object()
        .field("apiVersion", string().required())
        .field("kind", string())
        .field(
            "current",
            string().about("CEL that is true when the object is ready").required(),
        )
        .field("inProgress", string())
        .field("failed", string())
}

fn kube_config() -> Schema {
    const ONE: &str = "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef must be specified";
    let secret = object()
        .field("name", string().required())
        .field("key", string().about("value or value.yaml when absent"));
    object()
        .about("The cluster to apply to; this one when absent")
        .field("secretRef", secret)
        .field("configMapRef", local_ref())
        .rule("has(self.configMapRef) || has(self.secretRef)", ONE)
        .rule("!has(self.configMapRef) || !has(self.secretRef)", ONE)
}

/// `snapshot` is v1beta1's (docs/decisions.md C03); `inventory` is v1beta2's and v1's; `history` and
/// `lastAppliedOriginRevision` are v1's.
fn status() -> Schema {
    let entry = object()
        .field("id", string().about("<namespace>_<name>_<group>_<kind>").required())
        .field("v", string().about("The version").required());
    let kinds = object()
        .field("namespace", string())
        .field("kinds", map(&string()).required());
    reconciled_status()
        .field("lastAppliedRevision", string())
        .field("lastAttemptedRevision", string())
        .field("lastAppliedOriginRevision", string())
        .field("inventory", object().field("entries", list(&entry).required()))
        .field("history", list(&history_entry()))
        .field(
            "snapshot",
            object()
                .field("checksum", string().required())
                .field("entries", list(&kinds).required()),
        )
}

fn history_entry() -> Schema {
    object()
        .field("digest", string().required())
        .field("firstReconciled", time().required())
        .field("lastReconciled", time().required())
        .field("lastReconciledDuration", string().required())
        .field("lastReconciledStatus", string().required())
        .field("totalReconciliations", int64().required())
        .field("metadata", map(&string()))
}
