//! The schema of `ImageUpdateAutomation` (`image.toolkit.fluxcd.io`: v1beta1, v1beta2, v1).

use crate::git_repository::schema::git_ref;
use crate::image_policy::schema::image_ref;
use crate::manifest::emit::Yaml;
use crate::schema::crd::{AGE, CustomResource, READY, STATUS, column, version};
use crate::schema::shared::{duration, label_selector, local_ref, reconciled_status, source_ref, suspend};
use crate::schema::structural::{Schema, map, object, one_of, string, time};

pub(crate) fn definition() -> CustomResource {
    let last_run = column("Last run", ".status.lastAutomationRunTime");
    let columns = [READY, STATUS, last_run.wide(), AGE];
    CustomResource {
        group: "image.toolkit.fluxcd.io",
        kind: "ImageUpdateAutomation",
        plural: "imageupdateautomations",
        short_names: &["iua", "imgupd", "imgauto"],
        category: "fluxcd-images",
        versions: vec![
            version("v1", &columns),
            version("v1beta2", &columns),
            version("v1beta1", &[last_run]),
        ],
        spec: spec(),
        status: status(),
    }
}

/// `policySelector` is v1beta2's and v1's.
fn spec() -> Schema {
    let kind = one_of(&["GitRepository"]).default("GitRepository".into());
    object()
        .field(
            "sourceRef",
            source_ref(kind).about("The repository to update").required(),
        )
        .field("git", git())
        .field("interval", duration().about("How often at least").required())
        .field(
            "policyChangeDelay",
            duration().about("How long a run waits after the first policy has changed; no time when absent"),
        )
        .field(
            "policySelector",
            label_selector().about("Which policies of the namespace take part; all when absent"),
        )
        .field("update", update())
        .field("suspend", suspend())
}

fn git() -> Schema {
    object()
        .about("What to check out, who commits, where to push")
        .field(
            "checkout",
            object()
                .about("What to start from; the repository's own reference when absent")
                .field("ref", git_ref().required()),
        )
        .field("commit", commit().required())
        .field("push", push())
}

/// `messageTemplateValues` is v1beta2's and v1's, `signingKey.type` v1's.
fn commit() -> Schema {
    let author = object()
        .about("Author and committer")
        .field("name", string())
        .field("email", string().required());
    let signing_key = object()
        .about("The key to sign with; commits are not signed without")
        .field("secretRef", local_ref().required())
        .field("type", one_of(&["gpg", "ssh"]).about("gpg when absent"));
    object()
        .field("author", author.required())
        .field("signingKey", signing_key)
        .field("messageTemplate", string().about("A Go template of the commit message"))
        .field("messageTemplateValues", map(&string()).about("The template's .Values"))
}

fn push() -> Schema {
    object()
        .about("Where to push; the branch that was checked out when absent")
        .field("branch", string())
        .field("refspec", string())
        .field("options", map(&string()).about("Push options for the server"))
}

/// v1beta1 requires `strategy`, the others do not; with a default it is always present.
fn update() -> Schema {
    object()
        .about("Which files, and how")
        .default(Yaml::map([("strategy", "Setters".into())]))
        .field("strategy", one_of(&["Setters"]).default("Setters".into()))
        .field(
            "path",
            string().about("A folder or file of the repository; all of it when absent"),
        )
}

/// `observedPolicies` and `observedSourceRevision` are v1beta2's and v1's.
fn status() -> Schema {
    reconciled_status()
        .field("lastAutomationRunTime", time())
        .field("lastPushCommit", string().about("The commit that was pushed last"))
        .field("lastPushTime", time())
        .field(
            "observedPolicies",
            map(&image_ref()).about("The images of the policies at the last run"),
        )
        .field(
            "observedSourceRevision",
            string().about("The revision that the last run started from"),
        )
}
