//! Tokens: requested once, shared by all threads, renewed shortly before they expire (distribution, "Token
//! Authentication Specification" and "Docker Registry v2 authentication using OAuth2").

use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use ureq::http::Method;
use url::Url;

use super::realm::Realm;
use super::token_answer::TokenAnswer;
use crate::cache::Cache;
use crate::refusal::unanswered;
use crate::request::address::{parameters, query};
use crate::{ErrorResponse, Login, RegistryError};
use bumpwright_gostd::query_escape;
use bumpwright_http::{Client, Deadline, NetError, Request, basic_header};
use bumpwright_secret::Secret;

/// The largest answer of a token server, in bytes.
const LIMIT: usize = 64 << 10;

/// The most scopes for one repository.
const MOST_SCOPES: usize = 8;

/// The number of tokens above which expired ones are dropped.
const KEPT: usize = 512;

/// A request for a token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenRequest<'a> {
    pub(crate) realm: &'a Realm,
    /// `repository:acme/app:pull`
    pub(crate) scope: &'a str,
    pub(crate) login: &'a Login,
    /// The token that the registry has just refused.
    pub(crate) refused: Option<&'a Token>,
    pub(crate) more: &'a [String],
}

/// A token with its scopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: Secret,
    scopes: Vec<String>,
    until: Instant,
    /// The refresh token for the next request, instead of the login.
    refresh: Option<Secret>,
}

impl Token {
    fn is_good(&self, wanted: &TokenRequest<'_>) -> bool {
        self.until > Instant::now()
            && wanted.refused.is_none_or(|refused| refused.text != self.text)
            && wanted.more.iter().all(|scope| self.scopes.contains(scope))
    }
}

/// A hash of realm, service, scope and login: keys hold no secrets.
type Key = [u8; 32];

/// The tokens of this process.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Cache<Key, Token>);

impl Tokens {
    /// Gets a token that is valid for some seconds at least.
    ///
    /// # Errors
    /// When the token server refuses.
    pub(crate) fn get(
        &self,
        client: &Client,
        wanted: &TokenRequest<'_>,
        deadline: Deadline,
    ) -> Result<Token, RegistryError> {
        let late = || {
            RegistryError::Net(NetError::Timeout {
                url: wanted.realm.url.origin().ascii_serialization(),
                limit: deadline.limit(),
            })
        };
        let fetch = |old: Option<Token>| fetch(client, wanted, old, deadline);
        let now = Instant::now();
        self.0.prune(KEPT, |token| token.until > now);
        self.0
            .get(&key(wanted), deadline, |token| token.is_good(wanted), fetch, late)
    }
}

