//! Credentials that a change brings in clear text, outside of Secrets: in ConfigMaps, variables of containers and
//! values of releases; private keys and tokens in all objects.
//!
//! Most texts there are not secret, so only plain credentials count: fewer than in a Secret, where all that is not
//! public may be one.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Change, Changed, few};
use crate::build::one::is_sealed;
use crate::build::view::FleetObject;
use crate::check::cluster::{HELM_GROUP, KUSTOMIZE_GROUP};
use crate::check::places;
use crate::secrets::credential_keys::{is_setting, words};
use crate::secrets::credential_shapes as shapes;
use crate::secrets::credentials::{document, pair};
use crate::source::meant::Source;
use crate::verify::images::Workload;
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_json::Texts;
use bumpwright_text::pointer::escaped;

/// Longer texts, in bytes, are not read: they are data.
const LONGEST: usize = 1 << 20;
/// A number with fewer digits is a setting.
const DIGITS: usize = 8;

/// Words that say what a password is for, or that there is one.
const SWITCHES: [&str; 20] = [
    "always",
    "auto",
    "basic",
    "bearer",
    "default",
    "disabled",
    "enabled",
    "false",
    "generate",
    "generated",
    "header",
    "never",
    "no",
    "none",
    "null",
    "optional",
    "random",
    "required",
    "true",
    "yes",
];

/// A value that nobody else may know.
struct Credential {
    /// Its field, as a JSON pointer.
    pointer: String,
    key: String,
    value: String,
}

/// The credentials of an object in the order of its fields, and the pointers to these.
#[derive(Default)]
struct Found {
    all: Vec<Credential>,
    fields: BTreeSet<String>,
}

/// A finding about the credentials that an object of this repository has with the change.
pub(super) fn check(change: &Change<'_>, object: &Changed<'_>) -> Option<Finding> {
    let new = object.new?;
    let value = &new.object.value;
    let is_own = new.node.release.is_none() && new.node.source == Source::This;
    if !is_own || is_sealed(value) {
        return None;
    }
    let product = new.node.product.as_ref().ok()?;
    let old = object.old_value().into_iter().flat_map(credentials);
    let old: BTreeSet<String> = old.map(|one| one.value).collect();
    let id = new.object.id();
    let is_confidential = product.hidden.objects.contains(&[id.group, id.kind, id.name.name]);
    let mut found = credentials(value);
    found.retain(|one| {
        // What the build has decrypted, or has from a Secret, is not in the file.
        let is_hidden = is_confidential || product.hides(&one.value);
        !old.contains(&one.value) && (!is_hidden || is_written(change, new.object, &one.value))
    });
    let first = found.first()?;
    let keys: Vec<String> = found.iter().map(|one| one.key.clone()).collect();
    let (values, are) = if keys.len() == 1 {
        ("value", "is")
    } else {
        ("values", "are")
    };
    let message = format!(
        "the {values} of {} {are} in clear text, outside of a Secret",
        few(&keys)
    );
    let finding = change.at(Rule::ClearTextSecret, object, &first.pointer, message);
    let way_out =
        "if it is a credential, change it and put the new one into an encrypted Secret; else accept the finding";
    Some(finding.severity(Severity::Warning).help(way_out))
}

/// Whether the file of an object has a text.
fn is_written(change: &Change<'_>, object: &FleetObject, text: &str) -> bool {
    let place = object.origin.as_deref().and_then(places::split);
    let file = place.and_then(|place| change.cluster.places.file(&place.path));
    file.is_some_and(|file| memchr::memmem::find(&file.bytes, text.as_bytes()).is_some())
}

/// The credentials of an object that is not a Secret.
fn credentials(object: &Value) -> Vec<Credential> {
    let field = |pointer: &str| vec![pointer.to_owned()];
    let fields = match bumpwright_api::group_kind(object) {
        ("", "Secret") | ("apiextensions.k8s.io", _) => return Vec::new(),
        ("", "ConfigMap") => field("/data"),
        (KUSTOMIZE_GROUP, "Kustomization") => field("/spec/postBuild/substitute"),
        (HELM_GROUP, "HelmRelease") => field("/spec/values"),
        (group, kind) => variables(object, group, kind),
    };
    let mut found = Found::default();
    for pointer in fields {
        if let Some(value) = object.pointer(&pointer) {
            search("", value, &pointer, &mut found);
        }
    }
    private_keys("", object, "", &mut found);
    found.all
}

/// The pointers to the variables of the containers of a workload.
fn variables(object: &Value, group: &str, kind: &str) -> Vec<String> {
    let Some(workload) = Workload::of(group, kind) else {
        return Vec::new();
    };
    let spec = format!("{}/spec", workload.template_pointer(kind));
    let lists = ["containers", "initContainers", "ephemeralContainers"];
    let lists = lists.into_iter().flat_map(|list| {
        let list = format!("{spec}/{list}");
        let count = object.pointer(&list).and_then(Value::as_array).map_or(0, Vec::len);
        (0..count).map(move |at| format!("{list}/{at}/env"))
    });
    lists.collect()
}

