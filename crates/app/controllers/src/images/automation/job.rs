//! From an automation, its GitRepository and their Secrets to a run.

use std::sync::Arc;

use super::context::AutomationContext;
use super::error::Error;
use crate::mirror_uses::Owner;
use crate::parts::context::Context;
use crate::settings::Gates;
use crate::tokens;
use bumpwright_api::{AutomationAnnotations, GitRepository, ImageUpdateAutomation, ObjectName, Objects};
use bumpwright_connect::git::{self, RemoteError};
use bumpwright_connect::{self as connect, requester};
use bumpwright_forge::Repository;
use bumpwright_git::Remote;
use bumpwright_kube::IMAGE_UPDATE_AUTOMATION;
use bumpwright_runtime::clock;
use bumpwright_update::{
    Author, CommitMessage, DestinationError, Edits, OtherBranch, Place, Policies, PullRequest, RemoteJob,
    RespectReverts, Start, settings,
};

/// The Secret with the signing key, in the automation's namespace (IUA-040).
pub(crate) fn signing_secret(automation: &ImageUpdateAutomation) -> Option<ObjectName> {
    let key = automation.spec.git.as_ref()?.commit.signing_key.as_ref()?;
    Some(ObjectName::new(
        automation.metadata.namespace_or_default(),
        &key.secret_ref.name,
    ))
}

/// The job of an automation. `policies` are those of its namespace.
pub(crate) fn make(
    context: &AutomationContext,
    automation: &ImageUpdateAutomation,
    repository: &GitRepository,
    objects: &Objects,
    policies: Arc<Policies>,
) -> Result<(RemoteJob, Place), Error> {
    let Some(git) = &automation.spec.git else {
        return Err(Error::SourceManagerFailed("spec.git is required".to_owned()));
    };
    let remote = remote(&context.shared, automation, repository, objects)?;
    let reference = automation.checkout_ref(repository.spec.reference.as_ref());
    let (start, branch) = settings::start(reference).map_err(|e| e.to_string())?;
    let mut push = settings::push(automation).map_err(|e| e.to_string())?;
    push.other_branch = other_branch(context.shared.settings.gates);
    push.drop_options = context.shared.settings.gates.allow_dropped_push_options;
    if settings::names_no_branch(reference, &push) {
        return Err(Error::SourceManagerFailed(DestinationError::NoBranch.to_string()));
    }
    if context.shared.settings.gates.refspec_also_pushes_branch && !push.refspecs.is_empty() && push.branch.is_none() {
        push.branch = match &start {
            Start::Branch(branch) => Some(branch.clone()),
            _ => branch.clone(),
        };
    }
    let author = Author {
        name: git.commit.author.name.clone(),
        email: git.commit.author.email.clone(),
    };
    let signer = git.commit.signing_key.as_ref().map(|key| {
        let name = &key.secret_ref.name;
        let secret = objects
            .secret(&ObjectName::new(automation.metadata.namespace_or_default(), name))
            .ok_or_else(|| connect::SigningKeyError::NotFound(name.clone()));
        secret.and_then(|secret| connect::signer(secret, key.kind, clock::now().unix_seconds()))
    });
    let signer = signer.transpose().map_err(|e| e.to_string())?;
    let agit = if push.is_agit() {
        connect::own_gitea(&remote)
    } else {
        None
    };
    let gerrit = if push.is_change() {
        connect::own_gerrit(&remote)
    } else {
        None
    };
    let job = RemoteJob {
        edits: Edits {
            automation: Some(automation.metadata.object_name().to_string()),
            namespace: Some(automation.metadata.namespace_or_default().to_owned()),
            selector: automation.spec.policy_selector.clone(),
            path: automation.spec.update.path.clone(),
            policies,
            overwrite: context.shared.settings.gates.overwrite_mismatches,
            ..Edits::default()
        },
        url: remote.url.to_string(),
        start,
        branch,
        sparse: context.shared.settings.gates.sparse,
        push,
        author,
        message: CommitMessage::of(automation),
        signer,
        pull_request: pull_request(automation, &remote, objects)?,
        agit: agit.map(Arc::new),
        gerrit: gerrit.map(Arc::new),
    };
    let owner = Owner::new(IMAGE_UPDATE_AUTOMATION.kind, automation.metadata.object_name());
    let place = context
        .mirrors
        .place(&remote, &owner)
        .map_err(|error| Error::GitOperationFailed {
            url: job.url.clone(),
            message: error.to_string(),
        })?;
    Ok((job, place))
}

