//! Authentication of senders, and the answers to others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod sender;

use bumpwright_webhook::{InvalidEntry, Provider, Rejection, Tokens};
use sender::{NAMESPACE, SECRET, Sent, TOKEN, fixture, tokens_of};

/// A valid request for each way of authentication.
fn good() -> Vec<Sent> {
    let mut all: Vec<Sent> = [
        ("github", "github-push", ("X-GitHub-Event", "push")),
        ("gitlab", "gitlab-push", ("X-Gitlab-Event", "Push Hook")),
        ("gitea", "gitea-push", ("X-Gitea-Event", "push")),
        (
            "bitbucket",
            "bitbucket-refs-changed",
            ("X-Event-Key", "repo:refs_changed"),
        ),
        ("generic-hmac", "generic-push", ("X-Other", "")),
        ("nexus", "nexus-component", ("X-Other", "")),
        ("registry", "registry", ("X-Other", "")),
    ]
    .into_iter()
    .map(|(provider, name, (header, kind))| {
        Sent::to(&format!("/hook/{provider}"), fixture(name))
            .with(header, kind)
            .proved()
    })
    .collect();
    all.push(Sent::to(
        &sender::digest_path(Provider::DockerHub),
        fixture("dockerhub"),
    ));
    all
}

/// Another token for each provider.
fn other_tokens() -> Tokens {
    let providers = [
        "github",
        "gitlab",
        "gitea",
        "bitbucket",
        "generic-hmac",
        "nexus",
        "registry",
        "dockerhub",
    ];
    tokens_of(&providers.map(|provider| (provider, "other")))
}

#[test]
fn a_right_proof_is_enough() {
    for sent in good() {
        assert!(sent.received().is_ok(), "{} {:?}", sent.path, sent.received());
    }
}

#[test]
fn another_token_is_refused() {
    let other = other_tokens();
    for sent in good() {
        let rejection = sent.received_with(&other).unwrap_err();
        let expected = if sent.path.contains("dockerhub") { 404 } else { 401 };
        assert_eq!(rejection.status(), expected, "{}", sent.path);
    }
}

#[test]
fn a_changed_body_is_refused() {
    for mut sent in good()
        .into_iter()
        .filter(|sent| sent.headers.iter().any(|(name, _)| name.contains("Signature")))
    {
        sent.body.push(b' ');
        assert!(matches!(sent.received(), Err(Rejection::Proof { .. })), "{}", sent.path);
    }
}

/// Answers to senders without a token do not reveal which providers have one.
#[test]
fn answers_do_not_tell_what_is_set_up() {
    for sent in good() {
        let (wrong, none) = (
            sent.received_with(&other_tokens()),
            sent.received_with(&Tokens::default()),
        );
        let (wrong, none) = (wrong.unwrap_err(), none.unwrap_err());
        assert_eq!(
            (wrong.status(), wrong.answer()),
            (none.status(), none.answer()),
            "{}",
            sent.path
        );
    }
}

#[test]
fn a_missing_proof_is_named_whatever_is_set_up() {
    for mut sent in good().into_iter().filter(|sent| !sent.path.contains("dockerhub")) {
        let proof = |name: &str| name.contains("Signature") || name.contains("Token") || name == "Authorization";
        sent.headers.retain(|(name, _)| !proof(name));
        let (one, other) = (
            sent.received().unwrap_err(),
            sent.received_with(&Tokens::default()).unwrap_err(),
        );
        assert!(
            one.answer().ends_with(" is missing: set the token at the sender"),
            "{}",
            one.answer()
        );
        assert_eq!(
            (one.status(), one.answer()),
            (other.status(), other.answer()),
            "{}",
            sent.path
        );
    }
}

#[test]
fn neither_answer_nor_log_holds_a_secret() {
    let wrong = tokens_of(&[
        ("github", "hidden-token"),
        ("dockerhub", "hidden-token"),
        ("gitlab", "hidden-token"),
    ]);
    let digest = wrong.paths(Provider::DockerHub).next().unwrap();
    for sent in good() {
        let rejection = sent.received_with(&wrong).unwrap_err();
        for text in [
            rejection.to_string(),
            rejection.answer(),
            format!("{rejection:?}{wrong:?}"),
        ] {
            let secret = ["hidden-token", TOKEN, digest.rsplit('/').next().unwrap()];
            assert!(secret.iter().all(|secret| !text.contains(secret)), "{text}");
        }
    }
}

