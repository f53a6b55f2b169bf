//! Azure Key Vault: a vault that checks every request and decrypts with an RSA key, and Entra beside it (K-130, K-131,
//! K-138 to K-142, K-145).

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;
use bumpwright_http as http;
use bumpwright_testkit::proxy::Proxy;
use bumpwright_testkit::rsa::Rsa;
use bumpwright_testkit::tls::Certificates;

const TENANT: &str = "11111111-2222-3333-4444-555555555555";
const VAULT: &str = "https://team.vault.azure.net";
const HOSTS: [&str; 4] = [
    "team.vault.azure.net",
    "evil.example.com",
    "login.microsoftonline.com",
    "login.partner.example",
];

/// The clouds of Azure on this machine.
struct Azure {
    server: StubHttp,
    rsa: Rsa,
    peer: Peer,
    folder: tempfile::TempDir,
}

impl Azure {
    /// None without openssl. `vault` answers in the place of the vault where it gives something.
    fn start(vault: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let rsa = Rsa::make(folder.path())?;
        let certificates = Certificates::for_host(&HOSTS.join(",DNS:"))?;
        let key = folder.path().join("rsa.key");
        let server = StubHttp::with(Some(certificates.server_config(false)), move |request| {
            if request.header("host").unwrap().starts_with("login.") {
                entra(request)
            } else {
                vault(request).unwrap_or_else(|| answer(request, &key))
            }
        });
        let leading = HOSTS.map(|host| (format!("{host}:443"), server.address()));
        let leading: Vec<_> = leading.iter().map(|(host, to)| (host.as_str(), *to)).collect();
        let proxy = Proxy::leading(None, &leading);
        let peer = Peer {
            tls: http::Tls {
                ca: Some(certificates.ca),
                ..http::Tls::default()
            },
            proxy: Some(http::Proxy::at(format!("http://{}", proxy.address))),
            ..peer()
        };
        Some(Self {
            server,
            rsa,
            peer,
            folder,
        })
    }

    fn services(&self, variables: &[(&str, &str)], entry: Option<&str>) -> Services {
        let entries: Vec<_> = entry.into_iter().map(|entry| ("sops.azure-kv", entry)).collect();
        services(cloud_through(self.peer.clone(), variables), &entries)
    }

    fn key(&self) -> MasterKey {
        let key = self.folder.path().join("rsa.key");
        key_at(
            VAULT,
            &URL_SAFE_NO_PAD.encode(openssl("-encrypt", &key, DATA_KEY).unwrap()),
        )
    }

    /// Requests to Entra since the last time.
    fn logins(&self) -> Vec<Request> {
        let requests = self.server.requests();
        self.server.clear();
        let is_login = |r: &Request| r.path.ends_with("/oauth2/v2.0/token");
        requests.into_iter().filter(is_login).collect()
    }
}

fn key_at(vault: &str, enc: &str) -> MasterKey {
    MasterKey::AzureKv {
        vault_url: vault.to_owned(),
        name: "sops".to_owned(),
        version: "v1".to_owned(),
        enc: enc.to_owned(),
        created_at: CREATED.to_owned(),
    }
}

/// RSA-OAEP with SHA-256, by openssl.
fn openssl(direction: &str, key: &Path, input: &[u8]) -> Option<Vec<u8>> {
    let options = ["rsa_padding_mode:oaep", "rsa_oaep_md:sha256", "rsa_mgf1_md:sha256"];
    let mut command = Command::new("openssl");
    command.args(["pkeyutl", direction, "-inkey"]).arg(key);
    for option in options {
        command.args(["-pkeyopt", option]);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    output.status.success().then_some(output.stdout)
}

fn entra(request: &Request) -> Reply {
    match request.fields("scope").as_slice() {
        [scope] if scope == "https://vault.azure.net/.default" => {
            Reply::json(&json!({"access_token": format!("{HUNTER}entra"), "expires_in": 3599}))
        }
        other => refusal(
            400,
            &json!({"error": "invalid_scope", "error_description": format!("{other:?}")}),
        ),
    }
}

fn challenge(tenant: &str) -> Reply {
    let said = format!(
        "Bearer authorization=\"https://login.microsoftonline.com/{tenant}\", resource=\"https://vault.azure.net\""
    );
    refusal(
        401,
        &json!({"error": {"code": "Unauthorized", "message": "AKV10000: no token"}}),
    )
    .header("WWW-Authenticate", &said)
}

fn answer(request: &Request, key: &Path) -> Reply {
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("POST", "/keys/sops/v1/decrypt?api-version=2025-07-01")
    );
    let Some(authorization) = request.header("authorization") else {
        assert_eq!(request.body, b"", "nothing is told before it is known who asks");
        return challenge(TENANT);
    };
    assert!(
        authorization.starts_with(&format!("Bearer {HUNTER}")),
        "{authorization}"
    );
    assert_eq!(request.header("content-type"), Some("application/json"));
    let sent = body(request);
    assert_eq!(sent["alg"], "RSA-OAEP-256");
    let sent = URL_SAFE_NO_PAD.decode(sent["value"].as_str().unwrap()).unwrap();
    match openssl("-decrypt", key, &sent) {
        Some(plain) => {
            Reply::json(&json!({"kid": format!("{VAULT}/keys/sops/v1"), "value": URL_SAFE_NO_PAD.encode(plain)}))
        }
        None => {
            let said = format!("not decrypted for {authorization}");
            refusal(400, &json!({"error": {"code": "BadParameter", "message": said}}))
        }
    }
}

