//! What a Kustomization makes of a tree of files, and the world that a build sees.

mod pipeline;
mod render;

pub use pipeline::*;
pub use render::*;
