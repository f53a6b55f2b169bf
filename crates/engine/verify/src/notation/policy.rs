//! Trust policies of Notation (specification 1.0), with the messages of notation-go v1.3.2.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::names::{Name, NameError};
use thiserror::Error;

const WILDCARD: &str = "*";
const SUBJECT: &str = "x509.subject:";
/// Greatest number of statements.
const MAX_STATEMENTS: usize = 256;

/// Why a trust policy is not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// It is not JSON of this form; serde's text.
    #[error("error occurred while parsing trustpolicy.json: {0}")]
    Json(String),
    /// It has no version.
    #[error("trust policy document has empty version, version must be specified")]
    NoVersion,
    /// It has another version.
    #[error("trust policy document uses unsupported version {0:?}")]
    Version(String),
    /// It has no statement.
    #[error("trust policy document can not have zero trust policy statements")]
    NoStatement,
    /// It has too many statements.
    #[error("trust policy document has {0} statements; {MAX_STATEMENTS} at most are read")]
    TooMany(usize),
    /// Two statements have a name.
    #[error("multiple trust policy statements use the same name {0:?}, statement names must be unique")]
    SameName(String),
    /// A statement is not valid.
    #[error("trust policy: {0}")]
    Statement(#[from] StatementError),
    /// A statement is for no repository.
    #[error(
        "trust policy statement {0:?} has zero registry scopes, it must specify registry scopes with at least one value"
    )]
    NoScope(String),
    /// A statement is for all repositories and for some.
    #[error(
        "trust policy statement {0:?} uses wildcard registry scope '*', a wildcard scope cannot be used in conjunction \
         with other scope values"
    )]
    Wildcard(String),
    /// Two statements are for a repository.
    #[error(
        "registry scope {0:?} is present in multiple trust policy statements, one registry scope value can only be \
         associated with one statement"
    )]
    SameScope(String),
}

/// Why a statement is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StatementError {
    /// It has no name.
    #[error("a trust policy statement is missing a name, every statement requires a name")]
    NoName,
    /// It does not say what is verified.
    #[error("trust policy statement {name:?} has invalid signatureVerification: {problem}")]
    Verification {
        name: String,
        #[source]
        problem: VerificationError,
    },
    /// It does not say who is trusted.
    #[error(
        "trust policy statement {0:?} is either missing trust stores or trusted identities, both must be specified"
    )]
    NoTrust(String),
    /// A store has no type.
    #[error(
        "trust policy statement {name:?} has malformed trust store value {store:?}. The required format is \
         <TrustStoreType>:<TrustStoreName>"
    )]
    Store {
        name: String,
        /// As it is written.
        store: String,
    },
    /// A store has a type that does not exist.
    #[error(
        "trust policy statement {name:?} uses an unsupported trust store type {kind:?} in trust store value {store:?}"
    )]
    StoreType {
        name: String,
        kind: String,
        /// As it is written.
        store: String,
    },
    /// It trusts everybody and some.
    #[error(
        "trust policy statement {0:?} uses a wildcard trusted identity '*', a wildcard identity cannot be used in \
         conjunction with other values"
    )]
    Wildcard(String),
    /// The name of an identity is not valid.
    #[error("trust policy statement {name:?} has trusted identity {identity:?} with invalid identity value: {problem}")]
    Identity {
        name: String,
        /// As it is written.
        identity: String,
        #[source]
        problem: NameError,
    },
    /// An identity has no kind.
    #[error("trust policy statement {name:?} has trusted identity {identity:?} missing separator")]
    NoSeparator {
        name: String,
        /// As it is written.
        identity: String,
    },
}

/// Why what a statement says of verification is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VerificationError {
    /// It has no level.
    #[error("signature verification level is empty or missing in the trust policy statement")]
    NoLevel,
    /// Its level does not exist.
    #[error("invalid signature verification level {0:?}")]
    Level(String),
    /// Nothing is verified, and yet some of it is.
    #[error("signature verification level \"skip\" can't be used to customize signature verification")]
    Skip,
    /// Integrity is always verified.
    #[error("\"integrity\" verification can not be overridden in custom signature verification")]
    Integrity,
    /// The check does not exist.
    #[error("verification type {0:?} in custom signature verification is not supported")]
    Check(String),
    /// A check cannot be left out.
    #[error("{0:?} verification can not be skipped in custom signature verification")]
    Skipped(String),
    /// There is nothing else to do about a check.
    #[error("verification action {0:?} in custom signature verification is not supported")]
    Action(String),
    /// Timestamps count at another time.
    #[error("verifyTimestamp must be \"always\" or \"afterCertExpiry\", but got {0:?}")]
    Timestamp(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    #[serde(default)]
    version: String,
    #[serde(default)]
    trust_policies: Vec<StatementJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatementJson {
    #[serde(default)]
    name: String,
    #[serde(default)]
    registry_scopes: Vec<String>,
    #[serde(default)]
    signature_verification: VerificationJson,
    #[serde(default)]
    trust_stores: Vec<String>,
    #[serde(default)]
    trusted_identities: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerificationJson {
    #[serde(default)]
    level: String,
    #[serde(default, rename = "override")]
    overrides: BTreeMap<String, String>,
    #[serde(default)]
    verify_timestamp: String,
}

/// What is checked, in the order of its place in [`Level`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    Authenticity,
    Timestamp,
    Expiry,
    Revocation,
}

const CHECKS: [(&str, Check); 4] = [
    ("authenticity", Check::Authenticity),
    ("authenticTimestamp", Check::Timestamp),
    ("expiry", Check::Expiry),
    ("revocation", Check::Revocation),
];

/// What is enforced; a failure of anything else is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level([bool; 4]);

impl Level {
    pub(super) fn enforces(self, check: Check) -> bool {
        let of = |at: usize| self.0.get(at).copied().unwrap_or(true);
        match check {
            Check::Authenticity => of(0),
            Check::Timestamp => of(1),
            Check::Expiry => of(2),
            Check::Revocation => of(3),
        }
    }
}

/// Who is trusted for some repositories.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) name: String,
    scopes: Vec<String>,
    /// `None` skips all verification.
    pub(super) level: Option<Level>,
    /// Whether timestamps count only once a certificate has expired.
    pub(super) only_after_expiry: bool,
    /// The kinds of stores that are named: certificates of different stores are not distinguished, as in Flux.
    pub(super) stores: Vec<String>,
    /// `None` trusts every owner of a certificate.
    pub(super) identities: Option<Vec<Name>>,
}

