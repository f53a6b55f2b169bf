//! What a release is rendered from, to tell whether two states of a fleet give the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::Job;
use super::chart::ChartPlan;
use super::kept_inputs::{OfRepository, ReleaseInputs};
use super::spec::ReleaseSpec;
use super::values::{Merged, NotMerged};
use crate::build::settings::{LeftOutReleases, RenderedReleases};
use crate::build::view::Fleet;
use crate::release::kept_inputs::Digest;
use bumpwright_api::ObjectName;
use bumpwright_helm::{Chart, File};

impl ReleaseInputs {
    pub(super) fn of(
        name: &ObjectName,
        spec: &ReleaseSpec,
        text: &str,
        plan: &ChartPlan,
        merged: &Result<Merged, NotMerged>,
    ) -> Self {
        let mut digest = Sha256::new();
        let merged = match merged {
            Ok(merged) => format!("{:?}{}", merged.values, merged.warnings.concat()),
            Err(failed) => failed.failure().to_string(),
        };
        for part in [&name.to_string(), text, &merged, &plan.key()] {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        let reference = |one: &super::spec::ValuesReference| {
            (
                one.kind.clone(),
                ObjectName::new(name.namespace.as_str(), one.name.as_str()),
            )
        };
        Self {
            digest: digest.finalize().into(),
            values_from: spec.values_from.iter().map(reference).collect(),
            chart: plan.of_repository(),
            made: None,
        }
    }

    /// Whether specification, values and the address of the chart are the same.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        self.digest == other.digest
    }

    /// Whether its chart may have something of one of these files of the repository.
    pub(crate) fn has_of(&self, files: &[String]) -> bool {
        let OfRepository::These(places) = &self.chart else {
            return false;
        };
        let is_at = |file: &String, place: &String| {
            let rest = file.strip_prefix(place.as_str());
            place.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        files.iter().any(|file| places.iter().any(|place| is_at(file, place)))
    }
}

/// The releases to render of two states of a fleet, both seen with [`RenderedReleases::Compared`]: those that do
/// not install the same.
#[must_use]
pub fn differing(before: &Fleet, after: &Fleet) -> [RenderedReleases; 2] {
    let names = unchanged(before, after);
    [before, after].map(|fleet| {
        let served = fleet.served_by_charts.clone();
        let names = names.clone();
        RenderedReleases::AllBut(Arc::new(LeftOutReleases { names, served }))
    })
}

fn unchanged(before: &Fleet, after: &Fleet) -> BTreeSet<ObjectName> {
    let digest = |fleet: &Fleet, name: &ObjectName| fleet.releases.get(name).and_then(|inputs| inputs.made);
    let is_same = |name: &&ObjectName| digest(before, name).is_some() && digest(before, name) == digest(after, name);
    before.releases.keys().filter(is_same).cloned().collect()
}

/// The releases of which a commit that changes these files may make something else.
pub(crate) fn changed(before: &Fleet, after: &Fleet, files: &[String]) -> BTreeSet<ObjectName> {
    let names = before.releases.keys().chain(after.releases.keys());
    let differs = |name: &&ObjectName| match (before.releases.get(*name), after.releases.get(*name)) {
        (Some(before), Some(after)) => before.digest != after.digest || after.has_of(files),
        _ => true,
    };
    names.filter(differs).cloned().collect()
}

/// What an object of Flux has in its text: what installs one gives other Kustomizations and releases,
/// which are compared themselves.
const OF_FLUX: [&str; 2] = ["toolkit.fluxcd.io/", "fluxcd.controlplane.io/"];

/// Whether a chart may make objects of Flux.
pub(super) fn makes_flux(chart: &Chart) -> bool {
    let mut files = chart.templates.iter().chain(&chart.files).chain(&chart.values_file);
    files.any(|file| mentions_flux(&String::from_utf8_lossy(&file.data))) || chart.dependencies.iter().any(makes_flux)
}

/// Whether a text has the API of an object of Flux.
pub(super) fn mentions_flux(text: &str) -> bool {
    OF_FLUX.iter().any(|api| text.contains(api))
}

impl Job {
    /// The digest of everything that the release is rendered from: with its chart, and what the cluster has.
    pub(super) fn digest(&self, chart: &Digest, cluster: &Digest) -> Digest {
        let mut digest = Sha256::new();
        for part in [&self.inputs.digest, chart, cluster] {
            digest.update(part);
        }
        digest.finalize().into()
    }
}

/// The digest of a chart.
pub(super) fn of_chart(chart: &Chart) -> Digest {
    let mut digest = Sha256::new();
    add(chart, &mut digest);
    digest.finalize().into()
}

fn add(chart: &Chart, digest: &mut Sha256) {
    let mut part = |bytes: &[u8]| {
        digest.update(bytes.len().to_le_bytes());
        digest.update(bytes);
    };
    part(format!("{:?}", chart.metadata).as_bytes());
    part(format!("{:?}", chart.values).as_bytes());
    let mut all = |kind: &str, files: &mut dyn Iterator<Item = &File>| {
        part(kind.as_bytes());
        for file in files {
            part(file.name.as_bytes());
            part(&file.data);
        }
    };
    all("schema", &mut chart.schema.iter().map(|file| &**file));
    all("templates", &mut chart.templates.iter().map(|file| &**file));
    all("files", &mut chart.files.iter().map(|file| &**file));
    all("charts", &mut std::iter::empty());
    chart.dependencies.iter().for_each(|one| add(one, digest));
}
