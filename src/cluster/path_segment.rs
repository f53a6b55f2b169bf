//! Names as parts of addresses. Those that refer to other objects come from tenants, and only some of them are checked by the API
//! server: `../../other/secrets/key` must not become the address of a Secret of another namespace.

use super::error::ClusterError;
use crate::api::ObjectName;

/// A name that is one segment of a path as it stands, as client-go has it (apimachinery, `rest.IsValidPathSegmentName`). Its
/// requests escape the characters that end a path; ours do not, and no object of a kind that is referred to has them.
///
/// # Errors
/// [`ClusterError::Name`] in the words of client-go; no request is made.
pub(super) fn checked(name: &ObjectName) -> Result<(), ClusterError> {
    let faults = |text: &str| match text {
        "." | ".." => Some(format!("may not be '{text}'")),
        text => {
            let found = text.chars().find(|c| "/%?#\\".contains(*c) || c.is_control());
            found.map(|found| format!("may not contain '{}'", found.escape_default()))
        }
    };
    for (what, text) in [("namespace", &name.namespace), ("resource name", &name.name)] {
        if let Some(fault) = faults(text) {
            return Err(ClusterError::Name(format!("invalid {what} {text:?}: [{fault}]")));
        }
    }
    Ok(())
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
        }
    }
}
