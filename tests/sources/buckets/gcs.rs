//! Google Cloud Storage.

use super::*;

const LIST: &str = "/storage/v1/b/podinfo/o";

/// Two pages of a list, and objects whose generation counts.
fn google(request: &Request) -> Reply {
    if request.path == "/token" {
        return Reply::json(&json!({"access_token": "tok3n", "expires_in": 3600}));
    }
    let item = |name: &str, generation: &str| json!({"name": name, "etag": format!("E{generation}="), "size": "1", "generation": generation});
    let path = request.target.split('?').next().unwrap();
    let media = request.parameter("alt").as_deref() == Some("media");
    match (path, request.parameter("pageToken").as_deref()) {
        ("/storage/v1/b/podinfo", _) => Reply::json(&json!({"name": "podinfo"})),
        (LIST, None) => Reply::json(&json!({"items": [item("a/b c", "1"), item("dir/", "1")], "nextPageToken": "p2"})),
        (LIST, Some("p2")) => Reply::json(&json!({"items": [item("gone", "1"), item("new", "1")]})),
        ("/storage/v1/b/podinfo/o/a%2Fb%20c", _) if media => Reply::text(200, "x"),
        ("/storage/v1/b/podinfo/o/new", _) if !media => Reply::json(&item("new", "2")),
        ("/storage/v1/b/podinfo/o/new", _) => match request.parameter("ifGenerationMatch").as_deref() {
            Some("2") => Reply::text(200, "y"),
            _ => Reply::status(412),
        },
        _ => {
            let body = json!({"error": {"code": 404, "message": "No such object", "errors": [{"reason": "notFound"}]}});
            Reply::bytes(404, "application/json", body.to_string())
        }
    }
}

#[test]
fn a_bucket_is_indexed_and_fetched_with_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let Some(rsa) = Rsa::make(folder.path()) else { return };
    let server = StubHttp::start(google);
    let key = json!({
        "type": "service_account", "client_email": "a@b.iam.gserviceaccount.com", "private_key": rsa.key,
        "token_uri": server.url("token"),
    });
    let endpoints = Endpoints {
        google_storage: Some(Url::parse(&server.url("")).unwrap()),
        ..Endpoints::default()
    };
    let bucket = open(&Settings {
        secret: Some(keys(&[("serviceaccount", &key.to_string())])),
        cloud: cloud(&[], endpoints),
        ..settings(BucketProvider::Gcp, "ignored.example")
    });
    assert_eq!(Index::ignore_file(&bucket, soon()), Ok(None));
    let mut index = index(&bucket).unwrap();
    let (files, gone) = fetched(&bucket, &mut index, Limits::default()).unwrap();
    let expected = [("a/b c", b"x"), ("new", b"y")].map(|(place, bytes)| (place.to_owned(), bytes.to_vec()));
    assert_eq!((files, gone), (expected.into(), vec!["gone".to_owned()]));
    let expected = [("a/b c", "E1="), ("new", "E2=")].map(|(key, etag)| (key.to_owned(), etag.to_owned()));
    assert_eq!(etags(&index), expected, "the generation that was read");
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|r| r.path == "/token").count(), 1, "one token");
    assert!(
        requests
            .iter()
            .filter(|r| r.path != "/token")
            .all(|r| r.header("authorization") == Some("Bearer tok3n"))
    );
}

#[test]
fn an_emulator_is_asked_by_nobody() {
    let server = StubHttp::start(google);
    let emulator = |bucket: &str| Settings {
        bucket: bucket.to_owned(),
        cloud: cloud(&[("STORAGE_EMULATOR_HOST", &server.host())], Endpoints::default()),
        ..settings(BucketProvider::Gcp, "")
    };
    assert!(open(&emulator("podinfo")).exists(soon()).unwrap());
    assert!(!open(&emulator("nowhere")).exists(soon()).unwrap());
    assert_eq!(server.requests()[0].header("authorization"), None);
    let said = index(&open(&emulator("nowhere"))).unwrap_err().to_string();
    assert!(
        said.ends_with("failed: googleapi: Error 404: No such object, notFound"),
        "{said}"
    );
}

/// A tenant's Secret must not make this process read its own files, or request tokens elsewhere.
#[test]
fn keys_that_would_use_the_surroundings_are_refused() {
    let external = json!({"type": "external_account", "credential_source": {"file": "/var/run/secrets/token"}});
    let bucket = open(&Settings {
        secret: Some(keys(&[("serviceaccount", &external.to_string())])),
        ..settings(BucketProvider::Gcp, "")
    });
    let said = bucket.exists(soon()).unwrap_err().to_string();
    assert!(said.contains("is of type \"external_account\""), "{said}");
    let said = opening_fails(&Settings {
        secret: Some(keys(&[("other", "x")])),
        ..settings(BucketProvider::Gcp, "")
    });
    assert_eq!(
        said.to_string(),
        "invalid 'login' secret data: required fields 'serviceaccount'"
    );
}
