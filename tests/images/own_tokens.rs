//! The own token of a ServiceAccount as the login at a registry that is no cloud's (`credential.auth.fluxcd.io`; Flux 2.10,
//! *Generic provider ServiceAccount tokens*): real tokens of a real API server, which says whose they are and for whom.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{IMAGE_REPOSITORY, OCI_REPOSITORY, SERVICE_ACCOUNT, World};
use serde_json::{Value as Json, json};

const PROVIDER: &str = "credential.auth.fluxcd.io/provider";
const TYPE: &str = "credential.auth.fluxcd.io/type";
const AUDIENCES: &str = "credential.auth.fluxcd.io/audiences";
const USERNAME: &str = "credential.auth.fluxcd.io/username";

/// The token of a request: a bearer token, or the password beside the user name `flux`.
fn token(request: &Request) -> Option<String> {
    if let Some((user, password)) = request.login() {
        return (user == "flux").then_some(password);
    }
    let bearer = request.header("authorization")?.strip_prefix("Bearer ")?;
    Some(bearer.to_owned())
}

/// A registry that answers nobody without a token. The tags of `moved` are at another address.
fn registry(challenge: &'static str, elsewhere: String) -> StubHttp {
    StubHttp::start(move |request| {
        if token(request).is_none() {
            return Reply::registry_error(401, "UNAUTHORIZED", "no").header("WWW-Authenticate", challenge);
        }
        match request.path.as_str() {
            "/v2/" => Reply::json(&json!({})),
            "/v2/moved/tags/list" => Reply::status(307).header("Location", &format!("{elsewhere}/tags")),
            path if path.ends_with("/tags/list") => Reply::json(&json!({"name": "app", "tags": ["1.0.0", "1.1.0"]})),
            _ => Reply::registry_error(404, "MANIFEST_UNKNOWN", "no"),
        }
    })
}

struct Tokens<'a> {
    world: World<'a>,
    elsewhere: StubHttp,
    /// It names a server that gives tokens, which nobody with a token needs.
    registry: StubHttp,
    /// It wants basic authentication.
    basic: StubHttp,
    controller: Controller,
}

impl<'a> Tokens<'a> {
    fn start(cluster: &'a Cluster, namespace: &str) -> Self {
        cluster.define();
        let world = World::new(cluster, namespace);
        let elsewhere = StubHttp::start(|_| Reply::json(&json!({"name": "moved", "tags": ["1.0.0"]})));
        let away = elsewhere.url("");
        let server = "Bearer realm=\"http://127.0.0.1:1/token\",service=\"registry\"";
        let basic = registry("Basic realm=\"registry\"", away.clone());
        let registry = registry(server, away);
        let address = format!("127.0.0.1:{}", free_port());
        let served = ["--storage-addr", "--storage-adv-addr"].map(|flag| format!("{flag}={address}"));
        let flags = ["--controllers=image-reflector,source", "--log-level=trace"];
        let controller = world.starter("controller").flags(&flags).flags(&served).start();
        Self {
            world,
            elsewhere,
            registry,
            basic,
            controller,
        }
    }

    /// Adds an ImageRepository with a ServiceAccount of its name.
    fn images(&self, name: &str, annotations: &Json) {
        let account = json!({"metadata": {"annotations": annotations}});
        self.world.put(SERVICE_ACCOUNT, name, account);
        self.repository(name);
    }

    fn repository(&self, name: &str) {
        let image = format!("{}/{name}", self.registry_of(name).host());
        let spec = json!({"image": image, "interval": "1h", "insecure": true, "serviceAccountName": name});
        self.world.add(IMAGE_REPOSITORY, name, spec);
    }

    fn registry_of(&self, repository: &str) -> &StubHttp {
        match repository {
            "basic" => &self.basic,
            _ => &self.registry,
        }
    }

    fn scanned(&self, name: &str) {
        let message = "successful scan: found";
        self.world
            .ready(IMAGE_REPOSITORY, name, "True", |_, said| said.starts_with(message));
    }

    /// The message of an ImageRepository that is not ready.
    fn refused(&self, name: &str) -> String {
        self.world.ready(IMAGE_REPOSITORY, name, "False", |_, _| true)
    }

    /// The tokens that came with requests about a repository, each once.
    fn tokens(&self, repository: &str) -> Vec<String> {
        let path = format!("/v2/{repository}/");
        let requests = self.registry_of(repository).requests();
        let about = requests.iter().filter(|request| request.path.starts_with(&path));
        let mut tokens: Vec<String> = about.filter_map(token).collect();
        tokens.dedup();
        tokens
    }