/// Sets what the automation's annotations say.
pub(crate) fn annotate(job: &mut RemoteJob, annotations: &AutomationAnnotations) {
    let edits = &mut job.edits;
    edits.dry_run = annotations.dry_run;
    edits.windows.clone_from(&annotations.windows);
    edits.formats = annotations.formats;
    edits.respect_reverts = annotations.respect_reverts.map(|commits| RespectReverts {
        commits,
        author: Some(job.author.email.clone()),
    });
}

/// How an existing push branch is updated, by the gates (C30).
fn other_branch(gates: Gates) -> OtherBranch {
    match (gates.force_push_branch, gates.all_branches) {
        (true, _) => OtherBranch::Replaced,
        (false, true) => OtherBranch::Continued,
        (false, false) => OtherBranch::Forwarded,
    }
}

/// The remote with all settings of its GitRepository (C33).
fn remote(
    context: &Context,
    automation: &ImageUpdateAutomation,
    repository: &GitRepository,
    objects: &Objects,
) -> Result<Remote, Error> {
    let reached = git::of_server(repository, objects).map_err(|error| {
        let message = error.to_string();
        match error {
            RemoteError::Source(_) => Error::InvalidSourceConfiguration(message),
            RemoteError::Scheme(_) => {
                Error::InvalidSourceConfiguration(format!("{message}: invalid source configuration"))
            }
            RemoteError::Credentials { error, .. } => {
                Error::SourceManagerFailed(format!("failed to configure authentication options: {error}"))
            }
            RemoteError::NoIdentity => {
                Error::SourceManagerFailed(format!("failed to configure authentication options: {message}"))
            }
            RemoteError::NoSecret(name) => {
                Error::SourceManagerFailed(format!("failed to get auth secret '{name}': {message}"))
            }
            _ => Error::SourceManagerFailed(message),
        }
    })?;
    let requester = requester(IMAGE_UPDATE_AUTOMATION.kind, &automation.metadata);
    let remote = tokens::git_login(context, requester, repository, objects, reached);
    remote.map_err(|error| Error::SourceManagerFailed(error.to_string()))
}

/// The Secret with a token for pull requests, in the automation's namespace.
pub(crate) fn pull_request_secret(automation: &ImageUpdateAutomation) -> Option<ObjectName> {
    let name = automation.pull_request().ok()?.secret?;
    Some(ObjectName::new(automation.metadata.namespace_or_default(), name))
}

/// The pull request settings of the annotations.
fn pull_request(
    automation: &ImageUpdateAutomation,
    remote: &Remote,
    objects: &Objects,
) -> Result<Option<PullRequest>, Error> {
    let said = automation
        .pull_request()
        .map_err(|error| Error::InvalidAnnotation(error.to_string()))?;
    let Some(kind) = said.kind.map(bumpwright_update::forge_kind) else {
        return Ok(None);
    };
    let git = connect::git_address(remote)?;
    let repository =
        Repository::locate(kind, git, said.api.as_ref()).map_err(|error| format!("pull request: {error}"))?;
    let secret = pull_request_secret(automation);
    let named = ("bumpwright.dev/pull-request-secret", secret.as_ref());
    let login = connect::pull_request_login(named, objects, (remote, &repository))?;
    Ok(Some(PullRequest {
        base: said.base,
        overwrite: said.overwrite,
        setup: said.setup,
        forge: Arc::new(connect::forge(kind, repository, login, remote)?),
    }))
}
