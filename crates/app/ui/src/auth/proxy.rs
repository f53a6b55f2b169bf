//! People whom a proxy has signed in: it sends their name and groups in headers, and a secret that proves
//! it is the proxy.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderMap;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::tokens::Unknown;
use bumpwright_kube::User;

/// How long the file of the secret counts before it is read again.
const KEPT: Duration = Duration::from_secs(10);

/// The shortest secret, in bytes.
const SHORTEST: usize = 16;

/// The most groups that are taken, and bytes of a name.
const GROUPS: usize = 256;
const LONGEST: usize = 512;

/// Names that only the cluster itself may give.
const OWN: &str = "system:";

/// The headers of a proxy that signs people in.
#[derive(Clone, Debug)]
pub struct ProxyAuth {
    /// The header with the name.
    pub user: String,
    /// The header with the groups, separated by commas.
    pub groups: String,
    /// What is put before the name.
    pub user_prefix: String,
    /// What is put before each group.
    pub groups_prefix: String,
    /// The header with the secret.
    pub secret: String,
    /// The file with the secret.
    pub secret_file: PathBuf,
}

pub(crate) struct Proxy {
    settings: ProxyAuth,
    /// The SHA-256 of the secret.
    secret: Mutex<Option<(Instant, [u8; 32])>>,
}

impl Proxy {
    pub(super) fn new(settings: ProxyAuth) -> Self {
        Self {
            settings,
            secret: Mutex::default(),
        }
    }

    /// Who it is, if the proxy proves itself.
    pub(super) fn whose(&self, headers: &HeaderMap) -> Result<User, Unknown> {
        let shown = only(headers, &self.settings.secret).ok_or(Unknown::Proxy)?;
        let secret = self.secret().ok_or(Unknown::NotChecked)?;
        if !is_same(&secret, &Sha256::digest(shown).into()) {
            return Err(Unknown::Proxy);
        }
        let name = only(headers, &self.settings.user).ok_or(Unknown::Proxy)?;
        let name = named(&self.settings.user_prefix, name).ok_or(Unknown::Proxy)?;
        Ok(User {
            name,
            groups: self.groups(headers),
            ..User::default()
        })
    }

    /// The groups. Those that nobody but the cluster may give are left out, but for the one of everybody.
    fn groups(&self, headers: &HeaderMap) -> Vec<String> {
        let values = headers.get_all(self.settings.groups.as_str()).iter();
        let texts = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        let names = texts.filter_map(|text| named(&self.settings.groups_prefix, text));
        let mut groups: Vec<String> = names.take(GROUPS).collect();
        groups.push("system:authenticated".to_owned());
        groups.sort();
        groups.dedup();
        groups
    }

    fn secret(&self) -> Option<[u8; 32]> {
        let mut cached = self.secret.lock();
        if let Some((read, secret)) = *cached
            && read.elapsed() < KEPT
        {
            return Some(secret);
        }
        let text = std::fs::read(&self.settings.secret_file).ok()?;
        let text = text.trim_ascii();
        let secret: [u8; 32] = Sha256::digest(text).into();
        *cached = (text.len() >= SHORTEST).then(|| (Instant::now(), secret));
        cached.map(|(_, secret)| secret)
    }
}

/// Why the settings for a proxy are not usable, with the flag.
#[derive(Debug, thiserror::Error)]
pub enum ProxyAuthError {
    #[error("{flag}: {prefix:?} makes names that only the cluster itself may give")]
    Reserved { flag: &'static str, prefix: String },
    #[error("{flag}: {prefix:?} has a character that names do not have")]
    Character { flag: &'static str, prefix: String },
    #[error("--ui-secret-file: {}: {error}", .file.display())]
    Unreadable { file: PathBuf, error: io::Error },
    #[error(
        "--ui-secret-file: {} needs a secret of at least {SHORTEST} bytes, as of `openssl rand -base64 32`", .file.display()
    )]
    Short { file: PathBuf },
}

impl ProxyAuth {
    /// Checks the prefixes, and that the file has a secret that is long enough.
    pub fn check(&self) -> Result<(), ProxyAuthError> {
        for (flag, prefix) in [
            ("--ui-user-prefix", &self.user_prefix),
            ("--ui-groups-prefix", &self.groups_prefix),
        ] {
            if prefix.starts_with(OWN) {
                return Err(ProxyAuthError::Reserved {
                    flag,
                    prefix: prefix.clone(),
                });
            }
            if prefix.contains(|c: char| c.is_control() || c.is_whitespace()) {
                return Err(ProxyAuthError::Character {
                    flag,
                    prefix: prefix.clone(),
                });
            }
        }
        let file = || self.secret_file.clone();
        let text = std::fs::read(&self.secret_file);
        let text = text.map_err(|error| ProxyAuthError::Unreadable { file: file(), error })?;
        match text.trim_ascii().len() {
            SHORTEST.. => Ok(()),
            _ => Err(ProxyAuthError::Short { file: file() }),
        }
    }
}

