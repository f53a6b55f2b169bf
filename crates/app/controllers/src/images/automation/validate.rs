//! Validation of automations.

use serde::Deserialize as _;

use super::error::Error;
use bumpwright_api::{AutomationAnnotations, ImageUpdateAutomation, Strategy};
use bumpwright_kube::{IMAGE_UPDATE_AUTOMATION, Object};
use bumpwright_update::CommitMessage;

pub(super) struct Valid {
    pub(super) automation: ImageUpdateAutomation,
    pub(super) annotations: AutomationAnnotations,
}

pub(super) fn validate(object: &Object) -> Result<Valid, Error> {
    let automation: ImageUpdateAutomation =
        object
            .read(&IMAGE_UPDATE_AUTOMATION)
            .map_err(|error| match unknown_strategy(object) {
                Some(strategy) => Error::InvalidUpdateStrategy(strategy),
                None => Error::InvalidSpec(error.to_string()),
            })?;
    let annotations = AutomationAnnotations::read(&object.annotations)
        .map_err(|error| Error::InvalidAnnotation(error.to_string()))?;
    let message = annotations.follow.as_ref().and_then(|follow| follow.message.clone());
    let message = CommitMessage {
        template: message.unwrap_or_default(),
        ..CommitMessage::of(&automation)
    };
    message
        .check()
        .map_err(|error| Error::InvalidAnnotation(format!("annotation bumpwright.dev/revert-message: {error}")))?;
    if let Some(selector) = &automation.spec.policy_selector {
        selector
            .validate()
            .map_err(|error| Error::InvalidPolicySelector(error.to_string()))?;
    }
    if automation.spec.git.is_none() {
        let message = "source kind 'GitRepository' necessitates field .spec.git: invalid source configuration";
        return Err(Error::InvalidSourceConfiguration(message.to_owned()));
    }
    Ok(Valid {
        automation,
        annotations,
    })
}

/// An unknown strategy, which a definition of the kind other than ours may allow (N-022).
fn unknown_strategy(object: &Object) -> Option<String> {
    let spec = object.field("spec");
    let strategy = spec.pointer("/update/strategy")?;
    let is_known = Strategy::deserialize(strategy).is_ok();
    strategy.as_str().filter(|_| !is_known).map(str::to_owned)
}
