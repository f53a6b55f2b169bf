//! Requests to the API server.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::DynamicResourceScope;
use kube::{Client, Config, Resource};
use parking_lot::RwLock;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::account::impersonating;
use super::clients::{Clients, Shared};
use super::connect::{Connect, REQUEST_TIMEOUT, Scope};
use super::limit::{Limit, Pace};
use super::user::User;
use super::{kubeconfig, proxied};
use crate::error::ClusterError;
use crate::fence::Fence;
use crate::kind::{Kind, LEASE, SERVICE_ACCOUNT};
use crate::object::Object;
use crate::raw::discovery::Discovery;
use crate::raw::lists::Lists;
use crate::raw::pages::{self, Pages};
use crate::raw::path_segment;
use crate::raw::watched::{OnAnswer, Watch};
use crate::watch::received::Received;
use bumpwright_api::ObjectName;
use bumpwright_budget::Budget;
use bumpwright_http::Proxy;

/// A Kubernetes API server, with the connections, limits and identity of its requests.
#[derive(Clone)]
pub struct Cluster {
    connect: Connect,
    on_answer: OnAnswer,
    limit: Limit,
    pub(crate) fence: Fence,
    clients: Shared,
    /// The clients that impersonate an account, over the connections of `clients`.
    acting: Option<Clients>,
    pub(crate) account: Option<ObjectName>,
    /// Its address: servers on one host may differ in their paths.
    place: Arc<str>,
    /// The memory budget of answers.
    pub(crate) budget: Budget,
    /// Whether the settings can be read again by `connect`.
    renewable: bool,
    /// About how many bytes connections take with their settings.
    connection_weight: u64,
    pub(crate) discovery: Arc<Discovery>,
    /// The lists that are shared by those with the same connection, for each account apart.
    pub(crate) lists: Arc<Lists>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cluster")
    }
}

impl Cluster {
    /// Reads the settings; the first request connects. `on_answer` is called for each answer.
    ///
    /// # Errors
    /// [`ClusterError::Connect`]
    pub async fn connect(connect: &Connect, on_answer: OnAnswer) -> Result<Self, ClusterError> {
        let limit = Limit::new(connect.pace);
        let clients = Clients::new(connect, &on_answer, &limit).await?;
        Ok(Self::of(clients, connect.clone(), on_answer, limit, true))
    }

    /// A server without settings on disk, through a proxy if one is given. `layer` wraps its clients.
    pub(crate) fn of_config(
        config: Config,
        proxy: Option<&Proxy>,
        layer: impl Fn(Client) -> Client,
        on_answer: OnAnswer,
    ) -> Result<Self, ClusterError> {
        // With the rate limit of a Go client.
        let connect = Connect {
            pace: Some(Pace::GO),
            ..Connect::default()
        };
        let limit = Limit::new(connect.pace);
        let Clients {
            plain,
            whole,
            watching,
            host,
            place,
        } = Clients::of(config, proxy, &on_answer, &limit)?;
        let clients = Clients {
            plain: layer(plain),
            whole: layer(whole),
            watching: layer(watching),
            host,
            place,
        };
        Ok(Self::of(clients, connect, on_answer, limit, false))
    }

    fn of(clients: Clients, connect: Connect, on_answer: OnAnswer, limit: Limit, renewable: bool) -> Self {
        let place = Arc::clone(&clients.place);
        Self {
            clients: Arc::new(RwLock::new(clients)),
            acting: None,
            account: None,
            place,
            discovery: Arc::default(),
            lists: Arc::default(),
            budget: Budget::default(),
            connect,
            on_answer,
            limit,
            fence: Fence::default(),
            renewable,
            connection_weight: 0,
        }
    }

