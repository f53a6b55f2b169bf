//! Files that a kustomization reads: those that secrets and patches are made from are decrypted before the build
//! (K-152 … K-154), in all directories that it reaches.

use super::file::{DecryptError, Integrity, decrypt};
use super::format::Format;
use super::service::KeyService;
use bumpwright_gostd::Url;
use bumpwright_yaml::{FileId, Node, ReadOptions, read_first};
use std::collections::HashSet;
use zeroize::Zeroizing;

/// Bytes that an encrypted file may have.
pub const MAX_FILE_SIZE: usize = 5 << 20;
/// The names of kustomization files, in the order in which they are looked for.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What stands at a path.
pub enum Item<'t> {
    /// A regular file.
    File(&'t [u8]),
    /// A directory.
    Directory,
    /// Anything else.
    Irregular,
}

/// A tree of files in memory. Paths are relative to its root, without `.`, `..` and slashes at the ends; the root is the
/// empty path.
pub trait SourceTree {
    /// What is there.
    fn item(&self, path: &str) -> Option<Item<'_>>;
    /// Puts other bytes into a file.
    fn replace(&mut self, path: &str, bytes: Zeroizing<Vec<u8>>);
}

/// Why the files of a kustomization cannot be decrypted, in kustomize-controller's words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// A file that a kustomization names is not there.
    #[error("lstat {0}: no such file or directory")]
    Missing(String),
    /// The kustomization is to be a directory.
    #[error("not a directory")]
    NoDirectory,
    /// A directory that a kustomization names has none.
    #[error("no kustomization file found")]
    NoKustomization,
    /// It is not to be guessed which one counts.
    #[error("found multiple kustomization files")]
    Several,
    /// A directory or a device is in a file's place.
    #[error("expected {0} to be a regular file")]
    NoFile(&'static str),
    /// The same, for a file that is to be decrypted.
    #[error("cannot decrypt irregular file as it has file mode type bits set")]
    Irregular,
    /// Larger than [`MAX_FILE_SIZE`].
    #[error("cannot decrypt file with size ({0} bytes) exceeding limit ({MAX_FILE_SIZE})")]
    Large(usize),
    /// Text that is no kustomization.
    #[error("failed to unmarshal kustomization file from '{path}': {problem}")]
    Malformed {
        /// Where.
        path: String,
        /// What is wrong, in words of Go's library where it has some.
        problem: String,
    },
    /// It is encrypted and cannot be decrypted.
    #[error(transparent)]
    Decrypt(#[from] DecryptError),
}

/// Decrypts a file in the format that its name says, if it looks encrypted in it.
///
/// # Errors
/// For encrypted files that cannot be decrypted, and for all above [`MAX_FILE_SIZE`].
pub fn decrypt_file(
    bytes: &[u8],
    format: Format,
    service: &dyn KeyService,
) -> Result<Option<Zeroizing<Vec<u8>>>, SourceError> {
    if bytes.len() > MAX_FILE_SIZE {
        return Err(SourceError::Large(bytes.len()));
    }
    match format.is_marked(bytes) {
        false => Ok(None),
        true => Ok(Some(decrypt(bytes, format, format, service, Integrity::Checked)?)),
    }
}

/// Decrypts what the kustomization of a directory, and all directories that it names, make secrets and patches from.
/// Paths that would leave the tree end at its root, and what is not there is left to the build.
///
/// # Errors
/// For the first file that cannot be decrypted, and for directories without a kustomization.
pub fn decrypt_sources(tree: &mut dyn SourceTree, path: &str, service: &dyn KeyService) -> Result<(), SourceError> {
    let mut walk = Walk {
        tree,
        service,
        visited: HashSet::new(),
        decrypted: HashSet::new(),
    };
    let first = scoped("", path);
    walk.check_directory(&first)?;
    // Directories are gone through depth first, as upstream does; a stack of ours bears any number of them.
    let mut open = vec![first];
    while let Some(directory) = open.pop() {
        let below = walk.directory(&directory)?;
        open.extend(below.into_iter().rev());
    }
    Ok(())
}

struct Walk<'t> {
    tree: &'t mut dyn SourceTree,
    service: &'t dyn KeyService,
    visited: HashSet<String>,
    decrypted: HashSet<String>,
}

/// What of a kustomization names files and directories.
#[derive(Default)]
struct References {
    files: Vec<(String, Format)>,
    directories: Vec<String>,
}

