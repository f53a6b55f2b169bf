//! `bumpwright update -f` with fetched credentials of a GitRepository: GitHub Apps, Azure, AWS and Google, against
//! stubs that issue tokens and real Git servers that accept nothing else.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bumpwright_cloud::{
    Cloud, CredentialSettings, Endpoints, Environment, GitIdentity, GitLogin, Provider, WorkloadIdentity,
};
use bumpwright_http::{Deadline, FetchLogin, Login, Peer};
use bumpwright_secret::Secret;
use bumpwright_testkit::cli::{Bench, Ran, automation, git_repository, policy, ran};
use bumpwright_testkit::git_http::{Fault, GitHttp, Options, Seen};
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::proxy::Proxy;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::rsa::Rsa;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tls::Certificates;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

const FAR: &str = "2099-01-01T00:00:00Z";
/// What must never be seen.
const HUNTER: &str = "hunter2-hunter2";

fn marked(namespace: &str, tag: &str) -> String {
    format!("image: o/app:{tag} # {{\"$imagepolicy\": \"{namespace}:app\"}}\n")
}

/// A repository with one marker of the policy `NAMESPACE:app`, behind a server of its own.
struct Fleet {
    bench: Bench,
    repo: Repo,
    git: GitHttp,
}

impl Fleet {
    fn new() -> Self {
        Self::at("app.git", Options::default())
    }

    fn at(path: &str, options: Options) -> Self {
        let bench = Bench::new();
        let repo = bench.repository(path);
        repo.commit(
            "main",
            "first",
            &[Change::File("a.yaml", marked("fs", "1.0.0").as_bytes())],
        );
        let git = GitHttp::with(&bench.dir, options);
        Self { bench, repo, git }
    }

    /// Accepts only requests that this accepts; others get a 401.
    fn takes(&self, is_good: impl Fn(&Seen) -> bool + Send + Sync + 'static) {
        self.git
            .intercept(move |seen| (!is_good(seen)).then(|| Fault::Unauthorized("Bad credentials\n".to_owned())));
    }

    /// Policy, repository with these settings, automation, and more.
    fn manifests(&self, spec: &str, more: &str) -> String {
        manifests("fs", &self.git.url("app.git"), spec) + more
    }

    fn update(&self, manifests: &str, variables: &[(&str, &str)]) -> Ran {
        update(&self.bench, manifests, variables)
    }

    fn lands(&self, manifests: &str, variables: &[(&str, &str)]) {
        let ran = self.update(manifests, variables);
        assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
        assert_eq!(self.repo.show("main", "a.yaml"), marked("fs", "2.0.0").as_bytes());
    }

    fn fails(&self, manifests: &str, variables: &[(&str, &str)]) -> String {
        let ran = self.update(manifests, variables);
        assert_eq!(ran.code, 2, "{}\n{}", ran.out, ran.err);
        assert_eq!(self.repo.log("main").len(), 1, "nothing is pushed");
        error(&ran, 0)
    }

    fn logins(&self) -> Vec<Option<(String, String)>> {
        self.git.requests().iter().map(|seen| seen.login()).collect()
    }
}

