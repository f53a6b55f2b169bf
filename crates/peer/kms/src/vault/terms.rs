//! The login at a transit engine that annotations of a ServiceAccount name (`transit-engine.auth.fluxcd.io/…`;
//! Flux 2.10, *Object identity*).

use std::collections::BTreeMap;

const PATH: &str = "transit-engine.auth.fluxcd.io/login-path";
const ROLE: &str = "transit-engine.auth.fluxcd.io/role";

/// The longest path or role, in bytes.
const LONGEST: usize = 512;

/// Why the annotations do not name a login.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransitLoginError {
    /// One of the two is missing.
    #[error("annotation {missing} is not set; {given} needs it: set both, or remove both")]
    Missing {
        /// The one that is missing.
        missing: &'static str,
        given: &'static str,
    },
    /// The path is not the login of an auth method: any other would be written to, in the name of the Vault agent's
    /// identity. The beginning of it.
    #[error("annotation {PATH} is invalid: expected the path of a login, such as auth/kubernetes/login, got '{0}'")]
    Path(String),
    /// The role has a control character, or is too long.
    #[error("annotation {ROLE} is invalid: no control character and {LONGEST} bytes at most are allowed")]
    Role,
}

/// A login at Vault or OpenBao with the token of a ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitLogin {
    /// Where to log in: `auth/kubernetes/login`, behind a namespace if there is one.
    pub(crate) path: String,
    pub(crate) role: String,
}

impl TransitLogin {
    /// Reads the annotations of a ServiceAccount; none without them.
    pub fn read(annotations: &BTreeMap<String, String>) -> Result<Option<Self>, TransitLoginError> {
        let get = |key: &str| annotations.get(key).map_or("", |value| value.trim());
        let missing = |missing, given| Err(TransitLoginError::Missing { missing, given });
        let (path, role) = match (get(PATH), get(ROLE)) {
            ("", "") => return Ok(None),
            ("", _) => return missing(PATH, ROLE),
            (_, "") => return missing(ROLE, PATH),
            given => given,
        };
        if !is_login(path) {
            let shown = path.chars().take(64).flat_map(char::escape_debug);
            return Err(TransitLoginError::Path(shown.collect()));
        }
        if role.len() > LONGEST || role.chars().any(char::is_control) {
            return Err(TransitLoginError::Role);
        }
        Ok(Some(Self {
            path: path.to_owned(),
            role: role.to_owned(),
        }))
    }
}

/// `[NAMESPACE/…]auth/METHOD/login`
fn is_login(path: &str) -> bool {
    let is_plain = |name: &&str| {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !name.is_empty() && *name != "." && *name != ".." && name.bytes().all(good)
    };
    let names: Vec<&str> = path.split('/').collect();
    let at_method = names.iter().rposition(|name| *name == "auth");
    // Between them is the method's mount, which may have slashes; `auth/token` makes tokens of its own.
    let method = at_method.and_then(|at| names.get(at + 1..names.len() - 1));
    path.len() <= LONGEST
        && names.iter().all(is_plain)
        && names.last() == Some(&"login")
        && method.is_some_and(|method| !method.is_empty() && method.first() != Some(&"token"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(annotations: &[(&str, &str)]) -> Result<Option<TransitLogin>, TransitLoginError> {
        let annotations = annotations
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        TransitLogin::read(&annotations.collect())
    }

    #[test]
    fn path_and_role_go_together() {
        assert_eq!(read(&[]), Ok(None));
        let login = TransitLogin {
            path: "ns1/auth/jwt/login".to_owned(),
            role: "sops".to_owned(),
        };
        assert_eq!(
            read(&[(PATH, " ns1/auth/jwt/login\n"), (ROLE, "sops")]),
            Ok(Some(login))
        );
        for (key, value, missing) in [(PATH, "auth/jwt/login", ROLE), (ROLE, "sops", PATH)] {
            let said = format!("annotation {missing} is not set; {key} needs it: set both, or remove both");
            assert_eq!(read(&[(key, value)]).unwrap_err().to_string(), said);
        }
        let said = read(&[(PATH, "auth/jwt/login"), (ROLE, "a\u{1}b")]);
        assert!(said.is_err_and(|said| said.to_string().starts_with(&format!("annotation {ROLE} is invalid"))));
    }

    #[test]
    fn a_path_is_the_login_of_a_method() {
        for good in [
            "auth/kubernetes/login",
            "ns1/ns2/auth/jwt-spiffe/login",
            "auth/team/jwt/login",
        ] {
            assert!(is_login(good), "{good}");
        }
        for bad in [
            "",
            "login",
            "auth/login",
            "auth/token/create",
            "auth/token/login",
            "secret/data/a",
            "sys/auth/x",
            "auth/jwt/login/../../../sys/seal",
            "auth/../auth/jwt/login",
            "/auth/jwt/login",
            "auth//login",
            "auth/jwt/login?x=1",
            "auth/jwt/login#",
            "auth/j%2e/login",
            "https://vault.example/auth/jwt/login",
        ] {
            assert!(!is_login(bad), "{bad}");
        }
        assert!(!is_login(&format!("auth/{}/login", "a".repeat(LONGEST))));
    }
}
