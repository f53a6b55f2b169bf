//! Charts of HelmRepositories: given in a folder, kept on disk, or fetched with the logins that the manifests
//! name, else the user's.
//!
//! A version of a chart never changes: one that is kept is not fetched again. For a range one request asks which
//! version that is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bumpwright_chart::{PullError, PulledChart, Sought, read_chart};
use bumpwright_fleet::{ChartError, RepositoryChart, SourceObject};
use bumpwright_helm::Chart;
use bumpwright_http::shown;
use bumpwright_json::Texts;
use bumpwright_nearest::meant;
use bumpwright_semver::{Constraint, Version};
use bumpwright_source::CHART_LAYER;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::network::Network;
use super::repositories::{Indexes, Reached, address};
use crate::cli::places;

/// Where charts come from.
pub(super) struct Charts {
    /// `--charts`
    pub(super) given: Option<PathBuf>,
    pub(super) offline: bool,
    pub(super) timeout: Duration,
    pub(super) indexes: Indexes,
}

impl Charts {
    /// A chart of a HelmRepository.
    pub(super) fn chart(
        &self,
        wanted: &RepositoryChart,
        objects: &[Value],
        network: &Network,
    ) -> Result<Chart, ChartError> {
        if let Some(found) = self.given(wanted) {
            return read_given(&found);
        }
        let object = wanted.repository.object.as_ref().unwrap_or(&Value::Null);
        let spec = object.value_at("/spec");
        let url = spec.text_of("url");
        let is_oci = spec.text_of("type") == "oci" || url.starts_with("oci://");
        if !is_oci {
            address(url)?;
        }
        self.kept(url, wanted, |kept| {
            if is_oci {
                let object = in_registry(wanted, spec);
                kept.of_registry(|is_kept| {
                    let sought = network.oci_chart(&object, objects, &wanted.version, is_kept);
                    sought.map_err(not_pulled)
                })
            } else {
                self.of_index(wanted, objects, kept)
            }
        })
    }

    /// The chart that an OCIRepository has; none where its files have to be read for it, since it names no version, or
    /// no layer of a chart.
    pub(super) fn of_image(
        &self,
        source: &SourceObject,
        objects: &[Value],
        network: &Network,
    ) -> Option<Result<Chart, ChartError>> {
        let wanted = image_of(source)?;
        let object = source.object.as_ref()?;
        let spec = |pointer: &str| object.text_at(pointer);
        let is_ranged = !spec("/spec/ref/semver").is_empty() && spec("/spec/ref/semverFilter").is_empty();
        let is_tagged = spec("/spec/ref/semver").is_empty() && Version::parse_strict(&wanted.version).is_ok();
        let is_chart = spec("/spec/layerSelector/mediaType") == CHART_LAYER && spec("/spec/ref/digest").is_empty();
        if !is_chart || !(is_ranged || is_tagged) {
            return None;
        }
        let (above, _) = spec("/spec/url").trim_end_matches('/').rsplit_once('/')?;
        let find = |kept: &Kept| {
            kept.of_registry(|is_kept| {
                let sought = network.oci_chart(object, objects, &wanted.version, is_kept);
                sought.map_err(|error| match not_pulled(error) {
                    ChartError::Broken(error) => ChartError::Broken(format!("{}: {error}", source.shown())),
                    ChartError::Unavailable(error) => ChartError::Unavailable(format!("{}: {error}", source.shown())),
                })
            })
        };
        Some(self.kept(above, &wanted, find))
    }

    /// The chart that is kept, else the one that is found, which is kept then. What a range means is asked for each
    /// time while there is a network.
    fn kept(
        &self,
        url: &str,
        wanted: &RepositoryChart,
        find: impl FnOnce(&Kept) -> Result<Found, ChartError>,
    ) -> Result<Chart, ChartError> {
        let cache = Kept::of(url, &wanted.name);
        let is_exact = Version::parse_strict(&wanted.version).is_ok();
        if let Some(path) = cache.find(&wanted.version).filter(|_| is_exact || self.offline) {
            return read_given(&path);
        }
        if self.offline {
            let at = if url.starts_with("oci://") {
                format!("{}/{}", url.trim_end_matches('/'), wanted.name)
            } else {
                url.to_owned()
            };
            let unknown = format!("it is not kept on this machine ({at}, offline)");
            return Err(ChartError::Unavailable(unknown));
        }
        let pulled = match find(&cache)? {
            Found::Kept(path) => return read_given(&path),
            Found::Pulled(pulled) => pulled,
        };
        let chart = Chart::from_archive(&pulled.archive).map_err(|error| ChartError::Broken(error.to_string()))?;
        // By what the repository calls it, which is what is asked for next time.
        if let Some(version) = &pulled.version {
            cache.put(version, &pulled.archive);
        }
        Ok(chart)
    }

