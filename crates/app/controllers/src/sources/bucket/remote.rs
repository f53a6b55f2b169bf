//! The connection settings of a Bucket.

use super::Error;
use crate::parts::context::Context;
use bumpwright_api::{Bucket, Objects};
use bumpwright_connect::bucket;
use bumpwright_object_store::Settings;

pub(crate) use bumpwright_connect::bucket::timeout;

/// The settings to open a bucket with.
pub(crate) fn settings(context: &Context, bucket: &Bucket, objects: &Objects) -> Result<Settings, Error> {
    Ok(bucket::settings(bucket, objects, &context.accounts, &context.clouds)?)
}
