//! Requests about objects of any kind, and their answers.

pub(crate) mod annotate;
pub(crate) mod answer;
pub(crate) mod answered;
pub(crate) mod apply;
pub(crate) mod discovery;
pub(crate) mod dynamic;
pub(crate) mod lists;
pub(crate) mod pages;
pub(crate) mod path_segment;
pub(crate) mod resources;
pub(crate) mod stamps;
pub(crate) mod too_large;
pub(crate) mod watched;
