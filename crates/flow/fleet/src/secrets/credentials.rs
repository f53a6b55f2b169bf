//! Whether a value of a Secret is one that nobody else may know: by its key, and by what it looks like.
//!
//! A Secret also holds what is not secret: public keys, addresses, names, numbers, identifiers, and
//! references to a vault.

use super::{credential_keys as keys, credential_shapes as shapes};
use serde_json::Value;

/// The longest text that is read as JSON, and the most lines that are checked.
const LONGEST: usize = 1 << 20;

/// What a value of a Secret is, by the worst of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exposure {
    /// Public, a reference, or something that is configured.
    Public,
    /// It may be a credential.
    Unclear,
    /// It is a credential.
    Credential,
}

/// What the value of a key is.
pub(crate) fn judge(key: &str, value: &str) -> Exposure {
    part(key, value, false)
}

/// The same of a value alone, or of one in a file: most of these are not credentials, whatever they look like.
fn part(key: &str, value: &str, is_in_file: bool) -> Exposure {
    let value = value.trim();
    if value.is_empty() || shapes::is_reference(value) {
        return Exposure::Public;
    }
    // What a variable gives is not here.
    let rest = shapes::without_variables(value);
    if shapes::is_credential(&rest) {
        return Exposure::Credential;
    }
    if shapes::is_public(value) {
        return Exposure::Public;
    }
    match (document(value), value.contains('\n')) {
        (Some(document), _) => of_json(key, &document),
        (None, true) => of_lines(key, value),
        (None, false) if rest.as_ref() != value => Exposure::Public,
        (None, false) => of_word(key, value, is_in_file),
    }
}

/// A JSON object or list.
pub(crate) fn document(value: &str) -> Option<Value> {
    let is_document = value.starts_with(['{', '[']) && value.len() <= LONGEST;
    let document: Option<Value> = is_document.then(|| serde_json::from_str(value).ok()).flatten();
    document.filter(|document| document.is_object() || document.is_array())
}

fn of_json(key: &str, value: &Value) -> Exposure {
    match value {
        Value::Object(fields) => worst(fields.iter().map(|(key, value)| of_json(key, value))),
        Value::Array(items) => worst(items.iter().map(|item| of_json(key, item))),
        Value::String(text) => part(key, text, true),
        // A number is a credential only where its key says so; `false` never is.
        Value::Number(number) => of_word(key, &number.to_string(), true),
        Value::Bool(_) | Value::Null => Exposure::Public,
    }
}

/// A file: each of its lines that gives a key a value. One without any, whose own key is that of a credential, is
/// one as a whole.
fn of_lines(key: &str, text: &str) -> Exposure {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';']) && !line.starts_with("//"));
    let mut has_pairs = false;
    let credentials = lines.map(|line| match pair(line) {
        Some((key, value)) => {
            has_pairs = true;
            if shapes::is_code(value) {
                Exposure::Public
            } else {
                part(key, value, true)
            }
        }
        None if shapes::is_credential(line) => Exposure::Credential,
        None => Exposure::Public,
    });
    // Of a file that is for people or programs, only what is plainly a credential counts.
    match worst(credentials) {
        Exposure::Credential => Exposure::Credential,
        _ if !has_pairs && keys::is_sensitive(key) => Exposure::Credential,
        _ => Exposure::Public,
    }
}

/// `key: value`, `key = value`, `"key": "value",`, `export KEY=value`.
pub(crate) fn pair(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches("- ").trim_start_matches("export ").trim();
    let at = line.find([':', '='])?;
    let (key, value) = (line.get(..at)?, line.get(at + 1..)?);
    // `user:hash` and `https://…` are not pairs.
    if line.get(at..)?.starts_with("://") {
        return None;
    }
    let quotes = |c: char| matches!(c, '"' | '\'' | '`');
    let key = key.trim().trim_matches(quotes);
    let value = value.trim().trim_end_matches([',', ';']).trim_matches(quotes);
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-./[]".contains(c));
    is_key.then_some((key, value))
}

/// A value on one line.
fn of_word(key: &str, value: &str, is_in_file: bool) -> Exposure {
    if shapes::is_placeholder(value) || matches!(value, "true" | "false" | "yes" | "no" | "null" | "none" | "~") {
        return Exposure::Public;
    }
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    match (keys::is_sensitive(key), keys::is_setting(key)) {
        (true, _) if shapes::is_address(value) => Exposure::Public,
        (true, _) if is_number && value.len() < 4 => Exposure::Public,
        (true, _) if shapes::is_default(value) || shapes::is_hash(value) => Exposure::Unclear,
        (true, _) => Exposure::Credential,
        (false, true) => Exposure::Public,
        (false, false) if is_in_file => Exposure::Public,
        (false, false) if is_number || shapes::is_address(value) || shapes::is_name(value) => Exposure::Public,
        (false, false) if shapes::is_random(value) => Exposure::Credential,
        (false, false) => Exposure::Unclear,
    }
}

