//! Google: access tokens of every source, logins at Artifact Registry.

use super::*;

pub const GAR: &str = "europe-docker.pkg.dev";

pub fn google(request: &Request) -> Reply {
    match request.path.as_str() {
        "/token" => Reply::json(&json!({"access_token": "google-token", "expires_in": 3599, "token_type": "Bearer"})),
        "/sts" => Reply::json(&json!({"access_token": "federated", "expires_in": 3600})),
        path if path.ends_with(":generateAccessToken") => {
            Reply::json(&json!({"accessToken": "impersonated", "expireTime": "2099-01-01T00:00:00Z"}))
        }
        "/subject" => Reply::json(&json!({"value": "from-url"})),
        _ => Reply::status(404),
    }
}

/// A cloud whose credentials file is this.
fn google_cloud(folder: &Path, file: &Json) -> Cloud {
    let path = folder.join("google.json");
    std::fs::write(&path, file.to_string()).unwrap();
    cloud(&[("GOOGLE_APPLICATION_CREDENTIALS", path.to_str().unwrap())])
}

#[test]
fn service_account() {
    let folder = tempfile::tempdir().unwrap();
    let Some(rsa) = Rsa::make(folder.path()) else { return };
    let server = StubHttp::start(google);
    let file = json!({
        "type": "service_account", "client_email": "a@b.iam.gserviceaccount.com", "private_key": rsa.key,
        "private_key_id": "k1", "token_uri": server.url("token"),
    });
    let cloud = google_cloud(folder.path(), &file);
    let got = login(&cloud, Provider::Gcp, GAR).unwrap();
    assert_eq!(
        (got.username.as_str(), got.password.expose()),
        ("oauth2accesstoken", "google-token")
    );
    login(&cloud, Provider::Gcp, "gcr.io").unwrap();
    assert_eq!(server.count(), 1, "one token for all registries");
    let request = &server.requests()[0];
    assert_eq!(
        request.fields("grant_type"),
        ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    );
    let (header, claims) = rsa.verified(
        &request.fields("assertion")[0],
        webpki::ring::RSA_PKCS1_2048_8192_SHA256,
    );
    assert_eq!(header, json!({"alg": "RS256", "typ": "JWT", "kid": "k1"}));
    let issued = claims["iat"].as_u64().unwrap();
    assert!(in_seconds(0) - issued < 30, "{issued}");
    assert_eq!(
        claims,
        json!({
            "iss": "a@b.iam.gserviceaccount.com", "aud": server.url("token"), "iat": issued, "exp": issued + 3600,
            "scope": "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/userinfo.email",
        })
    );
    let broken = google_cloud(
        folder.path(),
        &json!({"type": "service_account", "private_key": HUNTER}),
    );
    assert!(failure(&broken, Provider::Gcp, GAR).ends_with("google.json): is not a private key in PEM"));
}

#[test]
fn logins_of_people() {
    let server = StubHttp::start(google);
    let folder = tempfile::tempdir().unwrap();
    let user = json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "s+", "refresh_token": "r",
        "token_uri": server.url("token"),
    });
    std::fs::write(
        folder.path().join("application_default_credentials.json"),
        user.to_string(),
    )
    .unwrap();
    let usual = cloud(&[("CLOUDSDK_CONFIG", folder.path().to_str().unwrap())]);
    login(&usual, Provider::Gcp, GAR).unwrap();
    let expected = "client_id=id&client_secret=s%2B&grant_type=refresh_token&refresh_token=r";
    assert_eq!(body(&server.requests()[0]), expected);

    let mut workforce = user.clone();
    workforce["type"] = json!("external_account_authorized_user");
    workforce["token_url"] = json!(server.url("token"));
    login(&google_cloud(folder.path(), &workforce), Provider::Gcp, GAR).unwrap();
    let request = &server.requests()[1];
    assert_eq!(body(request), "grant_type=refresh_token&refresh_token=r");
    assert_eq!(request.login(), Some(("id".to_owned(), "s+".to_owned())));

    let impersonation = json!({
        "type": "impersonated_service_account", "source_credentials": user, "delegates": ["d@x"],
        "service_account_impersonation_url": server.url("v1/projects/-/serviceAccounts/a@b:generateAccessToken"),
    });
    server.clear();
    let got = login(&google_cloud(folder.path(), &impersonation), Provider::Gcp, GAR).unwrap();
    assert_eq!(got.password.expose(), "impersonated");
    let request = &server.requests()[1];
    assert_eq!(request.header("authorization"), Some("Bearer google-token"));
    let sent: Json = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(
        (&sent["delegates"], &sent["lifetime"]),
        (&json!(["d@x"]), &json!("3600s"))
    );
}

