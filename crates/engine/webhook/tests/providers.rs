//! The events in each provider's bodies.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod sender;

use bumpwright_webhook::Rejection;
use sender::{Sent, fixture, short};

/// Provider, event header, fixture, events.
type Row = (
    &'static str,
    Option<(&'static str, &'static str)>,
    &'static str,
    &'static [&'static str],
);

const fn github(kind: &'static str, fixture: &'static str, events: &'static [&'static str]) -> Row {
    ("github", Some(("X-GitHub-Event", kind)), fixture, events)
}

const fn gitlab(kind: &'static str, fixture: &'static str, events: &'static [&'static str]) -> Row {
    ("gitlab", Some(("X-Gitlab-Event", kind)), fixture, events)
}

const fn gitea(kind: &'static str, fixture: &'static str, events: &'static [&'static str]) -> Row {
    ("gitea", Some(("X-Gitea-Event", kind)), fixture, events)
}

const fn bitbucket(kind: &'static str, fixture: &'static str, events: &'static [&'static str]) -> Row {
    ("bitbucket", Some(("X-Event-Key", kind)), fixture, events)
}

const fn plain(provider: &'static str, fixture: &'static str, events: &'static [&'static str]) -> Row {
    (provider, None, fixture, events)
}

const CLUSTER: &str = "github.com/fleet-org/cluster";

const ROWS: &[Row] = &[
    github("ping", "github-ping", &["ping"]),
    github("push", "github-push", &["push GITHUB refs/heads/main 0d1a26e"]),
    github("push", "github-tag", &["push GITHUB refs/tags/v1.4.0 5b1c4f4"]),
    github("push", "github-branch-deleted", &["push PAIR refs/heads/preview-12 -"]),
    github("create", "github-create-tag", &["push PAIR refs/tags/v1.4.0 -"]),
    github(
        "pull_request",
        "github-pull-request",
        &["push PAIR refs/pull/420/head -", "push PAIR refs/pull/420/merge -"],
    ),
    github("issues", "github-push", &["ignored event issues"]),
    github(
        "registry_package",
        "github-registry-package",
        &["image ghcr.io/fleet-org/app 1.4.0 sha256:feed"],
    ),
    github(
        "package",
        "github-package",
        &["image ghcr.io/fleet-org/tools/app 1.4.0 sha256:feed"],
    ),
    github("package", "github-npm-package", &["ignored package of type npm"]),
    gitlab(
        "Push Hook",
        "gitlab-push",
        &[
            "push gitlab.example.com/group/sub/cluster,gitlab.example.com:2222/group/sub/cluster refs/heads/main da15608",
        ],
    ),
    gitlab("Tag Push Hook", "gitlab-tag", &["push GITLAB refs/tags/v1.4.0 82b3d5a"]),
    gitlab(
        "System Hook",
        "gitlab-system-push",
        &["push GITLAB refs/heads/main da15608"],
    ),
    gitlab(
        "System Hook",
        "gitlab-repository-update",
        &[
            "push GITLAB refs/heads/main da15608",
            "push GITLAB refs/tags/v1.4.0 82b3d5a",
        ],
    ),
    gitlab(
        "Merge Request Hook",
        "gitlab-merge-request",
        &[
            "push GITLAB refs/merge-requests/7/head -",
            "push GITLAB refs/merge-requests/7/merge -",
        ],
    ),
    gitlab("Issue Hook", "gitlab-issue", &["ignored event issue"]),
    gitea("push", "gitea-push", &["push GITEA refs/heads/main bffeb74"]),
    gitea("create", "gitea-create-tag", &["push GITEA refs/tags/v1.4.0 -"]),
    gitea(
        "package",
        "gitea-package",
        &["image git.example.com:3000/fleet/app 1.4.0 -"],
    ),
    bitbucket(
        "repo:push",
        "bitbucket-cloud-push",
        &[
            "push bitbucket.org/fleet_team/cluster refs/heads/main 709d658",
            "push bitbucket.org/fleet_team/cluster refs/tags/v1.4.0 709d658",
            "push bitbucket.org/fleet_team/cluster refs/heads/topic -",
        ],
    ),
    bitbucket(
        "repo:refs_changed",
        "bitbucket-refs-changed",
        &[
            "push bitbucket.example.com:7999/fleet/cluster,bitbucket.example.com/scm/fleet/cluster refs/heads/main 178864a",
        ],
    ),
    bitbucket(
        "repo:refs_changed",
        "bitbucket-refs-changed-without-links",
        &["push */scm/fleet/cluster,*/fleet/cluster refs/heads/main 178864a"],
    ),
    bitbucket("diagnostics:ping", "github-ping", &["ping"]),
    bitbucket("pr:opened", "github-ping", &["ignored event pr:opened"]),
    plain(
        "generic-hmac",
        "generic-push",
        &["push git.example.com/fleet/cluster refs/heads/main bffeb74"],
    ),
    plain(
        "generic-hmac",
        "generic-image",
        &["image ghcr.io/fleet-org/app 1.4.0 -"],
    ),
    plain("dockerhub", "dockerhub", &["image index.docker.io/fleet/app 1.4.0 -"]),
    plain(
        "registry",
        "registry",
        &["image registry.example.com:5000/fleet/app 1.4.0 sha256:2222"],
    ),
    plain("acr", "acr", &["image fleet.azurecr.io/fleet/app 1.4.0 sha256:80f0"]),
    plain("acr", "acr-ping", &["ping"]),
    plain(
        "harbor",
        "harbor",
        &["image harbor.example.com/fleet/app 1.4.0 sha256:8a9e"],
    ),
    plain(
        "harbor",
        "harbor-cloudevent",
        &["image harbor.example.com/fleet/app 1.4.0 sha256:8a9e"],
    ),
    plain("harbor", "harbor-scan", &["ignored event SCANNING_COMPLETED"]),
    plain(
        "quay",
        "quay",
        &["image quay.io/fleet/app 1.4.0 -", "image quay.io/fleet/app latest -"],
    ),
    plain(
        "gcr",
        "gcr",
        &["image europe-docker.pkg.dev/fleet/images/app 1.4.0 sha256:6ec1"],
    ),
    plain(
        "nexus",
        "nexus-component",
        &["image */fleet/app,*/docker-hosted/fleet/app 1.4.0 -"],
    ),
    plain(
        "nexus",
        "nexus-asset",
        &["image */fleet/app,*/docker-hosted/fleet/app 1.4.0 -"],
    ),
];

