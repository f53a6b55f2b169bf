//! The commit's message: what a run changed, told by a template.

use std::collections::{BTreeMap, HashSet};
use std::time::{SystemTime, UNIX_EPOCH};

use super::error::RunError;
use super::job::Edits;
use super::policies::Policies;
use crate::edit::Change;
use crate::message::{self, Data, Era, FieldChange, ImageChange, MessageError, ObjectIdentifier, ObjectName};
use crate::policy::{PolicyName, Reference, Validation};
use crate::template::{Limits, World};

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

/// What a run changed, as far as its message is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Changed<'a> {
    /// For whom.
    pub edits: &'a Edits,
    /// Which fields.
    pub changes: &'a [Change],
    /// `update.path`, joined: files are named relative to it (IUA-062).
    pub below: &'a str,
    /// The policies with their images.
    pub policies: &'a Policies,
}

/// The clock and the dice of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine;

impl World for Machine {
    fn now(&self) -> (i64, u32) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos())
    }

    fn random(&self, buffer: &mut [u8]) {
        if getrandom::fill(buffer).is_err() {
            // Keys from dice that do not fall would be worse than no process.
            std::process::abort();
        }
    }
}

impl CommitMessage {
    /// The message of a commit that holds these changes.
    ///
    /// # Errors
    ///
    /// When the template does not parse or does not fit (IUA-063); what was probably meant goes into `notes`.
    pub(super) fn render(&self, changed: &Changed<'_>, notes: &mut Vec<String>) -> Result<Vec<u8>, RunError> {
        // Text without actions is all there is in most automations: data for it would be made for nothing.
        if !self.template.contains("{{") && !self.template.is_empty() {
            return Ok(self.template.clone().into_bytes());
        }
        let mut data = data(changed);
        data.values.clone_from(&self.values);
        data.era = self.era;
        message::render(&self.template, &data, Limits::default(), &Machine).map_err(|source| {
            notes.push(explained(&source));
            RunError::Message(source)
        })
    }

    /// A template that does not parse would fail the next run that has something to commit.
    pub(super) fn check(&self, notes: &mut Vec<String>) {
        if let Err(error) = message::check(&self.template) {
            notes.push(format!("the next commit will fail: {error}"));
            notes.push(explained(&error));
        }
    }
}

/// Where in the template an error is, and what was probably meant.
fn explained(error: &MessageError) -> String {
    let place = error.place();
    let hint = error.hint().map(|hint| format!(": {hint}")).unwrap_or_default();
    format!("message template, line {}, column {}{hint}", place.line, place.column)
}

/// The data of the template: changes in the order of files and lines.
fn data(changed: &Changed<'_>) -> Data {
    let automation = changed.edits.automation.as_deref().unwrap_or_default();
    let (namespace, name) = automation.split_once('/').unwrap_or(("", automation));
    let mut data = Data {
        automation: ObjectName {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        },
        ..Data::default()
    };
    let mut seen = HashSet::new();
    for change in changed.changes {
        let file = relative(&change.path, changed.below);
        let object = identifier(change);
        if seen.insert((file, &change.object, &change.policy)) {
            data.images
                .extend(image(changed.policies, &change.policy, file, &object));
        }
        data.changes.push(FieldChange {
            file: file.to_owned(),
            object,
            old: change.old.clone(),
            new: change.new.clone(),
            setter: change.setter.to_string(),
        });
    }
    data
}

/// The whole image that a policy set in an object, also when a marker took only its tag.
fn image(policies: &Policies, policy: &PolicyName, file: &str, object: &ObjectIdentifier) -> Option<ImageChange> {
    let image = policies.image(policy)?;
    Some(ImageChange {
        file: file.to_owned(),
        object: object.clone(),
        image: Reference::parse(&image.to_string(), Validation::Weak).ok()?,
        policy: ObjectName {
            namespace: policy.namespace.clone(),
            name: policy.name.clone(),
        },
    })
}

fn identifier(change: &Change) -> ObjectIdentifier {
    let object = &change.object;
    ObjectIdentifier {
        api_version: object.api_version.clone(),
        kind: object.kind.clone(),
        name: object.name.clone(),
        namespace: object.namespace.clone(),
    }
}

/// A path below `update.path`; the file's own name when that is the file itself.
fn relative<'a>(path: &'a str, below: &str) -> &'a str {
    match path.strip_prefix(below) {
        Some("") => path.rsplit_once('/').map_or(path, |(_, name)| name),
        Some(rest) if below.is_empty() => rest,
        Some(rest) => rest.strip_prefix('/').unwrap_or(path),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::relative;

    /// IUA-062.
    #[test]
    fn files_are_named_relative_to_the_update_path() {
        for (path, below, expected) in [
            ("apps/a.yaml", "", "apps/a.yaml"),
            ("apps/a.yaml", "apps", "a.yaml"),
            ("apps/a.yaml", "apps/a.yaml", "a.yaml"),
            ("apps-b/a.yaml", "apps", "apps-b/a.yaml"),
        ] {
            assert_eq!(relative(path, below), expected);
        }
    }
}
