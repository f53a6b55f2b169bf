//! What applying an object would change.

pub(crate) mod admission;
pub(crate) mod change;
pub(crate) mod coming;
pub(crate) mod drift;
pub(crate) mod dry_run;
pub(crate) mod managers;
pub(crate) mod recall;
pub(crate) mod takeover;
