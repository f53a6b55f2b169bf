//! The transit engine of Vault: a server that checks every request and decrypts (K-144, K-146).

use super::*;
use bumpwright_testkit::tls::Certificates;

pub(super) fn key(server: &str, enc: &str) -> MasterKey {
    MasterKey::Vault {
        address: server.to_owned(),
        engine_path: "team/transit".to_owned(),
        key_name: "sops".to_owned(),
        enc: enc.to_owned(),
        created_at: CREATED.to_owned(),
    }
}

pub(super) fn encrypted() -> String {
    format!("vault:v1:{}", STANDARD.encode(sealed("transit", DATA_KEY)))
}

pub(super) fn transit(request: &Request) -> Reply {
    let said = |status: u16, said: &str| refusal(status, &json!({"errors": [said]}));
    assert_eq!(request.header("x-vault-request"), Some("true"));
    let token = request.header("x-vault-token").unwrap_or_default();
    if !token.starts_with("hunter2.") {
        return said(403, "permission denied");
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("PUT", "/v1/team/transit/decrypt/sops") => {
            let sent = body(request)["ciphertext"].as_str().unwrap().to_owned();
            let sent = sent
                .strip_prefix("vault:v1:")
                .and_then(|sent| STANDARD.decode(sent).ok());
            match sent.and_then(|sent| opened("transit", &sent)) {
                Some(plain) => Reply::json(&json!({"request_id": "1", "data": {"plaintext": STANDARD.encode(plain)}})),
                None => said(400, &format!("cipher: message authentication failed for {token}")),
            }
        }
        _ => said(404, "no handler for route"),
    }
}

#[test]
fn k_144_k_146_the_secret_then_the_environment_then_the_home_folder() {
    let server = StubHttp::start(transit);
    let address = format!("http://{}", server.address());
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".vault-token"), "hunter2.home\n").unwrap();
    let home = ("HOME", home.path().to_str().unwrap());
    let own = ("VAULT_TOKEN", "hunter2.process");
    let secret: &[(&str, &str)] = &[("sops.vault-token", " hunter2.secret\n\n")];
    let rows: [(Pairs<'_>, Pairs<'_>, &str); 4] = [
        (secret, &[own, home], "hunter2.secret"),
        (&[], &[own, home], "hunter2.process"),
        (&[("sops.vault-token", "\n")], &[own, home], "hunter2.process"),
        (&[], &[home], "hunter2.home"),
    ];
    for (entries, variables, expected) in rows {
        let services = services(cloud(variables), entries);
        assert_eq!(plain(&services, &key(&address, &encrypted())), DATA_KEY);
        assert_eq!(
            server.requests().last().unwrap().header("x-vault-token"),
            Some(expected)
        );
    }
    let nobody = services(
        cloud(&[("HOME", "/nowhere"), ("VAULT_ADDR", "http://127.0.0.1:1")]),
        &[],
    );
    assert!(failure(&nobody, &key(&address, &encrypted())).ends_with("Code: 403. Errors:\n\n* permission denied"));
    let said = failure(&services(cloud(&[own]), &[]), &key(&address, "vault:v1:AAAA"));
    assert!(
        said.ends_with("* cipher: message authentication failed for ***"),
        "{said}"
    );
}

#[test]
fn tls_namespaces_and_agents() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let server = StubHttp::with(Some(certificates.server_config(true)), transit);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (ca, chain, own) = (
        file("ca.pem", &certificates.ca),
        file("client.pem", &certificates.client.0),
        file("client.key", &certificates.client.1),
    );
    let roots = tempfile::tempdir().unwrap();
    std::fs::write(roots.path().join("a.pem"), &certificates.ca).unwrap();
    let pem = String::from_utf8(certificates.ca.clone()).unwrap();
    let client = [
        ("VAULT_CLIENT_CERT", chain.as_str()),
        ("VAULT_CLIENT_KEY", &own),
        ("VAULT_TOKEN", "hunter2.x"),
    ];
    let secret = key(&server.url(""), &encrypted());
    for trust in [
        ("VAULT_CACERT", ca.as_str()),
        ("VAULT_CACERT_BYTES", &pem),
        ("VAULT_CAPATH", roots.path().to_str().unwrap()),
        ("VAULT_SKIP_VERIFY", "1"),
    ] {
        let variables = [&client[..], &[trust, ("VAULT_NAMESPACE", "team/a")]].concat();
        assert_eq!(
            plain(&services(cloud(&variables), &[]), &secret),
            DATA_KEY,
            "{}",
            trust.0
        );
        assert_eq!(
            server.requests().last().unwrap().header("x-vault-namespace"),
            Some("team/a")
        );
    }
    let said = failure(&services(cloud(&client), &[]), &secret);
    assert!(said.contains("TLS failed"), "{said}");
    let agent_at = server.url("");
    let agent = [
        &client[..],
        &[("VAULT_CACERT", ca.as_str()), ("VAULT_AGENT_ADDR", &agent_at)],
    ]
    .concat();
    let elsewhere = key("https://vault.example:8200", &encrypted());
    assert_eq!(plain(&services(cloud(&agent), &[]), &elsewhere), DATA_KEY);

    for (variables, said) in [
        (
            ("VAULT_CACERT", "/nowhere"),
            "VAULT_CACERT names /nowhere, which cannot be read",
        ),
        (
            ("VAULT_CLIENT_KEY", own.as_str()),
            "both client cert and client key must be provided",
        ),
        (
            ("VAULT_HEADERS", "{\"x\":\"hunter2\"}"),
            "VAULT_HEADERS is not supported; unset it",
        ),
        (("VAULT_MAX_RETRIES", "hunter2"), "VAULT_MAX_RETRIES is not a number"),
        (
            ("VAULT_CLIENT_TIMEOUT", "hunter2"),
            "could not parse \"VAULT_CLIENT_TIMEOUT\"",
        ),
    ] {
        let got = failure(&services(cloud(&[variables]), &[]), &secret);
        assert!(
            got.contains("error encountered setting up default configuration") && got.contains(said),
            "{got}"
        );
    }
}

#[test]
fn faults_pass_and_redirects_stay_secure() {
    let server = StubHttp::start(|request| match request.number {
        1 => Reply::status(429).header("Retry-After", "0"),
        2 => refusal(503, &json!({"errors": ["Vault is sealed"]})).header("Retry-After", "0"),
        3 => transit(request),
        _ => Reply::status(307).header("Location", "ftp://elsewhere/"),
    });
    let address = format!("http://{}", server.address());
    let services = services(cloud(&[("VAULT_TOKEN", "hunter2.x")]), &[]);
    let secret = key(&address, &encrypted());
    assert_eq!(plain(&services, &secret), DATA_KEY);
    assert!(failure(&services, &secret).ends_with("redirect would cause protocol downgrade"));

    let slow = StubHttp::start(|request| transit(request).after(Duration::from_secs(5)));
    let slow = key(&format!("http://{}", slow.address()), &encrypted());
    for (variables, deadline) in [
        (
            &[
                ("VAULT_TOKEN", "hunter2.x"),
                ("VAULT_MAX_RETRIES", "0"),
                ("VAULT_CLIENT_TIMEOUT", "200ms"),
            ][..],
            soon(),
        ),
        (
            &[("VAULT_TOKEN", "hunter2.x")],
            Deadline::after(Duration::from_millis(200)),
        ),
    ] {
        let hasty = Services::new(cloud(variables), given(&[]), Ok(None), deadline);
        assert!(failure(&hasty, &slow).contains("no answer within"));
    }
}
