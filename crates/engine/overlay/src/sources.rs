//! Files that are decrypted before a build: sources of Secrets and patches, of the kustomization and of all that it
//! includes (kustomize-controller's `DecryptSources`).

use super::error::OverlayError;
use super::mount::Mount;
use super::prepare::{read_fields, relative, secure_join};
use super::stages::{Decrypt, SourceFile, SourceFormat};
use super::workers;
use bumpwright_budget::Reservation;
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_kustomize::tree::{Tree, TreeError, path};
use bumpwright_yaml::{Mapping, Node, weight};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use zeroize::Zeroizing;

/// The plain bytes of all encrypted files, by path.
pub(super) fn decrypt_sources(
    mount: &Mount<'_>,
    directory: &str,
    decrypt: &dyn Decrypt,
) -> Result<BTreeMap<String, Zeroizing<Vec<u8>>>, OverlayError> {
    let mut walk = Walk {
        mount,
        seen: BTreeSet::new(),
        sources: Vec::new(),
    };
    let walked = walk.directories(directory);
    let bytes: u64 = walk.sources.iter().map(|source| weight::of_text(&source.bytes)).sum();
    let _reservation = mount.reserve(bytes)?;
    let outcomes = workers::each(&walk.sources, |source| {
        decrypt.file(&SourceFile {
            path: &relative(&source.path),
            format: source.format,
            bytes: &source.bytes,
        })
    });
    let mut plain = BTreeMap::new();
    for (source, outcome) in walk.sources.into_iter().zip(outcomes) {
        if let Some(bytes) = outcome.map_err(OverlayError::Sources)? {
            plain.insert(source.path, bytes);
        }
    }
    // An error of the walk comes after those of the files before it.
    walked.map(|()| plain)
}

/// A file that may be encrypted.
struct CandidateFile<'w> {
    path: String,
    format: SourceFormat,
    bytes: Cow<'w, [u8]>,
}

struct Walk<'w> {
    mount: &'w Mount<'w>,
    /// Files already checked.
    seen: BTreeSet<String>,
    sources: Vec<CandidateFile<'w>>,
}

impl Walk<'_> {
    /// Visits the kustomization of a directory, and all that it includes.
    fn directories(&mut self, first: &str) -> Result<(), OverlayError> {
        let mut visited = BTreeSet::new();
        let mut waiting = vec![first.to_owned()];
        while let Some(next) = waiting.pop() {
            let directory = within(self.mount, &next)?;
            if !visited.insert(directory.clone()) {
                continue;
            }
            match self.mount.canonical(&directory) {
                Ok(found) if found.directory => {}
                // A file, or a URL.
                Ok(_) | Err(TreeError::Missing(_)) => continue,
                Err(error) => return Err(unusable(&directory, &error)),
            }
            let (kustomization, _reservation) = load(self.mount, &directory)?;
            self.files_of(&kustomization, &next)?;
            let included = ["resources", "components"]
                .into_iter()
                .flat_map(|field| texts(kustomization.get(field)));
            let included: Vec<String> = included.map(|name| from(&next, name)).collect();
            waiting.extend(included.into_iter().rev());
        }
        Ok(())
    }

    /// Adds the files that a kustomization names.
    fn files_of(&mut self, kustomization: &Mapping, directory: &str) -> Result<(), OverlayError> {
        for generator in items(kustomization.get("secretGenerator")) {
            for source in texts(generator.get("files")) {
                let (key, file) = source.split_once('=').unwrap_or((source, source));
                self.file(&from(directory, file), SourceFormat::of_name(key))?;
            }
            for file in texts(generator.get("envs")) {
                let format = match SourceFormat::of_name(file) {
                    SourceFormat::Binary => SourceFormat::Dotenv,
                    format => format,
                };
                self.file(&from(directory, file), format)?;
            }
        }
        for patch in items(kustomization.get("patches")) {
            let file = patch.text_at(&["path"]);
            if !file.is_empty() && !is_remote(file) {
                self.file(&from(directory, file), SourceFormat::of_name(file))?;
            }
        }
        Ok(())
    }

    fn file(&mut self, file: &str, format: SourceFormat) -> Result<(), OverlayError> {
        let file = within(self.mount, file)?;
        if !self.seen.insert(file.clone()) {
            return Ok(());
        }
        let bytes = self.mount.read(&file).map_err(|error| match error {
            TreeError::Directory(_) => {
                let problem = "cannot decrypt irregular file as it has file mode type bits set";
                OverlayError::SourcePath(format!("{problem} ({})", relative(&file)))
            }
            error => unusable(&file, &error),
        })?;
        self.sources.push(CandidateFile {
            path: file,
            format,
            bytes,
        });
        Ok(())
    }
}

/// A path that a kustomization in `directory` names; not confined to the root yet.
fn from(directory: &str, name: &str) -> String {
    if path::is_absolute(name) {
        name.to_owned()
    } else {
        path::join(directory, name)
    }
}

/// A path with links resolved, confined to the root. An absolute one counts from the root of the artifact.
fn within(mount: &Mount<'_>, absolute: &str) -> Result<String, OverlayError> {
    let cleaned = path::clean(absolute);
    let inside = Mount::inside(&cleaned).unwrap_or(&cleaned);
    let joined = secure_join(mount, inside);
    joined.map_err(|error| OverlayError::SourcePath(error.to_string()))
}

fn unusable(path: &str, error: &TreeError) -> OverlayError {
    let path = relative(path);
    OverlayError::SourcePath(match error {
        TreeError::Missing(_) => format!("lstat {path}: no such file or directory"),
        TreeError::File(_) => format!("lstat {path}: not a directory"),
        error => format!("lstat {path}: {error}"),
    })
}

/// The only kustomization of a directory.
fn load(mount: &Mount<'_>, directory: &str) -> Result<(Mapping, Option<Reservation>), OverlayError> {
    let problem = |problem: String| OverlayError::SourcePath(format!("{problem} ({})", relative(directory)));
    let mut file_at = None;
    for name in NAMES {
        let file = path::join(directory, name);
        match mount.canonical(&file) {
            Ok(at) if at.directory => return Err(problem(format!("expected {name} to be a regular file"))),
            Ok(_) if file_at.is_some() => return Err(problem("found multiple kustomization files".to_owned())),
            Ok(at) => file_at = Some(at.path),
            Err(TreeError::Missing(_)) => {}
            Err(error) => return Err(problem(format!("failed to lstat {name}: {error}"))),
        }
    }
    let file = file_at.ok_or_else(|| problem("no kustomization file found".to_owned()))?;
    let bytes = mount
        .read(&file)
        .map_err(|error| problem(format!("failed to read kustomization file: {error}")))?;
    let reservation = mount.reserve(weight::of_text(&bytes))?;
    let fields = read_fields(&bytes, &file);
    fields
        .map(|fields| (fields, reservation))
        .map_err(|(problem, place)| OverlayError::SourceKustomization { file, problem, place })
}

fn items(list: Option<&Node>) -> &[Node] {
    list.map_or(&[], Node::items)
}

fn texts(list: Option<&Node>) -> impl Iterator<Item = &str> {
    items(list).iter().filter_map(Node::as_str)
}

/// Whether a patch is a URL: with a scheme and a host.
fn is_remote(path: &str) -> bool {
    bumpwright_gostd::Url::parse(path.as_bytes()).is_ok_and(|url| !url.scheme.is_empty() && !url.host.is_empty())
}
