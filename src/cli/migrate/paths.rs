//! The folders that Applications and new automations name, in the clones that were given: one that is not there is a
//! slip, and what is written for it would change nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::error::CliError;
use crate::cli::own_servers::remotes;
use crate::cli::words;
use bumpwright_adopt::{Files, SourceFile};
use bumpwright_api::tree::Node;
use bumpwright_api::{ImageUpdateAutomation, Objects, UnknownFields, read};
use bumpwright_fleet::{Identity, clean};

/// What the annotations of argocd-image-updater begin with.
const ARGOCD: &str = "argocd-image-updater.argoproj.io/";

const WAY_OUT: &str = "correct the path, or leave its file out; nothing was written";

/// A clone, and the addresses that it is known by.
struct LocalClone {
    root: PathBuf,
    identity: Identity,
}

/// Checks the folders of annotated Applications and of new automations whose repository is one of the clones that hold
/// `paths`.
///
/// # Errors
/// The repository does not have one of them.
pub(super) fn check(manifests: &str, sources: &[SourceFile], paths: &[PathBuf]) -> Result<(), CliError> {
    let roots: BTreeSet<PathBuf> = paths.iter().filter_map(|path| clone_of(path)).collect();
    let clones = roots.into_iter().map(|root| LocalClone {
        identity: Identity { urls: remotes(&root) },
        root,
    });
    let clones: Vec<LocalClone> = clones.collect();
    applications(sources, &clones)?;
    automations(manifests, &clones)
}

fn applications(sources: &[SourceFile], clones: &[LocalClone]) -> Result<(), CliError> {
    let files = Files::read(sources);
    for file in &files.parsed {
        for application in file.objects().into_iter().filter(|object| is_annotated(object)) {
            for (url, path) in places(application) {
                let Some(text) = path.text().map(clean) else { continue };
                if let Some(clone) = clones.iter().find(|clone| clone.has(url) && clone.lacks(&text)) {
                    let error = CliError::new(format!("{} has no {}", clone.shown(), words::inline(&text)));
                    let (name, place) = (words::inline(&file.source.name), path.place);
                    return Err(error
                        .at(format_args!("{name}:{}:{}", place.line, place.column))
                        .hint(WAY_OUT));
                }
            }
        }
    }
    Ok(())
}

fn is_annotated(object: &Node) -> bool {
    let annotations = object
        .field("metadata")
        .and_then(|metadata| metadata.field("annotations"));
    let mut entries = annotations.into_iter().flat_map(Node::entries);
    object.field_text("kind") == Some("Application") && entries.any(|entry| entry.name().starts_with(ARGOCD))
}

/// The addresses and folders of an Application's sources.
fn places(application: &Node) -> Vec<(&str, &Node)> {
    let Some(spec) = application.field("spec") else {
        return Vec::new();
    };
    let several = spec.field("sources").into_iter().flat_map(Node::items);
    let all = spec.field("source").into_iter().chain(several.map(AsRef::as_ref));
    all.filter_map(|source| Some((source.field_text("repoURL")?, source.field("path")?)))
        .collect()
}

fn automations(manifests: &str, clones: &[LocalClone]) -> Result<(), CliError> {
    let mut objects = Objects::default();
    // Objects of others in the same file need not be valid.
    let Ok(documents) = read("", manifests.as_bytes(), UnknownFields::Allow) else {
        return Ok(());
    };
    if objects.insert_all(documents).is_err() {
        return Ok(());
    }
    for automation in objects.automations() {
        let Some(repository) = objects.git_repository(&automation.source_name()) else {
            continue;
        };
        let mut own = clones.iter().filter(|clone| clone.has(&repository.spec.url));
        own.try_for_each(|clone| automation_in(automation, clone))?;
    }
    Ok(())
}

fn automation_in(automation: &ImageUpdateAutomation, clone: &LocalClone) -> Result<(), CliError> {
    let path = clean(automation.path());
    if !clone.lacks(&path) {
        return Ok(());
    }
    let text = format!(
        "ImageUpdateAutomation {} would look at {}, which {} does not have",
        automation.metadata.object_name(),
        words::inline(&path),
        clone.shown()
    );
    Err(CliError::new(text).hint(WAY_OUT))
}

impl LocalClone {
    fn has(&self, url: &str) -> bool {
        self.identity.has(url)
    }

    /// Whether a path is not there. One that a generator fills in is not known.
    fn lacks(&self, path: &str) -> bool {
        let metadata = fs::metadata(self.root.join(path));
        let is_missing = metadata.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        is_missing && !path.contains("{{")
    }

    fn shown(&self) -> String {
        words::inline(&self.root.display().to_string()).into_owned()
    }
}

/// The clone that a path is in.
fn clone_of(path: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(path).ok()?;
    let root = real.ancestors().find(|above| above.join(".git").exists())?;
    Some(root.to_owned())
}
