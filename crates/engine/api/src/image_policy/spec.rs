//! `ImagePolicy` of `image.toolkit.fluxcd.io` (v1beta1, v1beta2, v1).

use serde::Deserialize;

use super::consent::Consent;
use super::latest_image::{InvalidLatestImage, parse_latest_image};
use crate::object::annotations::check_annotation_keys;
use crate::object::duration::GoDuration;
use crate::object::field_places::FieldPlaces;
use crate::object::meta::ObjectName;
use crate::object::meta::{Condition, Metadata};
use bumpwright_gostd::Duration;
use bumpwright_policy::{
    DigestReflection, FilterSpec, Guards, InvalidAnnotation, InvalidPolicy, InvalidReflection, LatestRef, PolicyName,
    RuleSpec,
};

/// A policy and its latest image.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ImagePolicy {
    /// Name, namespace, labels, annotations.
    pub metadata: Metadata,
    /// The rules of the choice; absent in a manifest that only carries a status.
    #[serde(default)]
    pub spec: Option<ImagePolicySpec>,
    /// The image that was chosen.
    #[serde(default)]
    pub status: Option<ImagePolicyStatus>,
    /// Where its manifest has the fields of the choice, if it was read from one.
    #[serde(skip)]
    pub places: FieldPlaces,
}

/// The fields that a choice is compiled from, as JSON pointers.
const CHOICE: &str = "/spec/policy";
const RANGE: &str = "/spec/policy/semver/range";
const PATTERN: &str = "/spec/filterTags/pattern";
const EXTRACT: &str = "/spec/filterTags/extract";

/// The rules of the choice, with the fields of all versions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImagePolicySpec {
    /// The repository whose tags are compared.
    pub image_repository_ref: Option<ImageRepositoryRef>,
    pub policy: Option<ImagePolicyChoice>,
    /// Which tags are compared.
    pub filter_tags: Option<FilterTags>,
    /// `Never` (default), `IfNotPresent` or `Always`.
    pub digest_reflection_policy: Option<String>,
    /// How often the digest is looked up when it is reflected `Always`.
    pub interval: Option<GoDuration>,
    /// Whether the policy is suspended.
    #[serde(default)]
    pub suspend: bool,
}

/// Reference to an `ImageRepository`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ImageRepositoryRef {
    pub name: String,
    /// Its namespace; the policy's when absent.
    pub namespace: Option<String>,
}

/// The rule: one of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ImagePolicyChoice {
    pub semver: Option<SemverPolicy>,
    pub alphabetical: Option<AlphabeticalPolicy>,
    pub numerical: Option<NumericalPolicy>,
}

/// `spec.policy.semver`: the highest version in a range.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SemverPolicy {
    /// Masterminds' range of versions.
    pub range: String,
}

/// `spec.policy.alphabetical`: the first or the last in the alphabet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct AlphabeticalPolicy {
    /// `asc` (default) takes the last in order, `desc` the first.
    pub order: Option<String>,
}

/// `spec.policy.numerical`: the lowest or the highest number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct NumericalPolicy {
    /// `asc` (default) takes the largest, `desc` the smallest.
    pub order: Option<String>,
}

/// Which tags are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct FilterTags {
    /// RE2 pattern that a tag must match.
    #[serde(default)]
    pub pattern: String,
    /// The part of the match that is compared.
    #[serde(default)]
    pub extract: String,
}

/// The image that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImagePolicyStatus {
    /// The image (v1, late v1beta2).
    pub latest_ref: Option<StatusRef>,
    /// The image in one string (v1beta1, v1beta2).
    pub latest_image: Option<String>,
    /// The image before (v1).
    pub observed_previous_ref: Option<StatusRef>,
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// An image in a status (`ImageRef`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct StatusRef {
    /// The image's name; the v1 document's own example calls it `image`.
    #[serde(alias = "image")]
    pub name: String,
    pub tag: String,
    /// The digest, when it is reflected.
    #[serde(default)]
    pub digest: String,
}

impl ImagePolicy {
    /// The fields of a policy whose places are kept.
    pub(crate) const PLACED: &[&str] = &[CHOICE, RANGE, PATTERN, EXTRACT];

    /// The policy's name as markers spell it.
    #[must_use]
    pub fn policy_name(&self) -> PolicyName {
        PolicyName::new(self.metadata.namespace_or_default(), &self.metadata.name)
    }

    /// The image repository whose tags it compares; `None` in a manifest that only carries a status.
    #[must_use]
    pub fn repository(&self) -> Option<ObjectName> {
        let reference = self.spec.as_ref()?.image_repository_ref.as_ref()?;
        let own = self.metadata.namespace_or_default();
        let namespace = reference.namespace.as_deref();
        Some(ObjectName::referred_from(own, namespace, &reference.name))
    }

