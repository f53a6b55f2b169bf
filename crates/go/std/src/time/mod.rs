//! Go's `time`: instants, durations, layouts.

pub(crate) mod civil;
pub(crate) mod digits;
pub(crate) mod duration;
pub(crate) mod format;
pub(crate) mod instant;
pub(crate) mod layout;
pub(crate) mod parse;
pub(crate) mod quote;
