//! A real Kubernetes API server with its etcd, on free ports and a temporary folder: no nodes, no controllers.
//!
//! Both programs end with the test process, however it ends: each runs below a shell that reads a pipe from the test,
//! and kills its program when the pipe closes. So a cluster can be a static that all tests of a file share.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value as Json, json};

use crate::program::ports::free_port;
use crate::program::waiting::wait_for;
use crate::signature::tls::Certificates;

/// The token of the cluster's administrator.
const TOKEN: &str = "bumpwright-tests";

/// The variable that names another API server of the tools folder for all suites: `kube-apiserver-oldest`.
const APISERVER: &str = "BUMPWRIGHT_KUBE_APISERVER";

const RBAC: &str = "rbac.authorization.k8s.io";

/// The time limit for the server's start, most of which a busy machine needs.
const START: Duration = Duration::from_secs(180);

/// A cluster, which runs until it is dropped or the process ends.
pub struct Cluster {
    url: String,
    etcd_url: String,
    ca: Vec<u8>,
    tls: Arc<rustls::ServerConfig>,
    agent: ureq::Agent,
    apiserver: Supervised,
    etcd: Supervised,
    defined: Once,
    dir: tempfile::TempDir,
}

/// The definitions of `crds/`.
fn definitions() -> Vec<Json> {
    let files = std::fs::read_dir(crate::root().join("crds")).unwrap();
    let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    texts.map(|text| serde_saphyr::from_str(&text).unwrap()).collect()
}

/// A definition with one of its versions; none where it has not that one.
fn at_version(mut definition: Json, version: &str) -> Option<Json> {
    let versions = definition["spec"]["versions"].as_array_mut().unwrap();
    versions.retain(|one| one["name"] == version);
    let only = versions.first_mut()?;
    only["storage"] = json!(true);
    only["served"] = json!(true);
    Some(definition)
}

/// Additional trust of a cluster.
pub struct Trust<'a> {
    /// Trusts ServiceAccounts of this cluster, as `first:system:serviceaccount:NAMESPACE:NAME`, with tokens for the
    /// cluster's address. Its keys have to be public: [`Cluster::show_keys`].
    pub issuer: &'a Cluster,
    /// The webhook for other tokens (Kubernetes, *Webhook Token Authentication*).
    pub webhook: String,
}

/// An answer of the server.
pub struct Answer {
    pub status: u16,
    pub body: Json,
}

