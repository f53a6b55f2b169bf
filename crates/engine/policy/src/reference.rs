//! Image references, parsed as by go-containerregistry's `name.ParseReference`: image-automation-controller validates
//! with it before it writes, and templates of commit messages show the parts.

use std::net::Ipv6Addr;

const DEFAULT_REGISTRY: &str = "index.docker.io";
const DEFAULT_TAG: &str = "latest";

/// Whether a reference may omit parts that have defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// It may: Docker Hub, its `library/`, the tag `latest`. As in the controllers.
    Weak,
    Strict,
}

/// A parsed image reference, `[REGISTRY/]REPOSITORY[:TAG][@sha256:HEX]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    text: String,
    registry: String,
    repository: String,
    identifier: Identifier,
}

/// The image within its repository. A digest takes precedence over a tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identifier {
    /// A tag, possibly the default.
    Tag(String),
    /// `sha256:HEX`
    Digest(String),
}

/// A text that is not an image reference, with go-containerregistry's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not parse reference: {0}")]
pub struct NoReference(pub String);

impl Reference {
    /// Parses a reference.
    ///
    /// # Errors
    ///
    /// [`NoReference`] for characters or lengths that a registry, repository, tag or digest cannot have, and with
    /// [`Validation::Strict`] also for missing parts.
    pub fn parse(text: &str, validation: Validation) -> Result<Self, NoReference> {
        tagged(text, validation)
            .or_else(|| digested(text, validation))
            .ok_or_else(|| NoReference(text.to_owned()))
    }

    /// The address of a chart of a Helm repository, or of a Git repository, without its scheme: a host and a path,
    /// which may have capitals.
    #[must_use]
    pub fn of_address(text: &str) -> Option<Self> {
        let (registry, repository) = text.split_once('/')?;
        let is_host = registry.contains(['.', ':']) || registry == "localhost";
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./~".contains(&byte);
        let is_path = !repository.is_empty() && repository.len() <= 255 && repository.bytes().all(allowed);
        (is_host && is_path && is_registry(registry)).then(|| Self {
            text: text.to_owned(),
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            identifier: Identifier::Tag(DEFAULT_TAG.to_owned()),
        })
    }

    /// The version of what is at an address.
    pub(super) fn with_version(self, version: &str) -> Self {
        Self {
            text: format!("{}:{version}", self.text),
            identifier: Identifier::Tag(version.to_owned()),
            ..self
        }
    }

    /// The text of the reference.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The host, with its port: `index.docker.io` in place of none or of `docker.io`.
    #[must_use]
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path below the registry as written.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.repository
    }

    /// The path below the registry, with Docker Hub's `library/` where it is implied.
    #[must_use]
    pub fn repository(&self) -> String {
        if is_official(&self.registry, &self.repository) {
            format!("library/{}", self.repository)
        } else {
            self.repository.clone()
        }
    }

    #[must_use]
    pub fn identifier(&self) -> &Identifier {
        &self.identifier
    }

    /// Registry and repository.
    #[must_use]
    pub fn context(&self) -> String {
        format!("{}/{}", self.registry, self.repository())
    }

    /// Registry, repository and tag or digest.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.identifier {
            Identifier::Tag(tag) => format!("{}:{tag}", self.context()),
            Identifier::Digest(digest) => format!("{}@{digest}", self.context()),
        }
    }

    #[must_use]
    pub fn scheme(&self) -> &'static str {
        registry_scheme(&self.registry)
    }
}

impl Identifier {
    /// The tag or the digest.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Tag(text) | Self::Digest(text) => text,
        }
    }
}

/// `http` for local hosts, `https` for all others.
#[must_use]
pub fn registry_scheme(host: &str) -> &'static str {
    let local = is_private(host)
        || host.starts_with("localhost:")
        || is_below_localhost(host)
        || host.contains("127.0.0.1")
        || host.contains("::1");
    if local { "http" } else { "https" }
}

/// Whether the text is a valid reference with weak validation.
#[must_use]
pub(super) fn is_reference(text: &str) -> bool {
    Reference::parse(text, Validation::Weak).is_ok()
}

fn tagged(text: &str, validation: Validation) -> Option<Reference> {
    // A colon before the last slash belongs to the registry's port.
    let (base, tag) = match text.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
        Some((_, "")) => return None,
        Some((base, tag)) => (base, Some(tag)),
        None if validation == Validation::Strict => return None,
        None => (text, None),
    };
    if !tag.is_none_or(is_tag) {
        return None;
    }
    let (registry, repository) = named(base, validation)?;
    Some(Reference {
        text: text.to_owned(),
        registry,
        repository,
        identifier: Identifier::Tag(tag.unwrap_or(DEFAULT_TAG).to_owned()),
    })
}

fn digested(text: &str, validation: Validation) -> Option<Reference> {
    let (base, digest) = text.split_once('@')?;
    let hex = digest.strip_prefix("sha256:")?;
    let sound = hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !sound {
        return None;
    }
    let (registry, repository) = match tagged(base, validation) {
        // The tagged form was validated strictly; its parts are complete now.
        Some(tagged) => named(&tagged.context(), validation)?,
        None => named(base, validation)?,
    };
    Some(Reference {
        text: text.to_owned(),
        registry,
        repository,
        identifier: Identifier::Digest(digest.to_owned()),
    })
}