fn worst(found: impl Iterator<Item = Exposure>) -> Exposure {
    found.max().unwrap_or(Exposure::Public)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC_KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMgapzKxl5psYtNtqE5E7gJt6WC6677ClsT4S9fsx3Lk somebody@example.com";

    #[test]
    fn what_is_no_secret_is_public() {
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUXq\n-----END CERTIFICATE-----\n";
        let pgp = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQINBFit2ioBEAD\n-----END PGP PUBLIC KEY BLOCK-----";
        let two = format!("# of two people\n{PUBLIC_KEY}\nno-pty,command=\"x y\" {PUBLIC_KEY}\n");
        let hosts = "git.example.com ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlz\n|1|abc=|def= ssh-rsa AAAAB3NzaC1yc2E";
        let values = "replicas: 2\nimage:\n  repository: ghcr.io/acme/web\n  tag: 1.0.0\nauth:\n  enabled: true\n  existingSecret: web\n";
        let dashboard = r#"{"title": "Web", "refresh": "5s", "panels": [{"id": 1, "type": "graph"}]}"#;
        for (key, value) in [
            ("authorized_keys", PUBLIC_KEY),
            ("ssh-key", PUBLIC_KEY),
            ("keys", two.as_str()),
            ("known", hosts),
            ("ca", certificate),
            ("client-key-data", certificate),
            ("signing", pgp),
            (
                "recipient",
                "age1wdapsm2nw9pr0nmak892gqwat44uhay7d7z5fqtwgsmm6ecatggsfql3yx",
            ),
            ("AZURE_CLIENT_ID", "d864b3ca-238c-474a-a426-6e52620d7cf4"),
            ("AZURE_TENANT_ID", "531ff96d-0ae8-462a-8d2d-bec7c0b42082"),
            ("USE_WORKLOAD_IDENTITY_AUTH", "true"),
            ("username", "admin"),
            ("url", "https://git.example.com/acme/fleet"),
            ("TOKEN_URL", "https://login.example.com/oauth2/token"),
            ("PASSWORD_FILE", "/run/secrets/password"),
            ("type", "git"),
            ("host", "db.example.com:5432"),
            ("SYNC_PERIOD", "12h"),
            ("port", "5432"),
            ("password", ""),
            ("password", "${PASSWORD}"),
            ("password", "{{ .password }}"),
            ("password", "<path:kv/data/web#password>"),
            ("password", "ref+vault://kv/web#/password"),
            ("token", "op://vault/web/token"),
            ("token", "vault:secret/data/web#token"),
            ("token", "<your-token>"),
            ("token", "REPLACE_ME"),
            ("token", "xxxxxxxx"),
            ("uri", "postgres://app:${PASSWORD}@db/app"),
            ("dsn", "host=db user=app password=${PASSWORD}"),
            ("values.yaml", values),
            ("dashboard.json", dashboard),
            ("bucket", "web-backups"),
            ("realm", "acme"),
            ("region", "eu-west-1"),
            ("admin.email", "ops@example.com"),
            (
                "image",
                "ghcr.io/acme/web@sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a",
            ),
        ] {
            assert_eq!(judge(key, value), Exposure::Public, "{key}: {value}");
        }
    }

    #[test]
    fn credentials_are_known_by_their_keys_and_their_looks() {
        let private = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE\n-----END OPENSSH PRIVATE KEY-----\n";
        let ini = "[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLQ\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEY\n";
        let values = "replicas: 2\nadminPassword: hunter2\n";
        let docker = r#"{"auths": {"ghcr.io": {"username": "bot", "auth": "Ym90Omh1bnRlcjI="}}}"#;
        for (key, value) in [
            ("password", "hunter2"),
            ("DB_PASS", "hunter2"),
            ("adminpassword", "hunter2"),
            ("clientSecret", "531ff96d-0ae8-462a-8d2d-bec7c0b42082"),
            ("api-key", "abc"),
            ("pin", "12345"),
            ("identity", private),
            (
                "whatever",
                "AGE-SECRET-KEY-1QQPQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ",
            ),
            ("whatever", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
            (
                "whatever",
                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
            ),
            ("uri", "postgres://app:hunter2@db/app"),
            (
                "address",
                "https://hooks.slack.com/services/T00000000/B00000000/xyzxyzxyz",
            ),
            ("whatever", "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA"),
            ("credentials", ini),
            ("values.yaml", values),
            (".dockerconfigjson", docker),
            ("token", "many\nlines\n"),
        ] {
            assert_eq!(judge(key, value), Exposure::Credential, "{key}: {value}");
        }
        for (key, value) in [
            ("password", "changeme"),
            ("password", "$2y$10$abcdefghijklmnopqrstuv"),
            ("something", "hunter2!"),
        ] {
            assert_eq!(judge(key, value), Exposure::Unclear, "{key}: {value}");
        }
    }
}
