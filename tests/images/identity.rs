//! `bumpwright controller` with the identities of objects: real tokens of a real API server, exchanged at stubs of
//! the clouds that check every request, for registries and Git servers that accept nothing else (N-004, N-024, N-037,
//! N-050).

use std::ops::Deref;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::git_http::{Fault, Options, Seen};
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::proxy::Proxy;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tls::Certificates;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{
    AUTOMATION, EVENT, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, ObjectKind, SECRET, SERVICE_ACCOUNT, World,
    automation, git_repository,
};
use serde_json::{Value as Json, json};

/// Part of every secret that the stubs give.
const HUNTER: &str = "hunter2";
const FAR: &str = "2099-01-01T00:00:00Z";
const ECR: &str = "012345678901.dkr.ecr.eu-west-1.amazonaws.com";
const ACR: &str = "team.azurecr.io";
const GAR: &str = "europe-docker.pkg.dev";
const CODECOMMIT: &str = "git-codecommit.eu-west-1.amazonaws.com";
const DEVOPS: &str = "dev.azure.com";
const GIT_HOSTS: [&str; 2] = [CODECOMMIT, DEVOPS];
const HOSTS: [&str; 8] = [
    "sts.eu-west-1.amazonaws.com",
    "api.ecr.eu-west-1.amazonaws.com",
    ECR,
    "login.microsoftonline.com",
    ACR,
    "sts.googleapis.com",
    "iamcredentials.googleapis.com",
    GAR,
];
const POOL: &str = "projects/1/locations/global/workloadIdentityPools/p/providers/q";

/// The clouds and their registries, behind one address.
fn internet(request: &Request) -> Reply {
    let text = |text: &str| format!("{text}-{HUNTER}");
    match request.header("host").unwrap_or_default().trim_end_matches(":443") {
        "sts.eu-west-1.amazonaws.com" => {
            let role = request.fields("RoleArn")[0].rsplit('/').next().unwrap().to_owned();
            if role == "echo" {
                let said = format!("not for {}", request.fields("WebIdentityToken")[0]);
                let error = format!("<E><Error><Code>AccessDenied</Code><Message>{said}</Message></Error></E>");
                return Reply::bytes(403, "text/xml", error);
            }
            let credentials = format!(
                "<Credentials><AccessKeyId>AK-{role}</AccessKeyId><SecretAccessKey>{}</SecretAccessKey><SessionToken>{}\
                 </SessionToken><Expiration>{FAR}</Expiration></Credentials>",
                text("SK"),
                text("ST")
            );
            Reply::bytes(200, "text/xml", format!("<R><Result>{credentials}</Result></R>"))
        }
        "api.ecr.eu-west-1.amazonaws.com" => {
            let key = request.header("authorization").unwrap();
            let key = key.split("Credential=").nth(1).unwrap().split('/').next().unwrap();
            let token = STANDARD.encode(format!("AWS:{}", text(key)));
            let data = json!({"authorizationToken": token, "expiresAt": 4_000_000_000_u64});
            Reply::json(&json!({"authorizationData": [data]}))
        }
        "login.microsoftonline.com" => Reply::json(&json!({"expires_in": 3599, "access_token": text("entra")})),
        "sts.googleapis.com" => Reply::json(&json!({"expires_in": 3599, "access_token": text("federated")})),
        "iamcredentials.googleapis.com" => {
            assert_eq!(
                request.header("authorization"),
                Some(&*format!("Bearer {}", text("federated")))
            );
            Reply::json(&json!({"accessToken": text("impersonated"), "expireTime": FAR}))
        }
        ACR if request.path == "/oauth2/exchange" => {
            assert_eq!(request.fields("access_token"), [text("entra")]);
            let claims = URL_SAFE_NO_PAD.encode(r#"{"exp":4000000000}"#);
            Reply::json(&json!({"refresh_token": format!("e30.{claims}.{HUNTER}")}))
        }
        host @ (ECR | ACR | GAR) => registry(host, request),
        other => Reply::text(404, other),
    }
}

/// Takes only what the exchange for it gives.
fn registry(host: &str, request: &Request) -> Reply {
    let (user, password) = request.login().unwrap_or_default();
    let good = match host {
        ECR => user == "AWS" && password.starts_with("AK-") && password.ends_with(HUNTER),
        ACR => user == "00000000-0000-0000-0000-000000000000" && password.ends_with(HUNTER),
        _ => user == "oauth2accesstoken" && password == format!("impersonated-{HUNTER}"),
    };
    match request.path.as_str() {
        _ if !good => Reply::registry_error(401, "UNAUTHORIZED", "no").header("WWW-Authenticate", "Basic realm=\"r\""),
        "/v2/" => Reply::json(&json!({})),
        path if path.ends_with("/tags/list") => Reply::json(&json!({"name": "app", "tags": ["1.0.0", "1.1.0"]})),
        _ => Reply::registry_error(404, "NOT_FOUND", "no"),
    }
}

/// A world with a controller, whose ways to the clouds lead to the stubs.
struct Clouds {
    // Before the folder that has its log and storage goes.
    controller: Controller,
    world: World<'static>,
    internet: StubHttp,
}

impl Deref for Clouds {
    type Target = World<'static>;

    fn deref(&self) -> &World<'static> {
        &self.world
    }
}