/// Finds credentials in a value, by the keys that give them.
fn search(key: &str, value: &Value, pointer: &str, found: &mut Found) {
    match value {
        Value::Object(fields) => {
            // A variable of a container, as charts take them, too.
            let (name, text) = (value.text_of("name"), value.text_of("value"));
            if !name.is_empty() && !text.is_empty() {
                add(name, text, format!("{pointer}/value"), found);
            }
            for (key, below) in fields {
                search(key, below, &format!("{pointer}/{}", escaped(key)), found);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                search(key, item, &format!("{pointer}/{at}"), found);
            }
        }
        Value::String(text) => add(key, text, pointer.to_owned(), found),
        Value::Number(number) => add(key, &number.to_string(), pointer.to_owned(), found),
        Value::Bool(_) | Value::Null => {}
    }
}

/// Adds what a text has, unless its field was found before.
fn add(key: &str, text: &str, pointer: String, found: &mut Found) {
    if found.fields.contains(&pointer) {
        return;
    }
    let credentials = in_text(key, text);
    if credentials.is_empty() {
        return;
    }
    found.all.extend(credentials.into_iter().map(|(key, value)| Credential {
        pointer: pointer.clone(),
        key,
        value,
    }));
    found.fields.insert(pointer);
}

/// Finds private keys in all texts of an object.
fn private_keys(key: &str, value: &Value, pointer: &str, found: &mut Found) {
    match value {
        Value::Object(fields) => {
            for (key, below) in fields {
                private_keys(key, below, &format!("{pointer}/{}", escaped(key)), found);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                private_keys(key, item, &format!("{pointer}/{at}"), found);
            }
        }
        Value::String(text) => {
            let is_known = found.fields.contains(pointer);
            if let Some(line) = shapes::private_key(text).filter(|_| !is_known) {
                found.all.push(Credential {
                    pointer: pointer.to_owned(),
                    key: key.to_owned(),
                    value: line.to_owned(),
                });
            }
        }
        _ => {}
    }
}

/// The credentials of a text with their keys: of a file those in its lines or fields.
fn in_text(key: &str, text: &str) -> Vec<(String, String)> {
    let text = text.trim();
    if text.len() > LONGEST {
        return Vec::new();
    }
    if let Some(line) = shapes::private_key(text) {
        return vec![(key.to_owned(), line.to_owned())];
    }
    let mut entries = Vec::new();
    match document(text) {
        Some(document) => fields(key, &document, &mut entries),
        None if text.contains('\n') => lines(key, text, &mut entries),
        None => entries.push((key.to_owned(), text.to_owned())),
    }
    entries.retain(|(key, value)| is_credential(key, value));
    entries
}

/// The texts of a JSON document with their keys.
fn fields(key: &str, value: &Value, entries: &mut Vec<(String, String)>) {
    match value {
        Value::Object(all) => all.iter().for_each(|(key, below)| fields(key, below, entries)),
        Value::Array(items) => items.iter().for_each(|item| fields(key, item, entries)),
        Value::String(text) => entries.push((key.to_owned(), text.clone())),
        Value::Number(number) => entries.push((key.to_owned(), number.to_string())),
        Value::Bool(_) | Value::Null => {}
    }
}

/// The values that the lines of a file give to keys; a line that gives none as a whole, with the key of the file.
fn lines(key: &str, text: &str, entries: &mut Vec<(String, String)>) {
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|line| !line.starts_with(['#', ';']) && !line.starts_with("//")) {
        entries.push(match pair(line) {
            Some((key, value)) if !shapes::is_code(value) => (key.to_owned(), value.to_owned()),
            // Of such a line only what is plainly a token counts, whatever the file is called.
            _ if shapes::has_token(&shapes::without_variables(line)) => (key.to_owned(), line.to_owned()),
            _ => continue,
        });
    }
}

/// Whether the value of a key is plainly a credential.
fn is_credential(key: &str, value: &str) -> bool {
    let value = value.trim();
    if value.is_empty() || shapes::is_reference(value) {
        return false;
    }
    let rest = shapes::without_variables(value);
    if shapes::has_token(&rest) {
        return true;
    }
    let is_whole = rest.as_ref() == value;
    match Kind::of(key) {
        Some(kind) => is_whole && kind.has(value),
        None => false,
    }
}

/// Whether a word ends in one of several: `adminpassword` is a password.
fn ends(word: &str, endings: &[&str]) -> bool {
    endings.iter().any(|end| word.ends_with(end))
}

/// What a key says that its value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What a person chose: any word may be one.
    Password,
    /// What a program made.
    Token,
    /// A token, or the name of a Secret.
    Secret,
}

