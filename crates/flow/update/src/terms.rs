//! The annotations of a policy that are judged anew in each run: when it may be written.

use bumpwright_api::ImagePolicy;
use bumpwright_gostd::Time;
use bumpwright_policy::{Closed, Windows};

/// The terms of a policy.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    windows: Option<Windows>,
}

impl Terms {
    /// Those of a policy that has some. One with an invalid annotation has none: it is closed.
    pub(super) fn of(policy: &ImagePolicy) -> Option<Self> {
        let windows = policy.guards().ok()?.windows;
        windows.is_some().then_some(Self { windows })
    }

    /// Checks that the policy may be written.
    pub(super) fn check_window(&self, now: &Time) -> Result<(), Closed> {
        self.windows.as_ref().map_or(Ok(()), |windows| windows.check(now))
    }
}