fn written_out(event: &str) -> String {
    // All spellings of a place that differ only in the transport are displayed alike.
    event
        .replace("GITHUB", &[CLUSTER; 3].join(","))
        .replace("PAIR", &[CLUSTER; 2].join(","))
        .replace("GITLAB", &["gitlab.com/group/sub/cluster"; 2].join(","))
        .replace(
            "GITEA",
            "git.example.com:3000/fleet/cluster,git.example.com:2222/fleet/cluster",
        )
}

#[test]
fn bodies_become_events() {
    for (provider, header, name, events) in ROWS {
        let mut sent = Sent::to(&format!("/hook/{provider}"), fixture(name)).proved();
        if let Some((header, kind)) = header {
            sent = sent.with(header, kind);
        }
        let expected: Vec<String> = events.iter().map(|event| written_out(event)).collect();
        assert_eq!(short(&sent.received().unwrap()), expected, "{provider} {name}");
    }
}

#[test]
fn each_fixture_is_used() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(ROWS.iter().any(|(_, _, used, _)| *used == name), "{name}");
    }
}

#[test]
fn forms_hold_the_same_json() {
    let push = String::from_utf8(fixture("github-push")).unwrap();
    let form: String = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("payload", &push)
        .finish();
    let sent = |body: String| {
        let sent = Sent::to("/hook/github", body).with("X-GitHub-Event", "push").proved();
        sent.with("Content-Type", "application/x-www-form-urlencoded")
    };
    let plain = Sent::to("/hook/github", push.clone())
        .with("X-GitHub-Event", "push")
        .proved();
    assert_eq!(sent(form).received(), plain.received());
    assert_eq!(
        sent(push.clone()).received(),
        plain.received(),
        "what curl sends with -d"
    );
    assert_eq!(sent("data=1".to_owned()).received(), Err(Rejection::MediaType));
    assert_eq!(
        plain.with("Content-Type", "text/plain").received(),
        Err(Rejection::MediaType)
    );
}