#[derive(Clone, Debug)]
pub(super) struct Policy(Vec<Statement>);

impl Policy {
    pub(super) fn read(text: &[u8]) -> Result<Self, PolicyError> {
        let json: Json = serde_json::from_slice(text).map_err(|error| PolicyError::Json(error.to_string()))?;
        match json.version.as_str() {
            "" => return Err(PolicyError::NoVersion),
            "1.0" => {}
            other => return Err(PolicyError::Version(other.to_owned())),
        }
        match json.trust_policies.len() {
            0 => return Err(PolicyError::NoStatement),
            1..=MAX_STATEMENTS => {}
            more => return Err(PolicyError::TooMany(more)),
        }
        let mut statements: Vec<Statement> = Vec::new();
        for statement in json.trust_policies {
            if statements.iter().any(|known| known.name == statement.name) {
                return Err(PolicyError::SameName(statement.name));
            }
            statements.push(statement.read()?);
        }
        check_scopes(&statements)?;
        Ok(Self(statements))
    }

    /// The statement for a repository (`HOST/NAME`): one that names it, or else the one for all.
    pub(super) fn of(&self, repository: &str) -> Option<&Statement> {
        let named = |scope: &str| {
            self.0
                .iter()
                .find(|statement| statement.scopes.iter().any(|known| known == scope))
        };
        named(repository).or_else(|| named(WILDCARD))
    }
}

fn check_scopes(statements: &[Statement]) -> Result<(), PolicyError> {
    let mut seen: Vec<&str> = Vec::new();
    for Statement { name, scopes, .. } in statements {
        if scopes.is_empty() {
            return Err(PolicyError::NoScope(name.clone()));
        }
        if scopes.len() > 1 && scopes.iter().any(|scope| scope == WILDCARD) {
            return Err(PolicyError::Wildcard(name.clone()));
        }
        for scope in scopes {
            if seen.contains(&scope.as_str()) {
                return Err(PolicyError::SameScope(scope.clone()));
            }
            seen.push(scope);
        }
    }
    Ok(())
}

impl StatementJson {
    fn read(self) -> Result<Statement, StatementError> {
        let Self {
            name,
            trust_stores,
            trusted_identities,
            ..
        } = &self;
        if name.is_empty() {
            return Err(StatementError::NoName);
        }
        let wrong = |problem: VerificationError| StatementError::Verification {
            name: name.clone(),
            problem,
        };
        let level = self.signature_verification.level().map_err(wrong)?;
        let only_after_expiry = match self.signature_verification.verify_timestamp.as_str() {
            "" | "always" => false,
            "afterCertExpiry" => true,
            other => {
                return Err(wrong(VerificationError::Timestamp(other.to_owned())));
            }
        };
        // Flux drops stores and identities of statements that skip.
        if level.is_some() && (trust_stores.is_empty() || trusted_identities.is_empty()) {
            return Err(StatementError::NoTrust(name.clone()));
        }
        let stores = trust_stores
            .iter()
            .map(|store| kind_of_store(name, store))
            .collect::<Result<_, _>>()?;
        let identities = identities(name, trusted_identities)?;
        Ok(Statement {
            level,
            only_after_expiry,
            stores,
            identities,
            scopes: self.registry_scopes,
            name: self.name,
        })
    }
}

fn kind_of_store(name: &str, store: &str) -> Result<String, StatementError> {
    let (name, store) = (name.to_owned(), store.to_owned());
    match store.split_once(':').map(|(kind, _)| kind.to_owned()) {
        Some(kind) if matches!(&*kind, "ca" | "signingAuthority" | "tsa") => Ok(kind),
        Some(kind) => Err(StatementError::StoreType { name, kind, store }),
        None => Err(StatementError::Store { name, store }),
    }
}

