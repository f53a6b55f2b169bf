//! Builds the data of a message, change by change.

use super::data::{Data, FieldChange, ImageChange, ObjectIdentifier, ObjectName};
use bumpwright_policy::Reference;
use std::collections::HashSet;

/// A builder of [`Data`].
#[derive(Debug)]
pub struct DataBuilder<'a> {
    below: &'a str,
    data: Data,
    /// Images are listed once for each object and policy, however many fields have parts of them.
    seen: HashSet<(String, ObjectIdentifier, ObjectName)>,
}

impl<'a> DataBuilder<'a> {
    /// An empty builder for an automation whose `spec.update.path` is `below`, joined.
    #[must_use]
    pub fn new(automation: ObjectName, below: &'a str) -> Self {
        let data = Data {
            automation,
            ..Data::default()
        };
        Self {
            below,
            data,
            seen: HashSet::new(),
        }
    }

    /// Adds a change whose `file` is relative to the root of the repository. `image` returns the whole image of the
    /// policy, even if the field has only a part of it.
    pub fn add(&mut self, change: FieldChange, policy: ObjectName, image: impl FnOnce() -> Option<Reference>) {
        let file = relative(&change.file, self.below).to_owned();
        let change = FieldChange { file, ..change };
        let is_new = self
            .seen
            .insert((change.file.clone(), change.object.clone(), policy.clone()));
        if let Some(image) = is_new.then(image).flatten() {
            self.data.images.push(ImageChange {
                file: change.file.clone(),
                object: change.object.clone(),
                image,
                policy,
            });
        }
        self.data.changes.push(change);
    }

    #[must_use]
    pub fn data(self) -> Data {
        self.data
    }
}

/// A path relative to `spec.update.path`; the file's name when that is the file itself.
fn relative<'p>(path: &'p str, below: &str) -> &'p str {
    match path.strip_prefix(below) {
        Some("") => path.rsplit_once('/').map_or(path, |(_, name)| name),
        Some(rest) if below.is_empty() => rest,
        Some(rest) => rest.strip_prefix('/').unwrap_or(path),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use bumpwright_policy::Validation;

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

    #[test]
    fn an_image_is_listed_once_for_an_object_and_a_policy() {
        let mut builder = DataBuilder::new(ObjectName::split("fs/auto"), "apps");
        let image = || Some(Reference::parse("o/a:2", Validation::Weak).unwrap());
        for (file, name, policy) in [
            ("apps/a.yaml", "a", "fs/p"),
            ("apps/a.yaml", "a", "fs/p"),
            ("apps/a.yaml", "b", "fs/p"),
            ("apps/a.yaml", "a", "fs/q"),
        ] {
            let change = FieldChange {
                file: file.to_owned(),
                object: ObjectIdentifier {
                    name: name.to_owned(),
                    ..ObjectIdentifier::default()
                },
                old: String::new(),
                new: String::new(),
                setter: String::new(),
            };
            builder.add(change, ObjectName::split(policy), image);
        }
        let data = builder.data();
        let seen: Vec<_> = (data.images.iter())
            .map(|change| {
                (
                    change.file.as_str(),
                    change.object.name.as_str(),
                    change.policy.name.as_str(),
                )
            })
            .collect();
        assert_eq!(seen, [("a.yaml", "a", "p"), ("a.yaml", "b", "p"), ("a.yaml", "a", "q")]);
        assert_eq!(data.changes.len(), 4);
    }
}
