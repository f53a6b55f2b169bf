//! What happens to files before a build and to objects after it, and is the matter of others: decryption, substitution.

use bumpwright_budget::Share;
use bumpwright_yaml::Node;
use serde_json::Value;
use zeroize::Zeroizing;

/// The stages around a build. Those that are not there are left out.
#[derive(Clone, Copy, Default)]
pub struct Stages<'a> {
    /// Decryption, for a Kustomization with `spec.decryption`.
    pub decrypt: Option<&'a dyn Decrypt>,
    /// Substitution, for a Kustomization with `spec.postBuild`.
    pub substitute: Option<&'a dyn Substitute>,
}

/// An error of a stage, in the stage's own words; it must hold no secret.
pub type StageError = Box<dyn std::error::Error + Send + Sync>;

/// Decrypts files and objects: several at once, in any order, on threads of their own.
pub trait Decrypt: Sync {
    /// The plain bytes of a file that a kustomization names as a source of a Secret or as a patch; nothing where it is not
    /// encrypted. Called once for a file that it changes.
    ///
    /// # Errors
    ///
    /// It is encrypted and cannot be decrypted.
    fn file(&self, file: &SourceFile<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, StageError>;

    /// The plain object; nothing where there was nothing to decrypt.
    ///
    /// # Errors
    ///
    /// It is encrypted and cannot be decrypted.
    fn object(&self, object: &Value) -> Result<Option<Value>, StageError>;
}

/// A file that may be encrypted.
#[derive(Clone, Copy)]
pub struct SourceFile<'a> {
    /// Where it is, from the root of the artifact.
    pub path: &'a str,
    /// What its encrypted and its plain text are written in.
    pub format: SourceFormat,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// What a file is written in, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // each is its name
pub enum SourceFormat {
    Binary,
    Dotenv,
    Ini,
    Json,
    Yaml,
}

impl SourceFormat {
    /// The format that the end of a name tells; [`Self::Binary`] where it tells none (`formatForPath`).
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

/// Replaces variables.
pub trait Substitute {
    /// An object with its variables replaced; nothing where it stays as it is. Objects that opt out by
    /// `kustomize.toolkit.fluxcd.io/substitute: disabled` are not asked about (K-093). Where memory is measured there is to be reservation
    /// in it for what that takes.
    ///
    /// # Errors
    ///
    /// A variable is missing, or an expression is wrong.
    fn object(&self, object: &Node, memory: Option<&Share>) -> Result<Option<Substituted>, StageError>;
}

/// An object with its variables replaced.
#[derive(Debug)]
pub struct Substituted {
    /// The object.
    pub node: Node,
    /// Whether one of the variables came from a Secret.
    pub has_secrets: bool,
}
