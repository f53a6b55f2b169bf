//! What a run knows of one policy: its image, or the reason why it has none.

use std::collections::BTreeMap;
use std::sync::Arc;

use bumpwright_api::{ImagePolicy, ImageRepository, ObjectName};
use bumpwright_edit::Reason;
use bumpwright_gostd::Time;
use bumpwright_policy::{self as policy, FailedVersions, Guards, InvalidImage, LatestRef, PolicyName, RuleSpec};

#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) image: ImageState,
    /// Reasons why no run with this policy may write anything.
    pub(crate) invalid: Option<InvalidImage>,
    pub(crate) labels: BTreeMap<String, String>,
    /// The guard against downgrades.
    pub(crate) downgrades: Option<Arc<Downgrades>>,
    /// The versions that failed in a cluster.
    pub(crate) failed: Arc<FailedVersions>,
}

#[derive(Clone, Debug)]
pub(crate) enum ImageState {
    Image(LatestRef),
    Nothing(Reason, String),
    /// A hold, or an unparsable annotation that may be one: `--set` does not override it.
    Closed(Reason, String),
    /// A registry has to be asked; without an image repository the status counts.
    Open(Arc<Open>),
}

#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) policy: Arc<ImagePolicy>,
    pub(crate) repository: ObjectName,
    pub(crate) status: Known,
}

#[derive(Debug)]
pub(crate) struct Downgrades {
    pub(crate) guards: Guards,
    pub(crate) policy: policy::ImagePolicy,
}

impl Known {
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.image, ImageState::Closed(..))
    }

    /// Returns the policy with the result of a registry, or of what else the repository is.
    pub(crate) fn answered(
        &self,
        name: &PolicyName,
        repository: &ImageRepository,
        answer: Result<LatestRef, Unresolved>,
    ) -> Self {
        let invalid = answer.as_ref().ok().and_then(|image| repository.check(image).err());
        let image = match (answer, &invalid) {
            (Ok(_), Some(invalid)) => {
                ImageState::Nothing(Reason::PolicyNotReady, format!("ImagePolicy {name}: {invalid}"))
            }
            (Ok(image), None) => ImageState::Image(image),
            (Err(why), _) => ImageState::Nothing(why.reason, why.message),
        };
        Self {
            image,
            invalid,
            labels: self.labels.clone(),
            downgrades: self.downgrades.clone(),
            failed: Arc::clone(&self.failed),
        }
    }
}

/// The image in a policy's status. Its age is unknown.
pub(crate) fn of_status(name: &PolicyName, policy: &ImagePolicy, guards: &Guards, now: &Time) -> Known {
    let not_ready = |message| ImageState::Nothing(Reason::PolicyNotReady, message);
    let mut invalid = None;
    let image = match policy.latest_ref() {
        Ok(Some(image)) => match (
            // What the repository is need not be known here; the controller that wrote it did.
            image.check_version(),
            guards
                .check_age(None, now)
                .and_then(|()| guards.check_without_cluster())
                .and_then(|()| guards.check_unasked()),
        ) {
            (Ok(()), Ok(())) => ImageState::Image(image),
            (Ok(()), Err(refusal)) => {
                ImageState::Nothing(Reason::from(&refusal), format!("ImagePolicy {name}: {refusal}"))
            }
            (Err(e), _) => {
                invalid = Some(e.clone());
                not_ready(format!("ImagePolicy {name}: {e}"))
            }
        },
        Ok(None) => not_ready(format!(
            "ImagePolicy {name} has no image yet: its status.latestRef is empty"
        )),
        Err(e) => not_ready(format!("ImagePolicy {name}: status.latestImage: {e}")),
    };
    Known {
        image,
        invalid,
        labels: policy.metadata.labels.clone(),
        downgrades: None,
        failed: Arc::default(),
    }
}

/// The rule by which tags are ordered where a policy has no usable one.
pub(crate) fn any_version() -> RuleSpec {
    RuleSpec {
        semver: Some("*".to_owned()),
        ..RuleSpec::default()
    }
}

/// The guard against downgrades, if the policy has one. A policy without a usable rule orders by version.
pub(crate) fn downgrades(policy: &ImagePolicy, guards: &Guards) -> Option<Arc<Downgrades>> {
    if !guards.refuses_downgrade && guards.minimum_age.is_none() {
        return None;
    }
    let chooser = policy
        .chooser()
        .or_else(|_| policy::ImagePolicy::new(&any_version(), None));
    Some(Arc::new(Downgrades {
        guards: guards.clone(),
        policy: chooser.ok()?,
    }))
}

/// The reason why a policy has no image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    pub reason: Reason,
    /// The policy or repository, the problem, and the way out.
    pub message: String,
}
