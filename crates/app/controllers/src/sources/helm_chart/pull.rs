//! A chart of a repository, read and not stored.

use std::sync::Arc;

use super::error::Error;
use super::{http, oci};
use crate::artifact_trees::FetchError;
use crate::sources::oci_repository::Error as OciRepositoryError;
use crate::sources::oci_repository::remote::remote;
use crate::sources::registries::Registries;
use bumpwright_api::{HelmRepository, Objects, OciRepository};
use bumpwright_artifact::revision::digest_text;
use bumpwright_budget::Reservation;
use bumpwright_chart::{PullError, Repository, Sizes, layer_within, oci_version, pulled};
use bumpwright_helm::{Chart, Index};
use bumpwright_registry::RegistryError;
use bumpwright_source::{LayerError, OciPick, Unresolved, select_layer};

/// Why a chart of a repository cannot be had. In Flux's words where it has any.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteError {
    #[error("failed to get chart repository for URL '{url}': {why}")]
    Repository { url: String, why: String },
    #[error("failed to get chart '{name}' version '{version}' from '{url}': {why}")]
    Index {
        name: String,
        version: String,
        url: String,
        why: String,
    },
    /// The repository does not have it.
    #[error("failed to get chart '{name}' version '{version}' from '{url}': {why}")]
    Version {
        name: String,
        version: String,
        url: String,
        why: String,
    },
    #[error("chart download of version '{version}' failed: {why}")]
    Download { version: String, why: String },
    #[error("failed to load downloaded archive of version '{version}': {why}")]
    Load { version: String, why: String },
}

/// Why a repository has no index.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoIndex {
    #[error(transparent)]
    Pull(#[from] PullError),
    /// The artifact of the HelmRepository.
    #[error(transparent)]
    Artifact(#[from] FetchError),
}

/// Why the layer of an OCIRepository is not a chart.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageChartError {
    #[error(transparent)]
    Repository(#[from] OciRepositoryError),
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    #[error(transparent)]
    Image(#[from] RegistryError),
    #[error(transparent)]
    Layer(#[from] LayerError),
    #[error(transparent)]
    Pull(#[from] PullError),
    #[error(transparent)]
    Load(#[from] RemoteError),
}

/// Which chart of a repository.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'w> {
    pub(crate) name: &'w str,
    /// It may be a range.
    pub(crate) version: &'w str,
    /// Of the repository, as who wants it writes it.
    pub(crate) url: &'w str,
    pub(crate) sizes: Sizes,
}

/// The chart of a registry. `objects` are those that the repository refers to.
pub(crate) fn of_registry(
    registries: Registries<'_>,
    (repository, objects): (&HelmRepository, &Objects),
    wanted: Wanted<'_>,
    held: &mut Reservation,
) -> Result<Chart, RemoteError> {
    let remote = oci::connected(registries, repository, objects, wanted.name);
    let remote = remote.map_err(|error| unreachable(wanted, &error))?;
    // A missing version and a missing answer give the same error.
    let version = oci_version(&remote, wanted.name, wanted.version).map_err(|why| unread(wanted, why.to_string()))?;
    let most = wanted.sizes.archive;
    let archive = oci::digest_of(&remote, &version)
        .map_err(|error| PullError::Unreachable(error.to_string()))
        .and_then(|digest| pulled(&remote, &oci::tag(&version), &digest, most, held));
    let archive = archive.map_err(|error| RemoteError::Download {
        version: version.clone(),
        why: error.to_string(),
    })?;
    loaded(&archive, version, held)
}

/// The chart of a repository whose index `index` gets. `objects` are those that the repository refers to.
pub(crate) fn of_index(
    (repository, objects): (&HelmRepository, &Objects),
    wanted: Wanted<'_>,
    held: &mut Reservation,
    index: impl FnOnce(&Repository) -> Result<Arc<Index>, NoIndex>,
) -> Result<Chart, RemoteError> {
    let remote = http::connected(repository, objects);
    let remote = remote.map_err(|error| unreachable(wanted, &error))?;
    let index = index(&remote).map_err(|why| unread(wanted, why.to_string()))?;
    let entry = index
        .chosen(wanted.name, wanted.version)
        .map_err(|why| RemoteError::Version {
            name: wanted.name.to_owned(),
            version: wanted.version.to_owned(),
            url: wanted.url.to_owned(),
            why: why.to_string(),
        })?;
    let version = entry.version.to_string();
    let failed = |why: String| RemoteError::Download {
        version: version.clone(),
        why,
    };
    let located = remote.located(entry).map_err(|error| failed(error.to_string()))?;
    let nowhere = || failed(format!("chart '{}' has no downloadable URLs", wanted.name));
    let archive = remote.archive_within(&located.ok_or_else(nowhere)?, wanted.sizes.archive);
    let archive = archive.map_err(|error| failed(error.to_string()))?;
    held.grow(archive.len() as u64)
        .map_err(|error| failed(error.to_string()))?;
    loaded(&archive, version, held)
}

/// The chart that the layer of an OCIRepository is. `objects` are those that it refers to.
pub(crate) fn of_image(
    registries: Registries<'_>,
    (repository, objects): (&OciRepository, &Objects),
    held: &mut Reservation,
) -> Result<Chart, ImageChartError> {
    let spec = &repository.spec;
    let remote = remote(registries, repository, objects)?;
    let selector = spec.layer_selector.as_ref();
    let media_type = selector.map_or("", |selector| &selector.media_type);
    let chosen = remote.chosen(&OciPick::of(spec.reference.as_ref()), media_type)?;
    let revision = remote.revision(&chosen)?;
    let image = remote.image(digest_text(&revision))?;
    let most = registries.shared.settings.chart_sizes.archive;
    let archive = layer_within(&remote, select_layer(&image, selector)?, most, held)?;
    Ok(loaded(&archive, revision, held)?)
}

/// Loads the chart from its archive, and releases the memory that was reserved for the archive's bytes.
fn loaded(archive: &[u8], version: String, held: &mut Reservation) -> Result<Chart, RemoteError> {
    let chart = Chart::from_archive_on(archive, Some(held));
    held.shrink(archive.len() as u64);
    chart.map_err(|error| RemoteError::Load {
        version,
        why: error.to_string(),
    })
}

fn unreachable(wanted: Wanted<'_>, error: &Error) -> RemoteError {
    RemoteError::Repository {
        url: wanted.url.to_owned(),
        why: error.to_string(),
    }
}

fn unread(wanted: Wanted<'_>, why: String) -> RemoteError {
    RemoteError::Index {
        name: wanted.name.to_owned(),
        version: wanted.version.to_owned(),
        url: wanted.url.to_owned(),
        why,
    }
}
