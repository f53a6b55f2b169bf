//! Reflection of the digest of a policy's image (`spec.digestReflectionPolicy`).

use thiserror::Error;

use super::image::LatestRef;
use bumpwright_gostd::Duration;

/// When the digest of the chosen tag is looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DigestReflection {
    #[default]
    Never,
    /// Once for each choice.
    IfNotPresent,
    Always,
}

/// The source of a choice's digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DigestSource {
    /// The policy does not reflect digests.
    Absent,
    Known(String),
    /// It has to be fetched from the registry.
    Registry,
}

/// Invalid settings of digest reflection.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidReflection {
    /// An unknown value, which Kubernetes would refuse.
    #[error(
        "spec.digestReflectionPolicy: Unsupported value: \"{0}\": supported values: \"Always\", \"IfNotPresent\", \"Never\""
    )]
    Unknown(String),
    /// `Always` requires an interval (`Stalled`, `IntervalNotConfigured`).
    #[error("spec.interval must be set when spec.digestReflectionPolicy is set to 'Always'")]
    NoInterval,
    /// Only `Always` has an interval.
    #[error("spec.interval is only accepted when spec.digestReflectionPolicy is set to 'Always'")]
    NeedlessInterval,
}

impl DigestReflection {
    /// Parses the value and its interval; `Never` without a value. Returns the interval of look-ups, if any: that of
    /// `spec.interval`, or ten minutes when that is zero.
    ///
    /// # Errors
    /// [`InvalidReflection`] for an unknown value, or an interval that is missing or not accepted.
    pub fn read(name: Option<&str>, interval: Option<Duration>) -> Result<(Self, Option<Duration>), InvalidReflection> {
        const TEN_MINUTES: Duration = Duration(600 * Duration::SECOND.0);
        let policy = match name {
            None | Some("" | "Never") => Self::Never,
            Some("IfNotPresent") => Self::IfNotPresent,
            Some("Always") => Self::Always,
            Some(other) => return Err(InvalidReflection::Unknown(other.to_owned())),
        };
        match (policy, interval) {
            (Self::Always, None) => Err(InvalidReflection::NoInterval),
            (Self::Always, Some(Duration(0))) => Ok((policy, Some(TEN_MINUTES))),
            (Self::Always, Some(_)) | (_, None) => Ok((policy, interval)),
            (_, Some(_)) => Err(InvalidReflection::NeedlessInterval),
        }
    }

    /// The source of this choice's digest; `before` is the policy's last image.
    pub fn source(self, name: &str, tag: &str, before: Option<&LatestRef>) -> DigestSource {
        let same = before.filter(|before| before.name == name && before.tag == tag);
        let known = same
            .and_then(|same| same.digest.as_ref())
            .filter(|digest| !digest.is_empty());
        match (self, known) {
            (Self::Never, _) => DigestSource::Absent,
            (Self::IfNotPresent, Some(digest)) => DigestSource::Known(digest.clone()),
            (Self::IfNotPresent, None) | (Self::Always, _) => DigestSource::Registry,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_kept_for_the_same_image_only() {
        let before = LatestRef {
            name: "app".to_owned(),
            tag: "v1".to_owned(),
            digest: Some("sha256:1".to_owned()),
        };
        let known = || DigestSource::Known("sha256:1".to_owned());
        for (policy, name, tag, expected) in [
            (DigestReflection::Never, "app", "v1", DigestSource::Absent),
            (DigestReflection::IfNotPresent, "app", "v1", known()),
            (DigestReflection::IfNotPresent, "app", "v2", DigestSource::Registry),
            (DigestReflection::IfNotPresent, "other", "v1", DigestSource::Registry),
            (DigestReflection::Always, "app", "v1", DigestSource::Registry),
        ] {
            assert_eq!(
                policy.source(name, tag, Some(&before)),
                expected,
                "{policy:?} {name}:{tag}"
            );
        }
        assert_eq!(
            DigestReflection::IfNotPresent.source("app", "v1", None),
            DigestSource::Registry
        );
    }

    #[test]
    fn an_interval_belongs_to_always() {
        let minute = Some(Duration(60 * Duration::SECOND.0));
        let said = |name, interval| match DigestReflection::read(name, interval) {
            Ok((_, interval)) => interval.map_or("never".to_owned(), |interval| interval.to_string()),
            Err(error) => error.to_string(),
        };
        for (name, interval, expected) in [
            (None, None, "never"),
            (Some("IfNotPresent"), None, "never"),
            (Some("Always"), minute, "1m0s"),
            (Some("Always"), Some(Duration(0)), "10m0s"),
            (
                Some("Always"),
                None,
                "spec.interval must be set when spec.digestReflectionPolicy is set to 'Always'",
            ),
            (
                None,
                minute,
                "spec.interval is only accepted when spec.digestReflectionPolicy is set to 'Always'",
            ),
        ] {
            assert_eq!(said(name, interval), expected, "{name:?}");
        }
        assert!(said(Some("always"), None).contains("Unsupported value: \"always\""));
    }
}
