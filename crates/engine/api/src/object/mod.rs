//! What objects of all kinds share, and core kinds.

pub(crate) mod annotations;
pub(crate) mod artifact;
pub(crate) mod conditions;
pub(crate) mod config_map;
pub(crate) mod duration;
pub(crate) mod field_places;
pub(crate) mod meta;
pub(crate) mod object_id;
pub(crate) mod secret;
pub(crate) mod selector;
pub(crate) mod selector_text;
pub(crate) mod service_account;