impl Clouds {
    /// None without the programs.
    fn start(namespace: &'static str, flags: &[&str]) -> Option<Self> {
        let cluster = Cluster::shared()?;
        let hosts = HOSTS.iter().chain(&GIT_HOSTS).copied().collect::<Vec<_>>();
        let certificates = Certificates::for_host(&hosts.join(",DNS:"))?;
        cluster.define();
        let tls = Some(certificates.server_config(false));
        let internet = StubHttp::with(tls.clone(), internet);
        let options = Options {
            tls,
            ..Options::default()
        };
        let world = World::with_git(cluster, namespace, options);
        let ports: Vec<String> = hosts.iter().map(|host| format!("{host}:443")).collect();
        let leads = ports.iter().zip(&hosts).map(|(port, host)| {
            let to = if GIT_HOSTS.contains(host) {
                world.git.address()
            } else {
                internet.address()
            };
            (port.as_str(), to)
        });
        let proxy = Proxy::leading(None, &leads.collect::<Vec<_>>());
        let address = format!("http://{}", proxy.address);
        world.put(SECRET, "proxy", json!({"stringData": {"address": address}}));
        let ca = world.folder.path().join("ca.pem");
        std::fs::write(&ca, &certificates.ca).unwrap();
        let starter = world.starter("controller").flags(flags);
        let controller = starter.variable("SSL_CERT_FILE", &ca).start();
        Some(Self {
            controller,
            world,
            internet,
        })
    }

    fn account(&self, name: &str, annotations: &Json) {
        self.put(SERVICE_ACCOUNT, name, json!({"metadata": {"annotations": annotations}}));
    }

    /// A ServiceAccount for each cloud, of its name.
    fn accounts(&self) {
        self.account(
            "aws",
            &json!({"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/scan"}),
        );
        self.account(
            "azure",
            &json!({"azure.workload.identity/tenant-id": "ten", "azure.workload.identity/client-id": "client"}),
        );
        self.account(
            "gcp",
            &json!({"gcp.auth.fluxcd.io/workload-identity-provider": POOL,
                    "iam.gke.io/gcp-service-account": "scan@project.iam.gserviceaccount.com"}),
        );
    }

    /// An ImageRepository at a provider; an empty `account` names none.
    fn images(&self, name: &str, image: &str, provider: &str, account: &str) {
        let mut spec = json!({
            "image": image, "interval": "1h", "provider": provider, "proxySecretRef": {"name": "proxy"},
        });
        if !account.is_empty() {
            spec["serviceAccountName"] = json!(account);
        }
        self.add(IMAGE_REPOSITORY, name, spec);
    }

    /// A repository with a marker at an address of a provider, and an automation for it.
    fn automation(&self, name: &str, url: &str, provider: &str, account: &str) -> Repo {
        let path = url.split('/').skip(3).collect::<Vec<_>>().join("/");
        let repo = self.repository(&path);
        let file = format!(
            "image: ghcr.io/o/app:1.0.0 # {{\"$imagepolicy\": \"{}:app\"}}\n",
            self.namespace
        );
        repo.commit("main", "first", &[Change::File("a.yaml", file.as_bytes())]);
        let mut spec = git_repository(url);
        spec["provider"] = json!(provider);
        spec["proxySecretRef"] = json!({"name": "proxy"});
        if !account.is_empty() {
            spec["serviceAccountName"] = json!(account);
        }
        self.add(GIT_REPOSITORY, name, spec);
        self.add(AUTOMATION, name, automation(name));
        repo
    }

