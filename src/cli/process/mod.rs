//! The process of a command: limits that it sets on itself, `--timeout`, and what it waits for.

pub(crate) mod confined;
pub(crate) mod progress;
pub(crate) mod time_limit;
pub(crate) mod waits;
