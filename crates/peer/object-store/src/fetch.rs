//! The fetch of all objects of an index, several at a time (source-controller, `bucket_controller.go`,
//! *fetchIndexFiles*).

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::place::places;
use super::store::no_memory;
use super::{Bucket, BucketError, Index, Limits, Object, ObjectError};
use bumpwright_http::{Deadline, Job, server_text};

/// How many objects are fetched at a time. source-controller has 100; more than this is not faster on one machine.
const CONCURRENT: usize = 10;

/// Stores an object's contents at a path with slashes, without `..` and the like. It must read
/// to the end, and is called by several threads at once.
pub type Store<'s> = dyn Fn(&str, &mut dyn Read) -> io::Result<()> + Sync + 's;

/// The outcome for an object.
enum Outcome {
    /// It was overwritten after the listing.
    Changed(String),
    /// It was deleted after the listing.
    Gone,
}

/// Fetches all objects of an index. Overwritten objects have their new etag in the index afterwards; deleted ones
/// are removed from it, and their keys returned.
///
/// # Errors
/// [`BucketError`]; the store may then have some of the objects.
pub fn fetch(
    bucket: &Bucket,
    index: &mut Index,
    store: &Store<'_>,
    limits: Limits,
    deadline: Deadline,
) -> Result<Vec<String>, BucketError> {
    // Objects to be fetched, their paths, and the store's own list of them.
    let _copies = index.copies(2).map_err(|exceeded| BucketError::TooMuch {
        bucket: bucket.name().to_owned(),
        detail: no_memory(&exceeded),
    })?;
    let work = work(bucket, index, limits)?;
    let fetching = FetchJob {
        bucket,
        store,
        deadline,
        limits,
        left: AtomicU64::new(limits.bytes.min(USED_UP - 1)),
        stop: AtomicBool::new(false),
        work: Mutex::new(work.into_iter()),
        failed: Mutex::default(),
        outcomes: Mutex::default(),
    };
    let job = Job::current_or_new();
    thread::scope(|scope| {
        for _ in 0..CONCURRENT.min(index.len()) {
            scope.spawn(|| job.run(|| fetching.run()));
        }
    });
    if let Some(error) = fetching.failed.into_inner() {
        return Err(error);
    }
    let outcomes = fetching.outcomes.into_inner();
    let mut gone = Vec::new();
    for (key, outcome) in outcomes {
        match outcome {
            Outcome::Changed(etag) => index.insert(Object {
                etag,
                ..Object::named(key)
            }),
            Outcome::Gone => {
                index.remove(&key);
                gone.push(key);
            }
        }
    }
    gone.sort();
    Ok(gone)
}

/// The objects with their paths, after a check of all.
fn work(bucket: &Bucket, index: &Index, limits: Limits) -> Result<Vec<(Object, String)>, BucketError> {
    let keys = index.objects().map(|object| object.key.as_str());
    let places = places(keys).map_err(|(key, detail)| BucketError::Place {
        bucket: bucket.name().to_owned(),
        key: key.escape_debug().to_string(),
        detail,
    })?;
    let listed = index.objects().filter_map(|object| object.size);
    if listed.fold(0_u64, u64::saturating_add) > limits.bytes {
        return Err(too_much(bucket, limits));
    }
    let objects = places.into_iter();
    Ok(objects
        .filter_map(|(key, place)| Some((index.get(key)?.clone(), place)))
        .collect())
}

fn too_much(bucket: &Bucket, limits: Limits) -> BucketError {
    BucketError::TooMuch {
        bucket: bucket.name().to_owned(),
        detail: format!("the objects have more than {} bytes", limits.bytes),
    }
}

struct FetchJob<'f> {
    bucket: &'f Bucket,
    store: &'f Store<'f>,
    deadline: Deadline,
    limits: Limits,
    /// The remaining bytes of the limit.
    left: AtomicU64,
    stop: AtomicBool,
    work: Mutex<std::vec::IntoIter<(Object, String)>>,
    failed: Mutex<Option<BucketError>>,
    outcomes: Mutex<Vec<(String, Outcome)>>,
}

impl FetchJob<'_> {
    fn run(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            let next = self.work.lock().next();
            let Some((object, place)) = next else { return };
            let outcome = match self.one(&object, &place) {
                Ok(None) => continue,
                Ok(Some(outcome)) => outcome,
                Err(ObjectError::Missing(_)) => Outcome::Gone,
                Err(cause) => return self.fail(&object.key, cause),
            };
            let mut outcomes = self.outcomes.lock();
            outcomes.push((object.key, outcome));
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the rest of an object that was stored; bound: what is left of `--max-content-size`; account: none, dropped as it is read"
    )]
    fn one(&self, object: &Object, place: &str) -> Result<Option<Outcome>, ObjectError> {
        let limit = usize::try_from(self.limits.bytes).unwrap_or(usize::MAX);
        let mut contents = self.bucket.get(object, limit, self.deadline)?;
        let etag = contents.etag.clone();
        let mut counted = Counted {
            inner: &mut contents,
            left: &self.left,
        };
        (self.store)(place, &mut counted)?;
        // A store that did not read to the end would hide a truncated body.
        io::copy(&mut counted, &mut io::sink())?;
        Ok((etag != object.etag).then_some(Outcome::Changed(etag)))
    }

    fn fail(&self, key: &str, cause: ObjectError) {
        let mut failed = self.failed.lock();
        self.stop.store(true, Ordering::Relaxed);
        let used_up = self.left.load(Ordering::Relaxed) == USED_UP;
        let error = if used_up {
            too_much(self.bucket, self.limits)
        } else {
            BucketError::Object {
                bucket: self.bucket.name().to_owned(),
                key: server_text(key.as_bytes(), 1024),
                cause: Box::new(cause),
            }
        };
        failed.get_or_insert(error);
    }
}

/// The remaining bytes after the limit was exceeded.
const USED_UP: u64 = u64::MAX;

/// Subtracts read bytes from the limit.
struct Counted<'c, R> {
    inner: &'c mut R,
    left: &'c AtomicU64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let taken = u64::try_from(count).unwrap_or(u64::MAX);
        let less = |left: u64| match left {
            USED_UP => None,
            left => left.checked_sub(taken),
        };
        if self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_err()
        {
            self.left.store(USED_UP, Ordering::Relaxed);
            return Err(io::Error::other("too many bytes"));
        }
        Ok(count)
    }
}