/// The example of GitHub's document *Validating webhook deliveries*; it is rejected only because its body is not JSON.
#[test]
fn githubs_own_example_is_proved() {
    let sent = Sent::to("/hook/github", "Hello, World!")
        .with("X-GitHub-Event", "push")
        .with(
            "X-Hub-Signature-256",
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
        );
    let tokens = tokens_of(&[("github", "It's a Secret to Everybody")]);
    assert_eq!(sent.received_with(&tokens).unwrap_err().status(), 400);
    assert_eq!(sent.received().unwrap_err().status(), 401);
}

/// Signatures made by Python's hmac.
#[test]
fn generic_signatures_say_their_algorithm() {
    let body = r#"{"repository":"https://git.example.com/fleet/cluster"}"#;
    let sha512 = "sha512=90cd89eff07ba704fea4ada6876d290690d920834bc290bec1a7333ca61d56b27f335c9b26dfeec71693872c0db7f31dc9cf900d7d267fbe9cf0ae034bef08bb";
    let sha256 = "6322113c560b2cba1f7a39342b652287a6842a5de1942bcc3e409ec694634f06";
    let sent = |signature: &str| {
        Sent::to("/hook/generic-hmac", body)
            .with("X-Signature", signature)
            .received()
    };
    assert!(sent(sha512).is_ok());
    assert!(sent(&format!("sha256={sha256}")).is_ok());
    assert!(sent(&format!("sha256={}", sha256.to_uppercase())).is_ok());
    let weak = sent("sha1=a5da2018a7bfb2522785092cc4849f31b001bf30").unwrap_err();
    assert_eq!(
        (weak.status(), weak.answer()),
        (401, "sign with HMAC-SHA256 or HMAC-SHA512".to_owned())
    );
    for bad in [
        sha256,
        "sha256=",
        "sha256=zz",
        &sha512[..20],
        "md5=00",
        "sha256=6322",
        &format!("sha512={sha256}"),
    ] {
        assert_eq!(sent(bad).unwrap_err().status(), 401, "{bad}");
    }
}

#[test]
fn githubs_sha1_alone_is_refused() {
    let sent = good().remove(0).without("X-Hub-Signature-256");
    assert_eq!(
        sent.received().unwrap_err().answer(),
        "X-Hub-Signature-256 is missing: set the token at the sender"
    );
    let sent = sent.with("X-Hub-Signature", "sha1=a5da2018a7bfb2522785092cc4849f31b001bf30");
    assert_eq!(
        sent.received().unwrap_err().answer(),
        "sign with HMAC-SHA256 in X-Hub-Signature-256"
    );
}

