//! Helm charts, rendered as `helm template` of Helm 4.3 does.
//!
//! ```text
//! archive or files ─▶ chart (metadata, ignore rules, subcharts)
//! files, --set     ─▶ values ─▶ dependencies (conditions, tags, imports) ─▶ coalesced values ─▶ schema
//! chart + values   ─▶ render (context, functions, templates) ─▶ manifest (documents, hooks, order of kinds) ─▶ text
//! ```
//!
//! [`Chart::from_files`] and [`Chart::from_archive`] read a chart, which any number of releases may share; [`render`]
//! makes the documents of one release. Nothing is fetched, and no file, clock or random number is used besides those
//! that the caller passes.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod chart;
mod error;
mod foreign_error;
mod index;
mod manifest;
mod release;
mod render;
mod schema;
mod seeded;
mod values;
mod yaml;

pub use chart::{
    ArchiveError, Chart, ChartError, Dependency, File, Folder, FolderEntry, HeadError, IgnoreError, IgnoreRules, Lock,
    MAX_CHART_BYTES, MAX_FILE_BYTES, Metadata, MetadataError, PackageError, ReplaceError, SizeError,
};
pub use error::{CapabilitiesError, HelmError, KubeVersionError, ReleaseError, SchemaFaults};
pub use foreign_error::ForeignError;
pub use index::{
    ChoiceError, Entry, Index, IndexDocument, IndexError, IndexScan, IndexText, MAX_INDEX_BYTES, Scanned, TableScan,
    read_entries,
};
pub use manifest::{Document, Hook, Rendered, Selection, TemplateNotFound, shown_only};
pub use release::{Capabilities, KubeVersion, Release, Settings, generated_name, render, render_sharing};
pub use render::{ParsedTemplates, name_of_template};
pub use schema::documents::SchemaDocuments;
pub use schema::missing_schema;
pub use seeded::Seeded;
pub use values::{
    Override, Overrides, SetError, UnreadValue, ValueReads, Values, ValuesError, merge_tables, merge_values,
    numbers_as_floats, read_table, read_values, set_value,
};
pub use yaml::{UnsupportedNumber, UnwrittenYaml, YamlError};
