//! What registries and forges have said of the sources of images, for all that ask in this process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use bumpwright_registry::Origin;
use bumpwright_update::Answers;

/// How long the answers of forges are kept.
const ANSWERS_KEPT: Duration = Duration::from_secs(1800);

/// How long labels are kept. Those of a version hardly ever change.
const LABELS_KEPT: Duration = Duration::from_secs(24 * 3600);

/// The most images whose labels are kept.
const IMAGES: usize = 1000;

/// The UID of an ImageRepository, and its image with a version.
pub(crate) type Key = (String, String);

/// Labels and answers, each since a time.
#[derive(Debug, Default)]
pub(crate) struct KnownOrigins {
    labels: Mutex<Labels>,
    /// None before the first use.
    answers_since: Mutex<Option<Instant>>,
    /// Of the public forges, which all namespaces share: nobody has a login there.
    public: Arc<Answers>,
}

#[derive(Debug, Default)]
struct Labels {
    /// None before the first ones.
    since: Option<Instant>,
    known: BTreeMap<Key, Origin>,
}

impl Labels {
    fn is_fresh(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() <= LABELS_KEPT)
    }
}

impl KnownOrigins {
    /// The labels of an image.
    pub(crate) fn labels(&self, key: &Key) -> Option<Origin> {
        let labels = self.labels.lock();
        labels.known.get(key).filter(|_| labels.is_fresh()).cloned()
    }

    /// Keeps the labels of an image. Others make room when there are too many, or they are too old.
    pub(crate) fn keep(&self, key: Key, origin: Origin) {
        let mut labels = self.labels.lock();
        if !labels.is_fresh() || labels.known.len() >= IMAGES {
            *labels = Labels {
                since: Some(Instant::now()),
                known: BTreeMap::new(),
            };
        }
        labels.known.insert(key, origin);
    }

    /// The answers of the public forges.
    pub(crate) fn public(&self) -> Arc<Answers> {
        let mut since = self.answers_since.lock();
        if since.get_or_insert_with(Instant::now).elapsed() > ANSWERS_KEPT {
            *since = Some(Instant::now());
            self.public.renew();
        }
        Arc::clone(&self.public)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_of_a_version_and_of_the_repository_that_asked() {
        let known = KnownOrigins::default();
        let key = |uid: &str, version: usize| (uid.to_owned(), format!("web {version}"));
        let origin = Origin {
            revision: Some("aaa".to_owned()),
            ..Origin::default()
        };
        known.keep(key("u1", 1), origin.clone());
        assert_eq!(known.labels(&key("u1", 1)), Some(origin.clone()));
        assert_eq!(known.labels(&key("u1", 2)), None);
        assert_eq!(known.labels(&key("u2", 1)), None);
        for version in 2..=IMAGES + 1 {
            known.keep(key("u1", version), origin.clone());
        }
        assert_eq!(known.labels(&key("u1", 1)), None);
        assert_eq!(known.labels(&key("u1", IMAGES + 1)), Some(origin));
        assert!(Arc::ptr_eq(&known.public(), &known.public()));
    }
}