#[test]
fn k_138_every_form_of_the_secret() {
    let Some(azure) = Azure::start(|_| None) else { return };
    let (certificate, key) = (&azure.rsa.certificate, &azure.rsa.key);
    let of_password = json!({"tenantId": TENANT, "clientId": "app", "clientSecret": HUNTER});
    let mut elsewhere = of_password.clone();
    elsewhere["authorityHost"] = json!("https://login.partner.example");
    let of_certificate = json!({
        "tenantId": TENANT, "clientId": "app", "clientCertificate": format!("{certificate}{key}"),
        "clientCertificateSendChain": true,
    });
    let by_az = json!({"appId": "app", "displayName": "d", "name": "http://n", "password": HUNTER, "tenant": TENANT});
    let yaml = format!("tenantId: {TENANT}\nclientId: app\nclientSecret: {HUNTER}\n");
    let rows = [
        (of_password.to_string(), "login.microsoftonline.com"),
        (elsewhere.to_string(), "login.partner.example"),
        (of_certificate.to_string(), "login.microsoftonline.com"),
        (by_az.to_string(), "login.microsoftonline.com"),
        (yaml, "login.microsoftonline.com"),
    ];
    let secret = azure.key();
    for (entry, host) in rows {
        // The environment names others, and has no word in it.
        let services = azure.services(
            &[
                ("AZURE_AUTHORITY_HOST", "https://login.other.example"),
                ("AZURE_CLIENT_ID", "other"),
            ],
            Some(&entry),
        );
        assert_eq!(plain(&services, &secret), DATA_KEY, "{host}");
        let logins = azure.logins();
        assert_eq!(logins.len(), 1);
        let login = &logins[0];
        assert_eq!(login.header("host").map(|h| h.trim_end_matches(":443")), Some(host));
        assert_eq!(login.path, format!("/{TENANT}/oauth2/v2.0/token"));
        assert_eq!(login.fields("client_id"), ["app"]);
        match login.fields("client_assertion").first() {
            None => assert_eq!(login.fields("client_secret"), [HUNTER]),
            Some(assertion) => {
                let (header, claims) = azure
                    .rsa
                    .verified(assertion, webpki::ring::RSA_PSS_2048_8192_SHA256_LEGACY_KEY);
                assert_eq!(
                    (&header["x5t#S256"], &claims["sub"]),
                    (&json!(azure.rsa.thumbprint()), &json!("app"))
                );
                assert_eq!(header["x5c"].as_array().unwrap().len(), 1);
            }
        }
        assert_eq!(plain(&services, &secret), DATA_KEY);
        assert_eq!(azure.server.count(), 1, "challenge and token are kept");
        azure.server.clear();
    }
}

#[test]
fn k_142_a_managed_identity_of_the_secret() {
    let Some(azure) = Azure::start(|_| None) else { return };
    let machine =
        StubHttp::start(|_| Reply::json(&json!({"access_token": format!("{HUNTER}machine"), "expires_in": "3599"})));
    let machine_at = machine.url("");
    let variables = [("AZURE_POD_IDENTITY_AUTHORITY_HOST", machine_at.as_str())];
    let services = azure.services(&variables, Some("clientId: b-1"));
    assert_eq!(plain(&services, &azure.key()), DATA_KEY);
    let asked = &machine.requests()[0];
    assert_eq!(
        (
            asked.parameter("client_id").as_deref(),
            asked.parameter("resource").as_deref(),
            asked.header("metadata")
        ),
        (Some("b-1"), Some("https://vault.azure.net"), Some("true"))
    );
    let token = azure
        .server
        .requests()
        .last()
        .unwrap()
        .header("authorization")
        .unwrap()
        .to_owned();
    assert_eq!(token, format!("Bearer {HUNTER}machine"));
}

