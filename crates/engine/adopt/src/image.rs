//! Names of images, with their tags and digests.

use bumpwright_text::{Cuts, Parts};

/// An image as it is named, and the text behind its name: a tag, or a range of versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) constraint: Option<String>,
}

impl Named {
    /// Splits `registry/name:constraint@digest`; the digest says nothing about updates. A colon belongs to the
    /// constraint unless a slash follows it, as in the port of a registry.
    pub(crate) fn split(text: &str) -> Self {
        let text = text.before('@').trim();
        let slash = text.rfind('/').map_or(0, |at| at + 1);
        let colon = text.get(slash..).and_then(|rest| rest.find(':')).map(|at| slash + at);
        let (name, constraint) = match colon {
            Some(colon) => (text.part(..colon), text.get(colon + 1..)),
            None => (text, None),
        };
        Self {
            name: name.to_owned(),
            constraint: constraint.map(str::to_owned).filter(|text| !text.is_empty()),
        }
    }

    /// The last part of the name.
    pub(crate) fn short(&self) -> &str {
        self.name.behind_last('/')
    }
}

/// Whether an image's name has the host of a registry.
pub(crate) fn has_registry(name: &str) -> bool {
    let host = name.split_once('/').map(|(host, _)| host);
    host.is_some_and(|host| host.contains(['.', ':']) || host == "localhost")
}

/// Whether a field holds the image without its registry, as charts with a field for the registry have it.
pub(crate) fn is_short_form(value: &str, image: &str) -> bool {
    has_registry(image) && image.split_once('/').is_some_and(|(_, path)| path == value)
}

/// A name of Kubernetes made of a text.
#[must_use]
pub fn object_name(text: &str) -> String {
    let allowed = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
        _ => '-',
    };
    let name: String = text.chars().map(allowed).collect();
    let mut shown = String::new();
    for part in name.split('-').filter(|part| !part.is_empty()) {
        if !shown.is_empty() {
            shown.push('-');
        }
        shown.push_str(part);
    }
    shown.truncate(60);
    let shown = shown.trim_end_matches('-');
    if shown.is_empty() {
        "image".to_owned()
    } else {
        shown.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_constraints_are_split() {
        for (text, name, constraint) in [
            ("nginx", "nginx", None),
            ("nginx:~1.26", "nginx", Some("~1.26")),
            ("ghcr.io/acme/web:>=1.0, <2.0", "ghcr.io/acme/web", Some(">=1.0, <2.0")),
            ("localhost:5000/web", "localhost:5000/web", None),
            ("localhost:5000/web:1.x", "localhost:5000/web", Some("1.x")),
            ("web:dev@sha256:00", "web", Some("dev")),
        ] {
            let split = Named::split(text);
            assert_eq!(
                (split.name.as_str(), split.constraint.as_deref()),
                (name, constraint),
                "{text}"
            );
        }
        assert!(is_short_form("acme/web", "ghcr.io/acme/web"));
        assert!(!is_short_form("web", "acme/web"));
    }

    #[test]
    fn names_are_valid_in_kubernetes() {
        for (text, name) in [
            ("Web_API", "web-api"),
            ("argoproj/argocd", "argoproj-argocd"),
            ("{{name}}", "name"),
            ("--", "image"),
        ] {
            assert_eq!(object_name(text), name);
        }
    }
}
