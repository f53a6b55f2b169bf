//! The real registry, the token server and the stub server behave as required by tests of the registry client.

use std::io::Read;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bumpwright_testkit::images::Media;
use bumpwright_testkit::registry::{Access, Options, Registry};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tls::Certificates;
use bumpwright_testkit::token_server::{Field, Rules, TokenServer};
use serde_json::{Value as Json, json};
use ureq::Agent;
use ureq::http::Response;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

const APP: &str = "team/app";

/// A client that shows every status, without TLS settings or with them.
fn client(tls: TlsConfig) -> Agent {
    Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(Duration::from_secs(20)))
        .build()
        .new_agent()
}

fn plain() -> Agent {
    client(TlsConfig::default())
}

struct Got {
    status: u16,
    header: Box<dyn Fn(&str) -> String>,
    body: String,
}

impl Got {
    fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not valid JSON: {}", self.body))
    }

    fn tags(&self) -> Vec<String> {
        serde_json::from_value(self.json()["tags"].clone()).unwrap()
    }
}

fn read(mut answer: Response<ureq::Body>) -> Got {
    let headers = answer.headers().clone();
    Got {
        status: answer.status().as_u16(),
        header: Box::new(move |name| {
            headers
                .get(name)
                .map_or(String::new(), |value| value.to_str().unwrap().to_owned())
        }),
        body: answer.body_mut().read_to_string().unwrap(),
    }
}

