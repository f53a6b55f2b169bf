//! The `CustomResourceDefinition`s of the kinds, from which `crds/` is generated.
//!
//! Every kind serves all its versions, without conversion and stored as v1, with ONE schema: the superset of the
//! versions' fields, so that none are lost whichever version an object is read or written in (docs/decisions.md
//! *versions*). Where versions contradict each other, the schema is the laxest that still rejects what all reject; each
//! such choice is a comment at its field. A version is what the last Flux release that served it accepts; fields that
//! only earlier releases wrote into a status are kept too, for objects that are still stored with them.

use super::structural::{Schema, object, string};
use crate::manifest::emit::Yaml;

/// A kind with its versions.
#[derive(Clone, Debug)]
pub struct CustomResource {
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) short_names: &'static [&'static str],
    /// The category besides `all` and `fluxcd`.
    pub(crate) category: &'static str,
    pub(crate) versions: Vec<Version>,
    pub(crate) spec: Schema,
    pub(crate) status: Schema,
}

/// A version and its columns in `kubectl get`.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<Column>,
}

/// A column of `kubectl get`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    name: &'static str,
    path: &'static str,
    kind: &'static str,
    /// Whether it is shown with `-o wide` only.
    wide: bool,
}

const STORED: &str = "v1";

pub(crate) const AGE: Column = Column {
    kind: "date",
    ..column("Age", ".metadata.creationTimestamp")
};

pub(crate) const READY: Column = column("Ready", r#".status.conditions[?(@.type=="Ready")].status"#);

pub(crate) const STATUS: Column = column("Status", r#".status.conditions[?(@.type=="Ready")].message"#);

/// A column of text.
pub(crate) const fn column(name: &'static str, path: &'static str) -> Column {
    Column {
        name,
        path,
        kind: "string",
        wide: false,
    }
}

impl Column {
    /// The same, shown with `-o wide` only.
    pub(crate) const fn wide(mut self) -> Self {
        self.wide = true;
        self
    }

    fn to_yaml(self) -> Yaml {
        let mut entries = vec![
            ("name", self.name.into()),
            ("type", self.kind.into()),
            ("jsonPath", self.path.into()),
        ];
        if self.wide {
            entries.push(("priority", Yaml::Number(1)));
        }
        Yaml::map(entries)
    }
}

/// A version with its columns.
pub(crate) fn version(name: &'static str, columns: &[Column]) -> Version {
    Version {
        name,
        columns: columns.to_vec(),
    }
}

impl CustomResource {
    /// Its versions, the storage version first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &'static str> {
        self.versions.iter().map(|version| version.name)
    }

    /// Its group and the name of its kind.
    #[must_use]
    pub const fn group_kind(&self) -> (&'static str, &'static str) {
        (self.group, self.kind)
    }

    /// Name of the definition: `imagepolicies.image.toolkit.fluxcd.io`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// File name, as Flux has it: `image.toolkit.fluxcd.io_imagepolicies.yaml`.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}_{}.yaml", self.group, self.plural)
    }

    /// The `CustomResourceDefinition` as YAML, without `---`.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let singular = self.kind.to_ascii_lowercase();
        let mut names = vec![
            ("kind", self.kind.into()),
            ("listKind", Yaml::Text(format!("{}List", self.kind))),
            ("plural", self.plural.into()),
            ("singular", Yaml::Text(singular)),
            ("categories", Yaml::texts(["all", "fluxcd", self.category])),
        ];
        if !self.short_names.is_empty() {
            names.push(("shortNames", Yaml::texts(self.short_names.iter().copied())));
        }
        Yaml::map([
            ("apiVersion", "apiextensions.k8s.io/v1".into()),
            ("kind", "CustomResourceDefinition".into()),
            ("metadata", self.metadata()),
            (
                "spec",
                Yaml::map([
                    ("group", self.group.into()),
                    ("names", Yaml::map(names)),
                    ("scope", "Namespaced".into()),
                    ("conversion", Yaml::map([("strategy", "None".into())])),
                    (
                        "versions",
                        Yaml::List(self.versions.iter().map(|version| self.version(version)).collect()),
                    ),
                ]),
            ),
        ])
        .document()
    }

    /// The annotation keeps Flux from replacing variables in the definition (N-038).
    fn metadata(&self) -> Yaml {
        Yaml::map([
            ("name", Yaml::Text(self.name())),
            (
                "annotations",
                Yaml::map([("kustomize.toolkit.fluxcd.io/substitute", "disabled".into())]),
            ),
        ])
    }

    fn version(&self, version: &Version) -> Yaml {
        let stored = version.name == STORED;
        let mut entries = vec![
            ("name", version.name.into()),
            ("served", Yaml::Flag(true)),
            ("storage", Yaml::Flag(stored)),
        ];
        if !stored {
            let warning = format!("{} {} is deprecated, upgrade to {STORED}", version.name, self.kind);
            entries.push(("deprecated", Yaml::Flag(true)));
            entries.push(("deprecationWarning", Yaml::Text(warning)));
        }
        entries.extend([
            (
                "additionalPrinterColumns",
                Yaml::List(version.columns.iter().map(|column| column.to_yaml()).collect()),
            ),
            ("subresources", Yaml::map([("status", Yaml::Map(Vec::new()))])),
            ("schema", Yaml::map([("openAPIV3Schema", self.schema().to_yaml())])),
        ]);
        Yaml::map(entries)
    }

    /// Neither spec nor status is required, as upstream has it.
    fn schema(&self) -> Schema {
        object()
            .field("apiVersion", string())
            .field("kind", string())
            .field("metadata", object())
            .field("spec", self.spec.clone())
            .field("status", self.status.clone())
    }
}
