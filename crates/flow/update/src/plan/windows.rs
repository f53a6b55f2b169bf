//! Windows of automations and policies: what is planned at a time, and whether it may still be pushed later.

use std::cell::RefCell;

use crate::job::edits::Edits;
use crate::policy::policies::Policies;
use crate::policy::view::View;
use bumpwright_edit::{Change, Images, Reason, Verdict};
use bumpwright_gostd::Time;
use bumpwright_policy::{Closed, PolicyName};

/// The policies as a run sees them at a time: fields of those outside of their windows stay.
pub(crate) struct Timed<'a> {
    view: View<'a>,
    now: &'a Time,
    overwrites: bool,
    opens: RefCell<Option<Time>>,
}

impl<'a> Timed<'a> {
    pub(crate) fn new(view: View<'a>, now: &'a Time, overwrites: bool) -> Self {
        Self {
            view,
            now,
            overwrites,
            opens: RefCell::default(),
        }
    }

    /// When the first of the windows opens that a field waits for.
    pub(crate) fn opens(self) -> Option<Time> {
        self.opens.into_inner()
    }
}

impl Images for Timed<'_> {
    fn verdict(&self, policy: &PolicyName) -> Verdict<'_> {
        self.view.verdict(policy)
    }

    fn refusal(&self, policy: &PolicyName, from: &str, to: &str) -> Option<(Reason, String)> {
        self.view.refusal(policy, from, to)
    }

    fn closed(&self, policy: &PolicyName) -> Option<(Reason, String)> {
        let closed = self.view.policies.check_window(policy, self.now).err()?;
        let message = format!("ImagePolicy {policy} is {closed}");
        let mut first = self.opens.borrow_mut();
        *first = first.take().into_iter().chain(closed.opens).min_by(Time::order);
        Some((Reason::OutsideWindow, message))
    }

    fn overwrites(&self) -> bool {
        self.overwrites
    }
}

/// What becomes of planned changes at a later time.
pub(crate) enum Later {
    /// They may be pushed.
    Open,
    /// The run has to be planned again: a policy has closed.
    Stale,
    /// The automation has closed.
    Closed(Closed),
}

/// Checks planned changes right before they are pushed.
pub(crate) fn later(edits: &Edits, policies: &Policies, changes: &[Change], now: &Time) -> Later {
    match edits.check_window(now) {
        Err(closed) => Later::Closed(closed),
        Ok(())
            if changes
                .iter()
                .any(|change| policies.check_window(&change.policy, now).is_err()) =>
        {
            Later::Stale
        }
        Ok(()) => Later::Open,
    }
}

impl Edits {
    /// Checks that the automation may push.
    pub(crate) fn check_window(&self, now: &Time) -> Result<(), Closed> {
        self.windows.as_ref().map_or(Ok(()), |windows| windows.check(now))
    }
}
