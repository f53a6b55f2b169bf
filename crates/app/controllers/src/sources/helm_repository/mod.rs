//! `HelmRepository` as a source: from `index.yaml` of a chart repository to an artifact (source-controller v1.9,
//! `HelmRepositoryReconciler`). One in an OCI registry has no index, and is left alone.

mod dereference;
mod error;
mod fetch;
mod size;
mod store;
mod text;
pub(crate) mod validators;

use super::artifacts;
use super::artifacts::News;
use super::source::{Source, SourceRequest};
use super::status as conditions;
use bumpwright_api::{GoDuration, HelmRepository, HelmRepositoryStatus};
use bumpwright_kube::{HELM_REPOSITORY, Kind, Object};
use bumpwright_runtime::Status;
pub(crate) use error::Error;
use fetch::Fetched;

use crate::settings::Kinds;

/// The link to the newest artifact.
const LINK: &str = "index.yaml";

impl Source for HelmRepository {
    const KIND: &'static Kind = &HELM_REPOSITORY;
    const LINK: Option<&'static str> = Some(LINK);
    type Observed = HelmRepositoryStatus;
    type Error = Error;

    fn is_enabled(kinds: Kinds) -> bool {
        kinds.source && kinds.helm
    }

    fn is_static(object: &Object) -> bool {
        object.field("spec").get("type").and_then(serde_json::Value::as_str) == Some("oci")
    }

    fn interval(&self) -> Option<GoDuration> {
        // Zero stands for the default, as in Flux.
        self.spec.interval.filter(|interval| !interval.as_std().is_zero())
    }

    async fn run(request: &SourceRequest<'_, Self>, status: &mut Status) -> Result<News, Error> {
        let objects = dereference::objects(request).await?;
        let current = artifacts::current(status);
        let fetched = fetch::index(request, current, objects).await?;
        let new = match fetched {
            Fetched::Unchanged => None,
            Fetched::New(index) => {
                conditions::fetched(status);
                let message = format!("new index revision '{}'", index.revision);
                request.rebuild_revision(status, &message).await;
                Some(store::store(request, *index).await?)
            }
        };
        conditions::fetched(status);
        let revision = match &new {
            Some(new) => new.artifact.revision.clone(),
            None => artifacts::revision(status),
        };
        request.finish(status, new, &revision);
        conditions::stored(status, &format!("stored artifact: revision '{revision}'"));
        let size = artifacts::current(status).and_then(|artifact| artifact.size);
        let url = &request.object.spec.url;
        Ok(format!("stored fetched index of {} from '{url}'", size::shown(size)).into())
    }
}
