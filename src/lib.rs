//! bumpwright keeps Kubernetes clusters up to date from Git: its command line, its controllers and its pages for
//! browsers. Everything else is in crates below `crates/`, on five floors (ARCHITECTURE.md).

pub mod cli;
