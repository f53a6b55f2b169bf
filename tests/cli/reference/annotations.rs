//! The annotations and labels that the program reads: ours from their list, those of others held against the source.

use std::fmt::Write;

use bumpwright_api::{ANNOTATION_PREFIX, ANNOTATIONS};

use super::markdown::{generated, item, paragraph};
use super::source::{files, texts};

/// An annotation or label of others: key, values and effect.
type Foreign = (&'static str, &'static str);

/// On objects of Flux's kinds.
const ON_OBJECTS: [Foreign; 5] = [
    (
        "reconcile.fluxcd.io/requestedAt",
        "any text; a new one asks for a reconciliation at once. It is copied to `status.lastHandledReconcileAt`.",
    ),
    (
        "reconcile.fluxcd.io/forceAt",
        "on a HelmRelease, the text of `requestedAt`: it is installed or upgraded once, also without a change (`reconcile --force`).",
    ),
    (
        "reconcile.fluxcd.io/resetAt",
        "on a HelmRelease, the text of `requestedAt`: its failures are forgotten (`reconcile --reset`).",
    ),
    (
        "event.toolkit.fluxcd.io/KEY",
        "any text; added to the metadata of each event of the object.",
    ),
    (
        "reconcile.fluxcd.io/watch",
        "`Enabled`, a label of ConfigMaps and Secrets: a change of them reconciles the Kustomizations that refer to them \
         (`--watch-configs-label-selector`).",
    ),
];

/// On objects that a Kustomization applies. The keys are put together from the group and the part after it.
const ON_APPLIED: [Foreign; 6] = [
    (
        "kustomize.toolkit.fluxcd.io/reconcile",
        "`disabled`: the object in the cluster is neither changed nor pruned (K-174).",
    ),
    (
        "kustomize.toolkit.fluxcd.io/prune",
        "`disabled`: the object is kept when it is no longer in the source (K-164).",
    ),
    (
        "kustomize.toolkit.fluxcd.io/force",
        "`enabled`: the object is recreated when an immutable field changes (K-163).",
    ),
    (
        "kustomize.toolkit.fluxcd.io/ssa",
        "`Override` (default), `Merge`, `IfNotPresent` or `Ignore` (K-162).",
    ),
    (
        "kustomize.toolkit.fluxcd.io/decrypt",
        "`disabled`: the object is applied as it is, encrypted (N-062). An annotation only.",
    ),
    (
        "kustomize.toolkit.fluxcd.io/substitute",
        "`disabled`: variables in the object are not substituted.",
    ),
];

/// Read of old controllers, and removed.
const LEFT_BEHIND: [Foreign; 4] = [
    (
        "kustomize.toolkit.fluxcd.io/checksum",
        "of Kustomizations before v1beta2: their objects are taken over once (C03), and the annotation is removed.",
    ),
    ("fluxcd.io/sync-checksum", "of Flux v1; removed."),
    ("fluxcd.io/sync-gc-mark", "of Flux v1, a label; removed."),
    (
        "kubectl.kubernetes.io/last-applied-configuration",
        "of `kubectl apply`; removed from applied objects. Never shown in differences.",
    ),
];

/// On ServiceAccounts, for identities at clouds and their own tokens.
const ON_ACCOUNTS: [Foreign; 12] = [
    ("eks.amazonaws.com/role-arn", "AWS: the role."),
    ("azure.workload.identity/client-id", "Azure: the client."),
    ("azure.workload.identity/tenant-id", "Azure: the tenant."),
    (
        "iam.gke.io/gcp-service-account",
        "Google: the service account to impersonate.",
    ),
    (
        "gcp.auth.fluxcd.io/workload-identity-provider",
        "Google: the pool and provider of a cluster outside of GKE.",
    ),
    (
        "credential.auth.fluxcd.io/provider",
        "`kubernetes`, with `type`: its own token is the login at a registry with `provider: generic`.",
    ),
    ("credential.auth.fluxcd.io/type", "`jwt`, with `provider`."),
    (
        "credential.auth.fluxcd.io/audiences",
        "audiences of its tokens, separated by commas or white space; default: the server that a token is for.",
    ),
    (
        "credential.auth.fluxcd.io/username",
        "a user name at the registry; without one the token is a bearer token.",
    ),
    (
        "credential.auth.fluxcd.io/expiration",
        "a duration such as 10m: the requested life of its tokens.",
    ),
    (
        "transit-engine.auth.fluxcd.io/login-path",
        "Vault and OpenBao: where it logs in for decryption, such as auth/kubernetes/login (N-061).",
    ),
    ("transit-engine.auth.fluxcd.io/role", "the role of that login."),
];

/// In kustomizations and their resources.
const OF_KUSTOMIZE: [Foreign; 6] = [
    (
        "config.kubernetes.io/local-config",
        "the resource is left out of the output.",
    ),
    (
        "config.kubernetes.io/function",
        "the function of a plugin's configuration.",
    ),
    ("config.k8s.io/function", "the older key of the same."),
    (
        "kustomize.config.k8s.io/needs-hash",
        "the name of the object gets a hash of its content.",
    ),
    (
        "kustomize.config.k8s.io/behavior",
        "`create`, `replace` or `merge`, on objects of generators that are programs.",
    ),
    (
        "app.kubernetes.io/managed-by",
        "a label, set with `--enable-managedby-label`.",
    ),
];