/// A repository at a host of a provider's: what goes there in TLS, by the proxy of the environment, comes to a
/// server of its own.
struct Hosted {
    fleet: Fleet,
    url: String,
    variables: [(&'static str, String); 2],
}

impl Hosted {
    /// None without openssl.
    fn at(host: &str, path: &str) -> Option<Self> {
        let certificates = Certificates::for_host(host)?;
        let tls = Some(certificates.server_config(false));
        let fleet = Fleet::at(
            path,
            Options {
                tls,
                ..Options::default()
            },
        );
        let ca = fleet.bench.write("ca.pem", String::from_utf8(certificates.ca).unwrap());
        let proxy = Proxy::leading(None, &[(&format!("{host}:443"), fleet.git.address())]);
        Some(Self {
            fleet,
            url: format!("https://{host}/{path}"),
            variables: [
                ("HTTPS_PROXY", format!("http://{}", proxy.address)),
                ("SSL_CERT_FILE", ca.display().to_string()),
            ],
        })
    }

    fn lands(&self, spec: &str, identity: &[(&str, &str)]) {
        let variables = self.variables.iter().map(|(name, value)| (*name, value.as_str()));
        let variables: Vec<_> = identity.iter().copied().chain(variables).collect();
        self.fleet.lands(&manifests("fs", &self.url, spec), &variables);
    }
}

fn manifests(namespace: &str, url: &str, spec: &str) -> String {
    policy(namespace, "app", "o/app", "2.0.0")
        + &git_repository(namespace, "repo", url, &format!("  ref: {{branch: main}}\n{spec}"))
        + &automation(namespace, "auto", "repo", "", "")
}

/// Runs; nothing of the machine's own proxies, and no secret in what is printed.
fn update(bench: &Bench, manifests: &str, variables: &[(&str, &str)]) -> Ran {
    bench.write("m.yaml", manifests);
    let mut command = bench.command(&["update", "-f", "m.yaml", "--output", "json"]);
    for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(name);
    }
    let ran = ran(command.envs(variables.iter().copied()).output().unwrap());
    for secret in [HUNTER, "ghs_", "PRIVATE KEY", "entra-token", "google-token", "ST/role"] {
        assert!(
            !ran.out.contains(secret) && !ran.err.contains(secret),
            "{}\n{}",
            ran.out,
            ran.err
        );
    }
    ran
}

fn error(ran: &Ran, run: usize) -> String {
    let document: Json = serde_json::from_str(&ran.out).unwrap();
    document["runs"][run]["error"].as_str().unwrap_or_default().to_owned()
}

fn secret(namespace: &str, name: &str, values: &[(&str, &str)]) -> String {
    let values: BTreeMap<_, _> = values.iter().copied().collect();
    format!(
        "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: {namespace}}}\nstringData: {}\n",
        json!(values)
    )
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(120))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

const BY_APP: &str = "  provider: github\n  secretRef: {name: app}\n";

/// The Secret of App 12 and its installation 42.
fn app(key: &str, api: &str) -> String {
    let values = [
        ("githubAppID", "12"),
        ("githubAppInstallationID", "42"),
        ("githubAppPrivateKey", key),
        ("githubAppBaseURL", api),
    ];
    secret("fs", "app", &values)
}

/// An API that issues `ghs_1`, `ghs_2` and so on for installation 42, which is at the user acme.
fn github() -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let issued = AtomicUsize::new(0);
    move |request| match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/api/v3/app/installations/42/access_tokens") => {
            let token = format!("ghs_{}", issued.fetch_add(1, Ordering::SeqCst) + 1);
            let body = json!({"token": token, "expires_at": FAR});
            Reply::bytes(201, "application/json", body.to_string())
        }
        ("GET", "/api/v3/users/acme/installation") => Reply::json(&json!({"id": 42})),
        _ => Reply::bytes(404, "application/json", r#"{"message": "Not Found"}"#),
    }
}

fn token(number: usize) -> Option<(String, String)> {
    Some(("x-access-token".to_owned(), format!("ghs_{number}")))
}

/// Looks whether App 12 signed a request with this key, as GitHub wants it.
fn assert_signed_by_app(request: &Request, id: &str, rsa: &Rsa) {
    let authorization = request.header("authorization").unwrap();
    let jwt = authorization.strip_prefix("Bearer ").unwrap();
    let (header, claims) = rsa.verified(jwt, webpki::ring::RSA_PKCS1_2048_8192_SHA256);
    assert_eq!(header, json!({"alg": "RS256", "typ": "JWT"}));
    let issued = claims["iat"].as_u64().unwrap();
    assert!(
        (25..=90).contains(&(now() - issued)),
        "issued at {issued}, by half a minute's drift"
    );
    assert_eq!(claims, json!({"iss": id, "iat": issued, "exp": issued + 120}));
    assert_eq!(request.header("accept"), Some("application/vnd.github+json"));
    assert_eq!(request.header("x-github-api-version"), Some("2022-11-28"));
}

