//! From a request to its events: where it goes, how large it is, who sent it, and only then what it says.

use super::proof::{self, Claim};
use super::{Event, Provider, Refusal, Request, Tokens, payload};

/// The largest body, in bytes.
pub const MAX_BODY: usize = 1 << 20;

/// The most changes that one body may tell of.
pub const MAX_EVENTS: usize = 1000;

/// Where all addresses of webhooks begin, as at notification-controller.
pub const PATH_PREFIX: &str = "/hook/";

/// The events of a request.
///
/// # Errors
/// [`Refusal`] when the request is not for a provider, is not proved by one of its tokens, or cannot be read.
pub fn receive(request: &Request<'_>, tokens: &Tokens) -> Result<Vec<Event>, Refusal> {
    let (provider, digest) = route(request.path)?;
    if request.method != "POST" {
        return Err(Refusal::Method);
    }
    if request.body.len() > MAX_BODY {
        return Err(Refusal::Size);
    }
    let claim = Claim::of(provider, request, digest)?;
    proof::check(provider, &claim, request.body, tokens)?;
    let json = request.json()?;
    let events = payload::read(provider, request, &json)?;
    match events.len() {
        0 => Ok(vec![Event::Ignored("nothing that changes a repository".to_owned())]),
        1..=MAX_EVENTS => Ok(events),
        _ => Err(Refusal::Events { provider }),
    }
}

/// The provider in the path, and the digest after it.
fn route(path: &str) -> Result<(Provider, Option<&str>), Refusal> {
    let rest = path.strip_prefix(PATH_PREFIX).ok_or(Refusal::Address)?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (name, digest) = match rest.split_once('/') {
        Some((name, digest)) => (name, Some(digest)),
        None => (rest, None),
    };
    let provider = Provider::named(name).ok_or(Refusal::Address)?;
    Ok((provider, digest))
}