    /// Waits until an object says so of its success, or of its failure.
    fn says(&self, kind: ObjectKind, name: &str, wanted: &str, message: &str) {
        let status = if wanted == "Succeeded" { "True" } else { "False" };
        self.ready(kind, name, status, |reason, said| {
            reason == wanted && said.starts_with(message)
        });
    }

    fn scanned(&self, name: &str) {
        self.says(IMAGE_REPOSITORY, name, "Succeeded", "successful scan: found 2 tags");
    }

    /// The tokens that a service was shown, with the field that they came in.
    fn shown(&self, host: &str, field: &str) -> Vec<String> {
        let all = self.internet.requests();
        let to = all.iter().filter(|request| request.header("host") == Some(host));
        to.flat_map(|request| request.fields(field)).collect()
    }

    /// Whose token it is for this audience, as the API server that issued it says; it is for no other one.
    fn subject(&self, token: &str, audience: &str) -> String {
        let spec = json!({"token": token, "audiences": [audience]});
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec});
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let status = self.cluster.request("POST", path, "", &review.to_string()).body["status"].clone();
        assert_eq!(status["authenticated"], true, "{status}");
        let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
        let claims: Json = serde_json::from_slice(&claims).unwrap();
        assert_eq!(claims["aud"], json!([audience]));
        let name = status["user"]["username"].as_str().unwrap();
        let own = format!("system:serviceaccount:{}:", self.namespace);
        name.strip_prefix(&own).unwrap().to_owned()
    }

    /// Nothing of a secret is in the log, in any object of the namespace or in any event.
    fn keeps_secrets(&self) {
        let mut seen = self.controller.log() + &self.controller.metrics();
        for kind in [IMAGE_REPOSITORY, IMAGE_POLICY, AUTOMATION, EVENT] {
            seen += &self.cluster.get(&self.list_path(kind)).to_string();
        }
        // Each token of Kubernetes begins with the same header.
        for secret in [HUNTER, "eyJ"] {
            assert!(!seen.contains(secret), "{seen}");
        }
    }
}

#[test]
fn n_050_images_are_scanned_as_their_service_accounts_at_each_cloud() {
    let Some(world) = Clouds::start("wi-images", &["--controllers=image-reflector", "--log-level=trace"]) else {
        return;
    };
    world.accounts();
    // Another tenant with the same role.
    world.account(
        "other",
        &json!({"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/scan"}),
    );
    let ecr = format!("{ECR}/app");
    for (name, image, provider) in [
        ("aws", ecr.as_str(), "aws"),
        ("other", &ecr, "aws"),
        ("azure", &format!("{ACR}/app"), "azure"),
        ("gcp", &format!("{GAR}/p/r/app"), "gcp"),
    ] {
        world.images(name, image, provider, name);
    }
    ["aws", "other", "azure", "gcp"]
        .into_iter()
        .for_each(|name| world.scanned(name));
    let subjects = |host, field, audience| {
        let shown = world.shown(host, field);
        let mut found: Vec<_> = shown.iter().map(|token| world.subject(token, audience)).collect();
        found.sort();
        found
    };
    assert_eq!(
        subjects("sts.eu-west-1.amazonaws.com", "WebIdentityToken", "sts.amazonaws.com"),
        ["aws", "other"],
        "tenants share nothing"
    );
    let mut sessions = world.shown("sts.eu-west-1.amazonaws.com", "RoleSessionName");
    sessions.sort();
    assert_eq!(
        sessions,
        [
            "aws.wi-images.eu-west-1.fluxcd.io",
            "other.wi-images.eu-west-1.fluxcd.io"
        ]
    );
    let audience = "api://AzureADTokenExchange";
    assert_eq!(
        subjects("login.microsoftonline.com", "client_assertion", audience),
        ["azure"]
    );
    let audience = format!("//iam.googleapis.com/{POOL}");
    assert_eq!(subjects("sts.googleapis.com", "subject_token", &audience), ["gcp"]);
    assert_eq!(world.shown("sts.googleapis.com", "audience"), [audience]);

    let count = |series: &str| world.controller.metric(series);
    let events = |event: &str, name: &str| {
        count(&format!(
            "gotk_token_cache_events_total{{event_type=\"{event}\",kind=\"ImageRepository\",name=\"{name}\",\
             namespace=\"wi-images\",operation=\"reconcile\"}}"
        ))
    };
    assert_eq!(events("cache_miss", "aws"), Some(2.0), "credentials and login");
    assert_eq!(events("cache_miss", "gcp"), Some(1.0), "the token is the login");
    assert_eq!(events("cache_hit", "aws"), None);
    assert_eq!(count("gotk_token_cached_items"), Some(7.0));
    assert_eq!(count("gotk_token_cache_requests_total{status=\"success\"}"), Some(7.0));
    let asked = world.internet.requests();
    let asked = asked.iter().filter(|request| request.path.starts_with("/v2/")).count();
    assert_eq!(count("bumpwright_registry_requests_total"), Some(asked as f64));
    let host = world.cluster.url().trim_start_matches("https://");
    let posted = count(&format!(
        "rest_client_requests_total{{code=\"201\",host=\"{host}\",method=\"POST\"}}"
    ));
    assert!(posted.unwrap_or_default() >= 4.0, "a token for each");

    // Asked again, nothing is fetched.
    let before = world.internet.requests().len();
    world.request(IMAGE_REPOSITORY, "aws", "now");
    until("the request is handled", || {
        world.get(IMAGE_REPOSITORY, "aws")["status"]["lastHandledReconcileAt"] == "now"
    });
    let asked = world.internet.requests().split_off(before);
    assert!(!asked.is_empty() && asked.iter().all(|request| request.path.starts_with("/v2/")));
    assert_eq!(events("cache_hit", "aws"), Some(1.0));
    world.keeps_secrets();
}

