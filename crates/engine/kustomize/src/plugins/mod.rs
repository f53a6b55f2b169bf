//! Plugins that are programs: exec plugins, and functions of the KRM function specification.
//!
//! [`Plugin::load`] resolves the config of a generator or transformer; [`Plugin::generate`] and
//! [`Plugin::transform`] run it. Go plugins and containers are rejected with an error that says so.

mod arguments;
mod function;
mod program;

pub use program::{Plugin, PluginError};
