//! Registries: challenges, tokens, lists of tags, manifests, configurations; and logins in Secrets.

use std::sync::OnceLock;
use std::time::Duration;

use bumpwright_http::{Deadline, Peer, RetryPolicy};
use bumpwright_policy::{Reference, Validation};
use bumpwright_registry::{DockerConfig, Keychain, Login, PullSecret, Registry};
use bumpwright_secret::Secret;

use super::stub::{Stub, response};

/// What a registry sends, one part after the other and then from the first again: each is a whole response, or a body.
pub fn answer(input: &[u8]) {
    static STUB: OnceLock<Stub> = OnceLock::new();
    let stub = STUB.get_or_init(Stub::start);
    let parts: Vec<Vec<u8>> = super::parts(input).into_iter().map(response).collect();
    let peer = Peer {
        environment: false,
        timeout: Duration::from_secs(3),
        ..Peer::default()
    };
    let once = RetryPolicy {
        tries: 1,
        first: Duration::ZERO,
        most: Duration::ZERO,
    };
    let deadline = || Deadline::after(Duration::from_secs(5));
    let image = Reference::parse(&format!("{}/o/app:1", stub.address), Validation::Weak).expect("it is a reference");
    let login = Login::Basic {
        username: "u".to_owned(),
        password: Secret::new("p"),
    };
    for what in 0..4 {
        let (parts, mut next) = (parts.clone(), 0);
        stub.answers(move |_| {
            next += 1;
            parts[(next - 1) % parts.len()].clone()
        });
        let registry = Registry::with_patience(peer.clone(), true, once);
        match what {
            0 => drop(registry.tags(&image, &login, deadline())),
            1 => drop(registry.image(&image, &Login::Anonymous, deadline())),
            2 => drop(registry.created(&image, &login, deadline())),
            _ => drop(registry.referrers(
                &image,
                "sha256:3d7196610ee3788c1a118094c74db2dcb0a17db0401f9d0698e726dc355cb86f",
                &Login::Anonymous,
                deadline(),
            )),
        }
    }
}

/// A docker configuration, and an image.
pub fn login(input: &[u8]) {
    let (text, image) = super::halves(input);
    let image = std::str::from_utf8(image)
        .ok()
        .and_then(|image| Reference::parse(image, Validation::Weak).ok());
    let image =
        image.unwrap_or_else(|| Reference::parse("ghcr.io/o/app", Validation::Weak).expect("it is a reference"));
    let secrets = [
        PullSecret {
            name: "a/b",
            kind: "kubernetes.io/dockerconfigjson",
            config_json: Some(text),
            dockercfg: None,
        },
        PullSecret {
            name: "a/c",
            kind: "kubernetes.io/dockercfg",
            config_json: None,
            dockercfg: Some(text),
        },
    ];
    for secrets in [&secrets[..1], &secrets[1..], &secrets[..]] {
        if let Ok(keychain) = Keychain::from_secrets(secrets) {
            drop(keychain.login(&image));
            let _ = keychain.unused().iter().map(ToString::to_string).collect::<Vec<_>>();
        }
    }
    if let Ok(config) = DockerConfig::read(text) {
        let _ = config.login(&image, |_, _| Ok::<_, ()>(None));
        let _ = config.with_environment(text);
    }
}
