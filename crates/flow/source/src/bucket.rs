//! The objects of a Bucket, as files.

use std::fs;
use std::io::{self, BufWriter, Read};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::oci_layer::Keeping;
use crate::spool::{Spooled, keeping};
use crate::tree::{Content, Directory, File, Files, Node};
use bumpwright_artifact::IgnoreRules;
use bumpwright_budget::{BudgetedWriter, Share};
use bumpwright_http::Deadline;
use bumpwright_object_store::{self as object_store, Bucket, BucketError, Index, Limits, Settings};

/// Which objects of a bucket are fetched.
#[derive(Clone, Debug)]
pub struct BucketPick {
    pub settings: Settings,
    pub prefix: String,
    pub ignore: Option<String>,
    /// The revision that is not fetched again.
    pub made: Option<String>,
    /// For the list, and again for the objects.
    pub timeout: Duration,
}

/// The contents of a bucket.
#[derive(Debug)]
pub struct BucketFiles {
    pub index: Index,
    /// None when it is at the revision that was made.
    pub files: Option<Files>,
    /// The keys of listed objects that were gone when they were asked for.
    pub gone: Vec<String>,
}

/// Why the objects of a bucket are not fetched.
#[derive(Debug, thiserror::Error)]
pub enum BucketFetchError {
    #[error(transparent)]
    Store(#[from] BucketError),
    /// They are not the files of a folder, or cannot be kept.
    #[error("fetch from bucket '{bucket}' failed: {source}")]
    Kept { bucket: String, source: io::Error },
}

/// Reads the list, and fetches the objects unless they were (`syncBucketArtifacts`). They are kept in `file`, which is
/// made when it is needed.
///
/// # Errors
/// [`BucketFetchError`], and those of `file`.
pub fn fetch_bucket<E: From<BucketFetchError>>(
    pick: &BucketPick,
    file: impl FnOnce() -> Result<fs::File, E>,
    room: &Share,
) -> Result<BucketFiles, E> {
    let deadline = Deadline::after(pick.timeout);
    let store_failed = |error: BucketError| E::from(error.into());
    let bucket = Bucket::open(&pick.settings, deadline).map_err(store_failed)?;
    let (rules, mut index) = list(&bucket, pick, deadline).map_err(store_failed)?;
    if pick.made.as_deref().is_some_and(|made| index.is_at(made)) {
        return Ok(BucketFiles {
            index,
            files: None,
            gone: Vec::new(),
        });
    }
    let spool = Spool::new(keeping(file()?, room));
    let store = |place: &str, contents: &mut dyn Read| spool.take(place, contents);
    let deadline = Deadline::after(pick.timeout);
    let gone = object_store::fetch(&bucket, &mut index, &store, Limits::default(), deadline).map_err(store_failed)?;
    let files = spool.files(rules).map_err(|source| {
        let bucket = bucket.name().to_owned();
        E::from(BucketFetchError::Kept { bucket, source })
    })?;
    Ok(BucketFiles {
        index,
        files: Some(files),
        gone,
    })
}

/// The file of ignore rules, and the objects that neither it nor the spec excludes.
fn list(bucket: &Bucket, pick: &BucketPick, deadline: Deadline) -> Result<(Option<Vec<u8>>, Index), BucketError> {
    let file = Index::ignore_file(bucket, deadline)?;
    let rules = IgnoreRules::of_bucket(file.as_deref(), pick.ignore.as_deref());
    let ignored = |key: &str| rules.ignored(&key.split('/').collect::<Vec<_>>(), false);
    let index = Index::of(bucket, &pick.prefix, ignored, Limits::default(), deadline)?;
    Ok((file, index))
}

/// Smaller objects are read concurrently, in bytes; larger ones one after the other.
const SMALL: u64 = 256 << 10;

/// Receives objects from several threads.
struct Spool(Mutex<SpoolState>);

struct SpoolState {
    keeping: Keeping<BufWriter<BudgetedWriter<fs::File>>>,
    places: Vec<(String, Content)>,
}

impl Spool {
    fn new(keeping: Keeping<BufWriter<BudgetedWriter<fs::File>>>) -> Self {
        Self(Mutex::new(SpoolState {
            keeping,
            places: Vec::new(),
        }))
    }

    fn take(&self, place: &str, contents: &mut dyn Read) -> io::Result<()> {
        let mut first = Vec::new();
        contents.take(SMALL).read_to_end(&mut first)?;
        let mut taken = self.0.lock();
        let content = taken.keeping.keep(&mut first.chain(contents))?;
        taken.places.push((place.to_owned(), content));
        Ok(())
    }

    /// All received objects, with the file of ignore rules, which upstream archives too.
    fn files(self, rules: Option<Vec<u8>>) -> io::Result<Files> {
        let SpoolState { keeping, places } = self.0.into_inner();
        let spooled = Spooled::of(keeping.out)?;
        let mut root = Directory::default();
        let rules = rules.map(|rules| (IgnoreRules::FILE_NAME.to_owned(), Content::Bytes(rules)));
        for (place, content) in rules.into_iter().chain(places) {
            put(&mut root, &place, content)
                .ok_or_else(|| io::Error::new(io::ErrorKind::NotADirectory, format!("'{place}' is below a file")))?;
        }
        Ok(Files::kept_in(root, Arc::new(spooled)))
    }
}

fn put(root: &mut Directory, place: &str, content: Content) -> Option<()> {
    let mut path: Vec<Vec<u8>> = place.split('/').map(|name| name.as_bytes().to_vec()).collect();
    let name = path.pop()?;
    let file = File {
        executable: false,
        content,
    };
    root.make(&path)?.entries.insert(name, Node::File(file));
    Some(())
}
