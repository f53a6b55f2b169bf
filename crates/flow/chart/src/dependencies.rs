//! The charts that a chart of a folder needs and does not contain, as source-controller adds them (v1.9,
//! `DependencyManager`): those of the chart alone and not theirs, each under its alias.

use bumpwright_budget::Reservation;
use bumpwright_gostd as gostd;
use bumpwright_helm::{Chart, Dependency, MAX_CHART_BYTES};
use bumpwright_kustomize::tree::path;
use bumpwright_semver::{Constraint, ConstraintError, Version, VersionError};
use thiserror::Error;

use super::tree::{Place, PlaceError};

/// Charts that a chart may need besides those that it contains.
const MOST: usize = 256;

/// Where charts of repositories come from.
pub trait Remotes {
    /// Why one cannot be had.
    type Error: std::error::Error;

    /// The chart of a repository, on an account; the version may be a range. `url` is that of the repository in its
    /// usual form: `https`, `http` or `oci`.
    fn chart(&self, wanted: &Dependency, url: &str, held: Option<&mut Reservation>) -> Result<Chart, Self::Error>;
}

/// Why a chart does not get what it needs.
#[derive(Debug, Error)]
pub enum DependencyError<E: std::error::Error> {
    /// The chart needs too many.
    #[error("{0} charts are needed, {MOST} are allowed")]
    TooMany(usize),
    /// They have too many bytes together.
    #[error("the charts that are needed have more than {MAX_CHART_BYTES} bytes")]
    Size,
    /// One of the same files cannot be had.
    #[error("failed to add local dependency '{name}': {problem}")]
    Local {
        /// Its name or alias.
        name: String,
        #[source]
        problem: Box<LocalDependencyError>,
    },
    /// The repository of one is not at a URL that charts are fetched from.
    #[error("failed to add remote dependency '{name}': {problem}")]
    Repository {
        /// Its name or alias.
        name: String,
        #[source]
        problem: RepositoryUrlError,
    },
    /// A repository does not give it.
    #[error("failed to add remote dependency '{name}': {error}")]
    Remote {
        /// Its name or alias.
        name: String,
        error: E,
    },
}

/// Why a chart of the same files cannot be had.
#[derive(Debug, Error)]
pub enum LocalDependencyError {
    /// It is not there.
    #[error("no chart found at '{at}' (reference '{reference}')")]
    Missing {
        /// Where it would be.
        at: String,
        /// Its repository, as it is written.
        reference: String,
    },
    /// Its version is not a range.
    #[error("invalid version/constraint format '{version}': {problem}")]
    Range {
        /// As it is written.
        version: String,
        #[source]
        problem: ConstraintError,
    },
    /// It is not a chart.
    #[error("failed to load chart from '{at}' (reference '{reference}'): {problem}")]
    Chart {
        at: String,
        /// Its repository, as it is written.
        reference: String,
        #[source]
        problem: Box<PlaceError>,
    },
    /// The existing chart's version is not a version.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// The existing chart's version is not in the range.
    #[error("can't get a valid version for constraint '{0}'")]
    NotInRange(String),
}

/// Why charts cannot be fetched from the address of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RepositoryUrlError {
    /// It is not a URL.
    #[error(transparent)]
    Url(#[from] gostd::UrlError),
    /// It is the name that somebody gave to one.
    #[error("aliased repository dependency is not supported: {0}/")]
    Alias(String),
    /// Its scheme is another one.
    #[error("invalid dependency repository URL: {0}")]
    Scheme(String),
}

/// Adds what the chart at a place needs and does not contain; returns how many charts that were.
pub fn complete<R: Remotes>(
    chart: &mut Chart,
    place: Place<'_>,
    remotes: &R,
    mut held: Option<&mut Reservation>,
) -> Result<usize, DependencyError<R::Error>> {
    let missing = missing(chart);
    if missing.len() > MOST {
        return Err(DependencyError::TooMany(missing.len()));
    }
    let mut bytes = 0;
    for wanted in &missing {
        let mut subchart = if is_local(wanted) {
            local(wanted, place, held.as_deref_mut()).map_err(|problem| DependencyError::Local {
                name: name(wanted).to_owned(),
                problem: Box::new(problem),
            })?
        } else {
            remote(wanted, remotes, held.as_deref_mut())?
        };
        bytes += subchart.bytes();
        if bytes > MAX_CHART_BYTES {
            return Err(DependencyError::Size);
        }
        if !wanted.alias.is_empty() {
            subchart.metadata.name.clone_from(&wanted.alias);
        }
        chart.dependencies.push(subchart);
    }
    Ok(missing.len())
}

