//! Kustomizations that apply to another cluster: two real API servers, the second of which trusts the tokens of the
//! first; and stubs of the clouds, which check every request and return the address of the second (K-105 … K-121).
//!
//! It takes some ten seconds to start the servers.

mod clouds;
mod secrets;

use std::net::SocketAddr;
use std::sync::OnceLock;

use bumpwright_testkit::apiserver::{Cluster, Trust};
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::proxy::Proxy;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::world::{CONFIG_MAP, KUSTOMIZATION, SECRET, SERVICE_ACCOUNT};
use serde_json::{Value as Json, json};

const RBAC: &str = "rbac.authorization.k8s.io";

/// The cluster where Kustomizations are, and the one that they apply to.
struct Clusters {
    first: &'static Cluster,
    second: Cluster,
    /// The authenticator of the second cluster for unknown tokens.
    _authenticator: StubHttp,
}

/// None when a program is missing.
fn clusters() -> Option<&'static Clusters> {
    static CLUSTERS: OnceLock<Option<Clusters>> = OnceLock::new();
    let start = || {
        let first = Cluster::shared()?;
        first.show_keys();
        let authenticator = StubHttp::start(clouds::authenticator);
        let trust = Trust {
            issuer: first,
            webhook: authenticator.url("authenticate"),
        };
        let second = Cluster::trusting(&trust)?;
        Some(Clusters {
            first,
            second,
            _authenticator: authenticator,
        })
    };
    CLUSTERS.get_or_init(start).as_ref()
}

/// A namespace in both clusters, with a source of one ConfigMap in the first.
struct Remote {
    world: KustomizeWorld<'static>,
    second: &'static Cluster,
}

impl std::ops::Deref for Remote {
    type Target = KustomizeWorld<'static>;

    fn deref(&self) -> &KustomizeWorld<'static> {
        &self.world
    }
}

impl Remote {
    /// None when a program is missing.
    fn new(namespace: &str) -> Option<Self> {
        let Clusters { first, second, .. } = clusters()?;
        let world = KustomizeWorld::new(first, namespace);
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        second.apply(&object.to_string());
        Some(Self { world, second })
    }

    /// A ConfigMap that describes the second cluster; `more` is merged into it, with null for removed keys.
    fn describe(&self, name: &str, more: &Json) {
        let mut data = json!({
            "provider": "generic", "address": self.second.url(), "ca.crt": String::from_utf8_lossy(self.second.ca()),
        });
        let fields = data.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        fields.retain(|_, value| !value.is_null());
        self.put(CONFIG_MAP, name, json!({ "data": data }));
    }

    /// A ServiceAccount of the first cluster that may do everything in the second.
    fn account(&self, name: &str) {
        self.put(SERVICE_ACCOUNT, name, json!({}));
        let namespace = &self.namespace;
        self.let_in(&format!("first:system:serviceaccount:{namespace}:{name}"));
    }

    /// Grants a user all rights in the second cluster.
    fn let_in(&self, user: &str) {
        let name = format!("{}-{}", self.namespace, user.replace(':', "-"));
        let subject = json!({"kind": "User", "name": user, "apiGroup": RBAC});
        self.second.bind(&name, "cluster-admin", &subject);
    }

    /// A Kustomization of the name, for the cluster that the ConfigMap describes.
    fn apply_to(&self, name: &str, config_map: &str, spec: Json) {
        self.publish(name, "1", &[("map.yaml", &map(name, "1"))]);
        let mut whole = json!({"kubeConfig": {"configMapRef": {"name": config_map}}});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        self.kustomize(name, whole);
    }

    /// The value in the ConfigMap of a source in the second cluster.
    fn there(&self, name: &str) -> Json {
        let answer = self.second.request("GET", &self.path(CONFIG_MAP, name), "", "");
        answer.body["data"]["key"].clone()
    }

    fn is_nowhere_here(&self, name: &str) -> bool {
        self.cluster.request("GET", &self.path(CONFIG_MAP, name), "", "").status == 404
    }
}

/// Why a Kustomization cannot be applied, with the name of its namespace as `NS`.
fn failure(remote: &Remote, name: &str) -> String {
    let said = remote.refused(name, "ReconciliationFailed");
    said.replace(&remote.namespace, "NS")
}

