//! AWS KMS: moto decrypts, and a proxy before it checks signatures (K-130, K-131, K-137, K-145, K-149).

use super::*;
use bumpwright_testkit::aws_signature::AwsKey;
use bumpwright_testkit::moto::Moto;
use bumpwright_testkit::ports::free_port;

const REGION: &str = "eu-west-1";
const FAR: &str = "2099-01-01T00:00:00Z";

fn key(arn: &str, role: &str, context: &[(&str, &str)], enc: &str) -> MasterKey {
    MasterKey::AwsKms {
        arn: arn.to_owned(),
        role: role.to_owned(),
        context: context
            .iter()
            .map(|(k, v)| ((*k).to_owned(), Some((*v).to_owned())))
            .collect(),
        // Of who encrypted; Flux has none of it.
        profile: "theirs".to_owned(),
        enc: enc.to_owned(),
        created_at: CREATED.to_owned(),
    }
}

fn ask(moto: &Moto, operation: &str, body: &Json) -> Json {
    let headers = [
        ("host", moto.address().to_string()),
        ("x-amz-target", format!("TrentService.{operation}")),
        ("content-type", "application/x-amz-json-1.1".to_owned()),
        (
            "authorization",
            format!("AWS4-HMAC-SHA256 Credential=AK/20260101/{REGION}/kms/aws4_request"),
        ),
    ];
    let request = Request {
        method: "POST".to_owned(),
        target: "/".to_owned(),
        path: String::new(),
        query: String::new(),
        headers: headers.into_iter().map(|(k, v)| (k.to_owned(), v)).collect(),
        connection: 0,
        number: 0,
        body: body.to_string().into_bytes(),
    };
    let reply = bumpwright_testkit::stub_http::forward(moto.address(), &request).unwrap();
    serde_json::from_slice(&reply.body).unwrap()
}

/// The keys of the Secret.
fn entry(id: &str, secret: &str) -> String {
    format!("aws_access_key_id: {id}\naws_secret_access_key: {secret}\n")
}

#[test]
fn k_137_moto_decrypts() {
    let Some(moto) = Moto::start() else { return };
    let made = ask(&moto, "CreateKey", &json!({}));
    let arn = made["KeyMetadata"]["Arn"].as_str().unwrap().to_owned();
    let context = json!({"app": "web", "stage": "prod"});
    let encrypted = ask(
        &moto,
        "Encrypt",
        &json!({"KeyId": arn, "Plaintext": STANDARD.encode(DATA_KEY), "EncryptionContext": context}),
    );
    let enc = encrypted["CiphertextBlob"].as_str().unwrap();
    let server = StubHttp::in_front_of(moto.address(), |_| None);
    let endpoint = server.url("");
    let services = services(
        cloud(&[("AWS_ENDPOINT_URL_KMS", &endpoint)]),
        &[("sops.aws-kms", &entry("AKSTATIC", HUNTER))],
    );
    let same = [("stage", "prod"), ("app", "web")];
    assert_eq!(plain(&services, &key(&arn, "", &same, enc)), DATA_KEY);
    let request = &server.requests()[0];
    let signed = AwsKey {
        id: "AKSTATIC",
        secret: HUNTER,
        region: REGION,
        service: "kms",
    };
    assert_eq!(signed.check(request), Ok(()));
    assert_eq!(request.header("x-amz-security-token"), None);

    let said = failure(&services, &key(&arn, "", &[("app", "other")], enc));
    let start = "failed to decrypt sops data key with AWS KMS: operation error KMS: Decrypt, https response error StatusCode: 400";
    assert!(
        said.starts_with(&format!("{start}, InvalidCiphertextException: ")),
        "{said}"
    );
    let said = failure(&services, &key(&arn, "", &same, "AAAA"));
    assert!(said.starts_with(start), "{said}");
}

/// KMS and STS at once: the data key for any ciphertext, credentials that are named after the role.
fn aws(request: &Request) -> Reply {
    if request.header("x-amz-target").is_some() {
        return Reply::json(&json!({"Plaintext": STANDARD.encode(DATA_KEY)}));
    }
    let role = request.fields("RoleArn")[0].rsplit('/').next().unwrap().to_owned();
    let credentials = format!(
        "<R><Credentials><AccessKeyId>AK-{role}</AccessKeyId><SecretAccessKey>{HUNTER}{role}</SecretAccessKey><SessionToken>\
         {HUNTER}session</SessionToken><Expiration>{FAR}</Expiration></Credentials></R>"
    );
    Reply::bytes(200, "text/xml", credentials)
}

/// Which key a request was signed with.
fn signer(request: &Request) -> String {
    let authorization = request.header("authorization").unwrap_or("Credential=-/");
    authorization
        .split("Credential=")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .to_owned()
}

const ARN: &str = "arn:aws:kms:eu-west-1:123456789012:key/1234";

