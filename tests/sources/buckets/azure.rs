//! Azure Blob Storage. The account of `127.0.0.1` is `127`: it is the first part of the host.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::*;
use bumpwright_testkit::tls::Certificates;

const ACCOUNT_KEY: &str = "aHVudGVyMmh1bnRlcjI=";

fn error(status: u16, code: &str) -> Reply {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>No.\nRequestId:1</Message></Error>");
    Reply::bytes(status, "application/xml", body).header("x-ms-error-code", code)
}

/// The signature that a request must have (Azure Storage, *Authorize with Shared Key*), from what came over the wire.
fn signature(request: &Request) -> String {
    let given: String = request
        .headers
        .iter()
        .filter(|(name, _)| name.starts_with("x-ms-"))
        .map(|(name, value)| format!("{name}:{value}\n"))
        .collect();
    let path = request.target.split('?').next().unwrap();
    let pairs: BTreeMap<String, String> = url::form_urlencoded::parse(request.query.as_bytes())
        .into_owned()
        .collect();
    let pairs: String = pairs.iter().map(|(name, value)| format!("\n{name}:{value}")).collect();
    let text = format!("{}\n\n\n\n\n\n\n\n\n\n\n\n{given}/127{path}{pairs}", request.method);
    let mac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(ACCOUNT_KEY).unwrap()).unwrap();
    STANDARD.encode(mac.chain_update(text).finalize().into_bytes())
}

fn azure(request: &Request) -> Reply {
    let path = request.target.split('?').next().unwrap();
    let page = |blobs: &str, next: &str| {
        let body = format!(
            "\u{feff}<?xml version=\"1.0\"?><EnumerationResults><Blobs>{blobs}</Blobs><NextMarker>{next}</NextMarker>\
             </EnumerationResults>"
        );
        Reply::bytes(200, "application/xml", body)
    };
    let blob = |name: &str, etag: &str| {
        format!(
            "<Blob><Name>{name}</Name><Properties><Etag>{etag}</Etag><Content-Length>1</Content-Length></Properties></Blob>"
        )
    };
    match (path, request.parameter("marker").as_deref()) {
        ("/podinfo", None) => page(&blob("a/b &amp; c", "0x1"), "2!m="),
        ("/podinfo", Some("2!m=")) => page(&blob("z", "0x2"), ""),
        ("/podinfo/a%2Fb%20%26%20c", _) => Reply::text(200, "x").header("ETag", "\"0x1\""),
        ("/podinfo/z", _) => Reply::text(200, "y").header("ETag", "\"0x2\""),
        (path, _) if path.starts_with("/podinfo/") => error(404, "BlobNotFound"),
        _ => error(404, "ContainerNotFound"),
    }
}

fn endpoint(server: &StubHttp) -> String {
    format!("http://{}", server.address())
}

fn with(server: &StubHttp, data: &[(&str, &str)]) -> Settings {
    Settings {
        secret: Some(keys(data)),
        ..settings(BucketProvider::Azure, &endpoint(server))
    }
}

#[test]
fn a_container_is_indexed_and_fetched_with_the_accounts_key() {
    let server = StubHttp::start(|request| {
        let expected = format!("SharedKey 127:{}", signature(request));
        if request.header("authorization") == Some(&expected) {
            azure(request)
        } else {
            error(403, "AuthenticationFailed")
        }
    });
    let bucket = open(&with(&server, &[("accountKey", ACCOUNT_KEY)]));
    assert_eq!(Index::ignore_file(&bucket, soon()), Ok(None));
    let mut index = Index::of(&bucket, "", |_| false, Limits::default(), soon()).unwrap();
    // source-controller's list has another spelling than what it fetches, and the latter makes the revision.
    let expected = [("a/b & c", "\"0x1\""), ("z", "\"0x2\"")].map(|(key, etag)| (key.to_owned(), etag.to_owned()));
    assert_eq!(etags(&index), expected);
    let before = etags(&index);
    let (files, gone) = fetched(&bucket, &mut index, Limits::default()).unwrap();
    let expected = [("a/b & c", b"x"), ("z", b"y")].map(|(place, bytes)| (place.to_owned(), bytes.to_vec()));
    assert_eq!((files, gone, etags(&index)), (expected.into(), Vec::new(), before));

    let nowhere = open(&Settings {
        bucket: "nowhere".to_owned(),
        ..with(&server, &[("accountKey", ACCOUNT_KEY)])
    });
    assert!(!nowhere.exists(soon()).unwrap());
    let wrong = open(&with(&server, &[("accountKey", "b3RoZXI=")]));
    let said = Index::ignore_file(&wrong, soon()).unwrap_err().to_string();
    assert!(
        said.starts_with(
            "failed to confirm existence of 'podinfo' bucket: the specified bucket name may be incorrect, nonexistent, or \
             the caller might lack sufficient permissions to access it: GET http://127.0.0.1:"
        ) && said.ends_with("answered 403 Forbidden: AuthenticationFailed: No."),
        "{said}"
    );
}

