//! AWS: credentials of every source, logins at ECR. Signatures of received requests are verified.

use super::*;

pub const ECR: &str = "012345678901.dkr.ecr.eu-west-1.amazonaws.com";

/// STS and ECR at once: `AWS_ENDPOINT_URL`.
pub fn aws(request: &Request) -> Reply {
    match request.header("x-amz-target") {
        Some("AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken") => {
            let data =
                json!({"authorizationToken": STANDARD.encode("AWS:pass"), "expiresAt": in_seconds(43200) as f64});
            Reply::json(&json!({"authorizationData": [data]}))
        }
        Some("SpencerFrontendService.GetAuthorizationToken") => {
            let data = json!({"authorizationToken": STANDARD.encode("AWS:public"), "expiresAt": in_seconds(43200)});
            Reply::json(&json!({"authorizationData": data}))
        }
        Some(other) => Reply::text(400, other),
        None => Reply::bytes(200, "text/xml", sts(&request.fields("RoleArn")[0])),
    }
}

/// An STS answer. The keys are called after the role.
fn sts(role: &str) -> String {
    let role = role.rsplit('/').next().unwrap();
    format!(
        "<R xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Result><Credentials><AccessKeyId>AK-{role}</AccessKeyId>\
         <SecretAccessKey>SK-{role}</SecretAccessKey><SessionToken>ST/{role}==</SessionToken>\
         <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></Result></R>"
    )
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    Hmac::<Sha256>::new_from_slice(key)
        .unwrap()
        .chain_update(text)
        .finalize()
        .into_bytes()
        .to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Verifies the signature of a received request.
pub fn assert_signed(request: &Request, id: &str, secret: &str, scope: &str) {
    let header = |name: &str| request.header(name).unwrap_or_else(|| panic!("no {name}"));
    let authorization = header("authorization");
    let part = |name: &str| authorization.split(name).nth(1).unwrap().split(", ").next().unwrap();
    let (credential, names, signature) = (part("Credential="), part("SignedHeaders="), part("Signature="));
    let date = header("x-amz-date");
    let scope = format!("{}/{scope}/aws4_request", &date[..8]);
    assert_eq!(credential, format!("{id}/{scope}"));
    let headers: String = names
        .split(';')
        .map(|name| format!("{name}:{}\n", header(name)))
        .collect();
    let canonical = format!(
        "{}\n/\n\n{headers}\n{names}\n{}",
        request.method,
        hex(&Sha256::digest(&request.body))
    );
    let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
    let first = format!("AWS4{secret}").into_bytes();
    let key = scope.split('/').fold(first, |key, part| hmac(&key, part));
    assert_eq!(signature, hex(&hmac(&key, &to_sign)));
    for name in ["content-type", "host", "x-amz-date"] {
        assert!(names.split(';').any(|signed| signed == name), "{name} is not signed");
    }
}

#[test]
fn keys_of_the_environment() {
    let server = StubHttp::start(aws);
    let endpoint = server.url("");
    let cloud = cloud(&[
        ("AWS_ACCESS_KEY_ID", "AKID"),
        ("AWS_SECRET_ACCESS_KEY", HUNTER),
        ("AWS_SESSION_TOKEN", "session"),
        ("AWS_ENDPOINT_URL_ECR", &endpoint),
        ("AWS_ENDPOINT_URL_ECR_PUBLIC", &endpoint),
    ]);
    let got = login(&cloud, Provider::Aws, ECR).unwrap();
    assert_eq!((got.username.as_str(), got.password.expose()), ("AWS", "pass"));
    let life = got.expires.unwrap().duration_since(SystemTime::now()).unwrap();
    assert!((43190..=43200).contains(&life.as_secs()), "{life:?}");
    login(&cloud, Provider::Aws, "999999999999.dkr.ecr.eu-west-1.amazonaws.com").unwrap();
    assert_eq!(server.count(), 1, "one login for a region");

    let request = &server.requests()[0];
    assert_eq!(
        (request.method.as_str(), request.target.as_str(), body(request)),
        ("POST", "/", "{}")
    );
    assert_eq!(request.header("content-type"), Some("application/x-amz-json-1.1"));
    assert_eq!(request.header("x-amz-security-token"), Some("session"));
    assert_signed(request, "AKID", HUNTER, "eu-west-1/ecr");

    let public = login(&cloud, Provider::Aws, "public.ecr.aws").unwrap();
    assert_eq!(public.password.expose(), "public");
    assert_signed(&server.requests()[1], "AKID", HUNTER, "us-east-1/ecr-public");
}

#[test]
fn web_identity_once_for_all() {
    let server = StubHttp::start(|request| aws(request).after(Duration::from_millis(100)));
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "eyJ.hunter2+token.x\n").unwrap();
    let cloud = cloud(&[
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.to_str().unwrap()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/scan"),
        ("AWS_ROLE_SESSION_NAME", "me"),
        ("AWS_ENDPOINT_URL", &server.url("")),
    ]);
    thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| login(&cloud, Provider::Aws, ECR).unwrap()))
            .collect();
        assert!(
            all.into_iter()
                .all(|one| one.join().unwrap().password.expose() == "pass")
        );
    });
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "one token, one login");
    assert_eq!(
        body(&requests[0]),
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fscan&\
         RoleSessionName=me&WebIdentityToken=eyJ.hunter2%2Btoken.x"
    );
    assert_eq!(requests[0].header("authorization"), None);
    assert_signed(&requests[1], "AK-scan", "SK-scan", "eu-west-1/ecr");
    assert_eq!(requests[1].header("x-amz-security-token"), Some("ST/scan=="));

    // Another region: another role session, as roles are assumed where the registry is.
    login(&cloud, Provider::Aws, "111111111111.dkr.ecr.us-east-1.amazonaws.com").unwrap();
    assert_eq!(server.count(), 4);
}

