//! From image repositories and policies to images: connect, read the tags, choose, look up digest and age.
//!
//! ```text
//! ImageRepository + Secrets ─▶ connect ─▶ Scanner (tags) ─┐
//!                                           ImagePolicy ──┴▶ choose (verification) ─▶ image, or an error
//! ```

mod aged;
mod batch;
mod choose;
mod error;
mod image;
mod known;
mod lists;
mod scanner;
mod tags;
mod verification;

pub use batch::{Batch, Progress};
pub use choose::{Asked, Chosen, NoImage, choose, chooser};
pub use error::ScanError;
pub use image::{InvalidImage, reference_of, repository_reference};
pub use known::{Known, SignatureVerdict};
pub use scanner::{Missing, Scanner, ScannerOptions, Tags};
pub use tags::*;
pub use verification::VerificationError;
