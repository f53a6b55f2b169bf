//! `--release-notes`: what images were built from, by their labels, and what their releases say, by the API of the
//! forge of their source.
//!
//! A label is what a stranger wrote: only the hosts of [`PUBLIC`] and those of `--release-notes-api` are asked.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use url::Url;

use crate::cli::access;
use crate::cli::error::CliError;
use crate::cli::images::Images;
use crate::cli::words;
use bumpwright_api::{ImagePolicy, ImageRepository, ObjectName, Objects};
use bumpwright_forge::{Forge, ForgeApi, GitAddress, Login, Release, Repository};
use bumpwright_http::Peer;
use bumpwright_overview as overview;
use bumpwright_registry::Origin;
use bumpwright_update::{BumpedImage, ImageRelease, Releases};

/// Forges that everybody knows.
const PUBLIC: [(&str, ForgeApi); 3] = [
    ("github.com", ForgeApi::GitHub),
    ("codeberg.org", ForgeApi::Gitea),
    ("gitea.com", ForgeApi::Gitea),
];

/// Tokens for github.com, as its own tools read them. Without one it answers 60 requests an hour.
const TOKENS: [&str; 2] = ["GH_TOKEN", "GITHUB_TOKEN"];

/// The time limit of a request.
const LIMIT: Duration = Duration::from_secs(10);

/// A value of `--release-notes-api`, as in `gitea=https://git.example.com/api/v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleasesApi {
    kind: ForgeApi,
    url: Url,
}

impl FromStr for ReleasesApi {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected github=URL or gitea=URL, such as gitea=https://git.example.com/api/v1".to_owned();
        let (kind, url) = text.split_once('=').ok_or_else(expected)?;
        let kind = match kind {
            "github" => ForgeApi::GitHub,
            "gitea" | "forgejo" => ForgeApi::Gitea,
            _ => return Err(expected()),
        };
        let url = Url::parse(url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.filter(|url| url.has_host() && url.username().is_empty() && url.password().is_none());
        Ok(Self {
            kind,
            url: url.ok_or_else(expected)?,
        })
    }
}

/// Asks registries for labels, and forges for releases; the same for the same image and release once.
#[derive(Debug)]
pub(super) struct ReleaseNotes {
    objects: Objects,
    /// The registries of the run.
    images: Arc<Images>,
    apis: Vec<ReleasesApi>,
    origins: Mutex<BTreeMap<(String, String), Origin>>,
    releases: Mutex<BTreeMap<String, Option<Release>>>,
}

impl ReleaseNotes {
    pub(super) fn new(objects: &Objects, images: Arc<Images>, apis: &[ReleasesApi]) -> Self {
        Self {
            objects: objects.clone(),
            images,
            apis: apis.to_vec(),
            origins: Mutex::default(),
            releases: Mutex::default(),
        }
    }

    /// What the labels of a tag say.
    fn origin(&self, image: &BumpedImage<'_>, tag: &str) -> Result<Origin, CliError> {
        let key = (image.image.to_owned(), tag.to_owned());
        if let Some(known) = self.origins.lock().get(&key) {
            return Ok(known.clone());
        }
        let (policy, repository) = self.described(image)?;
        let origin = self.images.batch().origin(&policy, &repository, tag)?;
        self.origins.lock().insert(key, origin.clone());
        Ok(origin)
    }

    /// The policy and repository that know the login, or plain ones of the image's name.
    fn described(&self, image: &BumpedImage<'_>) -> Result<(ImagePolicy, ImageRepository), CliError> {
        let (namespace, name) = (image.policy.namespace.as_str(), image.policy.name.as_str());
        let policy = self.objects.image_policy(&ObjectName::new(namespace, name));
        let repository = policy.and_then(|policy| self.objects.image_repository(&policy.repository()?));
        if let (Some(policy), Some(repository)) = (policy, repository.filter(|it| it.spec.image == image.image)) {
            return Ok((policy.clone(), repository.clone()));
        }
        let metadata = serde_json::json!({"namespace": namespace, "name": name});
        let policy = serde_json::from_value(serde_json::json!({"metadata": metadata}));
        let repository = serde_json::json!({"metadata": metadata, "spec": {"image": image.image}});
        let repository = serde_json::from_value(repository);
        Ok((policy?, repository?))
    }

    /// The release of one of these tags of a source.
    fn release(&self, source: &Url, tags: &[String]) -> Result<Option<Release>, CliError> {
        let Some(forge) = self.forge(source) else {
            return Ok(None);
        };
        for tag in tags {
            let key = format!("{source} {tag}");
            let cached = self.releases.lock().get(&key).cloned();
            let release = match cached {
                Some(cached) => cached,
                None => {
                    let found = forge.release(tag)?;
                    self.releases.lock().insert(key, found.clone());
                    found
                }
            };
            if release.is_some() {
                return Ok(release);
            }
        }
        Ok(None)
    }