    /// Whose token it is, and for whom, as the API server that issued it says.
    fn subject(&self, token: &str) -> (String, Json) {
        let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
        let audiences = serde_json::from_slice::<Json>(&claims).unwrap()["aud"].clone();
        let spec = json!({"token": token, "audiences": audiences});
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec});
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let answer = self.world.cluster.request("POST", path, "", &review.to_string());
        let status = &answer.body["status"];
        assert_eq!(status["authenticated"], true, "{status}");
        (status["user"]["username"].as_str().unwrap().to_owned(), audiences)
    }

    fn count(&self, event: &str, name: &str) -> Option<f64> {
        let namespace = &self.world.namespace;
        self.controller.metric(&format!(
            "gotk_token_cache_events_total{{event_type=\"{event}\",kind=\"ImageRepository\",name=\"{name}\",\
             namespace=\"{namespace}\",operation=\"reconcile\"}}"
        ))
    }
}

#[test]
fn a_service_accounts_own_token_is_a_login_at_a_registry() {
    let Some(cluster) = Cluster::shared() else { return };
    let tokens = Tokens::start(cluster, "own-tokens");
    let host = tokens.registry.host();
    tokens.images("bearer", &json!({PROVIDER: "kubernetes", TYPE: "jwt"}));
    tokens.images(
        "basic",
        &json!({PROVIDER: "kubernetes", TYPE: "jwt", USERNAME: "flux", AUDIENCES: "a, b"}),
    );
    for (name, audiences) in [("bearer", json!([host])), ("basic", json!(["a", "b"]))] {
        tokens.scanned(name);
        let found = tokens.tokens(name);
        assert_eq!(found.len(), 1, "one token for all requests of a scan");
        let account = format!("system:serviceaccount:own-tokens:{name}");
        assert_eq!(tokens.subject(&found[0]), (account, audiences));
        assert_eq!(tokens.count("cache_miss", name), Some(1.0));
    }
    tokens.world.request(IMAGE_REPOSITORY, "bearer", "again");
    wait_for(
        || tokens.count("cache_hit", "bearer") == Some(1.0),
        || tokens.controller.log(),
    );
    assert_eq!(tokens.tokens("bearer").len(), 1, "kept while it is fresh");

    // A redirect to another server gets nothing.
    tokens.images("moved", &json!({PROVIDER: "kubernetes", TYPE: "jwt"}));
    tokens.scanned("moved");
    let requests = tokens.elsewhere.requests();
    assert!(!requests.is_empty());
    assert!(requests.iter().all(|request| request.header("authorization").is_none()));

    let oci = json!({
        "url": format!("oci://{host}/source"), "interval": "1h", "insecure": true, "serviceAccountName": "bearer",
    });
    tokens.world.add(OCI_REPOSITORY, "app", oci);
    let said = tokens.world.ready(OCI_REPOSITORY, "app", "False", |_, _| true);
    assert!(said.contains("MANIFEST_UNKNOWN"), "{said}");
    assert_eq!(
        tokens.subject(&tokens.tokens("source")[0]).0,
        "system:serviceaccount:own-tokens:bearer"
    );

    // Each token of Kubernetes begins with the same header.
    let mut seen = tokens.controller.log() + &tokens.controller.metrics();
    for kind in [IMAGE_REPOSITORY, OCI_REPOSITORY] {
        seen += &tokens.world.cluster.get(&tokens.world.list_path(kind)).to_string();
    }
    assert!(!seen.contains("eyJ"), "{seen}");
}

#[test]
fn annotations_that_do_not_go_together_send_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let tokens = Tokens::start(cluster, "own-tokens-refused");
    let pulls = json!({
        "metadata": {"annotations": {PROVIDER: "kubernetes", TYPE: "jwt"}}, "imagePullSecrets": [{"name": "none"}],
    });
    tokens.world.put(SERVICE_ACCOUNT, "pulls", pulls);
    tokens.repository("pulls");
    for (name, annotations) in [
        ("half", json!({PROVIDER: "kubernetes"})),
        ("spiffe", json!({PROVIDER: "spiffe", TYPE: "jwt"})),
        (
            "api",
            json!({PROVIDER: "kubernetes", TYPE: "jwt", AUDIENCES: "a https://kubernetes.default.svc"}),
        ),
        (
            "cloud",
            json!({PROVIDER: "kubernetes", TYPE: "jwt", AUDIENCES: "sts.amazonaws.com"}),
        ),
    ] {
        tokens.images(name, &annotations);
    }
    for (name, said) in [
        ("half", "annotation credential.auth.fluxcd.io/type is not set"),
        ("spiffe", "which is not supported"),
        ("api", "audience \"https://kubernetes.default.svc\" is not allowed"),
        ("cloud", "audience \"sts.amazonaws.com\" is not allowed"),
        ("pulls", "imagePullSecrets of the ServiceAccount cannot be combined"),
    ] {
        let refused = tokens.refused(name);
        assert!(refused.contains(said), "{name}: {refused}");
        assert_eq!(tokens.tokens(name), Vec::<String>::new());
    }
    // Without the annotations it is nobody.
    tokens.images("nobody", &json!({AUDIENCES: "a"}));
    tokens.refused("nobody");
    assert_eq!(tokens.tokens("nobody"), Vec::<String>::new());
}
