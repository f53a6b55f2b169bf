//! One object: its identity, metadata, and normal form.

pub(crate) mod digest;
pub(crate) mod identity;
pub(crate) mod ignore;
pub(crate) mod item;
pub(crate) mod metadata;
pub(crate) mod normalize;
pub(crate) mod order;
pub(crate) mod status;
pub(crate) mod unknown_fields;
