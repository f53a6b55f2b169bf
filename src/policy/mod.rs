//! Image policies: their names and the images that they chose.

mod image;
mod name;

pub use image::LatestRef;
pub use name::PolicyName;