#[test]
fn n_005_a_github_app_gets_one_token_for_a_run() {
    let fleet = Fleet::new();
    let Some(rsa) = Rsa::make(fleet.bench.home.path()) else {
        return;
    };
    let api = StubHttp::start(github());
    fleet.takes(|seen| seen.login() == token(1));
    fleet.lands(&fleet.manifests(BY_APP, &app(&rsa.key, &api.url("api/v3"))), &[]);
    let asked = api.requests();
    assert_eq!(asked.len(), 1, "the token is kept");
    assert_signed_by_app(&asked[0], "12", &rsa);
    assert!(
        fleet.logins().iter().all(|login| *login == token(1)),
        "from the first request on"
    );
}

#[test]
fn n_005_an_installation_is_found_by_its_owner() {
    let fleet = Fleet::new();
    let Some(rsa) = Rsa::make(fleet.bench.home.path()) else {
        return;
    };
    let api = StubHttp::start(github());
    fleet.takes(|seen| seen.login() == token(1));
    let owned_by = |owner: &str| {
        let values = [
            ("githubAppClientID", "Iv23liAPP"),
            ("githubAppInstallationOwner", owner),
            ("githubAppPrivateKey", &rsa.key),
            ("githubAppBaseURL", &api.url("api/v3/")),
        ];
        fleet.manifests(BY_APP, &secret("fs", "app", &values))
    };
    let said = fleet.fails(&owned_by("no/body"), &[]);
    let start = format!(
        "{}: failed to configure authentication options: failed to find organization installation: {} answered 404: Not Found",
        fleet.git.url("app.git"),
        api.url("api/v3/orgs/no%2Fbody/installation")
    );
    assert!(said.contains(&start), "{said}");
    assert!(said.contains(": failed to find user installation: "), "{said}");
    api.clear();
    fleet.lands(&owned_by("acme"), &[]);
    let paths: Vec<String> = api.requests().into_iter().map(|request| request.path).collect();
    let expected = [
        "orgs/acme/installation",
        "users/acme/installation",
        "app/installations/42/access_tokens",
    ];
    assert_eq!(paths, expected.map(|path| format!("/api/v3/{path}")));
    // By the client ID in place of the number, as since Flux 2.10.
    assert_signed_by_app(&api.requests()[2], "Iv23liAPP", &rsa);
}

#[test]
fn n_004_to_n_006_settings_that_cannot_work_are_refused_as_flux_refuses_them() {
    let fleet = Fleet::new();
    let no_app =
        "secretRef with github app data must be specified when provider is set to github: invalid source configuration";
    let failed = "failed to configure authentication options:";
    let by_app = |values: &[(&str, &str)]| (BY_APP.to_owned(), secret("fs", "app", values));
    let (id, key) = (("githubAppID", "12"), ("githubAppPrivateKey", HUNTER));
    let (installation, owner) = (
        ("githubAppInstallationID", "42"),
        ("githubAppInstallationOwner", "acme"),
    );
    let plain = |spec: &str| (spec.to_owned(), String::new());
    let rows = [
        (plain("  provider: github\n"), no_app.to_owned()),
        (by_app(&[("username", "bot")]), no_app.to_owned()),
        (by_app(&[id, installation]), no_app.to_owned()),
        (by_app(&[key, installation]), no_app.to_owned()),
        (
            by_app(&[id, key, installation, owner]),
            "secret 'fs/app' must contain exactly one of 'githubAppInstallationOwner' or 'githubAppInstallationID'".to_owned(),
        ),
        (
            by_app(&[("githubAppID", "x"), key, installation]),
            format!("{failed} app ID or client ID must be provided to use github app authentication"),
        ),
        (
            by_app(&[id, key, installation]),
            format!("{failed} could not parse private key: it is not a private key in PEM"),
        ),
        (
            ("  secretRef: {name: app}\n".to_owned(), secret("fs", "app", &[id])),
            "secretRef 'fs/app' has github app data but provider is not set to github: invalid source configuration".to_owned(),
        ),
        (
            plain("  provider: aws\n"),
            format!("{failed} AWS CodeCommit authentication requires an HTTPS Git URL"),
        ),
        (
            plain("  provider: gitea\n"),
            "m.yaml:15:13: GitRepository fs/repo: spec.provider is \"gitea\", which is not supported; supported: \"generic\", \
             \"aws\", \"azure\", \"github\""
                .to_owned(),
        ),
        (
            plain("  provider: azure\n  serviceAccountName: sync\n"),
            "spec.serviceAccountName of GitRepository fs/repo: only a cluster issues tokens of the ServiceAccount \"sync\"; \
             give credentials by flags, or take the field out to use your own identity"
                .to_owned(),
        ),
    ];
    for ((spec, more), expected) in rows {
        assert_eq!(fleet.fails(&fleet.manifests(&spec, &more), &[]), expected, "{spec}");
    }
    assert_eq!(fleet.git.requests().len(), 0, "nobody is asked");
}

