//! bumpwright keeps Kubernetes clusters up to date from Git: the command line and the controllers. Everything else is in crates below
//! `crates/`, on floors (ARCHITECTURE.md).

pub mod cli;
pub mod controllers;
