//! The job of a plain run against a remote, or of one automation with its GitRepository (docs/cli.md, *TARGET*,
//! rules 3 to 6).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::plan::{Step, failed, suspended};
use super::typed::Typed;
use crate::cli::access::Access;
use crate::cli::access::{self, Known};
use crate::cli::error::CliError;
use crate::cli::own_servers::{OwnServers, origin};
use crate::cli::places::Places;
use crate::cli::words;
use bumpwright_api::{GitRef, GitRepository, ImageUpdateAutomation, Object, ObjectName};
use bumpwright_connect as connect;
use bumpwright_git::{Remote, RemoteUrl};
use bumpwright_nearest::nearest;
use bumpwright_update::{DestinationError, OtherBranch, PushSettings, RemoteJob, Start, settings};

impl Typed<'_> {
    pub(super) fn plain_remote(&self, url: &str, places: &mut Places) -> Result<Step, CliError> {
        let remote = access::plain(url, &self.args.access)?;
        // A change for a branch is made of what that branch has.
        let reviewed = self.review().and_then(|review| review.branch);
        let start = self.args.branch.clone().or(reviewed);
        let start = start.map_or(Start::Default, Start::Branch);
        let mut notes = Vec::new();
        let author = self.author(None, None)?;
        let job = RemoteJob {
            edits: self.edits(None)?,
            url: remote.url.to_string(),
            start,
            branch: None,
            sparse: false,
            push: PushSettings {
                branch: self.args.push_branch.clone(),
                refspecs: self.refspecs.clone(),
                options: self.options.clone(),
                review: self.review(),
                other_branch: OtherBranch::default(),
                drop_options: false,
            },
            pull_request: self.pull_request(None, &remote, &mut notes)?,
            agit: None,
            gerrit: None,
            signer: self.signer(None, &author, &mut notes)?,
            author,
            message: self.message_of(None),
        };
        Ok(Step::Remote(
            Box::new(with_review_apis(job, &remote)),
            places.place(&remote)?,
            notes,
        ))
    }

    /// One automation against its GitRepository, or against `url` instead.
    pub(super) fn automation(
        &self,
        automation: &ImageUpdateAutomation,
        url: Option<&str>,
        places: &mut Places,
    ) -> Step {
        let mut notes = self.dry_run_note(Some(automation));
        let step = self.try_automation(automation, url, places, &mut notes);
        step.unwrap_or_else(|error| {
            let source = automation.source_name().to_string();
            failed(Some(automation), &words::public(url.unwrap_or(&source)), &error)
        })
    }

    /// The GitRepositories of `-f`, as `namespace/name`.
    fn repositories(&self) -> impl Iterator<Item = String> {
        self.objects.documents().filter_map(|document| match &document.object {
            Object::GitRepository(repository) => Some(repository.metadata.object_name().to_string()),
            _ => None,
        })
    }

    fn try_automation(
        &self,
        automation: &ImageUpdateAutomation,
        url: Option<&str>,
        places: &mut Places,
        notes: &mut Vec<String>,
    ) -> Result<Step, CliError> {
        if let Some(step) = suspended(Some(automation), &words::public(url.unwrap_or(""))) {
            return Ok(step);
        }
        let at = |field: &str| automation.places.of(field);
        if automation.spec.git.is_none() {
            let missing = "source kind 'GitRepository' necessitates field .spec.git: invalid source configuration";
            return Err(CliError::new(missing).at_known(at(ImageUpdateAutomation::GIT)));
        }
        let source = automation.source_name();
        let repository = self.objects.git_repository(&source);
        let remote = self.remote(repository, url, notes).map_err(|e| match repository {
            None if url.is_none() => {
                let error = CliError::new(format!("{e}: GitRepository {source} is not among the manifests in -f"));
                let known: Vec<String> = self.repositories().collect();
                let error = error.at_known(at(ImageUpdateAutomation::SOURCE));
                error.meant(nearest(&source.to_string(), known.iter().map(String::as_str)))
            }
            None | Some(_) => e,
        })?;
        let reference = automation.checkout_ref(repository.and_then(|r| r.spec.reference.as_ref()));
        let start = self.start(reference, repository.is_some());
        let (start, branch) = start.map_err(|error| error.at_known(automation.checkout_place(repository)))?;
        let push = self.push_of(automation);
        let push = push.map_err(|error| error.at_known(at(ImageUpdateAutomation::PUSH_REFSPEC)))?;
        let no_branch = settings::names_no_branch(reference, &push);
        if no_branch && repository.is_some() && self.args.branch.is_none() {
            // `master` is the default for reading, but not for writing (IUA-074).
            let error = CliError::from(DestinationError::NoBranch);
            return Err(error.at_known(at(ImageUpdateAutomation::PUSH_BRANCH)));
        }
        let author = self.author(Some(automation), None)?;
        let job = RemoteJob {
            edits: self.edits(Some(automation))?,
            url: remote.url.to_string(),
            start,
            branch,
            sparse: false,
            push,
            pull_request: self.pull_request(Some(automation), &remote, notes)?,
            agit: None,
            gerrit: None,
            signer: self.signer(Some(automation), &author, notes)?,
            author,
            message: self.message_of(Some(automation)),
        };
        Ok(Step::Remote(
            Box::new(with_review_apis(job, &remote)),
            places.place(&remote)?,
            std::mem::take(notes),
        ))
    }

    fn remote(
        &self,
        repository: Option<&GitRepository>,
        url: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<Remote, CliError> {
        match (repository, url) {
            (Some(repository), Some(url)) => {
                let context = self.known(&self.args.access);
                access::of_repository(url, repository, context, notes)
            }
            (Some(repository), None) => {
                let access = self.bound(repository, notes)?;
                access::of_repository(&repository.spec.url, repository, self.known(&access), notes)
            }
            (None, Some(url)) => access::plain(url, &self.args.access),
            (None, None) => Err(CliError::new("referenced git repository does not exist")),
        }
    }

    fn known<'k>(&'k self, access: &'k Access) -> Known<'k> {
        Known {
            objects: &self.objects,
            access,
            identities: &self.identities,
        }
    }

    /// The settings for a server that only a manifest names: without credentials that are not for it, and no
    /// folder of this machine.
    fn bound(&self, repository: &GitRepository, notes: &mut Vec<String>) -> Result<Access, CliError> {
        let access = &self.args.access;
        let url = RemoteUrl::parse(&repository.spec.url)?;
        if !self.own_servers.have_folder(&url) {
            return Err(CliError::new(format!(
                "url '{url}' of GitRepository {} is none of http://, https:// and ssh://: manifests name no folders of this machine; give it as \
                 TARGET, or allow all with --git-server=file://",
                repository.metadata.object_name()
            )));
        }
        if self.own_servers.have(&url) || !access::has_login(access)? {
            return Ok(access.clone());
        }
        // With the login of a Secret there is nothing to do about it.
        let namespace = repository.metadata.namespace_or_default();
        let named = repository.spec.secret_ref.as_ref();
        let secret = named.and_then(|named| self.objects.secret(&ObjectName::new(namespace, &named.name)));
        let has = |key: &str| secret.is_some_and(|secret| secret.text(key).is_ok_and(|text| text.is_some()));
        if has("password") || has("bearerToken") {
            return Ok(access::without_login(access));
        }
        notes.push(format!(
            "the credentials of flags or the environment are not sent to {}, which only a manifest names: {}; or give the repository as TARGET",
            origin(&url),
            OwnServers::way_out(&url)
        ));
        Ok(access::without_login(access))
    }

    /// Commit before name before range before tag before branch (GitRepository v1, *Reference*); `--branch` before all.
    fn start(&self, reference: Option<&GitRef>, has_repository: bool) -> Result<(Start, Option<String>), CliError> {
        if let Some(branch) = &self.args.branch {
            return Ok((Start::Branch(branch.clone()), None));
        }
        if reference.is_none() && !has_repository {
            // Flux's defaults are those of a GitRepository.
            return Ok((Start::Default, None));
        }
        settings::start(reference).map_err(CliError::from)
    }

    /// The automation's push section, overridden by flags.
    fn push_of(&self, automation: &ImageUpdateAutomation) -> Result<PushSettings, CliError> {
        let mut push = settings::push(automation)?;
        if !self.refspecs.is_empty() || self.args.gerrit.is_some() {
            push.refspecs.clone_from(&self.refspecs);
        }
        let mut options: BTreeMap<String, String> = push.options.into_iter().collect();
        options.extend(self.options.iter().cloned());
        push.options = options.into_iter().collect();
        push.branch = self.args.push_branch.clone().or(push.branch);
        push.review = self.review();
        Ok(push)
    }
}

/// With the APIs for requests and changes that the push itself opens, as Git itself logs in there.
fn with_review_apis(job: RemoteJob, remote: &Remote) -> RemoteJob {
    let pushes = !job.edits.dry_run;
    let agit = if pushes && job.push.is_agit() {
        connect::own_gitea(remote)
    } else {
        None
    };
    // A preview asks, too: what the run would leave as it is must not look as if it were pushed.
    let gerrit = if job.push.is_change() {
        connect::own_gerrit(remote)
    } else {
        None
    };
    RemoteJob {
        agit: agit.map(Arc::new),
        gerrit: gerrit.map(Arc::new),
        ..job
    }
}