#[test]
fn n_004_azure_gives_a_bearer_token_for_azure_devops() {
    let Some(hosted) = Hosted::at("dev.azure.com", "o/p/_git/r") else {
        return;
    };
    let entra = StubHttp::start(|_| {
        Reply::json(&json!({"token_type": "Bearer", "expires_in": 3599, "access_token": "entra-token"}))
    });
    let fleet = &hosted.fleet;
    fleet.takes(|seen| seen.header("authorization") == Some("Bearer entra-token"));
    let identity = [
        ("AZURE_TENANT_ID", "ten-ant"),
        ("AZURE_CLIENT_ID", "client"),
        ("AZURE_CLIENT_SECRET", HUNTER),
        ("AZURE_AUTHORITY_HOST", &entra.url("")),
    ];
    hosted.lands("  provider: azure\n", &identity);
    let asked = entra.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (asked[0].method.as_str(), asked[0].target.as_str()),
        ("POST", "/ten-ant/oauth2/v2.0/token")
    );
    assert_eq!(
        String::from_utf8_lossy(&asked[0].body),
        format!(
            "client_id=client&grant_type=client_credentials&scope=499b84ac-1321-427f-aa17-267ca6975798%2F.default&\
             client_secret={HUNTER}"
        )
    );
}

#[test]
fn google_gives_an_access_token_as_password() {
    let Some(hosted) = Hosted::at("source.developers.google.com", "p/project/r/app") else {
        return;
    };
    let fleet = &hosted.fleet;
    let Some(rsa) = Rsa::make(fleet.bench.home.path()) else {
        return;
    };
    let google = StubHttp::start(|_| Reply::json(&json!({"access_token": "google-token", "expires_in": 3599})));
    fleet.takes(|seen| seen.login() == Some(("git-service-account".to_owned(), "google-token".to_owned())));
    let file = json!({
        "type": "service_account", "client_email": "a@b.iam.gserviceaccount.com", "private_key": rsa.key,
        "token_uri": google.url("token"),
    });
    let file = fleet.bench.write("google.json", file.to_string());
    let identity = [("GOOGLE_APPLICATION_CREDENTIALS", file.to_str().unwrap())];
    hosted.lands("  provider: gcp\n", &identity);
    let asked = google.requests();
    assert_eq!(asked.len(), 1);
    let (_, claims) = rsa.verified(
        &asked[0].fields("assertion")[0],
        webpki::ring::RSA_PKCS1_2048_8192_SHA256,
    );
    assert_eq!(
        (&claims["iss"], &claims["aud"]),
        (&json!("a@b.iam.gserviceaccount.com"), &json!(google.url("token")))
    );
}

const CODECOMMIT: &str = "git-codecommit.eu-west-1.amazonaws.com";

