//! Logins at Vault with tokens of ServiceAccounts (N-061): a server that checks every login, issues a token, and
//! accepts only that one.

use super::vault::{encrypted, key, transit};
use super::*;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bumpwright_kms::{LoginPaths, ReadConfig, TransitLogin, VaultLogins};
use std::collections::BTreeMap;

/// A token of the ServiceAccount `apps/decryptor`, which names whom it is for.
fn jwt(audience: &str) -> String {
    let claims = json!({"sub": "system:serviceaccount:apps:decryptor", "aud": [audience]});
    format!("hunter2.{}.sig", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// Logins by a ConfigMap with these entries.
fn logins(entries: &[(&str, &str)]) -> VaultLogins {
    let entries: BTreeMap<String, String> = entries
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    VaultLogins {
        paths: config_map(Box::new(move || Ok(entries.clone()))),
        issue: Box::new(|audience, _| Ok(Secret::new(jwt(audience)))),
    }
}

fn config_map(read: Box<ReadConfig>) -> LoginPaths {
    LoginPaths::ConfigMap {
        name: "flux-system/vaults".to_owned(),
        read,
    }
}

fn config(server: &str, path: &str) -> String {
    format!("instances:\n- address: {server}\n  loginPath: {path}\n")
}

/// Gives a token to who comes with the right role and a JWT for this server; the token decrypts.
fn vault(request: &Request) -> Reply {
    if request.path != "/v1/ns1/auth/kubernetes/login" {
        return transit(request);
    }
    assert_eq!(
        (request.method.as_str(), request.header("x-vault-request")),
        ("PUT", Some("true"))
    );
    assert_eq!(request.header("x-vault-token"), None, "a login needs no token");
    let server = format!("http://{}", request.header("host").unwrap());
    if body(request) == json!({"role": "apps_decryptor", "jwt": jwt(&server)}) {
        Reply::json(&json!({"request_id": "1", "data": null, "auth": {"client_token": "hunter2.login"}}))
    } else {
        refusal(
            400,
            &json!({"errors": [format!("no role for {}", body(request)["jwt"])]}),
        )
    }
}

#[test]
fn n_061_the_secret_then_the_login_and_never_the_environment() {
    let server = StubHttp::start(vault);
    let address = format!("http://{}", server.address());
    let config = config(&address, "ns1/auth/kubernetes/login");
    let secret = key(&address, &encrypted());
    let own = cloud(&[("VAULT_TOKEN", "hunter2.process")]);
    let last = || {
        server
            .requests()
            .last()
            .unwrap()
            .header("x-vault-token")
            .map(str::to_owned)
    };

    let both = services(own.clone(), &[("sops.vault-token", "hunter2.secret")])
        .with_vault_logins(Some(logins(&[("config.yaml", &config)])));
    assert_eq!(plain(&both, &secret), DATA_KEY);
    assert_eq!(last().as_deref(), Some("hunter2.secret"));

    let login = services(own.clone(), &[]).with_vault_logins(Some(logins(&[("config.yaml", &config)])));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(plain(&login, &secret), DATA_KEY));
        }
    });
    assert_eq!(last().as_deref(), Some("hunter2.login"));
    let times = server
        .requests()
        .iter()
        .filter(|request| request.path.ends_with("/login"))
        .count();
    assert_eq!(times, 1, "one login serves all files of a run");

    // Other servers get nothing, not the token of the process either.
    let elsewhere = StubHttp::start(vault);
    let elsewhere_at = format!("http://{}", elsewhere.address());
    let said = failure(&login, &key(&elsewhere_at, &encrypted()));
    let wanted =
        format!("no Vault login path configured for address '{elsewhere_at}' in ConfigMap 'flux-system/vaults'");
    assert_eq!(said, wanted);
    assert_eq!(elsewhere.requests().len(), 0);

    let without = services(own, &[]).with_vault_logins(None);
    assert_eq!(plain(&without, &secret), DATA_KEY);
    assert_eq!(last().as_deref(), Some("hunter2.process"));
}