/// A name as the cluster has it; none of one that is not text, is empty or too long, or that only the cluster itself
/// may give. With a prefix it is the whole name that counts.
fn named(prefix: &str, text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let name = format!("{prefix}{text}");
    let is_one = !text.is_empty() && name.len() <= LONGEST && !name.contains(char::is_control);
    (is_one && !name.starts_with(OWN)).then_some(name)
}

/// The value of a header that is given once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then(|| value.as_bytes())
}

/// Takes equally long wherever they differ.
pub(super) fn is_same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.iter()
        .zip(other)
        .fold(0, |differences, (a, b)| differences | (a ^ b))
        == 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use http::HeaderValue;

    const SECRET: &str = "0123456789abcdef0123";

    fn prefixed(user: &str, groups: &str) -> ProxyAuth {
        ProxyAuth {
            user: "X-Forwarded-User".to_owned(),
            groups: "X-Forwarded-Groups".to_owned(),
            user_prefix: user.to_owned(),
            groups_prefix: groups.to_owned(),
            secret: "X-Bumpwright-Secret".to_owned(),
            secret_file: PathBuf::new(),
        }
    }

    fn whose_with(settings: ProxyAuth, headers: &[(&'static str, &'static str)]) -> Result<User, Unknown> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{SECRET}\n")).unwrap();
        let proxy = Proxy::new(ProxyAuth {
            secret_file: file.path().to_owned(),
            ..settings
        });
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        proxy.whose(&map)
    }

    fn whose(headers: &[(&'static str, &'static str)]) -> Result<User, Unknown> {
        whose_with(prefixed("", ""), headers)
    }

    #[test]
    fn the_proxy_proves_itself_and_says_who_it_is() {
        let secret = ("x-bumpwright-secret", SECRET);
        let ann = ("x-forwarded-user", "ann");
        let user = whose(&[secret, ann, ("x-forwarded-groups", "devs, ops,system:masters")]).unwrap();
        assert_eq!(
            (user.name.as_str(), user.groups.join(" ")),
            ("ann", "devs ops system:authenticated".to_owned())
        );
        for headers in [
            &[ann][..],
            &[secret],
            &[("x-bumpwright-secret", "0123456789abcdef0124"), ann],
            &[secret, secret, ann],
            &[secret, ann, ("x-forwarded-user", "bob")],
            &[secret, ("x-forwarded-user", "system:admin")],
            &[secret, ("x-forwarded-user", " ")],
        ] {
            assert_eq!(whose(headers), Err(Unknown::Proxy), "{headers:?}");
        }
    }
    /// As the API server has it with `--oidc-username-prefix`: a name counts as it is with its prefix.
    #[test]
    fn prefixes_tell_people_from_those_of_the_cluster() {
        let claims = |user: &'static str, groups: &'static str| {
            [
                ("x-bumpwright-secret", SECRET),
                ("x-forwarded-user", user),
                ("x-forwarded-groups", groups),
            ]
        };
        let known = |settings: ProxyAuth, user, groups| {
            let user = whose_with(settings, &claims(user, groups)).ok()?;
            Some(format!("{} {}", user.name, user.groups.join(" ")))
        };
        let sso = || prefixed("sso:", "sso:");
        for (settings, user, groups, expected) in [
            (sso(), "ann", "devs", Some("sso:ann sso:devs system:authenticated")),
            (
                sso(),
                "system:admin",
                "system:masters",
                Some("sso:system:admin sso:system:masters system:authenticated"),
            ),
            (
                prefixed("sso:", ""),
                "ann",
                "devs,system:masters",
                Some("sso:ann devs system:authenticated"),
            ),
            (prefixed("", "sso:"), "system:admin", "devs", None),
            // Whatever makes such a name together makes none.
            (prefixed("sys", "sys"), "tem:admin", "", None),
            (
                prefixed("", "sys"),
                "ann",
                "tem:masters,devs",
                Some("ann sysdevs system:authenticated"),
            ),
            (prefixed("", ""), "\u{a0}system:admin", "", None),
            (sso(), " ", "devs", None),
            (sso(), "ann", " , ,", Some("sso:ann system:authenticated")),
            (sso(), "zoë", "équipe", Some("sso:zoë sso:équipe system:authenticated")),
        ] {
            assert_eq!(known(settings, user, groups).as_deref(), expected, "{user} {groups}");
        }
        for prefix in ["system:", "system:sso:", "a b", "a\n"] {
            assert!(
                prefixed(prefix, "").check().is_err() && prefixed("", prefix).check().is_err(),
                "{prefix:?}"
            );
        }
    }

    #[test]
    fn what_is_not_text_is_nobody() {
        for bytes in [&b"ann\xff"[..], b"ann\tbob", b"\xe9quipe"] {
            assert_eq!(named("", bytes), None, "{bytes:?}");
        }
    }
}
