//! What is wrong with a value, in the words of the library that Helm uses.

use super::number::{Decimal, grouped};
use bumpwright_gostd::quote;
use bumpwright_text::pointer::escaped;
use serde_json::Value as Json;

/// The way to a value, from the last step to the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'p> {
    pub(super) above: Option<&'p Path<'p>>,
    pub(super) token: &'p str,
}

impl Path<'_> {
    pub(super) fn pointer(path: Option<&Path<'_>>) -> String {
        let mut tokens = Vec::new();
        let mut next = path;
        while let Some(path) = next {
            tokens.push(path.token);
            next = path.above;
        }
        tokens
            .iter()
            .rev()
            .map(|token| format!("/{}", escaped(token)))
            .collect()
    }
}

/// What a fault is, for its place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Fault,
    /// Several faults of one schema.
    Group,
    /// Those of a schema that is referred to: a line only when there are several.
    Reference,
}

/// A fault, and those that it comes from.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) place: String,
    /// The member of the value that it is about: the first one that is not allowed.
    pub(super) member: Option<String>,
    pub(super) what: String,
    pub(super) shape: Shape,
    pub(super) causes: Vec<Fault>,
}

impl Fault {
    /// The fault that takes the place of several; of one it is that one.
    pub(super) fn into_causes(self) -> Vec<Fault> {
        match self.shape {
            Shape::Group => self.causes,
            _ => vec![self],
        }
    }

    /// The JSON pointers of the values that are at fault, in the order of the text.
    pub(super) fn pointers(&self) -> Vec<String> {
        if self.causes.is_empty() {
            return vec![match &self.member {
                Some(member) => format!("{}/{}", self.place, escaped(member)),
                None => self.place.clone(),
            }];
        }
        self.causes.iter().flat_map(Self::pointers).collect()
    }

    /// A line for each fault, below that it comes from.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, 0);
        text
    }

    fn write(&self, text: &mut String, indent: usize) {
        let mut below = indent;
        if self.shape != Shape::Reference || self.causes.len() != 1 {
            if indent > 0 {
                text.push('\n');
                text.push_str(&"  ".repeat(indent - 1));
                text.push_str("- ");
                text.push_str(&format!("at {}: ", quoted(&self.place)));
            }
            text.push_str(&self.what);
            below += 1;
        }
        for cause in &self.causes {
            cause.write(text, below);
        }
    }
}

/// A text in single quotes.
pub(super) fn quoted(text: &str) -> String {
    let inner = quote(text).replace("\\\"", "\"").replace('\'', "\\'");
    let inner = inner
        .strip_prefix('"')
        .and_then(|inner| inner.strip_suffix('"'))
        .unwrap_or(&inner);
    format!("'{inner}'")
}

pub(super) fn all_quoted<T: AsRef<str>>(texts: &[T]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    texts.join(", ")
}

/// A scalar in a message.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => quoted(text),
        Json::Array(_) | Json::Object(_) => "value".to_owned(),
        Json::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

fn is_scalar(value: &Json) -> bool {
    !matches!(value, Json::Array(_) | Json::Object(_))
}

/// The message for a value that is not among those that a schema lists.
pub(super) fn of_choices(choices: &[Json]) -> String {
    let shown: Vec<String> = choices.iter().map(shown).collect();
    match &shown[..] {
        _ if !choices.iter().all(is_scalar) => "'enum' failed".to_owned(),
        [one] => format!("value must be {one}"),
        several => format!("value must be one of {}", several.join(", ")),
    }
}

pub(super) fn of_constant(constant: &Json) -> String {
    if is_scalar(constant) {
        format!("value must be {}", shown(constant))
    } else {
        "'const' failed".to_owned()
    }
}

/// The text for a count outside of its bound.
pub(super) fn of_count(keyword: &str, got: usize, want: i64) -> String {
    format!("{keyword}: got {}, want {}", count(got), grouped(&want.to_string()))
}

/// A count, with three digits in a group.
pub(super) fn count(number: usize) -> String {
    grouped(&number.to_string())
}

/// The text for a number outside of its bound.
pub(super) fn of_bound(keyword: &str, got: &Decimal, want: &Decimal) -> String {
    format!("{keyword}: got {}, want {}", got.text(), want.text())
}

pub(super) fn of_missing(missing: &[&str]) -> String {
    match missing {
        [one] => format!("missing property {}", quoted(one)),
        several => format!("missing properties {}", all_quoted(several)),
    }
}

pub(super) fn of_dependency(property: &str, missing: &[&str]) -> String {
    format!(
        "properties {} required, if {} exists",
        all_quoted(missing),
        quoted(property)
    )
}

/// The text for too few or too many items that match `contains`.
pub(super) fn of_contained(which: &str, want: i64, got: &[usize]) -> String {
    let want = grouped(&want.to_string());
    if got.is_empty() {
        return format!("{which} {want} items required to match contains schema, but none matched");
    }
    let places: Vec<String> = got.iter().map(ToString::to_string).collect();
    format!(
        "{which} {want} items required to match contains schema, but matched {} items at {}",
        count(got.len()),
        places.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(place: &str, member: Option<&str>, causes: Vec<Fault>) -> Fault {
        Fault {
            place: place.to_owned(),
            member: member.map(str::to_owned),
            what: String::new(),
            shape: Shape::Fault,
            causes,
        }
    }

    #[test]
    fn the_pointers_are_of_the_faults_that_have_no_causes() {
        let inner = vec![fault("/a", None, vec![]), fault("/b", Some("c/d"), vec![])];
        let all = fault("", None, vec![fault("", None, inner), fault("/e/0", None, vec![])]);
        assert_eq!(all.pointers(), ["/a", "/b/c~1d", "/e/0"]);
        assert_eq!(fault("", None, vec![]).pointers(), [""]);
    }
}
