//! What choices have come to know of tags, for somebody who looks: when images were made, and
//! whether their signatures count.

use std::collections::{BTreeMap, HashMap};

use bumpwright_api::ObjectName;
use bumpwright_gostd::Time;
use bumpwright_policy::LatestRef;
use bumpwright_source::ImageUnverified;
use parking_lot::Mutex;

/// The most policies that are kept, and tags of one; more are forgotten all at once.
const POLICIES: usize = 2_000;
const TAGS: usize = 50;

/// The longest reason that is kept, in characters.
const LONGEST: usize = 300;

/// What is known of a tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// When its image was made, in seconds since 1970-01-01 UTC.
    pub made: Option<i64>,
    /// What the policy's last choice said of its signatures; none when they were not verified.
    pub signed: Option<SignatureVerdict>,
}

/// Whether the signatures of an image count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureVerdict {
    Accepted,
    /// With the start of the reason.
    Refused(String),
}

/// What is known, by policy.
#[derive(Debug, Default)]
pub(super) struct Book(Mutex<HashMap<ObjectName, Page>>);

#[derive(Debug, Default)]
struct Page {
    image: String,
    tags: BTreeMap<String, Known>,
}

impl Book {
    /// Forgets verdicts of the choice before: keys may have changed.
    pub(super) fn verifying(&self, policy: &ObjectName) {
        if let Some(page) = self.0.lock().get_mut(policy) {
            page.tags.values_mut().for_each(|known| known.signed = None);
        }
    }

    /// Notes when an image was made.
    pub(super) fn made(&self, policy: &ObjectName, image: &LatestRef, created: Option<&Time>) {
        self.note(policy, image, |known| known.made = created.map(Time::unix_seconds));
    }

    /// Notes whether the signatures of an image count.
    pub(super) fn judged(&self, policy: &ObjectName, image: &LatestRef, verdict: &Result<(), ImageUnverified>) {
        let verdict = match verdict {
            Ok(()) => SignatureVerdict::Accepted,
            Err(why) => SignatureVerdict::Refused(why.to_string().chars().take(LONGEST).collect()),
        };
        self.note(policy, image, |known| known.signed = Some(verdict));
    }

    /// What is known of the tags of an image.
    pub(super) fn of(&self, policy: &ObjectName, image: &str) -> BTreeMap<String, Known> {
        let pages = self.0.lock();
        let page = pages.get(policy).filter(|page| page.image == image);
        page.map(|page| page.tags.clone()).unwrap_or_default()
    }

    fn note(&self, policy: &ObjectName, image: &LatestRef, note: impl FnOnce(&mut Known)) {
        let mut pages = self.0.lock();
        if pages.len() >= POLICIES && !pages.contains_key(policy) {
            pages.clear();
        }
        let page = pages.entry(policy.clone()).or_default();
        if page.image != image.name || (page.tags.len() >= TAGS && !page.tags.contains_key(&image.tag)) {
            page.image.clone_from(&image.name);
            page.tags.clear();
        }
        note(page.tags.entry(image.tag.clone()).or_default());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use bumpwright_verify::cosign::CosignError;

    fn image(name: &str, tag: &str) -> LatestRef {
        LatestRef {
            name: name.to_owned(),
            tag: tag.to_owned(),
            digest: None,
        }
    }

    #[test]
    fn verdicts_are_those_of_the_last_choice_and_of_this_image() {
        let (book, policy) = (Book::default(), ObjectName::new("apps", "web"));
        book.made(&policy, &image("web", "1"), Some(&Time::unix(1_700_000_000, 0)));
        let unsigned = CosignError::NoMatch("x".repeat(1_000));
        book.judged(&policy, &image("web", "1"), &Err(unsigned.into()));
        let known = book.of(&policy, "web").remove("1").unwrap();
        assert_eq!(known.made, Some(1_700_000_000));
        assert!(matches!(known.signed, Some(SignatureVerdict::Refused(why)) if why.len() == LONGEST));
        book.verifying(&policy);
        book.judged(&policy, &image("web", "2"), &Ok(()));
        let known = book.of(&policy, "web");
        assert_eq!(
            (&known["1"].signed, &known["2"].signed),
            (&None, &Some(SignatureVerdict::Accepted))
        );
        assert_eq!(known["1"].made, Some(1_700_000_000));
        book.judged(&policy, &image("other", "1"), &Ok(()));
        assert!(book.of(&policy, "web").is_empty());
        assert!(book.of(&ObjectName::new("apps", "other"), "web").is_empty());
    }

    #[test]
    fn it_stays_small() {
        let book = Book::default();
        for number in 0..=POLICIES {
            let policy = ObjectName::new("apps", number.to_string());
            book.judged(&policy, &image("web", "1"), &Ok(()));
        }
        assert_eq!(book.0.lock().len(), 1);
        let policy = ObjectName::new("apps", "web");
        for tag in 0..=TAGS {
            book.made(&policy, &image("web", &tag.to_string()), None);
        }
        assert_eq!(book.of(&policy, "web").len(), 1);
    }
}
