//! The verification of a commit against a fleet.

pub(crate) mod attempt;
pub(crate) mod behind;
pub(crate) mod commit;
pub(crate) mod dead;
pub(crate) mod followed;
pub(crate) mod image_values;
pub(crate) mod images;
pub(crate) mod impact;
pub(crate) mod search;
pub(crate) mod server;
