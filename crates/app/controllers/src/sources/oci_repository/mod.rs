//! `OCIRepository` as a source: from a tag or digest to an artifact (source-controller v1.9,
//! `OCIRepositoryReconciler`).

mod dereference;
mod error;
mod fetch;
pub(crate) mod remote;
pub(in crate::sources) mod signature_error;
mod status;
mod store;
pub(super) mod verify;

use super::artifacts;
use super::artifacts::News;
use super::source::{Source, SourceRequest};
use super::status as conditions;
use bumpwright_api::{GoDuration, OciRepository, OciRepositoryStatus};
use bumpwright_kube::{Kind, OCI_REPOSITORY};
use bumpwright_runtime::Status;
use bumpwright_storage::LATEST;
pub(crate) use error::Error;

impl Source for OciRepository {
    const KIND: &'static Kind = &OCI_REPOSITORY;
    const LINK: Option<&'static str> = Some(LATEST);
    type Observed = OciRepositoryStatus;
    type Error = Error;

    fn interval(&self) -> Option<GoDuration> {
        self.spec.interval
    }

    async fn run(request: &SourceRequest<'_, Self>, status: &mut Status) -> Result<News, Error> {
        conditions::begin_verification(status);
        let objects = dereference::objects(request).await?;
        let remote = dereference::remote(request, &objects).await?;
        let (chosen, revision) = fetch::revision(request, &remote).await?;
        let pulled = match verify::image(request, status, &remote, &objects, &revision).await {
            Ok(verified) => {
                status::verified(status, verified);
                fetch::layer(request, status, &remote, &revision).await
            }
            Err(error) => Err(error),
        };
        match &pulled {
            Ok(_) => conditions::fetched(status),
            // The status may be written before the reconciliation ends.
            Err(error) => conditions::show(status, error),
        }
        if !artifacts::is_of(status, &revision) {
            let message = format!("new revision '{revision}' for '{}'", remote.name(&chosen));
            request.rebuild_revision(status, &message).await;
        }
        let new = store::store(request, status, pulled?, &revision).await?;
        request.finish(status, new, &revision);
        status::stored(status, &revision);
        Ok(status::event_message(status, &request.object).into())
    }
}
