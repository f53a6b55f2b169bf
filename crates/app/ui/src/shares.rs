//! Bounds that one person cannot use up for all others.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;

/// A number of things at once, and of those of one person.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    most: usize,
    of_one: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_person: HashMap<String, usize>,
}

/// One of them, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    shares: Shares,
    person: String,
}

impl Shares {
    pub(super) fn new(most: usize, of_one: usize) -> Self {
        Self {
            most,
            of_one,
            taken: Arc::default(),
        }
    }

    /// None when this person has too many, or all have.
    pub(super) fn take(&self, person: &str) -> Option<Share> {
        let mut taken = self.taken.lock();
        let own = taken.by_person.get(person).copied().unwrap_or(0);
        if taken.all >= self.most || own >= self.of_one {
            return None;
        }
        taken.all += 1;
        taken.by_person.insert(person.to_owned(), own + 1);
        Some(Share {
            shares: self.clone(),
            person: person.to_owned(),
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.taken.lock();
        taken.all = taken.all.saturating_sub(1);
        if let Entry::Occupied(mut own) = taken.by_person.entry(self.person.clone()) {
            *own.get_mut() -= 1;
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_person_leaves_some_for_others() {
        let shares = Shares::new(3, 2);
        let first = shares.take("ann").unwrap();
        let _second = shares.take("ann").unwrap();
        assert!(shares.take("ann").is_none());
        let _other = shares.take("bob").unwrap();
        assert!(shares.take("cleo").is_none(), "all are taken");
        drop(first);
        assert!(shares.take("ann").is_some());
        assert_eq!(shares.taken.lock().all, 2);
    }
}
