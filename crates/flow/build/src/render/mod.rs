//! The world of a build: files on disk, repositories, files behind URLs, programs.
//!
//! The engine (`kustomize`) reads files through a tree and uses a world for the rest. These are the real ones:
//!
//! - [`DiskTree`]: the local file system.
//! - [`FolderTree`]: a local folder as the artifact of a source; [`Names`] are those in any artifact.
//! - [`GitTree`]: a commit of a repository, with its submodules, read from the mirror's objects without a checkout.
//! - [`RealWorld`]: repositories by their mirrors, files behind URLs by HTTP, plugins and functions as child processes.

mod disk;
mod folder_tree;
mod git_tree;
mod names;
mod programs;
mod world;

pub use disk::DiskTree;
pub use folder_tree::{FolderError, FolderTree};
pub use git_tree::GitTree;
pub use names::Names;
pub use world::{Fetches, Mirrors, RealWorld, fetch_reference};
