//! Programs that are run and waited for.

pub mod browser;
pub mod cli;
pub mod controller;
pub mod gotemplate_struct;
pub mod helm_controller;
pub mod memory_group;
pub mod oracle;
pub mod ports;
pub mod reply;
pub mod running;
pub mod waiting;
