//! Trust policies of Notation (specification 1.0), with the messages of notation-go v1.3.2.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::names::Name;

const WILDCARD: &str = "*";
const SUBJECT: &str = "x509.subject:";
/// Greatest number of statements.
const MAX_STATEMENTS: usize = 256;

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
    /// The kinds of stores that are named: which certificates are in which store is not told apart, as in Flux.
    pub(super) stores: Vec<String>,
    /// `None` trusts every owner of a certificate.
    pub(super) identities: Option<Vec<Name>>,
}

/// A trust policy.
#[derive(Clone, Debug)]
pub(super) struct Policy(Vec<Statement>);

impl Policy {
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let json: Json = serde_json::from_slice(text)
            .map_err(|error| format!("error occurred while parsing trustpolicy.json: {error}"))?;
        match json.version.as_str() {
            "" => return Err("trust policy document has empty version, version must be specified".to_owned()),
            "1.0" => {}
            other => return Err(format!("trust policy document uses unsupported version {other:?}")),
        }
        match json.trust_policies.len() {
            0 => return Err("trust policy document can not have zero trust policy statements".to_owned()),
            1..=MAX_STATEMENTS => {}
            more => {
                return Err(format!(
                    "trust policy document has {more} statements; {MAX_STATEMENTS} at most are read"
                ));
            }
        }
        let mut statements: Vec<Statement> = Vec::new();
        for statement in json.trust_policies {
            if statements.iter().any(|known| known.name == statement.name) {
                return Err(format!(
                    "multiple trust policy statements use the same name {:?}, statement names must be unique",
                    statement.name
                ));
            }
            let statement = statement.read().map_err(|error| format!("trust policy: {error}"))?;
            statements.push(statement);
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

fn check_scopes(statements: &[Statement]) -> Result<(), String> {
    let mut seen: Vec<&str> = Vec::new();
    for Statement { name, scopes, .. } in statements {
        if scopes.is_empty() {
            return Err(format!(
                "trust policy statement {name:?} has zero registry scopes, it must specify registry scopes with at least one value"
            ));
        }
        if scopes.len() > 1 && scopes.iter().any(|scope| scope == WILDCARD) {
            return Err(format!(
                "trust policy statement {name:?} uses wildcard registry scope '*', a wildcard scope cannot be used in conjunction with other scope values"
            ));
        }
        for scope in scopes {
            if seen.contains(&scope.as_str()) {
                return Err(format!(
                    "registry scope {scope:?} is present in multiple trust policy statements, one registry scope value can only be associated with one statement"
                ));
            }
            seen.push(scope);
        }
    }
    Ok(())
}

impl StatementJson {
    fn read(self) -> Result<Statement, String> {
        let Self {
            name,
            trust_stores,
            trusted_identities,
            ..
        } = &self;
        if name.is_empty() {
            return Err("a trust policy statement is missing a name, every statement requires a name".to_owned());
        }
        let wrong = |why: String| format!("trust policy statement {name:?} has invalid signatureVerification: {why}");
        let level = self.signature_verification.level().map_err(wrong)?;
        let only_after_expiry = match self.signature_verification.verify_timestamp.as_str() {
            "" | "always" => false,
            "afterCertExpiry" => true,
            other => {
                return Err(wrong(format!(
                    "verifyTimestamp must be \"always\" or \"afterCertExpiry\", but got {other:?}"
                )));
            }
        };
        // Flux drops stores and identities of statements that skip.
        if level.is_some() && (trust_stores.is_empty() || trusted_identities.is_empty()) {
            return Err(format!(
                "trust policy statement {name:?} is either missing trust stores or trusted identities, both must be specified"
            ));
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

fn kind_of_store(name: &str, store: &str) -> Result<String, String> {
    let malformed = || {
        format!(
            "trust policy statement {name:?} has malformed trust store value {store:?}. The required format is <TrustStoreType>:<TrustStoreName>"
        )
    };
    let (kind, _) = store.split_once(':').ok_or_else(malformed)?;
    match kind {
        "ca" | "signingAuthority" | "tsa" => Ok(kind.to_owned()),
        other => Err(format!(
            "trust policy statement {name:?} uses an unsupported trust store type {other:?} in trust store value {store:?}"
        )),
    }
}

fn identities(name: &str, list: &[String]) -> Result<Option<Vec<Name>>, String> {
    if list.iter().any(|identity| identity == WILDCARD) {
        return match list.len() {
            1 => Ok(None),
            _ => Err(format!(
                "trust policy statement {name:?} uses a wildcard trusted identity '*', a wildcard identity cannot be used in conjunction with other values"
            )),
        };
    }
    let mut names: Vec<Name> = Vec::new();
    for identity in list {
        // Other kinds are for plugins.
        if let Some(subject) = identity.strip_prefix(SUBJECT) {
            let wrong = |why| {
                format!(
                    "trust policy statement {name:?} has trusted identity {identity:?} with invalid identity value: {why}"
                )
            };
            names.push(Name::read(subject).map_err(wrong)?);
        } else if !identity.contains(':') {
            return Err(format!(
                "trust policy statement {name:?} has trusted identity {identity:?} missing separator"
            ));
        }
    }
    Ok(Some(names))
}

impl VerificationJson {
    fn level(&self) -> Result<Option<Level>, String> {
        let mut level = match self.level.as_str() {
            "strict" => Level([true; 4]),
            "permissive" => Level([true, false, false, false]),
            "audit" => Level([false; 4]),
            "skip" if self.overrides.is_empty() => return Ok(None),
            "skip" => {
                return Err(
                    "signature verification level \"skip\" can't be used to customize signature verification"
                        .to_owned(),
                );
            }
            "" => {
                return Err(
                    "signature verification level is empty or missing in the trust policy statement".to_owned(),
                );
            }
            other => return Err(format!("invalid signature verification level {other:?}")),
        };
        for (check, action) in &self.overrides {
            if check == "integrity" {
                return Err(
                    "\"integrity\" verification can not be overridden in custom signature verification".to_owned(),
                );
            }
            let at = CHECKS.iter().position(|(name, _)| name == check);
            let place = at.and_then(|at| level.0.get_mut(at));
            let unknown = || format!("verification type {check:?} in custom signature verification is not supported");
            *place.ok_or_else(unknown)? = match action.as_str() {
                "enforce" => true,
                "log" => false,
                "skip" if check == "revocation" => false,
                "skip" => {
                    return Err(format!(
                        "{check:?} verification can not be skipped in custom signature verification"
                    ));
                }
                other => {
                    return Err(format!(
                        "verification action {other:?} in custom signature verification is not supported"
                    ));
                }
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
        Policy::read(text.as_bytes()).map_or_else(|error| error, |_| "read".to_owned())
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
