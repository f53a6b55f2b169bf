//! The `bumpwright.dev/…` annotations of each kind (docs/cli.md, *Annotations*). An unknown key is misspelt or belongs
//! to another kind: its author relies on something that would not happen, so the object is not acted upon.

use std::collections::BTreeMap;

use bumpwright_nearest::nearest;
use bumpwright_policy::InvalidAnnotation;

pub use bumpwright_policy::ANNOTATION_PREFIX;

/// An annotation of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The kind that has it.
    pub kind: &'static str,
    /// The key, without the prefix.
    pub key: &'static str,
    pub value: &'static str,
    pub effect: &'static str,
}

const fn annotation(kind: &'static str, key: &'static str, value: &'static str, effect: &'static str) -> Annotation {
    Annotation {
        kind,
        key,
        value,
        effect,
    }
}

const WINDOWS: &str = "windows of the week such as \"Mon-Fri 09:00-16:00 Europe/Berlin\"";

/// In the place of a kind: objects of any kind have the annotation.
const ANY: &str = "any object";

/// All of ours, by kind and key.
pub const ANNOTATIONS: &[Annotation] = &[
    annotation(
        "GitRepository",
        "review",
        "\"true\", \"false\" (default), github, gitea or gitlab",
        "With controller --reviews, the open pull requests into the branch of this repository are reviewed. The API of the forge follows from the hosts of GitHub and GitLab; else it is named here.",
    ),
    annotation(
        "GitRepository",
        "review-api",
        "an http or https URL",
        "The API of the forge; default: derived from the URL of the repository.",
    ),
    annotation(
        "GitRepository",
        "review-comment",
        "\"true\" or \"false\" (default)",
        "With \"true\", the review is one comment at the pull request, beside the commit status.",
    ),
    annotation(
        "GitRepository",
        "review-forks",
        "\"true\" or \"false\" (default)",
        "With \"true\", pull requests of forks are reviewed as well: without Secrets, and without asking any other server. At GitLab \
         only with `bumpwright.dev/review-comment`: their commits take no status there.",
    ),
    annotation(
        "GitRepository",
        "review-name",
        "1 to 40 letters, digits, '.', '_' and '-'",
        "A name for the status and the comment, where several clusters review the same pull requests.",
    ),
    annotation(
        "GitRepository",
        "review-release-notes",
        "\"true\" or \"false\" (default)",
        "With \"true\", reviews say what the releases of new images are that ImageRepositories of the namespace name. Not for forks.",
    ),
    annotation(
        "GitRepository",
        "review-secret",
        "the name of a Secret",
        "The Secret with `token` for the API; default: the one of the GitRepository.",
    ),
    annotation(
        "ImagePolicy",
        "allow-automations-from",
        "namespaces such as team-a,team-b, labels of namespaces such as env=prod,team in (a,b), or *",
        "Automations there may use the policy, besides those of its own namespace.",
    ),
    annotation(
        "ImagePolicy",
        "allow-downgrade",
        "\"true\" (default) or \"false\"",
        "With \"false\", a lower version than the one in Git is not written.",
    ),
    annotation(
        "ImagePolicy",
        "hold",
        "a reason in free text",
        "Nothing is changed by this policy as long as it is there.",
    ),
    annotation(
        "ImagePolicy",
        "hold-until",
        "a time (RFC 3339)",
        "Nothing is changed by this policy before that time.",
    ),
    annotation(
        "ImagePolicy",
        "minimum-age",
        "a duration such as 72h",
        "The newest image that is so old is taken; one of unknown age is too young.",
    ),
    annotation(
        "ImagePolicy",
        "promote-from",
        "Kustomization/NAMESPACE/NAME",
        "Only the version that this Kustomization's workloads run now, in good health for as long as soak says, is taken.",
    ),
    annotation(
        "ImagePolicy",
        "promote-kubeconfig",
        "the name of a Secret",
        "The Secret with the kubeconfig (key `value` or `value.yaml`) of the cluster that has the Kustomization of promote-from.",
    ),
    annotation(
        "ImagePolicy",
        "promote-path",
        "a path of the repository such as clusters/staging",
        "Only tags are written that a marked field of the same image below that path has, in Git, for as long as soak says.",
    ),
    annotation(
        "ImagePolicy",
        "release",
        "a tag such as 1.2.3, or several with commas between them",
        "Versions that failed in a cluster are written again.",
    ),
    annotation(
        "ImagePolicy",
        "soak",
        "a duration such as 24h; default: 0s",
        "How long the workloads of promote-from have been healthy without a break, or the fields below promote-path have had a tag.",
    ),
    annotation(
        "ImagePolicy",
        "verify-attestation",
        "slsaprovenance",
        "With cosign, an image needs SLSA's provenance (0.2 or 1) instead of a signature.",
    ),
    annotation(
        "ImagePolicy",
        "verify-builder-id",
        "the id of a builder",
        "With verify-attestation, only the provenance of this builder counts.",
    ),
    annotation(
        "ImagePolicy",
        "verify-fallback",
        "\"true\" or \"false\" (default)",
        "With \"true\", the next lower tag whose signature counts is chosen, among the ten highest.",
    ),
    annotation(
        "ImagePolicy",
        "verify-identity",
        "a line for each identity: issuer=TEXT subject=TEXT, or ~ in place of = before a regular expression of the whole text",
        "With cosign, keyless signatures of these identities count.",
    ),
    annotation(
        "ImagePolicy",
        "verify-provider",
        "cosign or notation",
        "An image without a signature that counts is not chosen.",
    ),
    annotation(
        "ImagePolicy",
        "verify-secret",
        "the name of a Secret",
        "The keys whose signatures count: of cosign (`*.pub`); or certificates (`*.crt`, `*.pem`) and `trustpolicy.json` of Notation.",
    ),
    annotation(
        "ImagePolicy",
        "verify-trusted-root",
        "Secret/NAME or ConfigMap/NAME",
        "With verify-identity, the `trusted_root.json` of one's own Sigstore; default: that of the public instance, as of the release.",
    ),
    annotation(
        "ImagePolicy",
        "window",
        WINDOWS,
        "Outside of it nothing is changed by this policy.",
    ),
    annotation(
        "ImageRepository",
        "kind",
        "oci (default), helm or git-tags",
        "With helm, spec.image is a Helm repository with a chart's name behind it, and its versions are those of index.yaml; with git-tags a Git repository.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "dry-run",
        "\"true\" or \"false\" (default)",
        "With \"true\", what would be pushed is reported, and nothing is.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "failure-after",
        "a duration such as 10m, which is the default",
        "How long a Kustomization fails with the pushed images before on-failure is done.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "follow",
        "\"true\" or \"false\" (default)",
        "With \"true\", the condition RolledOut tells how far the Kustomizations of the source are with what was pushed.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "formats",
        "\"all\", or some of docker, env, hcl, ini, json, make, properties, shell, template, toml, with commas",
        "Marked fields of files in these formats are edited beside those of YAML; default: none, as in Flux.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "on-failure",
        "report (default), hold or revert",
        "With hold, images that make a Kustomization fail are not written again; with revert, the fields are put back by a commit as well.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "pull-request",
        "github or gitea",
        "A pull request is kept open for the pushed branch, by the API of such a forge.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "pull-request-api",
        "an http or https URL",
        "The API of the forge; default: derived from the URL of the repository.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "pull-request-assignees",
        "names with commas between them, at most 20 of up to 100 characters",
        "These users are assigned to the pull request when it is opened.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "pull-request-automerge",
        "merge, squash or rebase",
        "The forge merges the pull request as soon as its rules for the base branch are met.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "pull-request-base",
        "the name of a branch",
        "The branch to merge into; default: the branch that a run starts from.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "pull-request-draft",
        "\"true\" or \"false\" (default)",
        "With \"true\", the pull request is opened as a draft.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "pull-request-labels",
        "names with commas between them, at most 20 of up to 100 characters",
        "The pull request gets these labels when it is opened.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "pull-request-overwrite",
        "\"true\" or \"false\" (default)",
        "With \"true\", commits of others on the branch of the pull request are overwritten; else a run leaves such a branch alone.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "pull-request-reviewers",
        "names with commas between them, at most 20 of up to 100 characters; teams as team:NAME",
        "These users and teams are asked for a review when the pull request is opened.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "pull-request-secret",
        "the name of a Secret",
        "The Secret with `token` for the API; default: the one of the GitRepository.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "release-notes",
        "\"true\" or \"false\" (default)",
        "With \"true\", the pull request says what the releases of new images are, by the labels of the images and the API of the forge of their source.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "respect-reverts",
        "\"true\", \"false\" (default), or how many commits are looked at (default: 500, at most 10000)",
        "A value that somebody has taken back in Git is not written there again until the policy chooses something newer.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "revert",
        "commit (default) or bisect",
        "What on-failure concerns: all images of the commits, or with bisect those of the workloads that are not healthy.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "revert-message",
        "a template as spec.git.commit.messageTemplate",
        "The message of commits that put images back.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "rules",
        "the name of a ConfigMap in the namespace of the automation",
        "Rules beside those of the repository's .bumpwright.yaml, in an entry of that name: fields named by their path or a pattern, without markers.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "settle",
        "a duration such as 20s",
        "How long a run waits for further changes after an image has changed.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "settle-at-most",
        "a duration such as 5m",
        "The longest time between the first change and the run.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "verify",
        "none (default), build or server",
        "With build, the Kustomizations that read a changed file are built before the push, and one that fails only with the commit prevents it. With server, so does an object that changes and that the API server refuses in a dry run as the Kustomization's account.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "verify-on-timeout",
        "fail (default) or push",
        "What becomes of a commit that could not be verified in time, or about which the API server could not be asked.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "verify-timeout",
        "a duration such as 30s; default: 1m, at most 2m",
        "The time for the verification of a commit.",
    ),
    annotation(
        "ImageUpdateAutomation",
        "window",
        WINDOWS,
        "Outside of it nothing is pushed.",
    ),
    annotation(
        "Kustomization",
        "approve-prune",
        "a revision",
        "The revision that is exempt from max-prune.",
    ),
    annotation(
        "Kustomization",
        "max-prune",
        "a number such as 10 or a percentage such as 20%",
        "A reconciliation that would delete more objects deletes none and fails.",
    ),
    annotation(
        "Kustomization",
        "reconcile",
        "report",
        "Differences from the source are reported, and nothing is applied or pruned.",
    ),
    annotation(
        ANY,
        "accept",
        "rules of `fleet check` and a reason, such as \"clear-text-secret, schema: public keys only\"",
        "Findings of these rules about the object are counted as accepted. Controllers do not read it.",
    ),
];

