//! Attacks of hostile tenants against one real controller that serves all of them and an innocent tenant
//! (`docs/how/security.md`). A file for each family of attacks, named after the attempt; each test ends with
//! [`siege::Siege::stands`].
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod act_with_more_rights;
mod answer_without_end;
mod ask_without_end;
mod borrow_a_digest;
mod burst_a_pack;
mod claim_a_year;
mod confuse_signatures;
mod copy_into_config_maps;
mod crowd_the_servers;
mod drown_in_blobs;
mod fill_the_disk;
mod fill_the_tags;
mod garble;
mod garble_artifacts;
mod garble_manifests;
mod garble_webhooks;
mod git_objects;
mod hold_all_workers;
mod leave_a_core;
mod lie_over_ssh;
mod list_without_end;
mod meter;
mod mislead_a_promotion;
mod name_a_file;
mod nest_submodules;
mod outlive_deletion;
mod read_anothers_policy;
mod read_anothers_repository;
mod read_anothers_tags;
mod read_drift_of_secrets;
mod read_the_cache;
mod redirect_inside;
mod search_without_end;
mod send_a_cloud_token_elsewhere;
mod siege;
mod signed_artifacts;
mod swell_a_pattern;
mod swell_a_signature;
mod swell_an_artifact;
mod swell_an_index;
mod swell_objects;
mod take_the_controllers_token;
mod take_the_jobs_token;
mod tarpit;
mod unfold_a_repository;
