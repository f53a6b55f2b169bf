//! `--output`: a run as text, JSON, Markdown and HTML, with links to the forge.

pub(crate) mod html;
pub(crate) mod impact;
pub(crate) mod json;
pub(crate) mod links;
pub(crate) mod markdown;
pub(crate) mod text;
