//! Bodies of the providers, a file for each family. Only the necessary fields are read, all of them optional: senders
//! omit unknown ones or write `null`.

mod bitbucket;
mod distribution;
mod gitea;
mod github;
mod gitlab;
mod harbor;
mod hosted;
mod nexus;
mod signed_document;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};

use super::event::shown;
use super::{Event, Provider, Rejection, Request};

/// A text that is compared and shown: null is an empty one, like a missing one.
fn null_as_empty<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    Option::deserialize(text).map(Option::unwrap_or_default)
}

/// The events of an authenticated body.
pub(crate) fn read(provider: Provider, request: &Request<'_>, json: &[u8]) -> Result<Vec<Event>, Rejection> {
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

/// A body and its provider.
struct Body<'a> {
    provider: Provider,
    json: &'a [u8],
}

impl Body<'_> {
    /// Parses JSON. Its depth is bounded by the parser, its size by the body's; unknown fields are not kept.
    fn parse<T: DeserializeOwned>(&self) -> Result<T, Rejection> {
        self.parse_part(self.json)
    }

    fn parse_part<T: DeserializeOwned>(&self, json: &[u8]) -> Result<T, Rejection> {
        // serde reads lists as structs without names.
        if !json.trim_ascii_start().starts_with(b"{") {
            return Err(self.invalid("it is not a JSON object"));
        }
        serde_json::from_slice(json).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => self.invalid(&error.to_string()),
            _ => self.invalid(&format!(
                "not valid JSON at line {}, column {}",
                error.line(),
                error.column()
            )),
        })
    }

    fn invalid(&self, reason: &str) -> Rejection {
        let provider = self.provider;
        let reason = shown(reason, 120);
        Rejection::Payload { provider, reason }
    }

    fn lacks(&self, field: &str) -> Rejection {
        self.invalid(&format!("the field {field} is missing"))
    }
}

fn ignored(what: impl std::fmt::Display) -> Vec<Event> {
    vec![Event::Ignored(shown(&what.to_string(), 60))]
}
