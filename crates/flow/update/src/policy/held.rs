//! The values that a repository's fields hold for a policy: they replace the status, which a policy
//! has in clusters only.

use std::collections::BTreeMap;

use bumpwright_edit::{Part, Setter, tag_and_digest};
use bumpwright_policy::{LatestRef, PolicyName};

/// The images that fields hold, by policy.
#[derive(Debug, Default)]
pub struct Held<'a> {
    fields: BTreeMap<&'a PolicyName, Fields<'a>>,
}

#[derive(Debug, Default)]
struct Fields<'a> {
    name: Agreed<'a>,
    tag: Agreed<'a>,
    digest: Agreed<'a>,
}

/// The combined value of all fields.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Agreed<'a> {
    #[default]
    Unsaid,
    On(&'a str),
    Not,
}

impl<'a> Held<'a> {
    /// Adds the value of one field.
    pub fn add(&mut self, setter: &'a Setter, value: &'a str) {
        let fields = self.fields.entry(&setter.policy).or_default();
        match setter.part {
            Part::Reference => {
                let (name, tag, digest) = LatestRef::split(value);
                fields.name.say(name);
                fields.tag.say(tag.unwrap_or_default());
                fields.digest.say(digest.unwrap_or_default());
            }
            Part::Name => fields.name.say(value),
            Part::Tag | Part::TagDigest => {
                let (tag, digest) = tag_and_digest(value);
                fields.tag.say(tag);
                digest.into_iter().for_each(|digest| fields.digest.say(digest));
            }
            Part::Digest => fields.digest.say(value),
        }
    }

    /// The image with its digest that all fields of a policy hold; none when they differ or no digest is among them.
    /// `name` is the image's name where no field has one.
    #[must_use]
    pub fn image(&self, policy: &PolicyName, name: &str) -> Option<LatestRef> {
        let fields = self.fields.get(policy)?;
        let name = match fields.name {
            Agreed::Unsaid => name,
            said => said.text()?,
        };
        Some(LatestRef {
            name: name.to_owned(),
            tag: fields.tag.text()?.to_owned(),
            digest: Some(fields.digest.text()?.to_owned()),
        })
    }
}

impl<'a> Agreed<'a> {
    fn say(&mut self, text: &'a str) {
        *self = match *self {
            _ if text.is_empty() => Self::Not,
            Self::Unsaid => Self::On(text),
            Self::On(other) if other == text => Self::On(text),
            _ => Self::Not,
        };
    }

    fn text(self) -> Option<&'a str> {
        match self {
            Self::On(text) => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(fields: &[(Part, &str)]) -> Option<String> {
        let policy = PolicyName::new("fs", "app");
        let setters: Vec<(Setter, &str)> = fields
            .iter()
            .map(|(part, value)| {
                let setter = Setter {
                    policy: policy.clone(),
                    part: *part,
                };
                (setter, *value)
            })
            .collect();
        let mut held = Held::default();
        for (setter, value) in &setters {
            held.add(setter, value);
        }
        held.image(&policy, "o/app").map(|image| image.to_string())
    }

    #[test]
    fn fields_that_agree_are_remembered() {
        use Part::{Digest, Name, Reference, Tag, TagDigest};
        let whole = "o/app:1@sha256:a";
        assert_eq!(image(&[(Reference, whole), (Reference, whole)]).as_deref(), Some(whole));
        assert_eq!(image(&[(Tag, "1"), (Digest, "sha256:a")]).as_deref(), Some(whole));
        assert_eq!(image(&[(Tag, "1@sha256:a")]).as_deref(), Some(whole));
        assert_eq!(image(&[(TagDigest, "1@sha256:a"), (Tag, "1")]).as_deref(), Some(whole));
        assert_eq!(
            image(&[(Name, "x/app"), (Tag, "1"), (Digest, "sha256:a")]).as_deref(),
            Some("x/app:1@sha256:a")
        );
        for differ in [
            &[(Reference, whole), (Reference, "o/app:1")][..],
            &[(Reference, whole), (Tag, "2")],
            &[(Reference, whole), (Digest, "")],
            &[(Tag, "1")],
            &[],
        ] {
            assert_eq!(image(differ), None, "{differ:?}");
        }
    }
}
