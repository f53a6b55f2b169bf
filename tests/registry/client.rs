//! The registry client against the real registry: logins, certificates, pages, digests and ages; and the number of
//! requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bumpwright_http::{Deadline, Peer, Proxy, RetryPolicy, Sent, Tls};
use bumpwright_policy::{Reference, Validation};
use bumpwright_registry::{Login, Registry as Client, RegistryError};
use bumpwright_secret::Secret;
use bumpwright_testkit::images::Media;
use bumpwright_testkit::registry::{Access, Options, Registry};
use bumpwright_testkit::tls::Certificates;
use bumpwright_testkit::token_server::{Rules, TokenServer};
use serde_json::json;

const APP: &str = "team/app";

fn client() -> Client {
    Client::new(Peer::default(), false)
}

fn image(registry: &Registry, rest: &str) -> Reference {
    Reference::parse(&format!("{}/{rest}", registry.host()), Validation::Weak).unwrap()
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(120))
}

fn basic(username: &str, password: &str) -> Login {
    Login::Basic {
        username: username.to_owned(),
        password: Secret::new(password),
    }
}

/// Methods and targets since the registry started.
fn asked(registry: &Registry) -> Vec<String> {
    let requests = registry.requests();
    requests
        .iter()
        .map(|logged| format!("{} {}", logged.method, logged.target))
        .collect()
}

fn text<T: std::fmt::Debug>(result: Result<T, RegistryError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn two_and_a_half_thousand_tags_take_three_pages_and_one_ping() {
    let Some(registry) = Registry::start() else { return };
    let tags: Vec<String> = (0..2500).map(|n| format!("1.0.{n:04}")).collect();
    registry.images().tags(APP, &tags);
    registry.images().tags("other", &["1"]);
    let client = client();
    let found = client.tags(&image(&registry, APP), &Login::Anonymous, soon()).unwrap();
    assert_eq!(*found, tags);
    let other = client
        .tags(&image(&registry, "other"), &Login::Anonymous, soon())
        .unwrap();
    assert_eq!(*other, ["1"]);
    assert_eq!(
        asked(&registry),
        [
            "GET /v2/",
            "GET /v2/team/app/tags/list?n=1000",
            "GET /v2/team/app/tags/list?last=1.0.0999&n=1000",
            "GET /v2/team/app/tags/list?last=1.0.1999&n=1000",
            "GET /v2/other/tags/list?n=1000",
        ]
    );
}

#[test]
fn what_is_not_there_is_said_in_the_words_of_go_containerregistry() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags(APP, &["1.0.0"]);
    let (client, host) = (client(), registry.host());
    let list = client.tags(&image(&registry, "no/such"), &Login::Anonymous, soon());
    assert_eq!(
        text(list),
        format!(
            "GET http://{host}/v2/no/such/tags/list?n=1000: NAME_UNKNOWN: repository name not known to registry; \
             map[name:no/such]"
        )
    );
    let digest = client.digest(&image(&registry, "team/app:2"), &Login::Anonymous, soon());
    assert_eq!(digest.as_ref().unwrap_err().status(), Some(404));
    assert_eq!(
        text(digest),
        format!(
            "HEAD http://{host}/v2/team/app/manifests/2: unexpected status code 404 Not Found (HEAD responses have no \
             body, use GET for details)"
        )
    );
}

#[test]
fn a_password() {
    let options = Options {
        access: Access::Password("ann", "hunter2"),
        ..Options::default()
    };
    let Some(registry) = Registry::with(&options) else {
        return;
    };
    registry.images().tags(APP, &["1.0.0"]);
    let (client, app) = (client(), image(&registry, APP));
    assert_eq!(*client.tags(&app, &basic("ann", "hunter2"), soon()).unwrap(), ["1.0.0"]);
    for login in [Login::Anonymous, basic("ann", "hunter3")] {
        let error = text(client.tags(&app, &login, soon()));
        let start = format!(
            "GET http://{}/v2/team/app/tags/list?n=1000: UNAUTHORIZED: ",
            registry.host()
        );
        assert!(error.starts_with(&start) && !error.contains("hunter"), "{error}");
    }
}

#[test]
fn threads_share_one_ping_and_one_token_for_each_repository() {
    let tokens = TokenServer::start(Rules::user("ann", "hunter2"));
    let options = Options {
        access: Access::Token(&tokens),
        ..Options::default()
    };
    let Some(registry) = Registry::with(&options) else {
        return;
    };
    let repositories = ["a1", "a2", "a3", "a4"];
    for repository in repositories {
        registry.images().tags(repository, &["1.0.0"]);
    }
    let (client, login) = (client(), basic("ann", "hunter2"));
    let read = |repository: &str| {
        let image = image(&registry, &format!("{repository}:1.0.0"));
        assert_eq!(*client.tags(&image, &login, soon()).unwrap(), ["1.0.0"]);
        assert!(client.digest(&image, &login, soon()).unwrap().starts_with("sha256:"));
        assert!(client.created(&image, &login, soon()).unwrap().is_some());
    };
    thread::scope(|scope| {
        for place in 0..12 {
            scope.spawn(move || read(repositories[place % 4]));
        }
    });
    assert_eq!(tokens.count(), 4);
    let pings = asked(&registry).iter().filter(|line| *line == "GET /v2/").count();
    assert_eq!(pings, 1);
    let refused = registry.requests().iter().filter(|logged| logged.status == 401).count();
    assert_eq!(refused, 1, "the ping only");
}

