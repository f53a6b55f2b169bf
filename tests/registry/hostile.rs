//! The registry client against odd, faulty and hostile servers: pages, retries, malformed and huge answers,
//! redirects and challenges that try to get a login.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bumpwright_budget::Memory;
use bumpwright_http::{Deadline, Job, Peer, RetryPolicy};
use bumpwright_policy::{Reference, Validation};
use bumpwright_registry::{Login, Registry, RegistryError};
use bumpwright_secret::Secret;
use bumpwright_source::{OciRemote, verify_cosign, verify_notation};
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::sigstore::{Key, Owner, pem_of};
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_verify::cosign::{CosignKeys, Verifier};
use bumpwright_verify::notation::NotationTrust;
use serde_json::json;

const LIST: &str = "/v2/team/app/tags/list";
const MANIFEST: &str = "/v2/team/app/manifests/1";
const CREATED: &[u8] = br#"{"created":"2024-05-01T10:00:00Z"}"#;

fn client() -> Registry {
    let retry_policy = RetryPolicy {
        tries: 3,
        first: Duration::from_millis(1),
        most: Duration::from_secs(5),
    };
    Registry::with_patience(Peer::default(), false, retry_policy)
}

/// By its IP address, so that `localhost` is another host.
fn image(server: &StubHttp) -> Reference {
    Reference::parse(&format!("{}/team/app:1", server.address()), Validation::Weak).unwrap()
}

fn soon() -> Deadline {
    // It never passes; five thousand pages take long on a busy machine.
    Deadline::after(Duration::from_secs(300))
}

fn ann() -> Login {
    Login::Basic {
        username: "ann".to_owned(),
        password: Secret::new("hunter2"),
    }
}

fn tags(server: &StubHttp) -> Result<Vec<String>, RegistryError> {
    client().tags(&image(server), &ann(), soon()).map(|tags| tags.to_vec())
}

fn text<T: Debug>(result: Result<T, RegistryError>) -> String {
    let text = result.unwrap_err().to_string();
    assert!(!text.contains("hunter"), "{text}");
    text
}

/// A registry that answers pings, without a challenge.
fn open(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> StubHttp {
    StubHttp::start(move |request| match request.path.as_str() {
        "/v2/" => Reply::status(200),
        _ => answer(request),
    })
}

fn page(tags: &[String]) -> Reply {
    Reply::json(&json!({"name": "team/app", "tags": tags}))
}

fn numbered(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|n| format!("v{n:05}")).collect()
}

/// The requested paths below `/v2/`.
fn asked(server: &StubHttp) -> Vec<String> {
    let requests = server.requests().into_iter().filter(|request| request.path != "/v2/");
    requests.map(|request| request.target).collect()
}

#[test]
fn links_to_the_next_page() {
    for base in ["", "http://HOST", "https://HOST"] {
        let server = open(move |request| {
            let host = request.header("host").unwrap();
            let next = |last: &str| format!("<{}{LIST}?last={last}>; rel=\"next\"", base.replace("HOST", host));
            match request.parameter("last").as_deref() {
                None => page(&numbered(0..3)).header("Link", &next("a")),
                Some("a") => page(&numbered(2..5)).header("Link", &next("b")),
                _ => page(&numbered(5..6)),
            }
        });
        assert_eq!(tags(&server).unwrap(), numbered(0..6), "{base}");
        assert_eq!(server.count(), 4);
        let logins = server
            .requests()
            .iter()
            .filter(|request| request.login().is_some())
            .count();
        assert_eq!(
            (logins, server.connections()),
            (3, 2),
            "one connection, and a try with TLS"
        );
    }
}

/// What such a page leaves out is nowhere, so that a policy would choose among a part of the tags.
#[test]
fn a_link_to_a_page_that_was_read_is_an_error() {
    for back in ["a", "b"] {
        let server = open(move |request| {
            let next = |last: &str| format!("<{LIST}?last={last}&n=3>; rel=\"next\"");
            match request.parameter("last").as_deref() {
                None => page(&numbered(0..3)).header("Link", &next("a")),
                Some("a") => page(&numbered(3..6)).header("Link", &next("b")),
                _ => page(&numbered(6..9)).header("Link", &next(back)),
            }
        });
        let error = text(tags(&server));
        assert!(
            error.contains("the list of tags is not whole") && error.contains(&format!("{LIST}?last={back}&n=3")),
            "{error}"
        );
        assert_eq!(asked(&server).len(), 3, "no page is asked for twice");
    }
}