/// Keys in the source that nobody has to set: kustomize's own, set and removed within a build; and names
/// that are no annotations.
const OTHERS: [&str; 14] = [
    "config.k8s.io/id",
    "config.kubernetes.io/index",
    "config.kubernetes.io/path",
    "config.kubernetes.io/origin",
    "alpha.config.kubernetes.io/transformations",
    "kustomize.config.k8s.io/id",
    "kubernetes.io/dockerconfigjson",
    "kubernetes.io/dockercfg",
    "kubernetes.io/service-account-token",
    "kubernetes.io/metadata.name",
    // Labels of applied objects.
    "kustomize.toolkit.fluxcd.io/name",
    "kustomize.toolkit.fluxcd.io/namespace",
    // Labels of what helm-controller installs.
    "helm.toolkit.fluxcd.io/name",
    "helm.toolkit.fluxcd.io/namespace",
];

/// Domains of annotations and labels.
const DOMAINS: [&str; 8] = [
    "fluxcd.io/",
    "kubernetes.io/",
    "k8s.io/",
    "bumpwright.dev/",
    "amazonaws.com/",
    "gke.io/",
    "workload.identity/",
    "x-k8s.io/",
];

/// What the program itself writes down.
const STATE: [Foreign; 2] = [
    (
        "state.bumpwright.dev/rollout",
        "on an ImageUpdateAutomation: how far its rollout is (docs/guides/rollouts.md).",
    ),
    (
        "state.bumpwright.dev/failed-versions",
        "on an ImagePolicy: the versions that are held since they failed.",
    ),
];

fn sections() -> [(&'static str, &'static str, &'static [Foreign]); 6] {
    [
        (
            "Written by the controllers",
            "To be read; `bumpwright.dev/release` and `bumpwright policy --release` change what is held.",
            &STATE,
        ),
        ("On objects of Flux's kinds", "As in Flux.", &ON_OBJECTS),
        (
            "On objects that a Kustomization applies",
            "Annotations or labels, as in Flux. Values may be written in any case.",
            &ON_APPLIED,
        ),
        (
            "Left behind by other programs",
            "Read on applied objects.",
            &LEFT_BEHIND,
        ),
        (
            "On ServiceAccounts",
            "With `spec.serviceAccountName`; those of a cloud also with its `spec.provider`.",
            &ON_ACCOUNTS,
        ),
        ("In kustomizations", "As in kustomize.", &OF_KUSTOMIZE),
    ]
}

/// `annotations.md`.
pub fn page() -> String {
    let mut page = "# Annotations\n\n".to_owned();
    page.push_str(&generated("the annotations of the program"));
    page.push_str(&paragraph(
        "Those of `bumpwright.dev/` fail closed: with one that does not parse, or that the kind does not have, the object is not \
         acted upon, Ready is False with `InvalidAnnotation`, and the message has the key and the valid values. They apply on the \
         command line as in a cluster. Durations are written as in Go.",
    ));
    let mut kind = "";
    for annotation in ANNOTATIONS {
        if annotation.kind != kind {
            kind = annotation.kind;
            let end = if page.ends_with("\n\n") { "" } else { "\n" };
            write!(page, "{end}## On {kind}\n\n").unwrap();
        }
        let key = format!("{ANNOTATION_PREFIX}{}", annotation.key);
        page.push_str(&item(&key, &format!("{}. {}", annotation.value, annotation.effect)));
    }
    for (title, about, keys) in sections() {
        write!(page, "\n## {title}\n\n{}", paragraph(about)).unwrap();
        page.extend(keys.iter().map(|(key, effect)| item(key, effect)));
    }
    page
}

/// Each key on the page is one that the source reads, and each key in the source is on the page.
#[test]
fn keys_are_those_of_the_source() {
    let files = files();
    let known: Vec<&str> = sections()
        .iter()
        .flat_map(|(_, _, keys)| keys.iter().map(|(key, _)| *key))
        .collect();
    let mut literals = Vec::new();
    for (path, source) in &files {
        for (before, text) in texts(source) {
            let is_key = text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"./-_".contains(&byte));
            let name = DOMAINS.iter().find_map(|domain| Some(text.split_once(domain)?.1));
            if before.ends_with("Wish(") {
                literals.push((path, format!("kustomize.toolkit.fluxcd.io/{text}")));
            } else if is_key && name.is_some_and(|name| !name.is_empty() && !name.contains('/') && !is_version(name)) {
                literals.push((path, text.to_owned()));
            }
        }
    }
    assert!(literals.len() > 30, "{literals:?}");
    for (path, key) in &literals {
        let is_ours = key.starts_with(ANNOTATION_PREFIX) || key.starts_with("internal.config.kubernetes.io/");
        assert!(
            is_ours || known.contains(&key.as_str()) || OTHERS.contains(&key.as_str()),
            "{path}: {key} is in no section of docs/reference/annotations.md"
        );
    }
    for key in known.iter().filter(|key| !key.ends_with("/KEY")) {
        let prefixed = |text: &str| files.iter().any(|(_, source)| source.contains(text));
        assert!(
            literals.iter().any(|(_, literal)| literal == key) || prefixed(&format!("\"{key}=")),
            "{key}"
        );
    }
    assert!(
        files
            .iter()
            .any(|(_, source)| source.contains("\"event.toolkit.fluxcd.io/\""))
    );
}

fn is_version(name: &str) -> bool {
    name.strip_prefix('v')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
