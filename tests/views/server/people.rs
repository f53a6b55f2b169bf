//! Who is known, and what each person sees.

use serde_json::json;

use super::seeded::{Answer, Pages, SECRET_WORD, account, bind, by_token, encoded, seeded};

/// The pages of a tenant's objects.
fn paths(word: &str) -> Vec<String> {
    vec![
        format!("/images/{word}/{word}-web"),
        format!("/automations/{word}/{word}-all"),
        format!("/kustomizations/{word}/{word}-apps"),
        format!("/sources/GitRepository/{word}/{word}-fleet"),
        format!("/objects/image.toolkit.fluxcd.io/ImageRepository/{word}/{word}-web"),
        format!("/objects/core/ConfigMap/{word}/{word}-map"),
        format!("/objects/core/Secret/{word}/{word}-secret"),
    ]
}

const LISTS: [&str; 7] = [
    "/",
    "/attention",
    "/images",
    "/automations",
    "/kustomizations",
    "/sources",
    "/timeline",
];

fn status(pages: &Pages, path: &str, token: &str) -> Answer {
    pages.get(path, &[("Authorization", &format!("Bearer {token}"))])
}

#[test]
fn a_tenant_sees_the_own_namespace_and_nothing_of_others() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let tenant = account(cluster, "okapi", "tenant", "ui-view");
    for path in LISTS {
        let text = pages.page(path, &tenant);
        assert!(text.contains("okapi") && !text.contains(SECRET_WORD), "{path}: {text}");
    }
    for path in paths("okapi") {
        let answer = status(pages, &path, &tenant);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert!(!answer.text().contains(SECRET_WORD), "{path}");
    }
    for path in paths(SECRET_WORD) {
        let there = status(pages, &path, &tenant);
        let nowhere = status(pages, &path.replace(SECRET_WORD, "nobody"), &tenant);
        assert_eq!((there.status, nowhere.status), (404, 404), "{path}");
        // Two pages are made at two times.
        let timeless = |text: String| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.contains("made at"));
            lines.map(|line| line.replace(SECRET_WORD, "nobody")).collect()
        };
        assert_eq!(
            timeless(there.text()),
            timeless(nowhere.text()),
            "{path}: what is not there looks different"
        );
    }
    for words in ["web", "fleet", "ghcr.io", "base"] {
        let text = pages.page(&format!("/search?q={words}"), &tenant);
        assert!(!text.contains(SECRET_WORD), "{words}: {text}");
    }
    // The word itself is shown again.
    let text = pages.page(&format!("/search?q={SECRET_WORD}"), &tenant);
    assert!(!text.contains(&format!("{SECRET_WORD}-")), "{text}");
    let everything = pages.page("/", cluster.token());
    assert!(everything.contains("okapi") && everything.contains(SECRET_WORD));
}

/// Rights are by kind: somebody who may list policies alone sees no Kustomization and no event.
#[test]
fn rights_are_by_kind() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "ui-policies"},
        "rules": [{"apiGroups": ["image.toolkit.fluxcd.io"], "resources": ["imagepolicies"], "verbs": ["list"]}]});
    cluster.apply(&role.to_string());
    let some = account(cluster, "okapi", "policies", "ui-policies");
    assert!(pages.page("/images", &some).contains("okapi-web"));
    for path in ["/kustomizations", "/sources", "/automations"] {
        assert!(!pages.page(path, &some).contains("okapi"), "{path}");
    }
    assert!(!pages.page("/timeline", &some).contains("okapi event"));
    // The tags are the repository's.
    assert!(!pages.page("/images/okapi/okapi-web", &some).contains("1.0.0"));
    let nobody = account(cluster, "okapi", "stranger", "");
    for path in LISTS {
        assert!(!pages.page(path, &nobody).contains("okapi"), "{path}");
    }
    // What may not be listed is not said to be well.
    let all_clear = "all that is watched works";
    for (token, kinds) in [
        (&nobody, "imagepolicies, imagerepositories"),
        (&some, "you may not list imagerepositories,"),
    ] {
        let page = pages.page("/", token);
        assert!(
            !page.contains(all_clear) && page.contains(kinds) && page.contains("ask for the role view"),
            "{page}"
        );
    }
}

