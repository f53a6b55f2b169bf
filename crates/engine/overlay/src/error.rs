//! Errors between the artifact of a Kustomization and its objects.

use super::mount::Mount;
use super::not_text::NotText;
use super::stages::StageError;
use bumpwright_budget::Exceeded;
use bumpwright_kustomize::tree::Tree;
use bumpwright_kustomize::{BuildError, Cause};
use bumpwright_text::between;
use bumpwright_yaml::{ReadError, WriteError};

/// An error between the artifact of a Kustomization and its objects. Messages begin with
/// the words of kustomize-controller.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// `spec.path` is not in the artifact (K-191).
    #[error("{0}")]
    Path(String),
    /// The kustomization cannot be written to its place.
    #[error("{0}")]
    Unwritable(String),
    /// `spec.components` names something that is not a path in the artifact (K-080).
    #[error("component path '{0}' must be local and relative")]
    Component(String),
    /// The kustomization at the path cannot be read.
    #[error("{problem} ({place})")]
    Kustomization {
        #[source]
        problem: Box<KustomizationProblem>,
        /// `path:line:column`.
        place: String,
    },
    /// Files below a path without a kustomization that are not manifests (K-159).
    #[error("{}", lines(.0))]
    Manifests(Vec<ManifestFault>),
    /// A file that is named as a source of a Secret or as a patch cannot be decrypted.
    #[error("error decrypting sources: {0}")]
    Sources(#[source] StageError),
    /// A kustomization that refers to such files is invalid.
    #[error("error decrypting sources: {0}")]
    SourcePath(String),
    /// Such a kustomization cannot be read.
    #[error("error decrypting sources: failed to unmarshal kustomization file from '{file}': {problem} ({place})")]
    SourceKustomization {
        file: String,
        #[source]
        problem: Box<KustomizationProblem>,
        /// `path:line:column`.
        place: String,
    },
    #[error("kustomize build failed: {0}")]
    Build(#[from] Box<BuildError>),
    /// The memory budget does not allow the input or output.
    #[error("kustomize build failed: {0}")]
    Memory(#[from] Exceeded),
    /// An object has no form as YAML.
    #[error("kustomize build failed: {0}")]
    Unprintable(String),
    /// An object has no `apiVersion`, kind or name.
    #[error("failed to decode Kubernetes apiVersion, kind and name from: {0}")]
    Nameless(String),
    /// An object cannot be decrypted.
    #[error("decryption failed for '{object}': {error}{}", between(" (", .place.as_ref(), ")"))]
    Decryption {
        /// Its type and name, as `Secret.v1.[noGrp]/creds`.
        object: String,
        /// Its `path:line:column`, for errors that Flux does not have.
        place: Option<String>,
        #[source]
        error: StageError,
    },
    /// Variables of an object cannot be replaced.
    #[error("post build failed for '{object}': {error}")]
    Substitution {
        /// Its type and name.
        object: String,
        #[source]
        error: StageError,
    },
    /// Decryption or substitution has made two names equal.
    #[error("in Replace: id matched {count} resources: {object}")]
    Twice {
        /// Its type, name and namespace.
        object: String,
        /// How many have it.
        count: usize,
    },
    /// A list holds something that is not an object.
    #[error("items member is not an object: {0}")]
    Item(String),
    /// Labels, annotations or namespaces of objects are not texts.
    #[error("{}", lines(.0))]
    NotTexts(Vec<NotText>),
    /// One of these, about a tree whose root has a name of its own.
    #[error("{}", Mount::named(&error.to_string(), name))]
    Named {
        name: String,
        #[source]
        error: Box<Self>,
    },
}

/// What is wrong with a kustomization, in Flux's words.
#[derive(Clone, Debug, thiserror::Error)]
pub enum KustomizationProblem {
    /// It is not YAML.
    #[error("error converting YAML to JSON: {}", .0.go())]
    Syntax(#[source] ReadError),
    /// A field has the wrong type.
    #[error("error unmarshaling JSON: while decoding JSON: {0}")]
    Field(String),
    /// With the spec's fields it cannot be written.
    #[error("{}", .0.go())]
    Unprintable(#[source] WriteError),
}

/// A file that is not a manifest, in Flux's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestFault {
    /// It has no objects.
    #[error("failed to decode Kubernetes YAML from {path}: {reason}")]
    Undecodable { path: String, reason: String },
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// How many more there are.
    #[error("and {0} more files that are not manifests")]
    More(usize),
}

/// One of the errors of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// Its part of the message: one or more lines.
    pub text: String,
}

/// The kind of an error, as far as it matters to who reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    Other,
    /// A file is not what the API server takes.
    Manifest,
    /// Kustomizations include each other.
    Cycle,
    /// It needs something that is not available here, such as a file of another server.
    Sealed,
}

impl OverlayError {
    /// Whether the memory budget was exhausted: the files were not checked further then.
    pub(super) fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Memory(_) => true,
            Self::Build(error) => matches!(*error.cause, Cause::Memory(_)),
            _ => false,
        }
    }

    /// The errors, whose texts are the lines of the message.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let (kind, text) = match self {
            Self::Build(error) => return of_build(error),
            Self::Named { name, error } => {
                let mut faults = error.faults();
                for fault in &mut faults {
                    fault.text = Mount::named(&fault.text, name);
                }
                return faults;
            }
            Self::Manifests(faults) => return faults.iter().map(ManifestFault::fault).collect(),
            Self::Kustomization { problem, .. } | Self::SourceKustomization { problem, .. } => match **problem {
                KustomizationProblem::Syntax(_) => (FaultKind::Manifest, self.to_string()),
                _ => (FaultKind::Other, self.to_string()),
            },
            Self::Nameless(_) => (FaultKind::Manifest, self.to_string()),
            _ => (FaultKind::Other, self.to_string()),
        };
        vec![Fault { kind, text }]
    }

    /// Whether the artifact is without the path (reason `ArtifactFailed`); all else is a failed build (`BuildFailed`).
    #[must_use]
    pub fn is_missing_path(&self) -> bool {
        match self {
            Self::Path(_) => true,
            Self::Named { error, .. } => error.is_missing_path(),
            _ => false,
        }
    }

    /// The error for a tree: where its root has a name, messages use that instead of Flux's path.
    pub(super) fn for_tree(self, tree: &dyn Tree) -> Self {
        match tree.name() {
            None => self,
            Some(name) => Self::Named {
                name,
                error: Box::new(self),
            },
        }
    }
}

impl ManifestFault {
    fn fault(&self) -> Fault {
        let kind = match self {
            Self::Undecodable { .. } => FaultKind::Manifest,
            Self::Unreadable(_) | Self::More(_) => FaultKind::Other,
        };
        let text = self.to_string();
        Fault { kind, text }
    }
}

/// The errors of kustomize.
fn of_build(error: &BuildError) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    for (text, cause) in error.texts() {
        let kind = match cause {
            Some(cause) if cause.is_sealed() => FaultKind::Sealed,
            Some(cause) if cause.is_cycle() => FaultKind::Cycle,
            _ => FaultKind::Other,
        };
        let text = if faults.is_empty() {
            format!("{BUILD_FAILED}{text}")
        } else {
            text
        };
        faults.push(Fault { kind, text });
    }
    faults
}

/// The beginning of the message of a build that kustomize refuses.
pub const BUILD_FAILED: &str = "kustomize build failed: ";

fn lines(faults: &[impl ToString]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