/// Standard Webhooks, as GitLab signs with a signing token; the signature is made by Python's hmac.
#[test]
fn gitlabs_signing_tokens_sign_id_time_and_body() {
    let key = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    let tokens = tokens_of(&[("gitlab", key)]);
    let signature = "v1,E2fDf5rw13pFcD88VmvRM0vrlqmDwEIjcVpPHEzCuHc=";
    let sent = Sent::to("/hook/gitlab", r#"{"object_kind":"issue"}"#)
        .with("webhook-id", "msg-1")
        .with("webhook-timestamp", "1767323045")
        .with("webhook-signature", &format!("v1,AAAA v2,x {signature}"));
    assert!(sent.received_with(&tokens).is_ok());
    let late = sent.clone().with("webhook-timestamp", "1767323046");
    assert!(matches!(late.received_with(&tokens), Err(Rejection::Proof { .. })));
    // The signing token is a key and never a password.
    let key_as_token = sent.without("webhook-signature").with("X-Gitlab-Token", key);
    assert!(matches!(
        key_as_token.received_with(&tokens),
        Err(Rejection::Proof { .. })
    ));
}

#[test]
fn tokens_can_be_replaced_without_a_gap() {
    let both = tokens_of(&[("github.old", "first"), ("github.new", TOKEN), ("gitlab", "other")]);
    assert!(good()[0].received_with(&both).is_ok());
    assert!(good()[0].received_with(&tokens_of(&[("github.old", "first")])).is_err());
}

#[test]
fn registries_prove_themselves_by_path_or_header() {
    let hook = |path: &str| Sent::to(path, fixture("dockerhub"));
    let path = sender::digest_path(Provider::DockerHub);
    // printf %s s3cr3t-token bumpwright-webhook flux-system | sha256sum
    assert_eq!(
        path,
        "/hook/dockerhub/d66dd1ada2bfb2e9992c1ce973577dd0f72ac35926de5a922330deeb62da9955"
    );
    assert!(hook(&path).received().is_ok());
    assert!(hook(&format!("{path}/")).received().is_ok());
    for header in [TOKEN, "Bearer s3cr3t-token", "bearer s3cr3t-token"] {
        assert!(
            hook("/hook/dockerhub").with("Authorization", header).received().is_ok(),
            "{header}"
        );
    }
    for header in ["Bearer", "Bearer other", "Basic s3cr3t-token", "s3cr3t-toke"] {
        assert_eq!(
            hook("/hook/dockerhub")
                .with("Authorization", header)
                .received()
                .unwrap_err()
                .status(),
            401
        );
    }
    for wrong in [
        format!("{path}0"),
        path.to_uppercase().replace("/HOOK/DOCKERHUB", "/hook/dockerhub"),
        path.replace("dockerhub", "nexus"),
    ] {
        assert_eq!(hook(&wrong).received().unwrap_err().status(), 404, "{wrong}");
    }
    assert_eq!(hook("/hook/dockerhub").received().unwrap_err().status(), 401);
}

#[test]
fn addresses_and_methods() {
    for path in [
        "/",
        "/hook",
        "/hook/",
        "/hook/github/x",
        "/hook/other",
        "/hooks/github",
        "/hook/GitHub",
        "/hook//github",
    ] {
        let mut sent = good().remove(0);
        path.clone_into(&mut sent.path);
        assert_eq!(sent.received().unwrap_err().status(), 404, "{path}");
    }
    let mut sent = good().remove(0);
    "GET".clone_into(&mut sent.method);
    assert_eq!(sent.received(), Err(Rejection::Method));
}

#[test]
fn a_repeated_proof_is_refused() {
    let mut sent = good().remove(0);
    sent.headers
        .push(("x-hub-signature-256".to_owned(), "sha256=00".to_owned()));
    assert_eq!(
        sent.received(),
        Err(Rejection::Repeated {
            header: "X-Hub-Signature-256"
        })
    );
}

#[test]
fn entries_that_are_no_tokens_are_named() {
    let data: [(&str, &[u8]); 4] = [
        ("gihub", b"x"),
        ("gitlab", b"\n"),
        ("quay", b"x\r\n"),
        ("harbor.a.b", b"y"),
    ];
    let (tokens, invalid) = Tokens::read(NAMESPACE, SECRET, data);
    assert!(matches!(&invalid[..], [InvalidEntry::Name { entry, .. }, InvalidEntry::Empty { .. }] if entry == "gihub"));
    assert!(invalid[0].to_string().starts_with(
        "the entry \"gihub\" of the Secret flux-system/bumpwright-webhook is of no known provider; call it PROVIDER"
    ));
    let quay = Sent::to("/hook/quay", fixture("quay")).with("Authorization", "x");
    assert!(quay.received_with(&tokens).is_ok());
    let gitlab = Sent::to("/hook/gitlab", fixture("gitlab-push")).with("X-Gitlab-Token", "");
    assert_eq!(gitlab.received_with(&tokens).unwrap_err().status(), 401);
    assert!(!tokens.is_empty() && Tokens::default().is_empty());
    assert_eq!(format!("{tokens:?}"), "{Harbor: 1, Quay: 1}");
}
