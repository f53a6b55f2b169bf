//! A token server for the challenges of registries (distribution, *Token Authentication Specification* and
//! *Oauth2 Token Authentication*). The real registry trusts its key.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};

use crate::program::reply::Reply;
use crate::server::http_server::Request;
use crate::server::stub_http::StubHttp;

const SERVICE: &str = "registry.test";
const ISSUER: &str = "token-server.test";
const KEY_ID: &str = "test-key";

/// The field of the answer with the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Token,
    AccessToken,
    Both,
}

/// The rules for tokens, which can be changed while the server runs.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Passwords by user name.
    pub users: BTreeMap<String, String>,
    /// User names by refresh token, which docker calls identity token.
    pub refresh_tokens: BTreeMap<String, String>,
    /// Public repositories; users may pull from all.
    pub public: Vec<String>,
    /// The announced lifetime of a token, in seconds. Clients assume 60 without one.
    pub expires_in: Option<u64>,
    /// The lifetime of a token, in seconds. The registry adds a minute.
    pub lifetime: i64,
    pub field: Field,
    /// Answered instead of a token.
    pub fault: Option<Reply>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            users: BTreeMap::new(),
            refresh_tokens: BTreeMap::new(),
            public: Vec::new(),
            expires_in: None,
            lifetime: 300,
            field: Field::Token,
            fault: None,
        }
    }
}

impl Rules {
    /// One user may pull; nothing is public.
    pub fn user(user: &str, password: &str) -> Self {
        Self {
            users: BTreeMap::from([(user.to_owned(), password.to_owned())]),
            ..Self::default()
        }
    }

    /// These repositories are public.
    pub fn public(repositories: &[&str]) -> Self {
        Self {
            public: repositories.iter().map(|name| (*name).to_owned()).collect(),
            ..Self::default()
        }
    }
}

/// A running server; it ends when it is dropped. Its requests are those of [`StubHttp`].
pub struct TokenServer {
    http: StubHttp,
    office: Arc<TokenIssuer>,
}

impl TokenServer {
    pub fn start(rules: Rules) -> Self {
        Self::with(None, rules)
    }

    /// With TLS.
    pub fn with(tls: Option<Arc<rustls::ServerConfig>>, rules: Rules) -> Self {
        let office = Arc::new(TokenIssuer {
            key: signing_key(),
            rules: Mutex::new(rules),
        });
        let asked = Arc::clone(&office);
        let http = StubHttp::with(tls, move |request| asked.answer(request));
        Self { http, office }
    }

    /// Changes the rules.
    pub fn change(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.office.rules.lock());
    }

    /// The address for a challenge.
    pub fn realm(&self) -> String {
        self.http.url("token")
    }

    pub fn service(&self) -> &'static str {
        SERVICE
    }

    pub fn issuer(&self) -> &'static str {
        ISSUER
    }

    /// The public key in the format of a registry's `auth.token.jwks`.
    pub fn jwks(&self) -> Json {
        let point = self.office.key.verifying_key().to_sec1_point(false);
        let part = |range| URL_SAFE_NO_PAD.encode(&point.as_bytes()[range]);
        json!({"keys": [{
            "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": KEY_ID, "x": part(1..33), "y": part(33..65),
        }]})
    }
}

impl Deref for TokenServer {
    type Target = StubHttp;

    fn deref(&self) -> &StubHttp {
        &self.http
    }
}

/// The claimed identity of a client.
enum Claimant {
    Nobody,
    User(String),
    Impostor,
}

struct TokenIssuer {
    key: SigningKey,
    rules: Mutex<Rules>,
}

impl TokenIssuer {
    fn answer(&self, request: &Request) -> Reply {
        let rules = self.rules.lock();
        if let Some(fault) = &rules.fault {
            return fault.clone();
        }
        let (services, scopes, claimant) = match request.method.as_str() {
            "GET" => (
                request.parameters("service"),
                request.parameters("scope"),
                by_password(&rules, request.login()),
            ),
            "POST" => (
                request.fields("service"),
                request.fields("scope"),
                by_grant(&rules, request),
            ),
            _ => return Reply::status(405),
        };
        if request.path != "/token" || services != [SERVICE] {
            return Reply::registry_error(400, "UNKNOWN", "no such service");
        }
        let user = match claimant {
            Claimant::Nobody => None,
            Claimant::User(user) => Some(user),
            Claimant::Impostor => return Reply::registry_error(401, "UNAUTHORIZED", "authentication required"),
        };
        let access = granted(&rules, user.as_deref(), &scopes);
        let token = self.token(&rules, user.as_deref(), &access);
        Reply::json(&said(&rules, &token, request.method == "POST"))
    }

    /// A JSON Web Token (RFC 7519), signed as ES256 (RFC 7518, 3.4).
    fn token(&self, rules: &Rules, user: Option<&str>, access: &[Json]) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let now = i64::try_from(now).unwrap();
        let header = json!({"typ": "JWT", "alg": "ES256", "kid": KEY_ID});
        let claims = json!({
            "iss": ISSUER, "sub": user.unwrap_or_default(), "aud": SERVICE, "access": access,
            "iat": now, "nbf": now - 10, "exp": now + rules.lifetime,
        });
        let encode = |json: &Json| URL_SAFE_NO_PAD.encode(json.to_string());
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let signature: Signature = self.key.sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
    }
}

fn by_password(rules: &Rules, login: Option<(String, String)>) -> Claimant {
    match login {
        None => Claimant::Nobody,
        Some((user, password)) if rules.users.get(&user) == Some(&password) => Claimant::User(user),
        Some(_) => Claimant::Impostor,
    }
}

fn by_grant(rules: &Rules, request: &Request) -> Claimant {
    let field = |name: &str| request.fields(name).into_iter().next().unwrap_or_default();
    match field("grant_type").as_str() {
        "password" => by_password(rules, Some((field("username"), field("password")))),
        "refresh_token" => match rules.refresh_tokens.get(&field("refresh_token")) {
            Some(user) => Claimant::User(user.clone()),
            None => Claimant::Impostor,
        },
        _ => Claimant::Impostor,
    }
}

/// The allowed ones of the requested scopes, such as `repository:team/app:pull,push`. Fewer than requested is not an
/// error: the registry refuses the rest.
fn granted(rules: &Rules, user: Option<&str>, scopes: &[String]) -> Vec<Json> {
    let mut access = Vec::new();
    for scope in scopes.iter().flat_map(|scopes| scopes.split(' ')) {
        let mut parts = scope.splitn(2, ':');
        let (Some("repository"), Some(rest)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (name, actions) = rest.rsplit_once(':').unwrap_or((rest, ""));
        if user.is_some() || rules.public.iter().any(|public| public == name) {
            let actions: Vec<&str> = actions.split(',').filter(|action| *action == "pull").collect();
            access.push(json!({"type": "repository", "name": name, "actions": actions}));
        }
    }
    access
}

fn said(rules: &Rules, token: &str, oauth: bool) -> Json {
    let mut said = json!({});
    // OAuth has no other field.
    if rules.field != Field::AccessToken && !oauth {
        said["token"] = json!(token);
    }
    if rules.field != Field::Token || oauth {
        said["access_token"] = json!(token);
    }
    if let Some(seconds) = rules.expires_in {
        said["expires_in"] = json!(seconds);
    }
    said
}

fn signing_key() -> SigningKey {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).unwrap();
    // Nearly all numbers of 32 bytes are keys, and all below the curve's order; clearing this bit ensures that.
    bytes[0] &= 0x7f;
    SigningKey::from_slice(&bytes).unwrap()
}
