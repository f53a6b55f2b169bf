//! Google Cloud KMS: a server that checks every request and decrypts (K-130, K-131, K-143, K-145).

use super::*;
use bumpwright_testkit::rsa::Rsa;

const KEY: &str = "projects/p/locations/global/keyRings/r/cryptoKeys/k";

fn key(resource: &str, enc: &[u8]) -> MasterKey {
    MasterKey::GcpKms {
        resource_id: resource.to_owned(),
        enc: STANDARD.encode(enc),
        created_at: CREATED.to_owned(),
    }
}

/// Tokens that tell who asked, and keys that decrypt what was encrypted with their name.
fn google(request: &Request) -> Reply {
    let token = |name: &str| Reply::json(&json!({"access_token": format!("{HUNTER}{name}"), "expires_in": 3600}));
    match request.path.as_str() {
        "/token" => token("key"),
        "/process" => token("process"),
        "/sts" => token(&request.fields("subject_token")[0].replace(' ', "-")),
        path => {
            let Some(name) = path.strip_prefix("/v1/").and_then(|path| path.strip_suffix(":decrypt")) else {
                return Reply::status(404);
            };
            let said = |status: u16, code: &str, said: &str| {
                refusal(
                    status,
                    &json!({"error": {"code": status, "status": code, "message": said}}),
                )
            };
            assert_eq!(request.header("content-type"), Some("application/json"));
            let authorization = request.header("authorization").unwrap();
            if !authorization.starts_with(&format!("Bearer {HUNTER}")) {
                return said(401, "UNAUTHENTICATED", authorization);
            }
            if name.ends_with("forbidden") {
                return said(403, "PERMISSION_DENIED", &format!("not with {authorization}"));
            }
            assert_eq!(body(request)["name"], name);
            let sent = STANDARD.decode(body(request)["ciphertext"].as_str().unwrap()).unwrap();
            match opened(name, &sent) {
                Some(plain) => Reply::json(&json!({"plaintext": STANDARD.encode(plain), "usedPrimary": true})),
                None => said(400, "INVALID_ARGUMENT", "Decryption failed: the ciphertext is invalid."),
            }
        }
    }
}

/// Who asked last, by the token.
fn who(server: &StubHttp) -> String {
    let requests = server.requests();
    let authorization = requests.last().unwrap().header("authorization").unwrap().to_owned();
    authorization.replace(&format!("Bearer {HUNTER}"), "")
}

#[test]
fn k_143_a_key_of_a_service_account() {
    let folder = tempfile::tempdir().unwrap();
    let Some(rsa) = Rsa::make(folder.path()) else { return };
    let server = StubHttp::start(google);
    let entry = json!({
        "type": "service_account", "project_id": "p", "private_key_id": "k1", "private_key": rsa.key,
        "client_email": "a@p.iam.gserviceaccount.com", "token_uri": server.url("token"),
    });
    let endpoint = format!("http://{}", server.address());
    let cloud = cloud(&[("SOPS_GCP_KMS_ENDPOINT", &endpoint)]);
    let services = services(cloud, &[("sops.gcp-kms", &format!("\n{entry}\n"))]);
    for _ in 0..2 {
        assert_eq!(plain(&services, &key(KEY, &sealed(KEY, DATA_KEY))), DATA_KEY);
    }
    assert_eq!(server.count(), 3, "one token for both");
    assert_eq!(who(&server), "key");
    let assertion = &server.requests()[0].fields("assertion")[0];
    let (header, claims) = rsa.verified(assertion, webpki::ring::RSA_PKCS1_2048_8192_SHA256);
    assert_eq!(header["kid"], "k1");
    assert_eq!(claims["iss"], "a@p.iam.gserviceaccount.com");
    assert!(
        claims["scope"]
            .as_str()
            .unwrap()
            .starts_with("https://www.googleapis.com/auth/cloud-platform")
    );

    let said = failure(&services, &key(KEY, &sealed("another", DATA_KEY)));
    assert_eq!(
        said,
        "failed to decrypt sops data key with GCP KMS key: rpc error: code = InvalidArgument desc = Decryption failed: the \
         ciphertext is invalid."
    );
    let forbidden = KEY.to_owned() + "forbidden";
    let said = failure(&services, &key(&forbidden, b"x"));
    assert!(
        said.ends_with("rpc error: code = PermissionDenied desc = not with ***"),
        "{said}"
    );
}

