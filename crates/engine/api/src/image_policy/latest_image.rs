//! `status.latestImage` of the older versions: one string for name, tag and digest.

use bumpwright_policy::LatestRef;

/// A `status.latestImage` that is not `name:tag[@digest]`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("status.latestImage {text:?} is not NAME:TAG[@DIGEST]: {why}")]
pub struct InvalidLatestImage {
    pub text: String,
    pub why: &'static str,
}

/// Reads `name:tag[@digest]`, where the name may hold a registry with a port (docs/decisions.md C36).
///
/// # Errors
/// When the text has no name, no tag, or an empty digest after `@`.
pub fn parse_latest_image(text: &str) -> Result<LatestRef, InvalidLatestImage> {
    let invalid = |why| InvalidLatestImage {
        text: text.to_owned(),
        why,
    };
    let (name, tag, digest) = LatestRef::split(text);
    if digest.is_some_and(|digest| digest.split_once(':').is_none_or(|(_, hex)| hex.is_empty())) {
        return Err(invalid("the digest after @ must be ALGORITHM:HEX"));
    }
    let Some(tag) = tag else {
        // A tag of a Git repository may have slashes.
        return LatestRef::of_version(text).ok_or_else(|| invalid("it has no tag"));
    };
    if name.is_empty() || name.ends_with('/') {
        return Err(invalid("it has no name"));
    }
    if tag.is_empty() {
        return Err(invalid("the tag is empty"));
    }
    Ok(LatestRef {
        name: name.to_owned(),
        tag: tag.to_owned(),
        digest: digest.map(str::to_owned),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn reads_name_tag_and_digest() {
        for (text, name, tag, digest) in [
            ("podinfo:5.1.4", "podinfo", "5.1.4", None),
            ("ghcr.io/acme/web:v1.2.3", "ghcr.io/acme/web", "v1.2.3", None),
            ("localhost:5000/web:1", "localhost:5000/web", "1", None),
            (
                "localhost:5000/a/b:1@sha256:00ff",
                "localhost:5000/a/b",
                "1",
                Some("sha256:00ff"),
            ),
        ] {
            let latest = parse_latest_image(text).unwrap();
            assert_eq!(
                (&*latest.name, &*latest.tag, latest.digest.as_deref()),
                (name, tag, digest),
                "{text}"
            );
            assert_eq!(latest.to_string(), text);
        }
    }

    #[test]
    fn refuses_what_lacks_a_part() {
        for text in [
            "",
            "web",
            "localhost:5000/web",
            ":1",
            "a/:1",
            "web:",
            "web@sha256:00",
            "web:1@",
            "web:1@sha256:",
        ] {
            assert!(parse_latest_image(text).is_err(), "{text}");
        }
    }
}
