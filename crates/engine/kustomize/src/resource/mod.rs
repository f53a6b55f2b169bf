//! Resources, and lists of them with an index by name.
//!
//! - [`Resource`]: a node with the build's metadata about it: its current and former ids, its origin, whether its
//!   name gets a hash. kustomize keeps this in annotations of the object; here they are fields, and annotations only
//!   where a program sees the object ([`Resource::with_annotations`]).
//! - [`ResId`]: type, name, namespace.
//! - [`ResMap`]: resources in order, found by id in constant time.
//! - [`read_resources`]: the resources of a file.
//! - [`Origin`]: the origin of a resource, as `buildMetadata` shows it.

mod annotations;
mod id;
mod map;
mod object;
mod origin;
mod read;

pub use id::ResId;
pub use map::{IdError, ResMap};
pub use object::{Behavior, Previous, Resource};
pub use origin::Origin;
pub use read::{ReadError, check, read_resources};