#[test]
fn k_130_k_131_the_secret_then_the_service_account_then_the_process() {
    let server = StubHttp::start(google);
    let folder = tempfile::tempdir().unwrap();
    let user = |place: &str| {
        json!({"type": "authorized_user", "client_id": "i", "client_secret": HUNTER, "refresh_token": HUNTER,
            "token_uri": server.url(place)})
        .to_string()
    };
    let file = folder.path().join("google.json");
    std::fs::write(&file, user("process")).unwrap();
    let endpoint = format!("http://{}", server.address());
    let variables = [
        ("SOPS_GCP_KMS_ENDPOINT", endpoint.as_str()),
        ("GOOGLE_APPLICATION_CREDENTIALS", file.to_str().unwrap()),
    ];
    let endpoints = Endpoints {
        google_sts: url::Url::parse(&server.url("sts")).ok(),
        ..Endpoints::default()
    };
    let pool = "projects/1/locations/global/workloadIdentityPools/p/providers/q";
    let annotations = [("gcp.auth.fluxcd.io/workload-identity-provider", pool)];
    let of_account = format!("{HUNTER}-for-//iam.googleapis.com/{pool}");
    let secret = user("token");
    let rows: [(Pairs<'_>, _, &str); 3] = [
        (&[("sops.gcp-kms", &secret)], account(&annotations), "key"),
        (&[], account(&annotations), &of_account),
        (&[], Ok(None), "process"),
    ];
    for (entries, account, expected) in rows {
        let cloud = Cloud::new(Environment::from_iter(variables), endpoints.clone(), peer());
        let services = Services::new(cloud, given(entries), account, soon());
        assert_eq!(plain(&services, &key(KEY, &sealed(KEY, DATA_KEY))), DATA_KEY);
        assert_eq!(who(&server), expected);
    }
}

#[test]
fn places_and_faults() {
    let user = |place: &str| {
        json!({"type": "authorized_user", "client_id": "i", "client_secret": HUNTER, "refresh_token": HUNTER,
            "token_uri": place})
        .to_string()
    };
    let server = StubHttp::start(|request| match (request.path.as_str(), request.number) {
        ("/token", _) | (_, 4..) => google(request),
        (_, 2) => Reply::status(429).header("Retry-After", "0"),
        _ => Reply::status(503),
    });
    let secret = user(&server.url("token"));
    let endpoint = format!("http://{}", server.address());
    let at = |variables: &[(&str, &str)]| services(cloud(variables), &[("sops.gcp-kms", &secret)]);
    let patient = at(&[("SOPS_GCP_KMS_ENDPOINT", &endpoint)]);
    assert_eq!(plain(&patient, &key(KEY, &sealed(KEY, DATA_KEY))), DATA_KEY);
    assert_eq!(server.count(), 4);

    let plain_words = StubHttp::start(|request| match request.path.as_str() {
        "/token" => google(request),
        _ => Reply::text(403, request.header("authorization").unwrap()),
    });
    let secret = user(&plain_words.url("token"));
    let endpoint = format!("http://{}", plain_words.address());
    let services = super::services(
        cloud(&[("SOPS_GCP_KMS_ENDPOINT", &endpoint)]),
        &[("sops.gcp-kms", &secret)],
    );
    let said = failure(&services, &key(KEY, b"x"));
    assert!(said.ends_with("answered 403: ***"), "{said}");
    // A host alone is meant for https.
    let host = endpoint.trim_start_matches("http://").to_owned();
    for variables in [
        [("SOPS_GCP_KMS_ENDPOINT", host.as_str())],
        [("SOPS_GCP_KMS_UNIVERSE_DOMAIN", "invalid")],
    ] {
        let services = super::services(cloud(&variables), &[("sops.gcp-kms", &secret)]);
        let said = failure(&services, &key(KEY, b"x"));
        assert!(said.contains("code = Unavailable desc = https://"), "{said}");
    }
}
