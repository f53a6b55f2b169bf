//! S3: moto behind a proxy that checks each signature, and faults in between.

use super::*;
use bumpwright_testkit::aws_signature::AwsKey;
use bumpwright_testkit::moto::Moto;

const KEY: AwsKey<'static> = AwsKey {
    id: "AKID",
    secret: HUNTER,
    region: "eu-west-1",
    service: "s3",
};

fn error(status: u16, code: &str, message: &str) -> Reply {
    let message = message.replace('&', "&amp;");
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>");
    Reply::bytes(status, "application/xml", body)
}

/// moto, behind a proxy that accepts only signed requests.
fn guarded() -> Option<(Moto, StubHttp)> {
    let moto = Moto::start()?;
    moto.put(
        "/podinfo",
        "<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>",
    );
    for (key, body) in [
        (".sourceignore", "*.md\n"),
        ("README.md", "no"),
        ("a%20b/%C3%BC%2B%26.yaml", "odd"),
        ("apps/deploy.yaml", "kind: Deployment\n"),
        ("apps/empty", ""),
        ("apps/z", "z"),
        ("folder/", ""),
        ("z", "last"),
    ] {
        moto.put(&format!("/podinfo/{key}"), body);
    }
    let guard = StubHttp::in_front_of(moto.address(), |request| {
        // Where the bucket is is asked as if it were in the first region (minio-go, `getBucketLocationRequest`).
        let region = match request.query.as_str() {
            "location=" => "us-east-1",
            _ => "eu-west-1",
        };
        let checked = AwsKey { region, ..KEY }.check(request);
        checked.err().map(|why| error(403, "SignatureDoesNotMatch", &why))
    });
    Some((moto, guard))
}

fn with_key(guard: &StubHttp, secret: &str) -> Settings {
    Settings {
        secret: Some(keys(&[("accesskey", "AKID"), ("secretkey", secret)])),
        ..settings(BucketProvider::Generic, &guard.host())
    }
}

#[test]
fn a_bucket_is_indexed_and_fetched() {
    let Some((_moto, guard)) = guarded() else { return };
    let bucket = open(&with_key(&guard, HUNTER));
    assert_eq!(
        Index::ignore_file(&bucket, soon()).unwrap().as_deref(),
        Some(b"*.md\n".as_slice())
    );
    let ignored = |key: &str| key.ends_with(".md");
    let mut index = Index::of(&bucket, "", ignored, Limits::default(), soon()).unwrap();
    let expected = [
        ("a b/ü+&.yaml", "odd"),
        ("apps/deploy.yaml", "kind: Deployment\n"),
        ("apps/empty", ""),
        ("apps/z", "z"),
        ("z", "last"),
    ];
    let hashes = expected.map(|(key, body)| (key.to_owned(), format!("{:x}", md5::compute(body))));
    assert_eq!(etags(&index), hashes);
    // Lines of key, blank and etag.
    assert_eq!(
        index.revision(),
        "sha256:9892add03cfe4116ee580d280f12285d47db861ed1bfe2c11ae7279623bf8f4a"
    );
    assert!(index.is_at(&index.revision()) && !index.is_at("sha256:x") && !index.is_at("main/abc"));

    let before = etags(&index);
    let (files, gone) = fetched(&bucket, &mut index, Limits::default()).unwrap();
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(place, bytes)| (place.as_str(), bytes.as_slice()))
        .collect();
    assert_eq!(files, expected.map(|(place, body)| (place, body.as_bytes())));
    assert_eq!((gone, etags(&index)), (Vec::new(), before));

    let below = Index::of(&bucket, "apps/", |_| false, Limits::default(), soon()).unwrap();
    // What source-controller's minio client and Digester make of the same bucket.
    let expected = "sha256:e18435d22524b5b80353f0cb61b8d0b98bfe36a037a4b70564d602c3f3a2fc9a";
    assert_eq!((below.len(), below.revision().as_str()), (3, expected));
    let locations = guard.requests().iter().filter(|r| r.query == "location=").count();
    assert_eq!(locations, 1, "the region is asked once");
    let gets = guard
        .requests()
        .iter()
        .filter(|r| r.path.contains("deploy.yaml"))
        .count();
    assert_eq!(gets, 1, "one request for an object");
}