#[test]
fn logins_that_are_exchanged_for_tokens() {
    let mut rules = Rules::user("ann", "hunter2");
    rules.public = vec!["public".to_owned()];
    rules.refresh_tokens.insert("refresh-me".to_owned(), "ann".to_owned());
    let tokens = TokenServer::start(rules);
    let options = Options {
        access: Access::Token(&tokens),
        ..Options::default()
    };
    let Some(registry) = Registry::with(&options) else {
        return;
    };
    for repository in [APP, "public"] {
        registry.images().tags(repository, &["1.0.0"]);
    }
    let refused = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&refused);
    let hooks = Sent::default().refusing(move || {
        counting.fetch_add(1, Ordering::SeqCst);
    });
    let (client, app) = (Client::telling(Peer::default(), false, hooks), image(&registry, APP));
    assert!(
        client
            .tags(&app, &Login::IdentityToken("refresh-me".into()), soon())
            .is_ok()
    );
    assert!(
        client
            .tags(&image(&registry, "public"), &Login::Anonymous, soon())
            .is_ok()
    );
    assert_eq!(refused.load(Ordering::SeqCst), 0, "a challenge is no refusal");
    let anonymous = text(client.tags(&app, &Login::Anonymous, soon()));
    let details = "[map[Action:pull Class: Name:team/app Type:repository]]";
    assert_eq!(
        anonymous,
        format!(
            "GET http://{}/v2/team/app/tags/list?n=1000: UNAUTHORIZED: authentication required; {details}",
            registry.host()
        )
    );
    let wrong = text(client.tags(&app, &basic("ann", "hunter3"), soon()));
    assert_eq!(
        wrong,
        format!(
            "GET {}?scope=repository%3Ateam%2Fapp%3Apull&service=registry.test: UNAUTHORIZED: authentication required",
            tokens.realm()
        )
    );
    let stale = client.tags(&app, &Login::IdentityToken("stale".into()), soon());
    assert_eq!(
        text(stale),
        format!("POST {}: UNAUTHORIZED: authentication required", tokens.realm())
    );
    assert_eq!(refused.load(Ordering::SeqCst), 3);
}

#[test]
fn a_token_that_has_expired_is_renewed() {
    let mut rules = Rules::user("ann", "hunter2");
    // The registry treats it as expired, though the server announced otherwise.
    (rules.lifetime, rules.expires_in) = (-3600, Some(3600));
    let tokens = TokenServer::start(rules);
    let options = Options {
        access: Access::Token(&tokens),
        ..Options::default()
    };
    let Some(registry) = Registry::with(&options) else {
        return;
    };
    registry.images().tags(APP, &["1.0.0"]);
    let (client, app, login) = (client(), image(&registry, APP), basic("ann", "hunter2"));
    assert!(text(client.tags(&app, &login, soon())).contains("UNAUTHORIZED"));
    assert_eq!(tokens.count(), 2, "one renewal for one question");
    tokens.change(|rules| rules.lifetime = 300);
    tokens.clear();
    assert_eq!(*client.tags(&app, &login, soon()).unwrap(), ["1.0.0"]);
    assert_eq!(*client.tags(&app, &login, soon()).unwrap(), ["1.0.0"]);
    assert_eq!(tokens.count(), 1);
    // Used until shortly before it expires: for one and a half of two seconds.
    tokens.change(|rules| rules.expires_in = Some(2));
    let client = Client::new(Peer::default(), false);
    assert!(client.tags(&app, &login, soon()).is_ok());
    thread::sleep(Duration::from_millis(1700));
    assert!(client.tags(&app, &login, soon()).is_ok());
    assert_eq!(tokens.count(), 3);
}

#[test]
fn an_own_authority_and_client_certificates() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let options = Options {
        tls: Some(&certificates),
        clients: true,
        ..Options::default()
    };
    let Some(registry) = Registry::with(&options) else {
        return;
    };
    registry.images().tags(APP, &["1.0.0"]);
    let peer = |ca: bool, client: bool| {
        let (certificate, key) = &certificates.client;
        let key = Secret::new(String::from_utf8(key.clone()).unwrap());
        Peer {
            tls: Tls {
                ca: ca.then(|| certificates.ca.clone()),
                beside_system: true,
                client: client.then(|| (certificate.clone(), key)),
                ..Tls::default()
            },
            ..Peer::default()
        }
    };
    // A retry would be so late that it is noticed.
    let retry_policy = RetryPolicy {
        first: Duration::from_secs(60),
        ..RetryPolicy::default()
    };
    let tags = |peer| {
        let client = Client::with_patience(peer, false, retry_policy);
        client.tags(&image(&registry, APP), &Login::Anonymous, soon())
    };
    assert_eq!(*tags(peer(true, true)).unwrap(), ["1.0.0"]);
    let start = Instant::now();
    let untrusted = text(tags(peer(false, true)));
    assert!(
        untrusted.contains("if the server's certificate comes from a private authority"),
        "{untrusted}"
    );
    let bare = text(tags(peer(true, false)));
    assert!(bare.contains("the server requires a client certificate"), "{bare}");
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "what does not pass is not tried again"
    );
}

