//! `bumpwright update` as its user runs it: on folders and remotes, with its pull requests, changes and signatures.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod automations;
mod charts;
mod clusters;
mod consent;
mod fleet;
mod folder;
mod formats;
mod gerrit;
mod identities;
mod merge_requests;
mod mishaps;
mod pinned;
mod previews;
mod promotion;
mod pull_requests;
mod pushing;
mod races;
mod refspecs;
mod registries;
mod release_notes;
mod releases;
mod remote;
mod remote_faults;
mod remote_faults_ssh;
mod remote_repositories;
mod reverts;
mod rollouts;
mod rules;
mod signed_images;
mod signing;
mod verification;
mod windows;
