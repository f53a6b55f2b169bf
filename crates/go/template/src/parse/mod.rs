//! Parses the text of a template into trees: Go's `text/template/parse`.

pub(crate) mod control;
pub(crate) mod display;
pub(crate) mod lex;
pub(crate) mod node;
pub(crate) mod pipeline;
pub(crate) mod scope;
pub(crate) mod token;
pub(crate) mod trees;