#[test]
fn tokens_that_are_not_accepted_see_nothing() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let of = |name: &str| account(cluster, "okapi", name, "ui-view");
    let gone = of("gone");
    let path = "/api/v1/namespaces/home-gone/serviceaccounts/gone";
    assert_eq!(cluster.request("DELETE", path, "", "").status, 200);
    let mut forged = of("forger");
    forged.replace_range(forged.len() - 8.., "AAAAAAAA");
    for token in [gone.as_str(), &forged, "nonsense", "", &"x".repeat(9000)] {
        let answer = status(pages, "/images", token);
        assert_eq!(answer.status, 401, "{}", answer.text());
        assert!(!answer.text().contains("okapi"));
        assert_eq!(status(pages, "/events", token).status, 401);
    }
    let stranger = pages.get("/images?q=a&only=held", &[]);
    assert_eq!(stranger.status, 303);
    assert_eq!(
        stranger.header("Location"),
        format!("/sign-in?back={}", encoded("/images?q=a&only=held"))
    );
    assert_eq!(pages.get("/events", &[]).status, 401);
    let cookie = format!("bumpwright_session={}", "A".repeat(64));
    assert_eq!(pages.get("/images", &[("Cookie", &cookie)]).status, 303);
}

/// The cookie of somebody who signs in with a token.
pub fn sign_in(pages: &Pages, token: &str) -> String {
    let answer = pages.post("/sign-in", &[], &[("token", token), ("back", "/images")]);
    assert_eq!(
        (answer.status, answer.header("Location")),
        (303, "/images"),
        "{}",
        answer.text()
    );
    let cookie = answer.header("Set-Cookie");
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=28800"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure") && !cookie.contains(token), "{cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

#[test]
fn people_sign_in_and_out() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let tenant = account(cluster, "okapi", "signer", "ui-view");
    let cookie = sign_in(pages, &tenant);
    let headers = [("Cookie", cookie.as_str())];
    let page = pages.get("/images", &headers);
    assert_eq!(page.status, 200);
    assert!(page.text().contains("okapi-web") && !page.text().contains(SECRET_WORD));
    let wrong = pages.post("/sign-in", &[], &[("token", "wrong"), ("back", "//evil.io")]);
    assert_eq!(wrong.status, 401);
    assert!(wrong.header("Set-Cookie").is_empty());
    let elsewhere = pages.post("/sign-in", &[], &[("token", &tenant), ("back", "//evil.io")]);
    assert_eq!(elsewhere.header("Location"), "/");
    let behind = pages.post("/sign-in", &[("X-Forwarded-Proto", "https")], &[("token", &tenant)]);
    assert!(behind.header("Set-Cookie").contains("; Secure"));
    let foreign = pages.post("/sign-in", &[("Origin", "https://evil.io")], &[("token", &tenant)]);
    assert_eq!((foreign.status, foreign.header("Set-Cookie")), (403, ""));
    // Signing out needs the form of this session.
    assert_eq!(pages.post("/sign-out", &headers, &[]).status, 403);
    assert_eq!(pages.get("/images", &headers).status, 200);
    let csrf = super::actions::csrf(pages, &headers);
    assert_eq!(pages.post("/sign-out", &headers, &[("csrf", &csrf)]).status, 303);
    assert_eq!(pages.get("/images", &headers).status, 303);
}

#[test]
fn a_proxy_that_proves_itself_says_who_it_is() {
    let Some(cluster) = seeded() else { return };
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "a secret of the proxy\n").unwrap();
    let flags = [
        "--ui-auth=header".to_owned(),
        format!("--ui-secret-file={}", secret.path().display()),
    ];
    let pages = Pages::start(cluster, &flags);
    let group = json!({"kind": "Group", "name": "okapi-devs", "apiGroup": "rbac.authorization.k8s.io"});
    bind(cluster, "okapi", "devs", "ui-view", &group);
    let (proof, ann) = (
        ("X-Bumpwright-Secret", "a secret of the proxy"),
        ("X-Forwarded-User", "ann"),
    );
    let answer = pages.get("/images", &[proof, ann, ("X-Forwarded-Groups", "staff,okapi-devs")]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("okapi-web") && !answer.text().contains(SECRET_WORD));
    let other = pages.get("/images", &[proof, ann, ("X-Forwarded-Groups", "staff,system:masters")]);
    assert!(other.status == 200 && !other.text().contains("okapi-web"));
    for headers in [
        &[][..],
        &[ann],
        &[proof],
        &[("X-Bumpwright-Secret", "a secret of the proxz"), ann],
        &[proof, ("X-Forwarded-User", "system:admin")],
        &[proof, ann, ("X-Forwarded-User", "bob")],
        &[("Authorization", "Bearer bumpwright-tests")],
    ] {
        let answer = pages.get("/images", headers);
        assert_eq!(answer.status, 401, "{headers:?}: {}", answer.text());
    }
}
