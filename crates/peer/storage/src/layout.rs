//! The paths of artifacts: `KIND/NAMESPACE/NAME/FILE`, kinds in lower case (source-controller's `ArtifactPath`).
//!
//! Names come from objects and from statuses, which tenants may write. A name that has a slash, or begins with a dot,
//! is refused here, so no path of names leads out of the folder.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The link to the newest artifact of Buckets and OCIRepositories; source-controller makes none for GitRepositories.
pub const LATEST: &str = "latest.tar.gz";

/// The suffix of locks after the name of the file.
pub(crate) const LOCK: &str = ".lock";
/// The prefix of unfinished files and links; no name of an artifact begins so.
pub(crate) const PARTIAL: &str = ".bumpwright-";

/// The longest name, in bytes: file systems allow 255, including the suffix of locks.
const LONGEST: usize = 255 - LOCK.len();

/// A name is not valid for an artifact.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{name:?} cannot be {what} of an artifact: {detail}")]
pub struct NameError {
    name: String,
    what: &'static str,
    detail: &'static str,
}

/// The folder of the artifacts of one object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Folder {
    /// `kind/namespace/name`
    path: String,
}

impl Folder {
    /// The folder of an object; its kind may be in any case.
    ///
    /// # Errors
    /// [`NameError`] when a name is empty, too long, begins with a dot, or has a slash or a control character.
    pub fn new(kind: &str, namespace: &str, name: &str) -> Result<Self, NameError> {
        let kind = kind.to_lowercase();
        for (text, what) in [
            (kind.as_str(), "the kind"),
            (namespace, "the namespace"),
            (name, "the name"),
        ] {
            check(text, what)?;
        }
        Ok(Self {
            path: format!("{kind}/{namespace}/{name}"),
        })
    }

    /// `kind/namespace/name`
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// The path of a file in this folder.
    ///
    /// # Errors
    /// [`NameError`], as for [`Folder::new`]; names of locks are refused as well.
    pub fn file(&self, file: &str) -> Result<ArtifactPath, NameError> {
        check(file, "the file")?;
        if file.ends_with(LOCK) {
            return Err(NameError {
                name: file.to_owned(),
                what: "the file",
                detail: "it is the name of a lock",
            });
        }
        Ok(ArtifactPath {
            folder: self.clone(),
            file: file.to_owned(),
        })
    }

    pub(crate) fn below(&self, root: &Path) -> PathBuf {
        root.join(&self.path)
    }

    /// Kind, namespace and name.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.path.split('/')
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

/// The path of an artifact, below the storage's folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArtifactPath {
    folder: Folder,
    file: String,
}

impl ArtifactPath {
    /// Parses `kind/namespace/name/file`, as in statuses (`status.artifact.path`). A leading slash is ignored, as in
    /// source-controller.
    ///
    /// # Errors
    /// [`NameError`] when there are not four names, or one is not valid.
    pub fn parse(path: &str) -> Result<Self, NameError> {
        let names: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
        let [kind, namespace, name, file] = names[..] else {
            return Err(NameError {
                name: path.to_owned(),
                what: "the path",
                detail: "it has to be KIND/NAMESPACE/NAME/FILE",
            });
        };
        let path = Folder::new(kind, namespace, name)?;
        if path.names().next() != Some(kind) {
            return Err(NameError {
                name: kind.to_owned(),
                what: "the kind",
                detail: "kinds are in lower case in paths",
            });
        }
        path.file(file)
    }

    /// The folder of the file.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    pub(crate) fn below(&self, root: &Path) -> PathBuf {
        self.folder.below(root).join(&self.file)
    }

    /// The lock file that is held while it is written.
    pub(crate) fn lock_below(&self, root: &Path) -> PathBuf {
        self.folder.below(root).join(format!("{}{LOCK}", self.file))
    }
}

impl fmt::Display for ArtifactPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.folder, self.file)
    }
}

fn check(name: &str, what: &'static str) -> Result<(), NameError> {
    let detail = match name {
        "" => "it is empty",
        _ if name.starts_with('.') => "it begins with a dot",
        _ if name.contains('/') => "it has a slash",
        _ if name.chars().any(char::is_control) => "it has a control character",
        _ if name.len() > LONGEST => "it is longer than 250 bytes",
        _ => return Ok(()),
    };
    Err(NameError {
        name: name.to_owned(),
        what,
        detail,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_as_source_controller_spells_them() {
        let folder = Folder::new("GitRepository", "apps", "podinfo").unwrap();
        let path = folder.file("4d2f.tar.gz").unwrap();
        assert_eq!(path.to_string(), "gitrepository/apps/podinfo/4d2f.tar.gz");
        assert_eq!(ArtifactPath::parse(&path.to_string()), Ok(path.clone()));
        assert_eq!(ArtifactPath::parse(&format!("/{path}")), Ok(path));
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for path in [
            "",
            "/",
            "a/b/c",
            "a/b/c/",
            "a/b/c/d/e",
            "../b/c/d",
            "a/../c/d",
            "a/b/../d",
            "a/b/c/..",
            "a/b/./d",
            "a//c/d",
            "//b/c/d",
            "a/b/c/.hidden",
            "a/b/c/x\0",
            "a/b/c/x\n",
            "a/b/c/x.lock",
            "GitRepository/b/c/d",
        ] {
            assert!(ArtifactPath::parse(path).is_err(), "{path:?}");
        }
        assert!(Folder::new("a", "b", &"n".repeat(251)).is_err());
        assert!(Folder::new("a/..", "b", "c").is_err());
        let text = Folder::new("GitRepository", "..", "x").unwrap_err().to_string();
        assert_eq!(
            text,
            "\"..\" cannot be the namespace of an artifact: it begins with a dot"
        );
    }
}
