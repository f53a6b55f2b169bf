//! The tags of a policy that are old enough, the newest first (`bumpwright.dev/minimum-age`).
//!
//! Every age is a request, so that not each of thousands of tags is asked for: the newest ones are, one by one, and
//! below them some in steps that grow, until one is old enough; then those in between, by halves. What is taken is
//! always old enough, and the next newer tag is not. That older versions were made earlier is assumed below the first
//! ones only, where a few days make no difference any more.

use std::collections::BTreeMap;

use super::choose::{Asked, NoImage};
use super::scanner::Scanner;
use bumpwright_api::Objects;
use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_policy::{GuardRefusal, Guards, LatestRef};

/// How many tags are asked for one by one.
const ONE_BY_ONE: usize = 20;

/// The tags of a choice by rank, with what is known of their ages.
pub(super) struct Aged<'a> {
    pub(super) scanner: &'a Scanner,
    pub(super) asked: &'a Asked<'a>,
    pub(super) objects: &'a Objects,
    pub(super) guards: &'a Guards,
    pub(super) now: &'a Time,
    /// The tags that take part, the newest first.
    pub(super) ranked: Vec<&'a str>,
    /// Those that were asked for and are too young, by their place, with when they were made.
    pub(super) young: BTreeMap<usize, (Option<Time>, GuardRefusal)>,
}

impl Aged<'_> {
    /// The place of the first tag from this one on that is old enough.
    ///
    /// # Errors
    /// [`NoImage::Age`] when a registry does not tell an age.
    pub(super) fn next(&mut self, from: usize) -> Result<Option<usize>, NoImage> {
        let count = self.ranked.len();
        if self.guards.minimum_age.is_none() {
            return Ok((from < count).then_some(from));
        }
        first_from(from, count, &mut |place| self.is_old_enough(place))
    }

    /// Why the newest tag is too young.
    pub(super) fn refusal(&self) -> Option<(LatestRef, GuardRefusal)> {
        let (place, (_, refusal)) = self.young.first_key_value()?;
        Some((self.image(*place)?, refusal.clone()))
    }

    /// When the first of the younger tags is old enough, so that the choice may be another one.
    pub(super) fn due(&self) -> Option<Time> {
        let minimum = self.guards.minimum_age?;
        let creations = self.young.values().filter_map(|(made, _)| made.as_ref());
        creations.map(|created| created.add(minimum)).min_by(Time::order)
    }

    /// What is to be said of newer tags that were passed over. It does not change with the time, as it is in a
    /// condition of a status.
    pub(super) fn passed_over(&self) -> Option<String> {
        let (place, (made, refusal)) = self.young.first_key_value()?;
        let image = self.image(*place)?;
        let minimum = self.guards.minimum_age?;
        let why = match made {
            Some(made) => format!(
                "it was made at {}, and is taken from {} on, since {minimum} of age at least is wanted",
                made.truncate(bumpwright_gostd::Duration::SECOND).written(RFC_3339),
                made.add(minimum)
                    .truncate(bumpwright_gostd::Duration::SECOND)
                    .written(RFC_3339)
            ),
            None => refusal.to_string(),
        };
        let others = match self.young.len() {
            0 | 1 => "",
            _ => "; there are others like it",
        };
        Some(format!("{image} is passed over: {why}{others}"))
    }

    fn image(&self, place: usize) -> Option<LatestRef> {
        Some(LatestRef {
            name: self.asked.tags.image.clone(),
            tag: (*self.ranked.get(place)?).to_owned(),
            digest: None,
        })
    }

    fn is_old_enough(&mut self, place: usize) -> Result<bool, NoImage> {
        if self.young.contains_key(&place) {
            return Ok(false);
        }
        let Some(image) = self.image(place) else {
            return Ok(false);
        };
        let (policy, repository) = (self.asked.policy, self.asked.repository);
        let created = self.scanner.created(policy, repository, self.objects, &image.tag);
        let created = created.map_err(|error| NoImage::Age {
            image: image.to_string(),
            error: Box::new(error),
        })?;
        if let Some(book) = self.scanner.notes() {
            book.made(&policy.metadata.object_name(), &image, created.as_ref());
        }
        match self.guards.check_age(created.as_ref(), self.now) {
            Ok(()) => Ok(true),
            Err(refusal) => {
                self.young.insert(place, (created, refusal));
                Ok(false)
            }
        }
    }
}

/// The first place from `from` on, of `count`, that is good: each of some, and then with steps that grow.
fn first_from<E>(
    from: usize,
    count: usize,
    is_good: &mut dyn FnMut(usize) -> Result<bool, E>,
) -> Result<Option<usize>, E> {
    let each = from.saturating_add(ONE_BY_ONE).min(count);
    for place in from..each {
        if is_good(place)? {
            return Ok(Some(place));
        }
    }
    let (mut bad, mut step) = (each.saturating_sub(1), 1_usize);
    let mut good = loop {
        let place = bad.saturating_add(step).min(count.saturating_sub(1));
        if place <= bad {
            return Ok(None);
        }
        if is_good(place)? {
            break place;
        }
        (bad, step) = (place, step.saturating_mul(2));
    };
    while good.saturating_sub(bad) > 1 {
        let middle = bad + (good - bad) / 2;
        if is_good(middle)? { good = middle } else { bad = middle }
    }
    Ok(Some(good))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_that_is_old_enough_is_found_with_few_requests() {
        for (count, young, from) in [
            (1, 0, 0),
            (1, 1, 0),
            (3, 2, 0),
            (20, 20, 0),
            (21, 20, 0),
            (22, 20, 1),
            (500, 300, 0),
            (500, 499, 0),
            (500, 500, 0),
            (5_000, 22, 3),
            (100_000, 70_000, 0),
            (5, 0, 5),
        ] {
            let mut asked = Vec::new();
            let found = first_from::<()>(from, count, &mut |place| {
                asked.push(place);
                Ok(place >= young)
            });
            let expected = (young.max(from) < count).then_some(young.max(from));
            assert_eq!(found.unwrap(), expected, "{count} {young} {from}");
            assert!(
                asked.len() <= ONE_BY_ONE + 34,
                "{count} {young}: {} requests",
                asked.len()
            );
            asked.sort_unstable();
            let all = asked.len();
            asked.dedup();
            assert_eq!(asked.len(), all, "{count} {young}: each once");
        }
        // An old version that was built again yesterday hides nothing of the newest.
        let ages = [0, 1, 0, 0, 1];
        let mut is_good = |place: usize| Ok::<_, ()>(ages[place] > 0);
        assert_eq!(first_from(0, 5, &mut is_good), Ok(Some(1)));
        assert_eq!(first_from(2, 5, &mut is_good), Ok(Some(4)));
        // What is taken is good, whatever the order.
        for seed in 0_usize..200 {
            let good = |place: usize| place % 7 == seed % 7 || place > 700 + seed;
            let found = first_from(0, 1_000, &mut |place| Ok::<_, ()>(good(place))).unwrap();
            assert!(good(found.unwrap()), "{seed}");
        }
    }
}
