//! A message from its template and its data.

use super::{data::Data, hint::hint, template_data::template_data};
use bumpwright_sprig as sprig;
use bumpwright_template::{Functions, Host, Limits, Place, Template, World};
use std::sync::LazyLock;
use thiserror::Error;

/// What Go's errors call the template, as in image-automation-controller.
const NAME: &str = "commit message";

static FUNCTIONS: LazyLock<Functions> = LazyLock::new(|| Functions::new(sprig::TABLES));

/// The message when there is no template (IUA-045).
pub const DEFAULT_MESSAGE: &str = "Update from image update automation";

/// More than a Kubernetes object can hold, in bytes.
const MOST_TEMPLATE: usize = 1 << 20;

/// Why there is no message, in Flux' words (IUA-063).
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{text}")]
pub struct MessageError {
    text: String,
    place: Place,
    hint: Option<String>,
}

impl MessageError {
    /// Where in the template, line and column in characters.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// What was probably meant, in a sentence, when that can be told.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Renders a template; an empty one stands for [`DEFAULT_MESSAGE`]. The result is verbatim: nothing is trimmed, and it may
/// be empty.
///
/// # Errors
/// [`MessageError`] when the text is no template, does not fit the data, fails by itself, or uses up what `limits` allow.
pub fn render(template: &str, data: &Data, limits: Limits, world: &dyn World) -> Result<Vec<u8>, MessageError> {
    if template.is_empty() {
        return Ok(DEFAULT_MESSAGE.into());
    }
    if template.len() > MOST_TEMPLATE {
        return Err(MessageError {
            text: format!("the template of the commit message has more than {MOST_TEMPLATE} bytes"),
            place: Place { line: 1, column: 1 },
            hint: None,
        });
    }
    let parsed = parse(template)?;
    let mut host = Host::new(limits, world);
    parsed
        .execute(&template_data(data, template), &mut host)
        .map_err(|error| failed("failed to run template from spec", error))
}

/// Looks whether a text is a template at all.
///
/// # Errors
/// [`MessageError`] when it is not.
pub fn check(template: &str) -> Result<(), MessageError> {
    parse(template).map(drop)
}

fn parse(template: &str) -> Result<Template, MessageError> {
    Template::parse(NAME, template, &FUNCTIONS)
        .map_err(|error| failed("unable to create commit message template from spec", error))
}

fn failed(action: &str, error: bumpwright_template::Error) -> MessageError {
    MessageError {
        text: format!("{action}: {error}"),
        place: error.place,
        hint: error.missing.as_deref().and_then(hint),
    }
}