impl Kind {
    fn of(key: &str) -> Option<Self> {
        const NOT: [&str; 10] = [
            "existing",
            "forgot",
            "hint",
            "label",
            "placeholder",
            "prompt",
            "pub",
            "public",
            "ref",
            "reset",
        ];
        let words = words(key);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if is_setting(key) || words.iter().any(|word| NOT.contains(word)) {
            return None;
        }
        match words.as_slice() {
            [.., last] if ends(last, &["password", "passwords", "passwd", "passphrase"]) => Some(Self::Password),
            [.., "pwd"] | [_, .., "pass"] => Some(Self::Password),
            [.., last]
                if ends(
                    last,
                    &["token", "tokens", "apikey", "secretkey", "privatekey", "clientsecret"],
                ) =>
            {
                Some(Self::Token)
            }
            [
                ..,
                "api" | "secret" | "private" | "encryption" | "signing" | "master" | "account",
                "key",
            ]
            | [
                ..,
                "client" | "app" | "consumer" | "shared" | "session" | "jwt" | "hmac" | "webhook",
                "secret",
            ] => Some(Self::Token),
            [.., last] if ends(last, &["secret", "secrets", "credential", "credentials"]) => Some(Self::Secret),
            _ => None,
        }
    }

    fn has(self, value: &str) -> bool {
        let is_number = value.len() < DIGITS && value.bytes().all(|byte| byte.is_ascii_digit());
        // Variables of programs, paths, templates and descriptions.
        let is_other = value.starts_with(['$', '/', '<', '%', '@']) || value.contains(char::is_whitespace);
        if is_number
            || is_other
            || SWITCHES.contains(&value.to_ascii_lowercase().as_str())
            || shapes::is_placeholder(value)
            || shapes::is_default(value)
            || shapes::is_hash(value)
            || shapes::is_address(value)
        {
            return false;
        }
        let is_object_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '/');
        match self {
            Self::Password => true,
            Self::Token => !shapes::is_name(value),
            Self::Secret => shapes::is_random(value) || !(shapes::is_name(value) || value.chars().all(is_object_name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_configured_is_not_a_credential() {
        for (key, value) in [
            ("passwordKey", "admin-password"),
            ("existingSecret", "db-credentials"),
            ("secretName", "web-tls01"),
            ("tokenReviewer", "kube-system1"),
            ("password", ""),
            ("password", "${PASSWORD}"),
            ("password", "$(PASSWORD)"),
            ("password", "$__file{/etc/secrets/password}"),
            ("password", "<path:kv/data/web#password>"),
            ("password", "{{ .Values.password }}"),
            ("password", "changeme"),
            ("password", "CHANGE_ME"),
            ("password", "required"),
            ("password", "1234567"),
            ("password", "/run/secrets/password"),
            ("token", "https://login.example.com/oauth2/token"),
            ("token", "default"),
            ("secret", "db-prod01"),
            ("imagePullSecrets", "regcred01"),
            ("clientSecret", "oidc"),
            ("url", "postgres://app@db/app"),
            ("url", "postgres://app:${PASSWORD}@db/app"),
            ("checksum", "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA"),
            ("sortKey", "hunter2hunter2"),
        ] {
            assert!(!is_credential(key, value), "{key}: {value}");
        }
    }

    #[test]
    fn plain_credentials_are_recognised() {
        for (key, value) in [
            ("password", "hunter2"),
            ("adminPassword", "admin"),
            ("DB_PASS", "hunter2"),
            ("PGPASSWORD", "hunter2"),
            ("password", "12345678"),
            ("token", "hunter2-hunter2"),
            ("secretKey", "wJalrXUtnFEMIK7MDENG"),
            ("api-key", "q7f0c9"),
            ("clientSecret", "x8Q~hunter2"),
            ("secret", "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA"),
            ("url", "postgres://app:hunter2@db/app"),
            ("anything", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
        ] {
            assert!(is_credential(key, value), "{key}: {value}");
        }
    }

    #[test]
    fn files_have_credentials_in_their_lines_and_fields() {
        let keys = |key: &str, text: &str| -> Vec<String> {
            let found = in_text(key, text);
            found.into_iter().map(|(key, _)| key).collect()
        };
        let properties = "# password=old\nspring.datasource.password=hunter2\nuser=app\nTOKEN=$(cat /run/token)\n";
        assert_eq!(
            keys("application.properties", properties),
            ["spring.datasource.password"]
        );
        assert_eq!(
            keys("a.json", r#"{"db": {"password": "hunter2", "port": 5432}}"#),
            ["password"]
        );
        let program = "#!/bin/sh\ncurl https://bot:hunter2@git.example.com/\n";
        assert_eq!(keys("run.sh", program), ["run.sh"]);
        let block = |name: &str, body: &str| format!("-----BEGIN {name}-----\n{body}\n-----END {name}-----\n");
        let body = "b3BlbnNzaC1rZXktdjEAAAAA";
        assert_eq!(keys("id", &block("OPENSSH PRIVATE KEY", body)), ["id"]);
        let none: [&str; 0] = [];
        assert_eq!(keys("id", &block("OPENSSH PRIVATE KEY", "...")), none);
        assert_eq!(keys("id", &block("ENCRYPTED PRIVATE KEY", body)), none);
        assert_eq!(keys("id", &block("CERTIFICATE", body)), none);
    }
}
