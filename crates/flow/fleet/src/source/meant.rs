//! The sources of a fleet's Kustomizations: which of them are the repository itself.

use serde_json::Value;

use bumpwright_api::{GitRef, Kustomization, ObjectName};

/// A source object, as a Kustomization's `sourceRef` names it.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceObject {
    /// `GitRepository`, `OCIRepository`, `Bucket` or `ExternalArtifact`.
    pub kind: String,
    pub name: ObjectName,
    /// The object, when the fleet has it.
    pub object: Option<Value>,
}

impl SourceObject {
    /// The source that a Kustomization names; its object is not known yet.
    #[must_use]
    pub fn of(kustomization: &Kustomization) -> Self {
        Self {
            kind: kustomization.spec.source_ref.kind.clone(),
            name: kustomization.source(),
            object: None,
        }
    }

    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.object.as_ref()?.pointer("/spec/url")?.as_str()
    }

    /// `spec.ref` of a GitRepository.
    #[must_use]
    pub fn reference(&self) -> Option<GitRef> {
        let reference = self.object.as_ref()?.pointer("/spec/ref")?;
        serde_json::from_value(reference.clone()).ok()
    }

    /// `Kind/namespace/name`.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }
}

/// Where the files of a Kustomization come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The repository that the fleet is read from.
    This,
    /// Another source, fetched.
    Other(SourceObject),
    /// A source that is not available, and why.
    Unknown(SourceObject, String),
}

/// How the repository is recognised among the sources.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Addresses of the repository: the remotes of a clone, or the URL that was given.
    pub urls: Vec<String>,
}

impl Identity {
    /// Whether an address is one of the repository's. Scheme, login, port and `.git` are ignored: GitRepositories and
    /// clones spell them differently.
    #[must_use]
    pub fn has(&self, url: &str) -> bool {
        self.urls.iter().any(|own| is_same(own, url))
    }
}

/// Whether two addresses are those of one repository.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    plain(one) == plain(other)
}

/// `host/path` of an address, in lower case.
fn plain(url: &str) -> String {
    let parsed = url::Url::parse(url).ok();
    let with_host = parsed.as_ref().and_then(|url| Some((url.host_str()?, url.path())));
    let (host, path) = match with_host.or_else(|| url.split_once(':')) {
        Some(split) => split,
        None => ("", url),
    };
    // user@host:path
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    format!("{host}/{path}").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_repository_are_spelled_in_many_ways() {
        let identity = Identity {
            urls: vec!["git@github.com:Org/fleet.git".to_owned()],
        };
        for url in [
            "ssh://git@github.com/org/fleet",
            "https://github.com/org/fleet.git",
            "https://token@github.com:443/Org/fleet/",
        ] {
            assert!(identity.has(url), "{url}");
        }
        for url in ["https://github.com/org/fleet2", "https://gitlab.com/org/fleet", ""] {
            assert!(!identity.has(url), "{url}");
        }
    }
}
