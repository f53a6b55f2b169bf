//! Installation: the definitions of the kinds, the manifests, and the migration from Flux.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod chart;
mod check;
mod crds;
mod deploy;
mod image;
mod moving_all;
mod moving_from_flux;
mod packaging;
mod refused;
mod schemas;
mod uninstall;
