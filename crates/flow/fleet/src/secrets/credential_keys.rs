//! What the key of a value says of it.

/// Words of keys whose values are credentials.
const SENSITIVE: [&str; 31] = [
    "apikey",
    "apikeys",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "dockercfg",
    "dockerconfigjson",
    "dsn",
    "hmac",
    "htpasswd",
    "jwt",
    "kubeconfig",
    "otp",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "pin",
    "psk",
    "pw",
    "pwd",
    "salt",
    "secret",
    "secrets",
    "seed",
    "token",
    "tokens",
    "totp",
    "webhook",
];

/// Endings of words that have several in one, such as `adminpassword`.
const ENDINGS: [&str; 8] = [
    "apikey",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "secretkey",
    "token",
];

/// Last words of keys whose values are settings, whatever stands before: `TOKEN_URL`, `secret-name`.
const SETTINGS: [&str; 91] = [
    "account",
    "addr",
    "address",
    "algorithm",
    "arn",
    "audience",
    "bucket",
    "ca",
    "cert",
    "certificate",
    "class",
    "cluster",
    "comment",
    "count",
    "crt",
    "database",
    "db",
    "dbname",
    "debug",
    "description",
    "dir",
    "directory",
    "domain",
    "driver",
    "email",
    "enable",
    "enabled",
    "endpoint",
    "env",
    "environment",
    "expiration",
    "expires",
    "expiry",
    "file",
    "format",
    "fqdn",
    "from",
    "group",
    "groups",
    "header",
    "host",
    "hostname",
    "id",
    "image",
    "insecure",
    "interval",
    "issuer",
    "kind",
    "lang",
    "length",
    "level",
    "lifetime",
    "limit",
    "locale",
    "login",
    "mail",
    "method",
    "mode",
    "name",
    "namespace",
    "org",
    "organization",
    "owner",
    "path",
    "period",
    "policy",
    "port",
    "project",
    "provider",
    "realm",
    "ref",
    "region",
    "role",
    "schema",
    "scope",
    "scopes",
    "server",
    "size",
    "subject",
    "subscription",
    "tenant",
    "timeout",
    "ttl",
    "type",
    "tz",
    "uri",
    "url",
    "user",
    "username",
    "version",
    "zone",
];

/// Whether the value of a key is a credential, as far as the key says it.
pub(crate) fn is_sensitive(key: &str) -> bool {
    let words = words(key);
    if is_setting(key)
        || words
            .iter()
            .any(|word| matches!(word.as_str(), "public" | "pub" | "existing"))
    {
        return false;
    }
    let is_key = words
        .last()
        .is_some_and(|last| matches!(last.as_str(), "key" | "keys" | "auth"));
    let is_one = |word: &String| {
        SENSITIVE.binary_search(&word.as_str()).is_ok() || ENDINGS.iter().any(|ending| word.ends_with(ending))
    };
    is_key || words.iter().any(is_one)
}

/// Whether the value of a key is a setting.
pub(crate) fn is_setting(key: &str) -> bool {
    let words = words(key);
    words
        .last()
        .is_some_and(|last| SETTINGS.binary_search(&last.as_str()).is_ok())
}

/// The words of a key in lower case: `clientSecret`, `CLIENT_SECRET` and `client-secret` have the same.
pub(crate) fn words(key: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    let mut is_new = true;
    for c in key.chars() {
        if !c.is_alphanumeric() {
            is_new = true;
            continue;
        }
        if is_new || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
        (is_new, was_lower) = (false, c.is_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        assert!(SENSITIVE.is_sorted() && SETTINGS.is_sorted());
    }

    #[test]
    fn the_words_of_a_key_decide() {
        for key in [
            "PASSWORD",
            "clientSecret",
            "tls.key",
            "api-key",
            "smtp_pass",
            "SECRET_KEY_BASE",
            "dbpassword",
            "AUTH",
        ] {
            assert!(is_sensitive(key), "{key}");
        }
        for key in [
            "public-key",
            "password_file",
            "TOKEN_TTL",
            "existingSecret",
            "username",
            "passenger",
            "tokenizer",
            "keyring",
        ] {
            assert!(!is_sensitive(key), "{key}");
        }
    }
}
