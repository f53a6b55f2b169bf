//! The objects of the sources, and their servers.

use std::path::Path;
use std::time::Duration;

use bumpwright_testkit::aws_signature::AwsKey;
use bumpwright_testkit::moto::Moto;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::proxy::Proxy;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::{StubHttp, forward};
use bumpwright_testkit::tls::Certificates;

pub const SECRET: &str = "hunter2/hunter2+hunter2=";

const KEY: AwsKey<'static> = AwsKey {
    id: "AKID",
    secret: SECRET,
    region: "eu-west-1",
    service: "s3",
};

/// A server with buckets.
pub struct World {
    /// For anybody.
    pub moto: Moto,
    /// For who signs with the key.
    pub closed: StubHttp,
    /// For anybody, with TLS.
    pub tls: StubHttp,
    pub certificates: Certificates,
    /// Takes its time.
    pub slow: StubHttp,
    /// Gives the key to who logs in.
    pub sts: StubHttp,
    pub proxy: Proxy,
    /// `host:port` where no server is.
    pub nowhere: String,
    folder: tempfile::TempDir,
}

impl World {
    /// None when a program is missing.
    pub fn build() -> Option<Self> {
        let moto = Moto::start()?;
        let certificates = Certificates::make()?;
        fill(&moto);
        let address = moto.address();
        let closed = StubHttp::in_front_of(address, |request| {
            // Where the bucket is is asked as if it were in the first region.
            let region = match request.query.as_str() {
                "location=" => "us-east-1",
                _ => "eu-west-1",
            };
            let checked = AwsKey { region, ..KEY }.check(request);
            checked.err().map(|_| refusal())
        });
        let pass =
            move |request: &_| forward(address, request).unwrap_or_else(|error| Reply::text(502, &error.to_string()));
        Some(Self {
            closed,
            tls: StubHttp::with(Some(certificates.server_config(false)), pass),
            slow: StubHttp::start(|_| Reply::status(200).after(Duration::from_secs(5))),
            sts: StubHttp::start(|request| {
                let form = String::from_utf8_lossy(&request.body).into_owned();
                if form.contains("LDAPUsername=ann&") && form.contains("LDAPPassword=pw&") {
                    Reply::bytes(200, "text/xml", credentials())
                } else {
                    error(403, "AccessDenied", "nobody of that name")
                }
            }),
            proxy: Proxy::start(None),
            nowhere: format!("127.0.0.1:{}", free_port()),
            folder: tempfile::tempdir().unwrap(),
            moto,
            certificates,
        })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What changes between the rounds.
    pub fn go_on(&self) {
        self.put("moving", &[("a.yaml", "a: 2\n"), ("new/b.yaml", "b: 1\n")]);
        self.put("then-ruled", &[(".sourceignore", "*.md\n")]);
    }

    fn put(&self, bucket: &str, objects: &[(&str, &str)]) {
        put(&self.moto, bucket, objects);
    }
}

fn put(moto: &Moto, bucket: &str, objects: &[(&str, &str)]) {
    for (key, body) in objects {
        moto.put(&format!("/{bucket}/{key}"), *body);
    }
}

fn fill(moto: &Moto) {
    const PLACE: &str =
        "<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>";
    for bucket in ["podinfo", "ruled", "empty", "moving", "then-ruled", "odd", "clash"] {
        moto.put(&format!("/{bucket}"), PLACE);
    }
    let podinfo = [
        ("README.md", "# podinfo\n"),
        ("deploy/app.yaml", "kind: Deployment\n"),
        ("deploy/hpa.yaml", "kind: HorizontalPodAutoscaler\n"),
        ("deploy/base/kustomization.yaml", "resources: []\n"),
        ("folder/", ""),
        ("empty.txt", ""),
        ("logo.png", "png"),
        (".github/ci.yaml", "on: push\n"),
    ];
    put(moto, "podinfo", &podinfo);
    put(moto, "then-ruled", &podinfo);
    put(moto, "moving", &[("a.yaml", "a: 1\n")]);
    put(
        moto,
        "ruled",
        &[
            (".sourceignore", "# rules\n*.md\n/deploy/*\n!/deploy/app.yaml\n"),
            ("README.md", "no"),
            ("deploy/app.yaml", "kind: Deployment\n"),
            ("deploy/secret.yaml", "no"),
            ("sub/.sourceignore", "*.txt\n"),
            ("sub/a.txt", "a"),
            ("sub/README.md", "no"),
        ],
    );
    put(
        moto,
        "odd",
        &[
            ("a%20b/%C3%BC%2B%26.yaml", "odd"),
            ("-dash", "d"),
            ("double//slash", "s"),
            ("a%5Cb", "b"),
        ],
    );
    put(moto, "clash", &[("a", "file"), ("a/b", "below it")]);
    let large: String = "0123456789abcdef\n".repeat(60_000);
    moto.put("/odd/large.txt", large);
}

fn error(status: u16, code: &str, message: &str) -> Reply {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>");
    Reply::bytes(status, "application/xml", body)
}

fn refusal() -> Reply {
    error(403, "SignatureDoesNotMatch", "the signature is another one")
}

fn credentials() -> String {
    format!(
        "<AssumeRoleWithLDAPIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
         <AssumeRoleWithLDAPIdentityResult><Credentials><AccessKeyId>AKID</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey>\
         <Expiration>2099-01-01T00:00:00Z</Expiration><SessionToken>ses</SessionToken></Credentials>\
         </AssumeRoleWithLDAPIdentityResult></AssumeRoleWithLDAPIdentityResponse>"
    )
}
