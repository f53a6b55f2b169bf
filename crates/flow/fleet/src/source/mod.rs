//! The files of a fleet's sources.

pub(crate) mod copied;
pub(crate) mod each_file;
pub(crate) mod error;
pub(crate) mod fetched;
pub(crate) mod files;
pub(crate) mod generator;
pub(crate) mod glob;
pub(crate) mod hashed_name;
pub(crate) mod meant;
pub(crate) mod repository;
