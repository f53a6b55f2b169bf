//! The commit of a run, and its message.

pub(crate) mod create;
pub(crate) mod message;
pub(crate) mod review;
pub(crate) mod trailer;
