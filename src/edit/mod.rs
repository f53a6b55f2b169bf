//! Marked fields in YAML files: find them, plan their new values, change their bytes and nothing else.

mod model;

pub use model::{Change, Images, ObjectId, Part, Reason, Setter, Skip, Verdict};
