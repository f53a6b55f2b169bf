//! The bodies of the providers. Each file knows one family, reads only the fields that are needed, and takes all of them
//! as optional: senders leave out what they do not know, or write `null`.

mod bitbucket;
mod distribution;
mod gitea;
mod github;
mod gitlab;
mod harbor;
mod hosted;
mod nexus;
mod signed_document;

use serde::de::DeserializeOwned;

use super::event::shown;
use super::{Event, Provider, Refusal, Request};

/// The events in a body that is proved.
pub(crate) fn read(provider: Provider, request: &Request<'_>, json: &[u8]) -> Result<Vec<Event>, Refusal> {
    let body = Body { provider, json };
    let kind = |header| request.header(header).map(Option::unwrap_or_default);
    match provider {
        Provider::GitHub => github::read(&body, kind("X-GitHub-Event")?),
        Provider::GitLab => gitlab::read(&body),
        Provider::Gitea => gitea::read(&body, kind("X-Gitea-Event")?),
        Provider::Bitbucket => bitbucket::read(&body, kind("X-Event-Key")?),
        Provider::GenericHmac => signed_document::read(&body),
        Provider::DockerHub => hosted::dockerhub(&body),
        Provider::Quay => hosted::quay(&body),
        Provider::Gcr => hosted::gcr(&body),
        Provider::Registry => distribution::registry(&body),
        Provider::Acr => distribution::acr(&body),
        Provider::Harbor => harbor::read(&body),
        Provider::Nexus => nexus::read(&body),
    }
}

/// A body, and whose it is.
struct Body<'a> {
    provider: Provider,
    json: &'a [u8],
}

impl Body<'_> {
    /// Reads JSON. Its depth is bounded by the parser, its size by the body's; what is not asked for is not kept.
    fn parse<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        self.parse_part(self.json)
    }

    fn parse_part<T: DeserializeOwned>(&self, json: &[u8]) -> Result<T, Refusal> {
        // Lists would be taken for objects without names.
        if !json.trim_ascii_start().starts_with(b"{") {
            return Err(self.invalid("it is no JSON object"));
        }
        serde_json::from_slice(json).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => self.invalid(&error.to_string()),
            _ => self.invalid(&format!("no JSON at line {}, column {}", error.line(), error.column())),
        })
    }

    fn invalid(&self, reason: &str) -> Refusal {
        let provider = self.provider;
        let reason = shown(reason, 120);
        Refusal::Payload { provider, reason }
    }

    fn lacks(&self, field: &str) -> Refusal {
        self.invalid(&format!("the field {field} is missing"))
    }
}

fn ignored(what: impl std::fmt::Display) -> Vec<Event> {
    vec![Event::Ignored(shown(&what.to_string(), 60))]
}
