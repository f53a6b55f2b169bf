//! Charts of `helmCharts`: rendered in process, or by the helm program where one is named.

mod inside;
mod program;

use crate::fields::{ConfigError, Fields};
use crate::merge::{MergeError, merge};
use crate::schema::Schema;
use crate::tree::{LoadError, Loader, World, WorldError, path};
use bumpwright_yaml::{FileId, Node, Place, ReadError, ReadOptions, Style, Value, WriteError, read_first, write_sigs};
use compact_str::CompactString;
use std::borrow::Cow;

/// The folders of charts and of helm's own files.
#[derive(Debug, Clone, Default)]
pub struct HelmGlobals {
    /// The folder of charts, from the kustomization; `charts` where it is empty.
    pub chart_home: CompactString,
    /// helm's configuration; a temporary folder where it is empty.
    pub config_home: CompactString,
}

/// A chart to render.
#[derive(Debug, Clone, Default)]
// each is named as its field in a kustomization
#[allow(clippy::struct_excessive_bools)]
pub struct HelmChart {
    pub name: CompactString,
    pub version: CompactString,
    pub repo: CompactString,
    pub release_name: CompactString,
    pub namespace: CompactString,
    pub additional_values_files: Vec<CompactString>,
    pub values_file: CompactString,
    pub values_inline: Option<Node>,
    pub values_merge: CompactString,
    pub include_crds: bool,
    pub skip_hooks: bool,
    pub api_versions: Vec<CompactString>,
    pub kube_version: CompactString,
    pub name_template: CompactString,
    pub skip_tests: bool,
    pub debug: bool,
    pub devel: bool,
    pub place: Place,
}

/// The caller's settings for helm.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HelmSettings {
    /// The program; charts are rendered in process where it is empty.
    pub command: String,
    /// The version of Kubernetes to render for, unless a chart names one.
    pub kube_version: String,
    /// API versions to render for.
    pub api_versions: Vec<String>,
    /// Whether to run helm with `--debug`.
    pub debug: bool,
}

/// A chart and everything that it is rendered with.
struct Job<'a> {
    chart: &'a HelmChart,
    globals: &'a HelmGlobals,
    settings: &'a HelmSettings,
    loader: &'a Loader<'a>,
    world: &'a dyn World,
}