#[test]
fn a_registry_that_refuses_large_pages_is_asked_for_less() {
    let refusal = |code: &str| format!(r#"{{"errors":[{{"code":"{code}","message":"too many"}}]}}"#);
    for (status, code, most, linked) in [
        (400, "TOO_MANY_TAGS_REQUESTED", 100, true),
        (400, "PAGINATION_NUMBER_INVALID", 100, false),
        (405, "UNSUPPORTED", 999, true),
        (422, "", 0, true),
    ] {
        let body = refusal(code);
        let server = open(move |request| {
            let n: usize = request.parameter("n").map_or(50, |n| n.parse().unwrap());
            if request.parameter("n").is_some() && n > most {
                return Reply::text(status, &body);
            }
            let last = request
                .parameter("last")
                .map_or(0, |last| last[1..].parse::<usize>().unwrap() + 1);
            let to = (last + n).min(250);
            let reply = page(&numbered(last..to));
            if linked && to < 250 {
                let n = request.parameter("n").map(|n| format!("&n={n}")).unwrap_or_default();
                reply.header("Link", &format!("<{LIST}?last=v{:05}{n}>; rel=\"next\"", to - 1))
            } else {
                reply
            }
        });
        assert_eq!(tags(&server).unwrap(), numbered(0..250), "{status} {code}");
        assert!(asked(&server)[0].ends_with("?n=1000"), "{code}");
    }
    // What is no matter of size is told as it was said first.
    for (status, code, requests) in [(404, "NAME_UNKNOWN", 1), (400, "NAME_INVALID", 1), (400, "OTHER", 3)] {
        let body = refusal(code);
        let server = open(move |_| Reply::text(status, &body));
        let error = text(tags(&server));
        assert!(error.contains("?n=1000") && error.contains(code), "{error}");
        assert_eq!(asked(&server).len(), requests, "{code}");
    }
}

#[test]
fn a_link_to_another_host_is_not_followed() {
    let other = StubHttp::start(|_| page(&numbered(3..6)));
    let (link, host) = (format!("<{}>; rel=\"next\"", other.url("v2/x?token=abc")), other.host());
    let server = open(move |_| page(&numbered(0..3)).header("Link", &link));
    let expected = format!("http://{host}/v2/x?token=REDACTED, because it is on another host");
    assert!(text(tags(&server)).ends_with(&expected));
    assert_eq!(other.count(), 0);
    let broken = open(|_| page(&[]).header("Link", "v2/x"));
    assert_eq!(text(tags(&broken)), "failed to parse link header: missing '<' in: v2/x");
}

#[test]
fn pages_of_registries_that_do_not_link() {
    // Knows `n` and `last`.
    let all = numbered(0..2500);
    let list = all.clone();
    let server = open(move |request| {
        let last = request.parameter("last").unwrap_or_default();
        let n = request.parameter("n").unwrap().parse().unwrap();
        page(
            &list
                .iter()
                .filter(|tag| **tag > last)
                .take(n)
                .cloned()
                .collect::<Vec<_>>(),
        )
    });
    assert_eq!(tags(&server).unwrap(), all);
    let pages = ["?n=1000", "?last=v00999&n=1000", "?last=v01999&n=1000"].map(|query| format!("{LIST}{query}"));
    assert_eq!(asked(&server), pages);
    // Knows `n` only; gives all at once; has just so many and refuses `last`.
    for (count, status, requests) in [(1000, 200, 2), (1500, 200, 1), (1000, 400, 2), (999, 200, 1)] {
        let server = open(move |request| match request.parameter("last") {
            Some(_) if status != 200 => Reply::text(status, "what?"),
            _ => page(&numbered(0..count)),
        });
        assert_eq!(tags(&server).unwrap(), numbered(0..count));
        assert_eq!(asked(&server).len(), requests, "{count} {status}");
    }
    // A page that may exist and fails is not the end.
    let unwell = open(|request| match request.parameter("last") {
        Some(_) => Reply::status(503),
        None => page(&numbered(0..1000)),
    });
    assert!(text(tags(&unwell)).ends_with("unexpected status code 503 Service Unavailable"));
}

#[test]
fn a_list_without_an_end_is_given_up() {
    let next = |request: &Request| {
        let last: usize = request.parameter("last").map_or(0, |last| last.parse().unwrap());
        let link = format!("<{LIST}?last={}>; rel=\"next\"", last + 1);
        (last, link)
    };
    let pages = open(move |request| page(&[]).header("Link", &next(request).1));
    assert!(text(tags(&pages)).ends_with("the list of tags has more than 5000 pages"));
    let many = open(move |request| {
        let (last, link) = next(request);
        page(&numbered(last * 100_000..(last + 1) * 100_000)).header("Link", &link)
    });
    assert!(text(tags(&many)).ends_with("the repository has more than 1000000 tags"));
    let slow = open(move |request| {
        page(&[])
            .header("Link", &next(request).1)
            .after(Duration::from_millis(100))
    });
    let start = Instant::now();
    let short = Deadline::after(Duration::from_millis(500));
    let error = client().tags(&image(&slow), &ann(), short).unwrap_err();
    assert!(
        error.is_timeout() && error.to_string().ends_with("no answer within 500ms"),
        "{error}"
    );
    // All pages would take some minutes.
    assert!(start.elapsed() < Duration::from_secs(15));
}

/// A list of referrers is read page by page, as far as that goes.
#[test]
fn referrers_in_several_pages() {
    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    let list = format!("/v2/team/app/referrers/{DIGEST}");
    let referrers = |server: &StubHttp| client().referrers(&image(server), DIGEST, &ann(), soon()).unwrap();
    for (last, end, pages) in [
        ("3", Reply::bytes(200, INDEX, "3"), 4),
        ("3", Reply::status(404), 3),
        ("3", Reply::text(200, "no index"), 3),
        (
            "3",
            Reply::bytes(200, INDEX, "3").header("Link", "<?page=1>; rel=\"next\""),
            4,
        ),
        (
            "3",
            Reply::bytes(200, INDEX, "3").header("Link", "<https://other.example/>; rel=\"next\""),
            4,
        ),
        ("never", Reply::status(404), 100),
    ] {
        let path = list.clone();
        let server = open(move |request| {
            assert_eq!(request.path, path);
            let page: usize = request.parameter("page").map_or(0, |page| page.parse().unwrap());
            if last == page.to_string() {
                return end.clone();
            }
            let link = format!("<{path}?page={}>; rel=\"next\"", page + 1);
            Reply::bytes(200, INDEX, page.to_string()).header("Link", &link)
        });
        let expected: Vec<Vec<u8>> = (0..pages).map(|page| page.to_string().into_bytes()).collect();
        let pages: Vec<Vec<u8>> = referrers(&server).iter().map(|page| page.to_vec()).collect();
        assert_eq!(pages, expected);
    }
    let large = open(|request| {
        let next = format!("<?page={}>; rel=\"next\"", request.number);
        Reply::bytes(200, INDEX, vec![b' '; 3 << 20]).header("Link", &next)
    });
    assert_eq!(referrers(&large).len(), 2, "no further one after four megabytes");
}

/// A registry that does not list referrers may have a signature there: that is another error than none.
#[test]
fn unlisted_referrers_are_not_a_missing_signature() {
    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let server = open(|request| {
        if request.path.contains("/referrers/") {
            Reply::text(403, "not today")
        } else {
            Reply::status(404)
        }
    });
    let remote = OciRemote {
        registry: Arc::new(client()),
        login: ann(),
        repository: image(&server),
        deadline: soon(),
    };
    let key = Key::of("signer").pem();
    let verifier = Verifier::of_keys(CosignKeys::from_entries([("key.pub", key.as_bytes())]));
    let policy = json!({"version": "1.0", "trustPolicies": [{
        "name": "all", "registryScopes": ["*"], "signatureVerification": {"level": "strict"},
        "trustStores": ["ca:all"], "trustedIdentities": ["*"],
    }]})
    .to_string();
    let root = pem_of("CERTIFICATE", &Owner::authority("all", None).certificate);
    let entries = [("trustpolicy.json", policy.as_bytes()), ("ca.crt", root.as_bytes())];
    let trust = NotationTrust::read("trust", entries).unwrap();
    for error in [
        verify_cosign(&remote, DIGEST, &verifier).unwrap_err().to_string(),
        verify_notation(&remote, DIGEST, &trust, 0).unwrap_err().to_string(),
    ] {
        let expected = "the signatures among the referrers of the artifact cannot be listed: GET http";
        assert!(error.starts_with(expected) && error.contains("not today"), "{error}");
    }
}

/// Pages are on the account of who keeps them, as long as they are kept.
#[test]
fn referrers_are_on_an_account() {
    const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    let server = open(|_| Reply::bytes(200, INDEX, vec![b' '; 3 << 20]));
    let account = Memory::single(10 << 20, "--fetch-memory").of("apps");
    let digest = format!("sha256:{}", "0".repeat(64));
    let job = Job::on(account.clone());
    let pages = job.run(|| client().referrers(&image(&server), &digest, &ann(), soon()).unwrap());
    let manifest = job.run(|| client().manifest(&image(&server), &ann(), soon()).unwrap());
    assert_eq!((pages.len(), manifest.len()), (1, 3 << 20));
    assert!(account.reserve(5 << 20).is_err(), "six megabytes are kept");
    drop((pages, manifest));
    assert!(account.reserve(10 << 20).is_ok());
}

#[test]
fn a_registry_that_asks_for_patience() {
    let server = open(|request| match request.number {
        2 => Reply::registry_error(429, "TOOMANYREQUESTS", "slow down").header("Retry-After", "1"),
        _ => page(&numbered(0..1)),
    });
    let start = Instant::now();
    assert_eq!(tags(&server).unwrap(), numbered(0..1));
    assert!(start.elapsed() >= Duration::from_secs(1));
    let unwell = open(|_| Reply::text(503, "back soon"));
    let expected = format!(
        "GET http://{}{LIST}?n=1000: unexpected status code 503 Service Unavailable: back soon",
        unwell.address()
    );
    assert_eq!(text(tags(&unwell)), expected);
    assert_eq!(asked(&unwell).len(), 3);
    // Longer than the deadline.
    let busy = open(|_| Reply::registry_error(429, "TOOMANYREQUESTS", "slow down").header("Retry-After", "3600"));
    assert!(text(tags(&busy)).ends_with(": TOOMANYREQUESTS: slow down"));
    assert_eq!(asked(&busy).len(), 1);
    // Pings too.
    let pinged = StubHttp::start(|request| match (request.number, request.path.as_str()) {
        (1, "/v2/") => Reply::status(503),
        (_, "/v2/") => Reply::status(200),
        _ => page(&numbered(0..1)),
    });
    assert_eq!(tags(&pinged).unwrap(), numbered(0..1));
}

#[test]
fn answers_that_are_none() {
    let html = "<html>Please log in</html>";
    for (what, reply, expected) in [
        (
            "a page",
            Reply::bytes(200, "text/html", html),
            "the answer is not a list of tags: expected value at line 1 column 1",
        ),
        (
            "nothing",
            Reply::status(200),
            "the answer is not a list of tags: EOF while parsing a value",
        ),
        (
            "half",
            Reply::text(200, r#"{"tags":["a","#),
            "the answer is not a list of tags: EOF while parsing",
        ),
        ("cut", page(&numbered(0..9)).cut(20), "the connection failed: "),
        (
            "numbers",
            Reply::json(&json!({"tags": [1]})),
            "the answer is not a list of tags: invalid type: integer `1`",
        ),
        ("no HTTP", Reply::raw("hello\r\n\r\n"), ""),
        ("no answer", Reply::hang_up(), ""),
        (
            "deep",
            Reply::text(200, &"[".repeat(100_000)),
            "the answer is not a list of tags: ",
        ),
        (
            "endless",
            Reply::text(200, &"[1234567".repeat(1 << 17)).endless(),
            "has more than 67108864 bytes, which is too many",
        ),
        (
            "huge",
            Reply::text(200, &"[".repeat(1 << 20)).filled(1 << 40),
            "has more than 67108864 bytes, which is too many",
        ),
        (
            "huge and an error",
            Reply::text(404, &"x".repeat(1 << 20)).filled(1 << 40),
            "unexpected status code 404 Not Found: xxx",
        ),
    ] {
        let server = open(move |_| reply.clone());
        let error = text(tags(&server));
        assert!(error.contains(expected) && error.len() < 4000, "{what}: {error}");
    }
    // Secrets come back in odd places.
    for reply in [
        Reply::json(&json!({"tags": "hunter2"})),
        page(&[]).header("Link", "hunter2"),
        page(&[]).header("Link", "<http://localhost/hunter2>"),
        Reply::status(302).header("Location", "ftp://localhost/hunter2"),
    ] {
        let server = open(move |_| reply.clone());
        assert!(text(tags(&server)).contains("***"));
    }
    let moving = open(|request| match request.path.as_str() {
        LIST => Reply::status(302).header("Location", "/hunter2"),
        _ => Reply::status(404),
    });
    assert!(text(tags(&moving)).contains("/***: unexpected status code 404 Not Found"));
    for (reply, expected) in [
        (Reply::raw("no HTTP at all"), "/***: protocol"),
        (Reply::text(200, "x"), "/***: the answer is not a list of tags"),
        (
            Reply::text(200, &"[".repeat(1 << 20)).filled(1 << 30),
            "/***: the answer has more than",
        ),
        (
            page(&[]).header("Link", "<http://other/>"),
            "/***: refused to follow the link",
        ),
    ] {
        let moving = open(move |request| match request.path.as_str() {
            LIST => Reply::status(302).header("Location", "/hunter2"),
            _ => reply.clone(),
        });
        let error = text(tags(&moving));
        assert!(error.contains(expected), "{error}");
    }
    for (reply, expected) in [
        (Reply::json(&json!({"tags": null})), vec![]),
        (Reply::json(&json!({"name": "x"})), vec![]),
        (Reply::text(200, "{\"tags\":[\"a\",\"a\"]} and more"), vec!["a"]),
    ] {
        let server = open(move |_| reply.clone());
        assert_eq!(tags(&server).unwrap(), expected);
    }
}

/// Millions of texts fit into one page; as strings they would take ten times its size.
#[test]
fn a_page_with_more_tags_than_can_be_meant_is_refused() {
    let body = format!("{{\"tags\":[{}\"\"]}}", "\"\",".repeat(1_000_000));
    let server = open(move |_| Reply::text(200, &body));
    let error = text(tags(&server));
    assert!(error.ends_with("the repository has more than 1000000 tags"), "{error}");
}

#[test]
fn a_request_that_is_late_tells_its_own_limit() {
    let server = open(|_| page(&[]).after(Duration::from_secs(20)));
    let peer = Peer {
        timeout: Duration::from_millis(300),
        ..Peer::default()
    };
    let hour = Deadline::after(Duration::from_secs(3600));
    let result = Registry::new(peer, false).tags(&image(&server), &ann(), hour);
    assert!(text(result).ends_with("no answer within 300ms"));
}

#[test]
fn redirects_do_not_take_a_login_along() {
    let other = StubHttp::start(|_| page(&numbered(0..3)));
    let target = other.url("elsewhere?signature=abc");
    let server = open(move |_| Reply::status(307).header("Location", &target));
    assert_eq!(tags(&server).unwrap(), numbered(0..3));
    assert!(server.requests()[1].login().is_some());
    assert_eq!(other.requests()[0].header("authorization"), None);
    // A challenge from there is not met.
    let greedy = StubHttp::start(|_| {
        let challenge = "Bearer realm=\"http://localhost:1/token\",service=\"x\"";
        Reply::status(401).header("WWW-Authenticate", challenge)
    });
    let target = greedy.url("elsewhere");
    let server = open(move |_| Reply::status(307).header("Location", &target));
    assert!(text(tags(&server)).ends_with("/elsewhere: unexpected status code 401 Unauthorized"));
    assert_eq!(greedy.count(), 1);
    for (location, expected) in [
        (
            "http://169.254.169.254/latest/meta-data",
            "a private or link-local address",
        ),
        ("ftp://localhost/x", "refused to follow a redirect"),
        (LIST, "more than 10 redirects"),
    ] {
        let server = open(move |_| Reply::status(302).header("Location", location));
        let error = text(tags(&server));
        assert!(error.contains(expected), "{error}");
    }
}

/// A registry that requires a token of `realm`, or of itself.
fn guarded(realm: Option<String>, good: &'static str) -> StubHttp {
    StubHttp::start(move |request| {
        let own = format!("http://{}/token", request.header("host").unwrap());
        let challenge = format!("Bearer realm=\"{}\",service=\"s\"", realm.as_ref().unwrap_or(&own));
        let bearer = request
            .header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "));
        match (request.path.as_str(), bearer) {
            ("/token", _) => Reply::json(&json!({"token": format!("token-{}", request.number)})),
            (LIST, Some(token)) if token == good => page(&numbered(0..1)),
            (_, Some(token)) => Reply::text(403, &format!("not {token}, hunter2")),
            _ => Reply::status(401).header("WWW-Authenticate", &challenge),
        }
    })
}

#[test]
fn a_login_goes_to_the_realm_that_the_registry_names() {
    let tokens = StubHttp::start(|_| Reply::json(&json!({"access_token": "good"})));
    let server = guarded(Some(tokens.url("token?account=x")), "good");
    assert_eq!(tags(&server).unwrap(), numbered(0..1));
    let request = &tokens.requests()[0];
    assert_eq!(
        request.target,
        "/token?account=x&scope=repository%3Ateam%2Fapp%3Apull&service=s"
    );
    assert_eq!(request.login(), Some(("ann".to_owned(), "hunter2".to_owned())));
    assert!(server.requests().iter().all(|request| request.login().is_none()));
    // A token server that redirects to another host does not leak the login.
    let (target, moved) = (
        tokens.url("moved"),
        StubHttp::start(|_| Reply::json(&json!({"token": "good"}))),
    );
    let link = moved.url("token").replace("localhost", "127.0.0.1");
    let redirecting = guarded(Some(link), "good");
    assert_eq!(tags(&redirecting).unwrap(), numbered(0..1));
    let away = StubHttp::start(move |_| Reply::status(302).header("Location", &target));
    let server = guarded(Some(format!("http://{}/token", away.address())), "good");
    tokens.clear();
    assert_eq!(tags(&server).unwrap(), numbered(0..1));
    assert_eq!(
        (away.requests()[0].login().is_some(), tokens.requests()[0].login()),
        (true, None)
    );
    let inside = guarded(Some("http://10.0.0.1/token".to_owned()), "good");
    assert_eq!(
        text(tags(&inside)),
        "invalid realm in www-authenticate: realm host \"10.0.0.1\" is a private or link-local address"
    );
}

#[test]
fn a_refused_token_is_renewed_once_and_never_told() {
    let forbidding = guarded(None, "another");
    assert!(text(tags(&forbidding)).ends_with("unexpected status code 403 Forbidden: not ***, ***"));
    // Refused with a challenge: one more token, then the answer counts.
    let strict = StubHttp::start(|request| match request.path.as_str() {
        "/token" => Reply::json(&json!({"token": format!("t{}", request.number)})),
        _ => {
            let realm = format!("http://{}/token", request.header("host").unwrap());
            let scope = "repository:team/app:pull,metadata_read";
            let challenge = format!("Bearer realm=\"{realm}\",service=\"s\",scope=\"{scope}\"");
            Reply::status(401).header("WWW-Authenticate", &challenge)
        }
    });
    assert!(text(tags(&strict)).ends_with("unexpected status code 401 Unauthorized"));
    let targets: Vec<String> = strict.requests().into_iter().map(|request| request.target).collect();
    let (page, scope) = (format!("{LIST}?n=1000"), "scope=repository%3Ateam%2Fapp%3Apull");
    let wider = "scope=repository%3Ateam%2Fapp%3Apull%2Cmetadata_read";
    let (first, second) = (
        format!("/token?{scope}&service=s"),
        format!("/token?{wider}&{scope}&service=s"),
    );
    assert_eq!(targets, ["/v2/", &first, &page, &second, &page]);
}

#[test]
fn tokens_that_cannot_be_had() {
    for (reply, expected) in [
        (
            Reply::text(403, "no hunter2 here"),
            "unexpected status code 403 Forbidden: no *** here",
        ),
        (
            Reply::json(&json!({"refresh_token": "hunter2"})),
            "no token in bearer response",
        ),
        (
            Reply::text(200, "hunter2"),
            "the token server's answer is not the expected JSON",
        ),
        (
            Reply::json(&json!({"token": "a\r\nX: hunter2"})),
            "the token has characters that cannot be sent",
        ),
        (Reply::text(200, &"x".repeat(1 << 20)), "has more than 65536 bytes"),
    ] {
        let tokens = StubHttp::start(move |_| reply.clone());
        let server = guarded(Some(tokens.url("token")), "good");
        let error = text(tags(&server));
        assert!(error.contains(expected), "{error}");
    }
    // The token server knows the password, too.
    for (reply, expected) in [
        (
            Reply::text(403, "no"),
            "/***?scope=***: unexpected status code 403 Forbidden",
        ),
        (Reply::json(&json!({})), "/***?scope=***: no token in bearer response"),
        (Reply::raw("no HTTP at all"), "/***: protocol"),
        (
            Reply::status(302).header("Location", "ftp://x/hunter2"),
            "refused to follow a redirect to ftp://x/***",
        ),
    ] {
        let tokens = StubHttp::start(move |request| match request.path.as_str() {
            "/token" => Reply::status(302).header("Location", "/hunter2?scope=hunter2"),
            _ => reply.clone(),
        });
        let server = guarded(Some(tokens.url("token")), "good");
        let error = text(tags(&server));
        assert!(error.contains(expected), "{error}");
    }
    let password = Login::RegistryToken("line\nbreak".into());
    let server = guarded(None, "good");
    let error = text(client().tags(&image(&server), &password, soon()));
    assert!(error.contains("has characters that cannot be sent"), "{error}");
}

#[test]
fn digests_of_registries_that_do_not_name_them() {
    let manifest = json!({"schemaVersion": 2}).to_string();
    let digest = "sha256:5af8a6fcf9c3bdcc7aa5b0b51fcf0a2f7d8d1d1e1d0c6cbd2c5c3b2a1f0e9d8c";
    for (what, headers, status, expected) in [
        ("named", vec![("Docker-Content-Digest", digest)], 200, Ok(1)),
        ("not named", vec![], 200, Ok(2)),
        ("named oddly", vec![("Docker-Content-Digest", "sha256:xyz")], 200, Ok(2)),
        ("HEAD is not known", vec![], 405, Ok(2)),
        (
            "SHA-512",
            vec![("Docker-Content-Digest", "sha512:00")],
            200,
            Err("unsupported hash: \"sha512\""),
        ),
        (
            "not there",
            vec![],
            404,
            Err("(HEAD responses have no body, use GET for details)"),
        ),
    ] {
        let body = manifest.clone();
        let server = open(move |request| {
            let head = request.method == "HEAD";
            let mut reply = Reply::text(if head { status } else { 200 }, &body);
            for (name, value) in &headers {
                reply = reply.header(name, value);
            }
            reply
        });
        let found = client().digest(&image(&server), &ann(), soon());
        match expected {
            Ok(requests) => {
                let own = format!("sha256:{}", sha256(manifest.as_bytes()));
                let expected = if requests == 1 { digest } else { &own };
                assert_eq!(
                    (found.unwrap().as_str(), asked(&server).len()),
                    (expected, requests),
                    "{what}"
                );
            }
            Err(why) => assert!(text(found).ends_with(why), "{what}"),
        }
    }
    assert_eq!(asked(&open(|_| Reply::status(200))), Vec::<String>::new());
}

#[test]
fn what_is_not_what_its_digest_says() {
    let digest = format!("sha256:{}", sha256(b"another"));
    let config = json!({"config": {"digest": digest}}).to_string();
    for (what, reference, expected) in [
        (
            "manifest",
            format!("@{digest}"),
            format!("does not match requested digest: \"{digest}\""),
        ),
        (
            "config",
            ":1".to_owned(),
            format!("does not match requested digest: \"{digest}\""),
        ),
    ] {
        let body = config.clone();
        let server = open(move |_| Reply::text(200, &body));
        let text_of = format!("{}/team/app{reference}", server.address());
        let image = Reference::parse(&text_of, Validation::Weak).unwrap();
        let error = text(client().created(&image, &ann(), soon()));
        assert!(
            error.starts_with(&format!("{what} digest: ")) && error.contains(&expected),
            "{error}"
        );
    }
    // A blob store elsewhere is fine, and sees no login.
    let store = StubHttp::start(|_| Reply::bytes(200, "application/octet-stream", CREATED));
    let (blob, manifest) = (
        store.url("blob?signature=abc"),
        json!({"config": {"digest": format!("sha256:{}", sha256(CREATED))}}),
    );
    let server = open(move |request| match request.path.as_str() {
        MANIFEST => Reply::json(&manifest),
        _ => Reply::status(307).header("Location", &blob),
    });
    let created = client().created(&image(&server), &ann(), soon()).unwrap().unwrap();
    assert_eq!(created.unix_seconds(), 1_714_557_600);
    assert_eq!(store.requests()[0].header("authorization"), None);
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