/// The keys of a kind.
fn keys_of(kind: &str) -> Vec<&'static str> {
    let of_kind = ANNOTATIONS.iter().filter(|annotation| annotation.kind == kind);
    of_kind.map(|annotation| annotation.key).collect()
}

/// The value of one of our annotations, by its key without the prefix.
pub(crate) fn ours<'a>(annotations: &'a BTreeMap<String, String>, key: &str) -> Option<&'a String> {
    annotations.get(&format!("{ANNOTATION_PREFIX}{key}"))
}

/// Checks that a kind has all of our annotations that an object carries.
///
/// # Errors
/// [`InvalidAnnotation::Key`] for the first unknown key, in the order of the keys.
pub fn check_annotation_keys(kind: &str, annotations: &BTreeMap<String, String>) -> Result<(), InvalidAnnotation> {
    let mut ours = annotations.keys().filter_map(|key| key.strip_prefix(ANNOTATION_PREFIX));
    ours.try_for_each(|key| match annotation_hint(kind, key) {
        None => Ok(()),
        Some(hint) => Err(InvalidAnnotation::Key {
            key: key.to_owned(),
            hint,
        }),
    })
}

/// The hint at what was meant by the key of an annotation (without the prefix); none for one that the kind has.
pub(crate) fn annotation_hint(kind: &str, key: &str) -> Option<String> {
    let keys = keys_of(kind);
    if keys.contains(&key) || keys_of(ANY).contains(&key) {
        return None;
    }
    let other = ANNOTATIONS.iter().find(|annotation| annotation.key == key);
    Some(match (nearest(key, keys.iter().copied()), other) {
        (_, Some(other)) => format!("it is for objects of kind {}", other.kind),
        (Some(near), None) => format!("did you mean {ANNOTATION_PREFIX}{near}?"),
        (None, None) if keys.len() == 1 => format!("there is {}", keys.concat()),
        (None, None) if keys.is_empty() => format!("objects of kind {kind} have none of {ANNOTATION_PREFIX}"),
        (None, None) => format!("there are {}", keys.join(", ")),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_told_with_what_was_meant() {
        let said = |kind: &str, key: &str| {
            let annotations = BTreeMap::from([
                ("other.dev/hold".to_owned(), String::new()),
                (format!("{ANNOTATION_PREFIX}{key}"), String::new()),
            ]);
            check_annotation_keys(kind, &annotations).map_err(|error| error.to_string())
        };
        for annotation in ANNOTATIONS {
            assert_eq!(said(annotation.kind, annotation.key), Ok(()));
        }
        for kind in ["ImagePolicy", "GitRepository", ""] {
            assert_eq!(said(kind, "accept"), Ok(()));
        }
        for (kind, key, hint) in [
            ("ImagePolicy", "minimumAge", "did you mean bumpwright.dev/minimum-age?"),
            ("ImagePolicy", "Hold", "did you mean bumpwright.dev/hold?"),
            (
                "ImagePolicy",
                "settle",
                "it is for objects of kind ImageUpdateAutomation",
            ),
            (
                "Kustomization",
                "quick",
                "there are approve-prune, max-prune, reconcile",
            ),
            ("ImageRepository", "quick", "there is kind"),
            ("Bucket", "quick", "objects of kind Bucket have none of bumpwright.dev/"),
            ("GitRepository", "reviews", "did you mean bumpwright.dev/review?"),
            ("GitRepository", "hold", "it is for objects of kind ImagePolicy"),
        ] {
            let expected = format!("annotation bumpwright.dev/{key} is unknown: {hint}");
            assert_eq!(said(kind, key), Err(expected));
        }
    }
}