    /// The same server, impersonating a ServiceAccount with its groups
    /// (fluxcd/pkg `runtime/client`, *Impersonator*). Connections are shared.
    ///
    /// # Errors
    /// [`ClusterError::Connect`] when the name is not valid for an account.
    pub fn as_account(&self, account: &ObjectName) -> Result<Self, ClusterError> {
        // Without groups, which the server knows.
        let user = User {
            groups: Vec::new(),
            ..User::account(account)
        };
        let acting = impersonating(&self.clients, &user)?;
        Ok(Self {
            acting: Some(acting),
            account: Some(account.clone()),
            ..self.clone()
        })
    }

    /// The same server, impersonating a user with groups, uid and extra. Connections are shared.
    ///
    /// # Errors
    /// [`ClusterError::Connect`] when one of them is not valid.
    pub fn as_user(&self, user: &User) -> Result<Self, ClusterError> {
        let acting = impersonating(&self.clients, user)?;
        Ok(Self {
            acting: Some(acting),
            // A user with groups is not an account: nothing is shared.
            lists: Arc::default(),
            ..self.clone()
        })
    }

    /// The same server, with requests only as long as the leases held at another one are valid.
    #[must_use]
    pub fn led_by(&self, other: &Self) -> Self {
        Self {
            fence: other.fence.clone(),
            ..self.clone()
        }
    }

    /// The same server, with this budget for answers.
    #[must_use]
    pub fn within(&self, budget: Budget) -> Self {
        Self { budget, ..self.clone() }
    }

