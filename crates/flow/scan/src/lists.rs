//! Versions that are not tags of a registry: those of a chart in the index of a Helm repository, and tags of a Git
//! repository (`bumpwright.dev/kind` on an ImageRepository).

use std::time::Duration;

use url::Url;

use super::error::ScanError;
use bumpwright_budget::Exceeded;
use bumpwright_git::{Auth, Remote, RemoteUrl, remote_tags};
use bumpwright_helm::{Entry, IndexError, MAX_INDEX_BYTES, read_entries};
use bumpwright_http::{Client, Deadline, Job, Peer, Request, RetryPolicy, Sent, basic_header};
use bumpwright_policy::{Reference, registry_scheme};
use bumpwright_registry::{Login, TagList};

/// The most versions.
const MOST: usize = 1_000_000;

/// What is asked, and how.
pub(super) struct Asked<'a> {
    pub(super) reference: &'a Reference,
    pub(super) peer: &'a Peer,
    pub(super) insecure: bool,
    pub(super) login: &'a Login,
    pub(super) sent: &'a Sent,
    pub(super) deadline: Deadline,
}

impl Asked<'_> {
    /// The address of a path at the host.
    fn address(&self, path: &str) -> Result<String, ScanError> {
        let host = self.reference.registry();
        if !self.reference.name().starts_with(host) || host == "index.docker.io" {
            return Err(ScanError::List(
                "spec.image has to begin with the name of a host".to_owned(),
            ));
        }
        let scheme = if self.insecure { "http" } else { registry_scheme(host) };
        Ok(format!("{scheme}://{host}/{path}"))
    }
}

/// The versions of a chart: `spec.image` is the repository's address without its scheme, and the
/// chart's name behind it.
pub(super) fn chart_versions(asked: &Asked<'_>) -> Result<TagList, ScanError> {
    let path = asked.reference.path();
    let (folder, chart) = path.rsplit_once('/').unwrap_or(("", path));
    let slash = if folder.is_empty() { "" } else { "/" };
    let text = asked.address(&format!("{folder}{slash}index.yaml"))?;
    let failed = |why: String| ScanError::List(format!("{text}: {why}"));
    let url = Url::parse(&text).map_err(|error| failed(error.to_string()))?;
    let mut request = Request::get(url).limit(MAX_INDEX_BYTES);
    match asked.login {
        Login::Basic { username, password } => request = request.authorization(basic_header(username, password)),
        Login::Anonymous => {}
        _ => {
            return Err(failed(
                "the Secret has a token, which Helm repositories do not take".to_owned(),
            ));
        }
    }
    let client = Client::new(asked.peer.clone(), RetryPolicy::default()).telling(asked.sent.clone());
    let answer = client
        .send(&request, asked.deadline)
        .map_err(|error| failed(error.to_string()))?;
    if !answer.status.is_success() {
        return Err(failed(format!("the server answers {}", answer.status)));
    }
    let index = std::str::from_utf8(&answer.body).map_err(|_| failed("it is not UTF-8".to_owned()))?;
    match versions(index, chart).map_err(|error| failed(error.to_string()))? {
        versions if versions.is_empty() => Err(failed(format!("the index has no chart {chart:?}"))),
        versions => Ok(versions),
    }
}

/// The tags of a Git repository: `spec.image` is its address without the scheme.
pub(super) fn git_tags(asked: &Asked<'_>) -> Result<TagList, ScanError> {
    let text = asked.address(asked.reference.path())?;
    let url = RemoteUrl::parse(&text).map_err(|error| ScanError::List(error.to_string()))?;
    let auth = match asked.login {
        Login::Basic { username, password } => Auth::Basic {
            username: username.clone(),
            password: password.clone(),
        },
        _ => Auth::None,
    };
    let remote = Remote {
        auth,
        tls: asked.peer.tls.clone(),
        proxy: asked.peer.proxy.clone(),
        timeout: in_seconds(asked.deadline.left().min(asked.peer.timeout)),
        ..Remote::new(url)
    };
    let (tags, held) = remote_tags(&remote).map_err(|error| ScanError::List(format!("{text}: {error}")))?;
    match tags.len() {
        0..=MOST => Ok(TagList::of(tags, held)),
        _ => Err(ScanError::List(format!("{text}: more than {MOST} tags"))),
    }
}

/// Whole seconds, since an error that names the limit shows all of it.
fn in_seconds(limit: Duration) -> Duration {
    Duration::from_secs(limit.as_millis().div_ceil(1_000).try_into().unwrap_or(u64::MAX))
}

/// Why the versions of a chart in an index are not read.
#[derive(Debug, thiserror::Error)]
enum VersionsError {
    #[error("the index cannot be read: {0}")]
    Index(#[from] IndexError),
    #[error("the index cannot be read: {0}")]
    Memory(#[from] Exceeded),
    #[error("the index cannot be read: more than {MOST} versions")]
    TooMany,
}

/// The versions of a chart in an index. The rest of an index, which may be large, is passed over.
fn versions(index: &str, chart: &str) -> Result<TagList, VersionsError> {
    let mut tags = TagList::new(&Job::account());
    let each = &mut |_: &str, entry: Entry| match tags.len() {
        _ if entry.version.is_empty() => Ok(()),
        0..MOST => Ok(tags.push(&entry.version)?),
        _ => Err(VersionsError::TooMany),
    };
    read_entries(index, &|name| name == chart, each)?;
    Ok(tags)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_index_has_the_versions_of_many_charts() {
        let index = "apiVersion: v1\nentries:\n  other:\n  - version: 9.0.0\n  web:\n  - name: web\n    version: 1.2.3\n    \
                     dependencies: [{name: x, version: 7.0.0}]\n    annotations: {version: 8.0.0}\n    keywords: &k [version]\n  \
                     - {version: '1.10', keywords: *k, urls: [a]}\nversion: 6.0.0\ngenerated: 2026-11-26\n";
        assert_eq!(*versions(index, "web").unwrap(), ["1.2.3", "1.10"]);
        assert!(versions(index, "none").unwrap().is_empty());
        let json = r#"{"entries": {"web": [{"version": "1.0.0"}]}}"#;
        assert_eq!(*versions(json, "web").unwrap(), ["1.0.0"]);
        assert!(versions("entries: [", "web").is_err());
    }
}