/// Without one, nobody would see that the blob changes.
#[test]
fn a_blob_without_an_etag_is_refused() {
    let server = StubHttp::start(|request| match request.target.as_str() {
        "/podinfo/z" => Reply::text(200, "y"),
        _ => azure(request),
    });
    let bucket = open(&with(&server, &[("accountKey", ACCOUNT_KEY)]));
    let mut index = Index::of(&bucket, "", |_| false, Limits::default(), soon()).unwrap();
    let error = fetched(&bucket, &mut index, Limits::default()).unwrap_err().to_string();
    assert!(error.ends_with("the answer for \"z\" has no ETag"), "{error}");
}

#[test]
fn a_shared_access_signature_is_part_of_each_address_and_of_no_error() {
    let server = StubHttp::start(|request| match request.parameter("sig").as_deref() {
        Some("s+g/hunter2=") if request.header("authorization").is_none() => azure(request),
        _ => error(403, "AuthenticationFailed"),
    });
    let sas = |text: &str| {
        let settings = with(&server, &[("sasKey", text)]);
        let endpoint = format!("{}?sv=other&extra=1", settings.endpoint);
        open(&Settings { endpoint, ..settings })
    };
    let good = sas("?sv=2022&sig=s%2Bg%2Fhunter2%3D");
    assert!(good.exists(soon()).unwrap());
    assert_eq!(
        server.requests()[0].target,
        "/podinfo?extra=1&sig=s%2Bg%2Fhunter2%3D&sv=2022&comp=list&maxresults=1&restype=container"
    );
    let said = sas("sv=1&sig=hunter2").exists(soon()).unwrap_err().to_string();
    assert!(
        !said.contains("hunter2") && said.contains("AuthenticationFailed"),
        "{said}"
    );
    assert!(!format!("{good:?}").contains("hunter2"), "{good:?}");
}

#[test]
fn an_application_with_a_secret_or_a_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(certificates), Some(rsa)) = (Certificates::make(), Rsa::make(folder.path())) else {
        return;
    };
    let server = StubHttp::with(Some(certificates.server_config(false)), |request| {
        match request.header("authorization") {
            Some("Bearer entra") => azure(request),
            _ => error(401, "NoAuthenticationInformation"),
        }
    });
    let entra = StubHttp::start(|_| Reply::json(&json!({"access_token": "entra", "expires_in": 3600})));
    let authority = entra.url("");
    let login = |more: &[(&str, &str)]| {
        let fields = [
            ("tenantId", "ten"),
            ("clientId", "cli"),
            ("authorityHost", authority.as_str()),
        ];
        let mut settings = with(&server, &[fields.as_slice(), more].concat());
        settings.endpoint = server.url("");
        settings.peer.tls.ca = Some(certificates.ca.clone());
        settings
    };
    assert!(open(&login(&[("clientSecret", HUNTER)])).exists(soon()).unwrap());
    let request = &entra.requests()[0];
    assert_eq!(
        (request.path.as_str(), request.fields("scope")),
        (
            "/ten/oauth2/v2.0/token",
            vec!["https://storage.azure.com/.default".to_owned()]
        )
    );
    assert_eq!(request.fields("client_secret"), [HUNTER]);

    let pem = format!("{}{}", rsa.certificate, rsa.key);
    let by_certificate = login(&[("clientCertificate", &pem), ("clientCertificateSendChain", "True")]);
    assert!(open(&by_certificate).exists(soon()).unwrap());
    let assertion = &entra.requests()[1].fields("client_assertion")[0];
    let (header, claims) = rsa.verified(assertion, webpki::ring::RSA_PSS_2048_8192_SHA256_LEGACY_KEY);
    assert_eq!(claims["sub"], "cli");
    assert_eq!(header["x5c"].as_array().map(Vec::len), Some(1), "the chain is sent");

    // A token for all of Azure's storage is not sent without TLS.
    let mut open_air = login(&[("clientSecret", HUNTER)]);
    open_air.endpoint = endpoint(&entra);
    let said = open(&open_air).exists(soon()).unwrap_err().to_string();
    assert!(said.contains("not permitted for non TLS protected"), "{said}");
}

#[test]
fn secrets_that_are_no_login() {
    let at = |endpoint: &str, data: &[(&str, &str)]| {
        let said = opening_fails(&Settings {
            secret: Some(keys(data)),
            ..settings(BucketProvider::Azure, endpoint)
        });
        assert_eq!(said.reason().as_str(), "AuthenticationFailed");
        said.to_string()
    };
    let usual = "https://acct.blob.core.windows.net";
    assert!(
        at(usual, &[("tenantId", "x")])
            .starts_with("invalid 'login' secret data: requires a 'clientId' or 'accountKey'")
    );
    assert!(at(usual, &[("authorityHost", "x")]).contains("alone is not an identity"));
    assert_eq!(
        at(usual, &[("accountKey", "hunter2!")]),
        "decode account key: it is not Base64"
    );
    assert_eq!(
        at("http://localhost", &[("accountKey", ACCOUNT_KEY)]),
        "failed to create shared credential from 'login' Secret data: failed to extract account name from endpoint: \
         expected 'localhost' to be a subdomain"
    );
}
