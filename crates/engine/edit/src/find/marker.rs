//! The parser of markers in comments.

use std::collections::BTreeMap;

use crate::file::{almost_keys, is_near_key, keys};
use crate::model::{Part, Setter};
use bumpwright_policy::PolicyName;
use thiserror::Error;

/// What is wrong with a marker.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum MarkerError {
    /// Its key is almost the one that it should be.
    #[error("the key of the marker is {0:?}; write \"$imagepolicy\"")]
    Key(String),
    /// It has other keys only.
    #[error(r#"there is no key "$imagepolicy" in the marker"#)]
    NoKey,
    #[error(r#"the marker is written with single quotes; JSON needs double ones: # {{"$imagepolicy": "ns:name"}}"#)]
    SingleQuotes,
    #[error(r#"the marker is without quotes; it is JSON: # {{"$imagepolicy": "ns:name"}}"#)]
    NoQuotes,
    #[error(r#"the marker has no }} at its end; write # {{"$imagepolicy": "ns:name"}}"#)]
    NoEnd,
    #[error(r#"the marker is not a JSON object of strings; write # {{"$imagepolicy": "ns:name"}}"#)]
    NotOfStrings,
    #[error(r#"there is other text beside the marker; the comment must be only # {{"$imagepolicy": "ns:name"}}"#)]
    OtherText,
    /// It does not name a policy; what it names.
    #[error("{0:?} is not ns:name, ns:name:name, ns:name:tag, ns:name:digest or ns:name:tag@digest")]
    Form(String),
    #[error("the policy's namespace is empty in {0:?}; write ns:name")]
    NoNamespace(String),
    #[error("the policy's name is empty in {0:?}; write ns:name")]
    NoName(String),
    #[error("there is a slash in {0:?}; write ns:name, with a colon between namespace and name")]
    Slash(String),
    #[error("there is white space in {0:?}; write ns:name")]
    WhiteSpace(String),
    /// It names a part that images do not have.
    #[error("{part:?} in {name:?} is not a part of an image; the parts are name, tag, digest and tag@digest")]
    Part { part: String, name: String },
}

/// Whether a comment (or other text) contains the marker's key, or almost.
pub(crate) fn mentions(text: &str) -> bool {
    keys(text.as_bytes(), b"\"'").next().is_some() || almost_keys(text.as_bytes()).next().is_some()
}

/// Whether a comment on lines of its own only speaks of markers: words are before a marker, or behind one that is below
/// other words. A marker below a line that ends in a colon is an example.
pub(crate) fn is_prose(comment: &str, above: Option<&str>) -> bool {
    let text = comment.trim_start_matches(['#', ' ', '\t']).trim_end();
    let has_words = |text: &str| text.contains(|c: char| c.is_alphabetic());
    let above = above.map(|above| above.trim_start_matches(['#', ' ', '\t']).trim_end());
    let Some((before, rest)) = text.split_once('{') else {
        return text.contains(' ') && !text.starts_with('$');
    };
    let behind = rest.rsplit_once('}').map_or("", |(_, behind)| behind);
    let is_below_words = above.is_some_and(|above| has_words(above) && !above.starts_with('{'));
    has_words(before)
        || (has_words(behind) && is_below_words)
        || above.is_some_and(|above| above.ends_with(':') && above.contains(' '))
}

/// Parses a comment, with its `#`, as kyaml's setters do: any number of `#`, then a JSON object of strings with
/// `$imagepolicy`; other keys are ignored.
pub(crate) fn parse(comment: &str) -> Result<Setter, MarkerError> {
    let json = comment.trim_start_matches('#');
    let fields: BTreeMap<String, Option<String>> = serde_json::from_str(json).map_err(|_| malformed(json))?;
    match fields.get("$imagepolicy") {
        // Null is an empty text in Go.
        Some(name) => setter(name.as_deref().unwrap_or("")),
        None => Err(other_key(&fields)),
    }
}

fn other_key(fields: &BTreeMap<String, Option<String>>) -> MarkerError {
    let is_near = |key: &&String| {
        let word = key.trim_start_matches('$');
        word == "imagepolicy" || is_near_key(word)
    };
    match fields.keys().find(is_near) {
        Some(key) => MarkerError::Key(key.clone()),
        None => MarkerError::NoKey,
    }
}

fn malformed(json: &str) -> MarkerError {
    let text = json.trim();
    if text.contains("'$imagepolicy'") {
        return MarkerError::SingleQuotes;
    }
    let is_key = |open: &str| {
        text.strip_prefix(open).is_some_and(|rest| {
            let rest = rest.trim_start_matches([' ', '$']);
            let word = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next();
            word.is_some_and(|word| word == "imagepolicy" || is_near_key(word))
        })
    };
    if is_key("{") || is_key("$") {
        return MarkerError::NoQuotes;
    }
    if text.starts_with('{') && !text.contains('}') {
        return MarkerError::NoEnd;
    }
    if text.starts_with('{') && text.ends_with('}') {
        return MarkerError::NotOfStrings;
    }
    MarkerError::OtherText
}