#[test]
fn k_130_k_131_the_secret_then_the_service_account_then_the_process() {
    let server = StubHttp::start(aws);
    let endpoint = server.url("");
    let variables = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_ACCESS_KEY_ID", "AKPROCESS"),
        ("AWS_SECRET_ACCESS_KEY", HUNTER),
    ];
    let annotations = [("eks.amazonaws.com/role-arn", "arn:aws:iam::1:role/own")];
    let secret = entry("AKSTATIC", HUNTER) + "aws_session_token: hunter2session";
    let rows: [(Pairs<'_>, _, &[&str]); 3] = [
        (&[("sops.aws-kms", &secret)], account(&annotations), &["AKSTATIC"]),
        (&[], account(&annotations), &["-", "AK-own"]),
        (&[], Ok(None), &["AKPROCESS"]),
    ];
    for (entries, account, signers) in rows {
        server.clear();
        let services = Services::new(cloud(&variables), given(entries), account, soon());
        assert_eq!(plain(&services, &key(ARN, "", &[], "AAAA")), DATA_KEY);
        let requests = server.requests();
        assert_eq!(requests.iter().map(signer).collect::<Vec<_>>(), signers);
        match signers {
            ["AKSTATIC"] => assert_eq!(requests[0].header("x-amz-security-token"), Some("hunter2session")),
            ["-", _] => {
                assert_eq!(requests[0].fields("Action"), ["AssumeRoleWithWebIdentity"]);
                assert_eq!(
                    requests[0].fields("WebIdentityToken"),
                    [format!("{HUNTER} for sts.amazonaws.com")]
                );
                assert_eq!(
                    requests[0].fields("RoleSessionName"),
                    ["decryptor.apps.eu-west-1.fluxcd.io"]
                );
                // Kept for as long as they live.
                assert_eq!(plain(&services, &key(ARN, "", &[], "AAAA")), DATA_KEY);
                assert_eq!(server.count(), 3);
            }
            _ => {}
        }
    }
    let missing =
        CloudError::Unfit("failed to get service account 'apps/x': ServiceAccount \"x\" not found".to_owned());
    let services = Services::new(cloud(&variables), given(&[]), Err(missing), soon());
    let said = failure(&services, &key(ARN, "", &[], "AAAA"));
    assert!(
        said.ends_with("cached credentials, failed to get service account 'apps/x': ServiceAccount \"x\" not found"),
        "{said}"
    );
}

#[test]
fn k_149_a_web_identity_of_the_process_and_a_role_on_top() {
    let server = StubHttp::start(aws);
    let endpoint = server.url("");
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, HUNTER).unwrap();
    let variables = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.to_str().unwrap()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/irsa"),
        ("HOSTNAME", "kustomize_controller!0"),
    ];
    let services = services(cloud(&variables), &[]);
    for _ in 0..2 {
        assert_eq!(
            plain(&services, &key(ARN, "arn:aws:iam::1:role/sops", &[], "AAAA")),
            DATA_KEY
        );
    }
    let requests = server.requests();
    let signers: Vec<String> = requests.iter().map(signer).collect();
    assert_eq!(signers, ["-", "AK-irsa", "AK-sops", "AK-sops"]);
    assert_eq!(requests[1].fields("Action"), ["AssumeRole"]);
    assert_eq!(requests[1].fields("RoleSessionName"), ["sops@kustomize_controller0"]);
    let signed = AwsKey {
        id: "AK-sops",
        secret: &format!("{HUNTER}sops"),
        region: REGION,
        service: "kms",
    };
    assert_eq!(signed.check(&requests[2]), Ok(()));
}

#[test]
fn refusals_hold_no_secret_and_faults_pass() {
    let server = StubHttp::start(|request| {
        let said = format!("you sent {:?}", request.headers);
        match request.number {
            1 => refusal(400, &json!({"__type": "ThrottlingException", "message": "slow down"})),
            2 => Reply::status(503),
            3 => aws(request),
            4 => refusal(400, &json!({"__type": "AccessDeniedException", "Message": said})),
            5 => Reply::json(&json!({"Plaintext": 7, "said": said})),
            6 => Reply::text(200, &said),
            7 => Reply::json(&json!({"Plaintext": "no base64", "said": said})),
            _ => Reply::json(&json!({})).after(Duration::from_secs(5)),
        }
    });
    let endpoint = server.url("");
    let cloud = cloud(&[("AWS_ENDPOINT_URL", &endpoint)]);
    let secret = entry("AKID", HUNTER) + "aws_session_token: hunter2session";
    let services = services(cloud.clone(), &[("sops.aws-kms", &secret)]);
    let key = key(ARN, "", &[], "AAAA");
    assert_eq!(plain(&services, &key), DATA_KEY);
    assert_eq!(server.count(), 3, "asked again after 429's kin and 503");
    let said = failure(&services, &key);
    assert!(
        said.contains("StatusCode: 400, api error AccessDeniedException: you sent"),
        "{said}"
    );
    for _ in 5..=7 {
        let said = failure(&services, &key);
        assert!(
            said.ends_with("deserialization failed, failed to decode response body"),
            "{said}"
        );
    }
    let hasty = Deadline::after(Duration::from_millis(200));
    let hasty = Services::new(cloud, given(&[("sops.aws-kms", &secret)]), Ok(None), hasty);
    assert!(failure(&hasty, &key).contains("no answer within"));
    let closed = format!("http://127.0.0.1:{}/", free_port());
    let nowhere = super::services(
        super::cloud(&[("AWS_ENDPOINT_URL_KMS", &closed)]),
        &[("sops.aws-kms", &secret)],
    );
    assert!(failure(&nowhere, &key).contains("operation error KMS: Decrypt, http://127.0.0.1:"));
}

#[test]
fn regions_of_files_do_not_name_hosts() {
    let secret = entry("AKID", HUNTER);
    let services = services(cloud(&[]), &[("sops.aws-kms", &secret)]);
    for arn in [
        "arn:aws:kms:evil.example/:1:key/a",
        "arn:aws:kms:x@evil.example#:1:key/a",
    ] {
        let said = failure(&services, &key(arn, "", &[], "AAAA"));
        assert!(said.ends_with("is not a valid region name"), "{said}");
    }
}
