//! A chart in memory: metadata, values, templates, files and the charts that it contains.

mod bounds;
mod decode;
mod error;
mod folder;
mod head;
mod ignore;
mod load;
mod lock;
mod metadata;
mod package;

pub use bounds::MAX_CHART_BYTES;
pub(crate) use decode::Fields;
pub use error::{ArchiveError, ChartError, SizeError};
pub use folder::{Entry as FolderEntry, Folder, MAX_FILE_BYTES};
pub use head::HeadError;
pub use ignore::{IgnoreError, IgnoreRules};
pub use lock::Lock;
pub(crate) use lock::{spelled_time, time};
pub(crate) use metadata::Maintainer;
pub use metadata::{Dependency, Metadata, MetadataError};
pub use package::{PackageError, ReplaceError};

use std::borrow::Cow;
use std::sync::Arc;

use super::schema::documents::SchemaDocuments;
use super::values::Values;

/// A file of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path in the chart, with `/` between components.
    pub name: String,
    pub data: Vec<u8>,
}

impl File {
    /// Its text, with U+FFFD in the place of each byte that is not UTF-8.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        bumpwright_gostd::lossy(&self.data)
    }
}

/// A chart. Clones share its files.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// `Chart.yaml`, and `requirements.yaml` of older charts.
    pub metadata: Metadata,
    /// `Chart.lock`, or `requirements.lock` of older charts.
    pub lock: Option<Arc<Lock>>,
    /// `values.yaml`.
    pub values: Values,
    /// The same as it is written.
    pub values_file: Option<Arc<File>>,
    /// `values.schema.json`.
    pub schema: Option<Arc<File>>,
    /// What is below `templates/`.
    pub templates: Vec<Arc<File>>,
    /// Everything that has no meaning of its own: what templates see as `.Files`, and `crds/`.
    pub files: Vec<Arc<File>>,
    /// The charts in `charts/`.
    pub dependencies: Vec<Chart>,
    /// What its schema, and those of subcharts, refer to and was fetched; those of a subchart itself do not count.
    pub schemas_elsewhere: Arc<SchemaDocuments>,
}

impl Chart {
    /// Its name, or the alias that its parent gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The custom resource definitions of it and of its subcharts, with their paths from the root chart.
    pub fn crds<'c>(&'c self, path: &str, found: &mut Vec<(String, &'c Arc<File>)>) {
        for file in self.files.iter().filter(|file| file.name.starts_with("crds/")) {
            let extension = file.name.rsplit_once('.').map_or("", |(_, extension)| extension);
            let extensions = ["yaml", "yml", "json"];
            if extensions.iter().any(|known| extension.eq_ignore_ascii_case(known)) {
                found.push((format!("{path}/{}", file.name), file));
            }
        }
        for chart in &self.dependencies {
            chart.crds(&format!("{path}/charts/{}", chart.name()), found);
        }
    }
}

impl Chart {
    /// Whether it can be a release by its type: no library.
    pub fn check_type(&self) -> Result<(), ChartError> {
        match &*self.metadata.kind {
            "" | "application" => Ok(()),
            kind => Err(ChartError::Type(kind.to_owned())),
        }
    }

    /// Whether it can be a release: not a library, and with every chart that it needs.
    pub fn check_installable(&self) -> Result<(), ChartError> {
        self.check_type()?;
        let wanted = self.metadata.dependencies.iter().flatten().flatten();
        let has = |name: &str| self.dependencies.iter().any(|chart| chart.name() == name);
        let missing: Vec<String> = wanted.map(|one| one.name.clone()).filter(|name| !has(name)).collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(ChartError::MissingDependencies(missing))
        }
    }
}
