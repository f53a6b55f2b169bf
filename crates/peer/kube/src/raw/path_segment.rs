//! Names as segments of paths. References to other objects come from tenants, and the API server checks only some of
//! them: `../../other/secrets/key` must not become the path of a Secret in another namespace.

use crate::error::ClusterError;
use bumpwright_api::ObjectName;

/// Checks that a name is a valid segment of a path, as client-go (apimachinery, `rest.IsValidPathSegmentName`).
///
/// # Errors
/// [`ClusterError::Name`] in the words of client-go; no request is made.
pub(crate) fn checked(name: &ObjectName) -> Result<(), ClusterError> {
    namespace(&name.namespace)?;
    self::name(&name.name)?;
    Ok(())
}

/// A namespace as a segment.
pub(crate) fn namespace(text: &str) -> Result<String, ClusterError> {
    segment("namespace", text)
}

/// The name of an object of any kind as a segment.
pub(crate) fn name(text: &str) -> Result<String, ClusterError> {
    segment("resource name", text)
}

fn segment(what: &str, text: &str) -> Result<String, ClusterError> {
    let fault = match text {
        "." | ".." => Some(format!("may not be '{text}'")),
        text => {
            let forbidden = text.chars().find(|c| "/%?#\\".contains(*c) || c.is_control());
            forbidden.map(|forbidden| format!("may not contain '{}'", forbidden.escape_default()))
        }
    };
    match fault {
        None => Ok(escaped(text)),
        Some(fault) => Err(ClusterError::Name(format!("invalid {what} {text:?}: [{fault}]"))),
    }
}

/// Percent-encodes characters that a path must not contain.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@!$&'()*+,;=".contains(&byte);
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for (name, words) in [
            (
                "../../other/secrets/key",
                "invalid resource name \"../../other/secrets/key\": [may not contain '/']",
            ),
            ("..", "invalid resource name \"..\": [may not be '..']"),
            ("%2e%2e", "invalid resource name \"%2e%2e\": [may not contain '%']"),
            (
                "key?watch=1",
                "invalid resource name \"key?watch=1\": [may not contain '?']",
            ),
            ("a\nb", "invalid resource name \"a\\nb\": [may not contain '\\n']"),
        ] {
            let found = checked(&ObjectName::new("apps", name)).map_err(|error| error.to_string());
            assert_eq!(found, Err(words.to_owned()));
        }
        let found = checked(&ObjectName::new("a/../b", "x")).map_err(|error| error.to_string());
        assert_eq!(
            found,
            Err("invalid namespace \"a/../b\": [may not contain '/']".to_owned())
        );
    }

    #[test]
    fn usual_names_pass() {
        for name in ["app", "a.b-c", "system:node", "..."] {
            assert!(checked(&ObjectName::new("", name)).is_ok(), "{name}");
            assert_eq!(super::name(name).ok().as_deref(), Some(name));
        }
        assert_eq!(super::name("a b é").ok().as_deref(), Some("a%20b%20%C3%A9"));
    }
}
