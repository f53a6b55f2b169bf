//! The objects of a Bucket, as files.

use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::error::Error;
use super::remote::{settings, timeout};
use crate::sources::source::{SourceRequest, run_on_network};
use crate::sources::spool::temporary_file;
use bumpwright_api::{self as api, Artifact, Objects};
use bumpwright_artifact::IgnoreRules;
use bumpwright_budget::{BudgetedWriter, Share};
use bumpwright_http::Deadline;
use bumpwright_object_store::{self as object_store, Bucket, BucketError, Index, Limits, Settings};
use bumpwright_source::{Content, Directory, Files, Keeping, Node, Spooled, keeping};

struct FetchRequest {
    settings: Settings,
    /// `spec.prefix`
    prefix: String,
    /// `spec.ignore`
    ignore: Option<String>,
    /// The revision that is not fetched.
    made: Option<String>,
    /// For the list, and again for the objects.
    timeout: Duration,
}

/// The contents of a bucket.
pub(super) struct FetchedBucket {
    pub(super) index: Index,
    /// None when the artifact has them.
    pub(super) files: Option<Files>,
}

/// Fetches the objects of the bucket, unless the artifact `current` has them.
pub(super) async fn bucket(
    request: &SourceRequest<'_, api::Bucket>,
    current: Option<Artifact>,
    objects: Objects,
) -> Result<FetchedBucket, Error> {
    let (context, bucket) = (Arc::clone(&request.sources.shared), request.object.clone());
    let namespace = request.name().namespace.clone();
    let made = current.map(|artifact| artifact.revision);
    let fetched = run_on_network(move || {
        let wanted = FetchRequest {
            settings: settings(&context, &bucket, &objects)?,
            prefix: bucket.spec.prefix.clone(),
            ignore: bucket.spec.ignore.clone(),
            made,
            timeout: timeout(&bucket),
        };
        let room = context.settings.fetches.spool.of(&namespace);
        fetch(&wanted, &context.settings.storage, &room)
    });
    let (fetched, gone) = fetched.await?;
    let name = &request.object.spec.bucket_name;
    for key in gone {
        let log = &request.request.log;
        log.info(&format!("indexed object '{key}' disappeared from '{name}' bucket"));
    }
    Ok(fetched)
}

/// Reads the list, and fetches the objects unless the artifact has them (`syncBucketArtifacts`). Also returns the keys
/// of listed objects that are gone. `folder` is for unnamed temporary files.
fn fetch(request: &FetchRequest, folder: &Path, room: &Share) -> Result<(FetchedBucket, Vec<String>), Error> {
    let deadline = Deadline::after(request.timeout);
    let bucket = Bucket::open(&request.settings, deadline)?;
    let (rules, mut index) = list(&bucket, request, deadline)?;
    if request.made.as_deref().is_some_and(|made| index.is_at(made)) {
        return Ok((FetchedBucket { index, files: None }, Vec::new()));
    }
    let spool = Spool::new(keeping(temporary_file(folder)?, room));
    let store = |place: &str, contents: &mut dyn Read| spool.take(place, contents);
    let deadline = Deadline::after(request.timeout);
    let gone = object_store::fetch(&bucket, &mut index, &store, Limits::default(), deadline)?;
    let files = spool.files(rules);
    let files = files.map_err(|error| {
        let name = bucket.name();
        Error::BucketOperationFailed(format!("fetch from bucket '{name}' failed: {error}"))
    })?;
    let files = Some(files);
    Ok((FetchedBucket { index, files }, gone))
}

/// The file of ignore rules, and the objects that neither it nor the spec excludes.
fn list(bucket: &Bucket, request: &FetchRequest, deadline: Deadline) -> Result<(Option<Vec<u8>>, Index), BucketError> {
    let file = Index::ignore_file(bucket, deadline)?;
    let rules = IgnoreRules::of_bucket(file.as_deref(), request.ignore.as_deref());
    let ignored = |key: &str| rules.ignored(&key.split('/').collect::<Vec<_>>(), false);
    let index = Index::of(bucket, &request.prefix, ignored, Limits::default(), deadline)?;
    Ok((file, index))
}

/// Smaller objects are read concurrently, in bytes; larger ones one after the other.
const SMALL: u64 = 256 << 10;

/// Receives objects from several threads.
struct Spool(Mutex<SpoolState>);

struct SpoolState {
    keeping: Keeping<BufWriter<BudgetedWriter<File>>>,
    places: Vec<(String, Content)>,
}

impl Spool {
    fn new(keeping: Keeping<BufWriter<BudgetedWriter<File>>>) -> Self {
        Self(Mutex::new(SpoolState {
            keeping,
            places: Vec::new(),
        }))
    }

    fn take(&self, place: &str, contents: &mut dyn Read) -> io::Result<()> {
        let mut first = Vec::new();
        contents.take(SMALL).read_to_end(&mut first)?;
        let mut taken = self.0.lock();
        let kept = taken.keeping.keep(&mut first.chain(contents))?;
        taken.places.push((place.to_owned(), kept));
        Ok(())
    }

    /// All received objects, with the file of ignore rules, which upstream archives too.
    fn files(self, rules: Option<Vec<u8>>) -> io::Result<Files> {
        let SpoolState { keeping, places } = self.0.into_inner();
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
