//! Field specs: which fields of which objects a transformer touches.
//!
//! ```text
//! defaults.txt ─┐
//!               ├─▶ FieldConfig (tables of FieldSpec) ─▶ walk(spec, object, …, set) ─▶ set at each field found
//! configurations┘
//! ```
//!
//! * [`FieldSpec`]: a selector of types, a path, whether to create what is missing. [`FieldSpecs`]: a table of them,
//!   cheap to copy, with kustomize's rules of merging.
//! * [`FieldConfig`]: all tables. [`FieldConfig::builtin`] returns the defaults, [`FieldConfig::read`] parses a file of
//!   `configurations:`, [`FieldConfig::merge`] joins two.
//! * [`walk`], [`walk_all`]: call a function at the fields of one object.
//! * [`set_scalar`], [`set_entry`]: the usual functions to call.
//! * [`SharedEntries`]: entries that are one node to kustomize; to be settled after each change in place.
//! * [`settle`]: merges fields that differ in case, as Go does when it decodes JSON.
//! * [`Fields`]: reads a mapping field by field as Go decodes JSON into a struct; errors name the field and its place.

mod builtin;
mod config;
mod error;
mod read;
mod set;
mod settle;
mod shared;
mod spec;
mod split;
mod walk;

pub use config::{FieldConfig, NameReferences};
pub use error::{ConfigError, Fault, FieldError};
pub use read::Fields;
pub use set::{set_entry, set_scalar, untagged};
pub use settle::settle;
pub use shared::{SharedEntries, Step};
pub use spec::{FieldSpec, FieldSpecs};
pub use walk::{NewNode, walk, walk_all};

pub(crate) use config::{read_gvk, read_specs};
pub(crate) use set::{is_other_in_yaml_1_1, new_string, set_scalar_if_empty};
pub(crate) use settle::with_case;
pub(crate) use split::{split_path, split_path_smart};
pub(crate) use walk::walk_traced;
