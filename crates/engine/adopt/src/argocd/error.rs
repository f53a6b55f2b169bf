//! Why an image of argocd-image-updater is not taken over, with the way out.

use bumpwright_policy::PolicyName;
use bumpwright_text::between;
use thiserror::Error;

use crate::error::NotMarked;

/// Nothing would commit an image.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum NoCommit {
    /// No Application is known that it is of.
    #[error("no Application of the files is named so")]
    Application,
    /// The repository to commit to is not known, or not reached.
    #[error("{0}, so nothing would commit there: name one in git-repository, and run again")]
    Repository(&'static str),
    /// Not a way that argocd-image-updater writes by.
    #[error(
        "write-back-method: {method:?} is not a method, so argocd-image-updater updates nothing; write git or argocd, then run \
         again{meant}"
    )]
    Method {
        method: String,
        /// The end of the text: what may be meant.
        meant: String,
    },
    /// The revision that the Application follows is not a branch.
    #[error("targetRevision {revision:?} is {kind}, and commits need a branch: name one in git-branch, then run again")]
    Branch { revision: String, kind: &'static str },
}

/// An image gets no marker.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum NoMarkers {
    /// It is not known where it is written.
    #[error(transparent)]
    Target(#[from] NoTarget),
    /// It is known, and there can be no marker.
    #[error(transparent)]
    Field(#[from] NotMarked),
    /// Several reasons, so that all can be corrected in one go.
    #[error("{}", joined(.0))]
    Several(Vec<NoMarkers>),
    /// Another automation writes there already.
    #[error(transparent)]
    Intruder(#[from] Box<Intruder>),
    /// Nothing commits what was marked by hand.
    #[error(transparent)]
    Commit(#[from] NoCommit),
    /// No automation takes the policy of a marker that was put by hand.
    #[error(
        "no automation takes ImagePolicy {policy}, whose marker is there: it needs the namespace {namespace}{}, then run again",
        between(" and the label ", .label.as_deref(), "")
    )]
    Unlabelled {
        policy: PolicyName,
        namespace: String,
        label: Option<String>,
    },
}

impl NoMarkers {
    /// All of these reasons.
    ///
    /// # Errors
    /// There is one.
    pub(super) fn all(mut reasons: Vec<Self>) -> Result<(), Self> {
        match (reasons.pop(), reasons.is_empty()) {
            (None, _) => Ok(()),
            (Some(only), true) => Err(only),
            (Some(last), false) => {
                reasons.push(last);
                Err(Self::Several(reasons))
            }
        }
    }
}

fn joined(reasons: &[NoMarkers]) -> String {
    let texts: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    texts.join("; and ")
}

/// Another automation writes to a field already.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{place}: ImageUpdateAutomation {name} looks at ./{path}, and would commit it, too: give it a policySelector{}, then run \
     again",
    between(" that leaves ", .label.as_ref().map(|(key, value)| format!("{key}: {value}")), " out")
)]
pub(super) struct Intruder {
    pub(super) place: String,
    pub(super) name: PolicyName,
    pub(super) path: String,
    /// The label of the policies, if they have one.
    pub(super) label: Option<(String, String)>,
}

/// The fields of an image are not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum NoTarget {
    #[error("the Application has no source")]
    NoSource,
    #[error("its source has no folder")]
    NoFolder,
    /// A file of values does not have the field.
    #[error("{path} has no field {key}: write one with the version of now, then run again")]
    NoField { path: String, key: String },
    /// A file of values does not have the field for the name.
    #[error("{path} has no field {key}: write {image} there, then run again")]
    NoName { path: String, key: String, image: String },
    /// The Application has neither a file of values nor the field.
    #[error(
        "no file of values has {key}, nor has the Application: give it a file of values in Git, with the marker {marker}"
    )]
    NoValues { key: String, marker: String },
    /// The path of a file has parts that a generator fills in.
    #[error(
        "{path} depends on the generator of the ApplicationSet: mark the files with `bumpwright markers add --image {image} \
         --policy {marker} --write`, then run again"
    )]
    Generated {
        path: String,
        image: String,
        marker: String,
    },
    /// A file or folder is in another repository.
    #[error(
        "{path} is not among the files: name the clone that has it, too, then run again; or run `bumpwright markers add \
         --image {image} --policy {marker} --write` there, and remove the annotations by hand"
    )]
    Elsewhere {
        path: String,
        image: String,
        marker: String,
    },
    #[error("{name}:{line}:{column}: the file does not parse: {why}")]
    Unparsable {
        name: String,
        line: usize,
        column: usize,
        why: String,
    },
    /// A digest beside the tag.
    #[error("{0}: the digest would keep the old image whatever the tag is: remove it, then run again")]
    Digest(String),
    /// The field for the name has another one.
    #[error("{place}: {key} holds {value:?}, and the image is {image}: write it there, then run again")]
    OtherName {
        place: String,
        key: String,
        value: String,
        image: String,
    },
    /// The values are a text.
    #[error(
        "{place}: {key} is in helm.values, which is a text; write it as helm.valuesObject, or into a file of values"
    )]
    TextValues { place: String, key: String },
    /// An entry of Argo CD replaces another name.
    #[error(
        "{place}: {text:?} has another name before =, which no marker keeps: make it an entry of images in the kustomization"
    )]
    Renamed { place: String, text: String },
    #[error("{place}: newName is not {image}: write that there, then run again")]
    NewName { place: String, image: String },
    #[error("{place}: write newName: {image} below it, then run again")]
    NoNewName { place: String, image: String },
    #[error("{0}: write digest with the one of now below it, then run again")]
    NoDigest(String),
    #[error("{0}: write newTag with the version of now below it, then run again")]
    NoTag(String),
    #[error("no file has the variable {0} of the plugin: write it into plugin.env of the Application, then run again")]
    NoVariable(String),
    #[error("the variables of the plugin have no field that a marker could write it to; name one for the whole image")]
    NoPluginField,
    /// No manifest of a folder has the image.
    #[error(
        "no field below {folder} holds a version of {image}{}: write one, then run again",
        between(", nor has images of its kustomization an entry ", .entry.as_ref().map(|entry| format!("{entry:?}")), "")
    )]
    NoManifest {
        folder: String,
        image: String,
        /// The name of the entry of a kustomization that could have it.
        entry: Option<String>,
    },
}
