//! Who looks: by a token of the cluster, by the headers of a proxy that signs people in, or everybody who can connect.

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

pub use proxy::{ProxyAuth, ProxyAuthError};
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
    /// Not at all: everybody who can connect sees what this process may see.
    None,
}

#[derive(Clone, Debug)]
pub(super) struct Person {
    /// The user of the cluster; none where nobody is asked who it is.
    pub(super) user: Option<User>,
    /// The session of a cookie.
    pub(super) session: Option<[u8; 32]>,
}

impl Person {
    /// The name; empty where everybody may look.
    pub(super) fn name(&self) -> &str {
        self.user.as_ref().map_or("", |user| &user.name)
    }

    /// What counts as one person where something is bounded.
    pub(super) fn party(&self) -> &str {
        party(self.name())
    }
}

/// Those who share one person's part of what is bounded: who can make ServiceAccounts in a namespace can make
/// any number of them.
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

/// The letters of the part of a form's token that differs from page to page.
const SALT: usize = 32;

/// The tokens that forms send back, which nobody else can know.
pub(super) struct Csrf([u8; 32]);

impl Csrf {
    /// None when the system has no random bytes.
    pub(super) fn new() -> Option<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).ok()?;
        Some(Self(key))
    }

    /// A token for a person's forms, bound to the session: another one for each page, since compressed pages tell by
    /// their length what stays the same in them (BREACH).
    pub(super) fn token(&self, person: &Person) -> String {
        let mut salt = [0; SALT / 2];
        // Without random bytes it is still one that nobody else can know.
        let _ = getrandom::fill(&mut salt);
        let salt = hex(&salt);
        let digest = hex(&self.digest(person, &salt));
        format!("{salt}{digest}")
    }

    /// Whether a form came from a page of this person.
    pub(super) fn is_right(&self, person: &Person, token: &str) -> bool {
        let Some((salt, theirs)) = token.split_at_checked(SALT) else {
            return false;
        };
        let ours = hex(&self.digest(person, salt));
        let (ours, theirs) = (Sha256::digest(ours), Sha256::digest(theirs));
        proxy::is_same(&ours.into(), &theirs.into())
    }

    fn digest(&self, person: &Person, salt: &str) -> [u8; 32] {
        let hash = Sha256::new().chain_update(self.0).chain_update(salt);
        let hash = match &person.session {
            Some(session) => hash.chain_update(b"session").chain_update(session),
            None => hash.chain_update(b"person").chain_update(person.name()),
        };
        // With the key on both sides: nothing can be added to what is hashed.
        hash.chain_update(self.0).finalize().into()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn person(name: &str, session: Option<[u8; 32]>) -> Person {
        let user = User {
            name: name.to_owned(),
            ..User::default()
        };
        Person {
            user: Some(user),
            session,
        }
    }

    #[test]
    fn a_form_is_of_one_person_and_session() {
        let Some(csrf) = Csrf::new() else { return };
        let (ann, other) = (person("ann", Some([1; 32])), person("ann", Some([2; 32])));
        let (one, two) = (csrf.token(&ann), csrf.token(&ann));
        assert!(one != two && csrf.is_right(&ann, &one) && csrf.is_right(&ann, &two));
        for wrong in [
            "",
            "0",
            &one[1..],
            &format!("{}0", &one[..one.len() - 1]),
            &one.replace('a', "b"),
        ] {
            assert!(wrong == one || !csrf.is_right(&ann, wrong), "{wrong}");
        }
        assert!(!csrf.is_right(&other, &one) && !csrf.is_right(&person("ann", None), &one));
        let bob = csrf.token(&person("bob", None));
        assert!(csrf.is_right(&person("bob", None), &bob) && !csrf.is_right(&person("ann", None), &bob));
    }
}