/// As CodeCommit: makes the signature again with the role's key.
fn signed_for_codecommit(seen: &Seen) -> bool {
    let Some((username, password)) = seen.login() else {
        return false;
    };
    let Some((date, signature)) = password.split_once('Z') else {
        return false;
    };
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let hmac = |key: Vec<u8>, text: &str| {
        let mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        mac.chain_update(text).finalize().into_bytes().to_vec()
    };
    let scope = format!("{}/eu-west-1/codecommit/aws4_request", &date[..8]);
    let canonical = format!("GIT\n/v1/repos/app\n\nhost:{CODECOMMIT}\n\nhost\n");
    let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
    let key = scope.split('/').fold(format!("AWS4{HUNTER}").into_bytes(), hmac);
    username == "AK%ST/role==" && signature == hex(&hmac(key, &to_sign))
}

#[test]
fn n_006_codecommit_gets_a_signature_of_a_role_through_the_proxy() {
    let Some(certificates) = Certificates::for_host(CODECOMMIT) else {
        return;
    };
    let tls = Some(certificates.server_config(false));
    let fleet = Fleet::at(
        "v1/repos/app",
        Options {
            tls,
            ..Options::default()
        },
    );
    fleet.takes(signed_for_codecommit);
    let sts = StubHttp::start(|_| {
        let credentials = format!(
            "<Credentials><AccessKeyId>AK</AccessKeyId><SecretAccessKey>{HUNTER}</SecretAccessKey>\
             <SessionToken>ST/role==</SessionToken><Expiration>{FAR}</Expiration></Credentials>"
        );
        Reply::bytes(200, "text/xml", format!("<R><Result>{credentials}</Result></R>"))
    });
    let codecommit = format!("{CODECOMMIT}:443");
    let proxy = Proxy::leading(None, &[(&codecommit, fleet.git.address())]);
    let web_identity = fleet.bench.write("token", "eyJ.token\n");
    let identity = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", web_identity.to_str().unwrap()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/role"),
        ("AWS_ROLE_SESSION_NAME", "me"),
        ("AWS_ENDPOINT_URL_STS", &sts.url("")),
    ];
    let spec = "  provider: aws\n  secretRef: {name: ca}\n  proxySecretRef: {name: proxy}\n";
    let manifests = manifests("fs", &format!("https://{CODECOMMIT}/v1/repos/app"), spec)
        + &secret(
            "fs",
            "ca",
            &[("ca.crt", std::str::from_utf8(&certificates.ca).unwrap())],
        )
        + &secret("fs", "proxy", &[("address", &format!("http://{}", proxy.address))]);
    fleet.lands(&manifests, &identity);
    let asked = sts.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        String::from_utf8_lossy(&asked[0].body),
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Frole&\
         RoleSessionName=me&WebIdentityToken=eyJ.token"
    );
    let targets = proxy.targets();
    assert!(
        targets.contains(&codecommit) && targets.contains(&sts.host()),
        "{targets:?}"
    );
}

/// Credentials that end between fetch and push (*Faults*): at the first request of the push, and at the push itself.
#[test]
fn a_token_that_ends_between_fetch_and_push_is_renewed() {
    for at_the_push_itself in [false, true] {
        let fleet = Fleet::new();
        let Some(rsa) = Rsa::make(fleet.bench.home.path()) else {
            return;
        };
        let api = StubHttp::start(github());
        fleet.takes(move |seen| {
            let is_push = seen.service == "git-receive-pack" && (!at_the_push_itself || seen.method == "POST");
            seen.login() == token(2) || (!is_push && seen.login() == token(1))
        });
        fleet.lands(&fleet.manifests(BY_APP, &app(&rsa.key, &api.url("api/v3"))), &[]);
        assert_eq!(api.count(), 2, "one token more");
        assert_eq!(fleet.repo.log("main").len(), 2, "pushed once");
        let stale = fleet
            .logins()
            .iter()
            .skip_while(|login| **login == token(1))
            .filter(|login| **login == token(1))
            .count();
        assert_eq!(stale, 0, "the old token is not tried again");
    }
}

