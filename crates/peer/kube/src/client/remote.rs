//! Other clusters, by the text of a kubeconfig. It comes from a tenant, so it must be self-contained: neither files nor
//! programs of this machine are used (Kustomization v1, *KubeConfig (Remote clusters)*; K-111).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use super::cluster::Cluster;
use super::login::{Login, TokenSource};
use crate::error::{ClusterError, RemoteError};
use crate::raw::watched::OnAnswer;
use bumpwright_http::Proxy;
use bumpwright_secret::Secret;
use bumpwright_yaml::{FileId, ReadOptions, read_first, write_json};

/// About how many bytes of memory the clients of a cluster take, with an open connection.
const CONNECTION: u64 = 128 << 10;

/// How many more where the system's certificate authorities count.
const SYSTEM: u64 = 192 << 10;

/// How many bytes of memory a byte of the settings takes: each of two clients has them.
const SETTINGS: u64 = 2;

/// Optional permissions of a kubeconfig.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteRules {
    /// Run the program of `user.exec` (`--insecure-kubeconfig-exec`).
    pub exec: bool,
    /// Skip the verification of the server's certificate (`--insecure-kubeconfig-tls`).
    pub skip_tls_verify: bool,
}

impl Cluster {
    /// The cluster of a kubeconfig's current context. The first request connects; `on_answer` is
    /// called for each answer.
    ///
    /// Programs (`exec`) and `insecure-skip-tls-verify` are ignored unless the rules allow them, as in Flux.
    ///
    /// # Errors
    /// [`ClusterError::Remote`], in the words of Go's libraries where known.
    pub async fn from_kubeconfig(text: &str, rules: RemoteRules, on_answer: OnAnswer) -> Result<Self, ClusterError> {
        let mut file = read(text)?;
        stands_for_itself(&file)?;
        usable_server(&file)?;
        restrict(&mut file, rules);
        let proxy = take_proxy(&mut file)?;
        let own = current(&mut file).and_then(|cluster| authorities(cluster));
        if let Some(Ok(pem)) = &own {
            certificates(pem)?;
        }
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
        let config = config.map_err(RemoteError::Client)?;
        let cluster = Self::of_config(config, proxy.as_ref(), |client| client, on_answer)?;
        Ok(cluster.weighing(text.len(), own.is_some()))
    }

    /// The cluster at `https://…`, with these certificate authorities (PEM; without them the system's), and
    /// a source of tokens.
    ///
    /// # Errors
    /// [`ClusterError::Remote`] for an unusable address or certificate authorities.
    pub fn with_tokens(
        address: &str,
        authorities: Option<&str>,
        tokens: TokenSource,
        on_answer: OnAnswer,
    ) -> Result<Self, ClusterError> {
        let url = address.parse();
        let url = url.map_err(|error| RemoteError::Address {
            address: address.to_owned(),
            error,
        })?;
        let mut config = Config::new(url);
        config.root_cert = authorities.map(certificates).transpose()?;
        let login = Login::new(tokens);
        let cluster = Self::of_config(config, None, |client| login.layer(client), on_answer)?;
        Ok(cluster.weighing(authorities.map_or(0, str::len), authorities.is_some()))
    }

    /// With the weight of connections that were made from settings of so many bytes.
    fn weighing(self, settings: usize, has_authorities: bool) -> Self {
        let authorities = if has_authorities { 0 } else { SYSTEM };
        self.with_connections_of(CONNECTION + authorities + SETTINGS * settings as u64)
    }
}

/// The address and certificate authorities (PEM) of a kubeconfig's current context.
pub fn kubeconfig_place(text: &Secret) -> Result<(String, Option<String>), RemoteError> {
    let mut file = read(text.expose())?;
    stands_for_itself(&file)?;
    let server = usable_server(&file)?.to_owned();
    let cluster = current(&mut file).ok_or(RemoteError::NoCluster)?;
    Ok((server, authorities(cluster).transpose()?))
}

/// The certificate authorities of a cluster, as PEM; what is around them need not be text.
fn authorities(cluster: &kube::config::Cluster) -> Option<Result<String, RemoteError>> {
    let data = cluster.certificate_authority_data.as_deref();
    let bytes = STANDARD.decode(data.filter(|data| !data.is_empty())?);
    let pem = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Some(pem.map_err(|_| RemoteError::NotBase64))
}

/// Parses certificates, with the errors of client-go (`rest.TLSConfigFor`).
fn certificates(pem: &str) -> Result<Vec<Vec<u8>>, RemoteError> {
    let ders = CertificateDer::pem_slice_iter(pem.as_bytes());
    let ders: Vec<Vec<u8>> = ders.filter_map(Result::ok).map(|one| one.to_vec()).collect();
    if ders.is_empty() {
        Err(RemoteError::NoAuthorities)
    } else {
        Ok(ders)
    }
}