#[test]
fn what_is_not_there_and_who_may_not() {
    let Some((_moto, guard)) = guarded() else { return };
    let nowhere = open(&Settings {
        bucket: "nowhere".to_owned(),
        region: "eu-west-1".to_owned(),
        ..with_key(&guard, HUNTER)
    });
    let said = Index::ignore_file(&nowhere, soon()).unwrap_err();
    assert_eq!(
        (said.to_string().as_str(), said.reason().as_str(), said.is_stalling()),
        ("bucket 'nowhere' not found", "BucketOperationFailed", false)
    );
    let said = index(&nowhere).unwrap_err().to_string();
    assert_eq!(
        said,
        "indexation of objects from bucket 'nowhere' failed: listing objects from bucket 'nowhere' failed: The specified \
         bucket does not exist"
    );
    let wrong = open(&with_key(&guard, "another"));
    let said = Index::ignore_file(&wrong, soon()).unwrap_err().to_string();
    assert!(
        said.starts_with("failed to confirm existence of 'podinfo' bucket: ") && !said.contains("another"),
        "{said}"
    );
    let in_region = open(&Settings {
        region: "eu-west-1".to_owned(),
        ..with_key(&guard, "another")
    });
    let said = Index::ignore_file(&in_region, soon()).unwrap_err().to_string();
    assert_eq!(said, "failed to confirm existence of 'podinfo' bucket: Access Denied.");
}

#[test]
fn nobody_signs_nothing() {
    let server = StubHttp::start(|_| Reply::status(200));
    assert!(
        open(&settings(BucketProvider::Generic, &server.host()))
            .exists(soon())
            .unwrap()
    );
    let request = &server.requests()[0];
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("HEAD", "/podinfo/")
    );
    assert!(
        request
            .headers
            .keys()
            .all(|name| name != "authorization" && !name.starts_with("x-amz-"))
    );
}

#[test]
fn a_region_that_the_answer_tells_is_tried() {
    let server = StubHttp::start(|request| match request.query.as_str() {
        "location=" => error(403, "AccessDenied", "no"),
        _ if AwsKey {
            region: "ap-south-1",
            ..KEY
        }
        .check(request)
        .is_ok() =>
        {
            Reply::status(200)
        }
        _ => Reply::status(403).header("x-amz-bucket-region", "ap-south-1"),
    });
    let bucket = open(&with_key(&server, HUNTER));
    assert!(bucket.exists(soon()).unwrap());
    assert!(bucket.exists(soon()).unwrap());
    assert_eq!(server.count(), 4, "location, refused, taken; taken");
}

fn ldap(server: &StubHttp, data: &[(&str, &str)]) -> Settings {
    Settings {
        region: "eu-west-1".to_owned(),
        sts: Some(Sts {
            provider: StsProvider::Ldap,
            endpoint: server.url("sts"),
            secret: Some(keys(data)),
            has_certificates: false,
            peer: peer(),
        }),
        ..settings(BucketProvider::Generic, &server.host())
    }
}

#[test]
fn a_login_at_ldap_gives_credentials() {
    let server = StubHttp::start(|request| match request.path.as_str() {
        "/sts" => Reply::bytes(
            200,
            "text/xml",
            "<AssumeRoleWithLDAPIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
             <AssumeRoleWithLDAPIdentityResult><Credentials><AccessKeyId>TMP</AccessKeyId><SecretAccessKey>tmp</SecretAccessKey>\
             <Expiration>2099-01-01T00:00:00Z</Expiration><SessionToken>ses</SessionToken></Credentials>\
             </AssumeRoleWithLDAPIdentityResult></AssumeRoleWithLDAPIdentityResponse>",
        ),
        _ => {
            let key = AwsKey {
                id: "TMP",
                secret: "tmp",
                ..KEY
            };
            let checked = key.check(request);
            checked.map_or_else(|why| Reply::text(403, &why), |()| Reply::status(200))
        }
    });
    let bucket = open(&ldap(&server, &[("username", "u ü"), ("password", HUNTER)]));
    assert!(bucket.exists(soon()).unwrap() && bucket.exists(soon()).unwrap());
    let requests = server.requests();
    assert_eq!(requests.len(), 3, "credentials are kept");
    assert_eq!(
        String::from_utf8_lossy(&requests[0].body),
        "Action=AssumeRoleWithLDAPIdentity&LDAPPassword=hunter2%2Fhunter2%2Bhunter2%3D&LDAPUsername=u+%C3%BC&Version=2011-06-15"
    );
    assert_eq!(requests[1].header("x-amz-security-token"), Some("ses"));
}

