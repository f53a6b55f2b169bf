//! Charts of OCI registries (Helm 4.3, `pkg/registry`).

use super::repository::PullError;
use bumpwright_budget::Reservation;
use bumpwright_helm::MAX_CHART_BYTES;
use bumpwright_http::{Deadline, Job};
use bumpwright_policy::Reference;
use bumpwright_registry::{Layer, Login, Registry, RegistryError};
use bumpwright_semver::{Constraint, ConstraintError, Version};
use bumpwright_source::{CHART_LAYER, OciPick, OciRemote, OciUrlError, oci_repository};
use bumpwright_text::Cuts;
use std::{io::Read as _, sync::Arc};

/// The media types of a chart's layer, the newer one first.
const LAYERS: [&str; 2] = [CHART_LAYER, "application/tar+gzip"];

/// The chart that an `oci://` URL names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciChart {
    repository: Reference,
    tag: String,
    digest: String,
}

/// How a registry is reached.
#[derive(Clone, Debug)]
pub struct Pull {
    pub registry: Arc<Registry>,
    pub login: Login,
    /// When the last byte must be there.
    pub deadline: Deadline,
}

/// A chart of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulledChart {
    /// The version that its tag has; none where a digest was asked for.
    pub version: Option<String>,
    /// The bytes of its archive.
    pub archive: Vec<u8>,
}

/// What a registry has for a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sought {
    /// A version that its caller has.
    Kept(String),
    Pulled(PulledChart),
}

impl OciChart {
    /// Reads `oci://HOST/REPOSITORY[:TAG][@DIGEST]`.
    ///
    /// # Errors
    /// It is not such a URL.
    pub fn parse(url: &str) -> Result<Self, OciUrlError> {
        let (name, digest) = url.split_once('@').unwrap_or((url, ""));
        let is_tag = |(_, tag): &(&str, &str)| !tag.contains('/');
        let (name, tag) = name.rsplit_once(':').filter(is_tag).unwrap_or((name, ""));
        Ok(Self {
            repository: oci_repository(name)?,
            tag: tag.to_owned(),
            digest: digest.to_owned(),
        })
    }

    /// The repository, for its login.
    #[must_use]
    pub fn repository(&self) -> &Reference {
        &self.repository
    }

    /// The chart of a version, or of the newest one in a range; empty for the newest one that is not a prerelease.
    ///
    /// # Errors
    /// In words for the user; [`PullError::Missing`] where the registry does not have it.
    pub fn pull(&self, version: &str, from: Pull) -> Result<PulledChart, PullError> {
        let remote = self.remote(from);
        let chosen = self.chosen(version, &remote)?;
        pulled_as(&remote, &chosen)
    }

    /// The same, but only the version where `is_kept` says that its archive is known.
    pub fn pull_unless(&self, version: &str, from: Pull, is_kept: &dyn Fn(&str) -> bool) -> Result<Sought, PullError> {
        let remote = self.remote(from);
        let chosen = self.chosen(version, &remote)?;
        match version_of(&chosen).filter(|version| is_kept(version)) {
            Some(version) => Ok(Sought::Kept(version)),
            None => pulled_as(&remote, &chosen).map(Sought::Pulled),
        }
    }

    fn remote(&self, from: Pull) -> OciRemote {
        OciRemote {
            registry: from.registry,
            login: from.login,
            repository: self.repository.clone(),
            deadline: from.deadline,
        }
    }

    /// `:TAG` or `@DIGEST`.
    fn chosen(&self, version: &str, remote: &OciRemote) -> Result<String, PullError> {
        if !self.digest.is_empty() {
            return Ok(format!("@{}", self.digest));
        }
        let exact = version.replace('+', "_");
        if !self.tag.is_empty() {
            return if version.is_empty() || exact == self.tag {
                Ok(format!(":{}", self.tag))
            } else {
                Err(PullError::Missing(format!(
                    "chart reference and version mismatch: {version} is not {}",
                    self.tag
                )))
            };
        }
        if Version::parse_strict(version).is_ok() {
            return Ok(format!(":{exact}"));
        }
        let range = match version {
            "" => "*",
            range => range,
        };
        let pick = OciPick::Semver {
            range: range.to_owned(),
            filter: String::new(),
        };
        Ok(remote.chosen(&pick, CHART_LAYER)?)
    }
}

/// The chart of `:TAG` or `@DIGEST`.
fn pulled_as(remote: &OciRemote, chosen: &str) -> Result<PulledChart, PullError> {
    let revision = remote.revision(chosen)?;
    let digest = revision.behind_last('@');
    let held = &mut Job::account().nothing();
    Ok(PulledChart {
        archive: pulled(remote, chosen, digest, MAX_CHART_BYTES, held)?,
        version: version_of(chosen),
    })
}

/// The version of `:TAG`; none of a digest.
fn version_of(chosen: &str) -> Option<String> {
    // A tag has no `+` (Helm, *OCI registries*).
    chosen.strip_prefix(':').map(|tag| tag.replace('_', "+"))
}

