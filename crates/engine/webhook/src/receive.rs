//! From a request to its events: checks path, size and sender before the body is parsed.

use std::borrow::Cow;

use super::bounds::{MAX_BODY, MAX_EVENTS, PATH_PREFIX};
use super::proof::{self, Claim};
use super::{Event, Provider, Rejection, Request, Tokens, payload};

/// The events of a request.
///
/// # Errors
/// [`Rejection`] when the request is not for a provider, is not authenticated by one of its tokens, or does not parse.
pub fn receive(request: &Request<'_>, tokens: &Tokens) -> Result<Vec<Event>, Rejection> {
    let (provider, digest) = route(request.path)?;
    if request.method != "POST" {
        return Err(Rejection::Method);
    }
    if request.body.len() > MAX_BODY {
        return Err(Rejection::Size);
    }
    let claim = Claim::of(provider, request, digest)?;
    proof::check(provider, &claim, &signed(provider, request), tokens)?;
    let json = request.json()?;
    let events = payload::read(provider, request, &json)?;
    match events.len() {
        0 => Ok(vec![Event::Ignored("nothing that changes a repository".to_owned())]),
        1..=MAX_EVENTS => Ok(events),
        _ => Err(Rejection::Events { provider }),
    }
}

/// The bytes that a sender signs: the body, but at Gitea the JSON in it, also when that is a field of a form.
fn signed<'a>(provider: Provider, request: &Request<'a>) -> Cow<'a, [u8]> {
    let json = match provider {
        Provider::Gitea => request.json().ok(),
        _ => None,
    };
    json.unwrap_or(Cow::Borrowed(request.body))
}

/// The provider and the digest in the path.
fn route(path: &str) -> Result<(Provider, Option<&str>), Rejection> {
    let rest = path.strip_prefix(PATH_PREFIX).ok_or(Rejection::Address)?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (name, digest) = match rest.split_once('/') {
        Some((name, digest)) => (name, Some(digest)),
        None => (rest, None),
    };
    let provider = Provider::named(name).ok_or(Rejection::Address)?;
    Ok((provider, digest))
}