#[test]
fn profiles_through_roles() {
    let server = StubHttp::start(aws);
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join(".aws");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(
        home.join("config"),
        "[profile outer]\nrole_arn = arn:aws:iam::1:role/outer\nsource_profile = inner\nexternal_id = a b\n\
         [profile inner]\nrole_arn = arn:aws:iam::1:role/inner\nsource_profile = base\nrole_session_name = me\n\
         [profile printed]\ncredential_process = printf '{\"Version\": 1, \"AccessKeyId\": \"AKP\", \
         \"SecretAccessKey\": \"SKP\", \"SessionToken\": \"STP\", \"Expiration\": \"2099-01-01T00:00:00Z\"}'\n\
         [profile broken]\ncredential_process = echo hunter2\n",
    )
    .unwrap();
    std::fs::write(
        home.join("credentials"),
        "[base]\naws_access_key_id=AKB\naws_secret_access_key=SKB\n",
    )
    .unwrap();
    let of = |profile: &str| {
        let home = folder.path().to_str().unwrap();
        cloud(&[
            ("HOME", home),
            ("AWS_PROFILE", profile),
            ("AWS_ENDPOINT_URL", &server.url("")),
        ])
    };
    login(&of("outer"), Provider::Aws, ECR).unwrap();
    let requests = server.requests();
    assert_signed(&requests[0], "AKB", "SKB", "eu-west-1/sts");
    assert_eq!(
        body(&requests[0]),
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Finner&RoleSessionName=me&\
         DurationSeconds=900"
    );
    assert_signed(&requests[1], "AK-inner", "SK-inner", "eu-west-1/sts");
    assert_eq!(requests[1].fields("ExternalId"), ["a b"]);
    assert!(requests[1].fields("RoleSessionName")[0].starts_with("bumpwright-"));
    assert_signed(&requests[2], "AK-outer", "SK-outer", "eu-west-1/ecr");

    server.clear();
    login(&of("printed"), Provider::Aws, ECR).unwrap();
    assert_signed(&server.requests()[0], "AKP", "SKP", "eu-west-1/ecr");
    let said = failure(&of("broken"), Provider::Aws, ECR);
    assert!(
        said.ends_with("what it printed cannot be used: it is not JSON (line 1, column 1)"),
        "{said}"
    );
    let said = failure(&of("nobody"), Provider::Aws, ECR);
    assert!(
        said.contains("the AWS profile \"nobody\": is neither in ~/.aws/config"),
        "{said}"
    );
}