/// The archive of a chart: of the image with this digest, which `chosen` (`:TAG`) names in errors. It has at most so
/// many bytes, which are in `held` before they are read.
pub fn pulled(
    remote: &OciRemote,
    chosen: &str,
    digest: &str,
    most: u64,
    held: &mut Reservation,
) -> Result<Vec<u8>, PullError> {
    let image = remote.image(digest).map_err(unreachable)?;
    let of = |media_type: &&str| image.layers.iter().find(|layer| layer.media_type == *media_type);
    let layer = LAYERS.iter().find_map(of).ok_or_else(|| {
        let name = remote.name(chosen);
        unreachable(format!(
            "{name} is no chart: it has no layer of media type {CHART_LAYER}"
        ))
    })?;
    layer_within(remote, layer, most, held)
}

/// The bytes of a layer, so many at most, which are in `held` before they are read.
///
/// # Errors
/// [`PullError::Unreachable`], [`PullError::TooLarge`]
pub fn layer_within(
    remote: &OciRemote,
    layer: &Layer,
    most: u64,
    held: &mut Reservation,
) -> Result<Vec<u8>, PullError> {
    if layer.size > most {
        return Err(PullError::TooLarge { most });
    }
    held.grow(layer.size).map_err(unreachable)?;
    let mut bytes = Vec::new();
    let mut blob = remote.layer(layer).map_err(unreachable)?;
    blob.read_to_end(&mut bytes).map_err(unreachable)?;
    Ok(bytes)
}

/// Why no version of a chart is taken, in source-controller's words.
#[derive(Debug, thiserror::Error)]
pub enum OciVersionError {
    /// The registry does not give the tags.
    #[error("could not get tags for {name:?}: could not fetch tags for {repository:?}: {problem}")]
    Tags {
        name: String,
        repository: String,
        #[source]
        problem: Box<RegistryError>,
    },
    /// No tag is a version.
    #[error("could not get tags for {name:?}: unable to locate any tags in provided repository: {repository}")]
    NoTags { name: String, repository: String },
    /// The version that is wanted is not a range.
    #[error(transparent)]
    Range(#[from] ConstraintError),
    /// No version is in the range.
    #[error("could not locate a version matching provided version string {0}")]
    NoMatch(String),
}

/// The version that source-controller takes among the tags of a repository: the one that is wanted, if it is one; else
/// the newest one in a range, which is any without a prerelease for an empty text.
pub fn oci_version(remote: &OciRemote, name: &str, wanted: &str) -> Result<String, OciVersionError> {
    if Version::parse_flux(wanted).is_ok() {
        return Ok(wanted.to_owned());
    }
    let repository = format!("oci://{}", remote.repository.context());
    let tags = remote.registry.tags(&remote.repository, &remote.login, remote.deadline);
    let tags = tags.map_err(|problem| OciVersionError::Tags {
        name: name.to_owned(),
        repository: repository.clone(),
        problem: Box::new(problem),
    })?;
    let versions = tags.iter().map(|tag| tag.replace('_', "+"));
    let versions: Vec<String> = versions.filter(|tag| Version::parse_strict(tag).is_ok()).collect();
    if versions.is_empty() {
        let name = name.to_owned();
        return Err(OciVersionError::NoTags { name, repository });
    }
    newest(versions, wanted)
}

fn newest(versions: Vec<String>, wanted: &str) -> Result<String, OciVersionError> {
    if versions.iter().any(|version| version == wanted) {
        return Ok(wanted.to_owned());
    }
    let range = match wanted {
        "" => "*",
        range => range,
    };
    let range = Constraint::parse(range)?;
    let parsed = versions.iter().filter_map(|version| Version::parse_flux(version).ok());
    let newest = parsed.filter(|version| range.check(version)).max();
    let newest = newest.map(|version| version.original().to_owned());
    newest.ok_or_else(|| OciVersionError::NoMatch(wanted.to_owned()))
}

fn unreachable(error: impl ToString) -> PullError {
    PullError::Unreachable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::OciChart;

    #[test]
    fn a_url_may_have_a_tag_and_a_digest() {
        let parts = |url: &str| {
            let chart = OciChart::parse(url).unwrap();
            (chart.repository.context(), chart.tag, chart.digest)
        };
        let wanted = |name: &str, tag: &str, digest: &str| (name.to_owned(), tag.to_owned(), digest.to_owned());
        assert_eq!(
            parts("oci://localhost:5000/charts/a"),
            wanted("localhost:5000/charts/a", "", "")
        );
        assert_eq!(
            parts("oci://r.example/charts/a:1.0.0"),
            wanted("r.example/charts/a", "1.0.0", "")
        );
        assert_eq!(
            parts("oci://r.example/charts/a:1.0.0@sha256:00"),
            wanted("r.example/charts/a", "1.0.0", "sha256:00")
        );
        assert!(OciChart::parse("https://r.example/a").is_err());
    }
}
