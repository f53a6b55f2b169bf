//! Hostile bodies, from senders without a token and with one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod sender;

use bumpwright_webhook::{Event, MAX_BODY, MAX_EVENTS, Provider, Rejection, select};
use proptest::prelude::*;
use sender::{Sent, fixture};

const PATHS: &[(&str, &str)] = &[
    ("/hook/github", "push"),
    ("/hook/github", "registry_package"),
    ("/hook/gitlab", "Push Hook"),
    ("/hook/gitea", "push"),
    ("/hook/gitea", "package"),
    ("/hook/bitbucket", "repo:push"),
    ("/hook/bitbucket", "repo:refs_changed"),
    ("/hook/generic-hmac", ""),
    ("/hook/dockerhub", ""),
    ("/hook/registry", ""),
    ("/hook/harbor", ""),
    ("/hook/quay", ""),
    ("/hook/gcr", ""),
    ("/hook/acr", ""),
    ("/hook/nexus", ""),
];

fn sent(path: &str, kind: &str, body: impl Into<Vec<u8>>) -> Sent {
    let sent = Sent::to(path, body).proved();
    ["X-GitHub-Event", "X-Gitea-Event", "X-Event-Key"]
        .into_iter()
        .fold(sent, |sent, name| sent.with(name, kind))
}

#[test]
fn nothing_is_read_before_it_is_proved() {
    for (path, kind) in PATHS {
        let mut request = sent(path, kind, "[".repeat(1000));
        request
            .headers
            .retain(|(name, _)| !name.contains("Signature") && !name.contains("Token") && name != "Authorization");
        assert_eq!(request.received().unwrap_err().status(), 401, "{path}");
    }
}

#[test]
fn bodies_are_bounded() {
    let mut body = fixture("registry");
    body.resize(MAX_BODY, b' ');
    assert!(sent("/hook/registry", "", body.clone()).received().is_ok());
    body.push(b' ');
    // Without a proof, too: a body that is too large is not hashed.
    assert_eq!(
        Sent::to("/hook/registry", body.clone()).received(),
        Err(Rejection::Size)
    );
    assert_eq!(sent("/hook/registry", "", body).received().unwrap_err().status(), 413);
}

#[test]
fn deep_nesting_is_refused() {
    for (path, kind) in PATHS {
        for body in [
            format!("{{\"repository\":{}", "[".repeat(50_000)),
            r#"{"a":"#.repeat(10_000),
            format!("{{\"x\":{}{}}}", "[".repeat(40_000), "]".repeat(40_000)),
        ] {
            let rejection = sent(path, kind, body).received();
            assert!(
                matches!(rejection, Err(Rejection::Payload { .. })),
                "{path} {kind} {rejection:?}"
            );
        }
    }
}

#[test]
fn many_changes_are_refused() {
    let tags = |number: usize| vec!["\"t\""; number].join(",");
    let quay = |number| {
        format!(
            r#"{{"docker_url": "quay.io/{}", "updated_tags": [{}]}}"#,
            "a".repeat(900),
            tags(number)
        )
    };
    assert_eq!(
        sent("/hook/quay", "", quay(MAX_EVENTS)).received().unwrap().len(),
        MAX_EVENTS
    );
    assert_eq!(
        sent("/hook/quay", "", quay(200_000)).received(),
        Err(Rejection::Events {
            provider: Provider::Quay
        })
    );
    let event = r#"{"action":"push","target":{"repository":"a","tag":"b"}}"#;
    let registry = format!(r#"{{"events": [{}]}}"#, vec![event; 15_000].join(","));
    assert_eq!(
        sent("/hook/registry", "", registry).received().unwrap_err().status(),
        413
    );
}

#[test]
fn long_names_are_no_names() {
    let long = "a".repeat(100_000);
    let body = format!(r#"{{"ref": "refs/heads/main", "repository": {{"clone_url": "https://h/o/{long}"}}}}"#);
    let events = sent("/hook/github", "push", body).received().unwrap();
    assert!(matches!(&events[0], Event::Push(push) if push.addresses.is_empty()));
    assert_eq!(select(&events, &[]), []);
    let body = format!(r#"{{"docker_url": "quay.io/{long}", "updated_tags": ["1"]}}"#);
    assert_eq!(sent("/hook/quay", "", body).received().unwrap_err().status(), 400);
}

#[test]
fn what_a_sender_writes_cannot_disturb_a_log() {
    let kind = "x\r\nforged: line \u{1b}[31m \u{202e}";
    let events = sent("/hook/github", kind, "{}").received().unwrap();
    assert_eq!(events, [Event::Ignored("event x??forged: line ?[31m ?".to_owned())]);
    let rejection = sent("/hook/gitlab", "", "{\"object_kind\": {\"\\u001b\": \"\\n\"}}")
        .received()
        .unwrap_err();
    assert!(!rejection.to_string().contains(char::is_control) && rejection.to_string().len() < 200);
}

#[test]
fn wrong_types_and_nulls_are_refused_or_passed_over() {
    for (path, kind) in PATHS {
        for body in [
            "null",
            "[]",
            "1",
            "\"x\"",
            "{}",
            r#"{"repository": null, "ref": null}"#,
            r#"{"events": [null]}"#,
            "",
        ] {
            let received = sent(path, kind, body).received();
            assert!(
                matches!(received, Err(Rejection::Payload { .. })),
                "{path} {kind} {body} {received:?}"
            );
        }
    }
}

/// A real body with any cut or changed byte, and a valid proof, gives events or a rejection.
fn bodies() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let of = |path, kind, name| (path, kind, fixture(name));
    vec![
        of("/hook/github", "push", "github-push"),
        of("/hook/github", "registry_package", "github-registry-package"),
        of("/hook/gitlab", "", "gitlab-repository-update"),
        of("/hook/bitbucket", "repo:push", "bitbucket-cloud-push"),
        of("/hook/registry", "", "registry"),
        of("/hook/harbor", "", "harbor"),
        of("/hook/gcr", "", "gcr"),
        of("/hook/nexus", "", "nexus-asset"),
    ]
}

proptest! {
    #[test]
    fn damaged_bodies_do_no_harm(which in 0usize..8, at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let (path, kind, mut body) = bodies().remove(which);
        let at = at.index(body.len());
        body[at] = byte;
        if cut {
            body.truncate(at);
        }
        match sent(path, kind, body).received() {
            Ok(events) => prop_assert!(!events.is_empty() && events.len() <= MAX_EVENTS),
            Err(rejection) => prop_assert!(rejection.status() == 400, "{rejection}"),
        }
    }
}
