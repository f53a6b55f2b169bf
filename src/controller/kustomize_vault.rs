//! What decryption needs of the cluster to log in at Vault as a ServiceAccount (`--sops-vault-configmap`; N-061).

use std::collections::BTreeMap;

use tokio::runtime::Handle;

use super::context::Context;
use crate::api::ObjectName;
use crate::cloud::{CloudError, TokenRequest, WorkloadIdentity};
use crate::cluster::{CONFIG_MAP, Cluster};
use crate::keys::VaultLogins;
use crate::net::{Deadline, Secret};

/// The logins of `account`, or of this process where that is none; None when there is no ConfigMap of servers.
pub(super) fn logins(context: &Context, account: &Result<Option<WorkloadIdentity>, CloudError>) -> Option<VaultLogins> {
    let name = context.settings.kustomize.vault_config_map.clone()?;
    // Both are called on threads that may block, never on the runtime's own.
    let runtime = Handle::current();
    let reader = (context.cluster.clone(), runtime.clone(), name.clone());
    let read = move || {
        let (cluster, runtime, name) = &reader;
        let map = runtime.block_on(cluster.get(&CONFIG_MAP, name));
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
            Ok(None) => ("controller service account", own(&cluster, &runtime)?),
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

/// What Flux says before an error of the token of this process.
const OWN: &str = "failed to create provider access token for the controller";

/// The ServiceAccount that this process is. Flux reads its name out of the Pod's token; the API server knows it as well outside of
/// Pods.
fn own(cluster: &Cluster, runtime: &Handle) -> Result<ObjectName, String> {
    let own = runtime.block_on(cluster.own_account());
    let own = own.map_err(|error| format!("{OWN}: the API server does not say who the controller is: {error}"))?;
    own.ok_or_else(|| format!("{OWN}: it is no ServiceAccount; name one by spec.decryption.serviceAccountName"))
}
