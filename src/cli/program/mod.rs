//! Commands about the program itself, each a file: its completions, manual pages and version; and the groups of its
//! help.

pub(crate) mod completions;
pub(crate) mod groups;
pub(crate) mod guesses;
pub(crate) mod man;
pub(crate) mod version;
