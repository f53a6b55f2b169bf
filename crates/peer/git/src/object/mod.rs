//! Git's objects: commits, trees, and walks through them.

pub(crate) mod ancestry;
pub(crate) mod commit;
pub(crate) mod edits;
pub(crate) mod history;
pub(crate) mod new_objects;
pub(crate) mod objects;
pub(crate) mod revision;
pub(crate) mod submodules;
pub(crate) mod time_limit;
pub(crate) mod tree;
pub(crate) mod walk;
