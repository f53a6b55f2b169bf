//! The `CustomResourceDefinition`s of the kinds, from which `crds/` is generated.
//!
//! Every kind serves all its versions, without conversion and stored as v1, with ONE schema: the superset of the
//! versions' fields, so that none are lost whichever version an object is read or written in (docs/decisions.md
//! *versions*). Where versions contradict each other, the schema is the laxest that still rejects what all reject; each
//! such choice is a comment at its field. A version is what the last Flux release that served it accepts; fields that
//! only earlier releases wrote into a status are kept too, for objects that are still stored with them.

use super::emit::Yaml;
use super::schema::{Schema, object, string};

/// A kind with its versions.
#[derive(Clone, Debug)]
pub struct CustomResource {
    pub(super) group: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) short_names: &'static [&'static str],
    /// The category besides `all` and `fluxcd`.
    pub(super) category: &'static str,
    pub(super) versions: Vec<Version>,
    pub(super) spec: Schema,
    pub(super) status: Schema,
}

/// A version and its columns in `kubectl get`.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) name: &'static str,
    pub(super) columns: Vec<Column>,
}

/// A column of `kubectl get`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    name: &'static str,
    path: &'static str,
    kind: &'static str,
    /// Whether it is shown with `-o wide` only.
    wide: bool,
}

/// The storage version.
const STORED: &str = "v1";

pub(super) const AGE: Column = Column {
    kind: "date",
    ..column("Age", ".metadata.creationTimestamp")
};
pub(super) const READY: Column = column("Ready", r#".status.conditions[?(@.type=="Ready")].status"#);
pub(super) const STATUS: Column = column("Status", r#".status.conditions[?(@.type=="Ready")].message"#);

/// A column of text.
pub(super) const fn column(name: &'static str, path: &'static str) -> Column {
    Column {
        name,
        path,
        kind: "string",
        wide: false,
    }
}

impl Column {
    /// The same, shown with `-o wide` only.
    pub(super) const fn wide(mut self) -> Self {
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
pub(super) fn version(name: &'static str, columns: &[Column]) -> Version {
    Version {
        name,
        columns: columns.to_vec(),
    }
}

/// All kinds that bumpwright has a schema for, by group and name.
#[must_use]
pub fn custom_resources() -> Vec<CustomResource> {
    vec![
        super::crd_image_policy::definition(),
        super::crd_image_repository::definition(),
        super::crd_image_update_automation::definition(),
        super::crd_kustomization::definition(),
        super::crd_bucket::definition(),
        super::crd_external_artifact::definition(),
        super::crd_git_repository::definition(),
        super::crd_helm_chart::definition(),
        super::crd_helm_repository::definition(),
        super::crd_oci_repository::definition(),
    ]
}

impl CustomResource {
    /// Its versions, the storage version first.
    pub(super) fn versions(&self) -> impl Iterator<Item = &'static str> {
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