    /// About how many bytes of memory another cluster takes: connections, and what is kept of its kinds and lists.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.connection_weight + self.discovery.weight() + self.lists.weight()
    }

    /// The same server, whose connections take about so many bytes of memory.
    pub(crate) fn with_connections_of(self, bytes: u64) -> Self {
        Self {
            connection_weight: bytes,
            ..self
        }
    }

    /// The server and the identity: different for clients with different rights.
    #[must_use]
    pub fn identity(&self) -> String {
        match &self.account {
            Some(account) => format!("{} as {account}", self.place),
            None => self.place.to_string(),
        }
    }

    /// Reads the settings again: a refused token may have been replaced on disk, and the client itself checks only
    /// once a minute. On failure everything stays unchanged.
    pub(crate) async fn renew(&self) {
        if self.renewable
            && let Ok(clients) = Clients::new(&self.connect, &self.on_answer, &self.limit).await
        {
            *self.clients.write() = clients;
        }
    }

    /// For answers that are read on an account.
    pub(crate) fn client(&self) -> Client {
        self.clients().plain
    }

    /// For answers that are read as a whole.
    pub(crate) fn whole(&self) -> Client {
        self.clients().whole
    }

    pub(crate) fn beside(&self, kind: &Kind, name: &ObjectName) -> Api<DynamicObject> {
        api(&self.whole(), kind, &name.namespace)
    }

    /// How long a watch may be silent before it is restarted.
    #[must_use]
    pub fn silence(&self) -> Duration {
        self.connect.silence
    }

    /// A request with the timeout of the settings.
    pub(crate) async fn bounded<T>(
        &self,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, ClusterError> {
        within(self.connect.patience, request).await
    }

    fn clients(&self) -> Clients {
        let shared = || self.clients.read().clone();
        self.acting.clone().unwrap_or_else(shared)
    }

    pub(crate) fn watched(&self, kind: &Kind, scope: &Scope, pages: Pages) -> Api<Received> {
        let client = pages.of(&self.clients().watching);
        api(&client, kind, scope.namespace.as_deref().unwrap_or_default())
    }

    /// Waits for the rate limit, by turns of tenants (a namespace, or none), and checks the leases.
    ///
    /// # Errors
    /// [`ClusterError::Deposed`]
    pub(crate) async fn wait_for_turn(&self, tenant: &str) -> Result<(), ClusterError> {
        self.limit.wait(tenant).await;
        self.fence.check()
    }

    /// Sends a request about the objects of a kind in a namespace, or in none. Repeated once with settings read again
    /// from disk after a 401.
    pub(crate) async fn request<K, T, Response>(
        &self,
        kind: &Kind,
        namespace: &str,
        call: impl Fn(Api<K>) -> Response,
    ) -> Result<T, ClusterError>
    where
        K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
        Response: Future<Output = Result<T, kube::Error>>,
    {
        let once = || async {
            // A lease that waits for the rate limit is lost.
            if kind.kind != LEASE.kind {
                self.wait_for_turn(namespace).await?;
            }
            self.bounded(call(api(&self.whole(), kind, namespace))).await
        };
        match once().await {
            Err(error) if error.is_unauthorized() => {
                self.renew().await;
                once().await
            }
            answer => answer,
        }
    }

    /// Reads an object.
    ///
    /// # Errors
    /// [`ClusterError::NotFound`] when it does not exist, and any other error of the server.
    pub async fn get(&self, kind: &'static Kind, name: &ObjectName) -> Result<Object, ClusterError> {
        path_segment::checked(name)?;
        let object = self
            .request(kind, &name.namespace, |api: Api<Received>| async move {
                api.get_opt(&name.name).await
            })
            .await?;
        object.map(Object::of).ok_or_else(|| ClusterError::NotFound {
            plural: kind.plural.to_owned(),
            group: kind.group.to_owned(),
            name: name.name.clone(),
        })
    }

    /// Reads an object into a type of `bumpwright_api`.
    ///
    /// # Errors
    /// As [`Cluster::get`], and [`ClusterError::Unreadable`].
    pub async fn read<T: DeserializeOwned>(&self, kind: &'static Kind, name: &ObjectName) -> Result<T, ClusterError> {
        let object = self.get(kind, name).await?;
        object.read(kind).map_err(|error| ClusterError::Unreadable {
            kind: kind.kind,
            name: name.clone(),
            error: error.to_string(),
        })
    }

    /// Changes metadata or spec of an object by a merge patch.
    pub async fn patch(
        &self,
        kind: &Kind,
        name: &ObjectName,
        manager: &str,
        patch: &Value,
    ) -> Result<Object, ClusterError> {
        path_segment::checked(name)?;
        let params = &managed_by(manager);
        let call = |api: Api<Received>| async move { api.patch(&name.name, params, &Patch::Merge(patch)).await };
        self.request(kind, &name.namespace, call).await.map(Object::of)
    }

    /// Changes the status of an object by a merge patch.
    pub async fn patch_status(
        &self,
        kind: &Kind,
        name: &ObjectName,
        manager: &str,
        patch: &Value,
    ) -> Result<Object, ClusterError> {
        path_segment::checked(name)?;
        let params = &managed_by(manager);
        let call = |api: Api<Received>| async move { api.patch_status(&name.name, params, &Patch::Merge(patch)).await };
        self.request(kind, &name.namespace, call).await.map(Object::of)
    }

    pub async fn create(&self, kind: &'static Kind, namespace: &str, object: &Value) -> Result<(), ClusterError> {
        let object = &DynamicObject::deserialize(object).map_err(|error| ClusterError::Unreadable {
            kind: kind.kind,
            name: ObjectName::new(namespace, ""),
            error: error.to_string(),
        })?;
        let call = |api: Api<DynamicObject>| async move { api.create(&PostParams::default(), object).await };
        self.request(kind, namespace, call).await.map(drop)
    }

    /// Issues a token of a ServiceAccount for audiences (Kubernetes API, *TokenRequest*), valid for `expiration`, by
    /// default an hour, unless the server changes that.
    ///
    /// # Errors
    /// Any error of the server, and [`ClusterError::Unreadable`]; never with the token.
    pub async fn issue_token(
        &self,
        name: &ObjectName,
        audiences: &[&str],
        expiration: Option<Duration>,
        timeout: Duration,
    ) -> Result<Zeroizing<String>, ClusterError> {
        path_segment::checked(name)?;
        let api = self.beside(&SERVICE_ACCOUNT, name);
        let seconds = expiration.map(|life| life.as_secs());
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": { "audiences": audiences, "expirationSeconds": seconds },
        });
        let params = PostParams::default();
        self.wait_for_turn(&name.namespace).await?;
        // As untyped JSON: the client logs answers that do not match their type.
        let answer = api.create_subresource("token", &name.name, &params, &request);
        let mut answer: Value = within(timeout.min(self.connect.patience), answer).await?;
        match answer.pointer_mut("/status/token").map(Value::take) {
            Some(Value::String(token)) if !token.is_empty() => Ok(Zeroizing::new(token)),
            _ => Err(ClusterError::Unreadable {
                kind: "TokenRequest",
                name: name.clone(),
                error: "the answer has no token".to_owned(),
            }),
        }
    }
}

