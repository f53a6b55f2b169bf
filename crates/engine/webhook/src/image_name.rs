//! Normalised names of image repositories.

use std::fmt;

use super::event::LONGEST_NAME;

/// Docker Hub's host in go-containerregistry, and so in Flux.
const HUB: &str = "index.docker.io";

/// The other hosts of Docker Hub.
const HUB_ALIASES: &[&str] = &[
    "docker.io",
    "registry-1.docker.io",
    "registry.hub.docker.com",
    "hub.docker.com",
];

/// The name of an image repository, in lower case and with Docker Hub's defaults.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImageName {
    /// `None` is any registry: some senders do not know their address.
    registry: Option<String>,
    path: String,
}

/// A name with tag and digest.
pub(crate) struct Tagged {
    pub(crate) name: ImageName,
    pub(crate) tag: Option<String>,
    pub(crate) digest: Option<String>,
}

impl ImageName {
    /// Parses `[REGISTRY/]PATH[:TAG][@DIGEST]`, optionally after `oci://`; the tag and the digest are dropped. As in
    /// the image controllers, the first part is a registry if it contains a dot or a colon, and otherwise the image
    /// is at Docker Hub.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        tagged(text).map(|tagged| tagged.name)
    }

    /// The image at this path of a registry. A scheme before the host is dropped.
    pub(crate) fn at(registry: &str, path: &str) -> Option<Self> {
        let registry = plain_registry(without_scheme(registry.trim()).trim_end_matches('/'))?;
        let path = plain_path(path)?;
        let official = registry == HUB && !path.contains('/');
        let path = if official { format!("library/{path}") } else { path };
        Some(Self {
            registry: Some(registry),
            path,
        })
    }

    /// The image at this path of any registry.
    pub(crate) fn at_any_registry(path: &str) -> Option<Self> {
        Some(Self {
            registry: None,
            path: plain_path(path)?,
        })
    }

    /// The path below the registry.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether both can be the same repository.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        let any_registry = self.registry.is_none() || other.registry.is_none();
        (any_registry || self.registry == other.registry) && self.path == other.path
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry.as_deref().unwrap_or("*"), self.path)
    }
}

/// Parses a reference with its tag and its digest.
pub(crate) fn tagged(text: &str) -> Option<Tagged> {
    let text = without_scheme(text.trim());
    let (text, digest) = match text.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (text, None),
    };
    // A colon before the last slash belongs to the registry's port.
    let (name, tag) = match text.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (text, None),
    };
    let name = match name.split_once('/') {
        Some((registry, path)) if registry.contains(['.', ':']) => ImageName::at(registry, path)?,
        _ => ImageName::at(HUB, name)?,
    };
    let owned = |part: Option<&str>| part.filter(|part| !part.is_empty()).map(str::to_owned);
    Some(Tagged {
        name,
        tag: owned(tag),
        digest: owned(digest),
    })
}

fn without_scheme(text: &str) -> &str {
    text.split_once("://").map_or(text, |(_scheme, rest)| rest)
}

fn plain_registry(registry: &str) -> Option<String> {
    let registry = registry.to_ascii_lowercase();
    let host = registry.strip_suffix(":443").or_else(|| registry.strip_suffix(":80"));
    let host = host.unwrap_or(&registry);
    let plain = host.chars().all(|c| c.is_ascii_alphanumeric() || ".-_:[]".contains(c));
    if !plain || host.is_empty() || host.len() > LONGEST_NAME {
        return None;
    }
    let is_hub = HUB_ALIASES.contains(&host);
    Some(if is_hub { HUB } else { host }.to_owned())
}

/// The path in lower case; `None` with invalid characters (distribution's grammar of references).
fn plain_path(path: &str) -> Option<String> {
    let path = path.trim_matches('/').to_ascii_lowercase();
    let plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
    (plain && !path.is_empty() && path.len() <= LONGEST_NAME).then_some(path)
}
