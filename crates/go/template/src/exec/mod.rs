//! Executes templates: walks their nodes and writes the output.

pub(crate) mod call;
pub(crate) mod eval;
pub(crate) mod failure;
pub(crate) mod fields;
pub(crate) mod host;
pub(crate) mod nested;
pub(crate) mod output;
pub(crate) mod range;
pub(crate) mod run;
pub(crate) mod set;
pub(crate) mod stack;
