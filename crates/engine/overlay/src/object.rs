//! Built objects as JSON values.

use serde_json::Value;

/// A built object with its place in the artifact.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    pub value: Value,
    /// Its place in the artifact, as `path:line:column`; `None` for a generated object.
    pub origin: Option<Box<str>>,
}

impl Object {
    /// The string at a path of keys; empty if absent.
    fn text(&self, path: &[&str]) -> &str {
        let value = path.iter().try_fold(&self.value, |value, key| value.get(key));
        value.and_then(Value::as_str).unwrap_or_default()
    }

    /// `path:line:column: Kind namespace/name`, as far as known.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut shown = String::new();
        if let Some(origin) = &self.origin {
            shown.extend([origin, ": "]);
        }
        shown.push_str(self.text(&["kind"]));
        let name = [self.text(&["metadata", "namespace"]), self.text(&["metadata", "name"])];
        shown.push(' ');
        shown.push_str(name.join("/").trim_start_matches('/'));
        shown.truncate(shown.trim_end().len());
        shown
    }

    /// Whether it has `apiVersion`, `kind` and a name.
    pub(super) fn is_named(&self) -> bool {
        [&["apiVersion"][..], &["kind"], &["metadata", "name"]]
            .iter()
            .all(|path| !self.text(path).is_empty())
    }

    /// Whether it is a kustomization of kustomize's own: that is for tools and never applied.
    pub(super) fn is_kustomization(&self) -> bool {
        self.text(&["kind"]).eq_ignore_ascii_case("kustomization")
            && self.text(&["apiVersion"]).starts_with("kustomize.config.k8s.io/")
    }
}