#[test]
fn k_121_a_service_account_reaches_a_cluster_that_trusts_its_issuer() {
    let Some(remote) = Remote::new("generic") else { return };
    remote.account("reacher");
    remote.describe("cluster", &json!({"serviceAccountName": "reacher"}));
    remote.apply_to("app", "cluster", json!({}));
    let controller = remote.controller(&[]);
    remote.applied("app", "1");
    assert_eq!(remote.there("app"), "1");
    assert!(remote.is_nowhere_here("app"), "{}", controller.log());

    // K-106: the account of the Kustomization is one of the second cluster, which is impersonated there.
    remote.apply_to("as-other", "cluster", json!({"serviceAccountName": "deployer"}));
    let said = failure(&remote, "as-other");
    assert!(
        said.contains("User \"system:serviceaccount:NS:deployer\" cannot patch resource \"configmaps\""),
        "{said}"
    );

    // K-103: what is pruned is pruned there.
    remote.patch(KUSTOMIZATION, "app", &json!({"spec": {"prune": true}}));
    remote.delete(KUSTOMIZATION, "app");
    remote.gone(KUSTOMIZATION, "app");
    remote.second.gone(&remote.path(CONFIG_MAP, "app"));
    assert_eq!(controller.stop(), Some(0));
}

/// K-116.
#[test]
fn a_token_is_for_the_address_or_for_whom_the_config_map_says() {
    let Some(remote) = Remote::new("audiences") else { return };
    remote.account("reacher");
    let others = json!({"serviceAccountName": "reacher", "audiences": "somebody\n\n  else  \n"});
    remote.describe("others", &others);
    remote.apply_to("others", "others", json!({}));
    let address = remote.second.url();
    let mine = json!({"serviceAccountName": "reacher", "audiences": format!("somebody\n  {address}\n")});
    remote.describe("mine", &mine);
    remote.apply_to("mine", "mine", json!({}));
    let controller = remote.controller(&[]);
    remote.applied("mine", "1");
    let said = failure(&remote, "others");
    assert!(said.contains("Unauthorized"), "{said}");
    assert_eq!(controller.stop(), Some(0));
}

/// The errors are those of fluxcd/pkg's `auth` and `runtime`.
#[test]
fn what_cannot_be_reached_is_told_in_fluxs_words() {
    let Some(remote) = Remote::new("refusals") else { return };
    remote.put(SERVICE_ACCOUNT, "reacher", json!({}));
    let account = "reacher";
    let arn = "arn:aws:eks:eu-west-1:1:nodegroup/x";
    for (name, more, _) in REFUSALS {
        let mut more: Json = serde_json::from_str(more).unwrap();
        let fields = more.as_object_mut().unwrap();
        fields.entry("serviceAccountName").or_insert(json!(account));
        if *name == "arn" {
            fields.insert("cluster".to_owned(), json!(arn));
        }
        remote.describe(name, &more);
        remote.apply_to(name, name, json!({}));
    }
    remote.apply_to("ghost", "ghost", json!({}));
    let controller = remote.controller(&[]);
    for (name, _, words) in REFUSALS {
        assert_eq!(failure(&remote, name), *words, "{name}");
    }
    assert_eq!(
        failure(&remote, "ghost"),
        "failed to get configmap NS/ghost: configmaps \"ghost\" not found"
    );
    assert_eq!(controller.stop(), Some(0));
}

/// Name, additions to the ConfigMap, error.
const REFUSALS: &[(&str, &str, &str)] = &[
    (
        "provider",
        r#"{"provider": "digitalocean"}"#,
        "provider 'digitalocean' not implemented",
    ),
    ("no-provider", r#"{"provider": null}"#, "provider '' not implemented"),
    (
        "no-address",
        r#"{"address": null}"#,
        "cluster address is required to create a REST config",
    ),
    (
        "plain",
        r#"{"address": "http://example.com"}"#,
        "failed to parse cluster address http://example.com: the Kubernetes API server address 'http://example.com' must use \
         https scheme",
    ),
    (
        "no-account",
        r#"{"serviceAccountName": "nobody"}"#,
        "failed to get access token for cluster: failed to get service account 'NS/nobody': ServiceAccount \"nobody\" not found",
    ),
    (
        "no-authority",
        r#"{"ca.crt": "hello"}"#,
        "unable to load root certificates: unable to parse bytes as PEM block",
    ),
    (
        "arn",
        r#"{"provider": "aws"}"#,
        "invalid EKS cluster ARN: 'arn:aws:eks:eu-west-1:1:nodegroup/x'. must match \
         ^arn:aws[\\w-]*:eks:([^:]{1,100}):[0-9]{1,30}:cluster/(.{1,200})$",
    ),
    (
        "no-role",
        r#"{"provider": "aws", "cluster": "arn:aws:eks:eu-west-1:1:cluster/c"}"#,
        "failed to get access token for cluster: failed to get provider identity from service account 'NS/reacher' annotations: \
         invalid eks.amazonaws.com/role-arn annotation: ''. must match ^arn:aws[\\w-]*:iam::[0-9]{1,30}:role/.{1,200}$",
    ),
];

/// K-117: without a name it is the controller.
#[test]
fn without_a_service_account_the_controller_itself_is_who_reaches() {
    let Some(remote) = Remote::new("itself") else { return };
    remote.account("controller");
    let subject = json!({"kind": "ServiceAccount", "name": "controller", "namespace": remote.namespace});
    remote.cluster.bind("itself-controller", "cluster-admin", &subject);
    let path = format!("{}/token", remote.path(SERVICE_ACCOUNT, "controller"));
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let issued = remote.cluster.request("POST", &path, "", &request.to_string());
    let token = issued.body["status"]["token"].as_str().unwrap().to_owned();
    let kubeconfig = remote.folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, remote.cluster.kubeconfig_with(&token)).unwrap();
    remote.describe("cluster", &json!({}));
    remote.apply_to("app", "cluster", json!({}));
    let controller = remote.controller_through(&kubeconfig, "controller", &[]);
    remote.applied("app", "1");
    assert_eq!(remote.there("app"), "1");
    assert_eq!(controller.stop(), Some(0));
}

