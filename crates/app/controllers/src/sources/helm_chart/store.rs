//! The artifact of a HelmChart: an archive of the chart.

use std::io;
use std::sync::Arc;

use super::error::Error;
use super::made::Made;
use crate::sources::archive::ArtifactWriter;
use crate::sources::source::{NewArtifact, Source as _, SourceRequest, run_on_disk};
use bumpwright_api::{HelmChart, HelmChartStatus};
use bumpwright_chart::{BuildError, Built, Which};
use bumpwright_helm::PackageError;
use bumpwright_kube::HELM_CHART;
use bumpwright_text::Cuts;

/// Stores a chart; none when the artifact is of it.
pub(super) async fn store(
    request: &SourceRequest<'_, HelmChart>,
    made: Made,
) -> Result<Option<NewArtifact<HelmChart>>, Error> {
    let Some((built, held)) = made.new else {
        return Ok(None);
    };
    let observed = HelmChartStatus {
        observed_chart_name: made.which.name.clone(),
        observed_values_files: if request.object.spec.ignore_missing_values_files {
            built.values_files.clone()
        } else {
            Vec::new()
        },
    };
    let (sources, name, which) = (Arc::clone(request.sources), request.name().clone(), made.which);
    let artifact = run_on_disk(move || {
        let _held = held;
        let writer = ArtifactWriter {
            storage: &sources.storage,
            kind: &HELM_CHART,
            name: &name,
            file: file(&which),
            revision: &which.version,
            link: HelmChart::LINK,
            metadata: Default::default(),
        };
        written(writer, &built)
    });
    Ok(Some(NewArtifact {
        artifact: artifact.await?,
        observed,
    }))
}

fn written(writer: ArtifactWriter<'_>, built: &Built) -> Result<bumpwright_api::Artifact, Error> {
    let mut refused = None;
    let artifact = writer.fill(|out| match built.content.write(out) {
        Ok(()) => Ok(()),
        Err(PackageError::Output(error)) => Err(error),
        Err(why) => {
            refused = Some(format!("failed to package chart: {why}"));
            Err(io::Error::other("the chart cannot be packaged"))
        }
    });
    match refused {
        Some(why) => Err(BuildError::Package(why).into()),
        None => Ok(artifact?),
    }
}

/// The name of the file. The name of a chart in a registry may have a path.
fn file(which: &Which) -> String {
    let name = which.name.behind_last('/');
    format!("{name}-{}.tgz", which.version)
}