impl Walk<'_> {
    fn check_directory(&self, path: &str) -> Result<(), SourceError> {
        match self.tree.item(path) {
            Some(Item::Directory) => Ok(()),
            Some(_) => Err(SourceError::NoDirectory),
            None => Err(SourceError::Missing(path.to_owned())),
        }
    }

    /// Decrypts the files of a directory's kustomization; gives the directories that it names.
    fn directory(&mut self, path: &str) -> Result<Vec<String>, SourceError> {
        if !self.visited.insert(path.to_owned()) || self.check_directory(path).is_err() {
            return Ok(Vec::new());
        }
        let references = self.references(path)?;
        for (file, format) in references.files {
            self.file(&scoped(path, &file), format)?;
        }
        let directories = references.directories.iter();
        Ok(directories.map(|directory| scoped(path, directory)).collect())
    }

    fn references(&self, path: &str) -> Result<References, SourceError> {
        let mut found = None;
        for name in KUSTOMIZATIONS {
            let file = scoped(path, name);
            match self.tree.item(&file) {
                None => {}
                Some(Item::File(_)) if found.is_some() => return Err(SourceError::Several),
                Some(Item::File(bytes)) => found = Some((file, bytes)),
                Some(_) => return Err(SourceError::NoFile(name)),
            }
        }
        let (file, bytes) = found.ok_or(SourceError::NoKustomization)?;
        let document = read_first(bytes, &ReadOptions::sigs(FileId::NONE)).map_err(|error| SourceError::Malformed {
            path: file.clone(),
            problem: format!("error converting YAML to JSON: {}", error.go()),
        })?;
        let malformed = |problem: String| SourceError::Malformed { path: file, problem };
        document.map_or_else(
            || Ok(References::default()),
            |document| References::of(&document).map_err(malformed),
        )
    }

    fn file(&mut self, path: &str, format: Format) -> Result<(), SourceError> {
        if self.decrypted.contains(path) {
            return Ok(());
        }
        let plain = match self.tree.item(path) {
            None => return Err(SourceError::Missing(path.to_owned())),
            Some(Item::Directory | Item::Irregular) => return Err(SourceError::Irregular),
            Some(Item::File(bytes)) => decrypt_file(bytes, format, self.service)?,
        };
        if let Some(plain) = plain {
            self.tree.replace(path, plain);
        }
        self.decrypted.insert(path.to_owned());
        Ok(())
    }
}

impl References {
    fn of(kustomization: &Node) -> Result<Self, String> {
        let mut references = Self::default();
        for generator in list(kustomization, "secretGenerator")? {
            for file in texts(generator, "files")? {
                let (name, path) = file.split_once('=').unwrap_or((file, file));
                references.files.push((path.to_owned(), Format::of_path(name)));
            }
            for file in texts(generator, "envs")? {
                references.files.push((file.to_owned(), Format::of_env_file(file)));
            }
        }
        for patch in list(kustomization, "patches")? {
            let path = patch.get("path").and_then(Node::as_str).unwrap_or_default();
            if !path.is_empty() && !is_remote(path) {
                references.files.push((path.to_owned(), Format::of_path(path)));
            }
        }
        for name in ["resources", "components"] {
            let directories = texts(kustomization, name)?.into_iter().map(str::to_owned);
            references.directories.extend(directories);
        }
        Ok(references)
    }
}

fn list<'n>(node: &'n Node, name: &str) -> Result<&'n [Node], String> {
    match node.get(name) {
        Some(value) if !value.is_null() => value.as_items().ok_or_else(|| format!("{name} is not a list")),
        _ => Ok(&[]),
    }
}

fn texts<'n>(node: &'n Node, name: &str) -> Result<Vec<&'n str>, String> {
    let items = list(node, name)?.iter().filter(|item| !item.is_null());
    items
        .map(|item| item.as_str().ok_or_else(|| format!("{name} is not a list of texts")))
        .collect()
}

/// Whether a path has a scheme and a host.
fn is_remote(path: &str) -> bool {
    Url::parse(path.as_bytes()).is_ok_and(|url| !url.scheme.is_empty() && !url.host.is_empty())
}

/// A path seen from a directory, inside of the tree: `..` goes no further than the root.
fn scoped(directory: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { directory };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_tree() {
        assert_eq!(scoped("apps/base", "../x.env"), "apps/x.env");
        assert_eq!(scoped("apps", "../../../etc/passwd"), "etc/passwd");
        assert_eq!(scoped("apps", "/etc/./passwd/"), "etc/passwd");
        assert!(is_remote("https://example.com/x.yaml"));
        assert!(!is_remote("x.yaml") && !is_remote("a:b"));
    }
}
