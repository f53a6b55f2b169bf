//! Logins at Vault as a ServiceAccount (`--sops-vault-configmap`, `transit-engine.auth.fluxcd.io`; N-061).

use tokio::runtime::Handle;

use super::error::KeysError;
use crate::parts::context::Context;
use crate::tokens::{OWN, own};
use bumpwright_api::ObjectName;
use bumpwright_cloud::{Cloud, CloudError, TokenRequest, WorkloadIdentity};
use bumpwright_http::Deadline;
use bumpwright_kms::{LoginPaths, TRANSIT_ENGINE, TransitLogin, VaultLogins};

/// The field that names the ServiceAccount.
const FIELD: &str = "spec.decryption.serviceAccountName";

/// The logins of `account`, or of this process without one; None where neither its annotations nor
/// a ConfigMap say where.
///
/// # Errors
/// [`KeysError::VaultAnnotations`], [`KeysError::VaultTwice`]
pub(crate) fn logins(
    context: &Context,
    cloud: &Cloud,
    account: &Result<Option<WorkloadIdentity>, CloudError>,
) -> Result<Option<VaultLogins>, KeysError> {
    let annotated = match account {
        Ok(Some(account)) => TransitLogin::read(&account.annotations).map_err(KeysError::VaultAnnotations)?,
        Ok(None) | Err(_) => None,
    };
    let paths = match (annotated, &context.settings.kustomize.vault_config_map) {
        (None, None) => return Ok(None),
        (Some(login), None) => LoginPaths::Annotations(login),
        (None, Some(name)) => config_map(context, name.clone()),
        (Some(_), Some(name)) => {
            return Err(KeysError::VaultTwice {
                config_map: name.name.clone(),
            });
        }
    };
    let (cluster, issue, runtime) = (
        context.cluster.clone(),
        context.accounts.issue.clone(),
        Handle::current(),
    );
    let (cloud, account) = (cloud.operating(TRANSIT_ENGINE), account.clone());
    // Called on threads that may block, never on the runtime's own.
    let issue = move |audience: &str, deadline: Deadline| match &account {
        Ok(Some(account)) => {
            let token = cloud.service_account_token(account, audience, deadline);
            Ok(token?)
        }
        Ok(None) => {
            let name = runtime.block_on(own(&cluster, FIELD))?;
            let request = TokenRequest {
                namespace: &name.namespace,
                name: &name.name,
                audiences: &[audience],
                expiration: None,
                // The servers of the ConfigMap are the operator's choice.
                for_chosen: false,
            };
            issue(&request, deadline).map_err(|error| {
                format!("{OWN}: failed to create kubernetes token for controller service account '{name}': {error}")
                    .into()
            })
        }
        Err(error) => Err(error.clone().into()),
    };
    Ok(Some(VaultLogins {
        paths,
        issue: Box::new(issue),
    }))
}

/// The paths of a ConfigMap, which is read when they are needed.
fn config_map(context: &Context, name: ObjectName) -> LoginPaths {
    let (configs, runtime, named) = (context.configs.clone(), Handle::current(), name.to_string());
    let read = move || {
        let data = runtime.block_on(configs.data(&name));
        Ok(data?)
    };
    LoginPaths::ConfigMap {
        name: named,
        read: Box::new(read),
    }
}
