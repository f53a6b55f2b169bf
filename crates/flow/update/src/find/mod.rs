//! Finds the files with markers in a tree, reading only what is unknown.

pub(crate) mod facts;
pub(crate) mod index;
pub(crate) mod index_file;
pub(crate) mod path;
pub(crate) mod ruled;
pub(crate) mod survey;
pub(crate) mod tree;