#[test]
fn credentials_of_a_container() {
    let api = StubHttp::start(aws);
    let pod = StubHttp::start(|request| match request.header("authorization") {
        Some("Bearer-of-pod") => Reply::json(&json!({
            "AccessKeyId": "AKC", "SecretAccessKey": "SKC", "Token": "STC", "Expiration": "2099-01-01T00:00:00Z",
        })),
        _ => refusal(403, &json!({"code": "AccessDenied", "message": format!("no {HUNTER}")})),
    });
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "Bearer-of-pod\n").unwrap();
    let full = pod.url("v1/credentials");
    let cloud_of = |variables: &[(&str, &str)]| {
        let endpoint = api.url("");
        let common = [("HOME", "/nonexistent"), ("AWS_ENDPOINT_URL", endpoint.as_str())];
        let endpoints = Endpoints {
            aws_container: url(&pod.url("")),
            ..Endpoints::default()
        };
        cloud_at(&[&common, variables].concat(), endpoints)
    };
    const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
    let file = ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.to_str().unwrap());
    login(&cloud_of(&[(FULL, &full), file]), Provider::Aws, ECR).unwrap();
    assert_eq!(pod.requests()[0].target, "/v1/credentials");
    assert_signed(&api.requests()[0], "AKC", "SKC", "eu-west-1/ecr");
    let relative = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x?id=1");
    login(&cloud_of(&[relative, (FULL, "http://wrong"), file]), Provider::Aws, ECR).unwrap();
    assert_eq!(pod.requests()[1].target, "/v2/x?id=1");

    let wrong = ("AWS_CONTAINER_AUTHORIZATION_TOKEN", HUNTER);
    let said = failure(&cloud_of(&[(FULL, &full), wrong]), Provider::Aws, ECR);
    assert!(
        said.ends_with("v1/credentials answered 403 AccessDenied: no ***"),
        "{said}"
    );
    let said = failure(&cloud_of(&[(FULL, "http://192.0.2.1/x"), file]), Provider::Aws, ECR);
    assert!(
        said.contains("AWS_CONTAINER_CREDENTIALS_FULL_URI: must be https, or lead to this machine"),
        "{said}"
    );
    let relative = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "//example.com/x");
    assert!(failure(&cloud_of(&[relative, file]), Provider::Aws, ECR).contains("is not a path"));
}

/// EC2's metadata; `fault` answers first.
fn ec2(fault: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) -> StubHttp {
    StubHttp::start(move |request| {
        if let Some(reply) = fault(request) {
            return reply;
        }
        let token = request.header("x-aws-ec2-metadata-token");
        match (request.method.as_str(), request.path.as_str()) {
            ("PUT", "/latest/api/token") => Reply::text(200, "the-token"),
            (_, "/latest/meta-data/iam/security-credentials/") if token == Some("the-token") => {
                Reply::text(200, "node\n")
            }
            (_, "/latest/meta-data/iam/security-credentials/node") if token == Some("the-token") => {
                Reply::json(&json!({
                    "Code": "Success", "AccessKeyId": "AKE", "SecretAccessKey": "SKE", "Token": "STE",
                    "Expiration": "2099-01-01T00:00:00Z",
                }))
            }
            _ => Reply::text(401, "no token"),
        }
    })
}

#[test]
fn credentials_of_a_machine() {
    let api = StubHttp::start(aws);
    let of = |server: &StubHttp, more: &[(&str, &str)]| {
        let (metadata, endpoint) = (server.url(""), api.url(""));
        let variables = [
            ("HOME", "/nonexistent"),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.trim_end_matches('/')),
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ];
        let cloud = cloud(&[&variables, more].concat());
        login(&cloud, Provider::Aws, ECR).map_err(|e| e.to_string())
    };
    let usual = ec2(|_| None);
    of(&usual, &[]).unwrap();
    assert_eq!(
        usual.requests()[0].header("x-aws-ec2-metadata-token-ttl-seconds"),
        Some("300")
    );
    assert_signed(&api.requests()[0], "AKE", "SKE", "eu-west-1/ecr");

    // The token's answer never comes over two hops: version 1, unless that is switched off.
    let hops = ec2(|request| {
        let answer = match request.path.rsplit('/').next().unwrap() {
            "token" => Reply::text(200, "late").after(Duration::from_secs(60)),
            "" => Reply::text(200, "node"),
            _ => {
                Reply::json(&json!({"Code": "Success", "AccessKeyId": "AK1", "SecretAccessKey": "SK1", "Token": "ST1"}))
            }
        };
        Some(answer)
    });
    let start = Instant::now();
    of(&hops, &[]).unwrap();
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_signed(api.requests().last().unwrap(), "AK1", "SK1", "eu-west-1/ecr");
    let said = of(&hops, &[("AWS_EC2_METADATA_V1_DISABLED", "true")]).unwrap_err();
    assert!(
        said.contains("no answer within 1s; in a container the machine must allow two hops"),
        "{said}"
    );

    let locked = ec2(|request| (request.method == "PUT").then(|| Reply::text(403, "")));
    let said = of(&locked, &[]).unwrap_err();
    assert!(
        said.contains("EC2 metadata requires a token that it did not return"),
        "{said}"
    );
    assert!(said.ends_with("answered 401: no token"), "{said}");
    let garbled = ec2(|request| (request.method == "PUT").then(|| Reply::bytes(200, "text/plain", vec![0xff])));
    let said = of(&garbled, &[("AWS_EC2_METADATA_V1_DISABLED", "true")]).unwrap_err();
    assert!(
        said.contains("EC2 metadata returned a token that is not text"),
        "{said}"
    );
    let bare = ec2(|request| request.path.ends_with("credentials/").then(|| Reply::text(404, "")));
    assert!(of(&bare, &[]).unwrap_err().contains("the machine has no IAM role"));
    let failed = json!({"Code": "AssumeRoleUnauthorizedAccess", "Message": "EC2 cannot assume the role"});
    let failing = ec2(move |request| request.path.ends_with("/node").then(|| Reply::json(&failed)));
    let said = of(&failing, &[]).unwrap_err();
    assert!(
        said.ends_with("answered 200 AssumeRoleUnauthorizedAccess: EC2 cannot assume the role"),
        "{said}"
    );
    let odd = ec2(|request| {
        request
            .path
            .ends_with("credentials/")
            .then(|| Reply::text(200, "../../api"))
    });
    assert!(of(&odd, &[]).unwrap_err().contains("it names no role"));
}