    /// The forge of a source, if it is one that may be asked.
    fn forge(&self, source: &Url) -> Option<Forge> {
        let host = source.host_str()?;
        let is_same =
            |api: &Url| api.host_str() == Some(host) && api.port_or_known_default() == source.port_or_known_default();
        let given = self.apis.iter().find(|api| is_same(&api.url));
        let (kind, api) = match given {
            Some(given) => (given.kind, Some(&given.url)),
            None => {
                let public = PUBLIC
                    .iter()
                    .find(|(public, _)| *public == host && source.scheme() == "https")?;
                (public.1, None)
            }
        };
        let token = || TOKENS.iter().find_map(|name| access::variable(name).ok().flatten());
        let is_github = given.is_none() && kind == ForgeApi::GitHub;
        let login = is_github.then(token).flatten().map_or(Login::Nobody, Login::Token);
        let mut root = source.clone();
        let path: Vec<&str> = source
            .path_segments()?
            .filter(|part| !part.is_empty())
            .take(2)
            .collect();
        root.set_path(&path.join("/"));
        let repository = Repository::locate(kind, GitAddress::Web(&root), api).ok()?;
        let peer = Peer {
            timeout: LIMIT,
            environment: true,
            ..Peer::default()
        };
        Some(Forge::new(kind, repository, login, peer))
    }

    fn of(&self, image: &BumpedImage<'_>, notes: &mut Vec<String>) -> ImageRelease {
        let release = ImageRelease {
            image: image.image.to_owned(),
            old: image.old.map(str::to_owned),
            new: image.new.to_owned(),
            ..ImageRelease::default()
        };
        let mut report = |error: CliError| {
            let name = words::inline(image.image);
            notes.push(format!("releases of {name}: {}", words::printable(&error.to_string())));
        };
        let new = match self.origin(image, image.new) {
            Ok(new) => new,
            Err(error) => {
                report(error);
                return release;
            }
        };
        let Some(source) = new.source.as_deref().and_then(web) else {
            return release;
        };
        // The image before may be gone: then there is nothing to compare with.
        let old = image.old.and_then(|tag| self.origin(image, tag).ok());
        let old = old.filter(|old| old.source == new.source).and_then(|old| old.revision);
        let compared = match (old, &new.revision, overview::Forge::of(source.as_str())) {
            (Some(old), Some(revision), Some(forge)) if old != *revision => forge.compare(&old, revision),
            _ => None,
        };
        let release = release.compared(compared);
        match self.release(&source, &tags(new.version.as_deref(), image.new)) {
            Ok(Some(found)) => release.released(&found.url, &found.title, &found.text),
            Ok(None) => release,
            Err(error) => {
                report(error);
                release
            }
        }
    }
}

impl Releases for ReleaseNotes {
    fn releases(&self, images: &[BumpedImage<'_>]) -> (Vec<ImageRelease>, Vec<String>) {
        let mut notes = Vec::new();
        let releases = images.iter().map(|image| self.of(image, &mut notes)).collect();
        (releases, notes)
    }
}

/// The address of a source on the web, without login.
fn web(source: &str) -> Option<Url> {
    let url = Url::parse(source.strip_suffix(".git").unwrap_or(source)).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
    is_web.then_some(url)
}

/// The names that the tag of a release may have, the likeliest first.
fn tags(version: Option<&str>, tag: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for name in version.into_iter().chain([tag]) {
        let bare = name.strip_prefix('v').unwrap_or(name);
        for name in [name.to_owned(), format!("v{bare}"), bare.to_owned()] {
            if !out.contains(&name) {
                out.push(name);
            }
        }
    }
    out.truncate(4);
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_known_hosts_are_asked() {
        let api: ReleasesApi = "gitea=http://git.example.com:3000/api/v1".parse().unwrap();
        let objects = Objects::default();
        let notes = ReleaseNotes::new(&objects, Arc::new(Images::new(&objects)), &[api]);
        let asks = |source: &str| web(source).and_then(|url| notes.forge(&url)).is_some();
        for (source, is_asked) in [
            ("https://github.com/acme/web", true),
            ("https://github.com/acme/web/tree/main/app", true),
            ("http://github.com/acme/web", false),
            ("https://github.com", false),
            ("https://github.com.example.org/acme/web", false),
            ("https://user:secret@github.com/acme/web", false),
            ("http://git.example.com:3000/acme/web", true),
            ("http://git.example.com/acme/web", false),
            ("http://169.254.169.254/acme/web", false),
            ("file:///etc/passwd", false),
        ] {
            assert_eq!(asks(source), is_asked, "{source}");
        }
    }

    #[test]
    fn a_release_has_one_of_these_tags() {
        assert_eq!(
            tags(Some("1.2.3"), "1.2.3-alpine"),
            ["1.2.3", "v1.2.3", "1.2.3-alpine", "v1.2.3-alpine"]
        );
        assert_eq!(tags(None, "v1.2.3"), ["v1.2.3", "1.2.3"]);
    }
}
