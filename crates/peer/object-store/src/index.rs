//! The index of a bucket: keys and etags, whose digest is the revision (source-controller,
//! `internal/index`, *Digester*; `bucket_controller.go`, *fetchEtagIndex*).

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Read;

use sha2::{Digest, Sha256, Sha384, Sha512};

use super::store::no_memory;
use super::{Bucket, BucketError, Object, ObjectError};
use bumpwright_budget::{Exceeded, Reservation};
use bumpwright_http::{Deadline, Job};

/// The file of ignore rules, at the root of the bucket.
const IGNORE_FILE: &str = ".sourceignore";

/// The largest file of ignore rules, in bytes.
const RULES: usize = 1 << 20;

/// Memory is taken in steps of this many bytes.
const STEP: u64 = 64 << 10;

/// Limits on a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most indexed objects.
    pub objects: usize,
    /// The most listed objects, including ignored ones.
    pub listed: usize,
    /// The most bytes of all objects.
    pub bytes: u64,
}

impl Default for Limits {
    /// 100,000 objects of a million, 1 GiB.
    fn default() -> Self {
        Self {
            objects: 100_000,
            listed: 1_000_000,
            bytes: 1 << 30,
        }
    }
}

/// Objects by their keys. Their memory is on the account of the job as long as the index lives.
#[derive(Debug)]
pub struct Index {
    objects: BTreeSet<ByKey>,
    used: u64,
    held: Reservation,
}

/// An object that is ordered and found by its key, without a copy of it.
#[derive(Debug)]
struct ByKey(Object);

impl Borrow<str> for ByKey {
    fn borrow(&self) -> &str {
        &self.0.key
    }
}

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for ByKey {}

impl PartialOrd for ByKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key.cmp(&other.0.key)
    }
}

/// An index without objects.
impl Default for Index {
    fn default() -> Self {
        Self {
            objects: BTreeSet::new(),
            used: 0,
            held: Job::account().nothing(),
        }
    }
}

