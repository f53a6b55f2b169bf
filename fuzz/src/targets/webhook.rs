//! Webhooks: whatever a sender signs.

use std::fmt::Write as _;

use bumpwright_webhook::{GitReference, Object, OciReference, Provider, Request, Target, Tokens, receive, select};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::Sha256;

const PROVIDERS: [Provider; 12] = [
    Provider::GitHub,
    Provider::GitLab,
    Provider::Gitea,
    Provider::Bitbucket,
    Provider::GenericHmac,
    Provider::DockerHub,
    Provider::Registry,
    Provider::Harbor,
    Provider::Quay,
    Provider::Gcr,
    Provider::Acr,
    Provider::Nexus,
];

fn hex<M: Mac + KeyInit>(body: &[u8]) -> String {
    let mut mac = <M as KeyInit>::new_from_slice(b"token").expect("any key fits");
    mac.update(body);
    mac.finalize()
        .into_bytes()
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// A line with the kind of the event, and a body: to all senders' addresses, with a good proof.
pub fn check(input: &[u8]) {
    let (kind, body) = super::halves(input);
    let Ok(kind) = std::str::from_utf8(kind) else { return };
    let (event, media) = kind.split_once('\n').unwrap_or((kind, "application/json"));
    let (sha1, sha256) = (hex::<Hmac<Sha1>>(body), hex::<Hmac<Sha256>>(body));
    let prefixed = format!("sha256={sha256}");
    let headers = [
        ("Content-Type", media),
        ("X-GitHub-Event", event),
        ("X-Gitea-Event", event),
        ("X-Gitlab-Event", event),
        ("X-Event-Key", event),
        ("X-Hub-Signature-256", &prefixed),
        ("X-Hub-Signature", &prefixed),
        ("X-Signature", &prefixed),
        ("X-Gitea-Signature", &sha256),
        ("X-Nexus-Webhook-Signature", &sha1),
        ("X-Gitlab-Token", "token"),
        ("Authorization", "Bearer token"),
    ];
    let secret: Vec<(&str, &[u8])> = PROVIDERS
        .iter()
        .map(|provider| (provider.name(), &b"token"[..]))
        .collect();
    let (tokens, invalid) = Tokens::read("flux", "hooks", secret);
    assert!(invalid.is_empty());
    let objects = [
        Object {
            namespace: "a",
            name: "git",
            suspended: false,
            target: Target::Git(
                "https://github.com/o/app.git",
                GitReference {
                    branch: Some("main"),
                    ..GitReference::default()
                },
            ),
        },
        Object {
            namespace: "a",
            name: "oci",
            suspended: false,
            target: Target::Oci("oci://ghcr.io/o/app", OciReference::default()),
        },
        Object {
            namespace: "a",
            name: "image",
            suspended: false,
            target: Target::Image("docker.io/o/app"),
        },
    ];
    for provider in PROVIDERS {
        let path = format!("/hook/{}", provider.name());
        let request = Request {
            method: "POST",
            path: &path,
            headers: &headers,
            body,
        };
        match receive(&request, &tokens) {
            Ok(events) => drop(select(&events, &objects)),
            Err(rejection) => {
                let status = rejection.status();
                assert!((400..500).contains(&status), "{rejection:?}");
                // Gitea signs what is in a form, not the form.
                assert!(status != 401 || media != "application/json", "{rejection:?}");
                drop(rejection.answer());
            }
        }
    }
    let request = Request {
        method: "POST",
        path: event,
        headers: &headers[..2],
        body,
    };
    assert!(receive(&request, &tokens).is_err());
}