impl Clients {
    async fn new(connect: &Connect, on_answer: &OnAnswer, limit: &Limit) -> Result<Self, ClusterError> {
        let config = kubeconfig::settings(connect).await?;
        let proxy = given_proxy(config.proxy_url.as_ref());
        Self::of(config, proxy.as_ref(), on_answer, limit)
    }

    fn of(
        mut config: Config,
        proxy: Option<&Proxy>,
        on_answer: &OnAnswer,
        limit: &Limit,
    ) -> Result<Self, ClusterError> {
        // A watch is silent for long; its own timeout is the server's.
        config.read_timeout = None;
        config.write_timeout = Some(REQUEST_TIMEOUT);
        config.connect_timeout = Some(REQUEST_TIMEOUT);
        let host = config
            .cluster_url
            .authority()
            .map_or("", |authority| authority.as_str());
        let host: Arc<str> = Arc::from(host);
        let place: Arc<str> = Arc::from(config.cluster_url.to_string());
        let client = |config: Config, waits: bool| -> Result<Client, ClusterError> {
            let client = proxied::stack(config, proxy).map_err(|error| ClusterError::Connect(error.to_string()))?;
            let watch = Watch {
                on_answer: Arc::clone(on_answer),
                host: Arc::clone(&host),
                limit: limit.clone(),
                waits,
            };
            Ok(client.with_layer(&watch).build())
        };
        let plain = client(config.clone(), false)?;
        config.default_retry = false;
        let watching = client(config, true)?;
        Ok(Self {
            whole: pages::whole(&plain),
            plain,
            watching,
            host,
            place,
        })
    }
}

/// The proxy of a kubeconfig. One that kube took from the environment is read from there again, with its exceptions.
fn given_proxy(named: Option<&http::Uri>) -> Option<Proxy> {
    let address = named?.to_string();
    let same = |variable: &str| {
        let value = std::env::var(variable).ok();
        value.is_some_and(|value| value.trim_end_matches('/') == address.trim_end_matches('/'))
    };
    (!same("HTTPS_PROXY") && !same("https_proxy")).then(|| Proxy::at(address.as_str()))
}

fn managed_by(manager: &str) -> PatchParams {
    PatchParams {
        field_manager: Some(manager.to_owned()),
        ..PatchParams::default()
    }
}

/// The objects of a kind in a namespace, or of all of them with an empty one.
fn api<K>(client: &Client, kind: &Kind, namespace: &str) -> Api<K>
where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
{
    match namespace {
        "" => Api::all_with(client.clone(), &kind.resource()),
        namespace => Api::namespaced_with(client.clone(), namespace, &kind.resource()),
    }
}

/// A request with a timeout.
async fn within<T>(
    timeout: Duration,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ClusterError> {
    match tokio::time::timeout(timeout, request).await {
        Ok(answer) => answer.map_err(ClusterError::of),
        Err(_) => Err(ClusterError::Unreachable(format!(
            "the API server did not answer within {} seconds",
            timeout.as_secs_f64()
        ))),
    }
}
