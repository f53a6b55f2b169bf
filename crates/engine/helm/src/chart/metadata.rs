//! `Chart.yaml`: read, checked and cleaned.

use super::decode::Fields;
use crate::yaml::{YamlError, json_of};
use bumpwright_gostd::{
    quote,
    unicode::{is_print, is_space},
};
use bumpwright_semver::Version;
use bumpwright_yaml::Node;
use serde_json::Value as Json;
use thiserror::Error;

/// Why the fields of a chart are not valid, in Helm's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MetadataError {
    /// A field is empty.
    #[error("validation: chart.metadata.{0} is required")]
    Missing(&'static str),
    /// The name is that of a folder in every folder.
    #[error("validation: chart.metadata.name {} is not allowed", quote(.0))]
    DotName(String),
    /// The name is a path.
    #[error("validation: chart.metadata.name {} is invalid", quote(.0))]
    Name(String),
    /// The version is not one.
    #[error("validation: chart.metadata.version {} is invalid", quote(.0))]
    Version(String),
    /// The type is not one of Helm's.
    #[error("validation: chart.metadata.type must be application or library")]
    Type,
    /// A maintainer is null.
    #[error("validation: maintainers must not contain empty or null nodes")]
    NullMaintainer,
    /// A dependency is null.
    #[error("validation: dependencies must not contain empty or null nodes")]
    NullDependency,
    /// The alias of a dependency cannot be a name; the name of the dependency.
    #[error("validation: dependency {} has disallowed characters in the alias", quote(.0))]
    Alias(String),
    /// Several dependencies have a name or alias. Some servers leave aliases out of indexes.
    #[error("validation: more than one dependency with name or alias {}", quote(.0))]
    DuplicateDependency(String),
}

/// The fields of `Chart.yaml`.
#[derive(Clone, Debug, Default, PartialEq)]
// The names are Helm's.
pub struct Metadata {
    pub name: String,
    pub home: String,
    pub sources: Vec<String>,
    pub version: String,
    pub description: String,
    pub keywords: Vec<String>,
    pub maintainers: Vec<Option<Maintainer>>,
    pub icon: String,
    pub api_version: String,
    pub condition: String,
    pub tags: String,
    pub app_version: String,
    pub deprecated: bool,
    pub annotations: Option<Vec<(String, String)>>,
    pub kube_version: String,
    /// None when the file has no such field.
    pub dependencies: Option<Vec<Option<Dependency>>>,
    pub kind: String,
}

/// Somebody who maintains a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maintainer {
    pub name: String,
    pub email: String,
    pub url: String,
}

/// A chart that a chart needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependency {
    pub name: String,
    pub version: String,
    pub repository: String,
    pub condition: String,
    pub tags: Vec<String>,
    pub enabled: bool,
    pub import_values: Vec<Json>,
    pub alias: String,
}

impl Metadata {
    /// Takes the fields that a document has; the others stay.
    pub(crate) fn read(&mut self, node: &Node) -> Result<(), YamlError> {
        let Some(fields) = Fields::of(node, "loader.chartBase")? else {
            return Ok(());
        };
        for (name, field) in [
            ("name", &mut self.name),
            ("home", &mut self.home),
            ("version", &mut self.version),
            ("description", &mut self.description),
            ("icon", &mut self.icon),
            ("apiVersion", &mut self.api_version),
            ("condition", &mut self.condition),
            ("tags", &mut self.tags),
            ("appVersion", &mut self.app_version),
            ("kubeVersion", &mut self.kube_version),
            ("type", &mut self.kind),
        ] {
            fields.text(name, field)?;
        }
        fields.texts("sources", &mut self.sources)?;
        fields.texts("keywords", &mut self.keywords)?;
        fields.truth("deprecated", &mut self.deprecated)?;
        if let Some(pairs) = fields.pairs("annotations")? {
            self.annotations = Some(pairs);
        }
        if let Some(items) = fields.list("maintainers", "[]*v2.Maintainer")? {
            self.maintainers = items.iter().map(maintainer).collect::<Result<_, _>>()?;
        }
        if let Some(items) = fields.list("dependencies", "[]*v2.Dependency")? {
            self.dependencies = Some(items.iter().map(dependency).collect::<Result<_, _>>()?);
        }
        Ok(())
    }

