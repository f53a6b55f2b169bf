//! Objects that variable substitution made invalid.

use super::object::Object;

/// An object without `apiVersion`, kind or name. Flux silently omits it, and deletes what it was before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// `path:line:column: Kind namespace/name`, as far as known.
    pub shown: String,
    /// Its API group, empty for the core group; `None` without an `apiVersion`.
    group: Option<String>,
    /// Its kind, if it has one.
    kind: Option<String>,
}

impl LeftOut {
    pub(super) fn of(object: &Object) -> Self {
        let text = |key| object.value.get(key).and_then(serde_json::Value::as_str);
        let is_there = |text: &&str| !text.is_empty();
        let api_version = text("apiVersion").filter(is_there);
        Self {
            shown: object.shown(),
            group: api_version.map(|text| text.split_once('/').map_or("", |(group, _)| group).to_owned()),
            kind: text("kind").filter(is_there).map(str::to_owned),
        }
    }

    /// Whether it may have been an object of this kind before. Its name and its namespace do not matter: they
    /// may have been different.
    fn may_be(&self, group: &str, kind: &str) -> bool {
        let is = |known: &Option<String>, text: &str| known.as_ref().is_none_or(|known| known == text);
        is(&self.group, group) && is(&self.kind, kind)
    }
}

/// Whether an object of this kind, which was not built, may be one that was left out.
#[must_use]
pub fn may_lack(left_out: &[LeftOut], group: &str, kind: &str) -> bool {
    left_out.iter().any(|left_out| left_out.may_be(group, kind))
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fault = "has no apiVersion, kind or name once its variables are replaced; it is left out";
        write!(f, "{} {fault}", self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn of(value: Value) -> LeftOut {
        LeftOut::of(&Object { value, origin: None })
    }

    #[test]
    fn what_is_not_known_of_it_may_have_been_anything() {
        let nameless = of(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": ""}}));
        assert!(nameless.may_be("apps", "Deployment"));
        assert!(!nameless.may_be("apps", "StatefulSet") && !nameless.may_be("", "Deployment"));
        let core = of(json!({"apiVersion": "v1", "kind": "Secret"}));
        assert!(core.may_be("", "Secret") && !core.may_be("apps", "Secret"));
        let kindless = of(json!({"apiVersion": "v1", "kind": ""}));
        assert!(kindless.may_be("", "Secret") && !kindless.may_be("apps", "Deployment"));
        assert!(of(Value::Null).may_be("apps", "Deployment"));
    }
}
