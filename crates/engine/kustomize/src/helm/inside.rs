//! Charts rendered in process, by the `helm` crate: nothing is run, and nothing is written into the folder of charts.

use super::{HelmChart, HelmError, Job};
use crate::tree::{Loader, RemoteChart, TreeError, path};
use bumpwright_helm::{
    Capabilities, CapabilitiesError, Chart, Folder, FolderEntry, ForeignError, Overrides, Release, Seeded, Selection,
    Settings, generated_name, merge_values, name_of_template, render as render_chart,
};
use bumpwright_template::World as Chance;
use compact_str::CompactString;
use std::borrow::Cow;

/// The rendered objects, as text.
pub(super) fn render(job: &Job<'_>) -> Result<Vec<u8>, HelmError> {
    let name = job.chart.name.as_str();
    let seed = format!("{}/{}/{name}", job.chart.namespace, job.chart.release_name);
    let seeded = Seeded::new(seed.as_bytes());
    let chance = job.world.chance().unwrap_or(&seeded);
    let chart = job.chart()?;
    let overrides = job.overrides(&chart)?;
    let values = merge_values(&overrides, &mut |file| Err(format!("{file}: not read here").into()));
    let values = values.map_err(|error| job.failed(&error))?;
    chart.check_installable().map_err(|error| job.failed(&error))?;
    let release = Release {
        name: job.release_name(chance)?,
        namespace: match job.chart.namespace.as_str() {
            "" => "default".to_owned(),
            namespace => namespace.to_owned(),
        },
        is_upgrade: false,
    };
    let capabilities = job.capabilities().map_err(|error| job.failed(&error))?;
    let rendered = render_chart(&chart, &values, &release, &capabilities, Settings::default(), chance);
    let selection = Selection {
        crds: job.chart.include_crds,
        no_hooks: job.chart.skip_hooks,
        skip_tests: job.chart.skip_tests,
        show_only: Vec::new(),
    };
    let text = rendered.map_err(|error| job.failed(&error))?.text(&selection);
    Ok(text.map_err(|error| job.failed(&error))?.into_bytes())
}

impl Job<'_> {
    /// The chart: of the folder of charts, or of its repository.
    fn chart(&self) -> Result<Chart, HelmError> {
        let name = self.chart.name.as_str();
        let folder = path::join(&self.chart.home(self.globals, self.loader), name);
        if HelmChart::is_here(&folder, self.loader) {
            let root = self.loader.tree().canonical(&folder).map(|found| found.path);
            let root = root.unwrap_or_else(|_| folder.clone());
            let folder = Inside {
                loader: self.loader,
                folder: &folder,
                root: &root,
            };
            return Chart::from_folder(&folder).map_err(|error| self.failed(&error));
        }
        if self.chart.repo.is_empty() {
            return Err(HelmError::NoChart(folder));
        }
        let wanted = RemoteChart {
            repository: &self.chart.repo,
            name,
            version: &self.chart.version,
            devel: self.chart.devel,
        };
        let archive = self.world.chart(&wanted).map_err(|error| HelmError::Pull {
            chart: format!("{name} of {}", self.chart.repo),
            error,
        })?;
        Chart::from_archive(&archive).map_err(|error| self.failed(&error))
    }

    /// The error of a chart that cannot be rendered.
    fn failed(&self, error: &dyn std::error::Error) -> HelmError {
        HelmError::Render {
            chart: self.chart.name.to_string(),
            error: error.to_string(),
        }
    }

    fn overrides(&self, chart: &Chart) -> Result<Overrides, HelmError> {
        let own = || {
            Ok(Cow::Borrowed(
                chart.values_file.as_ref().map_or(&[][..], |file| &file.data),
            ))
        };
        let mut files = vec![("values".to_owned(), self.chart.values(own, self.loader)?)];
        for file in &self.chart.additional_values_files {
            files.push((file.to_string(), self.loader.load(file)?.into_owned()));
        }
        Ok(Overrides {
            files,
            ..Overrides::default()
        })
    }

    fn release_name(&self, chance: &dyn Chance) -> Result<String, HelmError> {
        let chart = self.chart;
        match (chart.release_name.as_str(), chart.name_template.as_str()) {
            ("", "") => Ok(generated_name(&chart.name, chance.now().0)),
            ("", template) => name_of_template(template, chance).map_err(|error| self.failed(&error)),
            (name, "") => Ok(name.to_owned()),
            _ => Err(HelmError::TwoNames(chart.name.to_string())),
        }
    }

    fn capabilities(&self) -> Result<Capabilities, CapabilitiesError> {
        let version = match self.settings.kube_version.as_str() {
            "" => self.chart.kube_version.as_str(),
            given => given,
        };
        if self.settings.api_versions.is_empty() {
            Capabilities::of(version, self.chart.api_versions.iter().map(CompactString::as_str))
        } else {
            Capabilities::of(version, self.settings.api_versions.iter().map(String::as_str))
        }
    }
}

/// A link in a chart leads to a folder outside of it.
#[derive(Debug, thiserror::Error)]
#[error("{0}: a link to a folder outside of the chart")]
struct LinkOutside(String);

/// A file of a chart has too many bytes.
#[derive(Debug, thiserror::Error)]
#[error("chart file {path} is larger than the maximum file size {most}")]
struct FileTooLarge {
    path: String,
    most: u64,
}

/// The folder of a chart in the tree of the build. What links lead to outside of it is read as far as the
/// build may read it.
struct Inside<'a> {
    loader: &'a Loader<'a>,
    folder: &'a str,
    /// The folder with links resolved.
    root: &'a str,
}

impl Inside<'_> {
    fn at(&self, path: &str) -> String {
        match path {
            "" => self.folder.to_owned(),
            path => path::join(self.folder, path),
        }
    }
}

impl Folder for Inside<'_> {
    fn entry(&self, path: &str) -> Result<FolderEntry, ForeignError> {
        match self.loader.tree().canonical(&self.at(path)) {
            Ok(found) if found.directory => {
                if path::is_within(&found.path, self.root) {
                    Ok(FolderEntry::Folder)
                } else {
                    Err(LinkOutside(path.to_owned()).into())
                }
            }
            Ok(_) => Ok(FolderEntry::File),
            Err(TreeError::Missing(_)) => Ok(FolderEntry::Absent),
            Err(error) => Err(error.into()),
        }
    }

    fn names(&self, path: &str) -> Result<Vec<String>, ForeignError> {
        Ok(self.loader.tree().list(&self.at(path))?)
    }

    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, ForeignError> {
        let file = self.at(path);
        let tree = self.loader.tree();
        let is_own = tree
            .canonical(&file)
            .is_ok_and(|found| path::is_within(&found.path, self.root));
        let bytes = if is_own {
            tree.read(&file)?
        } else {
            self.loader.load(&file)?
        };
        if bytes.len() as u64 > most {
            let path = path.to_owned();
            Err(FileTooLarge { path, most }.into())
        } else {
            Ok(bytes.into_owned())
        }
    }
}
