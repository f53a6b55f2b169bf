//! Lists, dictionaries, and any value.

pub(crate) mod deep_copy;
pub(crate) mod deep_equal;
pub(crate) mod defaults;
pub(crate) mod dicts;
pub(crate) mod flow;
pub(crate) mod lists;
pub(crate) mod merging;
pub(crate) mod reflection;