    /// Where `--charts` has a chart.
    pub(super) fn given(&self, wanted: &RepositoryChart) -> Option<PathBuf> {
        given(self.given.as_deref()?, wanted)
    }

    /// The version of a chart that the index of its repository has for a range; its archive only if it is not kept.
    fn of_index(&self, wanted: &RepositoryChart, objects: &[Value], kept: &Kept) -> Result<Found, ChartError> {
        let reached = Reached::of(&wanted.repository, objects, self.timeout)?;
        let index = self.indexes.of(&reached).map_err(not_pulled)?;
        let chosen = index.chosen(&wanted.name, &wanted.version).map_err(|error| {
            let is_unknown = index.versions(&wanted.name).is_empty();
            let near = is_unknown.then(|| meant(&wanted.name, index.names()));
            ChartError::Broken(format!("{error}{}", near.as_deref().unwrap_or("")))
        })?;
        if let Some(path) = kept.archive(&chosen.version, &chosen.digest) {
            return Ok(Found::Kept(path));
        }
        // Its time begins now: another chart may have had the index fetched.
        let repository = reached.repository();
        let located = repository
            .located(chosen)
            .map_err(|error| ChartError::Broken(error.to_string()))?;
        let broken = |why: String| ChartError::Broken(format!("chart '{}' {why}", wanted.name));
        let located = located.ok_or_else(|| broken("has no downloadable URLs".to_owned()))?;
        if !matches!(located.url.scheme(), "https" | "http") {
            let at = shown(&located.url);
            return Err(broken(format!("has the URL {at} in the index: expected https://")));
        }
        let archive = repository.archive(&located);
        Ok(Found::Pulled(PulledChart {
            version: Some(chosen.version.to_string()),
            archive: archive.map_err(not_pulled)?,
        }))
    }
}

/// Where a chart was found.
enum Found {
    /// In the cache: a version that was pulled for another range, or in an earlier run.
    Kept(PathBuf),
    Pulled(PulledChart),
}

/// Reads a chart of `--charts`, or of those that are kept.
///
/// # Errors
/// It is not a valid chart.
pub(super) fn read_given(path: &Path) -> Result<Chart, ChartError> {
    read_chart(path).map_err(|error| ChartError::Broken(format!("{}: {error}", path.display())))
}

/// What is not there is a fault of the release; what is not reached may be there.
fn not_pulled(error: PullError) -> ChartError {
    match error {
        PullError::Unreachable(error) => ChartError::Unavailable(error),
        PullError::Missing(error) => ChartError::Broken(error),
        error @ PullError::TooLarge { .. } => ChartError::Broken(error.to_string()),
    }
}

/// The chart that an OCIRepository has: its name is the end of the address, its version the tag or the range.
pub(super) fn image_of(source: &SourceObject) -> Option<RepositoryChart> {
    let spec = source.object.as_ref()?.get("spec")?;
    let reference = spec.get("ref").unwrap_or(&Value::Null);
    let mut versions = ["semver", "tag"].map(|field| reference.text_of(field)).into_iter();
    let version = versions.find(|version| !version.is_empty());
    Some(RepositoryChart {
        repository: source.clone(),
        name: spec.text_of("url").trim_end_matches('/').rsplit('/').next()?.to_owned(),
        // A tag has no `+` (Helm, *OCI registries*).
        version: version.map_or_else(String::new, |version| version.replace('_', "+")),
    })
}

/// A chart of a registry as an OCIRepository, which has its logins, trust and bounds.
fn in_registry(wanted: &RepositoryChart, spec: &Value) -> Value {
    let url = format!("{}/{}", spec.text_of("url").trim_end_matches('/'), wanted.name);
    let mut own = json!({"interval": "1h", "url": url});
    if let (Some(own), Some(spec)) = (own.as_object_mut(), spec.as_object()) {
        for field in ["secretRef", "certSecretRef", "insecure", "provider", "timeout"] {
            own.extend(spec.get(field).map(|value| (field.to_owned(), value.clone())));
        }
    }
    let name = &wanted.repository.name;
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository",
        "metadata": {"name": name.name, "namespace": name.namespace}, "spec": own,
    })
}

