//! Azure: Entra tokens of every source, logins at ACR.

use super::*;

pub const ACR: &str = "team.azurecr.io";

fn jwt(claims: &Json) -> String {
    format!("e30.{}.hunter2", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// Entra and a registry at once.
pub fn azure(request: &Request) -> Reply {
    match request.path.as_str() {
        "/oauth2/exchange" => Reply::json(&json!({"refresh_token": jwt(&json!({"exp": in_seconds(10800)}))})),
        path if path.ends_with("/oauth2/v2.0/token") => {
            Reply::json(&json!({"token_type": "Bearer", "expires_in": 3599, "access_token": "entra+token"}))
        }
        _ => Reply::status(404),
    }
}

pub fn azure_cloud(server: &StubHttp, variables: &[(&str, &str)]) -> Cloud {
    let authority = server.url("");
    let common = [
        ("AZURE_AUTHORITY_HOST", authority.as_str()),
        ("AZURE_POD_IDENTITY_AUTHORITY_HOST", &authority),
    ];
    let endpoints = Endpoints {
        azure_registry: url(&server.url("")),
        ..Endpoints::default()
    };
    cloud_at(&[&common[..], variables].concat(), endpoints)
}

#[test]
fn service_principal() {
    let server = StubHttp::start(azure);
    let principal = [
        ("AZURE_TENANT_ID", "ten-ant"),
        ("AZURE_CLIENT_ID", "client"),
        ("AZURE_CLIENT_SECRET", HUNTER),
    ];
    let cloud = azure_cloud(&server, &principal);
    let got = login(&cloud, Provider::Azure, ACR).unwrap();
    assert_eq!(got.username, "00000000-0000-0000-0000-000000000000");
    assert!(got.password.expose().starts_with("e30."));
    let life = got.expires.unwrap().duration_since(SystemTime::now()).unwrap();
    assert!((10790..=10800).contains(&life.as_secs()), "{life:?}");
    login(&cloud, Provider::Azure, ACR).unwrap();
    login(&cloud, Provider::Azure, "other.azurecr.io").unwrap();

    let requests = server.requests();
    assert_eq!(requests.len(), 3, "one token, a login for each registry");
    assert_eq!(
        (requests[0].method.as_str(), requests[0].target.as_str()),
        ("POST", "/ten-ant/oauth2/v2.0/token")
    );
    assert_eq!(
        body(&requests[0]),
        "client_id=client&grant_type=client_credentials&scope=https%3A%2F%2Fcontainerregistry.azure.net%2F.default&\
         client_secret=hunter2%2Fhunter2%2Bhunter2%3D"
    );
    assert_eq!(requests[1].target, "/oauth2/exchange?api-version=2021-07-01");
    assert_eq!(
        body(&requests[1]),
        "grant_type=access_token&service=team.azurecr.io&access_token=entra%2Btoken"
    );
    assert_eq!(requests[2].fields("service"), ["other.azurecr.io"]);
}

#[test]
fn assertions() {
    let server = StubHttp::start(azure);
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "federated\n").unwrap();
    let who = [("AZURE_TENANT_ID", "ten"), ("AZURE_CLIENT_ID", "client")];
    let federated = ("AZURE_FEDERATED_TOKEN_FILE", token.to_str().unwrap());
    login(
        &azure_cloud(&server, &[&who[..], &[federated]].concat()),
        Provider::Azure,
        ACR,
    )
    .unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.fields("client_assertion"), ["federated"]);
    assert_eq!(
        request.fields("client_assertion_type"),
        ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"]
    );
    assert!(request.fields("client_secret").is_empty());

    let Some(rsa) = Rsa::make(folder.path()) else { return };
    server.clear();
    let pem = folder.path().join("both.pem");
    std::fs::write(&pem, format!("{}{}", rsa.key, rsa.certificate)).unwrap();
    let certificate = ("AZURE_CLIENT_CERTIFICATE_PATH", pem.to_str().unwrap());
    login(
        &azure_cloud(&server, &[&who[..], &[certificate]].concat()),
        Provider::Azure,
        ACR,
    )
    .unwrap();
    let assertion = server.requests()[0].fields("client_assertion").remove(0);
    let (header, claims) = rsa.verified(&assertion, webpki::ring::RSA_PSS_2048_8192_SHA256_LEGACY_KEY);
    assert_eq!(
        (&header["alg"], &header["x5t#S256"]),
        (&json!("PS256"), &json!(rsa.thumbprint()))
    );
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!("client"), &json!("client")));
    assert_eq!(claims["aud"], json!(server.url("ten/oauth2/v2.0/token")));
}

