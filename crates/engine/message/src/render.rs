//! Renders a message from its template and data.

use super::{data::Data, hint::hint, read::EXAMPLE, template_data::template_data};
use bumpwright_sprig as sprig;
use bumpwright_template::{Functions, Host, Limits, Place, Template, World};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use thiserror::Error;

/// The name of the template in Go's errors, as in image-automation-controller.
const NAME: &str = "commit message";

static FUNCTIONS: LazyLock<Functions> = LazyLock::new(|| Functions::new(sprig::TABLES));

/// The message without a template (IUA-045).
pub const DEFAULT_MESSAGE: &str = "Update from image update automation";

/// Greatest size of a template in bytes, more than a Kubernetes object can hold.
const MAX_TEMPLATE: usize = 1 << 20;

/// An error of rendering, with Flux's message (IUA-063).
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{text}")]
pub struct MessageError {
    text: String,
    place: Place,
    hint: Option<String>,
}

impl MessageError {
    /// The place in the template, with the column in characters.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// A hint at what was probably meant.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Renders a template; [`DEFAULT_MESSAGE`] for an empty one. The result is not trimmed, and may be empty.
///
/// # Errors
/// [`MessageError`] when the text is not a template, does not match the data, fails, or exceeds `limits`.
pub fn render(template: &str, data: &Data, limits: Limits, world: &dyn World) -> Result<Vec<u8>, MessageError> {
    if template.is_empty() {
        return Ok(DEFAULT_MESSAGE.into());
    }
    let parsed = parse(template)?;
    execute(&parsed, template, data, limits, world).map_err(not_run)
}

/// Checks that a text is a template, and that the fields which it names exist: it is rendered for [`EXAMPLE`]. What
/// else may go wrong depends on the bump, and is not looked for.
///
/// # Errors
/// [`MessageError`] when it is not a template, or names a field or function that does not exist.
pub fn check(template: &str, values: Option<&BTreeMap<String, String>>, world: &dyn World) -> Result<(), MessageError> {
    let parsed = parse(template)?;
    let data = Data {
        values: values.cloned(),
        ..EXAMPLE.clone()
    };
    match execute(&parsed, template, &data, Limits::default(), world) {
        Err(error) if error.missing.is_some() => Err(not_run(error)),
        _ => Ok(()),
    }
}

fn execute(
    parsed: &Template,
    template: &str,
    data: &Data,
    limits: Limits,
    world: &dyn World,
) -> Result<Vec<u8>, bumpwright_template::Error> {
    let mut host = Host::new(limits, world);
    parsed.execute(&template_data(data, template), &mut host)
}

fn not_run(error: bumpwright_template::Error) -> MessageError {
    failed("failed to run template from spec", error)
}

fn parse(template: &str) -> Result<Template, MessageError> {
    if template.len() > MAX_TEMPLATE {
        return Err(MessageError {
            text: format!("the template of the commit message has more than {MAX_TEMPLATE} bytes"),
            place: Place { line: 1, column: 1 },
            hint: None,
        });
    }
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
