//! The build engine of kustomize v5.8, over trees of files in memory.
//!
//! ```text
//! tree of files ─▶ kustomization (read, check) ─▶ accumulate (resources, components, generators, transformers)
//!               ─▶ references, variables, order ─▶ objects
//! ```

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
