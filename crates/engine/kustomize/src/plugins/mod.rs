//! Plugins that are programs: exec plugins, and functions as the KRM function specification has them.
//!
//! [`Plugin::load`] finds out what the config of a generator or transformer stands for; [`Plugin::generate`] and
//! [`Plugin::transform`] run it. Go plugins and containers are refused with an error that says so.

mod arguments;
mod function;
mod program;

pub use program::{Plugin, PluginError};