fn is_tag(tag: &str) -> bool {
    (1..=128).contains(&tag.len())
        && tag
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// Splits registry and repository; the first part is a registry if it looks like a host.
fn named(text: &str, validation: Validation) -> Option<(String, String)> {
    let host = |first: &str| first.contains(['.', ':']);
    let (registry, repository) = match text.split_once('/').filter(|(first, _)| host(first)) {
        Some((registry, repository)) => (registry, repository),
        None => ("", text),
    };
    let strict = validation == Validation::Strict;
    if !is_repository(repository) || !is_registry(registry) || (strict && registry.is_empty()) {
        return None;
    }
    let registry = match registry {
        "" | "docker.io" => DEFAULT_REGISTRY,
        other => other,
    };
    if strict && is_official(registry, repository) {
        return None;
    }
    Some((registry.to_owned(), repository.to_owned()))
}

/// Whether the repository is an official one of Docker Hub, whose path omits `library/`.
fn is_official(registry: &str, repository: &str) -> bool {
    registry == DEFAULT_REGISTRY && !repository.contains('/')
}

fn is_repository(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-./".contains(&byte);
    (2..=255).contains(&name.len()) && name.bytes().all(allowed)
}

/// Whether Go's `net/url` accepts the name as a host (RFC 3986, authority).
fn is_registry(name: &str) -> bool {
    let is_port = |port: &str| {
        port.is_empty()
            || port
                .strip_prefix(':')
                .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if let Some(literal) = name.strip_prefix('[') {
        return literal
            .rsplit_once(']')
            .is_some_and(|(address, port)| address.parse::<Ipv6Addr>().is_ok() && is_port(port));
    }
    let port = name.rfind(':').map_or("", |colon| name.get(colon..).unwrap_or(""));
    let allowed =
        |byte: u8| !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:]<>\"".contains(&byte);
    name.bytes().all(allowed) && is_port(port)
}

fn is_private(host: &str) -> bool {
    let address = host.split(':').next().unwrap_or("");
    address
        .parse::<std::net::Ipv4Addr>()
        .is_ok_and(|address| address.is_private())
}

/// Whether the host is `NAME.localhost`, with an optional port of up to five digits.
fn is_below_localhost(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const HEX: &str = "6129bb944cada32b4662eafd13fd9904d34c77286bf2ec4523eaedb711757cb0";

    #[test]
    fn what_names_an_image() {
        for text in [
            "o/app:1.0.0",
            "app",
            "ghcr.io/acme/app:v1.2.3_x-y",
            "localhost:5000/app:1",
            "[::1]:5000/app:1",
            "Registry.Example.com/app:1",
            "b\u{fc}cher.example.com/app:1",
            &format!("ghcr.io/acme/app:1@sha256:{HEX}"),
            &format!("ghcr.io/acme/app@sha256:{HEX}"),
        ] {
            assert!(is_reference(text), "{text}");
        }
        for text in [
            "",
            "x:",
            "x:1",
            "ghcr.io/Acme/app:1",
            "ghcr.io/acme app:1",
            "ghcr.io/acme/app:1 0",
            "ghcr.io/acme/app:1+2",
            "host:port/app:1",
            "[1.2.3.4]/app:1",
            "a?b.example.com/app:1",
            "ghcr.io/acme/app:1@sha256:61",
            &format!("ghcr.io/acme/app:1@sha512:{HEX}{HEX}"),
            &format!("app:{}", "a".repeat(129)),
        ] {
            assert!(!is_reference(text), "{text}");
        }
    }

    /// IUA-052 to IUA-056.
    #[test]
    fn the_parts_of_a_reference() {
        let parts = |text: &str| {
            let reference = Reference::parse(text, Validation::Weak).unwrap();
            [
                reference.registry().to_owned(),
                reference.repository(),
                reference.identifier().as_str().to_owned(),
                reference.name(),
                reference.scheme().to_owned(),
            ]
        };
        let hub = "index.docker.io/library/helloworld:v1.0.1";
        assert_eq!(
            parts("helloworld:v1.0.1"),
            ["index.docker.io", "library/helloworld", "v1.0.1", hub, "https"]
        );
        assert_eq!(parts("docker.io/helloworld:v1.0.1")[3], hub);
        assert_eq!(
            parts("10.1.2.3:5000/app"),
            ["10.1.2.3:5000", "app", "latest", "10.1.2.3:5000/app:latest", "http"]
        );
        let digest = format!("sha256:{HEX}");
        assert_eq!(parts(&format!("g.io/a/b:1@{digest}"))[3], format!("g.io/a/b@{digest}"));
        assert_eq!(parts("a.localhost:5000/bb:1")[4], "http");
        assert_eq!(parts("a.localhost:500000/bb:1")[4], "https");
        assert_eq!(parts("[::1]:5000/bb:1")[4], "http");
        assert_eq!(parts("127.0.0.1:5000/bb:1")[4], "http");
        let reference = Reference::parse("docker.io/app:1", Validation::Weak).unwrap();
        assert_eq!((reference.text(), reference.path()), ("docker.io/app:1", "app"));
    }

    #[test]
    fn strict_validation_wants_every_part() {
        for (text, sound) in [
            ("ghcr.io/acme/app:1", true),
            ("docker.io/library/app:1", true),
            ("docker.io/app:1", false),
            ("acme/app:1", false),
            ("ghcr.io/acme/app", false),
        ] {
            assert_eq!(Reference::parse(text, Validation::Strict).is_ok(), sound, "{text}");
        }
    }
}
