//! The connection settings of a Bucket, checked against the feature gates.

use super::Error;
use crate::controllers::context::Context;
use crate::controllers::tokens;
use bumpwright_api::{Bucket, Objects};
use bumpwright_connect::{ProviderAccount, bucket};
use bumpwright_object_store::Settings;

pub(crate) use bumpwright_connect::bucket::timeout;

/// The settings to open a bucket with.
///
/// # Errors
/// Errors that end the reconciliation.
pub(crate) fn settings(context: &Context, bucket: &Bucket, objects: &Objects) -> Result<Settings, Error> {
    let account = ProviderAccount::of(bucket).given();
    tokens::check_gate(context.settings.gates, account, "spec.serviceAccountName")?;
    Ok(bucket::settings(bucket, objects, &context.accounts, &context.clouds)?)
}
