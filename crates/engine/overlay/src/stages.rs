//! The stages of a build that the caller provides: decryption of files before it, decryption and substitution
//! of objects after it.

use bumpwright_budget::Share;
use bumpwright_yaml::Node;
use serde_json::Value;
use zeroize::Zeroizing;

/// The stages around a build. Missing ones are skipped.
#[derive(Clone, Copy, Default)]
pub struct Stages<'a> {
    /// Decryption, for a Kustomization with `spec.decryption`.
    pub decrypt: Option<&'a dyn Decrypt>,
    /// Substitution, for a Kustomization with `spec.postBuild`.
    pub substitute: Option<&'a dyn Substitute>,
}

/// An error of a stage, in the stage's own words; it must not contain secrets.
pub type StageError = Box<dyn std::error::Error + Send + Sync>;

/// An error about an object in words of our own: it is shown with the place of the object, unlike one in Flux's words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlacedError(pub String);

/// Decrypts files and objects: several at once, in any order, from several threads.
pub trait Decrypt: Sync {
    /// The plain bytes of a file that a kustomization names as a source of a Secret or as a patch; `None` where it is
    /// not encrypted. Called once for a file that it decrypts.
    ///
    /// # Errors
    ///
    /// It is encrypted and cannot be decrypted.
    fn file(&self, file: &SourceFile<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, StageError>;

    /// The decrypted object; `None` where nothing is encrypted.
    ///
    /// # Errors
    ///
    /// It is encrypted and cannot be decrypted.
    fn object(&self, object: &Value) -> Result<Option<Value>, StageError>;
}

/// A file that may be encrypted.
#[derive(Clone, Copy)]
pub struct SourceFile<'a> {
    /// Its path, from the root of the artifact.
    pub path: &'a str,
    /// The format of its encrypted and its plain text.
    pub format: SourceFormat,
    pub bytes: &'a [u8],
}

/// The format of a file, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// each is its name
pub enum SourceFormat {
    Binary,
    Dotenv,
    Ini,
    Json,
    Yaml,
}

impl SourceFormat {
    /// The format for the end of a name; [`Self::Binary`] for unknown ones (`formatForPath`).
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        match () {
            () if ends(&[".dockerconfigjson", ".json"]) => Self::Json,
            () if ends(&[".yaml", ".yml"]) => Self::Yaml,
            () if ends(&[".env"]) => Self::Dotenv,
            () if ends(&[".ini"]) => Self::Ini,
            () => Self::Binary,
        }
    }
}

/// Replaces the variables of built objects, as `spec.postBuild` says.
pub trait Substitute {
    /// An object with its variables replaced; `None` where it stays as it is. Not called for objects that opt out by
    /// `kustomize.toolkit.fluxcd.io/substitute: disabled` (K-093). Where memory is measured, the stage reserves what
    /// it needs in it.
    ///
    /// # Errors
    ///
    /// A variable is missing, or an expression is invalid.
    fn object(&self, object: &Node, memory: Option<&Share>) -> Result<Option<Substituted>, StageError>;
}

/// An object with its variables replaced.
#[derive(Debug)]
pub struct Substituted {
    pub node: Node,
    /// Whether one of the variables came from a Secret.
    pub has_secrets: bool,
    /// Variables that are not set and have no default.
    pub undefined: Vec<String>,
    /// Variables that have their default because their value is not known here.
    pub guessed: Vec<String>,
}
