//! A chart that is stored, or was before.

use super::Error;
use crate::sources::artifacts;
use crate::sources::source::SourceRequest;
use bumpwright_api::{HelmChart, Reason};
use bumpwright_budget::Reservation;
use bumpwright_chart::{Built, Changes, ValuesFiles, Which};

pub(super) struct Made {
    pub(super) which: Which,
    /// Whether it is packaged here, and not as it was found.
    pub(super) is_packaged: bool,
    /// The files that its values were merged from.
    pub(super) values_files: Vec<String>,
    /// Whether a signature of it counts.
    pub(super) is_verified: bool,
    /// What is to be stored, and the memory that it holds; none when the artifact is of it.
    pub(super) new: Option<(Built, Reservation)>,
}

impl Made {
    /// The one that the artifact is of.
    pub(super) fn known(request: &SourceRequest<'_, HelmChart>, which: Which, is_packaged: bool) -> Self {
        let spec = &request.object.spec;
        let observed = &request.observed.observed_values_files;
        let values_files = match (observed.is_empty(), changes(request, "").values.count()) {
            (false, _) => observed.clone(),
            (true, true) => spec.all_values_files(),
            (true, false) => Vec::new(),
        };
        Self {
            which,
            is_packaged,
            values_files,
            is_verified: false,
            new: None,
        }
    }

    pub(super) fn new(which: Which, is_packaged: bool, built: Built, held: Reservation) -> Self {
        Self {
            which,
            is_packaged,
            values_files: built.values_files.clone(),
            is_verified: false,
            new: Some((built, held)),
        }
    }

    /// What events and conditions say of it.
    pub(super) fn summary(&self) -> String {
        let Which { name, version } = &self.which;
        let action = if self.is_packaged { "packaged" } else { "pulled" };
        let files = match self.values_files.as_slice() {
            [] => String::new(),
            files => format!(" and merged values files [{}]", files.join(" ")),
        };
        format!("{action} '{name}' chart with version '{version}'{files}")
    }

    /// The reason of its events and conditions.
    pub(super) fn reason(&self) -> Reason {
        if self.is_packaged {
            Reason::ChartPackageSucceeded
        } else {
            Reason::ChartPullSucceeded
        }
    }

    /// Says how many charts were added to it.
    pub(super) fn tell_dependencies(&self, request: &SourceRequest<'_, HelmChart>) {
        let count = self.new.as_ref().map_or(0, |(built, _)| built.dependencies);
        if count > 0 {
            request.trace(
                Reason::ResolvedDependencies,
                format!("resolved {count} chart dependencies"),
            );
        }
    }
}

/// What becomes other than in the chart. `revision` is what its version names of the revision of its source.
pub(super) fn changes(request: &SourceRequest<'_, HelmChart>, revision: &str) -> Changes {
    let spec = &request.object.spec;
    let values = ValuesFiles {
        names: spec.all_values_files(),
        ignore_missing: spec.ignore_missing_values_files,
    };
    let mut build = revision.to_owned();
    if values.count() {
        // So that who installs it notices other values.
        if !build.is_empty() {
            build.push('.');
        }
        build.push_str(&request.request.object.generation.to_string());
    }
    Changes { values, build }
}

/// Whether the artifact is of this chart, made of the spec as it is now.
pub(super) fn is_known(request: &SourceRequest<'_, HelmChart>, which: &Which) -> bool {
    let object = request.request.object;
    let status = object.status();
    let observed = status.get("observedGeneration").and_then(serde_json::Value::as_i64);
    // By the status at the beginning, but for an artifact that is lost.
    let artifact = status.get("artifact").and_then(artifacts::read);
    let is_stored = |artifact: &bumpwright_api::Artifact| request.sources.storage.exists(artifact);
    observed == Some(object.generation)
        && request.observed.observed_chart_name == which.name
        && artifact.is_some_and(|artifact| artifact.has_revision(&which.version) && is_stored(&artifact))
}

/// The errors of builds that are those of logins: they say so in their text only, as in Flux.
pub(super) fn authentication(error: bumpwright_chart::BuildError) -> Error {
    const WORDS: [&str; 5] = [
        "401",
        "unauthorized",
        "authentication required",
        "tls",
        "unknown certificate authority",
    ];
    let text = error.to_string();
    if WORDS.iter().any(|word| text.contains(word)) {
        Error::AuthenticationFailed(format!("failed to authenticate with the Helm repository: {text}"))
    } else {
        Error::Build(error)
    }
}