#[test]
fn managed_identities() {
    let server = StubHttp::start(
        |request| match (request.path.as_str(), request.header("x-identity-header")) {
            ("/metadata/identity/oauth2/token", None) if request.header("metadata") == Some("true") => {
                Reply::json(&json!({"access_token": "of-machine", "expires_in": "86399", "expires_on": "1"}))
            }
            ("/msi/token", Some(HUNTER)) => {
                Reply::json(&json!({"access_token": "of-app", "expires_on": in_seconds(3600).to_string()}))
            }
            ("/msi/token", Some(wrong)) => Reply::text(401, wrong),
            _ => azure(request),
        },
    );
    login(&azure_cloud(&server, &[]), Provider::Azure, ACR).unwrap();
    login(
        &azure_cloud(&server, &[("AZURE_CLIENT_ID", "a&b")]),
        Provider::Azure,
        ACR,
    )
    .unwrap();
    let endpoint = server.url("msi/token");
    let app = |header| {
        azure_cloud(
            &server,
            &[("IDENTITY_ENDPOINT", endpoint.as_str()), ("IDENTITY_HEADER", header)],
        )
    };
    login(&app(HUNTER), Provider::Azure, ACR).unwrap();
    let requests = server.requests();
    let resource = "resource=https%3A%2F%2Fcontainerregistry.azure.net";
    assert_eq!(requests[0].query, format!("api-version=2018-02-01&{resource}"));
    assert_eq!(requests[1].fields("access_token"), ["of-machine"]);
    assert_eq!(
        requests[2].query,
        format!("api-version=2018-02-01&{resource}&client_id=a%26b")
    );
    assert_eq!(requests[4].query, format!("api-version=2019-08-01&{resource}"));
    assert_eq!(requests[5].fields("access_token"), ["of-app"]);
    assert!(failure(&app("hunter2!"), Provider::Azure, ACR).ends_with("/msi/token answered 401: ***"));
}

#[test]
fn refusals() {
    let closed = format!("http://127.0.0.1:{}/", free_port());
    let nowhere = cloud(&[("AZURE_POD_IDENTITY_AUTHORITY_HOST", &closed)]);
    let said = failure(&nowhere, Provider::Azure, ACR);
    assert!(
        said.contains("no Entra token: AZURE_TENANT_ID and AZURE_CLIENT_ID are not both set, the managed identity's")
    );
    assert!(
        said.contains("does not answer") && said.ends_with("or the machine a managed identity"),
        "{said}"
    );

    let server = StubHttp::start(|request| match request.path.as_str() {
        "/bad/oauth2/v2.0/token" => refusal(
            401,
            &json!({"error": "invalid_client", "error_description": format!("AADSTS7000215: {HUNTER}")}),
        ),
        "/oauth2/exchange" => Reply::registry_error(401, "UNAUTHORIZED", "not entra+token"),
        _ => azure(request),
    });
    let of = |tenant| {
        let who = [
            ("AZURE_TENANT_ID", tenant),
            ("AZURE_CLIENT_ID", "client"),
            ("AZURE_CLIENT_SECRET", HUNTER),
        ];
        failure(&azure_cloud(&server, &who), Provider::Azure, ACR)
    };
    let said = of("bad");
    assert!(
        said.ends_with("/bad/oauth2/v2.0/token answered 401 invalid_client: AADSTS7000215: ***"),
        "{said}"
    );
    let said = of("good");
    assert!(said.starts_with("failed to create artifact registry credentials: get a login at team.azurecr.io: "));
    assert!(
        said.ends_with("/oauth2/exchange answered 401 UNAUTHORIZED: not ***"),
        "{said}"
    );
    assert!(of("a/b").contains("the Entra tenant: \"a/b\" is neither an id nor a domain"));
    let plain = [
        ("AZURE_TENANT_ID", "t"),
        ("AZURE_CLIENT_ID", "c"),
        ("AZURE_CLIENT_SECRET", HUNTER),
    ];
    let plain = [&plain[..], &[("AZURE_AUTHORITY_HOST", "http://login.example.com/")]].concat();
    assert!(failure(&cloud(&plain), Provider::Azure, ACR).ends_with("AZURE_AUTHORITY_HOST: must begin with https://"));
}
