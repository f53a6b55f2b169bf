//! Caches kept up to date by watches, and the memory that they take.

pub(crate) mod cache;
pub(crate) mod index;
pub(crate) mod json_text;
pub(crate) mod kept;
pub(crate) mod packed;
pub(crate) mod received;
