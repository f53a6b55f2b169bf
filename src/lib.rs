//! bumpwright keeps Kubernetes clusters up to date from Git: its command line and its controllers. Everything else is in crates below
//! `crates/`, on five floors (ARCHITECTURE.md).

pub mod cli;
pub mod controllers;
