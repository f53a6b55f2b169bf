//! Renders charts with helm: which commands to run, with which values.

use crate::fields::{ConfigError, Fields};
use crate::merge::{MergeError, merge};
use crate::schema::Schema;
use crate::tree::{Argument, Command, LoadError, Loader, World, WorldError, path};
use bumpwright_re2::{Budget, Regexp};
use bumpwright_yaml::{FileId, Node, Place, ReadError, ReadOptions, WriteError, read_first, write_sigs};
use compact_str::CompactString;

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
#[allow(missing_docs)] // each is named as its field in a kustomization
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
    /// The program; `helm` where it is empty.
    pub command: String,
    /// The version of Kubernetes to render for, unless a chart names one.
    pub kube_version: String,
    /// API versions to render for.
    pub api_versions: Vec<String>,
    /// Whether to run helm with `--debug`.
    pub debug: bool,
}

/// A chart that cannot be rendered.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HelmError {
    /// The chart has no name.
    #[error("chart name cannot be empty")]
    NoName,
    /// A name that helm would parse as an option.
    #[error("{field} must not start with '-', got {value:?}")]
    Option {
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
    },
    /// `valuesMerge` has an unknown value.
    #[error("valuesMerge must be one of merge, override and replace, not {0:?}")]
    ValuesMerge(String),
    /// The chart does not exist, and there is no repository to pull it from.
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
    /// helm fails.
    #[error("{command} failed: {error}")]
    Run {
        /// The command line.
        command: String,
        /// helm's error.
        error: WorldError,
    },
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

    /// The rendered objects, as text.
    ///
    /// # Errors
    ///
    /// The chart is malformed, its files cannot be read, or helm fails.
    pub fn render(
        &self,
        globals: &HelmGlobals,
        settings: &HelmSettings,
        loader: &Loader<'_>,
        world: &dyn World,
    ) -> Result<Vec<u8>, HelmError> {
        self.check()?;
        let helm = Helm {
            globals,
            settings,
            loader,
            world,
        };
        helm.check_version()?;
        let home = self.home(globals, loader);
        let chart = path::join(&home, &self.name);
        let is_here = loader.tree().canonical(&chart).is_ok_and(|found| found.directory);
        if !is_here {
            if self.repo.is_empty() {
                return Err(HelmError::NoChart(chart));
            }
            helm.run(&texts(&self.pull(&home)))?;
        }
        let values = self.values(&chart, loader)?;
        let mut arguments = texts(&self.template(&chart, settings));
        arguments.extend(texts(&["-f"]));
        arguments.push(Argument::File(values));
        for file in &self.additional_values_files {
            loader.load(file)?;
            let file = path::join(loader.root(), file);
            arguments.extend(texts(&["-f", &file]));
        }
        helm.run(&arguments)
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

    fn pull(&self, home: &str) -> Vec<String> {
        let mut words = vec![
            "pull".to_owned(),
            "--untar".to_owned(),
            "--untardir".to_owned(),
            home.to_owned(),
        ];
        if self.repo.starts_with("oci://") {
            words.push(format!(
                "{}/{}",
                self.repo.strip_suffix('/').unwrap_or(&self.repo),
                self.name
            ));
        } else {
            words.extend(["--repo".to_owned(), self.repo.to_string(), self.name.to_string()]);
        }
        if !self.version.is_empty() {
            words.extend(["--version".to_owned(), self.version.to_string()]);
        }
        if self.devel {
            words.push("--devel".to_owned());
        }
        words
    }

    fn template(&self, chart: &str, settings: &HelmSettings) -> Vec<String> {
        let mut words = vec!["template".to_owned()];
        let release = if self.release_name.is_empty() {
            "--generate-name"
        } else {
            &self.release_name
        };
        words.extend([release.to_owned(), chart.to_owned()]);
        let kube_version = if settings.kube_version.is_empty() {
            &*self.kube_version
        } else {
            &settings.kube_version
        };
        let pairs = [
            ("--namespace", &*self.namespace),
            ("--name-template", &*self.name_template),
            ("--kube-version", kube_version),
        ];
        for (option, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            words.extend([option.to_owned(), value.to_owned()]);
        }
        let given = settings.api_versions.iter().map(String::as_str);
        let own = self.api_versions.iter().map(CompactString::as_str);
        let versions: Vec<&str> = if settings.api_versions.is_empty() {
            own.collect()
        } else {
            given.collect()
        };
        for version in versions {
            words.extend(["--api-versions".to_owned(), version.to_owned()]);
        }
        let flags = [
            ("--include-crds", self.include_crds),
            ("--skip-tests", self.skip_tests),
            ("--no-hooks", self.skip_hooks),
            ("--debug", self.debug || settings.debug),
            ("--devel", self.devel),
        ];
        words.extend(flags.into_iter().filter(|(_, on)| *on).map(|(flag, _)| flag.to_owned()));
        words
    }

    /// The values to render with: those of the file, and those in the kustomization.
    fn values(&self, chart: &str, loader: &Loader<'_>) -> Result<Vec<u8>, HelmError> {
        let file = if self.values_file.is_empty() {
            path::join(chart, "values.yaml")
        } else {
            self.values_file.to_string()
        };
        let inline = self.values_inline.as_ref();
        let inline = inline.filter(|node| node.as_mapping().is_some_and(|map| !map.entries.is_empty()));
        let Some(inline) = inline else {
            return Ok(loader.load(&file)?.into_owned());
        };
        if self.values_merge == "replace" {
            return written(inline);
        }
        let bytes = loader.load(&file)?;
        let options = ReadOptions::kyaml(FileId::NONE);
        let theirs = read_first(&bytes, &options)?.unwrap_or_else(Node::mapping);
        let (mut base, over) = match self.values_merge.as_str() {
            "merge" => (inline.clone(), theirs),
            _ => (theirs, inline.clone()),
        };
        merge(&mut base, over, &Schema::default())?;
        written(&base)
    }
}

