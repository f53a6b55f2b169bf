//! Generators: ConfigMaps, Secrets, helm charts, service accounts; and the hash of content in a name.
//!
//! - [`GeneratorArgs`] are an entry of `configMapGenerator` or `secretGenerator`, [`GeneratorOptions`] its options;
//!   [`config_map`] and [`secret`] generate the object.
//! - [`name_hash`]: ten letters and digits that change with the content of an object.
//! - [`HelmChart`]: a chart, rendered in process or by the helm program.
//! - [`iam_policy`]: a service account for workload identity.

mod args;
mod data;
mod hash;
mod iam;
mod object;

pub use crate::helm::{HelmChart, HelmError, HelmGlobals, HelmSettings};
pub use args::{GeneratorArgs, GeneratorOptions};
pub use data::DataError;
pub(crate) use data::base64_lines;
pub(crate) use hash::is_added;
pub use hash::name_hash;
pub use iam::iam_policy;
pub use object::{GenerateError, config_map, secret};