/// A chart in the folder of `--charts`: `NAME-VERSION.tgz`, or a folder `NAME`.
fn given(folder: &Path, wanted: &RepositoryChart) -> Option<PathBuf> {
    // A name of a registry may have a path; none leads out of the folder.
    let name = wanted.name.rsplit('/').next().filter(|name| !name.starts_with('.'))?;
    let names = fs::read_dir(folder).ok()?.flatten();
    let versions = names.filter_map(|entry| {
        let file = entry.file_name().to_str()?.to_owned();
        let version = file
            .strip_suffix(".tgz")?
            .strip_prefix(name)?
            .strip_prefix('-')?
            .to_owned();
        Some((version, entry.path()))
    });
    let unpacked = || {
        let path = folder.join(name);
        path.join("Chart.yaml").is_file().then_some(path)
    };
    newest(versions, &wanted.version).or_else(unpacked)
}

/// The newest version in a range; empty for any that is not a prerelease.
fn newest(versions: impl Iterator<Item = (String, PathBuf)>, range: &str) -> Option<PathBuf> {
    let constraint = Constraint::parse(if range.is_empty() { "*" } else { range }).ok()?;
    let fitting = versions.filter_map(|(text, path)| {
        let version = Version::parse(&text).ok()?;
        (text == range || constraint.check(&version)).then_some((version, path))
    });
    fitting
        .max_by(|(one, _), (other, _)| one.cmp(other))
        .map(|(_, path)| path)
}

/// The versions of a chart that are kept on this machine.
struct Kept(Option<PathBuf>);

impl Kept {
    fn of(url: &str, name: &str) -> Self {
        let key: String = sha256(format!("{url}\n{name}")).chars().take(32).collect();
        Self(places::cache().ok().map(|cache| cache.join("charts").join(key)))
    }

    fn find(&self, range: &str) -> Option<PathBuf> {
        let names = fs::read_dir(self.0.as_ref()?).ok()?.flatten();
        let versions = names.filter_map(|entry| {
            let version = entry.file_name().to_str()?.strip_suffix(".tgz")?.to_owned();
            Some((version, entry.path()))
        });
        newest(versions, range)
    }

    /// What a registry has, which is asked with the versions that are kept.
    fn of_registry(
        &self,
        ask: impl FnOnce(&dyn Fn(&str) -> bool) -> Result<Sought, ChartError>,
    ) -> Result<Found, ChartError> {
        match ask(&|version: &str| self.archive(version, "").is_some())? {
            Sought::Pulled(pulled) => Ok(Found::Pulled(pulled)),
            Sought::Kept(version) => {
                let path = self.archive(&version, "");
                let gone = || ChartError::Unavailable(format!("version {version} is no longer kept on this machine"));
                path.map(Found::Kept).ok_or_else(gone)
            }
        }
    }

    /// The archive of exactly this version, with this SHA-256, which may be empty.
    fn archive(&self, version: &str, digest: &str) -> Option<PathBuf> {
        let path = self.place(version)?;
        let archive = fs::read(&path).ok()?;
        let wanted = digest.trim_start_matches("sha256:");
        let is_it = || wanted.eq_ignore_ascii_case(&sha256(&archive));
        (wanted.is_empty() || is_it()).then_some(path)
    }

    /// Keeps an archive. Without a place for it, it is fetched again next time.
    fn put(&self, version: &str, archive: &[u8]) {
        if let Some(place) = self.place(version) {
            places::keep(&place, archive);
        }
    }

    /// Where a version is; none without a folder, and for a version that is not a file name.
    fn place(&self, version: &str) -> Option<PathBuf> {
        let is_name = !version.is_empty() && !version.contains(['/', '\\']) && !version.starts_with('.');
        let folder = self.0.as_ref().filter(|_| is_name)?;
        Some(folder.join(format!("{version}.tgz")))
    }
}

/// The SHA-256 in hexadecimal digits.
fn sha256(bytes: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::newest;
    use std::path::PathBuf;

    #[test]
    fn the_newest_version_of_a_range_is_taken() {
        let versions = ["1.0.0", "1.2.0", "2.0.0-rc.1", "1.10.0", "other"];
        let found = |range: &str| {
            let all = versions.iter().map(|one| ((*one).to_owned(), PathBuf::from(one)));
            newest(all, range).map(|path| path.display().to_string())
        };
        assert_eq!(found("").as_deref(), Some("1.10.0"));
        assert_eq!(found("~1.2").as_deref(), Some("1.2.0"));
        assert_eq!(found("2.0.0-rc.1").as_deref(), Some("2.0.0-rc.1"));
        assert_eq!(found(">=3"), None);
        assert_eq!(found("not a range"), None);
    }
}
