//! The kinds that are migrated, their versions up to v1, and their rules.

/// The rule by which an object of a kind is rewritten as v1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Only the version changes.
    Version,
    /// `ImageUpdateAutomation`: fields move when the object is of v1alpha1 (ImageUpdateAutomation
    /// v1beta1, *Migrating from v1alpha1*).
    Automation,
    /// `Kustomization`: patches and `validation` (Kustomization v1beta1 against v1).
    Kustomization,
    /// A source: these fields of `spec` have no effect (any more); v1 does not have them.
    Drop(&'static [&'static str]),
    /// `HelmChart`: as a source, and `valuesFile` would have to be moved to `valuesFiles`.
    Chart,
}

/// A kind with its migration.
#[derive(Debug)]
pub(super) struct MigratedKind {
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    /// Versions that can be migrated.
    pub(super) old: &'static [&'static str],
    pub(super) rule: Rule,
    /// Fields below `spec` that refer to other objects with their version; `true` for a list of them.
    pub(super) references: &'static [(&'static str, bool)],
}

/// The version to migrate to.
pub(super) const NEW: &str = "v1";

const IMAGE: &str = "image.toolkit.fluxcd.io";
const SOURCE: &str = "source.toolkit.fluxcd.io";
const KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io";
const IMAGE_VERSIONS: &[&str] = &["v1alpha1", "v1alpha2", "v1beta1", "v1beta2"];
const BETAS: &[&str] = &["v1beta1", "v1beta2"];
const SOURCE_REF: &[(&str, bool)] = &[("sourceRef", false)];

const KINDS: &[MigratedKind] = &[
    kind(IMAGE, "ImageRepository", IMAGE_VERSIONS, Rule::Version, &[]),
    kind(IMAGE, "ImagePolicy", IMAGE_VERSIONS, Rule::Version, &[]),
    kind(
        IMAGE,
        "ImageUpdateAutomation",
        IMAGE_VERSIONS,
        Rule::Automation,
        SOURCE_REF,
    ),
    // `gitImplementation` is ignored (ImageUpdateAutomation v1beta1, *Specification*); `accessFrom` of sources was
    // never implemented (source-controller, api/v1beta2).
    kind(
        SOURCE,
        "GitRepository",
        BETAS,
        Rule::Drop(&["gitImplementation", "accessFrom"]),
        &[],
    ),
    kind(SOURCE, "Bucket", BETAS, Rule::Drop(&["accessFrom"]), &[]),
    kind(SOURCE, "HelmChart", BETAS, Rule::Chart, SOURCE_REF),
    kind(SOURCE, "HelmRepository", BETAS, Rule::Version, &[]),
    kind(SOURCE, "OCIRepository", &["v1beta2"], Rule::Version, &[]),
    kind(
        KUSTOMIZE,
        "Kustomization",
        BETAS,
        Rule::Kustomization,
        &[("sourceRef", false), ("healthChecks", true)],
    ),
];

const fn kind(
    group: &'static str,
    name: &'static str,
    old: &'static [&'static str],
    rule: Rule,
    references: &'static [(&'static str, bool)],
) -> MigratedKind {
    MigratedKind {
        group,
        name,
        old,
        rule,
        references,
    }
}

/// The kind with this name in the group of `api_version`, and the version.
pub(super) fn find<'a>(api_version: &'a str, name: &str) -> Option<(&'static MigratedKind, &'a str)> {
    let (group, version) = api_version.split_once('/').filter(|(_, version)| is_version(version))?;
    let kind = KINDS.iter().find(|kind| kind.group == group && kind.name == name)?;
    Some((kind, version))
}

/// The same for a list of a kind (`kind: ImagePolicyList`).
pub(super) fn find_list<'a>(api_version: &'a str, name: &str) -> Option<(&'static MigratedKind, &'a str)> {
    find(api_version, name.strip_suffix("List")?)
}

/// The first mention of an alpha or beta version of our groups in a text, with its offset.
pub(super) fn old_version(text: &str) -> Option<(usize, &str)> {
    let old = versions(text).filter(|(_, _, version)| version.contains("alpha") || version.contains("beta"));
    old.map(|(at, mention, _)| (at, mention)).min()
}

/// Whether a text mentions a version of our groups other than v1: an old one, or one that is not known.
pub(super) fn other_version(text: &str) -> bool {
    versions(text).any(|(_, _, version)| version != NEW)
}

/// The mentions of versions of our groups in a text, group by group: the offset, `GROUP/VERSION`, and the version.
fn versions(text: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let groups = [IMAGE, SOURCE, KUSTOMIZE].into_iter();
    let matches = groups.flat_map(|group| text.match_indices(group));
    matches.filter_map(|(at, group)| {
        let rest = text.get(at..)?;
        let version = rest.get(group.len()..)?.strip_prefix('/')?;
        let length = version.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let version = version.get(..length)?;
        let mention = rest.get(..group.len() + 1 + length)?;
        is_version(version).then_some((at, mention, version))
    })
}

/// Whether it begins as a version does: labels and annotations have the same groups in front.
fn is_version(text: &str) -> bool {
    let rest = text.strip_prefix('v');
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn kinds_go_by_group_and_name() {
        let (kind, version) = find("image.toolkit.fluxcd.io/v1beta1", "ImagePolicy").unwrap();
        assert_eq!((kind.name, version), ("ImagePolicy", "v1beta1"));
        assert!(find("kustomize.config.k8s.io/v1beta1", "Kustomization").is_none());
        assert!(find("v1", "Secret").is_none());
        assert!(find("kustomize.toolkit.fluxcd.io/1", "Kustomization").is_none());
        assert!(find_list("image.toolkit.fluxcd.io/v1beta1", "ImagePolicyList").is_some());
    }

    #[test]
    fn old_versions_are_seen_in_any_text() {
        let text = "x: source.toolkit.fluxcd.io/v1\ny: 'image.toolkit.fluxcd.io/v1beta2'";
        assert_eq!(old_version(text), Some((35, "image.toolkit.fluxcd.io/v1beta2")));
        assert_eq!(old_version("kustomize.toolkit.fluxcd.io/prune: v1beta1"), None);
        assert!(!other_version(
            "a: source.toolkit.fluxcd.io/v1\nb: source.toolkit.fluxcd.io/verified"
        ));
        assert!(other_version(
            "a: source.toolkit.fluxcd.io/v1\nb: source.toolkit.fluxcd.io/v2"
        ));
    }
}