#[test]
fn through_a_proxy() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags(APP, &["1.0.0"]);
    let proxy = bumpwright_testkit::proxy::Proxy::start(Some(("pat", "hunter2")));
    let peer = |password: &str| Peer {
        proxy: Some(Proxy {
            address: format!("http://{}", proxy.address),
            username: Some("pat".to_owned()),
            password: Some(password.into()),
        }),
        ..Peer::default()
    };
    let tags = |password| Client::new(peer(password), false).tags(&image(&registry, APP), &Login::Anonymous, soon());
    assert_eq!(*tags("hunter2").unwrap(), ["1.0.0"]);
    assert!(proxy.targets().contains(&registry.host()), "{:?}", proxy.targets());
    assert!(!text(tags("hunter3")).contains("hunter"));
}

#[test]
fn digests_of_images_and_indexes() {
    let Some(registry) = Registry::start() else { return };
    let images = registry.images();
    for media in [Media::Oci, Media::Docker] {
        let arm = images.image(APP, media, "linux/arm64", Some("2024-05-01T10:00:00Z"));
        let amd = images.image(APP, media, "linux/amd64", Some("2024-05-02T10:00:00Z"));
        let index = images.index(APP, media, &[(&arm, "linux/arm64"), (&amd, "linux/amd64")]);
        images.tag(APP, "image", &arm);
        images.tag(APP, "index", &index);
        let digest = |rest: &str| {
            client()
                .digest(&image(&registry, rest), &Login::Anonymous, soon())
                .unwrap()
        };
        assert_eq!(digest("team/app:image"), arm);
        assert_eq!(digest("team/app:index"), index);
        assert_eq!(digest(&format!("team/app@{amd}")), amd);
    }
    assert!(
        !asked(&registry)
            .iter()
            .any(|line| line.starts_with("GET") && line.contains("manifests"))
    );
}

#[test]
fn ages_of_images_and_indexes() {
    let Some(registry) = Registry::start() else { return };
    let images = registry.images();
    let annotated = |digest: &str, created: &str| {
        images.manifest(
            APP,
            &json!({
                "schemaVersion": 2,
                "mediaType": Media::Oci.manifest(),
                "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest, "size": 2},
                "layers": [],
                "annotations": {"org.opencontainers.image.created": created},
            }),
        )
    };
    let arm = images.image(APP, Media::Oci, "linux/arm64", Some("2024-05-01T10:00:00Z"));
    let amd = images.image(APP, Media::Oci, "linux/amd64", Some("2024-05-02T10:00:00.5Z"));
    let epoch = images.image(APP, Media::Oci, "linux/amd64", Some("1970-01-01T00:00:00Z"));
    let none = images.image(APP, Media::Docker, "linux/amd64", None);
    let chart = annotated(&images.blob(APP, b"{}"), "2024-06-01T00:00:00Z");
    let dated = annotated(
        &images.blob(APP, br#"{"created":"2024-05-03T10:00:00Z"}"#),
        "2020-01-01T00:00:00Z",
    );
    let index = images.index(APP, Media::Oci, &[(&arm, "linux/arm64"), (&amd, "linux/amd64")]);
    let others = images.index(
        APP,
        Media::Docker,
        &[(&chart, "unknown/unknown"), (&arm, "linux/arm64")],
    );
    let nested = images.index(APP, Media::Oci, &[(&index, "linux/amd64")]);
    let empty = images.index(APP, Media::Oci, &[]);
    let client = client();
    for (what, digest, expected) in [
        ("an image", &arm, Some("2024-05-01 10:00:00")),
        ("linux/amd64 counts", &index, Some("2024-05-02 10:00:00")),
        ("an index in an index", &nested, Some("2024-05-02 10:00:00")),
        ("no linux/amd64", &others, Some("2024-05-01 10:00:00")),
        ("a reproducible build", &epoch, None),
        ("without a time", &none, None),
        ("annotated", &chart, Some("2024-06-01 00:00:00")),
        ("the configuration counts first", &dated, Some("2024-05-03 10:00:00")),
        ("nothing in it", &empty, None),
    ] {
        let image = image(&registry, &format!("team/app@{digest}"));
        let created = client.created(&image, &Login::Anonymous, soon()).unwrap();
        let shown = created.map(|time| String::from_utf8(time.format(b"2006-01-02 15:04:05")).unwrap());
        assert_eq!(shown.as_deref(), expected, "{what}");
    }
}
