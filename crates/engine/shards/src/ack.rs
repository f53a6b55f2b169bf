//! What a member says of itself, in its Lease.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The acknowledgement of a deal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ack {
    /// The epoch that the member is bound by.
    pub epoch: u64,
    /// Whether it is about to end: it begins no work, and gets no buckets.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub leaving: bool,
    /// The objects in work that are not its own (any more), or whose key may change, by their [`id`](crate::id).
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub busy: BTreeSet<u64>,
}

impl Ack {
    /// What another member wrote. An invalid text acknowledges nothing, so that the others wait for that member.
    #[must_use]
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// The text of the annotation.
    #[must_use]
    pub fn text(&self) -> String {
        bumpwright_json::written(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let ack = Ack {
            epoch: 7,
            leaving: true,
            busy: BTreeSet::from([3, (1 << 48) - 1]),
        };
        assert_eq!(Ack::read(&ack.text()), ack);
        assert_eq!(
            Ack {
                epoch: 7,
                ..Ack::default()
            }
            .text(),
            "{\"epoch\":7}"
        );
        assert_eq!(Ack::read("nonsense"), Ack::default());
    }
}
