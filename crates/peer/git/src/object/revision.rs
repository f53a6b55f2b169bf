//! The revision text of a commit, as in statuses.

use gix::ObjectId;
use gix::hash::Kind;

use bumpwright_artifact::{Algorithm, Revision};

/// The revision of a commit found at `name`, which is empty for a commit without a reference.
#[must_use]
pub fn revision(name: &str, commit: ObjectId) -> Revision {
    let algorithm = match commit.kind() {
        Kind::Sha256 => Algorithm::Sha256,
        _ => Algorithm::Sha1,
    };
    Revision {
        name: name.to_owned(),
        algorithm,
        hash: commit.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C04
    #[test]
    fn the_algorithm_is_that_of_the_repository() {
        let (old, new) = (ObjectId::null(Kind::Sha1), ObjectId::null(Kind::Sha256));
        assert_eq!(
            revision("main", old).to_string(),
            format!("main@sha1:{}", "0".repeat(40))
        );
        assert_eq!(revision("", new).to_string(), format!("sha256:{}", "0".repeat(64)));
    }
}