/// The Git server's part: what each provider's exchange gives.
fn comes_as(seen: &Seen) -> bool {
    let bearer = format!("Bearer entra-{HUNTER}");
    let (user, password) = seen.login().unwrap_or_default();
    match seen.header("host").unwrap_or_default().trim_end_matches(":443") {
        DEVOPS => seen.header("authorization") == Some(&*bearer),
        _ => user == format!("AK-scan%ST-{HUNTER}") && !password.is_empty(),
    }
}

#[test]
fn n_004_n_006_git_repositories_are_pushed_to_as_their_service_accounts() {
    let Some(world) = Clouds::start("wi-git", &["--controllers=image-automation", "--log-level=trace"]) else {
        return;
    };
    world
        .git
        .intercept(|seen| (!comes_as(seen)).then(|| Fault::Unauthorized("no".to_owned())));
    world.accounts();
    add_choice(&world, "app", "1.1.0");
    let repos = [
        world.automation("aws", &format!("https://{CODECOMMIT}/v1/repos/app"), "aws", "aws"),
        world.automation("azure", &format!("https://{DEVOPS}/o/p/_git/r"), "azure", "azure"),
    ];
    for (name, repo) in ["aws", "azure"].into_iter().zip(repos) {
        world.says(AUTOMATION, name, "Succeeded", "repository up-to-date");
        assert!(
            String::from_utf8(repo.show("main", "a.yaml"))
                .unwrap()
                .contains("app:1.1.0")
        );
    }
    let shown = world.shown("sts.eu-west-1.amazonaws.com", "WebIdentityToken");
    assert_eq!(shown.len(), 1);
    assert_eq!(world.subject(&shown[0], "sts.amazonaws.com"), "aws");
    let shown = world.shown("login.microsoftonline.com", "client_assertion");
    assert_eq!(shown.len(), 1);
    assert_eq!(world.subject(&shown[0], "api://AzureADTokenExchange"), "azure");
    let series = "gotk_token_cache_events_total{event_type=\"cache_miss\",kind=\"ImageUpdateAutomation\",name=\"azure\",\
                  namespace=\"wi-git\",operation=\"reconcile\"}";
    assert_eq!(world.controller.metric(series), Some(1.0));
    world.controller.counts("bumpwright_pushes_total", 2.0);
    world.keeps_secrets();
}

