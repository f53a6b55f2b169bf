//! What the commits of a repository tell of a field: reverts, promotions, changes.

pub(crate) mod difference;
pub(crate) mod past;
pub(crate) mod paths;
pub(crate) mod promotion;
pub(crate) mod reverts;
pub(crate) mod story;
pub(crate) mod taken_back;
