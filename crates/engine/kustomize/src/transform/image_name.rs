//! Splits an image reference into its parts, as kustomize does.

/// `[host[:port]/]name[:tag][@digest]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageName<'a> {
    /// Host and name.
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
        let after = reference.get(path..).unwrap_or_default();
        let digest = after.find('@').map(|at| at + path);
        let tag = after.find(':').map(|at| at + path);
        let tag = tag.filter(|tag| digest.is_none_or(|digest| *tag < digest));
        let end = reference.len();
        let from = |at: usize| reference.get(at..).unwrap_or_default();
        Self {
            name: reference.get(..tag.or(digest).unwrap_or(end)).unwrap_or_default(),
            tag: tag
                .and_then(|tag| reference.get(tag + 1..digest.unwrap_or(end)))
                .unwrap_or_default(),
            digest: digest.map(|digest| from(digest + 1)).unwrap_or_default(),
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
