//! The spelling of a version in its field: registries take no `+` in a tag, so Helm writes `_` for the one of a chart's
//! version, and back. Fields with a version have the one, fields with a tag the other, whichever of them a policy has.
//! In the query of an address a `+` is a blank, so that it is `%2B` there.

use std::borrow::Cow;

use crate::model::DocumentId;
use crate::site::Site;
use bumpwright_policy::{tag_of_version, version_of_tag};
use bumpwright_text::Parts;

/// A chosen tag as it is written into a field.
pub(crate) fn as_written(site: &Site, tag: &str) -> String {
    let old = unescaped(&site.value);
    let tag = as_taken(&site.object, &site.key, &old, tag);
    let in_query = site.rule.as_ref().is_some_and(|rule| rule.in_query);
    let escaped = site.value.to_ascii_uppercase();
    let is_escaped = ESCAPES.iter().any(|(_, escape)| escaped.contains(escape));
    if !in_query && !is_escaped {
        return tag;
    }
    let write = |c: char| {
        let escape = ESCAPES.iter().find(|(known, _)| *known == c).map(|(_, escape)| *escape);
        // These may stand in a query as they are.
        let is_free = matches!(c, '/' | '@');
        match escape.filter(|escape| !is_free || escaped.contains(escape)) {
            Some(escape) => escape.to_owned(),
            None => c.to_string(),
        }
    };
    tag.chars().map(write).collect()
}

/// What versions have that is more than itself in addresses.
const ESCAPES: [(char, &str); 6] = [
    ('%', "%25"),
    ('+', "%2B"),
    ('#', "%23"),
    ('&', "%26"),
    ('/', "%2F"),
    ('@', "%40"),
];

/// The version that a field has. Nearly all have nothing escaped, and each field of each run comes by here.
pub(crate) fn unescaped(value: &str) -> Cow<'_, str> {
    if !value.contains('%') {
        return Cow::Borrowed(value);
    }
    let mut text = value.to_owned();
    for (c, escape) in ESCAPES.iter().rev() {
        text = text
            .replace(escape, &c.to_string())
            .replace(&escape.to_ascii_lowercase(), &c.to_string());
    }
    Cow::Owned(text)
}

/// Whether a place of a text is in the query of an address.
#[must_use]
pub fn is_in_query(text: &str, at: usize) -> bool {
    let before = text.part(..at);
    let word = before
        .rsplit(|c: char| c.is_whitespace() || "\"'`<>".contains(c))
        .next();
    word.is_some_and(|word| word.contains('?'))
}

/// A chosen tag as its field takes it: by what the object, the key or the old value says, and else as it is.
pub(crate) fn as_taken(object: &DocumentId, key: &str, old: &str, tag: &str) -> String {
    let is_version = takes_versions(object, key) || tag_of_version(old).is_some();
    let is_tag = takes_tags(object, key) || version_of_tag(old).is_some();
    let other = match (is_version, is_tag) {
        (true, _) => version_of_tag(tag),
        (false, true) => tag_of_version(tag),
        (false, false) => None,
    };
    other.unwrap_or_else(|| tag.to_owned())
}

/// The versions of charts: of HelmReleases, HelmCharts and Applications, and in lists of charts.
fn takes_versions(object: &DocumentId, key: &str) -> bool {
    match object.kind.as_str() {
        "HelmRelease" | "HelmChart" => key == "version",
        "Application" | "ApplicationSet" => key == "targetRevision",
        // `Chart.yaml`, and `helmCharts` of kustomizations.
        "" | "Kustomization" => key == "version",
        _ => false,
    }
}

/// The tags of sources in registries.
fn takes_tags(object: &DocumentId, key: &str) -> bool {
    object.kind == "OCIRepository" && key == "tag"
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn in_an_address_a_version_is_escaped() {
        let site = |value: &str, in_query: bool| {
            let policy = bumpwright_policy::PolicyName::new("fs", "web");
            let part = crate::model::Part::Tag;
            let mut site =
                Site::verbatim(crate::model::Setter { policy, part }, value, 0..value.len(), (1, 1)).unwrap();
            let (number, image) = (0, None);
            site.rule = Some(crate::site::ByRule {
                number,
                image,
                in_query,
            });
            site
        };
        for (old, in_query, tag, expected) in [
            ("v1.31.1", true, "v1.31.2+k3s1", "v1.31.2%2Bk3s1"),
            ("v1.31.1%2Bk3s1", false, "v1.31.2+k3s1", "v1.31.2%2Bk3s1"),
            ("v1.31.1%2bk3s1", false, "v1.31.2", "v1.31.2"),
            ("v1.31.1+k3s1", false, "v1.31.2+k3s1", "v1.31.2+k3s1"),
            ("vpc/v1.0.0", true, "vpc/v1.1.0", "vpc/v1.1.0"),
            ("vpc%2Fv1.0.0", false, "vpc/v1.1.0", "vpc%2Fv1.1.0"),
            ("vpc@1.0.0", true, "vpc@1.1.0", "vpc@1.1.0"),
        ] {
            assert_eq!(as_written(&site(old, in_query), tag), expected, "{old} {tag}");
        }
        assert_eq!(unescaped("a%2Fv1%2Bb%2b%2523"), "a/v1+b+%23");
        for (text, expected) in [
            ("source = \"git::https://h/r.git?ref=", true),
            ("- https://h/r//base?timeout=9s&ref=", true),
            ("- https://h/r/releases/download/", false),
            ("really? version ", false),
        ] {
            assert_eq!(is_in_query(text, text.len()), expected, "{text}");
        }
    }

    #[test]
    fn a_version_is_written_as_its_field_has_it() {
        let (version, tag) = ("105.0.1+up2.10.2", "105.0.1_up2.10.2");
        for (kind, key, old, expected) in [
            ("HelmRelease", "version", "105.0.0", version),
            ("HelmRelease", "version", "105.0.0+up2.10.0", version),
            ("HelmChart", "version", "1", version),
            ("Application", "targetRevision", "105.0.0", version),
            ("Kustomization", "version", "105.0.0", version),
            ("", "version", "105.0.0", version),
            ("OCIRepository", "tag", "105.0.0", tag),
            ("OCIRepository", "tag", "105.0.0_up2.10.0", tag),
            ("ConfigMap", "x", "105.0.0_up2.10.0", tag),
            ("ConfigMap", "x", "105.0.0+up2.10.0", version),
        ] {
            let object = DocumentId {
                kind: kind.to_owned(),
                ..DocumentId::default()
            };
            for chosen in [version, tag] {
                assert_eq!(
                    as_taken(&object, key, old, chosen),
                    expected,
                    "{kind} {key} {old} {chosen}"
                );
            }
        }
        // Values of charts, where images have their own tags; and what is not a version.
        let release = DocumentId {
            kind: "HelmRelease".to_owned(),
            ..DocumentId::default()
        };
        for (key, old, tag) in [
            ("tag", "21.0.1_12-jre", "21.0.10_7-jre"),
            ("tag", "21.0.1", "21.0.10_7-jre"),
            ("version", "a_b", "c_d"),
            ("version", "1.0.0", "1.1.0"),
        ] {
            assert_eq!(as_taken(&release, key, old, tag), tag, "{key} {old}");
        }
    }
}
