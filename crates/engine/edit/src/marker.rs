//! The parser of markers in comments.

use std::collections::BTreeMap;

use super::file::keys;
use super::model::{Part, Setter};
use bumpwright_policy::PolicyName;

/// Whether a comment (or other text) contains the marker's key.
pub(super) fn mentions(text: &str) -> bool {
    keys(text.as_bytes(), b"\"'").next().is_some()
}

/// Parses a comment, with its `#`, as kyaml's setters do: any number of `#`, then a JSON object of strings with
/// `$imagepolicy`; other keys are ignored.
///
/// # Errors
/// A message about the fault of a malformed marker.
pub(super) fn parse(comment: &str) -> Result<Setter, String> {
    let json = comment.trim_start_matches('#');
    let fields: BTreeMap<String, Option<String>> = serde_json::from_str(json).map_err(|_| malformed(json))?;
    let name = fields.get("$imagepolicy").cloned().flatten().unwrap_or_default();
    setter(&name)
}

fn malformed(json: &str) -> String {
    let text = json.trim();
    if text.contains("'$imagepolicy'") {
        return r#"the marker is written with single quotes; JSON needs double ones: # {"$imagepolicy": "ns:name"}"#
            .to_owned();
    }
    if text.starts_with('{') && text.ends_with('}') {
        return r#"the marker is not a JSON object of strings; write # {"$imagepolicy": "ns:name"}"#.to_owned();
    }
    r#"there is other text beside the marker; the comment must be only # {"$imagepolicy": "ns:name"}"#.to_owned()
}

fn setter(name: &str) -> Result<Setter, String> {
    let mut parts = name.split(':');
    let (namespace, policy, part) = (parts.next(), parts.next(), parts.next());
    let (Some(namespace), Some(policy), None) = (namespace, policy, parts.next()) else {
        return Err(format!(
            "{name:?} is not ns:name, ns:name:name, ns:name:tag or ns:name:digest"
        ));
    };
    if namespace.is_empty() || policy.is_empty() {
        let what = if namespace.is_empty() { "namespace" } else { "name" };
        return Err(format!("the policy's {what} is empty in {name:?}; write ns:name"));
    }
    if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(format!("there is white space in {name:?}; write ns:name"));
    }
    let part = match part {
        None => Part::Reference,
        Some("name") => Part::Name,
        Some("tag") => Part::Tag,
        Some("digest") => Part::Digest,
        Some(other) => {
            return Err(format!(
                "{other:?} in {name:?} is not a part of an image; the parts are name, tag and digest"
            ));
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
    fn what_kyaml_accepts_is_a_setter() {
        for (comment, setter) in [
            (r##"# {"$imagepolicy": "fs:app"}"##, "fs:app"),
            (r##"#{"$imagepolicy":"fs:app:tag"}"##, "fs:app:tag"),
            (r##"###   { "$imagepolicy" : "fs:app:name" }  "##, "fs:app:name"),
            (r##"# {"a": "b", "$imagepolicy": "fs:app:digest"}"##, "fs:app:digest"),
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
        ] {
            let error = parse(comment).unwrap_err();
            assert!(error.contains(words), "{comment}: {error}");
        }
    }
}
