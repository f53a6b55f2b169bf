//! What connections to the registries of sources are made with.

use crate::parts::context::Context;
use bumpwright_scan::Scanner;

/// What connections to registries are made with.
#[derive(Clone, Copy)]
pub(crate) struct Registries<'a> {
    pub(crate) shared: &'a Context,
    pub(crate) scanner: &'a Scanner,
}
