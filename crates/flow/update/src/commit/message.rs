//! The commit message: a template rendered over the changes of a run.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::error::RunError;
use crate::plan::bumps::{self, bumps};
use crate::policy::policies::Policies;
use crate::report::edited::Edited;
use bumpwright_api::ImageUpdateAutomation;
use bumpwright_edit::DocumentId;
use bumpwright_gostd::Time;
use bumpwright_message::{
    self as message, Data, DataBuilder, Era, FieldChange, MessageError, ObjectIdentifier, ObjectName,
};
use bumpwright_template::{Limits, World};
use bumpwright_text::between;

/// How a run's commits are to be described.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitMessage {
    /// Go template; text without actions stands for itself (IUA-046), an empty one for the built-in message (IUA-045).
    pub template: String,
    /// `.Values` (N-018).
    pub values: Option<BTreeMap<String, String>>,
    /// The version of the API that the template was written for.
    pub era: Era,
}

/// The data of a message.
#[derive(Clone, Copy, Debug)]
pub struct Changed<'a> {
    /// `namespace/name` of the automation; none for a plain run.
    pub automation: Option<&'a str>,
    /// `update.path`, joined: files are named relative to it (IUA-062).
    pub below: &'a str,
    /// The policies with their images.
    pub policies: &'a Policies,
    pub edited: Edited<'a>,
}

/// The clock and the random generator of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine;

impl World for Machine {
    fn now(&self) -> (i64, u32) {
        let now = Time::from(SystemTime::now());
        (now.unix_seconds(), now.nanoseconds)
    }

    fn random(&self, buffer: &mut [u8]) {
        if getrandom::fill(buffer).is_err() {
            // Keys without randomness would be worse than an abort.
            std::process::abort();
        }
    }
}

impl CommitMessage {
    /// The message settings of an automation (IUA-044, IUA-045, N-018).
    #[must_use]
    pub fn of(automation: &ImageUpdateAutomation) -> Self {
        let commit = automation.spec.git.as_ref().map(|git| &git.commit);
        let template = commit.and_then(|commit| commit.message_template.clone());
        let values = commit.map(|commit| commit.message_template_values.clone());
        Self {
            template: template.unwrap_or_default(),
            values: values.filter(|values| !values.is_empty()),
            era: Era::of_api_version(&automation.api_version),
        }
    }

    /// Renders the message of a commit with these changes.
    ///
    /// # Errors
    ///
    /// When the template does not parse, or fails while it is rendered (IUA-063).
    pub(crate) fn render(&self, changed: &Changed<'_>) -> Result<Vec<u8>, RunError> {
        if self.is_literal() {
            return Ok(self.template.clone().into_bytes());
        }
        // One of an automation is that of Flux (IUA-045).
        if self.template.is_empty() && changed.automation.is_none() {
            let bumps = bumps(changed.edited.changes, changed.edited.images);
            return Ok(bumps::message(&bumps).into_bytes());
        }
        let mut data = data(changed);
        data.values.clone_from(&self.values);
        data.era = self.era;
        data.impact = changed.edited.impact.cloned().unwrap_or_default();
        let message = message::render(&self.template, &data, Limits::default(), &Machine).map_err(RunError::Message)?;
        if message.contains(&0) {
            // Git would truncate the message at a NUL byte, and many servers refuse such a commit.
            return Err(RunError::NulInMessage);
        }
        Ok(message)
    }

    /// Most messages are text without actions: those need neither parsing nor data.
    fn is_literal(&self) -> bool {
        !self.template.contains("{{") && !self.template.is_empty()
    }

    /// Checks the template before there is anything to commit: what cannot become a message is reported at once, not
    /// with the first bump.
    ///
    /// # Errors
    ///
    /// [`MessageError`] when it does not parse, or names a field that does not exist.
    pub fn check(&self) -> Result<(), MessageError> {
        if self.is_literal() || self.template.is_empty() {
            return Ok(());
        }
        message::check(&self.template, self.values.as_ref(), &Machine)
    }
}

/// The place of an error in the template, and what was probably meant.
#[must_use]
pub fn explained(error: &MessageError) -> String {
    let place = error.place();
    let hint = between(": ", error.hint(), "");
    format!("message template, line {}, column {}{hint}", place.line, place.column)
}

/// The data of the template: changes in the order of files and lines.
fn data(changed: &Changed<'_>) -> Data {
    let automation = changed.automation.unwrap_or_default();
    let mut builder = DataBuilder::new(ObjectName::split(automation), changed.below);
    for change in changed.edited.changes {
        let field = FieldChange {
            file: change.path.clone(),
            object: identifier(&change.object),
            old: change.old.clone(),
            new: change.new.clone(),
            setter: change.setter.to_string(),
        };
        builder.add(field, ObjectName::from(&change.policy), || {
            changed.policies.image(&change.policy)?.reference()
        });
    }
    builder.data()
}

/// An edited object as message templates name it.
#[must_use]
pub fn identifier(object: &DocumentId) -> ObjectIdentifier {
    ObjectIdentifier {
        api_version: object.api_version.clone(),
        kind: object.kind.clone(),
        name: object.name.clone(),
        namespace: object.namespace.clone(),
    }
}
