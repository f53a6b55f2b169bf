//! `HelmChart` as a source: one chart of a repository, or of the files of a GitRepository or Bucket, as an
//! archive (source-controller v1.9, `HelmChartReconciler`).
//!
//! ```text
//! HelmRepository ─▶ http (index, archive) ─┐
//!              └──▶ oci (tags, layer)     ─┼▶ build (bumpwright_chart) ─▶ store
//! files          ──▶ local ────────────────┘
//! ```

mod dependencies;
mod error;
mod http;
pub(super) mod indexes;
mod local;
mod made;
mod oci;
pub(crate) mod pull;
mod source;
mod status;
mod store;

use super::artifacts;
use super::artifacts::News;
use super::source::{Source, SourceRequest};
use super::status as conditions;
use crate::settings::Kinds;
use bumpwright_api::{GoDuration, HelmChart, HelmChartStatus, ObjectName};
use bumpwright_kube::{BUCKET, GIT_REPOSITORY, HELM_CHART, HELM_REPOSITORY, Kind, Object};
use bumpwright_runtime::Status;
use bumpwright_storage::LATEST;
pub(crate) use error::Error;
use source::Origin;

impl Source for HelmChart {
    const KIND: &'static Kind = &HELM_CHART;
    const LINK: Option<&'static str> = Some(LATEST);
    const MADE_OF: &'static [&'static Kind] = &[&HELM_REPOSITORY, &GIT_REPOSITORY, &BUCKET];
    type Observed = HelmChartStatus;
    type Error = Error;

    fn is_enabled(kinds: Kinds) -> bool {
        kinds.source && kinds.helm
    }

    fn made_of(object: &Object) -> Option<(String, ObjectName)> {
        let spec = object.field("spec");
        let text = |field: &str| spec.get("sourceRef")?.get(field)?.as_str().map(str::to_owned);
        let name = ObjectName::new(&object.name.namespace, text("name")?);
        Some((text("kind")?, name))
    }

    fn interval(&self) -> Option<GoDuration> {
        self.spec.interval
    }

    async fn run(request: &SourceRequest<'_, Self>, status: &mut Status) -> Result<News, Error> {
        conditions::begin_verification(status);
        let origin = source::of(request).await?;
        if let Some(revision) = origin.revision() {
            // A failed build counts as well: only another revision asks for the chart again.
            status::observe(status, revision);
            request.request.set_revision(revision);
        }
        let chart = match &origin {
            Origin::Index { repository, artifact } => http::chart(request, repository, artifact).await,
            Origin::Registry(repository) => oci::chart(request, repository).await,
            Origin::Files { kind, artifact } => local::chart(request, kind, artifact).await,
        };
        if request.object.spec.verify.is_none() {
            status::unverified(status);
        }
        let chart = chart.inspect_err(|error| status::failed(status, error))?;
        let summary = chart.summary();
        let is_current =
            chart.which.name == status.text("observedChartName") && artifacts::is_of(status, &chart.which.version);
        if !is_current {
            status::outdated(status, &summary);
            conditions::set_building(status, &format!("building artifact: {summary}"));
            request.request.try_write_status(status).await;
        }
        status::built(status, &chart);
        chart.tell_dependencies(request);
        let (reason, version) = (chart.reason(), chart.which.version.clone());
        let new = store::store(request, chart).await?;
        request.finish(status, new, &version);
        conditions::stored_because(status, reason, &summary);
        Ok(News {
            message: summary,
            reason: Some(reason),
        })
    }
}