    /// Checks the fields, and cleans their texts.
    pub fn validate(&mut self) -> Result<(), MetadataError> {
        self.clean();
        for (name, value) in [("apiVersion", &self.api_version), ("name", &self.name)] {
            if value.is_empty() {
                return Err(MetadataError::Missing(name));
            }
        }
        if matches!(&*self.name, "." | "..") {
            return Err(MetadataError::DotName(self.name.clone()));
        }
        if self.name.contains('/') {
            return Err(MetadataError::Name(self.name.clone()));
        }
        if self.version.is_empty() {
            return Err(MetadataError::Missing("version"));
        }
        if Version::parse(&self.version).is_err() {
            return Err(MetadataError::Version(self.version.clone()));
        }
        if !matches!(&*self.kind, "" | "application" | "library") {
            return Err(MetadataError::Type);
        }
        if self.maintainers.iter().any(Option::is_none) {
            return Err(MetadataError::NullMaintainer);
        }
        self.validate_dependencies()
    }

    fn clean(&mut self) {
        for field in [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ] {
            clean(field);
        }
        self.sources.iter_mut().chain(&mut self.keywords).for_each(clean);
        for maintainer in self.maintainers.iter_mut().flatten() {
            let Maintainer { name, email, url } = maintainer;
            [name, email, url].into_iter().for_each(clean);
        }
    }

    fn validate_dependencies(&mut self) -> Result<(), MetadataError> {
        let mut keys: Vec<String> = Vec::new();
        for dependency in self.dependencies.iter_mut().flatten() {
            let Some(dependency) = dependency else {
                return Err(MetadataError::NullDependency);
            };
            for field in [
                &mut dependency.name,
                &mut dependency.version,
                &mut dependency.repository,
                &mut dependency.condition,
            ] {
                clean(field);
            }
            dependency.tags.iter_mut().for_each(clean);
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            if !dependency.alias.bytes().all(fits) {
                return Err(MetadataError::Alias(dependency.name.clone()));
            }
            let key = match &*dependency.alias {
                "" => &dependency.name,
                _ => &dependency.alias,
            };
            if keys.contains(key) {
                return Err(MetadataError::DuplicateDependency(key.clone()));
            }
            keys.push(key.clone());
        }
        Ok(())
    }
}

/// Spaces of all kinds become blanks, and what cannot be printed is left out.
fn clean(text: &mut String) {
    // All of them, so that many are compared at once.
    let is_usual = text.bytes().fold(true, |all, byte| all & matches!(byte, 0x20..=0x7e));
    if is_usual || text.chars().all(is_print) {
        return;
    }
    let shown = |ch: char| {
        if is_space(ch) {
            Some(' ')
        } else {
            is_print(ch).then_some(ch)
        }
    };
    *text = text.chars().filter_map(shown).collect();
}

fn maintainer(node: &Node) -> Result<Option<Maintainer>, YamlError> {
    let Some(fields) = Fields::of(node, "v2.Maintainer")? else {
        return Ok(None);
    };
    let mut maintainer = Maintainer::default();
    fields.text("name", &mut maintainer.name)?;
    fields.text("email", &mut maintainer.email)?;
    fields.text("url", &mut maintainer.url)?;
    Ok(Some(maintainer))
}

pub(super) fn dependency(node: &Node) -> Result<Option<Dependency>, YamlError> {
    let Some(fields) = Fields::of(node, "v2.Dependency")? else {
        return Ok(None);
    };
    let mut dependency = Dependency::default();
    for (name, field) in [
        ("name", &mut dependency.name),
        ("version", &mut dependency.version),
        ("repository", &mut dependency.repository),
        ("condition", &mut dependency.condition),
        ("alias", &mut dependency.alias),
    ] {
        fields.text(name, field)?;
    }
    fields.texts("tags", &mut dependency.tags)?;
    fields.truth("enabled", &mut dependency.enabled)?;
    if let Some(items) = fields.list("import-values", "[]interface {}")? {
        dependency.import_values = items.iter().map(json_of).collect::<Result<_, _>>()?;
    }
    Ok(Some(dependency))
}

/// The API version of a `Chart.yaml`, before anything else of it is read.
pub(super) fn api_version(node: &Node) -> Result<String, YamlError> {
    let mut version = String::new();
    if let Some(fields) = Fields::of(node, "loader.chartBase")? {
        fields.text("apiVersion", &mut version)?;
    }
    Ok(version)
}
