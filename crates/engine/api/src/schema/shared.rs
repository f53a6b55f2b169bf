//! Schemas that all kinds share: durations, references, selectors, conditions.

use super::structural::{Schema, anything, boolean, int64, list, map, object, one_of, string, time};

/// `metav1.ObjectMeta`, as far as manifests have it. Fields that an API server adds may be anything.
pub(crate) fn object_meta() -> Schema {
    let schema = object()
        .field("name", string())
        .field("generateName", string())
        .field("namespace", string())
        .field("labels", map(&string()))
        .field("annotations", map(&string()))
        .field("finalizers", list(&string()));
    [
        "clusterName",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    ]
    .into_iter()
    .fold(schema, |schema, name| schema.field(name, anything()))
}

/// A duration of milliseconds to hours, as in v1 of all kinds.
pub(crate) fn duration() -> Schema {
    string().pattern(r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$")
}

/// A duration of milliseconds to minutes: v1's timeouts of one request to a registry or a bucket.
pub(crate) fn short_duration() -> Schema {
    string().pattern(r"^([0-9]+(\.[0-9]+)?(ms|s|m))+$")
}

/// A duration of a kind whose v1beta1 had no pattern, so that the controller got any text and read it as Go does. The
/// laxest pattern that still rejects what all versions reject: whatever Go reads as a duration, except negative ones,
/// with which no version ever reconciled the object again.
pub(crate) fn go_duration() -> Schema {
    string().pattern(r"^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$")
}

/// The name of an object in the same namespace (`LocalObjectReference`).
pub(crate) fn local_ref() -> Schema {
    object().field("name", string().required())
}

/// The name of an object, possibly in another namespace (`NamespacedObjectReference`).
pub(crate) fn namespaced_ref() -> Schema {
    object()
        .field("name", string().required())
        .field("namespace", string().about("The object's own namespace when absent"))
}

/// A source by kind and name; the caller says which kinds there are, and the default.
pub(crate) fn source_ref(kind: Schema) -> Schema {
    object()
        .field("apiVersion", string())
        .field("kind", kind.required())
        .field("name", string().required())
        .field("namespace", string().about("The object's own namespace when absent"))
}

/// `suspend`, which all kinds have.
pub(crate) fn suspend() -> Schema {
    boolean().about("Whether the object is left alone; what is under way is finished")
}

/// Which other namespaces may use the object (N-052).
pub(crate) fn access_from() -> Schema {
    let selector = object().field("matchLabels", map(&string()).about("None fit every namespace"));
    object()
        .about("Which other namespaces may use the object")
        .field("namespaceSelectors", list(&selector).required())
}

/// `metav1.LabelSelector`.
pub(crate) fn label_selector() -> Schema {
    let requirement = object()
        .field("key", string().required())
        .field("operator", string().required())
        .field("values", list(&string()).atomic_list());
    object()
        .field("matchLabels", map(&string()))
        .field("matchExpressions", list(&requirement).atomic_list())
        .atomic_map()
}

/// A plain list of `metav1.Condition`, as upstream has it: its writer owns the whole list.
pub(crate) fn conditions() -> Schema {
    const REASON: &str = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";
    const TYPE: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
    list(
        &object()
            .field("type", string().max_length(316).pattern(TYPE).required())
            .field("status", one_of(&["True", "False", "Unknown"]).required())
            .field(
                "reason",
                string().min_length(1).max_length(1024).pattern(REASON).required(),
            )
            .field("message", string().max_length(32768).required())
            .field("lastTransitionTime", time().required())
            .field("observedGeneration", int64().minimum(0)),
    )
}

/// The status fields of all kinds: the observed generation (-1 at first), the last handled reconcile request,
/// conditions.
pub(crate) fn reconciled_status() -> Schema {
    object()
        .default(crate::manifest::emit::Yaml::map([(
            "observedGeneration",
            crate::manifest::emit::Yaml::Number(-1),
        )]))
        .field("observedGeneration", int64())
        .field(
            "lastHandledReconcileAt",
            string().about("The last reconcile.fluxcd.io/requestedAt that was dealt with"),
        )
        .field("conditions", conditions())
}
