//! What the runs against one remote share.

use std::sync::Arc;

use crate::find::index::Index;
use crate::push::lane::Lanes;
use bumpwright_git::Mirror;

/// Resources shared by the runs against one remote.
#[derive(Clone)]
pub struct Place {
    /// The mirror of the remote, with the credentials of this run.
    pub mirror: Arc<Mirror>,
    /// Facts about its objects.
    pub index: Arc<Index>,
    /// Push locks, by reference.
    pub lanes: Arc<Lanes>,
    /// The clock, in seconds since 1970-01-01 UTC.
    pub now: fn() -> i64,
}
