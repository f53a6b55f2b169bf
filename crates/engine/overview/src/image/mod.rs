//! Images on their way from the registry to what runs.

pub(crate) mod images;
pub(crate) mod standing;
pub(crate) mod uses;
