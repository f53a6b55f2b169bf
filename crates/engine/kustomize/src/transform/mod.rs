//! The built-in transformers that change fields: names, namespaces, labels, annotations, images, replicas, values.
//!
//! Each is a struct with its settings from `kustomization.yaml` or a plugin's config file, a `read` that parses
//! such a config (`apiVersion: builtin`), and an `apply`:
//!
//! | struct | config kind | applies to |
//! |---|---|---|
//! | [`Affix`] | `PrefixTransformer`, `SuffixTransformer` | an [`Object`] |
//! | [`Namespace`] | `NamespaceTransformer` | an [`Object`]; then [`Namespace::check`] on all |
//! | [`Metadata`] | `LabelTransformer`, `AnnotationsTransformer` | a node |
//! | [`ImageTag`] | `ImageTagTransformer` | a node |
//! | [`ReplicaCount`] | `ReplicaCountTransformer` | all [`Object`]s |
//! | [`ValueAdd`] | `ValueAddTransformer` | an [`Object`] |
//!
//! [`Object`] is their interface to a resource. [`label_specs`] returns the fields of an entry of `labels:`.

mod error;
mod image;
mod image_name;
mod metadata;
mod name;
mod namespace;
mod object;
mod replicas;
mod value_add;

pub use error::TransformError;
pub use image::{ImageChange, ImageTag};
pub use image_name::ImageName;
pub use metadata::{LabelOptions, Metadata, label_specs};
pub use name::{Affix, End};
pub use namespace::{Namespace, Subjects};
pub use object::{Id, IsClusterScoped, Object};
pub use replicas::ReplicaCount;
pub use value_add::{AddTarget, ValueAdd};
