//! The repository and the entries of a command.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zeroize::Zeroizing;

use super::args::Reading;
use super::outside::UserOutside;
use bumpwright_build::FolderTree;
use bumpwright_fleet::{self as fleet, Fleet, Identity, Memo, Repository, Settings};
use bumpwright_sops::{KeyService, LocalKeys};
use bumpwright_update::git_without_fetches;

/// An opened repository, its entries, and how they are read.
pub(super) struct Opened {
    pub(super) repository: Box<dyn Repository>,
    /// Paths from the root of the repository.
    pub(super) entries: Vec<String>,
    pub(super) settings: Settings,
    pub(super) outside: UserOutside,
}

impl Opened {
    /// Opens what the arguments name.
    ///
    /// # Errors
    /// A folder, a file or a key that cannot be read; for users.
    pub(super) fn new(reading: &Reading) -> Result<Self, String> {
        let root = root(reading)?;
        let entries = reading.entries.iter().map(|entry| below(&root, entry));
        let mut entries = entries.collect::<Result<Vec<String>, String>>()?;
        let repository = FolderTree::new(&root).map_err(|error| error.to_string())?;
        if entries.is_empty() {
            entries = fleet::entries(&*repository.tree());
            if entries.is_empty() {
                return Err(format!(
                    "{}: no folder here has a Kustomization that reconciles it; name the folder that the cluster reconciles",
                    root.display()
                ));
            }
        }
        let mut settings = Settings::new(reading.memory());
        settings.strict_substitute = reading.strict_substitute;
        settings.keys = keys(reading)?;
        settings.identity = identity(&root);
        Ok(Self {
            repository: Box::new(repository),
            entries,
            settings,
            outside: UserOutside::new(reading),
        })
    }

    /// The fleets of the entries.
    ///
    /// # Errors
    /// An entry does not exist.
    pub(super) fn fleets(&self) -> Result<Vec<Fleet>, String> {
        let memo = Memo::default();
        let view = |entry: &String| fleet::view(&*self.repository, entry, &self.outside, &self.settings, &memo);
        self.entries.iter().map(view).collect()
    }
}

/// The root of the repository: `--path`, or the folder with `.git` above the first entry.
fn root(reading: &Reading) -> Result<PathBuf, String> {
    let real = |path: &Path| fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()));
    if let Some(path) = &reading.path {
        return real(path);
    }
    let first = reading.entries.first().map_or(Path::new("."), |entry| Path::new(entry));
    let first = real(first)?;
    root_above(&first).ok_or_else(|| {
        format!(
            "{}: not in a Git repository; --path names the root of the files",
            first.display()
        )
    })
}

/// The folder with `.git` above a path.
pub(super) fn root_above(path: &Path) -> Option<PathBuf> {
    let has_git = |folder: &&Path| folder.join(".git").exists();
    path.ancestors().find(has_git).map(Path::to_owned)
}

/// An entry as a path from the root.
pub(super) fn below(root: &Path, entry: &str) -> Result<String, String> {
    let real = fs::canonicalize(entry).map_err(|error| format!("{entry}: {error}"))?;
    let below = real
        .strip_prefix(root)
        .map_err(|_| format!("{entry}: not below {}", root.display()))?;
    let below = below
        .to_str()
        .ok_or_else(|| format!("{entry}: its name is not UTF-8"))?;
    Ok(below.to_owned())
}

/// The addresses of a clone's remotes.
pub(super) fn identity(root: &Path) -> Identity {
    let output = git_without_fetches(root)
        .args(["config", "--get-regexp", r"^remote\..*\.url$"])
        .output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let text = text.unwrap_or_default();
    let urls = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(_, url)| url.to_owned());
    Identity { urls: urls.collect() }
}

fn keys(reading: &Reading) -> Result<Option<Arc<dyn KeyService + Send + Sync>>, String> {
    if reading.age_key_files.is_empty() && reading.pgp_key_files.is_empty() {
        return Ok(None);
    }
    let mut keys = LocalKeys::default();
    let read = |file: &PathBuf| {
        let bytes = fs::read(file).map(Zeroizing::new);
        bytes.map_err(|error| format!("{}: {error}", file.display()))
    };
    for file in &reading.age_key_files {
        let imported = keys.age.import(&read(file)?);
        imported.map_err(|error| format!("{}: no age key: {error}", file.display()))?;
    }
    for file in &reading.pgp_key_files {
        let imported = keys.pgp.import(&read(file)?);
        imported.map_err(|error| format!("{}: no OpenPGP key: {error}", file.display()))?;
    }
    Ok(Some(Arc::new(keys)))
}