/// The cluster of the current context.
fn current(file: &mut Kubeconfig) -> Option<&mut kube::config::Cluster> {
    let name = file.current_context.as_deref()?;
    let context = file.contexts.iter().find(|context| context.name == name)?;
    let name = &context.context.as_ref()?.cluster;
    let cluster = file.clusters.iter_mut().find(|cluster| cluster.name == *name)?;
    cluster.cluster.as_mut()
}

/// Removes the proxy of the current context, as kube does not support all kinds.
fn take_proxy(file: &mut Kubeconfig) -> Result<Option<Proxy>, RemoteError> {
    let address = current(file).and_then(|cluster| cluster.proxy_url.take());
    let Some(address) = address.filter(|address| !address.is_empty()) else {
        return Ok(None);
    };
    let proxy = Proxy::at(address);
    proxy.parts()?;
    Ok(Some(proxy))
}

/// Parses a file as client-go (`clientcmd.Load`, over sigs.k8s.io/yaml).
fn read(text: &str) -> Result<Kubeconfig, RemoteError> {
    let options = ReadOptions::sigs(FileId::NONE);
    let node = read_first(text.as_bytes(), &options).map_err(RemoteError::Syntax)?;
    let mut json = String::new();
    if let Some(node) = node {
        write_json(&node, &mut json).map_err(RemoteError::Number)?;
    }
    // An empty text, or null, is an empty configuration.
    let file = match json.trim() {
        "" | "null" => "{}",
        json => json,
    };
    Ok(serde_json::from_str(file)?)
}

/// The address of the server (client-go, `clientcmd.DirectClientConfig.ConfirmUsable`, as far as it is about that).
fn usable_server(file: &Kubeconfig) -> Result<&str, RemoteError> {
    let name = file.current_context.as_deref().unwrap_or("");
    let context = file.contexts.iter().find(|context| context.name == name);
    let context = context.and_then(|named| named.context.as_ref());
    let cluster = context.and_then(|context| file.clusters.iter().find(|cluster| cluster.name == context.cluster));
    let server = cluster.and_then(|named| named.cluster.as_ref()?.server.as_deref());
    match (context, cluster, server) {
        (None, ..) if !name.is_empty() => Err(RemoteError::NoContext(name.to_owned())),
        (_, None, _) => Err(RemoteError::Nothing),
        (_, Some(cluster), None | Some("")) => Err(RemoteError::NoServer(cluster.name.clone())),
        (.., Some(server)) => Ok(server),
    }
}

/// fluxcd/pkg `runtime/client`, `ValidateKubeConfig`
fn stands_for_itself(file: &Kubeconfig) -> Result<(), RemoteError> {
    for named in &file.clusters {
        let Some(cluster) = &named.cluster else { continue };
        if is_set(cluster.certificate_authority.as_ref()) {
            return Err(RemoteError::AuthorityFile(named.name.clone()));
        }
    }
    for named in &file.auth_infos {
        let Some(user) = &named.auth_info else { continue };
        let file = if is_set(user.token_file.as_ref()) {
            "a tokenFile, only an inline token is supported"
        } else if is_set(user.client_certificate.as_ref()) {
            "a client-certificate file, only client-certificate-data is supported"
        } else if is_set(user.client_key.as_ref()) {
            "a client-key file, only client-key-data is supported"
        } else {
            continue;
        };
        let user = named.name.clone();
        return Err(RemoteError::UserFile { user, file });
    }
    Ok(())
}

fn is_set(text: Option<&String>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

/// Removes what the rules do not allow, and impersonation, which is Flux's to decide.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A kubeconfig with these bytes as certificate authorities.
    fn with_authorities(bytes: &[u8]) -> String {
        let data = STANDARD.encode(bytes);
        format!(
            "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1', certificate-authority-data: '{data}'}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\ncurrent-context: c\n"
        )
    }

    #[tokio::test]
    async fn authorities_are_certificates_whatever_is_around_them() {
        const NONE: &str = "unable to load root certificates: unable to parse bytes as PEM block";
        let rules = RemoteRules::default();
        let used = async |bytes: &[u8]| {
            let text = with_authorities(bytes);
            let cluster = Cluster::from_kubeconfig(&text, rules, Arc::new(|_, _, _| {})).await;
            cluster.map(drop).map_err(|error| error.to_string())
        };
        assert!(used(b"hello").await.unwrap_err().contains(NONE));
        assert!(
            used(b"\xff-----BEGIN CERTIFICATE-----")
                .await
                .unwrap_err()
                .contains(NONE)
        );
        let text = with_authorities(b"\xffhello");
        assert!(kubeconfig_place(&Secret::new(text)).unwrap().1.is_some());
    }
}
