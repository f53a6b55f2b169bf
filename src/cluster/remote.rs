//! Other clusters, by the text of a kubeconfig. It comes from a tenant, so it must stand for itself: neither files nor programs
//! of this machine are used (document 000, *KubeConfig (Remote clusters)*; CONTRACT K-111).

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use super::client::Cluster;
use super::error::ClusterError;
use super::watched::OnAnswer;

/// What a kubeconfig may do beyond the usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteRules {
    /// Run the program of `user.exec` (`--insecure-kubeconfig-exec`).
    pub exec: bool,
    /// Do without verifying the server's certificate (`--insecure-kubeconfig-tls`).
    pub skip_tls_verify: bool,
}

impl Cluster {
    /// The cluster of a kubeconfig's current context. The first request connects; `told` is told of each answer.
    ///
    /// Programs (`exec`) and `insecure-skip-tls-verify` are passed over unless the rules let them, as Flux does.
    ///
    /// # Errors
    /// [`ClusterError::Remote`], in the words of Go's libraries where they are known.
    pub async fn from_kubeconfig(text: &str, rules: RemoteRules, told: OnAnswer) -> Result<Self, ClusterError> {
        let mut file = Kubeconfig::from_yaml(text).map_err(|error| ClusterError::Remote(error.to_string()))?;
        stands_for_itself(&file).map_err(ClusterError::Remote)?;
        if file.clusters.is_empty() || file.current_context.as_deref().unwrap_or_default().is_empty() {
            return Err(ClusterError::Remote(NOTHING.to_owned()));
        }
        restrict(&mut file, rules);
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
        let config = config.map_err(|error| ClusterError::Remote(error.to_string()))?;
        Self::of_config(config, told)
    }
}

/// client-go, `clientcmd.ErrEmptyConfig`
const NOTHING: &str =
    "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable";

/// fluxcd/pkg `runtime/client`, `ValidateKubeConfig`
fn stands_for_itself(file: &Kubeconfig) -> Result<(), String> {
    for named in &file.clusters {
        let Some(cluster) = &named.cluster else { continue };
        if is_set(cluster.certificate_authority.as_ref()) {
            return Err(format!(
                "cluster '{}' references a certificate-authority file, only certificate-authority-data is supported",
                named.name
            ));
        }
    }
    for named in &file.auth_infos {
        let Some(user) = &named.auth_info else { continue };
        let fault = if is_set(user.token_file.as_ref()) {
            "a tokenFile, only an inline token is supported"
        } else if is_set(user.client_certificate.as_ref()) {
            "a client-certificate file, only client-certificate-data is supported"
        } else if is_set(user.client_key.as_ref()) {
            "a client-key file, only client-key-data is supported"
        } else {
            continue;
        };
        return Err(format!("user '{}' references {fault}", named.name));
    }
    Ok(())
}

fn is_set(text: Option<&String>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

/// Takes out what the rules do not let pass; whom a kubeconfig would impersonate is Flux's to say.
fn restrict(file: &mut Kubeconfig, rules: RemoteRules) {
    for user in file.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
        if !rules.exec {
            user.exec = None;
        }
        user.auth_provider = None;
        user.impersonate = None;
        user.impersonate_groups = None;
    }
    if !rules.skip_tls_verify {
        for cluster in file.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
            cluster.insecure_skip_tls_verify = None;
        }
    }
}
