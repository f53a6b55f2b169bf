//! The build of a Kustomization, the same for the controller and for `build -k`; and the trees, repositories, URLs and
//! programs that builds read from.

mod pipeline;
mod render;

pub use pipeline::*;
pub use render::*;