#[test]
fn n_061_what_a_login_fails_of_is_told() {
    let server = StubHttp::start(|request| match request.path.as_str() {
        "/v1/none/login" => Reply::json(&json!({"request_id": "1", "auth": null})),
        "/v1/gone/login" => refusal(404, &json!({"errors": []})),
        "/v1/empty/login" => Reply::status(204),
        _ => vault(request),
    });
    let address = format!("http://{}", server.address());
    let secret = key(&address, &encrypted());
    let failing = |logins| {
        failure(
            &services(cloud(&[("HOME", "/nowhere")]), &[]).with_vault_logins(Some(logins)),
            &secret,
        )
    };
    let at = |path: &str| failing(logins(&[("config.yaml", &config(&address, path))]));
    let start = |path: &str| {
        format!("failed to authenticate with Vault '{address}' at login path '{path}' as role 'apps_decryptor': ")
    };
    for path in ["none/login", "empty/login"] {
        assert_eq!(
            at(path),
            format!("Vault '{address}' returned no token for login at '{path}' as role 'apps_decryptor'")
        );
    }
    let said = at("gone/login");
    assert!(
        said.starts_with(&start("gone/login")) && said.contains("Code: 404. Errors:"),
        "{said}"
    );
    // An answer that repeats what was sent is told without it.
    let other = VaultLogins {
        issue: Box::new(|_, _| Ok(Secret::new(jwt("https://other")))),
        ..logins(&[("config.yaml", &config(&address, "ns1/auth/kubernetes/login"))])
    };
    let said = failing(other);
    let wanted = format!(
        "Error making API request.\n\nURL: PUT {address}/v1/ns1/auth/kubernetes/login\nCode: 400. Errors:\n\n* no role for \"***\""
    );
    assert_eq!(said, format!("{}{wanted}", start("ns1/auth/kubernetes/login")));

    assert_eq!(
        failing(logins(&[("other.yaml", "")])),
        "Vault ConfigMap 'flux-system/vaults' is missing the 'config.yaml' key"
    );
    let said = failing(logins(&[("config.yaml", "instances: [")]));
    assert!(
        said.starts_with(
            "failed to parse 'config.yaml' in Vault ConfigMap 'flux-system/vaults': error converting YAML"
        ),
        "{said}"
    );
    let unread = VaultLogins {
        paths: config_map(Box::new(|| Err("configmaps \"vaults\" not found".into()))),
        ..logins(&[])
    };
    assert_eq!(
        failing(unread),
        "failed to get Vault ConfigMap 'flux-system/vaults': configmaps \"vaults\" not found"
    );
    let nobody = VaultLogins {
        issue: Box::new(|_, _| Err("ServiceAccount \"x\" not found".into())),
        ..logins(&[("config.yaml", &config(&address, "x"))])
    };
    assert_eq!(
        failing(nobody),
        "failed to issue Kubernetes token for Vault authentication: ServiceAccount \"x\" not found"
    );
    let no_account = VaultLogins {
        issue: Box::new(|_, _| Ok(Secret::new("hunter2"))),
        ..logins(&[("config.yaml", &config(&address, "x"))])
    };
    assert_eq!(
        failing(no_account),
        "failed to derive Vault role for authentication: not a JWT"
    );
}

/// `transit-engine.auth.fluxcd.io`: path and role are those of the annotations, at the server of the file.
#[test]
fn n_061_annotations_name_path_and_role() {
    let server = StubHttp::start(|request| {
        if request.path != "/v1/ns1/auth/jwt/login" {
            return transit(request);
        }
        assert_eq!(request.header("x-vault-token"), None, "a login needs no token");
        let server = format!("http://{}", request.header("host").unwrap());
        if body(request) == json!({"role": "sops", "jwt": jwt(&server)}) {
            Reply::json(&json!({"request_id": "1", "data": null, "auth": {"client_token": "hunter2.login"}}))
        } else {
            refusal(400, &json!({"errors": ["no role"]}))
        }
    });
    let address = format!("http://{}", server.address());
    let login = |role: &str| {
        let annotations = [
            ("transit-engine.auth.fluxcd.io/login-path", "ns1/auth/jwt/login"),
            ("transit-engine.auth.fluxcd.io/role", role),
        ];
        let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let login = TransitLogin::read(&annotations.into()).unwrap().unwrap();
        let logins = VaultLogins {
            paths: LoginPaths::Annotations(login),
            issue: Box::new(|audience, _| Ok(Secret::new(jwt(audience)))),
        };
        let own = cloud(&[("VAULT_TOKEN", "hunter2.process")]);
        services(own, &[]).with_vault_logins(Some(logins))
    };
    let secret = key(&address, &encrypted());
    assert_eq!(plain(&login("sops"), &secret), DATA_KEY);
    let requests = server.requests();
    assert_eq!(requests.last().unwrap().header("x-vault-token"), Some("hunter2.login"));
    let said = failure(&login("other"), &secret);
    let start =
        format!("failed to authenticate with Vault '{address}' at login path 'ns1/auth/jwt/login' as role 'other': ");
    assert!(said.starts_with(&start), "{said}");
}
