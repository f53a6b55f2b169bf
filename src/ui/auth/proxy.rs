//! People whom a proxy has signed in: it sends their name and groups in headers, and a secret that proves it is the proxy.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;
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
    /// The header with the secret.
    pub secret: String,
    /// The file with the secret.
    pub secret_file: PathBuf,
}

/// Reads the headers.
pub(in crate::ui) struct Proxy {
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
        let name = only(headers, &self.settings.user).map(String::from_utf8_lossy);
        let name = name.as_deref().unwrap_or_default().trim();
        if name.is_empty() || name.len() > LONGEST || name.starts_with(OWN) || name.contains(char::is_control) {
            return Err(Unknown::Proxy);
        }
        Ok(User {
            name: name.to_owned(),
            groups: self.groups(headers),
            ..User::default()
        })
    }

    /// The groups. Those that only the cluster itself may give are left out, but for the one of everybody.
    fn groups(&self, headers: &HeaderMap) -> Vec<String> {
        let values = headers.get_all(self.settings.groups.as_str()).iter();
        let texts: Vec<String> = values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        let names = texts.iter().flat_map(|text| text.split(',')).map(str::trim);
        let names = names.filter(|name| !name.is_empty() && name.len() <= LONGEST && !name.starts_with(OWN));
        let mut groups: Vec<String> = names.take(GROUPS).map(str::to_owned).collect();
        groups.push("system:authenticated".to_owned());
        groups.sort();
        groups.dedup();
        groups
    }

    fn secret(&self) -> Option<[u8; 32]> {
        let mut known = self.secret.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, secret)) = *known
            && read.elapsed() < KEPT
        {
            return Some(secret);
        }
        let text = std::fs::read(&self.settings.secret_file).ok()?;
        let text = text.trim_ascii();
        let secret: [u8; 32] = Sha256::digest(text).into();
        *known = (text.len() >= SHORTEST).then(|| (Instant::now(), secret));
        known.map(|(_, secret)| secret)
    }
}

impl ProxyAuth {
    /// Checks that the file has a secret that is long enough.
    ///
    /// # Errors
    /// What is wrong, with the file.
    pub fn check(&self) -> Result<(), String> {
        let file = self.secret_file.display();
        let text = std::fs::read(&self.secret_file).map_err(|error| format!("--ui-secret-file: {file}: {error}"))?;
        match text.trim_ascii().len() {
            SHORTEST.. => Ok(()),
            _ => Err(format!(
                "--ui-secret-file: {file} needs a secret of at least {SHORTEST} bytes, as of `openssl rand -base64 32`"
            )),
        }
    }
}

/// The value of a header that is there once.
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

    fn whose(headers: &[(&'static str, &'static str)]) -> Result<User, Unknown> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{SECRET}\n")).unwrap();
        let proxy = Proxy::new(ProxyAuth {
            user: "X-Forwarded-User".to_owned(),
            groups: "X-Forwarded-Groups".to_owned(),
            secret: "X-Bumpwright-Secret".to_owned(),
            secret_file: file.path().to_owned(),
        });
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        proxy.whose(&map)
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
}
