//! What is done against a remote: a plain run, or one automation with its GitRepository (CLI.md, *TARGET*, rules 3 to 6).

use std::collections::BTreeMap;

use super::access::{self, Known};
use super::places::Places;
use super::plan::{Step, failed, suspended};
use super::typed::Typed;
use super::words;
use crate::api::{GitRef, GitRepository, ImageUpdateAutomation};
use crate::automation::{DestinationError, PushSettings, Refspec, RemoteJob, Start};
use crate::git::Remote;
use crate::policy::Constraint;

impl Typed<'_> {
    pub(super) fn plain_remote(&self, url: &str, places: &mut Places) -> Result<Step, String> {
        let remote = access::plain(url, &self.args.access)?;
        let start = self.args.branch.clone().map_or(Start::Default, Start::Branch);
        let mut notes = Vec::new();
        let author = self.author(None, None)?;
        let job = RemoteJob {
            edits: self.edits(None)?,
            url: remote.url.to_string(),
            start,
            branch: None,
            push: PushSettings {
                branch: self.args.push_branch.clone(),
                refspecs: self.refspecs.clone(),
                options: self.options.clone(),
                review: self.review(),
            },
            pull_request: self.pull_request(None, &remote, &mut notes)?,
            signer: self.signer(None, &author, &mut notes)?,
            author,
            message: self.message_of(None),
        };
        Ok(Step::Remote(Box::new(job), places.place(&remote)?, notes))
    }

    /// One automation against its GitRepository, or against `url` instead.
    pub(super) fn automation(
        &self,
        automation: &ImageUpdateAutomation,
        url: Option<&str>,
        places: &mut Places,
    ) -> Step {
        let mut notes = Vec::new();
        let step = self.try_automation(automation, url, places, &mut notes);
        step.unwrap_or_else(|error| {
            let source = automation.source_name().to_string();
            failed(Some(automation), &words::public(url.unwrap_or(&source)), error)
        })
    }

    fn try_automation(
        &self,
        automation: &ImageUpdateAutomation,
        url: Option<&str>,
        places: &mut Places,
        notes: &mut Vec<String>,
    ) -> Result<Step, String> {
        if let Some(step) = suspended(Some(automation), &words::public(url.unwrap_or_default())) {
            return Ok(step);
        }
        if automation.spec.git.is_none() {
            return Err(
                "source kind 'GitRepository' necessitates field .spec.git: invalid source configuration".to_owned(),
            );
        }
        let source = automation.source_name();
        let repository = self.objects.git_repository(&source);
        let remote = self.remote(repository, url, notes).map_err(|e| match repository {
            None => format!("{e}: GitRepository {source} is not among the manifests in -f"),
            Some(_) => e,
        })?;
        let reference = automation.checkout_ref(repository.and_then(|r| r.spec.reference.as_ref()));
        let (start, branch) = self.start(reference, repository.is_some())?;
        let push = self.push_of(automation)?;
        let says_nothing = reference.is_none_or(|reference| *reference == GitRef::default());
        if says_nothing && repository.is_some() && self.args.branch.is_none() && push.branch.is_none() {
            // `master` is read when nothing is said, but it is not written to (IUA-074).
            return Err(DestinationError::NoBranch.to_string());
        }
        let author = self.author(Some(automation), None)?;
        let job = RemoteJob {
            edits: self.edits(Some(automation))?,
            url: remote.url.to_string(),
            start,
            branch,
            push,
            pull_request: self.pull_request(Some(automation), &remote, notes)?,
            signer: self.signer(Some(automation), &author, notes)?,
            author,
            message: self.message_of(Some(automation)),
        };
        Ok(Step::Remote(
            Box::new(job),
            places.place(&remote)?,
            std::mem::take(notes),
        ))
    }

    fn remote(
        &self,
        repository: Option<&GitRepository>,
        url: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<Remote, String> {
        match (repository, url) {
            (Some(repository), url) => {
                let url = url.unwrap_or(&repository.spec.url);
                let known = Known {
                    objects: &self.objects,
                    access: &self.args.access,
                    identities: &self.identities,
                };
                access::of_repository(url, repository, known, notes)
            }
            (None, Some(url)) => access::plain(url, &self.args.access),
            (None, None) => Err("referenced git repository does not exist".to_owned()),
        }
    }

    /// Commit before name before range before tag before branch (GitRepository v1, *Reference*); `--branch` before all.
    fn start(&self, reference: Option<&GitRef>, has_repository: bool) -> Result<(Start, Option<String>), String> {
        if let Some(branch) = &self.args.branch {
            return Ok((Start::Branch(branch.clone()), None));
        }
        let Some(reference) = reference else {
            // Flux's default for a GitRepository without a reference; without one there is nobody to default for.
            let start = if has_repository {
                Start::Branch("master".to_owned())
            } else {
                Start::Default
            };
            return Ok((start, None));
        };
        let set = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        let branch = set(&reference.branch);
        let start = if let Some(commit) = set(&reference.commit) {
            Start::Commit(commit)
        } else if let Some(name) = set(&reference.name) {
            Start::Name(name)
        } else if let Some(range) = set(&reference.semver) {
            Constraint::parse(&range).map_err(|e| format!("semver {range:?}: {e}"))?;
            Start::Semver(range)
        } else if let Some(tag) = set(&reference.tag) {
            Start::Tag(tag)
        } else {
            Start::Branch(branch.clone().unwrap_or_else(|| "master".to_owned()))
        };
        Ok((start, branch))
    }

    /// The automation's push section, with flags over it.
    fn push_of(&self, automation: &ImageUpdateAutomation) -> Result<PushSettings, String> {
        let push = automation.spec.git.as_ref().and_then(|git| git.push.as_ref());
        let set = |field: Option<&String>| field.cloned().filter(|text| !text.is_empty());
        let mut refspecs = self.refspecs.clone();
        if refspecs.is_empty()
            && self.args.gerrit.is_none()
            && let Some(text) = set(push.and_then(|push| push.refspec.as_ref()))
        {
            refspecs.push(Refspec::parse(&text).map_err(|e| e.to_string())?);
        }
        let mut options: BTreeMap<String, String> = push.map(|push| push.options.clone()).unwrap_or_default();
        options.extend(self.options.iter().cloned());
        Ok(PushSettings {
            branch: self
                .args
                .push_branch
                .clone()
                .or_else(|| set(push.and_then(|push| push.branch.as_ref()))),
            refspecs,
            options: options.into_iter().collect(),
            review: self.review(),
        })
    }
}