/// Since Flux 2.10 no gate closes it; what may be missing is the right to issue tokens, and that is said.
#[test]
fn n_024_without_the_right_to_issue_tokens_objects_say_what_to_grant() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "wi-right");
    world.put(SERVICE_ACCOUNT, "controller", json!({}));
    world.put(
        SERVICE_ACCOUNT,
        "scanner",
        json!({"metadata": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/scanner"}}}),
    );
    let rule = |group: &str, resources: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": ["*"]});
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "wi-right"},
        "rules": [rule("image.toolkit.fluxcd.io", &["*"]), rule("source.toolkit.fluxcd.io", &["*"]),
            rule("", &["events", "secrets", "configmaps", "serviceaccounts", "namespaces"])],
    });
    cluster.apply(&role.to_string());
    let subject = json!({"kind": "ServiceAccount", "name": "controller", "namespace": world.namespace});
    cluster.bind("wi-right", "wi-right", &subject);
    let path = format!("{}/token", world.path(SERVICE_ACCOUNT, "controller"));
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let issued = cluster.request("POST", &path, "", &request.to_string());
    let token = issued.body["status"]["token"].as_str().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, cluster.kubeconfig_with(&token)).unwrap();
    let spec =
        json!({"image": format!("{ECR}/app"), "interval": "1h", "provider": "aws", "serviceAccountName": "scanner"});
    world.add(IMAGE_REPOSITORY, "app", spec);
    let flags = ["--controllers=image-reflector", "--default-service-account=tenant"];
    let controller = world
        .starter("controller")
        .kubeconfig(&kubeconfig)
        .flags(&flags)
        .start();
    let grant = "grant it to the controller, by bumpwright install --workload-identity";
    world.ready(IMAGE_REPOSITORY, "app", "False", |_, message| {
        message.contains("cannot create resource \"serviceaccounts/token\"") && message.contains(grant)
    });
    // What Flux's image controllers would take for a lockdown is none here, and that is said.
    controller.says("--default-service-account is for Kustomizations only");
}

#[test]
fn n_050_what_is_wrong_with_a_service_account_is_said_in_the_words_of_flux() {
    let Some(world) = Clouds::start("wi-wrong", &[]) else {
        return;
    };
    world.account("bare", &json!({}));
    world.account("bad", &json!({"eks.amazonaws.com/role-arn": "admin"}));
    let (ecr, acr) = (format!("{ECR}/app"), format!("{ACR}/app"));
    world.images("absent", &ecr, "aws", "nobody");
    world.images("bad", &ecr, "aws", "bad");
    world.images("bare", &acr, "azure", "bare");
    let token = "scan failed: failed to get access token for artifact registry: ";
    for (name, said) in [
        (
            "absent",
            "failed to get service account 'wi-wrong/nobody': ServiceAccount \"nobody\" not found",
        ),
        (
            "bad",
            "failed to get provider identity from service account 'wi-wrong/bad' annotations: invalid \
             eks.amazonaws.com/role-arn annotation: 'admin'. must match ^arn:aws",
        ),
        (
            "bare",
            "failed to get provider identity from service account 'wi-wrong/bare' annotations: azure tenant ID is not set \
             in the service account annotation azure.workload.identity/tenant-id",
        ),
    ] {
        world.says(IMAGE_REPOSITORY, name, "ReadOperationFailed", &format!("{token}{said}"));
    }
    world.automation("git", &format!("https://{DEVOPS}/o/p/_git/r"), "azure", "nobody");
    world.says(
        AUTOMATION,
        "git",
        "SourceManagerFailed",
        "failed configuring source manager: failed to configure authentication options: failed to get access token for Git \
         repository: failed to get service account 'wi-wrong/nobody': ServiceAccount \"nobody\" not found",
    );
    assert!(world.internet.requests().is_empty() && world.git.requests().is_empty());
    assert!(
        world
            .controller
            .metric("gotk_token_cache_requests_total{status=\"failure\"}")
            .is_none()
    );
    world.account(
        "echo",
        &json!({"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/echo"}),
    );
    world.images("echo", &ecr, "aws", "echo");
    let said = "failed to create provider access token for service account 'wi-wrong/echo': assume the AWS role \
                arn:aws:iam::1:role/echo by a web identity token: https://sts.eu-west-1.amazonaws.com/ answered 403 \
                AccessDenied: not for ***";
    let message = format!("{token}{said}");
    world.says(IMAGE_REPOSITORY, "echo", "ReadOperationFailed", &message);
    world.keeps_secrets();
}

#[test]
fn n_037_the_default_account_counts_for_objects_that_name_none() {
    let arguments = ["--default-workload-service-account=aws"];
    let Some(world) = Clouds::start("wi-default", &arguments) else {
        return;
    };
    world.images("app", &format!("{ECR}/app"), "aws", "");
    let message = "scan failed: failed to get access token for artifact registry: failed to \
                   get service account 'wi-default/aws': the specified default service account does not exist in the object \
                   namespace. your cluster is subject to multi-tenant workload identity lockdown";
    world.says(IMAGE_REPOSITORY, "app", "ReadOperationFailed", message);
    world.accounts();
    world.scanned("app");
    let shown = world.shown("sts.eu-west-1.amazonaws.com", "WebIdentityToken");
    assert_eq!(world.subject(&shown[0], "sts.amazonaws.com"), "aws");
}