fn identities(name: &str, list: &[String]) -> Result<Option<Vec<Name>>, StatementError> {
    if list.iter().any(|identity| identity == WILDCARD) {
        return match list.len() {
            1 => Ok(None),
            _ => Err(StatementError::Wildcard(name.to_owned())),
        };
    }
    let mut names: Vec<Name> = Vec::new();
    for identity in list {
        // Other kinds are for plugins.
        if let Some(subject) = identity.strip_prefix(SUBJECT) {
            let wrong = |problem| StatementError::Identity {
                name: name.to_owned(),
                identity: identity.clone(),
                problem,
            };
            names.push(Name::read(subject).map_err(wrong)?);
        } else if !identity.contains(':') {
            return Err(StatementError::NoSeparator {
                name: name.to_owned(),
                identity: identity.clone(),
            });
        }
    }
    Ok(Some(names))
}

impl VerificationJson {
    fn level(&self) -> Result<Option<Level>, VerificationError> {
        let mut level = match self.level.as_str() {
            "strict" => Level([true; 4]),
            "permissive" => Level([true, false, false, false]),
            "audit" => Level([false; 4]),
            "skip" if self.overrides.is_empty() => return Ok(None),
            "skip" => return Err(VerificationError::Skip),
            "" => return Err(VerificationError::NoLevel),
            other => return Err(VerificationError::Level(other.to_owned())),
        };
        for (check, action) in &self.overrides {
            if check == "integrity" {
                return Err(VerificationError::Integrity);
            }
            let at = CHECKS.iter().position(|(name, _)| name == check);
            let place = at.and_then(|at| level.0.get_mut(at));
            let unknown = || VerificationError::Check(check.clone());
            *place.ok_or_else(unknown)? = match action.as_str() {
                "enforce" => true,
                "log" => false,
                "skip" if check == "revocation" => false,
                "skip" => return Err(VerificationError::Skipped(check.clone())),
                other => return Err(VerificationError::Action(other.to_owned())),
            };
        }
        Ok(Some(level))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn statement(name: &str, scopes: &[&str]) -> Value {
        json!({"name": name, "registryScopes": scopes, "signatureVerification": {"level": "strict"},
            "trustStores": ["ca:acme"], "trustedIdentities": ["*"]})
    }

    fn said(statements: &[Value]) -> String {
        let text = json!({"version": "1.0", "trustPolicies": statements}).to_string();
        Policy::read(text.as_bytes()).map_or_else(|error| error.to_string(), |_| "read".to_owned())
    }

    #[test]
    fn policies_are_checked_as_notation_does() {
        let with = |place: &str, value: Value| {
            let mut statement = statement("a", &["*"]);
            *statement.pointer_mut(place).unwrap() = value;
            said(&[statement])
        };
        assert_eq!(
            said(&[statement("a", &["*"]), statement("b", &["r.example/app"])]),
            "read"
        );
        for (said, expected) in [
            (said(&[]), "can not have zero trust policy statements"),
            (
                said(&[statement("a", &["*"]), statement("a", &["r.example/app"])]),
                "use the same name \"a\"",
            ),
            (
                said(&[statement("a", &["*"]), statement("b", &["*"])]),
                "is present in multiple trust policy statements",
            ),
            (
                said(&[statement("a", &["*", "r.example/app"])]),
                "uses wildcard registry scope '*'",
            ),
            (said(&[statement("a", &[])]), "has zero registry scopes"),
            (
                with("/signatureVerification", json!({"level": "lax"})),
                "invalid signature verification level \"lax\"",
            ),
            (
                with(
                    "/signatureVerification",
                    json!({"level": "strict", "override": {"integrity": "log"}}),
                ),
                "can not be overridden",
            ),
            (
                with(
                    "/signatureVerification",
                    json!({"level": "strict", "override": {"expiry": "skip"}}),
                ),
                "\"expiry\" verification can not be skipped",
            ),
            (
                with("/trustStores", json!(["acme"])),
                "has malformed trust store value \"acme\"",
            ),
            (
                with("/trustStores", json!([])),
                "missing trust stores or trusted identities",
            ),
            (
                with("/trustedIdentities", json!(["*", "x509.subject:C=DE"])),
                "uses a wildcard trusted identity",
            ),
            (
                with("/trustedIdentities", json!(["x509.subject:C=DE"])),
                "no mandatory RDN attribute for \"ST\"",
            ),
        ] {
            assert!(said.contains(expected), "{said}");
        }
        assert_eq!(
            with(
                "/signatureVerification",
                json!({"level": "strict", "override": {"revocation": "skip"}})
            ),
            "read"
        );
    }

    #[test]
    fn the_statement_that_names_the_repository_wins() {
        let text = json!({"version": "1.0", "trustPolicies": [statement("all", &["*"]), statement("app", &["r.example/app"])]});
        let policy = Policy::read(text.to_string().as_bytes()).unwrap();
        assert_eq!(policy.of("r.example/app").unwrap().name, "app");
        assert_eq!(policy.of("r.example/other").unwrap().name, "all");
    }
}