#[test]
fn has_no_identity() {
    let cloud = cloud(&[("HOME", "/nonexistent"), ("AWS_EC2_METADATA_DISABLED", "true")]);
    assert_eq!(
        failure(&cloud, Provider::Aws, ECR),
        "failed to get access token for artifact registry: failed to create provider access token for the controller: \
         no AWS credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both set, AWS_WEB_IDENTITY_TOKEN_FILE \
         is not set, there is no profile \"default\" in ~/.aws, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and …_FULL_URI \
         are not set, EC2 metadata is switched off by AWS_EC2_METADATA_DISABLED; set AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the pod or the machine an IAM role"
    );
    let said = failure(&cloud, Provider::Aws, "ghcr.io");
    assert!(
        said.starts_with("invalid AWS registry: 'ghcr.io'. must match ^[0-9]{12}\\.dkr"),
        "{said}"
    );
}

#[test]
fn refusals() {
    let keys = [
        ("AWS_ACCESS_KEY_ID", "AKID"),
        ("AWS_SECRET_ACCESS_KEY", HUNTER),
        ("AWS_SESSION_TOKEN", HUNTER),
    ];
    let of = |answer: Box<dyn Fn(&Request) -> Reply + Send + Sync>| {
        let server = StubHttp::start(answer);
        let endpoint = server.url("");
        let cloud = cloud(&[&keys[..], &[("AWS_ENDPOINT_URL", endpoint.as_str())]].concat());
        (
            login(&cloud, Provider::Aws, ECR).map_err(|e| e.to_string()),
            server.count(),
        )
    };
    let echo = Box::new(move |request: &Request| {
        let said = format!("should have been '{}'", request.header("x-amz-security-token").unwrap());
        refusal(
            403,
            &json!({"__type": "com.amazonaws#SignatureDoesNotMatch", "message": said}),
        )
    });
    let (said, count) = of(echo);
    let said = said.unwrap_err();
    assert!(said.starts_with(
        "failed to create artifact registry credentials: get a login for ECR in eu-west-1 as AKID: http://"
    ));
    assert!(
        said.ends_with("answered 403 SignatureDoesNotMatch: should have been '***'"),
        "{said}"
    );
    assert_eq!(count, 1);

    let (got, count) = of(Box::new(move |request| match request.number {
        1 => refusal(
            400,
            &json!({"__type": "ThrottlingException", "message": "Rate exceeded"}),
        ),
        _ => aws(request),
    }));
    assert_eq!((got.unwrap().username, count), ("AWS".to_owned(), 2));

    let token = |token: &str| json!({"authorizationData": [{"authorizationToken": token, "expiresAt": 1e9}]});
    let rows = [
        (
            Reply::json(&json!({"authorizationData": []})),
            "no authorization data returned",
        ),
        (
            Reply::json(&json!({"authorizationData": [{"expiresAt": 1}]})),
            "authorization token is nil",
        ),
        (
            Reply::json(&json!({"authorizationData": [{"authorizationToken": "eA=="}]})),
            "authorization token expiration is nil",
        ),
        (Reply::json(&token(HUNTER)), "failed to parse authorization token"),
        (Reply::json(&token("eA==")), "invalid authorization token format"),
        (Reply::text(200, HUNTER), "it is not JSON (line 1, column 1)"),
        (
            Reply::json(&json!({"authorizationData": HUNTER})),
            "it has a missing or invalid field (line 1, column 47)",
        ),
        (
            Reply::text(200, HUNTER).endless(),
            "the answer has more than 1048576 bytes, which is too many",
        ),
        (Reply::bytes(403, "text/html", "<html>hunter2"), "answered 403"),
    ];
    for (reply, expected) in rows {
        let said = of(Box::new(move |_| reply.clone())).0.unwrap_err();
        assert!(said.ends_with(expected) && !said.contains("hunter2"), "{said}");
    }
}
