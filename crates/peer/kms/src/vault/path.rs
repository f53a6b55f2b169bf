//! Paths of keys in transit engines.

use url::Url;

use super::error::{TransitError, VaultError};

/// Go's `path.Join`: empty parts are left out, `.`, `..` and double slashes resolved.
fn joined(parts: &[&str]) -> String {
    let text = parts
        .iter()
        .copied()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("/");
    let rooted = text.starts_with('/');
    let mut names: Vec<&str> = Vec::new();
    for name in text.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => drop(names.pop()),
            ".." if rooted => {}
            name => names.push(name),
        }
    }
    let text = names.join("/");
    if rooted { format!("/{text}") } else { text }
}

/// The path of a decryption below the API, `transit/decrypt/NAME`.
///
/// # Errors
/// A text, for names with `..`, which would send a request with a token to any other path of the server,
/// and with control characters.
pub(crate) fn decryption(engine: &str, key: &str) -> Result<String, VaultError> {
    let path = joined(&[engine, "decrypt", key]);
    let is_odd = |name: &str| name == ".." || name.chars().any(char::is_control);
    if [engine, key].iter().any(|part| part.split('/').any(is_odd)) {
        Err(VaultError::Path(path))
    } else {
        Ok(path)
    }
}

/// Builds the address of a path at a server, whose address may have a path of its own.
///
/// # Errors
/// A text, when it is not an address.
pub(crate) fn address(server: &str, path: &str) -> Result<Url, TransitError> {
    let parsed = Url::parse(server).ok();
    let mut url = parsed
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| TransitError::Address(server.to_owned()))?;
    let own = url.path().trim_matches('/').to_owned();
    let encoded = |name: &str| {
        let mut url = url.clone();
        url.set_path("");
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(name);
        }
        url.path().trim_start_matches('/').to_owned()
    };
    let names: Vec<String> = path.split('/').filter(|name| !name.is_empty()).map(encoded).collect();
    let whole = joined(&["/", &own, "v1", &names.join("/")]);
    url.set_path(&whole);
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn joins_as_go_does() {
        for (parts, expected) in [
            (&["transit", "decrypt", "a"][..], "transit/decrypt/a"),
            (&["/team//transit/", "decrypt", "a/b"], "/team/transit/decrypt/a/b"),
            (&["a/../b", "decrypt", "./c/"], "b/decrypt/c"),
            (&["", "decrypt", ""], "decrypt"),
            (&["a", "../../.."], "../.."),
            (&["/a", "../../.."], "/"),
        ] {
            assert_eq!(joined(parts), expected, "{parts:?}");
        }
    }

    #[test]
    fn names_do_not_lead_elsewhere() {
        assert_eq!(decryption("transit", "a..b").unwrap(), "transit/decrypt/a..b");
        for (engine, key) in [
            ("transit", "../../sys/seal"),
            ("../x", "a"),
            ("a/../b", "c"),
            ("t", ".."),
            ("t", "a\nb"),
        ] {
            assert!(decryption(engine, key).is_err(), "{engine} {key}");
        }
        let at = |server: &str, path: &str| address(server, path).map(String::from);
        assert_eq!(
            at("https://v.example:8200", "t/decrypt/a b?#%2e"),
            Ok("https://v.example:8200/v1/t/decrypt/a%20b%3F%23%252e".to_owned())
        );
        assert_eq!(
            at("https://v.example/behind/", "/t/decrypt/a"),
            Ok("https://v.example/behind/v1/t/decrypt/a".to_owned())
        );
        for server in [
            "",
            "no address",
            "vault.example:8200",
            "unix:///run/vault",
            "ftp://v.example",
        ] {
            assert!(at(server, "t/decrypt/a").is_err(), "{server}");
        }
    }
}
