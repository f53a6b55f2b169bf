//! How a Bucket is reached: what its spec and Secrets say, if the feature gates allow it.

use super::error::SourceError;
use crate::controllers::context::Context;
use crate::controllers::tokens::{self, GateClosed};
use bumpwright_api::{Bucket, Objects};
use bumpwright_connect::{ConnectError, ProviderAccount, bucket};
use bumpwright_object_store::{BucketError, Settings};

pub(crate) use bumpwright_connect::bucket::timeout;

/// What a bucket's error is to its reconciliation.
pub(crate) fn refused(error: &BucketError) -> SourceError {
    ConnectError::from(error).into()
}

/// The settings to open a bucket with.
///
/// # Errors
/// What refuses the reconciliation.
pub(crate) fn settings(context: &Context, bucket: &Bucket, objects: &Objects) -> Result<Settings, SourceError> {
    let account = ProviderAccount::of(bucket).given();
    tokens::check_gate(context.settings.gates, account, "spec.serviceAccountName")
        .map_err(|closed| SourceError::fetch(GateClosed::REASON, closed.to_string()).stalled())?;
    Ok(bucket::settings(bucket, objects, &context.accounts, &context.clouds)?)
}
