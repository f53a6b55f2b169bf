//! Logins at Vault as a ServiceAccount (`--sops-vault-configmap`; N-061).

use std::collections::BTreeMap;

use tokio::runtime::Handle;

use crate::controllers::context::Context;
use crate::controllers::tokens::{OWN, own};
use bumpwright_api::ObjectName;
use bumpwright_cloud::{CloudError, TokenRequest, WorkloadIdentity};
use bumpwright_http::Deadline;
use bumpwright_kms::VaultLogins;
use bumpwright_secret::Secret;

/// The field that names the ServiceAccount.
const FIELD: &str = "spec.decryption.serviceAccountName";

/// The logins of `account`, or of this process without one; None without a ConfigMap of servers.
pub(crate) fn logins(context: &Context, account: &Result<Option<WorkloadIdentity>, CloudError>) -> Option<VaultLogins> {
    let name = context.settings.kustomize.vault_config_map.clone()?;
    // Both are called on threads that may block, never on the runtime's own.
    let runtime = Handle::current();
    let reader = (context.configs.clone(), runtime.clone(), name.clone());
    let read = move || {
        let (configs, runtime, name) = &reader;
        let map = runtime.block_on(configs.config_map(name));
        let map = map.map_err(|error| error.to_string())?;
        let data: Option<BTreeMap<String, String>> =
            serde_json::from_value(map.field("data")).map_err(|error| error.to_string())?;
        Ok(data.unwrap_or_default())
    };
    let (cluster, issue) = (context.cluster.clone(), context.accounts.issue.clone());
    let account = account.clone();
    let issue = move |audience: &str, deadline: Deadline| {
        let (whose, name) = match &account {
            Ok(Some(account)) => ("service account", ObjectName::new(&account.namespace, &account.name)),
            Ok(None) => ("controller service account", runtime.block_on(own(&cluster, FIELD))?),
            Err(error) => return Err(error.to_string()),
        };
        let request = TokenRequest {
            namespace: &name.namespace,
            name: &name.name,
            audiences: &[audience],
        };
        let token: Result<Secret, String> = issue(&request, deadline);
        token.map_err(|error| {
            let failed = format!("failed to create kubernetes token for {whose} '{name}': {error}");
            match account {
                Ok(None) => format!("{OWN}: {failed}"),
                _ => failed,
            }
        })
    };
    Some(VaultLogins {
        name: name.to_string(),
        read: Box::new(read),
        issue: Box::new(issue),
    })
}
