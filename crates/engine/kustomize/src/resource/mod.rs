//! Objects as a build sees them, and lists of them that are searched by name.
//!
//! - [`Resource`]: a node with what the build knows of it: its ids of now and before, where it comes from, whether its
//!   name gets a hash. kustomize keeps this in annotations of the object; here they are fields, and annotations only
//!   where a program gets to see the object ([`Resource::with_annotations`]).
//! - [`ResId`]: type, name, namespace.
//! - [`ResMap`]: resources in order, found by id in constant time.
//! - [`read_resources`]: the resources of a file.
//! - [`Origin`]: where a resource comes from, as `buildMetadata` shows it.

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
pub use read::{ReadError, check, read_resources, resources_of};
