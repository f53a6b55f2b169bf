//! `ImagePolicy`.

pub(crate) mod consent;
pub(crate) mod latest_image;
pub(crate) mod schema;
pub(crate) mod spec;
