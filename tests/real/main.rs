//! Real servers on the other side, one file each: what takes minutes to build, for `make test-real`.
//! `docs/tested-against.md` has the table of all real and stubbed servers of the tests.
#![allow(
    clippy::unwrap_used,
    clippy::duplicate_mod,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod artifacts;
mod beside;
mod buckets;
mod cosign;
mod flate;
mod flux_cli;
mod flux_neighbours;
#[path = "gitea/mod.rs"]
mod forgejo;
mod git_servers;
mod gitea;
mod kubernetes;
mod local_kms;
mod notation;
#[path = "../sources/observed.rs"]
#[allow(dead_code)]
mod observed;
#[path = "../views/server/seeded.rs"]
#[allow(dead_code)]
mod pages;
mod prometheus;
mod registries;
mod revoked;
#[path = "../sources/rounds.rs"]
#[allow(dead_code)]
mod rounds;
mod shards;
mod signed_images;
mod vault;
