//! The name of an image policy.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Namespace and name of an `ImagePolicy`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PolicyName {
    /// The namespace of the object.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
}

impl PolicyName {
    /// A policy name from its two parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The policy as markers and flags name it: `namespace:name`.
    #[must_use]
    pub fn marker(&self) -> String {
        format!("{}:{}", self.namespace, self.name)
    }

    /// A policy as markers name it, `namespace:name`; none when a part is missing, or there are more.
    #[must_use]
    pub fn of_marker(text: &str) -> Option<Self> {
        let (namespace, name) = text.split_once(':')?;
        let is_whole = !namespace.is_empty() && !name.is_empty() && !name.contains(':');
        is_whole.then(|| Self::new(namespace, name))
    }
}

/// The form of Kubernetes: `namespace/name`.
impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_name_a_namespace_and_a_policy() {
        let name = PolicyName::of_marker("fs:app");
        let written = name.map(|name| (name.to_string(), name.marker()));
        assert_eq!(written, Some(("fs/app".to_owned(), "fs:app".to_owned())));
        for text in ["", "app", ":app", "fs:", "fs:app:tag", ":"] {
            assert_eq!(PolicyName::of_marker(text), None, "{text}");
        }
    }
}
