//! The choice of logins for images, compared with a table made by go-containerregistry (`fixtures/registry/generate`).
//!
//! Where Go's choice depends on the order of a map, the table has all observed ones, and ours must be one of them.

use std::convert::Infallible;
use std::fs;
use std::path::Path;

use bumpwright_policy::{Reference, Validation};
use bumpwright_registry::{DockerConfig, HelperLogin, Keychain, Login, PullSecret, SecretError};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

#[test]
fn logins_are_those_of_go_containerregistry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/registry/keychain.jsonl");
    let (mut rows, mut at_hub, mut wrong) = (0, 0, Vec::new());
    for line in fs::read_to_string(path).unwrap().lines() {
        let row: Json = serde_json::from_str(line).unwrap();
        let reference = Reference::parse(row["image"].as_str().unwrap(), Validation::Weak).unwrap();
        let ours = match row.get("secrets") {
            Some(secrets) => from_secrets(secrets, &reference),
            None => from_docker(&row, &reference),
        };
        rows += 1;
        match (ours, row.get("error").and_then(Json::as_str)) {
            (Ok(ours), None) if row["logins"].as_array().unwrap().contains(&ours) => {}
            (Ok(_), None) if is_other_name_of_the_hub(&row, &reference) => at_hub += 1,
            (Err(ours), Some(theirs)) if is_told_alike(&ours, theirs) => {}
            (ours, _) => wrong.push(format!("{ours:?} for {row}")),
        }
    }
    println!(
        "registry keychain: {} of {rows}, of them {at_hub} by Docker Hub's other names",
        rows - wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows >= 200, "only {rows} rows");
}

/// A configuration with a secret in every place that has one.
const SECRETS: &str = r#"{"auths": {
    "https://ghcr.io/v1/": {"username": "me", "password": "hunter2Hunter2", "auth": "bWU6aHVudGVyMkh1bnRlcjI="},
    "https://me:hunter2Hunter2@quay.io": {"identitytoken": "hunter2Hunter2", "registrytoken": "hunter2Hunter2"}
}, "credHelpers": {"gcr.io": "gcr"}, "credsStore": "pass"}"#;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any mutation: an error, or none, but without a part of a secret.
    #[test]
    fn faults_show_no_secret(
        (at, length, put) in (0..SECRETS.len(), 0_usize..60, "[\\[\\]{}\",: a5\\\\]{0,3}"),
        legacy in any::<bool>(),
    ) {
        let mut text = SECRETS.to_owned();
        text.replace_range(at..(at + length).min(SECRETS.len()), &put);
        let secret = PullSecret {
            name: "flux-system/regcred",
            kind: if legacy { "kubernetes.io/dockercfg" } else { "kubernetes.io/dockerconfigjson" },
            config_json: Some(text.as_bytes()),
            dockercfg: Some(text.as_bytes()),
        };
        let mut told = vec![format!("{:?}", DockerConfig::read(text.as_bytes()))];
        told.extend(DockerConfig::read(text.as_bytes()).err().map(|fault| fault.to_string()));
        match Keychain::from_secrets(&[secret]) {
            // Shows the name of a server in full, unless there is a user in it.
            Err(SecretError::NoUrl { .. }) => {}
            Err(error) => told.extend([format!("{error:?}"), error.to_string()]),
            Ok(keychain) => told.push(format!("{keychain:?}")),
        }
        for told in told {
            prop_assert!(!told.contains("unter2H") && !told.contains("VudGVy"), "{told} for {text}");
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in vec(any::<u8>(), 0..60)) {
        let _ = DockerConfig::read(&text);
        let _ = DockerConfig::default().with_environment(&text);
    }
}

#[test]
fn nesting_has_an_end() {
    let text = "{\"auths\":".repeat(100_000);
    assert!(DockerConfig::read(text.as_bytes()).is_err());
    let text = format!("{{\"x\":{}", "[".repeat(1_000_000));
    assert!(DockerConfig::read(text.as_bytes()).is_err());
}

fn from_secrets(secrets: &Json, reference: &Reference) -> Result<Json, String> {
    let value = |secret: &'_ Json, key: &str| secret["data"][key].as_str().map(|text| text.as_bytes().to_vec());
    let owned: Vec<_> = secrets
        .as_array()
        .unwrap()
        .iter()
        .map(|secret| {
            (
                secret["type"].as_str().unwrap(),
                value(secret, ".dockerconfigjson"),
                value(secret, ".dockercfg"),
            )
        })
        .collect();
    let secrets: Vec<PullSecret<'_>> = owned
        .iter()
        .map(|(kind, config_json, dockercfg)| PullSecret {
            name: "flux-system/regcred",
            kind,
            config_json: config_json.as_deref(),
            dockercfg: dockercfg.as_deref(),
        })
        .collect();
    let keychain = Keychain::from_secrets(&secrets).map_err(|error| error.to_string())?;
    Ok(told(&keychain.login(reference)))
}

fn from_docker(row: &Json, reference: &Reference) -> Result<Json, String> {
    let config = DockerConfig::read(row["config"].as_str().unwrap().as_bytes());
    let config = config.and_then(|config| match row["environment"].as_str() {
        Some(text) => config.with_environment(text.as_bytes()),
        None => Ok(config),
    });
    let ask = |helper: &str, server: &str| Ok::<_, Infallible>(row["helpers"][helper][server].as_str().map(answer));
    let login = config.map_err(|fault| fault.to_string())?.login(reference, ask);
    Ok(told(&login.unwrap()))
}

/// Parses a helper's answer. The table's answers are JSON with member names in any case, as Go accepts.
fn answer(text: &str) -> HelperLogin {
    let answer: Json = serde_json::Deserializer::from_str(text)
        .into_iter()
        .next()
        .unwrap()
        .unwrap();
    let field = |names: [&str; 2]| names.iter().find_map(|name| answer[*name].as_str()).unwrap().to_owned();
    let secret = field(["Secret", "SECRET"]).into();
    match field(["Username", "username"]) {
        name if name == "<token>" => HelperLogin::IdentityToken(secret),
        username => HelperLogin::Password {
            username,
            password: secret,
        },
    }
}

/// A login in the format of the table.
fn told(login: &Login) -> Json {
    match login {
        Login::Anonymous => json!({"kind": "anonymous"}),
        Login::Basic { username, password } => {
            json!({"kind": "basic", "username": username, "secret": password.expose()})
        }
        Login::IdentityToken(token) => json!({"kind": "identity-token", "secret": token.expose()}),
        Login::RegistryToken(token) => json!({"kind": "registry-token", "secret": token.expose()}),
    }
}

/// go-containerregistry knows Docker Hub by one name in docker's configuration; others serve here where it finds none.
fn is_other_name_of_the_hub(row: &Json, reference: &Reference) -> bool {
    let config = row["config"].as_str().unwrap_or_default();
    row["logins"] == json!([{"kind": "anonymous"}])
        && reference.registry() == "index.docker.io"
        && config.contains("docker.io")
}

/// Errors about URLs have Go's text, except that users and queries are not shown. Others have texts of their own.
fn is_told_alike(ours: &str, theirs: &str) -> bool {
    if theirs.starts_with("Entry ") && !theirs.contains(['@', '?', '#']) {
        ours == theirs
    } else {
        true
    }
}
