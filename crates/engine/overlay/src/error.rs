//! Errors between the artifact of a Kustomization and its objects.

use super::mount::Mount;
use super::not_text::NotText;
use super::stages::StageError;
use bumpwright_budget::Exceeded;
use bumpwright_kustomize::tree::Tree;
use bumpwright_kustomize::{BuildError, Cause};

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
        /// The problem, in Flux's words.
        problem: String,
        /// `path:line:column`.
        place: String,
    },
    /// Files below a path without a kustomization that are not manifests (K-159).
    #[error("{}", .0.join("\n"))]
    Manifests(Vec<String>),
    /// A file that is named as a source of a Secret or as a patch cannot be decrypted.
    #[error("error decrypting sources: {0}")]
    Sources(#[source] StageError),
    /// A kustomization that refers to such files is invalid.
    #[error("error decrypting sources: {0}")]
    SourcePath(String),
    /// The build fails.
    #[error("kustomize build failed: {0}")]
    Build(#[from] Box<BuildError>),
    /// The memory budget does not allow the input or output.
    #[error("kustomize build failed: {0}")]
    Memory(#[from] Exceeded),
    /// An object has no form as YAML.
    #[error("kustomize build failed: {0}")]
    Unprintable(String),
    /// An object lacks `apiVersion`, kind or name.
    #[error("failed to decode Kubernetes apiVersion, kind and name from: {0}")]
    Nameless(String),
    /// An object cannot be decrypted.
    #[error("decryption failed for '{object}': {error}{}", .place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default())]
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
    #[error("{text}")]
    Named {
        /// The message, with that name.
        text: String,
        /// As [`OverlayError::is_missing_path`].
        is_missing_path: bool,
    },
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

    /// Whether the artifact lacks the path (reason `ArtifactFailed`); all else is a failed build (`BuildFailed`).
    #[must_use]
    pub const fn is_missing_path(&self) -> bool {
        matches!(
            self,
            Self::Path(_)
                | Self::Named {
                    is_missing_path: true,
                    ..
                }
        )
    }

    /// The error for a tree: where its root has a name, messages use that instead of Flux's path.
    pub(super) fn for_tree(self, tree: &dyn Tree) -> Self {
        match tree.name() {
            None => self,
            Some(name) => Self::Named {
                text: Mount::named(&self.to_string(), &name),
                is_missing_path: self.is_missing_path(),
            },
        }
    }
}

fn lines(faults: &[NotText]) -> String {
    faults.iter().map(NotText::to_string).collect::<Vec<_>>().join("\n")
}
