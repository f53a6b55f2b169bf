//! From image repositories and policies to images: scan, choose, guard.