fn setter(name: &str) -> Result<Setter, MarkerError> {
    let mut parts = name.split(':');
    let (namespace, policy, part) = (parts.next(), parts.next(), parts.next());
    let (Some(namespace), Some(policy), None) = (namespace, policy, parts.next()) else {
        return Err(MarkerError::Form(name.to_owned()));
    };
    if namespace.is_empty() {
        return Err(MarkerError::NoNamespace(name.to_owned()));
    }
    if policy.is_empty() {
        return Err(MarkerError::NoName(name.to_owned()));
    }
    if name.contains('/') {
        return Err(MarkerError::Slash(name.to_owned()));
    }
    if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(MarkerError::WhiteSpace(name.to_owned()));
    }
    let part = match part {
        None => Part::Reference,
        Some("name") => Part::Name,
        Some("tag") => Part::Tag,
        Some("digest") => Part::Digest,
        Some("tag@digest") => Part::TagDigest,
        Some(other) => {
            return Err(MarkerError::Part {
                part: other.to_owned(),
                name: name.to_owned(),
            });
        }
    };
    Ok(Setter {
        policy: PolicyName::new(namespace, policy),
        part,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn words_about_markers_are_prose() {
        let marker = r##"{"$imagepolicy": "fs:app"}"##;
        let line = |before: &str, behind: &str| format!("# {before}{marker}{behind}");
        assert!(is_prose(&line("all files use ", ", never another"), None));
        assert!(is_prose(&line("", " marks a field"), Some("# The comment")));
        assert!(is_prose(&line("  ", ""), Some("# write it so:")));
        assert!(!is_prose(&line("", ""), None));
        assert!(!is_prose(&line("", ""), Some("# keep this")));
        assert!(!is_prose(&line("", " trailing"), None));
        assert!(!is_prose("# $imagepolicy: fs:app", None));
    }

    #[test]
    fn what_kyaml_accepts_is_a_setter() {
        for (comment, setter) in [
            (r##"# {"$imagepolicy": "fs:app"}"##, "fs:app"),
            (r##"#{"$imagepolicy":"fs:app:tag"}"##, "fs:app:tag"),
            (r##"###   { "$imagepolicy" : "fs:app:name" }  "##, "fs:app:name"),
            (r##"# {"a": "b", "$imagepolicy": "fs:app:digest"}"##, "fs:app:digest"),
            (r##"# {"$imagepolicy": "fs:app:tag@digest"}"##, "fs:app:tag@digest"),
            (r##"# {"$imagepolicy": "x:y", "$imagepolicy": "fs:app"}"##, "fs:app"),
            (r##"# {"$imagepolicy": "\u0066s:app"}"##, "fs:app"),
        ] {
            assert_eq!(parse(comment).unwrap().to_string(), setter, "{comment}");
        }
    }

    #[test]
    fn the_rest_says_what_is_wrong() {
        for (comment, words) in [
            (r##"# {"$imagepolicy": "fs:app"} trailing"##, "other text"),
            (r##"# see {"$imagepolicy": "fs:app"}"##, "other text"),
            (r##"# {'$imagepolicy': 'fs:app'}"##, "single quotes"),
            (r##"# {"$imagepolicy": "fs:app", "n": 1}"##, "object of strings"),
            (r##"# {"$imagepolicy": "fs:app",}"##, "object of strings"),
            (r##"# {"$imagepolicy": ":app"}"##, "namespace is empty"),
            (r##"# {"$imagepolicy": "fs:"}"##, "name is empty"),
            (r##"# {"$imagepolicy": "app"}"##, "not ns:name"),
            (r##"# {"$imagepolicy": "fs:app:tag:x"}"##, "not ns:name"),
            (r##"# {"$imagepolicy": "fs:app:repo"}"##, "not a part"),
            (r##"# {"$imagepolicy": "fs:a b"}"##, "white space"),
            (r##"# {"$imagepolicy": null}"##, "not ns:name"),
            (r##"# {"$imagepolicy": "fs/app:tag"}"##, "slash"),
            (
                r##"# {"$imagePolicy": "fs:app"}"##,
                "the key of the marker is \"$imagePolicy\"",
            ),
            (
                r##"# {"imagepolicy": "fs:app"}"##,
                "the key of the marker is \"imagepolicy\"",
            ),
            (
                r##"# {"$imagepolcy": "fs:app"}"##,
                "the key of the marker is \"$imagepolcy\"; write \"$imagepolicy\"",
            ),
            (r##"# {"$imagepolicy": "fs:app""##, "no } at its end"),
            (r##"# {"$imagepolicy" "fs:app"}"##, "object of strings"),
            (r##"# $imagepolicy: fs:app"##, "without quotes"),
            (r##"# $imgepolicy: fs:app"##, "without quotes"),
            (r##"# {$imagepolicy: fs:app}"##, "without quotes"),
        ] {
            let error = parse(comment).unwrap_err();
            assert!(error.to_string().contains(words), "{comment}: {error}");
        }
    }
}
