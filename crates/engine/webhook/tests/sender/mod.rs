//! A sender: requests like those of the providers, with the bodies in `fixtures/`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    dead_code
)]

use std::path::Path;

use bumpwright_webhook::{Event, Provider, Rejection, Request, Tokens, receive};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub const NAMESPACE: &str = "flux-system";
pub const SECRET: &str = "bumpwright-webhook";
pub const TOKEN: &str = "s3cr3t-token";

/// A request that owns its parts.
#[derive(Clone, Debug)]
pub struct Sent {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Sent {
    /// A post of JSON without any proof.
    pub fn to(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            method: "POST".to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: body.into(),
        }
        .with("Content-Type", "application/json")
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Adds the provider's proof for `TOKEN`.
    pub fn proved(self) -> Self {
        let provider = self.path.split('/').nth(2).unwrap().to_owned();
        let signature = hmac_sha256(TOKEN, &self.body);
        match provider.as_str() {
            "github" => self.with("X-Hub-Signature-256", &format!("sha256={signature}")),
            "gitlab" => self.with("X-Gitlab-Token", TOKEN),
            "gitea" | "forgejo" => self.with("X-Gitea-Signature", &signature),
            "bitbucket" => self.with("X-Hub-Signature", &format!("sha256={signature}")),
            "generic-hmac" => self.with("X-Signature", &format!("sha256={signature}")),
            "nexus" => {
                let mut mac = Hmac::<sha1::Sha1>::new_from_slice(TOKEN.as_bytes()).unwrap();
                mac.update(&self.body);
                let digits = hex(&mac.finalize().into_bytes());
                self.with("X-Nexus-Webhook-Signature", &digits)
            }
            _ => self.with("Authorization", &format!("Bearer {TOKEN}")),
        }
    }

    pub fn received(&self) -> Result<Vec<Event>, Rejection> {
        self.received_with(&tokens())
    }

    pub fn received_with(&self, tokens: &Tokens) -> Result<Vec<Event>, Rejection> {
        let headers: Vec<(&str, &str)> = self.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let request = Request {
            method: &self.method,
            path: &self.path,
            headers: &headers,
            body: &self.body,
        };
        receive(&request, tokens)
    }
}

/// `TOKEN` for each provider.
pub fn tokens() -> Tokens {
    let providers = [
        "github",
        "gitlab",
        "gitea",
        "bitbucket",
        "generic-hmac",
        "dockerhub",
        "registry",
        "harbor",
        "quay",
        "gcr",
        "acr",
        "nexus",
    ];
    tokens_of(&providers.map(|provider| (provider, TOKEN)))
}

pub fn tokens_of(entries: &[(&str, &str)]) -> Tokens {
    let data = entries.iter().map(|(entry, token)| (*entry, token.as_bytes()));
    let (tokens, invalid) = Tokens::read(NAMESPACE, SECRET, data);
    assert_eq!(invalid, []);
    tokens
}

pub fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
        .with_extension("json");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn hmac_sha256(key: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(body);
    hex(&mac.finalize().into_bytes())
}

pub fn digest_path(provider: Provider) -> String {
    tokens().paths(provider).next().unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Events as short texts: addresses, reference and the start of the commit; names, tag and the start of the digest.
pub fn short(events: &[Event]) -> Vec<String> {
    let start = |id: &Option<String>, length| id.as_deref().map_or("-".to_owned(), |id| id[..length].to_owned());
    let text = |event: &Event| match event {
        Event::Push(push) => {
            let addresses: Vec<String> = push.addresses.iter().map(ToString::to_string).collect();
            let reference = push.reference.as_deref().unwrap_or("-");
            format!("push {} {reference} {}", addresses.join(","), start(&push.commit, 7))
        }
        Event::Image(image) => {
            let names: Vec<String> = image.names.iter().map(ToString::to_string).collect();
            let tag = image.tag.as_deref().unwrap_or("-");
            format!("image {} {tag} {}", names.join(","), start(&image.digest, 11))
        }
        Event::Ping => "ping".to_owned(),
        Event::Ignored(what) => format!("ignored {what}"),
    };
    events.iter().map(text).collect()
}
