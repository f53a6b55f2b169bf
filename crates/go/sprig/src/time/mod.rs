//! Dates, durations and zones.

pub(crate) mod clock;
pub(crate) mod dates;
pub(crate) mod durations;
pub(crate) mod methods;
pub(crate) mod values;
