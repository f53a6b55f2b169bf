//! The objects that an automation refers to: its GitRepository, and the Secrets and ServiceAccounts of both.

use super::context::AutomationContext;
use super::error::Error;
use super::job;
use crate::dereference;
use bumpwright_api::{GitRepository, ImageUpdateAutomation, Objects};
use bumpwright_connect::{ProviderAccount, References};
use bumpwright_kube::GIT_REPOSITORY;

/// The automation's repository, if it may be used.
pub(super) async fn repository(
    context: &AutomationContext,
    automation: &ImageUpdateAutomation,
) -> Result<GitRepository, Error> {
    let name = automation.source_name();
    if context.shared.settings.no_cross_namespace_refs && name.namespace != automation.metadata.namespace_or_default() {
        return Err(Error::AccessDenied(format!(
            "can't access 'GitRepository/{name}', cross-namespace references have been blocked"
        )));
    }
    let object = context.shared.watched(&context.sources, &name).await;
    let object = object.map_err(|error| {
        if error.is_not_found() {
            format!("referenced git repository does not exist: {error}")
        } else {
            error.to_string()
        }
    })?;
    let repository = object.read(&GIT_REPOSITORY);
    Ok(repository.map_err(|error| format!("GitRepository/{name}: {error}"))?)
}

/// The Secrets and ServiceAccounts of the automation and its repository.
pub(super) async fn objects(
    context: &AutomationContext,
    automation: &ImageUpdateAutomation,
    repository: &GitRepository,
) -> Result<Objects, Error> {
    let secrets = job::signing_secret(automation)
        .into_iter()
        .chain(job::pull_request_secret(automation));
    let account = ProviderAccount::of(repository).within(automation.metadata.namespace_or_default());
    let references = References {
        provider_account: account.name(&context.shared.accounts),
        ..References::of(repository, &context.shared.accounts)
    };
    let objects = dereference::read(&context.shared, references.with_secrets(secrets)).await;
    Ok(objects.map_err(|error| error.to_string())?)
}