impl Index {
    /// Checks that the bucket exists, and reads its `.sourceignore`, if any.
    ///
    /// # Errors
    /// [`BucketError::Unconfirmed`], [`BucketError::NotFound`] and [`BucketError::IgnoreFile`].
    #[expect(
        clippy::disallowed_methods,
        reason = "the `.sourceignore` of a bucket; bound: 1 MiB; account: none, one for each reconciliation"
    )]
    pub fn ignore_file(bucket: &Bucket, deadline: Deadline) -> Result<Option<Vec<u8>>, BucketError> {
        let name = || bucket.name().to_owned();
        match bucket.exists(deadline) {
            Ok(true) => {}
            Ok(false) => return Err(BucketError::NotFound { bucket: name() }),
            Err(cause) => {
                return Err(BucketError::Unconfirmed {
                    bucket: name(),
                    cause: Box::new(cause),
                });
            }
        }
        let read = || {
            let mut contents = bucket.get(&Object::named(IGNORE_FILE), RULES, deadline)?;
            let mut rules = Vec::new();
            contents.read_to_end(&mut rules)?;
            Ok(rules)
        };
        match read() {
            Ok(rules) => Ok(Some(rules)),
            Err(ObjectError::Missing(_)) => Ok(None),
            Err(cause) => Err(BucketError::IgnoreFile {
                key: IGNORE_FILE.to_owned(),
                cause: Box::new(cause),
            }),
        }
    }

    /// Lists the bucket, without folders (`key/`), `.sourceignore` and the objects of `ignored`.
    ///
    /// # Errors
    /// [`BucketError::List`] and [`BucketError::TooMuch`].
    pub fn of(
        bucket: &Bucket,
        prefix: &str,
        ignored: impl Fn(&str) -> bool,
        limits: Limits,
        deadline: Deadline,
    ) -> Result<Self, BucketError> {
        let name = || bucket.name().to_owned();
        let too_much = |detail| BucketError::TooMuch { bucket: name(), detail };
        let mut index = Self::default();
        for (number, object) in bucket.list(prefix, deadline).enumerate() {
            let object = object.map_err(|cause| BucketError::List {
                bucket: name(),
                cause: Box::new(cause),
            })?;
            if number >= limits.listed {
                return Err(too_much(format!("it has more than {} objects", limits.listed)));
            }
            if object.key.ends_with('/') || object.key == IGNORE_FILE || ignored(&object.key) {
                continue;
            }
            index.take(&object).map_err(|exceeded| too_much(no_memory(&exceeded)))?;
            index.insert(object);
            if index.len() > limits.objects {
                return Err(too_much(format!(
                    "more than {} objects are to be fetched",
                    limits.objects
                )));
            }
        }
        Ok(index)
    }

    fn take(&mut self, object: &Object) -> Result<(), Exceeded> {
        self.used = self.used.saturating_add(object.memory());
        self.held.reach(self.used, STEP)
    }

    /// Takes memory for as many copies of all objects.
    pub(super) fn copies(&self, count: u64) -> Result<Reservation, Exceeded> {
        Job::account().reserve(self.used.saturating_mul(count))
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The objects in order of their keys.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().map(|object| &object.0)
    }

    /// Adds an object, or replaces its etag.
    pub fn insert(&mut self, object: Object) {
        self.objects.replace(ByKey(object));
    }

    pub(super) fn get(&self, key: &str) -> Option<&Object> {
        self.objects.get(key).map(|object| &object.0)
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.objects.remove(key);
    }

    /// The revision: `sha256:…`.
    #[must_use]
    pub fn revision(&self) -> String {
        format!("sha256:{}", self.hashed::<Sha256>())
    }

    /// Whether a revision, of any algorithm, is this index's. An invalid one is not.
    #[must_use]
    pub fn is_at(&self, revision: &str) -> bool {
        match revision.split_once(':') {
            Some(("sha256", digest)) => digest == self.hashed::<Sha256>(),
            Some(("sha384", digest)) => digest == self.hashed::<Sha384>(),
            Some(("sha512", digest)) => digest == self.hashed::<Sha512>(),
            _ => false,
        }
    }

    /// Each line is a key, a blank and its etag.
    fn hashed<D: Digest>(&self) -> String {
        let mut digest = D::new();
        for ByKey(object) in &self.objects {
            digest.update(&object.key);
            digest.update(" ");
            digest.update(&object.etag);
            digest.update("\n");
        }
        digest.finalize().iter().fold(String::new(), |mut out, byte| {
            // Writing to a string does not fail.
            let _ = write!(out, "{byte:02x}");
            out
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_budget::Memory;

    fn index(entries: &[(&str, &str)]) -> Index {
        let mut index = Index::default();
        for (key, etag) in entries {
            index.insert(Object {
                etag: (*etag).to_owned(),
                ..Object::named(*key)
            });
        }
        index
    }

    /// Lines of key, blank and etag, in order, as by source-controller's `Digester.String`.
    #[test]
    fn revisions_are_those_of_source_controller() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(index(&[]).revision(), format!("sha256:{empty}"));
        let some = index(&[("foo", "bar"), ("bar", "baz"), ("baz", "qux")]);
        assert_eq!(
            some.revision(),
            "sha256:a261322706782c1e1a170a605c12835c0e2e7fd8ae44639c0d4f9308085bc19f"
        );
    }

    #[test]
    fn objects_are_on_the_account_as_long_as_the_index_lives() {
        let memory = Memory::shared(1 << 20, "--fetch-memory");
        Job::on(memory.of("apps")).run(|| {
            let mut index = Index::default();
            let refused = (0..).find_map(|n| {
                let object = Object::named(format!("{n:0500}"));
                let taken = index.take(&object);
                index.insert(object);
                taken.err()
            });
            assert!(
                refused.is_some() && (500..900).contains(&index.len()),
                "{}",
                index.len()
            );
            assert!(index.copies(1).is_err());
            let fresh = Object {
                etag: "new".to_owned(),
                ..Object::named(format!("{:0500}", 0))
            };
            let count = index.len();
            index.insert(fresh.clone());
            assert_eq!((index.get(&fresh.key), index.len()), (Some(&fresh), count));
        });
        assert_eq!(memory.held(), 0);
    }

    #[test]
    fn keys_are_as_long_as_a_provider_has_them() {
        let checked = |key: String, etag: usize| {
            let etag = "e".repeat(etag);
            Object {
                etag,
                ..Object::named(key)
            }
            .checked()
        };
        for key in ["k".repeat(1024), "\u{1f511}".repeat(1024)] {
            assert_eq!(checked(key, 1024), Ok(()));
        }
        assert!(
            checked("k".repeat(1025), 0)
                .is_err_and(|error| error.to_string().contains("1025 characters, 1024 at most"))
        );
        assert!(
            checked(String::new(), 1025).is_err_and(|error| error.to_string().contains("1025 bytes, 1024 at most"))
        );
    }
}
