//! The origin of a resource, as `buildMetadata: [originAnnotations, transformerAnnotations]` shows it.

use super::Resource;
use crate::tree::{RepoUrl, path};
use bumpwright_yaml::{Node, write_sigs};

/// The origin of a resource or of the configuration of a transformer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The file, from where the build began, or from the root of its repository.
    pub path: String,
    /// The repository, if it is remote.
    pub repo: String,
    /// The reference in that repository.
    pub reference: String,
    /// The file that configures its generator.
    pub configured_in: String,
    /// The id of its generator: `apiVersion`, `kind`, `name` and `namespace`, empty if absent.
    pub configured_by: [String; 4],
}

const BY: [&str; 4] = ["apiVersion", "kind", "name", "namespace"];

impl Origin {
    /// The origin of the file or directory `name` of a kustomization with this origin.
    #[must_use]
    pub fn append(&self, name: &str) -> Self {
        let mut origin = self.clone();
        let mut name = name.to_owned();
        if let Ok(url) = RepoUrl::parse(&name) {
            origin.repo = url.clone_url();
            origin.path.clear();
            // kustomize shows the placeholder of its clone directory for the root.
            name = match path::clean(&url.directory).as_str() {
                "." => "notCloned".to_owned(),
                inside => inside.to_owned(),
            };
            origin.reference = url.reference;
        }
        origin.path = path::join(&origin.path, &name);
        origin
    }

    /// The origin of the output of a built-in generator or transformer of the kustomization `file`.
    #[must_use]
    pub(crate) fn of_builtin(&self, file: &str, kind: &str) -> Self {
        Self {
            path: String::new(),
            repo: self.repo.clone(),
            reference: self.reference.clone(),
            configured_in: path::join(&self.path, file),
            configured_by: ["builtin".to_owned(), kind.to_owned(), String::new(), String::new()],
        }
    }

    /// The origin of the output of a plugin with the config `config`; `None` where that has none.
    #[must_use]
    pub(crate) fn of_plugin(config: &Resource) -> Option<Self> {
        let origin = config.origin.as_ref()?;
        let id = config.id();
        Some(Self {
            path: String::new(),
            repo: origin.repo.clone(),
            reference: origin.reference.clone(),
            configured_in: origin.path.clone(),
            configured_by: [
                id.gvk.api_version().into(),
                id.gvk.kind.clone().into(),
                id.name.clone().into(),
                id.namespace.clone().into(),
            ],
        })
    }

    /// As kustomize writes it: a line for each field that is not empty.
    #[must_use]
    pub fn text(&self) -> String {
        let fields = [
            ("path", &self.path),
            ("repo", &self.repo),
            ("ref", &self.reference),
            ("configuredIn", &self.configured_in),
        ];
        let mut text: String = fields.into_iter().map(|(key, value)| line(key, value)).collect();
        let by: String = BY
            .iter()
            .zip(&self.configured_by)
            .map(|(key, value)| line(key, value))
            .collect();
        if !by.is_empty() {
            text.push_str("configuredBy:\n");
            text.push_str(&indented(&by, "  "));
        }
        text
    }

    /// Upper bound of the bytes of its text: values may have to be quoted.
    pub(super) fn length(&self) -> u64 {
        let texts = [&self.path, &self.repo, &self.reference, &self.configured_in];
        let texts = texts.into_iter().chain(&self.configured_by);
        texts.map(|text| 32 + 6 * text.len() as u64).sum()
    }

    /// As an item of a list.
    #[must_use]
    pub(super) fn item(&self) -> String {
        indented(&self.text(), "  ").replacen("  ", "- ", 1)
    }

    /// Parses a mapping; missing fields are empty.
    #[must_use]
    pub(crate) fn from_node(node: &Node) -> Self {
        let text = |path: &[&str]| node.text_at(path).to_owned();
        Self {
            path: text(&["path"]),
            repo: text(&["repo"]),
            reference: text(&["ref"]),
            configured_in: text(&["configuredIn"]),
            configured_by: BY.map(|key| text(&["configuredBy", key])),
        }
    }
}

/// A field with its value; empty where that is empty.
fn line(key: &str, value: &str) -> String {
    let mut field = Node::mapping();
    let mut text = String::new();
    if let Some(mapping) = field.as_mapping_mut().filter(|_| !value.is_empty()) {
        mapping.set(key, Node::string(value));
        // Every text has a form in YAML.
        write_sigs(&field, &mut text).unwrap_or_default();
    }
    text
}

fn indented(text: &str, by: &str) -> String {
    text.lines().map(|line| format!("{by}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_begins_a_path_anew() {
        let origin = Origin::default().append("../base").append("x.yaml");
        assert_eq!(origin.path, "../base/x.yaml");
        let origin = origin.append("https://h.xz/o/r//dir?ref=v1").append("y.yaml");
        assert_eq!(
            (&*origin.path, &*origin.repo, &*origin.reference),
            ("dir/y.yaml", "https://h.xz/o/r", "v1")
        );
        let root = Origin::default().append("https://h.xz/o/r");
        assert_eq!(root.path, "notCloned", "as kustomize has it");
    }
}
