//! Images on their way from the registry to what runs.

pub(crate) mod evidence;
pub(crate) mod found;
pub(crate) mod images;
pub(crate) mod named;
pub(crate) mod standing;
pub(crate) mod uses;
pub(crate) mod version;
