//! `GitRepository` as a source: from its reference to an artifact (source-controller v1.9, `GitRepositoryReconciler`).

mod dereference;
mod error;
mod fetch;
mod remote;
mod status;
mod store;
mod verify;

use super::artifacts;
use super::artifacts::News;
use super::source::{Source, SourceRequest};
use super::status as conditions;
use bumpwright_api::{GitRepository, GitRepositoryStatus, GoDuration, Reason};
use bumpwright_kube::{GIT_REPOSITORY, Kind};
use bumpwright_runtime::Status;
pub(crate) use error::Error;

impl Source for GitRepository {
    const KIND: &'static Kind = &GIT_REPOSITORY;
    const LINK: Option<&'static str> = None;
    type Observed = GitRepositoryStatus;
    type Error = Error;

    fn interval(&self) -> Option<GoDuration> {
        self.spec.interval
    }

    async fn run(request: &SourceRequest<'_, Self>, status: &mut Status) -> Result<News, Error> {
        conditions::begin_verification(status);
        let objects = dereference::objects(request).await?;
        let remote = dereference::remote(request, &objects).await?;
        let includes = dereference::includes(request).await?;
        status::included(status);
        if includes != request.observed.included_artifacts {
            let outdated = (!request.observed.included_artifacts.is_empty()).then_some(Reason::IncludeChange);
            let message = "included artifacts differ from last observed includes";
            request.rebuild(status, outdated, message).await;
        }
        conditions::clear_outdated(status);
        let is_verified = verify::is_current(request, status, &objects);
        let Some(fetched) = fetch::commit(request, status, (&remote, &includes), is_verified).await? else {
            let revision = fetch::report_unchanged(request, status);
            conditions::fetched(status);
            status::stored(status, &revision);
            return Ok(event_message(&revision).into());
        };
        conditions::fetched(status);
        let verified = verify::commit(request, &objects, &fetched.commit)?;
        status::verified(status, verified.as_ref());
        let revision = fetched.commit.revision.to_string();
        let subject = fetched.commit.short_message();
        if !artifacts::is_of(status, &revision) {
            let message = format!("new upstream revision '{revision}'");
            request.rebuild_revision(status, &message).await;
        }
        let new = store::store(request, status, fetched, includes).await?;
        request.finish(status, new, &revision);
        status::stored(status, &revision);
        Ok(event_message(&subject).into())
    }
}

/// The message of the event about an artifact.
fn event_message(subject: &str) -> String {
    format!("stored artifact for commit '{subject}'")
}
