//! Commit messages: the data of templates, and their rendering.
//!
//! A message is Go's `text/template` with Sprig's functions over the results of an update, with the fields of every
//! version of the API (docs/decisions.md C32), byte for byte as by image-automation-controller: a Gerrit Change-Id is a
//! hash over parts of it.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod data;
mod data_builder;
mod hint;
mod identity;
mod images;
mod impact;
mod impact_value;
mod names;
mod read;
mod receiver;
mod render;
mod results;
mod shared;
mod template_data;

pub use data::{Data, Era, FieldChange, ImageChange, ObjectIdentifier, ObjectName};
pub use data_builder::DataBuilder;
pub use impact::{
    ChangedObject, ChangedRelease, ChangedWorkload, ContainerImage, DeadMarker, Impact, KustomizationName, ObjectAction,
};
pub use read::{DataError, EXAMPLE, read};
pub use render::{DEFAULT_MESSAGE, MessageError, check, render};