fn get(agent: &Agent, url: &str, headers: &[(&str, &str)]) -> Got {
    let mut request = agent.get(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    read(request.call().unwrap())
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

#[test]
fn images_are_served() {
    let Some(registry) = Registry::start() else { return };
    let (images, agent) = (registry.images(), plain());
    let created = "2024-05-06T07:08:09Z";
    let amd64 = images.image(APP, Media::Oci, "linux/amd64", Some(created));
    let arm = images.image(APP, Media::Oci, "linux/arm/v7", None);
    let index = images.index(APP, Media::Oci, &[(&amd64, "linux/amd64"), (&arm, "linux/arm/v7")]);
    let docker = images.image(APP, Media::Docker, "linux/amd64", Some(created));
    images.tag(APP, "1.0.0", &amd64);
    images.tag(APP, "2.0.0", &index);
    images.tag(APP, "docker", &docker);

    for (reference, kind, digest) in [
        ("1.0.0", Media::Oci.manifest(), &amd64),
        ("2.0.0", Media::Oci.index(), &index),
        ("docker", Media::Docker.manifest(), &docker),
        (arm.as_str(), Media::Oci.manifest(), &arm),
    ] {
        let url = registry.url(&format!("v2/{APP}/manifests/{reference}"));
        let got = get(&agent, &url, &[("Accept", kind)]);
        assert_eq!(got.status, 200, "{reference}: {}", got.body);
        assert_eq!((got.header)("content-type"), kind);
        assert_eq!((got.header)("docker-content-digest"), *digest);
    }
    let manifest = |reference: &str| {
        let url = registry.url(&format!("v2/{APP}/manifests/{reference}"));
        get(&agent, &url, &[("Accept", Media::Oci.manifest())])
    };
    let found = manifest("1.0.0").json();
    let config = found["config"]["digest"].as_str().unwrap();
    let config = get(&agent, &registry.url(&format!("v2/{APP}/blobs/{config}")), &[]).json();
    assert_eq!(config["created"], created);

    images.tag(APP, "1.0.0", &arm);
    assert_eq!((manifest("1.0.0").header)("docker-content-digest"), arm);
    images.untag(APP, "docker");
    assert_eq!(
        get(&agent, &registry.url(&format!("v2/{APP}/tags/list")), &[]).tags(),
        ["1.0.0", "2.0.0"]
    );
}

#[test]
fn thousands_of_tags_come_in_pages() {
    let Some(registry) = Registry::start() else { return };
    let tags: Vec<String> = (0..2500).map(|n| format!("1.{}.{}", n / 50, n % 50)).collect();
    registry.images().tags(APP, &tags);
    let agent = plain();
    let first = get(&agent, &registry.url(&format!("v2/{APP}/tags/list?n=1000")), &[]);
    let link = (first.header)("link");
    assert_eq!(first.tags().len(), 1000);
    assert!(
        link.starts_with(&format!("</v2/{APP}/tags/list?")) && link.ends_with(">; rel=\"next\""),
        "{link}"
    );
    let all = get(&agent, &registry.url(&format!("v2/{APP}/tags/list")), &[]);
    assert_eq!((all.tags().len(), (all.header)("link").as_str()), (2500, ""));
    let unknown = get(&agent, &registry.url("v2/team/none/tags/list"), &[]);
    assert_eq!(
        (unknown.status, unknown.json()["errors"][0]["code"].as_str()),
        (404, Some("NAME_UNKNOWN"))
    );
    let logged: Vec<_> = registry
        .requests()
        .into_iter()
        .map(|line| (line.target, line.status))
        .collect();
    let list = format!("/v2/{APP}/tags/list");
    assert_eq!(
        logged,
        [
            (format!("{list}?n=1000"), 200),
            (list, 200),
            ("/v2/team/none/tags/list".to_owned(), 404)
        ]
    );
}

#[test]
fn a_password_is_asked_for() {
    let options = Options {
        access: Access::Password("robot", "s3cret: 1"),
        ..Options::default()
    };
    let Some(registry) = Registry::with(&options) else {
        return;
    };
    registry.images().tags(APP, &["1.0.0"]);
    let (agent, list) = (plain(), registry.url(&format!("v2/{APP}/tags/list")));
    let stranger = get(&agent, &list, &[]);
    assert_eq!(
        (stranger.status, (stranger.header)("www-authenticate").as_str()),
        (401, "Basic realm=\"test\"")
    );
    let status = |password| get(&agent, &list, &[("Authorization", &basic("robot", password))]).status;
    assert_eq!((status("s3cret: 2"), status("s3cret: 1")), (401, 200));
}

#[test]
fn certificates_are_asked_for() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let root = || RootCerts::new_with_certs(&[Certificate::from_pem(&certificates.ca).unwrap()]);
    let (chain, key) = &certificates.client;
    let client_certificate = ClientCert::new_with_certs(
        &[Certificate::from_pem(chain).unwrap()],
        PrivateKey::from_pem(key).unwrap(),
    );
    for clients in [false, true] {
        let options = Options {
            tls: Some(&certificates),
            clients,
            ..Options::default()
        };
        let Some(registry) = Registry::with(&options) else {
            return;
        };
        registry.images().tags(APP, &["1.0.0"]);
        let list = |tls| client(tls).get(registry.url(&format!("v2/{APP}/tags/list"))).call();
        let strange = list(TlsConfig::default());
        let trusting = list(TlsConfig::builder().root_certs(root()).build());
        let known = TlsConfig::builder()
            .root_certs(root())
            .client_cert(Some(client_certificate.clone()));
        assert!(strange.is_err(), "an authority of our own");
        assert_eq!(trusting.is_err(), clients, "{trusting:?}");
        assert_eq!(read(list(known.build()).unwrap()).tags(), ["1.0.0"]);
    }
}

/// A token, or the answer's status when there is none.
fn token(agent: &Agent, server: &TokenServer, scope: &str, login: Option<&str>) -> Result<String, u16> {
    let url = format!("{}?service={}&scope={scope}", server.realm(), server.service());
    let headers: Vec<_> = login.map(|login| ("Authorization", login)).into_iter().collect();
    let got = get(agent, &url, &headers);
    let token = |name: &str| got.json()[name].as_str().map(str::to_owned);
    match got.status {
        200 => Ok(token("token").or_else(|| token("access_token")).unwrap()),
        status => Err(status),
    }
}

#[test]
fn tokens_are_asked_for() {
    let server = TokenServer::start(Rules {
        public: vec!["team/open".to_owned()],
        ..Rules::user("robot", "s3cret")
    });
    let options = Options {
        access: Access::Token(&server),
        ..Options::default()
    };
    let Some(registry) = Registry::with(&options) else {
        return;
    };
    let agent = plain();
    for repository in [APP, "team/open"] {
        registry.images().tags(repository, &["1.0.0"]);
    }
    let list = |repository: &str, token: &str| {
        let url = registry.url(&format!("v2/{repository}/tags/list"));
        get(&agent, &url, &[("Authorization", &format!("Bearer {token}"))])
    };
    let challenge = get(&agent, &registry.url(&format!("v2/{APP}/tags/list")), &[]);
    assert_eq!(
        (challenge.header)("www-authenticate"),
        format!(
            "Bearer realm=\"{}\",service=\"{}\",scope=\"repository:{APP}:pull\"",
            server.realm(),
            server.service()
        )
    );
    let (open, closed) = ("repository:team/open:pull", "repository:team/app:pull");
    let anonymous = token(&agent, &server, open, None).unwrap();
    assert_eq!(list("team/open", &anonymous).status, 200);
    let refused = list(APP, &token(&agent, &server, closed, None).unwrap());
    assert_eq!(refused.status, 401);
    assert!((refused.header)("www-authenticate").contains("error=\"insufficient_scope\""));
    let login = basic("robot", "s3cret");
    assert_eq!(
        list(APP, &token(&agent, &server, closed, Some(&login)).unwrap()).status,
        200
    );
    assert_eq!(token(&agent, &server, closed, Some(&basic("robot", "guess"))), Err(401));

    server.change(|rules| rules.lifetime = -120);
    let old = list(APP, &token(&agent, &server, closed, Some(&login)).unwrap());
    assert_eq!(old.status, 401);
    assert!((old.header)("www-authenticate").contains("error=\"invalid_token\""));
    server.change(|rules| rules.fault = Some(Reply::registry_error(503, "UNAVAILABLE", "later")));
    assert_eq!(token(&agent, &server, open, None), Err(503));
    assert_eq!(server.count(), 6);
}

#[test]
fn refresh_tokens_are_exchanged() {
    let server = TokenServer::start(Rules {
        refresh_tokens: [("refresh-1".to_owned(), "robot".to_owned())].into(),
        expires_in: Some(90),
        field: Field::Both,
        ..Rules::default()
    });
    let options = Options {
        access: Access::Token(&server),
        ..Options::default()
    };
    let Some(registry) = Registry::with(&options) else {
        return;
    };
    registry.images().tags(APP, &["1.0.0"]);
    let agent = plain();
    let exchange = |refresh: &str| {
        let form = [
            ("grant_type", "refresh_token"),
            ("service", server.service()),
            ("client_id", "tests"),
            ("scope", "repository:team/app:pull"),
            ("refresh_token", refresh),
        ];
        read(agent.post(server.realm()).send_form(form).unwrap())
    };
    let got = exchange("refresh-1");
    assert_eq!((got.status, got.json()["expires_in"].as_u64()), (200, Some(90)));
    let bearer = format!("Bearer {}", got.json()["access_token"].as_str().unwrap());
    let list = registry.url(&format!("v2/{APP}/tags/list"));
    assert_eq!(get(&agent, &list, &[("Authorization", &bearer)]).tags(), ["1.0.0"]);
    assert_eq!(exchange("refresh-2").status, 401);
    assert_eq!(server.requests()[0].fields("client_id"), ["tests"]);
}

#[test]
fn answers_go_wrong_as_told() {
    let stub = StubHttp::start(|request| match request.path.as_str() {
        "/hang-up" => Reply::hang_up(),
        "/garbage" => Reply::raw("SSH-2.0-OpenSSH_9.2\r\n"),
        "/cut" => Reply::text(200, "0123456789").cut(4),
        "/chunked" => Reply::text(200, "0123456789").chunked(3),
        "/filled" => Reply::text(200, "abc").filled(7),
        "/endless" => Reply::text(200, &"abc".repeat(1000)).endless(),
        "/slow" => Reply::text(200, "ok").after(Duration::from_millis(200)),
        "/lie" => Reply::text(200, "ok").header("Content-Length", "1"),
        _ if request.number == 1 => Reply::status(429).header("Retry-After", "1"),
        _ => Reply::json(&json!({"asked": request.parameters("q"), "login": request.login()})),
    });
    let agent = plain();
    let body = |path: &str| {
        let mut answer = agent.get(stub.url(path)).call().map_err(drop)?;
        answer.body_mut().read_to_string().map_err(drop)
    };
    let limited = get(&agent, &stub.url(""), &[]);
    assert_eq!((limited.status, (limited.header)("retry-after").as_str()), (429, "1"));
    let asked = get(
        &agent,
        &stub.url("v2/?q=a%2Fb&q=c"),
        &[("Authorization", &basic("u", "p:w"))],
    );
    assert_eq!(asked.json(), json!({"asked": ["a/b", "c"], "login": ["u", "p:w"]}));
    assert_eq!(stub.connections(), 1, "kept connections are used again");

    for path in ["hang-up", "garbage", "cut"] {
        assert_eq!(body(path), Err(()), "{path}");
    }
    assert_eq!(body("chunked").unwrap(), "0123456789");
    assert_eq!(body("filled").unwrap(), "abcabca");
    assert_eq!(body("lie").unwrap(), "o");
    let mut endless = agent.get(stub.url("endless")).call().unwrap();
    let mut start = vec![0; 1_000_000];
    endless.body_mut().as_reader().read_exact(&mut start).unwrap();
    let began = Instant::now();
    assert_eq!(body("slow").unwrap(), "ok");
    assert!(began.elapsed() >= Duration::from_millis(200));
}

#[test]
fn a_stub_in_front_shows_what_is_asked() {
    let Some(registry) = Registry::start() else { return };
    let tags = registry.images().tags(APP, &["1.0.0", "1.1.0"]);
    let front = StubHttp::in_front_of(registry.address(), |request| {
        (request.number == 1).then(|| Reply::registry_error(503, "UNAVAILABLE", "later"))
    });
    let agent = plain();
    let list = front.url(&format!("v2/{APP}/tags/list?n=1"));
    assert_eq!(get(&agent, &list, &[]).status, 503);
    let got = get(&agent, &list, &[("X-Mark", "here")]);
    assert_eq!(got.tags(), ["1.0.0"]);
    assert_eq!(front.requests()[1].header("x-mark"), Some("here"));
    let url = front.url(&format!("v2/{APP}/manifests/1.1.0"));
    let head = read(agent.head(url).header("Accept", Media::Oci.manifest()).call().unwrap());
    assert_eq!((head.header)("docker-content-digest"), tags);
    assert_eq!(registry.requests().len(), 2);
}