/// Gitea signs the JSON, whatever the content type.
#[test]
fn giteas_form_is_signed_inside() {
    let push = String::from_utf8(fixture("gitea-push")).unwrap();
    let sent = |signed: &str, body: &str| {
        Sent::to("/hook/gitea", body)
            .with("X-Gitea-Event", "push")
            .with(
                "X-Gitea-Signature",
                &sender::hmac_sha256(sender::TOKEN, signed.as_bytes()),
            )
            .with("Content-Type", "application/x-www-form-urlencoded")
            .received()
    };
    let form = |payload: &str| -> String {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("payload", payload).finish()
    };
    assert_eq!(short(&sent(&push, &form(&push)).unwrap()).len(), 1);
    let provider = bumpwright_webhook::Provider::Gitea;
    for (signed, body) in [
        (form(&push), form(&push)),
        (push.clone(), form(&push.replace("main", "mine"))),
        (push.clone(), "data=1".to_owned()),
    ] {
        assert_eq!(sent(&signed, &body), Err(Rejection::Proof { provider }), "{body}");
    }
}

#[test]
fn media_types_of_json_are_taken() {
    for media_type in [
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/vnd.docker.distribution.events.v2+json",
        "application/cloudevents+json",
    ] {
        let sent = Sent::to("/hook/registry", fixture("registry"))
            .proved()
            .with("Content-Type", media_type);
        assert!(sent.received().is_ok(), "{media_type}");
    }
    let sent = Sent::to("/hook/registry", fixture("registry"))
        .proved()
        .without("Content-Type");
    assert!(sent.received().is_ok());
}

#[test]
fn forgejo_is_gitea() {
    let sent = Sent::to("/hook/forgejo", fixture("gitea-push")).with("X-Gitea-Event", "push");
    let signature = sender::hmac_sha256(sender::TOKEN, &sent.body);
    let sent = sent.with("X-Forgejo-Signature", &signature);
    assert_eq!(short(&sent.received().unwrap()).len(), 1);
    let of_forgejo = sender::tokens_of(&[("forgejo", sender::TOKEN)]);
    assert!(sent.received_with(&of_forgejo).is_ok());
}

#[test]
fn what_is_missing_is_named() {
    for (provider, header, body, reason) in [
        ("github", ("X-GitHub-Event", "push"), "{}", "the field ref is missing"),
        (
            "github",
            ("X-GitHub-Event", "push"),
            r#"{"ref": "refs/heads/main"}"#,
            "the field repository is missing",
        ),
        (
            "github",
            ("X-Other", "push"),
            "{}",
            "the header with the event's name is missing",
        ),
        (
            "gitlab",
            ("X-Gitlab-Event", "Push Hook"),
            "{}",
            "the field object_kind is missing",
        ),
        (
            "dockerhub",
            ("X-Other", ""),
            "{}",
            "the field repository.repo_name is missing",
        ),
        (
            "generic-hmac",
            ("X-Other", ""),
            "{}",
            "give either \"repository\" or \"image\"",
        ),
        (
            "generic-hmac",
            ("X-Other", ""),
            r#"{"repository": "https://h/o/r", "ref": "main"}"#,
            "\"ref\" must be a full name, such as refs/heads/main",
        ),
        (
            "quay",
            ("X-Other", ""),
            r#"{"docker_url": "#,
            "not valid JSON at line 1, column 15",
        ),
        (
            "quay",
            ("X-Other", ""),
            r#"["quay.io/fleet/app", ["1.4.0"]]"#,
            "it is not a JSON object",
        ),
        (
            "quay",
            ("X-Other", ""),
            r#"{"docker_url": 1}"#,
            "invalid type: integer `1`, expected a string at line 1 column 16",
        ),
    ] {
        let sent = Sent::to(&format!("/hook/{provider}"), body)
            .proved()
            .with(header.0, header.1);
        let rejection = sent.received().unwrap_err();
        assert_eq!(rejection.status(), 400, "{provider} {body}");
        assert_eq!(rejection.answer(), format!("the body is not a valid event: {reason}"));
    }
}

#[test]
fn images_without_a_tag_are_parts_of_others() {
    let notification =
        r#"{"events": [{"action": "push", "target": {"repository": "fleet/app", "digest": "sha256:11"}}]}"#;
    let package = r#"{"action": "created", "package": {"type": "container", "version": "sha256:11"}}"#;
    let sent = Sent::to("/hook/registry", notification).proved();
    assert_eq!(
        short(&sent.received().unwrap()),
        ["ignored nothing that changes a repository"]
    );
    let sent = Sent::to("/hook/gitea", package)
        .with("X-Gitea-Event", "package")
        .proved();
    assert_eq!(short(&sent.received().unwrap()), ["ignored image without a tag"]);
}
