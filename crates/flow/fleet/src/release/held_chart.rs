//! A chart that stays in memory with the fleet.

use crate::release::kept_inputs::Digest;
use bumpwright_budget::{Exceeded, Reservation, Share};
use bumpwright_helm::Chart;

/// A chart, and its memory on the account of a tenant.
#[derive(Debug)]
pub(crate) struct HeldChart {
    pub(crate) chart: Chart,
    /// Of everything that it makes objects with.
    pub(crate) digest: Digest,
    _held: Option<Reservation>,
}

impl HeldChart {
    /// Takes the memory of a chart from the account, if there is one.
    ///
    /// # Errors
    /// The account has not so much left.
    pub(crate) fn new(digest: Digest, chart: Chart, account: Option<&Share>) -> Result<Self, Exceeded> {
        let held = account.map(|account| account.reserve(chart.bytes())).transpose()?;
        Ok(Self {
            chart,
            digest,
            _held: held,
        })
    }
}