fn key(wanted: &TokenRequest<'_>) -> Key {
    let mut hash = Sha256::new();
    let login = match wanted.login {
        Login::Anonymous => ["anonymous", "", ""],
        Login::Basic { username, password } => ["basic", username, password.expose()],
        Login::IdentityToken(token) => ["identity", "", token.expose()],
        Login::RegistryToken(token) => ["registry", "", token.expose()],
    };
    let place = [wanted.realm.url.as_str(), &wanted.realm.service, wanted.scope];
    for part in place.into_iter().chain(login) {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// The new scopes come first: some servers use only one.
fn scopes(wanted: &TokenRequest<'_>, old: Option<&Token>) -> Vec<String> {
    let mut scopes = old.map_or_else(|| vec![wanted.scope.to_owned()], |token| token.scopes.clone());
    for scope in wanted.more {
        if !scopes.contains(scope) && scopes.len() < MOST_SCOPES {
            scopes.insert(0, scope.clone());
        }
    }
    scopes
}

fn fetch(
    client: &Client,
    wanted: &TokenRequest<'_>,
    old: Option<Token>,
    deadline: Deadline,
) -> Result<Token, RegistryError> {
    let scopes = scopes(wanted, old.as_ref());
    let start = Instant::now();
    let exchange = Exchange {
        client,
        wanted,
        scopes: &scopes,
        deadline,
    };
    // A server that issued a refresh token may refuse the login; one that has forgotten the token may accept it.
    let renewed = old
        .and_then(|token| token.refresh)
        .map(|refresh| exchange.post(&refresh));
    let answer = match (renewed, wanted.login) {
        (Some(Ok(answer)), _) => answer,
        (_, Login::IdentityToken(token)) => match exchange.post(token) {
            // Not all token servers support POST.
            Err(error) if error.status() == Some(404) => exchange.get(None)?,
            other => other?,
        },
        (_, Login::Basic { username, password }) => exchange.get(Some(basic_header(username, password)))?,
        (_, Login::Anonymous | Login::RegistryToken(_)) => exchange.get(None)?,
    };
    Ok(Token {
        until: start.checked_add(answer.useful()).unwrap_or(start),
        text: answer.token,
        refresh: answer.refresh,
        scopes,
    })
}

/// One request to a token server.
struct Exchange<'a> {
    client: &'a Client,
    wanted: &'a TokenRequest<'a>,
    scopes: &'a [String],
    deadline: Deadline,
}

impl Exchange<'_> {
    #[expect(
        clippy::disallowed_methods,
        reason = "an answer of a token server; bound: 64 KiB; account: memory of fetches"
    )]
    fn get(&self, authorization: Option<Secret>) -> Result<TokenAnswer, RegistryError> {
        let realm = self.wanted.realm;
        let mut url: Url = realm.url.clone();
        let mut pairs = parameters(&url);
        pairs.retain(|(name, _)| name != "scope" && name != "service");
        pairs.extend(self.scopes.iter().map(|scope| ("scope".to_owned(), scope.clone())));
        pairs.push(("service".to_owned(), realm.service.clone()));
        url.set_query(query(pairs).as_deref());
        let mut request = Request::get(url).limit(LIMIT).redirected_from(realm.registry.clone());
        let mut secrets = secrets(self.wanted.login);
        if let Some(value) = authorization {
            secrets.extend(value.expose().split(' ').next_back().map(Secret::from));
            request = request.authorization(value);
        }
        self.send(&Method::GET, &request, &secrets)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "an answer of a token server to a refresh token; bound: 64 KiB; account: memory of fetches"
    )]
    fn post(&self, refresh: &Secret) -> Result<TokenAnswer, RegistryError> {
        let escaped = |text: &str| Secret::new(query_escape(text.as_bytes()));
        let realm = self.wanted.realm;
        let mut body = format!(
            "client_id=bumpwright&grant_type=refresh_token&refresh_token={}&scope={}",
            escaped(refresh.expose()).expose(),
            escaped(&self.scopes.join(" ")).expose()
        );
        if !realm.service.is_empty() {
            body = format!("{body}&service={}", escaped(&realm.service).expose());
        }
        let form = "application/x-www-form-urlencoded";
        // A request for a token has no side effects.
        let request = Request::post(realm.url.clone(), form, body).repeatable().limit(LIMIT);
        let request = request.redirected_from(realm.registry.clone());
        self.send(&Method::POST, &request, std::slice::from_ref(refresh))
    }

    fn send(&self, method: &Method, request: &Request, secrets: &[Secret]) -> Result<TokenAnswer, RegistryError> {
        let answer = self.client.send(request, self.deadline);
        let answer = answer.map_err(|error| unanswered(error, request.url(), secrets))?;
        match answer.status.as_u16() {
            200 => TokenAnswer::read(method, answer, secrets),
            _ => Err(ErrorResponse::of(method, &answer, secrets).into()),
        }
    }
}

/// The secrets of a login.
pub(crate) fn secrets(login: &Login) -> Vec<Secret> {
    match login {
        Login::Anonymous => Vec::new(),
        Login::Basic { password: secret, .. } | Login::IdentityToken(secret) | Login::RegistryToken(secret) => {
            vec![secret.clone()]
        }
    }
}

/// How long a token with this lifetime is used: not to its end, so that it does not expire in transit.
pub(crate) fn useful(life: Duration) -> Duration {
    life.saturating_sub((life / 4).min(Duration::from_secs(10)))
}
