//! The deal: who owns which bucket.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::key::BUCKETS;

/// The owners of all buckets at an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deal {
    epoch: u64,
    /// By name, each once.
    members: Vec<String>,
    /// For each bucket the place of its owner in `members`.
    owners: Vec<usize>,
    /// For each bucket the epoch at which its owner got it.
    since: Vec<u64>,
}

/// A text that is not a deal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a deal: {0}")]
pub struct InvalidDeal(String);

/// A deal as it is written, before it is checked.
#[derive(Deserialize)]
struct Written {
    epoch: u64,
    members: Vec<String>,
    owners: Vec<usize>,
    since: Vec<u64>,
}

impl Deal {
    /// A deal of these owners; a bucket that has the same one in `old` has it since the same epoch. None without
    /// members, or with an owner for not all buckets.
    pub(crate) fn new(epoch: u64, owners: &[&str], old: Option<&Self>) -> Option<Self> {
        if owners.is_empty() || owners.len() != BUCKETS {
            return None;
        }
        let mut members: Vec<String> = owners.iter().map(|owner| (*owner).to_owned()).collect();
        members.sort_unstable();
        members.dedup();
        let places: BTreeMap<&str, usize> = members
            .iter()
            .enumerate()
            .map(|(at, name)| (name.as_str(), at))
            .collect();
        let since = owners.iter().enumerate().map(|(bucket, owner)| {
            let unchanged = old.filter(|old| old.owner(bucket) == Some(*owner));
            unchanged.and_then(|old| old.since(bucket)).unwrap_or(epoch)
        });
        let (since, owners) = (
            since.collect(),
            owners.iter().filter_map(|owner| places.get(owner).copied()).collect(),
        );
        Some(Self {
            epoch,
            members,
            owners,
            since,
        })
    }

    /// The same owners, each of whom has to take its buckets again.
    pub(crate) fn anew(self) -> Self {
        Self {
            since: vec![self.epoch; BUCKETS],
            ..self
        }
    }

    /// Reads the text of the annotation.
    pub fn read(text: &str) -> Result<Self, InvalidDeal> {
        let written: Written = serde_json::from_str(text).map_err(|error| InvalidDeal(error.to_string()))?;
        let Written {
            epoch,
            members,
            owners,
            since,
        } = written;
        let problem = if owners.len() != BUCKETS || since.len() != BUCKETS {
            format!(
                "{} owners and {} epochs for {BUCKETS} buckets",
                owners.len(),
                since.len()
            )
        } else if !members.is_sorted_by(|one, next| one < next) {
            "members are not in order".to_owned()
        } else if owners.iter().any(|owner| *owner >= members.len()) {
            "an owner is no member".to_owned()
        } else if since.iter().any(|since| *since == 0 || *since > epoch) {
            "a bucket is owned since an epoch that is none".to_owned()
        } else {
            return Ok(Self {
                epoch,
                members,
                owners,
                since,
            });
        };
        Err(InvalidDeal(problem))
    }

    /// The text of the annotation.
    #[must_use]
    pub fn text(&self) -> String {
        bumpwright_json::written(self)
    }

    /// Deals are numbered: each is one later than the one before.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Those with a bucket, by name.
    #[must_use]
    pub fn members(&self) -> &[String] {
        &self.members
    }

    /// The owner of a bucket.
    #[must_use]
    pub fn owner(&self, bucket: usize) -> Option<&str> {
        let member = self.members.get(*self.owners.get(bucket)?);
        member.map(String::as_str)
    }

    /// For each bucket since which epoch a member has it, if it does.
    pub(crate) fn of<'a>(&'a self, member: &str) -> impl Iterator<Item = Option<u64>> + use<'a> {
        let place = self.members.binary_search_by(|name| name.as_str().cmp(member)).ok();
        let owned = self.owners.iter().zip(&self.since);
        owned.map(move |(owner, since)| (Some(*owner) == place).then_some(*since))
    }

    /// The epoch at which the owner of a bucket got it.
    #[must_use]
    pub fn since(&self, bucket: usize) -> Option<u64> {
        self.since.get(bucket).copied()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let first = Deal::new(3, &["b"; BUCKETS], None).unwrap();
        let mut owners = ["b"; BUCKETS];
        owners[7] = "a";
        let second = Deal::new(4, &owners, Some(&first)).unwrap();
        assert_eq!((second.owner(7), second.since(7)), (Some("a"), Some(4)));
        assert_eq!((second.owner(8), second.since(8)), (Some("b"), Some(3)));
        assert_eq!(Deal::read(&second.text()), Ok(second));
    }

    #[test]
    fn what_is_no_deal_is_refused() {
        let good = Deal::new(3, &["b"; BUCKETS], None).unwrap().text();
        for (from, to) in [
            ("{", "["),
            ("\"b\"", "\"b\",\"a\""),
            ("\"b\"", ""),
            ("\"owners\":[0,", "\"owners\":["),
            ("\"owners\":[0,", "\"owners\":[1,"),
            ("\"epoch\":3", "\"epoch\":2"),
            ("\"since\":[3,", "\"since\":[0,"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            assert!(Deal::read(&bad).is_err(), "{bad}");
        }
    }
}