    /// The rule and the filter, ready to choose with.
    ///
    /// # Errors
    /// When one of them is not valid, with the controller's message, or the filter extracts what says nothing.
    pub fn chooser(&self) -> Result<bumpwright_policy::ImagePolicy, InvalidPolicy> {
        let spec = self.spec.as_ref();
        let rule = spec.and_then(|spec| spec.policy.as_ref()).map(RuleSpec::from);
        let filter = spec.and_then(|spec| spec.filter_tags.as_ref()).map(FilterSpec::from);
        let policy = bumpwright_policy::ImagePolicy::new(&rule.unwrap_or_default(), filter.as_ref())?;
        policy.or_charts().checked()
    }

    /// Why [`ImagePolicy::chooser`] has none, and the JSON pointer of the field that is not valid.
    #[must_use]
    pub fn invalid(&self) -> Option<(&'static str, InvalidPolicy)> {
        let error = self.chooser().err()?;
        Some((self.field_of(&error), error))
    }

    /// The place of the field that an error of [`ImagePolicy::chooser`] is about, if the policy was
    /// read from a manifest.
    #[must_use]
    pub fn place_of(&self, error: &InvalidPolicy) -> Option<&str> {
        self.places.of(self.field_of(error))
    }

    fn field_of(&self, error: &InvalidPolicy) -> &'static str {
        let choice = self.spec.as_ref().and_then(|spec| spec.policy.as_ref());
        match error {
            InvalidPolicy::Rule(_) if choice.is_some_and(|choice| choice.semver.is_some()) => RANGE,
            InvalidPolicy::Rule(_) => CHOICE,
            InvalidPolicy::Filter(_) => PATTERN,
            InvalidPolicy::Extract(_) => EXTRACT,
        }
    }

    /// Whether the digest is reflected in the status, and how often it is looked up again.
    ///
    /// # Errors
    /// When the fields contradict each other, with the controller's message.
    pub fn digest_reflection(&self) -> Result<(DigestReflection, Option<Duration>), InvalidReflection> {
        let spec = self.spec.as_ref();
        let interval = spec
            .and_then(|spec| spec.interval)
            .map(|interval| Duration(interval.nanoseconds()));
        DigestReflection::read(spec.and_then(|spec| spec.digest_reflection_policy.as_deref()), interval)
    }

    /// The guards of its annotations.
    ///
    /// # Errors
    /// [`InvalidAnnotation`] for one of ours that does not parse or is unknown.
    pub fn guards(&self) -> Result<Guards, InvalidAnnotation> {
        check_annotation_keys("ImagePolicy", &self.metadata.annotations)?;
        self.consent()?;
        let annotations = self.metadata.annotations.iter();
        Guards::read(annotations.map(|(key, value)| (key.as_str(), value.as_str())))
    }

    /// Which automations of other namespaces may use the policy.
    ///
    /// # Errors
    /// [`InvalidAnnotation`] when that does not parse.
    pub fn consent(&self) -> Result<Consent, InvalidAnnotation> {
        Consent::read(&self.metadata.annotations)
    }

    /// The image that the policy chose; `None` when it has not chosen one. `latestRef` wins over `latestImage`
    /// (docs/decisions.md C36).
    ///
    /// # Errors
    /// When only `latestImage` is set and does not parse.
    pub fn latest_ref(&self) -> Result<Option<LatestRef>, InvalidLatestImage> {
        let Some(status) = &self.status else { return Ok(None) };
        if let Some(latest) = &status.latest_ref {
            return Ok(Some(LatestRef {
                name: latest.name.clone(),
                tag: latest.tag.clone(),
                digest: Some(latest.digest.clone()).filter(|digest| !digest.is_empty()),
            }));
        }
        match status.latest_image.as_deref() {
            None | Some("") => Ok(None),
            Some(text) => parse_latest_image(text).map(Some),
        }
    }
}

impl From<&ImagePolicyChoice> for RuleSpec {
    fn from(choice: &ImagePolicyChoice) -> Self {
        let order = |order: &Option<String>| order.clone().unwrap_or_default();
        Self {
            semver: choice.semver.as_ref().map(|rule| rule.range.clone()),
            alphabetical: choice.alphabetical.as_ref().map(|rule| order(&rule.order)),
            numerical: choice.numerical.as_ref().map(|rule| order(&rule.order)),
        }
    }
}

impl From<&FilterTags> for FilterSpec {
    fn from(filter: &FilterTags) -> Self {
        Self {
            pattern: filter.pattern.clone(),
            extract: filter.extract.clone(),
        }
    }
}
