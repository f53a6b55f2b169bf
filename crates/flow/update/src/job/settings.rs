//! Start and push settings of an automation and its GitRepository (IUA v1, *Git specification*), for commands and
//! controllers alike. controllers alike.

use std::collections::BTreeMap;

use super::destination::{DestinationError, Refspec};
use super::push::{OtherBranch, PushSettings};
use super::remote_job::Start;
use bumpwright_api::{GitRef, ImageUpdateAutomation};
use bumpwright_semver::Constraint;

/// A setting that is not valid.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The range of versions.
    #[error("semver {range:?}: {error}")]
    Semver {
        /// As written.
        range: String,
        error: String,
    },
    /// `push.refspec`.
    #[error(transparent)]
    Refspec(#[from] DestinationError),
}

/// The start of the checkout, and the branch that the reference names beside a tag, range or commit: commit
/// before name before range before tag before branch (GitRepository v1, *Reference*). Without a reference it
/// is `master`, Flux's default.
///
/// # Errors
/// A range that does not parse.
pub fn start(reference: Option<&GitRef>) -> Result<(Start, Option<String>), SettingsError> {
    let nothing = GitRef::default();
    let reference = reference.unwrap_or(&nothing);
    let set = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
    let branch = set(&reference.branch);
    let start = if let Some(commit) = set(&reference.commit) {
        Start::Commit(commit)
    } else if let Some(name) = set(&reference.name) {
        Start::Name(name)
    } else if let Some(range) = set(&reference.semver) {
        Constraint::parse(&range).map_err(|e| SettingsError::Semver {
            range: range.clone(),
            error: e.to_string(),
        })?;
        Start::Semver(range)
    } else if let Some(tag) = set(&reference.tag) {
        Start::Tag(tag)
    } else {
        Start::Branch(branch.clone().unwrap_or_else(|| "master".to_owned()))
    };
    Ok((start, branch))
}

/// The automation's push section.
///
/// # Errors
/// A refspec that does not parse.
pub fn push(automation: &ImageUpdateAutomation) -> Result<PushSettings, SettingsError> {
    let push = automation.spec.git.as_ref().and_then(|git| git.push.as_ref());
    let set = |field: Option<&String>| field.cloned().filter(|text| !text.is_empty());
    let refspec = set(push.and_then(|push| push.refspec.as_ref()));
    let options: BTreeMap<String, String> = push.map(|push| push.options.clone()).unwrap_or_default();
    Ok(PushSettings {
        branch: set(push.and_then(|push| push.branch.as_ref())),
        refspecs: refspec
            .map(|text| Refspec::parse(&text))
            .transpose()?
            .into_iter()
            .collect(),
        options: options.into_iter().collect(),
        review: None,
        other_branch: OtherBranch::default(),
        drop_options: false,
    })
}

/// Returns whether neither the automation nor its repository names a reference: then nothing says which
/// branch to push to (IUA-074).
#[must_use]
pub fn names_no_branch(reference: Option<&GitRef>, push: &PushSettings) -> bool {
    reference.is_none_or(|reference| *reference == GitRef::default()) && push.branch.is_none()
}
