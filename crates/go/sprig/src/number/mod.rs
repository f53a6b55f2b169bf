//! Numbers and versions.

pub(crate) mod arithmetic;
pub(crate) mod cast;
pub(crate) mod conversion;
pub(crate) mod decimal;
pub(crate) mod semver;