/// `--default-kubeconfig-service-account`: without an account the controller's identity is not used.
#[test]
fn a_default_account_stands_in_for_the_controller() {
    let Some(remote) = Remote::new("default-account") else {
        return;
    };
    remote.describe("cluster", &json!({}));
    remote.apply_to("app", "cluster", json!({}));
    let controller = remote.controller(&["--default-kubeconfig-service-account=reacher"]);
    assert_eq!(
        failure(&remote, "app"),
        "failed to get access token for cluster: failed to get service account 'NS/reacher': the specified default service account \
         does not exist in the object namespace. your cluster is subject to multi-tenant workload identity lockdown, reach out to \
         your cluster administrator for help"
    );
    remote.account("reacher");
    remote.applied("app", "1");
    assert_eq!(remote.there("app"), "1");
    assert_eq!(controller.stop(), Some(0));
}

/// Go's rules: servers on this machine are accessed directly, others through the proxy, which a kubeconfig
/// may name as well.
#[test]
fn clusters_are_reached_through_the_proxy_of_the_environment() {
    let Some(remote) = Remote::new("proxied") else { return };
    let server: SocketAddr = remote
        .second
        .url()
        .replace("https://localhost", "127.0.0.1")
        .parse()
        .unwrap();
    let proxy = Proxy::leading(Some(("user", "hunter2")), &[("second.test:6443", server)]);
    let mut kubeconfig: Json = serde_json::from_str(&remote.second.kubeconfig_with(remote.second.token())).unwrap();
    let cluster = &mut kubeconfig["clusters"][0]["cluster"];
    cluster["server"] = json!("https://second.test:6443");
    cluster["tls-server-name"] = json!("localhost");
    remote.put(
        SECRET,
        "environment",
        json!({"stringData": {"value": kubeconfig.to_string()}}),
    );
    let address = format!("socks5://user:wrong-hunter2@{}", proxy.address);
    kubeconfig["clusters"][0]["cluster"]["proxy-url"] = json!(address);
    remote.put(SECRET, "own", json!({"stringData": {"value": kubeconfig.to_string()}}));
    for name in ["environment", "own"] {
        remote.publish(name, "1", &[("map.yaml", &map(name, "1"))]);
        remote.kustomize(name, json!({"kubeConfig": {"secretRef": {"name": name}}}));
    }
    let starter = remote.starter("controller").flags(&["--controllers=kustomize"]);
    let environment = format!("http://user:hunter2@{}", proxy.address);
    let controller = starter.variable("HTTPS_PROXY", environment).start();
    remote.applied("environment", "1");
    assert_eq!(remote.there("environment"), "1");
    let said = failure(&remote, "own");
    assert!(
        said.contains("the proxy refused the user name or the password"),
        "{said}"
    );
    assert!(
        proxy.targets().iter().all(|target| target == "second.test:6443"),
        "{:?}",
        proxy.targets()
    );
    assert!(
        !said.contains("hunter2") && !controller.log().contains("hunter2"),
        "{said}\n{}",
        controller.log()
    );
    assert_eq!(controller.stop(), Some(0));
}

/// A changed ConfigMap counts at once where it is watched, and another description leads elsewhere.
#[test]
fn a_config_map_that_changes_counts() {
    let Some(remote) = Remote::new("changes") else { return };
    remote.account("reacher");
    remote.describe(
        "cluster",
        &json!({"serviceAccountName": "reacher", "audiences": "somebody"}),
    );
    let label = json!({"metadata": {"labels": {"reconcile.fluxcd.io/watch": "Enabled"}}});
    remote.patch(CONFIG_MAP, "cluster", &label);
    remote.apply_to("app", "cluster", json!({"retryInterval": "1h"}));
    let controller = remote.controller(&[]);
    let said = failure(&remote, "app");
    assert!(said.contains("Unauthorized"), "{said}");
    remote.patch(CONFIG_MAP, "cluster", &json!({"data": {"audiences": null}}));
    remote.applied("app", "1");
    assert_eq!(controller.stop(), Some(0));
}