#[test]
fn k_130_k_131_the_secret_then_the_service_account_then_the_process() {
    let Some(azure) = Azure::start(|_| None) else { return };
    let annotations = [
        ("azure.workload.identity/tenant-id", "tenant-of-account"),
        ("azure.workload.identity/client-id", "account"),
    ];
    let variables = [
        ("AZURE_TENANT_ID", "tenant-of-process"),
        ("AZURE_CLIENT_ID", "process"),
        ("AZURE_CLIENT_SECRET", HUNTER),
    ];
    let entry = json!({"tenantId": TENANT, "clientId": "secret", "clientSecret": HUNTER}).to_string();
    let rows: [(Pairs<'_>, _, &str, &str); 3] = [
        (&[("sops.azure-kv", &entry)], account(&annotations), "secret", TENANT),
        (&[], account(&annotations), "account", "tenant-of-account"),
        (&[], Ok(None), "process", "tenant-of-process"),
    ];
    for (entries, account, client, tenant) in rows {
        let cloud = cloud_through(azure.peer.clone(), &variables);
        let services = Services::new(cloud, given(entries), account, soon());
        assert_eq!(plain(&services, &azure.key()), DATA_KEY);
        let login = &azure.logins()[0];
        assert_eq!(login.fields("client_id"), [client]);
        assert_eq!(login.path, format!("/{tenant}/oauth2/v2.0/token"));
        if client == "account" {
            assert_eq!(
                login.fields("client_assertion"),
                [format!("{HUNTER} for api://AzureADTokenExchange")]
            );
        }
    }
}

#[test]
fn refusals_hold_no_secret() {
    let Some(azure) = Azure::start(|request| {
        let evil = request.header("host").unwrap().starts_with("evil.");
        evil.then(|| challenge(TENANT))
    }) else {
        return;
    };
    let entry = |tenant: &str| json!({"tenantId": tenant, "clientId": "app", "clientSecret": HUNTER}).to_string();
    let services = azure.services(&[], Some(&entry(TENANT)));
    let said = failure(&services, &key_at(VAULT, "AAAA"));
    assert!(said.starts_with(
        "failed to decrypt sops data key with Azure Key Vault key 'https://team.vault.azure.net/keys/sops/v1': POST "
    ));
    assert!(
        said.contains("RESPONSE 400: 400 Bad Request\nERROR CODE: BadParameter\n"),
        "{said}"
    );
    assert!(said.contains("\"message\": \"not decrypted for Bearer ***"), "{said}");
    let logins = azure.logins().len();
    assert_eq!(logins, 1);
    // Somebody who writes a file does not get a token for it.
    for vault in ["https://evil.example.com", "http://team.vault.azure.net"] {
        let said = failure(&services, &key_at(vault, "AAAA"));
        assert!(
            said.contains("doesn't match the requested domain") || said.contains("non-TLS"),
            "{said}"
        );
    }
    assert!(
        azure
            .server
            .requests()
            .iter()
            .all(|r| r.header("authorization").is_none())
    );
    let said = failure(&azure.services(&[], Some(&entry("other"))), &azure.key());
    assert!(
        said.contains(&format!(
            "ClientSecretCredential isn't configured to acquire tokens for tenant \"{TENANT}\""
        )),
        "{said}"
    );
    let said = failure(
        &azure.services(
            &[
                ("AZURE_TENANT_ID", "a/b"),
                ("AZURE_CLIENT_ID", "c"),
                ("AZURE_CLIENT_SECRET", HUNTER),
            ],
            None,
        ),
        &azure.key(),
    );
    assert!(
        said.contains("failed to create provider access token for the controller: "),
        "{said}"
    );
}

#[test]
fn faults_pass() {
    let Some(azure) = Azure::start(|request| match request.number {
        1 => Some(Reply::status(503)),
        4 => Some(Reply::status(429).header("Retry-After", "0")),
        // It takes other tokens from now on.
        6 => Some(challenge(TENANT)),
        // Entra is not asked again: its token is kept.
        9 => Some(Reply::text(200, "hunter2 is not valid JSON")),
        _ => None,
    }) else {
        return;
    };
    let entry = json!({"tenantId": TENANT, "clientId": "app", "clientSecret": HUNTER}).to_string();
    let services = azure.services(&[], Some(&entry));
    let secret = azure.key();
    assert_eq!(plain(&services, &secret), DATA_KEY);
    assert_eq!(azure.server.count(), 5, "503, challenge, login, 429, key");
    assert_eq!(plain(&services, &secret), DATA_KEY);
    assert_eq!(azure.server.count(), 8, "401, challenge, key");
    assert!(failure(&services, &secret).ends_with("cannot be used"));
    let hasty = Services::new(
        cloud_through(azure.peer.clone(), &[]),
        given(&[("sops.azure-kv", &entry)]),
        Ok(None),
        Deadline::after(Duration::ZERO),
    );
    assert!(failure(&hasty, &secret).contains("no answer within"));
}
