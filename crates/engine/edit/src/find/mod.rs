//! Finds the marked fields of YAML: events, comments, and the scalars that they are bound to.

pub(crate) mod commented;
pub(crate) mod gap;
pub(crate) mod marker;
pub(crate) mod object;
pub(crate) mod parser;
pub(crate) mod remark;
pub(crate) mod repair;
pub(crate) mod scan;
pub(crate) mod sops;
pub(crate) mod strict;
pub(crate) mod texts;
pub(crate) mod values;
pub(crate) mod walk;