impl Cluster {
    /// The cluster shared by all tests of this process. None when a program is missing.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        SHARED.get_or_init(Self::start).as_ref()
    }

    /// Starts a separate cluster. None when a program is missing.
    pub fn start() -> Option<Self> {
        Self::start_with(None, None, &[])
    }

    /// Starts a separate cluster that logs writes, for [`Cluster::audit`], with a token for each of these
    /// administrators. None when a program is missing.
    pub fn audited(users: &[&str]) -> Option<Self> {
        Self::start_with(None, None, users)
    }

    /// The token of a user of [`Cluster::audited`].
    pub fn token_of(user: &str) -> String {
        format!("{TOKEN}-{user}")
    }

    /// The audit events so far of writes that succeeded, and of those that did not.
    pub fn audit(&self) -> (Vec<Json>, Vec<Json>) {
        let log = std::fs::read_to_string(self.dir.path().join(AUDIT_LOG)).unwrap();
        let events = log.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
        let is_done = |event: &Json| event["responseStatus"]["code"].as_u64().is_some_and(|code| code < 400);
        events.partition(is_done)
    }

    /// Starts a separate cluster with another API server of the tools folder. None when a program is missing.
    pub fn served_by(apiserver: &str) -> Option<Self> {
        Self::start_with(Some(apiserver), None, &[])
    }

    /// Starts a cluster with additional trust. None when a program is missing.
    pub fn trusting(trust: &Trust<'_>) -> Option<Self> {
        Self::start_with(None, Some(trust), &[])
    }

    fn start_with(apiserver: Option<&str>, trust: Option<&Trust<'_>>, audited: &[&str]) -> Option<Self> {
        let etcd = crate::tool("etcd")?;
        let chosen = std::env::var(APISERVER);
        let usual = chosen.as_deref().unwrap_or("kube-apiserver");
        let apiserver = crate::tool(apiserver.unwrap_or(usual))?;
        let certificates = Certificates::make()?;
        // A free port can be taken by another process before the server listens on it.
        let tried = (0..3).find_map(|_| Self::try_start(&etcd, &apiserver, &certificates, (trust, audited)));
        Some(tried.expect("the API server does not start; its output is above"))
    }

    fn try_start(
        etcd: &Path,
        apiserver: &Path,
        certificates: &Certificates,
        (trust, audited): (Option<&Trust<'_>>, &[&str]),
    ) -> Option<Self> {
        // In memory where possible: etcd syncs every write.
        let dir = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let (client, peer, secure) = (free_port(), free_port(), free_port());
        let url = format!("https://localhost:{secure}");
        let mut arguments = apiserver_arguments(dir.path(), client, secure, certificates);
        arguments.extend(trust.iter().flat_map(|trust| trust.arguments(dir.path(), &url)));
        if !audited.is_empty() {
            arguments.extend(audit_arguments(dir.path(), audited));
        }
        let cluster = Self {
            url,
            etcd_url: format!("http://127.0.0.1:{client}"),
            ca: certificates.ca.clone(),
            tls: certificates.server_config(false),
            agent: agent(&certificates.ca),
            etcd: Supervised::start(dir.path(), etcd, &etcd_arguments(client, peer)),
            apiserver: Supervised::start(dir.path(), apiserver, &arguments),
            defined: Once::new(),
            dir,
        };
        std::fs::write(cluster.kubeconfig(), cluster.kubeconfig_with(TOKEN)).unwrap();
        cluster.is_ready().then_some(cluster)
    }

    /// Waits until it is ready, with its roles and the namespace `default`; false on timeout.
    fn is_ready(&self) -> bool {
        let end = Instant::now() + START;
        while Instant::now() < end {
            if self.etcd.ended() || self.apiserver.ended() {
                break;
            }
            let answers = |path| {
                self.try_request("GET", path, "", "")
                    .is_ok_and(|answer| answer.status == 200)
            };
            if answers("/readyz") && answers("/api/v1/namespaces/default") {
                return true;
            }
            thread::sleep(Duration::from_millis(200));
        }
        println!("etcd: {}\nkube-apiserver: {}", self.etcd.log(), self.apiserver.log());
        false
    }

    /// Kills the API server; its storage stays.
    pub fn stop_apiserver(&self) {
        self.apiserver.order("stop");
        let address = self.url.trim_start_matches("https://").to_owned();
        while TcpStream::connect(&address).is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts it again on the same port and storage, and waits until it answers.
    pub fn start_apiserver(&self) {
        self.apiserver.order("start");
        let end = Instant::now() + START;
        while !self
            .try_request("GET", "/readyz", "", "")
            .is_ok_and(|answer| answer.status == 200)
        {
            assert!(Instant::now() < end, "the API server does not start again");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Compacts etcd to the newest versions.
    pub fn compact(&self) {
        let agent = agent(&self.ca);
        let ask = |path: &str, body: Json| -> Json {
            let url = format!("{}{path}", self.etcd_url);
            let mut answer = agent.post(url).send(body.to_string()).unwrap();
            serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
        };
        let header = ask("/v3/kv/range", json!({"key": "AA=="}));
        let revision = text(&header, "/header/revision").to_owned();
        let done = ask("/v3/kv/compaction", json!({"revision": revision, "physical": true}));
        assert!(done.get("header").is_some(), "{done}");
    }

    /// `https://localhost:port`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The authority of the server's certificate, PEM.
    pub fn ca(&self) -> &[u8] {
        &self.ca
    }

    /// The TLS settings of this server, for another server that its clients trust.
    pub fn tls(&self) -> Arc<rustls::ServerConfig> {
        Arc::clone(&self.tls)
    }

    /// Makes the keys of its ServiceAccounts' tokens public.
    pub fn show_keys(&self) {
        let everybody = json!({"kind": "Group", "name": "system:unauthenticated", "apiGroup": RBAC});
        self.bind("show-keys", "system:service-account-issuer-discovery", &everybody);
    }

    /// Binds a cluster role.
    pub fn bind(&self, name: &str, role: &str, subject: &Json) {
        let role = json!({"apiGroup": RBAC, "kind": "ClusterRole", "name": role});
        let binding = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding",
            "metadata": {"name": name}, "roleRef": role, "subjects": [subject]});
        self.apply(&binding.to_string());
    }

    /// A client of this server without timeout, for streams.
    pub fn streaming_agent(&self) -> ureq::Agent {
        configured(&self.ca, None)
    }

    /// A bearer token of the group `system:masters`.
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// A kubeconfig file with the same address, authority and token.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.path().join("kubeconfig")
    }

    /// The text of such a file, with another token.
    pub fn kubeconfig_with(&self, token: &str) -> String {
        use base64::Engine;
        let ca = base64::engine::general_purpose::STANDARD.encode(&self.ca);
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": self.url, "certificate-authority-data": ca}}],
            "users": [{"name": "test", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "default"}}],
        })
        .to_string()
    }

    /// Sends a request; `kind` is the type of the body (JSON when empty).
    pub fn request(&self, method: &str, path: &str, kind: &str, body: &str) -> Answer {
        self.try_request(method, path, kind, body)
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    fn try_request(&self, method: &str, path: &str, kind: &str, body: &str) -> Result<Answer, ureq::Error> {
        self.send(method, path, kind, body, "application/json")
    }

    fn send(&self, method: &str, path: &str, kind: &str, body: &str, accept: &str) -> Result<Answer, ureq::Error> {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("accept", accept)
            .header("content-type", if kind.is_empty() { "application/json" } else { kind });
        let mut response = match body {
            "" => self.agent.run(request.body(())?)?,
            body => self.agent.run(request.body(body.to_owned())?)?,
        };
        let status = response.status().as_u16();
        let text = response.body_mut().read_to_string()?;
        let body = serde_json::from_str(&text).unwrap_or(Json::String(text));
        Ok(Answer { status, body })
    }

    /// An object, or a list of them.
    pub fn get(&self, path: &str) -> Json {
        let answer = self.request("GET", path, "", "");
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.body);
        answer.body
    }

    /// A list as requested by `kubectl get`: `columnDefinitions` and `rows`.
    pub fn table(&self, path: &str) -> Json {
        let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
        self.send("GET", path, "", "", accept).unwrap().body
    }

    /// Changes an object by a merge patch.
    pub fn merge_patch(&self, path: &str, patch: &Json) -> Answer {
        self.request("PATCH", path, "application/merge-patch+json", &patch.to_string())
    }

    /// Waits until the object at a path is gone.
    pub fn gone(&self, path: &str) {
        let look = || self.request("GET", path, "", "");
        wait_for(|| look().status == 404, || format!("{path} is gone: {:#}", look().body));
    }

    /// Applies all definitions of `crds/`, once for a cluster.
    pub fn define(&self) {
        self.defined.call_once(|| self.define_all(&definitions()));
    }

    /// Defines HelmReleases, and their charts and repositories, as Flux does. None where the definitions are missing.
    pub fn define_helm(&self) -> Option<()> {
        let (release, folder) = (crate::tool("helmreleases")?, crate::tool("flux-crds")?);
        let of_sources = ["helmcharts", "helmrepositories"];
        let of_sources = of_sources.map(|plural| folder.join(format!("source.toolkit.fluxcd.io_{plural}.yaml")));
        for file in [release].into_iter().chain(of_sources) {
            self.apply(&std::fs::read_to_string(file).unwrap());
        }
        Some(())
    }

    /// Applies the definitions of `crds/` with this version alone, and of what has no such version nothing: as an
    /// older installation of Flux.
    pub fn define_at(&self, version: &str) {
        let older = definitions()
            .into_iter()
            .filter_map(|definition| at_version(definition, version));
        self.define_all(&older.collect::<Vec<_>>());
    }

    fn define_all(&self, definitions: &[Json]) {
        // All of them first: the server prepares them concurrently.
        definitions.iter().for_each(|definition| self.apply_object(definition));
        definitions.iter().for_each(|definition| self.await_served(definition));
    }

    /// Applies all documents server-side, and waits until kinds that they define are served.
    pub fn apply(&self, yaml: &str) {
        for object in serde_saphyr::from_multiple::<Json>(yaml).unwrap() {
            self.apply_object(&object);
            if object["kind"] == "CustomResourceDefinition" {
                self.await_served(&object);
            }
        }
    }

    /// As [`Cluster::apply`], for one object that is not a CustomResourceDefinition; much faster for large ones.
    pub fn apply_object(&self, object: &Json) {
        let path = format!("{}?fieldManager=test&force=true", self.path_of(object));
        let answer = self.request("PATCH", &path, "application/apply-patch+yaml", &object.to_string());
        assert!(matches!(answer.status, 200 | 201), "{path}: {}", answer.body);
    }

    fn await_served(&self, definition: &Json) {
        let (group, plural) = (text(definition, "/spec/group"), text(definition, "/spec/names/plural"));
        let end = Instant::now() + START;
        let versions = definition["spec"]["versions"].as_array().unwrap();
        for version in versions.iter().filter(|version| version["served"] == true) {
            let path = format!("/apis/{group}/{}/{plural}?limit=1", text(version, "/name"));
            while self.request("GET", &path, "", "").status != 200 {
                assert!(Instant::now() < end, "{path} is not served");
                thread::sleep(Duration::from_millis(50));
            }
        }
    }

    /// The path of an object, from the server's discovery.
    pub fn path_of(&self, object: &Json) -> String {
        let (collection, namespaced) = self.collection(text(object, "/apiVersion"), text(object, "/kind"));
        let name = text(object, "/metadata/name");
        if !namespaced {
            return format!("{}/{collection}/{name}", base(object));
        }
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        format!("{}/namespaces/{namespace}/{collection}/{name}", base(object))
    }

    /// The plural of a kind, and whether it is namespaced. A kind that was just defined appears after a moment.
    fn collection(&self, api_version: &str, kind: &str) -> (String, bool) {
        let path = base(&json!({ "apiVersion": api_version }));
        let end = Instant::now() + START;
        loop {
            let list = self.request("GET", &path, "", "").body;
            let none = Vec::new();
            let found = list["resources"]
                .as_array()
                .unwrap_or(&none)
                .iter()
                .find(|resource| resource["kind"] == kind && !text(resource, "/name").contains('/'));
            if let Some(resource) = found {
                return (text(resource, "/name").to_owned(), resource["namespaced"] == true);
            }
            assert!(Instant::now() < end, "{path} has no kind {kind}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Creates an object; `query` as in `dryRun=All&fieldValidation=Strict`.
    ///
    /// # Errors
    /// The server's error.
    pub fn create(&self, object: &Json, query: &str) -> Result<Json, String> {
        let path = self.path_of(object);
        let (collection, _) = path.rsplit_once('/').unwrap();
        accepted(self.request("POST", &format!("{collection}?{query}"), "", &object.to_string()))
    }

    /// Replaces an object's status.
    ///
    /// # Errors
    /// The server's error.
    pub fn put_status(&self, object: &Json) -> Result<Json, String> {
        accepted(self.request(
            "PUT",
            &format!("{}/status", self.path_of(object)),
            "",
            &object.to_string(),
        ))
    }
}

impl Trust<'_> {
    /// Additional arguments of a server at `url` with this trust.
    fn arguments(&self, dir: &Path, url: &str) -> [String; 2] {
        let issuer = self.issuer;
        let jwt = json!({
            "issuer": {
                "url": issuer.url,
                "certificateAuthority": String::from_utf8_lossy(&issuer.ca),
                "audiences": [url],
            },
            "claimMappings": {"username": {"claim": "sub", "prefix": "first:"}},
        });
        let configuration = json!({"apiVersion": "apiserver.config.k8s.io/v1beta1", "kind": "AuthenticationConfiguration",
            "jwt": [jwt]});
        let webhook = json!({"apiVersion": "v1", "kind": "Config", "current-context": "webhook",
            "clusters": [{"name": "webhook", "cluster": {"server": self.webhook}}],
            "contexts": [{"name": "webhook", "context": {"cluster": "webhook", "user": "server"}}],
            "users": [{"name": "server", "user": {}}]});
        std::fs::write(dir.join("authentication.json"), configuration.to_string()).unwrap();
        std::fs::write(dir.join("webhook.json"), webhook.to_string()).unwrap();
        [
            "--authentication-config=authentication.json".to_owned(),
            "--authentication-token-webhook-config-file=webhook.json".to_owned(),
        ]
    }
}

fn accepted(answer: Answer) -> Result<Json, String> {
    match answer.status {
        200..=299 => Ok(answer.body),
        _ => Err(answer.body["message"].as_str().unwrap_or_default().to_owned()),
    }
}

/// `/api/v1`, `/apis/group/version`.
fn base(object: &Json) -> String {
    match text(object, "/apiVersion") {
        "v1" => "/api/v1".to_owned(),
        api_version => format!("/apis/{api_version}"),
    }
}

fn text<'a>(value: &'a Json, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

fn agent(ca: &[u8]) -> ureq::Agent {
    configured(ca, Some(Duration::from_secs(60)))
}

fn configured(ca: &[u8], timeout: Option<Duration>) -> ureq::Agent {
    use ureq::tls::{Certificate, RootCerts, TlsConfig};
    let roots = RootCerts::new_with_certs(&[Certificate::from_pem(ca).unwrap()]);
    ureq::Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .proxy(None)
        .http_status_as_error(false)
        .timeout_global(timeout)
        .build()
        .new_agent()
}

fn etcd_arguments(client: u16, peer: u16) -> Vec<String> {
    let (client, peer) = (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
    vec![
        "--data-dir=etcd".to_owned(),
        "--unsafe-no-fsync".to_owned(),
        "--log-level=error".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
    ]
}

/// Admission that depends on objects of controllers (service accounts, endpoints) is off.
fn apiserver_arguments(dir: &Path, etcd: u16, port: u16, certificates: &Certificates) -> Vec<String> {
    let (certificate, key) = &certificates.server;
    std::fs::write(dir.join("server.crt"), certificate).unwrap();
    std::fs::write(dir.join("server.key"), key).unwrap();
    std::fs::write(dir.join("tokens.csv"), format!("{TOKEN},admin,admin,system:masters\n")).unwrap();
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        format!("--secure-port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        "--tls-cert-file=server.crt".to_owned(),
        "--tls-private-key-file=server.key".to_owned(),
        "--token-auth-file=tokens.csv".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        format!("--service-account-issuer=https://localhost:{port}"),
        format!("--service-account-jwks-uri=https://localhost:{port}/openid/v1/jwks"),
        "--service-account-key-file=server.crt".to_owned(),
        "--service-account-signing-key-file=server.key".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/16".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--allow-privileged=true".to_owned(),
    ]
}

/// The log of writes, and what is in it: the bodies of Leases, and who wrote what of the rest.
const AUDIT_LOG: &str = "audit.log";
const AUDIT_POLICY: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, verbs: [get, list, watch]}
- {level: Request, resources: [{group: coordination.k8s.io}]}
- level: Metadata
  resources:
  - {group: image.toolkit.fluxcd.io}
  - {group: source.toolkit.fluxcd.io}
  - {group: kustomize.toolkit.fluxcd.io}
  - {group: \"\", resources: [configmaps]}
- {level: None}
";

fn audit_arguments(dir: &Path, users: &[&str]) -> [String; 2] {
    use std::fmt::Write as _;
    let mut tokens = std::fs::read_to_string(dir.join("tokens.csv")).unwrap();
    for user in users {
        writeln!(tokens, "{},{user},{user},system:masters", Cluster::token_of(user)).unwrap();
    }
    std::fs::write(dir.join("tokens.csv"), tokens).unwrap();
    std::fs::write(dir.join("audit.yaml"), AUDIT_POLICY).unwrap();
    [
        "--audit-policy-file=audit.yaml".to_owned(),
        format!("--audit-log-path={AUDIT_LOG}"),
    ]
}

/// A program that ends with the test process.
struct Supervised {
    shell: Child,
    output: Arc<Mutex<Vec<u8>>>,
    ended: Arc<AtomicBool>,
}

impl Supervised {
    /// Runs the program in `dir`, which is removed with it.
    fn start(dir: &Path, program: &Path, arguments: &[String]) -> Self {
        // `read` returns when our end of the pipe closes. Killed, since no state is kept.
        const SCRIPT: &str = r#""$@" 2>&1 </dev/null & program=$!
            exec >/dev/null
            while read -r order; do case $order in
                stop) kill -9 $program; wait $program ;;
                start) "$@" >again.log 2>&1 </dev/null & program=$! ;;
            esac; done
            kill -9 $program; wait; rm -rf "$PWD""#;
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "sh"])
            .arg(program)
            .args(arguments)
            .current_dir(dir)
            // Half of the processors' time of a run is theirs. Most of them never fill this heap, so they never clear it.
            .env("GOGC", "off")
            .env("GOMEMLIMIT", "700MiB")
            // A Ctrl-C is for the tests, which end the program.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (output, ended) = (Arc::default(), Arc::default());
        let stdout = shell.stdout.take().unwrap();
        let (to, at_end) = (Arc::clone(&output), Arc::clone(&ended));
        thread::spawn(move || collect(stdout, &to, &at_end));
        Self { shell, output, ended }
    }

    fn order(&self, order: &str) {
        let mut stdin = self.shell.stdin.as_ref().unwrap();
        writeln!(stdin, "{order}").unwrap();
    }

    fn ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&self.output.lock()).into_owned()
    }
}

fn collect(mut from: impl Read, to: &Mutex<Vec<u8>>, ended: &AtomicBool) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        to.lock().extend_from_slice(&buffer[..length]);
    }
    ended.store(true, Ordering::Release);
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // It may have exited already.
        let _ = self.shell.wait();
    }
}