#[test]
fn federation() {
    let server = StubHttp::start(google);
    let folder = tempfile::tempdir().unwrap();
    let subject = folder.path().join("subject");
    std::fs::write(&subject, "from-file\n").unwrap();
    let mut file = json!({
        "type": "external_account", "audience": "//iam.googleapis.com/pool", "token_url": server.url("sts"),
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "credential_source": {"file": subject},
    });
    let got = login(&google_cloud(folder.path(), &file), Provider::Gcp, GAR).unwrap();
    assert_eq!(got.password.expose(), "federated");
    assert_eq!(
        body(&server.requests()[0]),
        "audience=%2F%2Fiam.googleapis.com%2Fpool&\
         grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&\
         requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&\
         scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform+https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fuserinfo.email&\
         subject_token=from-file&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt"
    );

    server.clear();
    file["credential_source"] = json!({
        "url": server.url("subject"), "headers": {"Authorization": "Bearer ci"},
        "format": {"type": "json", "subject_token_field_name": "value"},
    });
    file["service_account_impersonation_url"] = json!(server.url("v1/a@b:generateAccessToken"));
    file["service_account_impersonation"] = json!({"token_lifetime_seconds": 1200});
    let got = login(&google_cloud(folder.path(), &file), Provider::Gcp, GAR).unwrap();
    assert_eq!(got.password.expose(), "impersonated");
    let requests = server.requests();
    assert_eq!(requests[0].header("authorization"), Some("Bearer ci"));
    assert_eq!(requests[1].fields("subject_token"), ["from-url"]);
    assert_eq!(
        requests[1].fields("scope"),
        ["https://www.googleapis.com/auth/cloud-platform"]
    );
    assert_eq!(requests[2].header("authorization"), Some("Bearer federated"));
    assert_eq!(
        serde_json::from_slice::<Json>(&requests[2].body).unwrap()["lifetime"],
        json!("1200s")
    );

    for (source, expected) in [
        (
            json!({"environment_id": "aws1"}),
            "is AWS (environment_id), which is not supported; use a file or a url",
        ),
        (
            json!({"executable": {"command": "x"}}),
            "is an executable, which is not supported; use a file or a url",
        ),
        (
            json!({"url": server.url("subject"), "headers": {"X-Odd": HUNTER}}),
            "metadata-flavor, x-identity-header",
        ),
        (
            json!({"url": server.url("subject"), "format": {"type": "json"}}),
            "of the name subject_token_field_name",
        ),
        (json!({}), "names neither a file nor a url"),
    ] {
        file["credential_source"] = source;
        let said = failure(&google_cloud(folder.path(), &file), Provider::Gcp, GAR);
        assert!(said.ends_with(expected), "{said}");
    }
}

#[test]
fn machine_and_expiry() {
    let gone = Arc::new(AtomicBool::new(false));
    let away = Arc::clone(&gone);
    let server = StubHttp::start(move |request| {
        // Only the first one lives long enough to be asked for twice on a busy machine.
        let life = if request.number == 1 { 3600 } else { 1 };
        let token = json!({"access_token": format!("t{}", request.number), "expires_in": life});
        match request.header("metadata-flavor") {
            Some("Google") if !away.load(Ordering::SeqCst) => Reply::json(&token).header("Metadata-Flavor", "Google"),
            _ => Reply::text(200, HUNTER),
        }
    });
    let host = server.host();
    let variables = [("HOME", "/nonexistent"), ("GCE_METADATA_HOST", host.as_str())];
    let token = |cloud: &Cloud| login(cloud, Provider::Gcp, GAR).unwrap().password.expose().to_owned();
    let kept = cloud(&variables);
    assert_eq!((token(&kept), token(&kept)), ("t1".to_owned(), "t1".to_owned()));
    let cloud = cloud(&variables);
    assert_eq!(token(&cloud), "t2");
    thread::sleep(Duration::from_millis(850));
    assert_eq!(token(&cloud), "t3", "80 % of its life have passed");
    assert_eq!(
        server.requests()[0].target,
        "/computeMetadata/v1/instance/service-accounts/default/token?\
         scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform%2Chttps%3A%2F%2Fwww.googleapis.com%2Fauth%2Fuserinfo.email"
    );
    gone.store(true, Ordering::SeqCst);
    thread::sleep(Duration::from_millis(850));
    let said = failure(&cloud, Provider::Gcp, GAR);
    assert!(said.contains(
        "no Google credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, there is no /nonexistent/.config"
    ));
    assert!(
        said.contains(&format!(
            "http://{host} is not Google's metadata server; set GOOGLE_APPLICATION"
        )),
        "{said}"
    );
}
