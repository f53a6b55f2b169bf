//! What Git says of a rollout: whether a commit has the images that were pushed, whether nothing else lies between two
//! commits, and the edits that put images back.

mod files;
mod planning;
mod put_back;

pub use files::{Commits, Ours};
pub use put_back::PutBack;
