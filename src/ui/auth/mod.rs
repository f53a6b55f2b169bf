//! Who looks: by a token of the cluster, by the headers of a proxy that signs people in, or whoever can connect.

mod proxy;
mod sessions;
mod tokens;

use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE};
use sha2::{Digest as _, Sha256};

use bumpwright_kube::{Cluster, User};
use bumpwright_secret::Secret;
use proxy::Proxy;
use tokens::Tokens;

pub use proxy::ProxyAuth;
pub(super) use sessions::{Cookie, LASTS, Sessions};
pub(super) use tokens::Unknown;

/// The name of the cookie.
pub(super) const COOKIE_NAME: &str = "bumpwright_session";

/// How it is known who looks.
#[derive(Clone, Debug)]
pub enum Auth {
    /// By a token of the cluster: a bearer token, or a cookie got for one.
    Token,
    /// By headers of a proxy.
    Header(ProxyAuth),
    /// Not at all: whoever can connect sees what this process may see.
    None,
}

/// Who looks.
#[derive(Clone, Debug)]
pub(super) struct Person {
    /// The user of the cluster; none where nobody is asked who it is.
    pub(super) user: Option<User>,
    /// The session of a cookie.
    pub(super) session: Option<[u8; 32]>,
}

impl Person {
    /// The name; empty for whoever can connect.
    pub(super) fn name(&self) -> &str {
        self.user.as_ref().map(|user| user.name.as_str()).unwrap_or_default()
    }

    /// What counts as one person where something is bounded.
    pub(super) fn party(&self) -> &str {
        party(self.name())
    }
}

/// Those who share one person's part of what is bounded: whoever can make ServiceAccounts in a namespace can make any number of them.
fn party(name: &str) -> &str {
    match name.strip_prefix("system:serviceaccount:") {
        Some(_) => name.rsplit_once(':').map_or(name, |(namespace, _)| namespace),
        None => name,
    }
}

/// Finds out who looks.
pub(super) enum Gate {
    Token(Box<(Tokens, Sessions)>),
    Header(Proxy),
    Open,
}

impl Gate {
    pub(super) fn new(auth: &Auth, cluster: &Cluster) -> Self {
        match auth {
            Auth::Token => Self::Token(Box::new((Tokens::new(cluster.clone()), Sessions::default()))),
            Auth::Header(settings) => Self::Header(Proxy::new(settings.clone())),
            Auth::None => Self::Open,
        }
    }

    /// Who sent these headers.
    pub(super) async fn person(&self, headers: &HeaderMap) -> Result<Person, Unknown> {
        match self {
            Self::Open => Ok(Person {
                user: None,
                session: None,
            }),
            Self::Header(proxy) => Ok(Person {
                user: Some(proxy.whose(headers)?),
                session: None,
            }),
            Self::Token(both) => {
                let (tokens, sessions) = &**both;
                let (token, session) = match bearer(headers) {
                    Some(token) => (token, None),
                    None => {
                        let cookie = cookie(headers).ok_or(Unknown::Nobody)?;
                        (sessions.token(&cookie).ok_or(Unknown::Nobody)?, Some(cookie.session()))
                    }
                };
                let user = tokens.whose(&token).await;
                if let (Err(Unknown::Refused), Some(session)) = (&user, session) {
                    sessions.end(&session);
                }
                Ok(Person {
                    user: Some(user?),
                    session,
                })
            }
        }
    }

    /// Signs somebody in with a token.
    pub(super) async fn sign_in(&self, token: &Secret) -> Result<Cookie, Unknown> {
        let Self::Token(both) = self else {
            return Err(Unknown::Nobody);
        };
        let (tokens, sessions) = &**both;
        let user = tokens.whose(token).await?;
        sessions.begin(party(&user.name), token).ok_or(Unknown::NotChecked)
    }

    /// Ends the session of a person.
    pub(super) fn sign_out(&self, person: &Person) {
        if let (Self::Token(both), Some(session)) = (self, &person.session) {
            both.1.end(session);
        }
    }
}

/// The tokens that forms send back, which nobody else can know.
pub(super) struct Csrf([u8; 32]);

impl Csrf {
    /// None when the system has no random bytes.
    pub(super) fn new() -> Option<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).ok()?;
        Some(Self(key))
    }

    /// The token of a person's forms, bound to the session.
    pub(super) fn token(&self, person: &Person) -> String {
        let digest = self.digest(person);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether a form came from a page of this person.
    pub(super) fn is_right(&self, person: &Person, token: &str) -> bool {
        let (ours, theirs) = (Sha256::digest(self.token(person)), Sha256::digest(token));
        proxy::is_same(&ours.into(), &theirs.into())
    }

    fn digest(&self, person: &Person) -> [u8; 32] {
        let hash = Sha256::new().chain_update(self.0);
        let hash = match &person.session {
            Some(session) => hash.chain_update(b"session").chain_update(session),
            None => hash.chain_update(b"person").chain_update(person.name()),
        };
        // With the key on both sides: nothing can be added to what is hashed.
        hash.chain_update(self.0).finalize().into()
    }
}

/// `Authorization: Bearer TOKEN`
fn bearer(headers: &HeaderMap) -> Option<Secret> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Secret::new(token.trim()))
}

fn cookie(headers: &HeaderMap) -> Option<Cookie> {
    let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs.find_map(|(name, value)| Cookie::read(value).filter(|_| name == COOKIE_NAME))
}
