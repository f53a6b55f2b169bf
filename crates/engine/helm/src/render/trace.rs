//! Errors of templates in the form that Helm gives them.

use crate::error::HelmError;
use bumpwright_template::{Cause, Error, Failure, Stage, Text};
use bumpwright_text::Cuts;

/// Around the messages of `fail` and `required`.
const START: &str = "HELM_ERR_START";
const END: &str = "HELM_ERR_END";

/// The failure of `fail` and `required`.
pub(super) fn marked(message: &Text) -> Failure {
    Failure::new(format!("{START}{}{END}", message.lossy()))
}

/// A step of the way to the fault.
#[derive(PartialEq)]
struct Step {
    location: String,
    executing: String,
    message: String,
}

/// Helm's text for an error.
pub(super) fn exec_error(error: &Error) -> HelmError {
    let limit = error.stage == Stage::Limit;
    let mut text = message(error).unwrap_or_else(|| steps(error).unwrap_or_else(|| error.text.clone()));
    // The steps may end before the limit is named: Helm has none, and its stack overflows there.
    let reason = error.text.behind_last(": ");
    if limit && !text.contains(reason) {
        text.push_str("\n    ");
        text.push_str(reason);
    }
    HelmError::Template { text, limit }
}

/// The message of `fail` or `required`, with its place.
fn message(error: &Error) -> Option<String> {
    let mut parts = error.text.splitn(3, ": ");
    let (_, location, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (_, after) = rest.split_once(START)?;
    let (message, _) = after.rsplit_once(END)?;
    Some(format!("execution error at ({location}): {message}"))
}

/// The steps, one below the other; none when one of the errors on the way is not a template's.
fn steps(error: &Error) -> Option<String> {
    let mut steps: Vec<Step> = Vec::new();
    let mut current = Some(error);
    while let Some(error) = current {
        let step = step(&error.text)?;
        if steps.last() != Some(&step) {
            steps.push(step);
        }
        current = match &error.cause {
            None => None,
            Some(Cause::Function) => return None,
            Some(Cause::Template(inner)) => Some(inner),
        };
    }
    let mut text = String::new();
    for step in steps {
        for (part, after) in [
            (&step.location, "\n  "),
            (&step.executing, "\n    "),
            (&step.message, "\n"),
        ] {
            if !part.is_empty() {
                text.push_str(part);
                text.push_str(after);
            }
        }
    }
    Some(text.trim().to_owned())
}

/// The parts of an error's text.
fn step(text: &str) -> Option<Step> {
    let rest = text.strip_prefix("template: ")?;
    if rest.starts_with("no template ") {
        return Some(Step {
            location: String::new(),
            executing: String::new(),
            message: text.to_owned(),
        });
    }
    let first = |message: &str| message.before(" template:").to_owned();
    if let Some((location, after)) = rest.split_once(": executing ") {
        let (name, after) = after.strip_prefix('"')?.split_once('"')?;
        let (node, message) = after.strip_prefix(" at <")?.split_once(">: ")?;
        return Some(Step {
            location: location.to_owned(),
            executing: format!("executing \"{name}\" at <{node}>:"),
            message: first(message),
        });
    }
    let (location, message) = rest.rsplit_once(": ")?;
    Some(Step {
        location: location.to_owned(),
        executing: String::new(),
        message: first(message),
    })
}