#[test]
fn a_refused_login_at_ldap_does_not_show_the_password() {
    let server = StubHttp::start(|request| error(403, "AccessDenied", &String::from_utf8_lossy(&request.body)));
    let bucket = open(&ldap(&server, &[("username", "u"), ("password", HUNTER)]));
    let said = bucket.exists(soon()).unwrap_err().to_string();
    assert!(
        said.contains("returned no credentials") && said.contains("LDAPPassword=***"),
        "{said}"
    );
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn an_identity_of_the_surroundings() {
    let server = StubHttp::start(|request| {
        let checked = KEY.check(request);
        checked.map_or_else(|why| Reply::text(403, &why), |()| Reply::status(200))
    });
    let variables = [
        ("AWS_ACCESS_KEY_ID", "AKID"),
        ("AWS_SECRET_ACCESS_KEY", HUNTER),
        ("AWS_SESSION_TOKEN", "ses"),
    ];
    let aws = |region: &str| Settings {
        cloud: cloud(&variables, Endpoints::default()),
        region: region.to_owned(),
        ..settings(BucketProvider::Aws, &server.host())
    };
    assert!(open(&aws("eu-west-1")).exists(soon()).unwrap());
    assert_eq!(server.requests()[0].header("x-amz-security-token"), Some("ses"));
    let said = opening_fails(&aws(""));
    assert!(
        said.to_string()
            .starts_with("AWS authentication failed: failed to create provider access token for the controller: AWS_REGION environment"),
        "{said}"
    );
    assert_eq!(said.reason().as_str(), "AuthenticationFailed");
}

#[test]
fn settings_that_do_not_go_together() {
    let sts = |provider, data: Option<&[(&str, &str)]>| Sts {
        provider,
        endpoint: "https://sts.example".to_owned(),
        secret: data.map(keys),
        has_certificates: false,
        peer: peer(),
    };
    let base = |provider| settings(provider, "minio.example");
    let with = |provider, sts| Settings {
        sts: Some(sts),
        ..base(provider)
    };
    let secret = |data: &[(&str, &str)]| Settings {
        secret: Some(keys(data)),
        ..base(BucketProvider::Generic)
    };
    use BucketProvider::{Aws, Generic};
    for (settings, reason, text) in [
        (
            secret(&[("accesskey", "a")]),
            "AuthenticationFailed",
            "invalid 'login' secret data: required fields 'accesskey' and 'secretkey'",
        ),
        (
            with(Generic, sts(StsProvider::Aws, None)),
            "InvalidSTSConfiguration",
            "STS provider 'aws' is not supported for 'generic' bucket provider",
        ),
        (
            with(Aws, sts(StsProvider::Ldap, None)),
            "InvalidSTSConfiguration",
            "STS provider 'ldap' is not supported for 'aws' bucket provider",
        ),
        (
            with(Aws, sts(StsProvider::Aws, Some(&[]))),
            "InvalidSTSConfiguration",
            "spec.sts.secretRef is not required for the 'aws' STS provider",
        ),
        (
            with(
                Generic,
                sts(StsProvider::Ldap, Some(&[("username", "u"), ("password", "")])),
            ),
            "AuthenticationFailed",
            "invalid 'login' secret data for 'ldap' STS provider: required fields username, password",
        ),
        (
            with(
                Generic,
                Sts {
                    endpoint: "something\twrong".to_owned(),
                    ..sts(StsProvider::Ldap, None)
                },
            ),
            "URLInvalid",
            "failed to parse STS endpoint 'something\twrong': relative URL without a base",
        ),
        (
            settings(Generic, "https://minio.example"),
            "AuthenticationFailed",
            "Endpoint url cannot have fully qualified paths.",
        ),
    ] {
        let said = opening_fails(&settings);
        assert_eq!((said.to_string().as_str(), said.reason().as_str()), (text, reason));
        assert_eq!(said.is_stalling(), reason != "AuthenticationFailed");
    }
}
