//! What opens the stanza of an age file.

use super::error::UnwrapError;
use zeroize::Zeroizing;

/// The result of one identity for one stanza.
pub(super) enum Unwrap {
    Done(Zeroizing<Vec<u8>>),
    NotMine,
    Failed(UnwrapError),
}
