//! bumpwright keeps Kubernetes clusters up to date from Git.
//!
//! ```text
//! policy + repository:  policy ─▶ edit ─▶ git(fetch, commit, push)
//! ```
//!
//! The rooms, and what each is for (`tests/architecture.rs` holds who may import whom). Those that import nothing of
//! the others but pure rooms are crates of their own below `crates/`, so that they build and are tested alone:
//!
//! | room | kind | what it is for |
//! |---|---|---|
//! | [`cli`] | glue | arguments as typed, what they mean, one file per command |
//! | [`controller`] | glue | the controllers of a cluster: queues, reconciliations, status, events |
//! | [`automation`] | glue | one run of an image update automation: resolve, fetch, plan, splice, commit, push, report |
//! | [`api`] | pure | wire types of the Kubernetes kinds, in all their versions |
//! | [`policy`] | pure | names of policies, the images that they chose, versions and ranges |
//! | [`edit`] | pure | markers in YAML: scan, plan, splice; only the bytes of marked scalars change |
//! | [`migrate`] | pure | manifests of older API versions become v1, byte by byte |
//! | [`message`] | pure | commit messages: the data of templates, limits, hints |
//! | [`sprig`] | pure | Sprig's functions for templates, by family |
//! | [`template`] | pure | Go's text/template and fmt over values with Go types |
//! | [`re2`] | pure | Go's regular expressions, in linear time |
//! | [`gostd`] | pure | Go's quoting, numbers, durations, dates and URLs, to the letter |
//! | [`yaml`] | pure | YAML as Go's libraries read and write it, in nodes that know their place |
//! | [`kustomize`] | pure | kustomize's build engine, over trees of files in memory |
//! | [`overlay`] | pure | from an artifact's files and a Kustomization's spec to built objects |
//! | [`substitute`] | pure | variables in objects after a build, as Flux' `postBuild` has them |
//! | [`health`] | pure | how far an object of a cluster is (kstatus), and when a wait for many is over |
//! | [`cel`] | pure | CEL expressions as Flux reads and evaluates them, over JSON objects |
//! | [`verify`] | pure | signatures of commits, tags and OCI artifacts, verified |
//! | [`sops`] | pure | SOPS files decrypted: formats, keys of age and OpenPGP, the seam for key services |
//! | [`pipeline`] | pure | what a Kustomization makes of a tree of files, for the controller and for `build -k` |
//! | [`storage`] | IO | the folder of artifacts, and the server that hands them out |
//! | [`webhook`] | pure | webhooks of forges and registries: who sent one, what it tells, which objects it is for |
//! | [`compare`] | pure | what differs between two sets of objects, by object and field |
//! | [`render`] | IO | the world of a build: files on disk, repositories, programs |
//! | [`remotes`] | glue | GitRepositories with their Secrets and identities as remotes |
//! | [`scan`] | glue | image repositories and policies: which tags there are, which image each policy gets |
//! | [`access`] | pure | Secrets as the settings of a peer and as signers: certificates, proxies, signing keys |
//! | [`signing`] | pure | signatures over commits: OpenPGP, SSH |
//! | [`apply`] | IO | objects become what a cluster has: stages, dry runs, drift, inventory, pruning |
//! | [`cluster`] | IO | the Kubernetes API server: read, watch, write |
//! | [`source`] | glue | what a reference of a repository is now, and its files as a tree for an archive |
//! | [`nearest`] | pure | which known name somebody meant |
//! | [`door`] | pure | who gets in and who goes when a server has too many connections |
//! | [`budget`] | pure | what jobs may use up: memory and room on disk that all share, and counts that one may reach |
//! | [`artifact`] | pure | archives of sources, ignore rules, digests and revisions |
//! | [`tags`] | IO | the tags that were scanned, on disk |
//! | [`registry`] | IO | OCI distribution: logins, tags, digests, ages of images |
//! | [`bucket`] | IO | objects of S3, Google Cloud Storage and Azure Blob Storage |
//! | [`cloud`] | IO | logins at AWS, Azure and Google |
//! | [`keys`] | IO | the key services of SOPS: AWS KMS, Google Cloud KMS, Azure Key Vault, Vault |
//! | [`forge`] | IO | pull requests at GitHub, Gitea and Forgejo |
//! | [`git`] | IO | mirror, transports, fetch, trees, commits, packs, push |
//! | [`observe`] | IO | what others see of a controller: logs, metrics, probes, events |
//! | [`net`] | IO | how a server is reached: secrets, trust, proxies, limits, one HTTP client for each peer |

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod access;
pub mod api;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // waits for a cluster
pub mod apply;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // edits folders in place, keeps its index on disk
pub mod automation;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // talks to stores of objects
pub mod bucket;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // reads arguments, environment and files
pub mod cli;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // asks metadata endpoints, reads the environment
pub mod cloud;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // talks to the API server
pub mod cluster;
pub mod compare;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // the life of a process in a cluster
pub mod controller;
pub use bumpwright_edit as edit;
pub mod forge;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // reads and writes repositories, here and on servers
pub mod git;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)]
// asks key services, reads files that Vault's variables name
pub mod keys;
pub use bumpwright_artifact as artifact;
pub use bumpwright_budget as budget;
pub use bumpwright_cel as cel;
pub use bumpwright_door as door;
pub use bumpwright_gostd as gostd;
pub use bumpwright_health as health;
pub use bumpwright_kustomize as kustomize;
pub use bumpwright_nearest as nearest;
pub mod message;
pub mod migrate;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // talks to servers
pub mod net;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // writes logs, serves metrics and probes, sends events
pub mod observe;
pub use bumpwright_overlay as overlay;
pub mod pipeline;
pub use bumpwright_policy as policy;
pub use bumpwright_re2 as re2;
pub use bumpwright_substitute as substitute;
pub use bumpwright_webhook as webhook;
pub use bumpwright_yaml as yaml;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // talks to registries, runs credential helpers
pub mod registry;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // asks for identities of this process
pub mod remotes;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // reads files, fetches repositories, runs programs
pub mod render;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // scans on several threads
pub mod scan;
pub mod signing;
pub mod source;
pub use bumpwright_sops as sops;
pub use bumpwright_sprig as sprig;
pub use bumpwright_storage as storage;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // a database on disk
pub mod tags;
pub use bumpwright_template as template;
pub use bumpwright_verify as verify;
