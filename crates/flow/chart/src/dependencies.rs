//! The charts that a chart of a folder needs and does not contain, as source-controller adds them (v1.9,
//! `DependencyManager`): those of the chart alone and not theirs, each under its alias.

use bumpwright_budget::Reservation;
use bumpwright_gostd as gostd;
use bumpwright_helm::{Chart, Dependency, MAX_CHART_BYTES};
use bumpwright_kustomize::tree::path;
use bumpwright_semver::{Constraint, Version};
use thiserror::Error;

use super::tree::Place;

/// Charts that a chart may need besides those that it contains.
const MOST: usize = 256;

/// Where charts of repositories come from.
pub trait Remotes {
    /// Why one cannot be had.
    type Error: std::error::Error;

    /// The chart of a repository, on an account; the version may be a range. `url` is that of the repository in its
    /// usual form: `https`, `http` or `oci`.
    ///
    /// # Errors
    /// It cannot be had.
    fn chart(&self, wanted: &Dependency, url: &str, held: Option<&mut Reservation>) -> Result<Chart, Self::Error>;
}

/// Why a chart does not get what it needs.
#[derive(Debug, Error)]
pub enum DependencyError<E: std::error::Error> {
    /// A dependency is not valid, or is not in the files.
    #[error("{0}")]
    Broken(String),
    /// A repository does not give it.
    #[error("failed to add remote dependency '{name}': {error}")]
    Remote {
        /// Its name or alias.
        name: String,
        /// Why.
        error: E,
    },
}

/// Adds what the chart at a place needs and does not contain; returns how many charts that were.
///
/// # Errors
/// [`DependencyError`]
pub fn complete<R: Remotes>(
    chart: &mut Chart,
    place: Place<'_>,
    remotes: &R,
    mut held: Option<&mut Reservation>,
) -> Result<usize, DependencyError<R::Error>> {
    let missing = missing(chart);
    if missing.len() > MOST {
        let count = missing.len();
        return Err(DependencyError::Broken(format!(
            "{count} charts are needed, {MOST} are allowed"
        )));
    }
    let mut bytes = 0;
    for wanted in &missing {
        let mut found = if is_local(wanted) {
            local(wanted, place, held.as_deref_mut()).map_err(|why| failed("local", wanted, &why))?
        } else {
            remote(wanted, remotes, held.as_deref_mut())?
        };
        bytes += found.bytes();
        if bytes > MAX_CHART_BYTES {
            let why = format!("the charts that are needed have more than {MAX_CHART_BYTES} bytes");
            return Err(DependencyError::Broken(why));
        }
        if !wanted.alias.is_empty() {
            found.metadata.name.clone_from(&wanted.alias);
        }
        chart.dependencies.push(found);
    }
    Ok(missing.len())
}

fn failed<E: std::error::Error>(kind: &str, wanted: &Dependency, why: &str) -> DependencyError<E> {
    DependencyError::Broken(format!("failed to add {kind} dependency '{}': {why}", name(wanted)))
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
fn local(wanted: &Dependency, place: Place<'_>, held: Option<&mut Reservation>) -> Result<Chart, String> {
    let (version, reference) = (&wanted.version, &wanted.repository);
    let at = match reference.strip_prefix("file://") {
        Some(folder) => {
            // Of an absolute one, the path counts from the chart as well.
            path::join(place.path(), folder.trim_start_matches('/'))
        }
        None => path::join(place.path(), &format!("charts/{}", wanted.name)),
    };
    let there = place.beside(&at);
    if !there.exists() {
        return Err(format!("no chart found at '{at}' (reference '{reference}')"));
    }
    let constraint = Constraint::parse(version);
    let constraint = constraint.map_err(|error| format!("invalid version/constraint format '{version}': {error}"))?;
    let chart = there.chart(held);
    let chart =
        chart.map_err(|error| format!("failed to load chart from '{at}' (reference '{reference}'): {error}"))?;
    let found = Version::parse(&chart.metadata.version).map_err(|error| error.to_string())?;
    if constraint.check(&found) {
        Ok(chart)
    } else {
        Err(format!("can't get a valid version for constraint '{version}'"))
    }
}

fn remote<R: Remotes>(
    wanted: &Dependency,
    remotes: &R,
    held: Option<&mut Reservation>,
) -> Result<Chart, DependencyError<R::Error>> {
    let url = normalized(&wanted.repository).map_err(|why| failed("remote", wanted, &why))?;
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
/// It is none that charts are fetched from.
pub fn normalized(repository: &str) -> Result<String, String> {
    gostd::Url::parse(repository.as_bytes()).map_err(|error| error.to_string())?;
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
        _ if repository.starts_with('@') => Err(format!("aliased repository dependency is not supported: {trimmed}/")),
        _ => Err(format!("invalid dependency repository URL: {repository}")),
    }
}
