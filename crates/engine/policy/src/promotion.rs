//! Promotion (`bumpwright.dev/promote-from`): a policy takes only what a Kustomization, usually of another stage, has
//! run in good health for some time.

use std::fmt;

use super::annotation::InvalidAnnotation;
use bumpwright_gostd::Duration;

/// The keys, without the prefix, in the order of the alphabet.
const FROM: &str = "promote-from";
const KUBECONFIG: &str = "promote-kubeconfig";
const SOAK: &str = "soak";
const PATH: &str = "promote-path";

/// The annotations that a controller has acted upon when it chose the image of a status.
pub const PROMOTION_ANNOTATIONS: [&str; 2] = ["bumpwright.dev/promote-from", "bumpwright.dev/promote-kubeconfig"];

/// Where versions are promoted from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// The namespace of the Kustomization.
    pub namespace: String,
    pub name: String,
    /// How long its workloads are healthy without a break.
    pub soak: Duration,
    /// The Secret with the kubeconfig of its cluster, in the policy's namespace.
    pub kubeconfig: Option<String>,
}

impl Promotion {
    /// Reads the annotations of ours, without their prefix; none without `promote-from`.
    ///
    /// # Errors
    /// [`InvalidAnnotation`] for one that does not parse, or that means nothing without `promote-from`.
    pub(super) fn read(ours: &[(&str, &str)]) -> Result<Option<Self>, InvalidAnnotation> {
        let value = |key: &str| ours.iter().find(|(given, _)| *given == key).map(|(_, value)| *value);
        let Some(from) = value(FROM) else {
            let is_alone = |key: &&str| value(key).is_some() && (*key != SOAK || value(PATH).is_none());
            return match [KUBECONFIG, SOAK].into_iter().find(is_alone) {
                Some(SOAK) => Err(InvalidAnnotation::Alone {
                    key: SOAK,
                    needed: "promote-from or bumpwright.dev/promote-path",
                }),
                Some(key) => Err(InvalidAnnotation::Alone { key, needed: FROM }),
                None => Ok(None),
            };
        };
        let (namespace, name) = read_kustomization(from)?;
        Ok(Some(Self {
            namespace,
            name,
            kubeconfig: value(KUBECONFIG).map(read_secret).transpose()?,
            soak: value(SOAK).map_or(Ok(Duration(0)), read_soak)?,
        }))
    }
}

impl fmt::Display for Promotion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kustomization {}/{}", self.namespace, self.name)?;
        match &self.kubeconfig {
            Some(secret) => write!(f, " of the cluster in Secret {secret}"),
            None => Ok(()),
        }
    }
}

fn read_kustomization(value: &str) -> Result<(String, String), InvalidAnnotation> {
    let parts: Vec<&str> = value.split('/').collect();
    match parts.as_slice() {
        ["Kustomization", namespace, name] if is_name(namespace) && is_name(name) => {
            Ok(((*namespace).to_owned(), (*name).to_owned()))
        }
        _ => Err(InvalidAnnotation::value(FROM, value, "Kustomization/NAMESPACE/NAME")),
    }
}

fn read_secret(value: &str) -> Result<String, InvalidAnnotation> {
    if is_name(value) {
        Ok(value.to_owned())
    } else {
        Err(InvalidAnnotation::value(KUBECONFIG, value, "the name of a Secret"))
    }
}

fn read_soak(value: &str) -> Result<Duration, InvalidAnnotation> {
    match Duration::parse(value.as_bytes()) {
        Ok(soak) if soak >= Duration(0) => Ok(soak),
        _ => Err(InvalidAnnotation::value(SOAK, value, "a duration such as 24h or 1h30m")),
    }
}

/// Whether an object may have this name (RFC 1123, *subdomain*).
fn is_name(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let bytes = text.as_bytes();
    bytes.len() <= 253 && text.bytes().all(allowed) && ends(bytes.first()) && ends(bytes.last())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ANNOTATION_PREFIX;

    #[test]
    fn a_kustomization_is_named_in_full() {
        let read = |ours| Promotion::read(ours).unwrap();
        assert_eq!(read(&[("hold", "x")]), None);
        let plain = read(&[("promote-from", "Kustomization/fs/staging")]).unwrap();
        assert_eq!(
            (plain.to_string().as_str(), plain.soak),
            ("Kustomization fs/staging", Duration(0))
        );
        let all = [
            ("promote-from", "Kustomization/fs/staging.app"),
            ("promote-kubeconfig", "staging-cluster"),
            ("soak", "24h"),
        ];
        let all = read(&all).unwrap();
        assert_eq!(
            all.to_string(),
            "Kustomization fs/staging.app of the cluster in Secret staging-cluster"
        );
        assert_eq!(all.soak.to_string(), "24h0m0s");
    }

    #[test]
    fn what_means_nothing_closes_the_policy() {
        let from = ("promote-from", "Kustomization/fs/staging");
        for (ours, expected) in [
            (
                &[("soak", "24h")][..],
                "bumpwright.dev/soak says nothing without bumpwright.dev/promote-from or bumpwright.dev/promote-path",
            ),
            (
                &[("promote-kubeconfig", "x")],
                "bumpwright.dev/promote-kubeconfig says nothing without bumpwright.dev/promote-from",
            ),
            (
                &[("promote-from", "staging")],
                "bumpwright.dev/promote-from: \"staging\" is not Kustomization/NAMESPACE/NAME",
            ),
            (
                &[("promote-from", "Kustomization/staging")],
                "bumpwright.dev/promote-from: \"Kustomization/staging\" is not Kustomization/NAMESPACE/NAME",
            ),
            (
                &[("promote-from", "HelmRelease/fs/staging")],
                "bumpwright.dev/promote-from: \"HelmRelease/fs/staging\" is not Kustomization/NAMESPACE/NAME",
            ),
            (
                &[("promote-from", "Kustomization/fs/..")],
                "bumpwright.dev/promote-from: \"Kustomization/fs/..\" is not Kustomization/NAMESPACE/NAME",
            ),
            (
                &[("promote-from", "Kustomization//staging")],
                "bumpwright.dev/promote-from: \"Kustomization//staging\" is not Kustomization/NAMESPACE/NAME",
            ),
            (
                &[from, ("soak", "1d")],
                "bumpwright.dev/soak: \"1d\" is not a duration such as 24h or 1h30m",
            ),
            (
                &[from, ("soak", "-1h")],
                "bumpwright.dev/soak: \"-1h\" is not a duration such as 24h or 1h30m",
            ),
            (
                &[from, ("promote-kubeconfig", "a/b")],
                "bumpwright.dev/promote-kubeconfig: \"a/b\" is not the name of a Secret",
            ),
            (
                &[from, ("promote-kubeconfig", "")],
                "bumpwright.dev/promote-kubeconfig: \"\" is not the name of a Secret",
            ),
        ] {
            let error = Promotion::read(ours).unwrap_err().to_string();
            assert_eq!(error, format!("annotation {expected}"), "{ours:?}");
        }
    }

    #[test]
    fn the_annotations_are_those_that_are_read() {
        let keys = [FROM, KUBECONFIG].map(|key| format!("{ANNOTATION_PREFIX}{key}"));
        assert_eq!(keys, PROMOTION_ANNOTATIONS);
    }
}