fn written(values: &Node) -> Result<Vec<u8>, HelmError> {
    let mut text = String::new();
    write_sigs(values, &mut text)?;
    Ok(text.into_bytes())
}

fn texts(words: &[impl AsRef<str>]) -> Vec<Argument> {
    words
        .iter()
        .map(|word| Argument::Text(word.as_ref().to_owned()))
        .collect()
}

struct Helm<'a> {
    globals: &'a HelmGlobals,
    settings: &'a HelmSettings,
    loader: &'a Loader<'a>,
    world: &'a dyn World,
}

impl Helm<'_> {
    fn run(&self, arguments: &[Argument]) -> Result<Vec<u8>, HelmError> {
        let program = if self.settings.command.is_empty() {
            "helm"
        } else {
            &self.settings.command
        };
        let home = &self.globals.config_home;
        let environment = if home.is_empty() {
            // The world provides a folder for helm.
            Vec::new()
        } else {
            vec![
                ("HELM_CONFIG_HOME".to_owned(), home.to_string()),
                ("HELM_CACHE_HOME".to_owned(), format!("{home}/.cache")),
                ("HELM_DATA_HOME".to_owned(), format!("{home}/.data")),
            ]
        };
        let command = Command {
            program,
            arguments,
            environment: &environment,
            tree: self.loader.tree(),
            directory: self.loader.root(),
            input: &[],
        };
        self.world.run(&command).map_err(|error| {
            let words = arguments.iter().map(|argument| match argument {
                Argument::Text(text) => text.as_str(),
                Argument::File(_) => "<values>",
            });
            HelmError::Run {
                command: format!("{program} {}", words.collect::<Vec<_>>().join(" ")),
                error,
            }
        })
    }

    fn check_version(&self) -> Result<(), HelmError> {
        let output = self.run(&texts(&["version", "--short"]))?;
        let found = Regexp::new(r"v?\d+(\.\d+)+").ok().and_then(|pattern| {
            let range = pattern.find(&output, &mut Budget::default()).ok()??;
            String::from_utf8(output.get(range)?.to_vec()).ok()
        });
        let version = found.unwrap_or_default();
        match version.trim_start_matches('v').split('.').next() {
            Some("3" | "4") => Ok(()),
            _ => Err(HelmError::Version(String::from_utf8_lossy(&output).trim().to_owned())),
        }
    }
}