fn name(wanted: &Dependency) -> &str {
    match wanted.alias.as_str() {
        "" => &wanted.name,
        alias => alias,
    }
}

/// What the chart needs and does not contain; by its lock, if it has one.
fn missing(chart: &Chart) -> Vec<Dependency> {
    let wanted = match &chart.lock {
        Some(lock) => &lock.dependencies,
        None => &chart.metadata.dependencies,
    };
    let wanted: Vec<&Dependency> = wanted.iter().flatten().flatten().collect();
    if wanted.len() == chart.dependencies.len() {
        return Vec::new();
    }
    let is_there = |wanted: &Dependency| chart.dependencies.iter().any(|one| one.name() == name(wanted));
    let mut missing: Vec<Dependency> = Vec::new();
    for wanted in wanted.into_iter().filter(|wanted| !is_there(wanted)) {
        missing.retain(|known| name(known) != name(wanted));
        missing.push(wanted.clone());
    }
    missing
}

fn is_local(wanted: &Dependency) -> bool {
    wanted.repository.is_empty() || wanted.repository.starts_with("file://")
}

/// A chart in the same files.
fn local(wanted: &Dependency, place: Place<'_>, held: Option<&mut Reservation>) -> Result<Chart, LocalDependencyError> {
    let (version, reference) = (&wanted.version, &wanted.repository);
    let at = match reference.strip_prefix("file://") {
        Some(folder) => {
            // Of an absolute one, the path counts from the chart as well.
            path::join(place.path(), folder.trim_start_matches('/'))
        }
        None => path::join(place.path(), &format!("charts/{}", wanted.name)),
    };
    let location = place.beside(&at);
    if !location.exists() {
        let reference = reference.clone();
        return Err(LocalDependencyError::Missing { at, reference });
    }
    let constraint = Constraint::parse(version).map_err(|problem| LocalDependencyError::Range {
        version: version.clone(),
        problem,
    })?;
    let chart = location.chart(held).map_err(|problem| LocalDependencyError::Chart {
        at: at.clone(),
        reference: reference.clone(),
        problem: Box::new(problem),
    })?;
    if constraint.check(&Version::parse(&chart.metadata.version)?) {
        Ok(chart)
    } else {
        Err(LocalDependencyError::NotInRange(version.clone()))
    }
}

fn remote<R: Remotes>(
    wanted: &Dependency,
    remotes: &R,
    held: Option<&mut Reservation>,
) -> Result<Chart, DependencyError<R::Error>> {
    let url = normalized(&wanted.repository).map_err(|problem| DependencyError::Repository {
        name: name(wanted).to_owned(),
        problem,
    })?;
    let chart = remotes.chart(wanted, &url, held);
    chart.map_err(|error| DependencyError::Remote {
        name: name(wanted).to_owned(),
        error,
    })
}

/// The URL of a repository in its usual form: with one `/` at its end, and that of a registry without
/// (source-controller v1.9, `NormalizeURL`, `ValidateDepURL`).
///
/// # Errors
/// Charts cannot be fetched from this address.
pub fn normalized(repository: &str) -> Result<String, RepositoryUrlError> {
    gostd::Url::parse(repository.as_bytes())?;
    let trimmed = repository.trim_end_matches('/');
    match repository.split_once(':').map_or("", |(scheme, _)| scheme) {
        "oci" => Ok(trimmed.to_owned()),
        "http" | "https" => Ok(match url::Url::parse(repository) {
            Ok(mut url) => {
                let path = format!("{}/", url.path().trim_end_matches('/'));
                url.set_path(&path);
                url.to_string()
            }
            Err(_) => format!("{trimmed}/"),
        }),
        _ if repository.starts_with('@') => Err(RepositoryUrlError::Alias(trimmed.to_owned())),
        _ => Err(RepositoryUrlError::Scheme(repository.to_owned())),
    }
}
