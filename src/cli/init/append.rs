//! New objects behind those of a file that exists.

use std::fs;
use std::path::Path;

use crate::cli::error::{Attempt as _, CliError};
use crate::cli::words;
use bumpwright_adopt::{Files, SourceFile};
use bumpwright_api::tree::Node;
use bumpwright_propose::Proposal;
use bumpwright_update::FileChange;

/// The group of policies, their repositories and automations.
const GROUP: &str = "image.toolkit.fluxcd.io/";

/// Puts the new objects behind those of a file with objects of image automation, on top of the changes of its fields.
///
/// # Errors
/// The file cannot be read, or its content is something else.
pub(super) fn to(changes: &mut Vec<FileChange>, place: &Path, proposal: &Proposal) -> Result<(), CliError> {
    let shown = place.display().to_string();
    let old = fs::read(place).at(words::inline(&shown))?;
    let name = shown.strip_prefix("./").unwrap_or(&shown).as_bytes();
    let same = |change: &FileChange| change.path.strip_prefix(b"./").unwrap_or(&change.path) == name;
    if !changes.iter().any(same) {
        changes.push(FileChange {
            path: shown.as_bytes().to_vec(),
            new: old.clone(),
            old,
        });
    }
    for change in changes.iter_mut().filter(|change| same(change)) {
        change.new = behind(&change.new, proposal).ok_or_else(|| refused(place))?;
    }
    Ok(())
}

/// That a file exists and stays as it is.
pub(super) fn refused(place: &Path) -> CliError {
    let path = place.display().to_string();
    CliError::new(format!(
        "{} is there already, and is not overwritten",
        words::inline(&path)
    ))
    .hint("name another file with --export-to")
}

/// The content with the new objects; none if it would not be read as the objects of both.
fn behind(old: &[u8], proposal: &Proposal) -> Option<Vec<u8>> {
    let mut new = old.to_vec();
    if !new.ends_with(b"\n") {
        new.push(b'\n');
    }
    new.extend_from_slice(b"---\n");
    new.extend_from_slice(proposal.manifests.as_bytes());
    let (before, after) = (count(old)?, count(&new)?);
    (after == before + proposal.objects.len()).then_some(new)
}

/// The objects in a file; none if it does not parse, is encrypted, or has nothing of image automation.
fn count(bytes: &[u8]) -> Option<usize> {
    let source = SourceFile {
        name: String::new(),
        root: 0,
        path: String::new(),
        bytes: bytes.to_vec(),
    };
    let sources = [source];
    let files = Files::read(&sources);
    let file = files.parsed.first().filter(|file| file.error.is_none())?;
    let objects = file.objects();
    let is_encrypted = objects.iter().any(|node| node.field("sops").is_some());
    let is_wanted = |node: &&Node| node.text_of("apiVersion").starts_with(GROUP);
    (!is_encrypted && objects.iter().any(is_wanted)).then_some(objects.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_policy::PolicyName;

    const POLICY: &str = "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {name: web}\n";

    #[test]
    fn objects_go_behind_those_of_image_automation_alone() {
        let proposal = Proposal {
            manifests: format!("# Proposed.\n{POLICY}"),
            objects: vec![("ImagePolicy", PolicyName::new("fs", "web"))],
            ..Proposal::default()
        };
        let after = |old: &str| behind(old.as_bytes(), &proposal).map(|new| String::from_utf8_lossy(&new).into_owned());
        let new = format!("{POLICY}---\n# Proposed.\n{POLICY}");
        assert_eq!(after(POLICY), Some(new.clone()));
        assert_eq!(after(POLICY.trim_end()), Some(new));
        for old in [
            "",
            "kind: Pod\n",
            "a: [\n",
            &format!("{POLICY}sops: {{mac: x}}\n"),
            &format!("{POLICY}text: '\n"),
        ] {
            assert_eq!(after(old), None, "{old}");
        }
    }
}