#[test]
fn a_server_that_refuses_new_tokens_too_is_asked_no_further() {
    let fleet = Fleet::new();
    let Some(rsa) = Rsa::make(fleet.bench.home.path()) else {
        return;
    };
    let api = StubHttp::start(github());
    let manifests = fleet.manifests(BY_APP, &app(&rsa.key, &api.url("api/v3")));
    fleet.takes(|seen| seen.service != "git-receive-pack" && seen.login() == token(1));
    let said = fleet.fails(&manifests, &[]);
    let expected = format!("{}: authentication required: Bad credentials", fleet.git.url("app.git"));
    assert!(said.contains(&expected), "{said}");
    assert_eq!(api.count(), 2, "one renewal");
    let refused = fleet
        .git
        .requests()
        .iter()
        .filter(|seen| seen.service == "git-receive-pack")
        .count();
    assert_eq!(refused, 2, "one more try");
    fleet.takes(|seen| seen.login() == token(3));
    fleet.lands(&manifests, &[]);
    fleet.repo.fsck();
}

#[test]
fn a_token_that_cannot_be_renewed_is_said_so_and_the_next_run_is_well() {
    let fleet = Fleet::new();
    let Some(rsa) = Rsa::make(fleet.bench.home.path()) else {
        return;
    };
    let issue = github();
    let api = StubHttp::start(move |request| match request.number {
        2 => Reply::bytes(401, "application/json", r#"{"message": "This app was suspended"}"#),
        _ => issue(request),
    });
    let manifests = fleet.manifests(BY_APP, &app(&rsa.key, &api.url("api/v3")));
    fleet.takes(|seen| seen.service != "git-receive-pack" && seen.login() == token(1));
    let said = fleet.fails(&manifests, &[]);
    let expected = format!(
        "{}: failed to configure authentication options: the server refused the cached login, and there is no other: \
         get a token for installation 42 of GitHub App 12: {} answered 401: This app was suspended",
        fleet.git.url("app.git"),
        api.url("api/v3/app/installations/42/access_tokens"),
    );
    assert!(said.contains(&expected), "{said}");
    fleet.takes(|seen| seen.login() == token(2));
    fleet.lands(&manifests, &[]);
    fleet.repo.fsck();
}

/// The same with credentials that cannot be renewed.
#[test]
fn a_password_that_ends_between_fetch_and_push_is_a_clear_error() {
    let fleet = Fleet::new();
    let bot = || Some(("bot".to_owned(), HUNTER.to_owned()));
    let login = secret("fs", "login", &[("username", "bot"), ("password", HUNTER)]);
    let manifests = fleet.manifests("  secretRef: {name: login}\n", &login);
    fleet.takes(move |seen| seen.service != "git-receive-pack" && seen.login() == bot());
    let said = fleet.fails(&manifests, &[]);
    assert!(said.contains("authentication required: Bad credentials"), "{said}");
    fleet.takes(move |seen| seen.login() == bot());
    fleet.lands(&manifests, &[]);
    fleet.repo.fsck();
}

/// One tenant of a run: server, API, authority, proxy and app of its own.
struct Tenant {
    name: &'static str,
    repo: Repo,
    git: GitHttp,
    api: StubHttp,
    proxy: Proxy,
    rsa: Rsa,
    ca: String,
}

impl Tenant {
    fn new(bench: &Bench, name: &'static str, home: &Path) -> Option<Self> {
        let certificates = Certificates::make()?;
        let repo = bench.repository(&format!("{name}/app.git"));
        repo.commit(
            "main",
            "first",
            &[Change::File("a.yaml", marked(name, "1.0.0").as_bytes())],
        );
        let tls = || Some(certificates.server_config(false));
        let options = Options {
            tls: tls(),
            ..Options::default()
        };
        let git = GitHttp::with(&bench.path(name), options);
        let token = move || Some(("x-access-token".to_owned(), format!("ghs_{name}")));
        git.intercept(move |seen| {
            (seen.login() != token()).then(|| Fault::Unauthorized("Bad credentials\n".to_owned()))
        });
        let issued = json!({"token": format!("ghs_{name}"), "expires_at": FAR});
        Some(Self {
            name,
            repo,
            git,
            api: StubHttp::with(tls(), move |_| Reply::json(&issued)),
            proxy: Proxy::start(None),
            rsa: Rsa::make(home)?,
            ca: String::from_utf8(certificates.ca).unwrap(),
        })
    }

    fn manifests(&self, ca: &str) -> String {
        let spec = format!("{BY_APP}  proxySecretRef: {{name: proxy}}\n");
        let values = [
            ("githubAppID", "12"),
            ("githubAppInstallationID", "42"),
            ("githubAppPrivateKey", &self.rsa.key),
            ("githubAppBaseURL", &self.api.url("")),
            ("ca.crt", ca),
        ];
        manifests(self.name, &self.git.url("app.git"), &spec)
            + &secret(self.name, "app", &values)
            + &secret(
                self.name,
                "proxy",
                &[("address", &format!("http://{}", self.proxy.address))],
            )
    }
}

#[test]
fn tenants_of_a_run_share_neither_identity_nor_trust_nor_proxy() {
    let bench = Bench::new();
    let tenant = |name| Tenant::new(&bench, name, bench.home.path());
    let (Some(a), Some(b)) = (tenant("a"), tenant("b")) else {
        return;
    };
    // With the other's authority, and its own nowhere: neither the API nor the server is believed.
    let ran = update(&bench, &(a.manifests(&a.ca) + &b.manifests(&a.ca)), &[]);
    assert_ne!(ran.code, 0, "{}", ran.out);
    assert_eq!(error(&ran, 0), "");
    assert!(error(&ran, 1).contains("certificate"), "{}", error(&ran, 1));
    assert_eq!((b.api.count(), b.git.requests().len()), (0, 0));
    assert_eq!(b.repo.log("main").len(), 1);

    let ran = update(&bench, &(a.manifests(&a.ca) + &b.manifests(&b.ca)), &[]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    for tenant in [&a, &b] {
        assert_eq!(
            tenant.repo.show("main", "a.yaml"),
            marked(tenant.name, "2.0.0").as_bytes()
        );
        for request in tenant.api.requests() {
            assert_signed_by_app(&request, "12", &tenant.rsa);
        }
        let own = [tenant.git.host(), tenant.api.host()];
        let targets = tenant.proxy.targets();
        assert!(own.iter().all(|host| targets.contains(host)), "{targets:?}");
        assert!(targets.iter().all(|host| own.contains(host)), "{targets:?}");
        let logins = tenant
            .git
            .requests()
            .iter()
            .map(|seen| seen.login())
            .collect::<Vec<_>>();
        let expected = Some(("x-access-token".to_owned(), format!("ghs_{}", tenant.name)));
        assert!(logins.iter().all(|login| *login == expected), "{logins:?}");
    }
}

/// Which password came with the push of which branch.
fn pushed(git: &GitHttp) -> BTreeMap<String, String> {
    let requests = git.requests();
    let pushes = requests.iter().filter(|seen| seen.is_push());
    let branch = |seen: &Seen| {
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        let rest = body.split("refs/heads/").nth(1).unwrap().to_owned();
        rest.split('\0').next().unwrap().to_owned()
    };
    pushes.map(|seen| (branch(seen), seen.login().unwrap().1)).collect()
}

#[test]
fn two_identities_at_one_address_are_kept_apart() {
    let home = tempfile::tempdir().unwrap();
    let Some(rsa) = Rsa::make(home.path()) else { return };
    let api = StubHttp::start(|request| {
        let installation = request.path.split('/').nth(3).unwrap_or_default();
        Reply::json(&json!({"token": format!("ghs_{installation}"), "expires_at": FAR}))
    });
    for provider in ["github", "generic"] {
        let fleet = Fleet::new();
        let url = fleet.git.url("app.git");
        let mut text = policy("fs", "app", "o/app", "2.0.0");
        for number in ["1", "2"] {
            let (name, login) = (format!("repo{number}"), format!("login{number}"));
            let spec = format!("  ref: {{branch: main}}\n  provider: {provider}\n  secretRef: {{name: {login}}}\n");
            let app = [
                ("githubAppID", "12"),
                ("githubAppInstallationID", number),
                ("githubAppPrivateKey", &rsa.key),
                ("githubAppBaseURL", &api.url("")),
            ];
            // The same name with another password: the mirrors of both would have one name.
            let password = format!("ghs_{number}");
            let basic = [("username", "bot"), ("password", &password)];
            let values = if provider == "github" { &app[..] } else { &basic[..] };
            text += &git_repository("fs", &name, &url, &spec);
            text += &secret("fs", &login, values);
            let push = format!("    push: {{branch: b{number}}}\n");
            text += &automation("fs", &format!("auto{number}"), &name, &push, "");
        }
        let ran = fleet.update(&text, &[]);
        assert_eq!(ran.code, 0, "{}", ran.out);
        let expected = [("b1", "ghs_1"), ("b2", "ghs_2")].map(|(branch, token)| (branch.to_owned(), token.to_owned()));
        assert_eq!(pushed(&fleet.git), BTreeMap::from(expected), "{provider}");
    }
}

#[test]
fn flags_win_over_the_provider_and_nobody_is_asked_for_a_token() {
    let fleet = Fleet::new();
    fleet.takes(|seen| seen.header("authorization") == Some("Bearer t0ken"));
    let spec = "  provider: azure\n  serviceAccountName: sync\n";
    let server = fleet.git.url("");
    let given = [
        ("BUMPWRIGHT_GIT_TOKEN", "t0ken"),
        ("BUMPWRIGHT_GIT_SERVER", server.as_str()),
    ];
    fleet.lands(&fleet.manifests(spec, ""), &given);
}

/// What a controller does: the token of a ServiceAccount is exchanged, and nothing of it shows.
#[test]
fn n_004_a_service_account_is_exchanged_for_a_token_and_renewed_when_refused() {
    let count = AtomicUsize::new(0);
    let entra = StubHttp::start(move |_| {
        let token = format!("{HUNTER}-{}", count.fetch_add(1, Ordering::SeqCst));
        Reply::json(&json!({"expires_in": 3599, "access_token": token}))
    });
    let annotations = [
        ("azure.workload.identity/tenant-id", "ten"),
        ("azure.workload.identity/client-id", "client"),
    ];
    let account = WorkloadIdentity {
        namespace: "apps".to_owned(),
        name: "sync".to_owned(),
        annotations: annotations
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        credential: CredentialSettings::default(),
        issue: Arc::new(|request, _| Ok(Secret::new(format!("token for {}", request.audiences.join(","))))),
    };
    let peer = Peer {
        environment: false,
        ..Peer::default()
    };
    let environment = Environment::from_iter([("AZURE_AUTHORITY_HOST", entra.url("").as_str())]);
    let cloud = Arc::new(Cloud::new(environment, Endpoints::default(), peer));
    let identity = GitIdentity::Provider {
        provider: Provider::Azure,
        service_account: Some(account),
    };
    let source = GitLogin::new(cloud, identity, "https://dev.azure.com/o/p/_git/r").unwrap();
    let bearer = |number: usize| Login::Bearer {
        token: Secret::new(format!("{HUNTER}-{number}")),
    };
    let login = |refused: Option<&Login>| source.login(refused, soon()).unwrap();
    assert_eq!(login(None), bearer(0));
    assert_eq!(login(None), bearer(0), "kept");
    assert_eq!(login(Some(&bearer(0))), bearer(1), "renewed");
    assert_eq!(login(Some(&bearer(0))), bearer(1), "by somebody else already");
    let asked = entra.requests();
    assert_eq!(asked.len(), 2);
    assert_eq!(
        asked[0].fields("client_assertion"),
        ["token for api://AzureADTokenExchange"]
    );
    // Whom the tokens are issued for, and as what.
    let said = "azure apps/sync {\"azure.workload.identity/client-id\": \"client\", \"azure.workload.identity/tenant-id\": \"ten\"}";
    assert_eq!(source.identity(), said);
    assert!(!format!("{source:?}").contains("hunter2"), "{source:?}");
}
