//! The part of a Bucket's reconciliation that waits for servers and disks: its list, its objects, the archive of them.

use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::error::Error;
use crate::controllers::sources::archive::Making;
use crate::controllers::sources::source::Source;
use crate::controllers::sources::spool::{Spooled, keeping, temporary};
use bumpwright_api::{self as api, Artifact, ObjectName};
use bumpwright_artifact::IgnoreRules;
use bumpwright_budget::{BudgetedWriter, Share};
use bumpwright_http::Deadline;
use bumpwright_kube::BUCKET;
use bumpwright_object_store::{Bucket, BucketError, Index, Limits, Settings, fetch};
use bumpwright_source::{Content, Directory, Files, Keeping, Node};
use bumpwright_storage::Storage;

/// What is wanted of a bucket.
pub(crate) struct Wanted {
    pub(crate) settings: Settings,
    /// `spec.prefix`
    pub(crate) prefix: String,
    /// `spec.ignore`
    pub(crate) ignore: Option<String>,
    /// The revision of which nothing is wanted.
    pub(crate) made: Option<String>,
    /// For the list, and again for the objects.
    pub(crate) timeout: Duration,
}

/// What a bucket holds.
pub(crate) struct Synced {
    pub(crate) index: Index,
    /// None when the artifact has them.
    pub(crate) files: Option<Files>,
    /// Those that were listed and are gone.
    pub(crate) gone: Vec<String>,
}

/// Reads the list, and fetches the objects unless the artifact has them (`syncBucketArtifacts`). `folder` is for temporary files,
/// which have no names in it.
pub(crate) fn sync(wanted: &Wanted, folder: &Path, room: &Share) -> Result<Synced, Error> {
    let deadline = Deadline::after(wanted.timeout);
    let bucket = Bucket::open(&wanted.settings, deadline)?;
    let (rules, mut index) = listed(&bucket, wanted, deadline)?;
    if wanted.made.as_deref().is_some_and(|made| index.is_at(made)) {
        return Ok(Synced {
            index,
            files: None,
            gone: Vec::new(),
        });
    }
    let spool = Spool::new(keeping(temporary(folder)?, room));
    let store = |place: &str, contents: &mut dyn Read| spool.take(place, contents);
    let deadline = Deadline::after(wanted.timeout);
    let gone = fetch(&bucket, &mut index, &store, Limits::default(), deadline)?;
    let files = spool.files(rules);
    let files = files.map_err(|error| {
        let name = bucket.name();
        Error::BucketOperationFailed(format!("fetch from bucket '{name}' failed: {error}"))
    })?;
    Ok(Synced {
        index,
        files: Some(files),
        gone,
    })
}

/// The file of ignore rules, and what there is besides what it and the spec leave out.
fn listed(bucket: &Bucket, wanted: &Wanted, deadline: Deadline) -> Result<(Option<Vec<u8>>, Index), BucketError> {
    let file = Index::ignore_file(bucket, deadline)?;
    let rules = IgnoreRules::of_bucket(file.as_deref(), wanted.ignore.as_deref());
    let ignored = |key: &str| rules.ignored(&key.split('/').collect::<Vec<_>>(), false);
    let index = Index::of(bucket, &wanted.prefix, ignored, Limits::default(), deadline)?;
    Ok((file, index))
}

/// Up to this size objects are read side by side, in bytes; larger ones take turns.
const SMALL: u64 = 256 << 10;

/// Takes objects from several threads.
struct Spool(Mutex<Taken>);

struct Taken {
    keeping: Keeping<BufWriter<BudgetedWriter<File>>>,
    places: Vec<(String, Content)>,
}

impl Spool {
    fn new(keeping: Keeping<BufWriter<BudgetedWriter<File>>>) -> Self {
        Self(Mutex::new(Taken {
            keeping,
            places: Vec::new(),
        }))
    }

    fn take(&self, place: &str, contents: &mut dyn Read) -> io::Result<()> {
        let mut first = Vec::new();
        contents.take(SMALL).read_to_end(&mut first)?;
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = taken.keeping.keep(&mut first.chain(contents))?;
        taken.places.push((place.to_owned(), kept));
        Ok(())
    }

    /// All that was taken, with the file of ignore rules, which upstream archives too.
    fn files(self, rules: Option<Vec<u8>>) -> io::Result<Files> {
        let Taken { keeping, places } = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let kept = Spooled::of(keeping.out)?;
        let mut root = Directory::default();
        let rules = rules.map(|rules| (IgnoreRules::FILE_NAME.to_owned(), Content::Bytes(rules)));
        for (place, content) in rules.into_iter().chain(places) {
            put(&mut root, &place, content)
                .ok_or_else(|| io::Error::new(io::ErrorKind::NotADirectory, format!("'{place}' is below a file")))?;
        }
        Ok(Files::kept_in(root, Arc::new(kept)))
    }
}

fn put(root: &mut Directory, place: &str, content: Content) -> Option<()> {
    let mut path: Vec<Vec<u8>> = place.split('/').map(|name| name.as_bytes().to_vec()).collect();
    let name = path.pop()?;
    let file = bumpwright_source::File {
        executable: false,
        content,
    };
    root.make(&path)?.entries.insert(name, Node::File(file));
    Some(())
}

/// Writes the artifact. What is ignored was not fetched.
pub(crate) fn make(storage: &Storage, name: &ObjectName, revision: &str, files: &Files) -> Result<Artifact, Error> {
    let making = Making {
        storage,
        kind: &BUCKET,
        name,
        stem: revision.rsplit(':').next().unwrap_or_default(),
        revision,
        link: api::Bucket::LINK,
        metadata: Default::default(),
    };
    Ok(making.archive(files, &IgnoreRules::of_bucket(None, None))?)
}
