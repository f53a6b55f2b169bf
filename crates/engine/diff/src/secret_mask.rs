//! Masking of values of Secrets in differences and messages.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::fields::{Field, HIDDEN};
use bumpwright_gostd::quote;

/// Longer values, in bytes, are searched by their beginning, and everything after it is hidden, too.
const LONG: usize = 4096;
const BEGINNING: usize = 64;

/// Objects whose values are hidden, and texts that are hidden everywhere. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretMask(Arc<Hidden>);

#[derive(Default, PartialEq, Eq)]
struct Hidden {
    /// Group, kind and name of objects.
    objects: BTreeSet<[String; 3]>,
    /// Texts, the longest first: one may be a part of another.
    texts: Vec<String>,
}

impl fmt::Debug for SecretMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretMask")
    }
}

impl SecretMask {
    /// Hides the values of objects, and texts, which are also recognised in quotes.
    #[must_use]
    pub fn new(objects: BTreeSet<[String; 3]>, texts: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = Vec::new();
        for text in texts {
            let quoted = quote(&text);
            let inside = quoted.trim_start_matches('"').trim_end_matches('"');
            if inside != text.as_str() {
                secrets.push(inside.to_owned());
            }
            secrets.push(text);
        }
        secrets.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self(Arc::new(Hidden {
            objects,
            texts: secrets,
        }))
    }

    /// A message with hidden texts replaced.
    #[must_use]
    pub fn hide(&self, message: &str) -> String {
        let mut shown = message.to_owned();
        for text in &self.0.texts {
            let (sought, is_long) = if text.len() > LONG {
                (text.get(..text.floor_char_boundary(BEGINNING)).unwrap_or(text), true)
            } else {
                (text.as_str(), false)
            };
            if !shown.contains(sought) {
                continue;
            }
            shown = match shown.split_once(sought).filter(|_| is_long) {
                Some((before, _)) => format!("{before}{HIDDEN}"),
                None => shown.replace(sought, HIDDEN),
            };
        }
        shown
    }

    /// Hides the values of an object's fields: all of a hidden object, else both values of a field if either has a
    /// hidden text, since the other may have been one at another time.
    pub fn hide_fields(&self, (group, kind, name): (&str, &str, &str), fields: &mut [Field]) {
        let object = [group, kind, name].map(str::to_owned);
        let is_hidden = self.0.objects.contains(&object);
        let holds = |value: &Option<String>| value.as_ref().is_some_and(|value| self.hide(value) != *value);
        for field in fields {
            if is_hidden || holds(&field.old) || holds(&field.new) {
                for value in [&mut field.old, &mut field.new].into_iter().flatten() {
                    HIDDEN.clone_into(value);
                }
                field.path = self.hide(&field.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask() -> SecretMask {
        let texts = ["s3cret", "s3cret-and-more", "two\nlines"];
        let texts = texts.map(str::to_owned);
        let object = ["", "ConfigMap", "app"].map(str::to_owned);
        SecretMask::new(BTreeSet::from([object]), texts)
    }

    fn field(old: &str, new: &str) -> Field {
        Field {
            path: "data.x".to_owned(),
            old: Some(old.to_owned()),
            new: Some(new.to_owned()),
        }
    }

    #[test]
    fn values_are_hidden_wherever_they_stand() {
        let mask = mask();
        for (message, shown) in [
            ("Invalid value: \"s3cret\"", "Invalid value: \"**\""),
            ("a s3cret-and-more b s3cret", "a ** b **"),
            ("Invalid value: \"two\\nlines\"", "Invalid value: \"**\""),
            ("nothing", "nothing"),
        ] {
            assert_eq!(mask.hide(message), shown);
        }
        assert_eq!(format!("{mask:?}"), "SecretMask");
    }

    #[test]
    fn a_long_value_hides_what_follows_it() {
        let long = "0123456789".repeat(1000);
        let mask = SecretMask::new(BTreeSet::new(), [long.clone()]);
        assert_eq!(mask.hide(&format!("got {long} and {long}")), "got **");
    }

    #[test]
    fn of_an_object_with_such_a_value_no_value_is_told() {
        let mask = mask();
        let mut fields = vec![field("\"the one before\"", "\"x\""), field("1", "2")];
        mask.hide_fields(("", "ConfigMap", "app"), &mut fields);
        assert!(
            fields
                .iter()
                .all(|field| field.old.as_deref() == Some(HIDDEN) && field.new.as_deref() == Some(HIDDEN))
        );
        let mut fields = vec![field("1", "2"), field("1", "\"s3cret\"")];
        mask.hide_fields(("", "ConfigMap", "other"), &mut fields);
        assert_eq!(fields, [field("1", "2"), field(HIDDEN, HIDDEN)]);
    }
}