/// A chart that cannot be rendered.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HelmError {
    /// The chart has no name.
    #[error("chart name cannot be empty")]
    NoName,
    /// A name that helm would parse as an option.
    #[error("{field} must not start with '-', got {value:?}")]
    Option { field: &'static str, value: String },
    /// `valuesMerge` has an unknown value.
    #[error("valuesMerge must be one of merge, override and replace, not {0:?}")]
    ValuesMerge(String),
    /// The chart does not exist locally, and no repository is given to pull it from.
    #[error("no repo specified for pull, no chart found at '{0}'")]
    NoChart(String),
    /// A file of values cannot be read.
    #[error("values file: {0}")]
    Load(#[from] LoadError),
    /// A file of values is not YAML.
    #[error("values file: {0}")]
    Values(#[from] ReadError),
    /// Values cannot be merged.
    #[error("values: {0}")]
    Merge(#[from] MergeError),
    /// Values cannot be written.
    #[error("values: {0}")]
    Write(#[from] WriteError),
    #[error("{command} failed: {error}")]
    Run { command: String, error: WorldError },
    /// The chart cannot be had.
    #[error("chart {chart}: {error}")]
    Pull {
        /// Its name, with the repository.
        chart: String,
        error: WorldError,
    },
    /// It cannot be rendered.
    #[error("chart {chart}: {error}")]
    Render { chart: String, error: String },
    /// The release has a name and a template for one.
    #[error("chart {0}: cannot set --name-template and also specify a name")]
    TwoNames(String),
    /// The version of helm is too old or unknown.
    #[error("this plugin requires helm V3 or V4 but got {0:?}")]
    Version(String),
}

impl HelmGlobals {
    /// Parses the field `helmGlobals`, or a config; `strict` rejects unknown fields.
    ///
    /// # Errors
    ///
    /// A field has a wrong value.
    pub fn read(node: &Node, strict: bool) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(node, "helmGlobals")?.exact(strict);
        let globals = Self {
            chart_home: fields.string("chartHome")?,
            config_home: fields.string("configHome")?,
        };
        if strict {
            fields.finish()?;
        }
        Ok(globals)
    }
}

impl HelmChart {
    /// Parses an entry of `helmCharts`, or a config; `strict` rejects unknown fields.
    ///
    /// # Errors
    ///
    /// A field has a wrong value.
    pub fn read(entry: &Node, strict: bool) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(entry, "helmCharts")?.exact(strict);
        let chart = Self {
            name: fields.string("name")?,
            version: fields.string("version")?,
            repo: fields.string("repo")?,
            release_name: fields.string("releaseName")?,
            namespace: fields.string("namespace")?,
            additional_values_files: fields.strings("additionalValuesFiles")?,
            values_file: fields.string("valuesFile")?,
            values_inline: fields.get("valuesInline").cloned(),
            values_merge: fields.string("valuesMerge")?,
            include_crds: fields.boolean("includeCRDs")?,
            skip_hooks: fields.boolean("skipHooks")?,
            api_versions: fields.strings("apiVersions")?,
            kube_version: fields.string("kubeVersion")?,
            name_template: fields.string("nameTemplate")?,
            skip_tests: fields.boolean("skipTests")?,
            debug: fields.boolean("debug")?,
            devel: fields.boolean("devel")?,
            place: entry.place,
        };
        if strict {
            fields.finish()?;
        }
        Ok(chart)
    }

    /// Parses an entry of the older `helmChartInflationGenerator`, with its fields for folders.
    ///
    /// # Errors
    ///
    /// A field has a wrong value.
    pub fn read_old(entry: &Node) -> Result<(Self, HelmGlobals), ConfigError> {
        let mut fields = Fields::of(entry, "helmChartInflationGenerator")?;
        let chart = Self {
            name: fields.string("chartName")?,
            version: fields.string("chartVersion")?,
            repo: fields.string("chartRepoUrl")?,
            values_file: fields.string("values")?,
            values_inline: fields.get("valuesLocal").cloned(),
            values_merge: fields.string("valuesMerge")?,
            release_name: fields.string("releaseName")?,
            place: entry.place,
            ..Self::default()
        };
        let globals = HelmGlobals {
            chart_home: fields.string("chartHome")?,
            config_home: fields.string("helmHome")?,
        };
        // Accepted, without effect.
        for name in ["chartRepoName", "helmBin", "releaseNamespace"] {
            fields.string(name)?;
        }
        fields.strings("extraArgs")?;
        fields.finish()?;
        Ok((chart, globals))
    }

    fn check(&self) -> Result<(), HelmError> {
        if self.name.is_empty() {
            return Err(HelmError::NoName);
        }
        for (field, value) in [("releaseName", &self.release_name), ("chart name", &self.name)] {
            if value.starts_with('-') {
                return Err(HelmError::Option {
                    field,
                    value: value.to_string(),
                });
            }
        }
        match self.values_merge.as_str() {
            "" | "merge" | "override" | "replace" => Ok(()),
            other => Err(HelmError::ValuesMerge(other.to_owned())),
        }
    }

    /// The rendered objects, as text: by the program of the settings, or without one in process.
    ///
    /// # Errors
    ///
    /// The chart is malformed, its files cannot be read, or it cannot be rendered.
    pub fn render(
        &self,
        globals: &HelmGlobals,
        settings: &HelmSettings,
        loader: &Loader<'_>,
        world: &dyn World,
    ) -> Result<Vec<u8>, HelmError> {
        self.check()?;
        let job = Job {
            chart: self,
            globals,
            settings,
            loader,
            world,
        };
        if settings.command.is_empty() {
            inside::render(&job)
        } else {
            program::render(&job)
        }
    }

    /// Whether a folder of charts has it.
    fn is_here(folder: &str, loader: &Loader<'_>) -> bool {
        loader.tree().canonical(folder).is_ok_and(|found| found.directory)
    }

    fn home(&self, globals: &HelmGlobals, loader: &Loader<'_>) -> String {
        let home = if globals.chart_home.is_empty() {
            "charts"
        } else {
            &globals.chart_home
        };
        let home = if path::is_absolute(home) {
            home.to_owned()
        } else {
            path::join(loader.root(), home)
        };
        if self.version.is_empty() || self.repo.is_empty() {
            return home;
        }
        path::join(&home, &format!("{}-{}", self.name, self.version))
    }

    /// The values to render with: those of the file, which is the chart's `own` where none is named, and
    /// those in the kustomization.
    fn values<'v>(
        &self,
        own: impl FnOnce() -> Result<Cow<'v, [u8]>, HelmError>,
        loader: &'v Loader<'_>,
    ) -> Result<Vec<u8>, HelmError> {
        let file = || {
            if self.values_file.is_empty() {
                own()
            } else {
                Ok(loader.load(&self.values_file)?)
            }
        };
        let inline = self.values_inline.as_ref();
        let inline = inline.filter(|node| node.as_mapping().is_some_and(|map| !map.entries.is_empty()));
        let Some(inline) = inline else {
            return Ok(file()?.into_owned());
        };
        if self.values_merge == "replace" {
            return written(inline);
        }
        let bytes = file()?;
        let options = ReadOptions::kyaml(FileId::NONE);
        let theirs = read_first(&bytes, &options)?.unwrap_or_else(Node::mapping);
        // As kustomize has it, out of a map of Go: 0x10 is 16 there, also beside a string of the chart.
        let inline = read_first(&written(inline)?, &options)?.unwrap_or_else(Node::mapping);
        let (mut base, over) = match self.values_merge.as_str() {
            "merge" => (inline, theirs),
            _ => (theirs, inline),
        };
        forget_quotes(&mut base);
        merge(&mut base, over, &Schema::default())?;
        written(&base)
    }
}

/// Leaves the type of each value to its tag: a number that replaces a string in quotes stays a number, as in the map
/// that kustomize makes of merged values.
fn forget_quotes(node: &mut Node) {
    match &mut node.value {
        Value::Scalar(scalar) => scalar.style = Style::Plain,
        Value::Mapping(mapping) => mapping
            .entries
            .iter_mut()
            .for_each(|entry| forget_quotes(&mut entry.value)),
        Value::Sequence(sequence) => sequence.items.iter_mut().for_each(forget_quotes),
    }
}

fn written(values: &Node) -> Result<Vec<u8>, HelmError> {
    let mut text = String::new();
    write_sigs(values, &mut text)?;
    Ok(text.into_bytes())
}
