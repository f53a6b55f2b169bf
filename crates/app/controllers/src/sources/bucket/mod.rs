//! `Bucket` as a source: from the objects of a bucket to an artifact (source-controller v1.9, `BucketReconciler`).

mod dereference;
mod error;
mod fetch;
mod remote;
mod status;
mod store;

use super::artifacts;
use super::artifacts::News;
use super::source::{Source, SourceRequest};
use super::status as conditions;
use bumpwright_api::{Bucket, BucketStatus, GoDuration};
use bumpwright_kube::{BUCKET, Kind};
use bumpwright_runtime::Status;
use bumpwright_storage::LATEST;
pub(crate) use error::Error;

impl Source for Bucket {
    const KIND: &'static Kind = &BUCKET;
    const LINK: Option<&'static str> = Some(LATEST);
    type Observed = BucketStatus;
    type Error = Error;

    fn interval(&self) -> Option<GoDuration> {
        self.spec.interval
    }

    async fn run(request: &SourceRequest<'_, Self>, status: &mut Status) -> Result<News, Error> {
        let objects = dereference::objects(request).await?;
        let fetched = fetch::bucket(request, artifacts::current(status), objects).await?;
        let revision = fetched.index.revision();
        let count = fetched.index.len();
        if fetched.files.is_some() {
            let message = format!("new upstream revision '{revision}'");
            request.rebuild_revision(status, &message).await;
        }
        conditions::fetched(status);
        let new = store::store(request, artifacts::current(status), fetched).await?;
        request.finish(status, new, &revision);
        status::stored(status, &revision);
        let name = &request.object.spec.bucket_name;
        Ok(format!("stored artifact with {count} fetched files from '{name}' bucket").into())
    }
}
