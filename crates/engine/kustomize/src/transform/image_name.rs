//! Splits an image reference into its parts, as kustomize does.

use bumpwright_text::Parts;

/// The parts of an image reference, `[host[:port]/]name[:tag][@digest]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageName<'a> {
    pub name: &'a str,
    /// The tag; empty if absent.
    pub tag: &'a str,
    /// The digest; empty if absent.
    pub digest: &'a str,
}

impl<'a> ImageName<'a> {
    /// Splits a reference. What stands before the first slash is a host, whose port is not a tag.
    #[must_use]
    pub fn of(reference: &'a str) -> Self {
        let path = reference.find('/').unwrap_or(0);
        let after = reference.part(path..);
        let digest = after.find('@').map(|at| at + path);
        let tag = after.find(':').map(|at| at + path);
        let tag = tag.filter(|tag| digest.is_none_or(|digest| *tag < digest));
        let end = reference.len();
        let behind = |at: Option<usize>, end| at.map_or("", |at| reference.part(at + 1..end));
        Self {
            name: reference.part(..tag.or(digest).unwrap_or(end)),
            tag: behind(tag, digest.unwrap_or(end)),
            digest: behind(digest, end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_name_tag_and_digest() {
        let parts = |reference| {
            let ImageName { name, tag, digest } = ImageName::of(reference);
            (name, tag, digest)
        };
        assert_eq!(parts("nginx"), ("nginx", "", ""));
        assert_eq!(parts("nginx:1.2"), ("nginx", "1.2", ""));
        assert_eq!(parts("nginx@sha256:ab"), ("nginx", "", "sha256:ab"));
        assert_eq!(parts("nginx:1@sha256:ab"), ("nginx", "1", "sha256:ab"));
        assert_eq!(parts("host:5000/a/nginx"), ("host:5000/a/nginx", "", ""));
        assert_eq!(
            parts("host:5000/nginx:1@sha256:ab"),
            ("host:5000/nginx", "1", "sha256:ab")
        );
        assert_eq!(parts("host:5000/nginx@sha256:ab"), ("host:5000/nginx", "", "sha256:ab"));
        assert_eq!(parts("/a:1"), ("/a", "1", ""));
    }
}
