//! The stores and their objects.

use std::io::Write as _;
use std::thread;

use bumpwright_testkit::object_stores::{Azurite, FakeGcs, Versity};
use bumpwright_testkit::proxy::Proxy;
use flate2::Compression;
use flate2::write::GzEncoder;

/// How many objects `many` has at S3: ten pages of a list.
const MANY: usize = 10_000;
/// At Azure: two pages.
const MANY_BLOBS: usize = 5_001;

/// One server of each kind.
pub struct Stores {
    pub s3: Versity,
    pub gcs: FakeGcs,
    pub azure: Azurite,
    /// Leads to Azurite for a host at Azure.
    pub proxy: Proxy,
}

/// Of all stores.
const PODINFO: [(&str, &str); 8] = [
    ("README.md", "# podinfo\n"),
    (".github/ci.yaml", "on: push\n"),
    ("deploy/app.yaml", "kind: Deployment\n"),
    ("deploy/base/kustomization.yaml", "resources: []\n"),
    ("deploy/hpa.yaml", "kind: HorizontalPodAutoscaler\n"),
    ("empty.txt", ""),
    ("logo.png", "png"),
    ("z/last.yaml", "kind: Service\n"),
];

const RULED: [(&str, &str); 7] = [
    (".sourceignore", "# rules\n*.md\n/deploy/*\n!/deploy/app.yaml\n"),
    ("README.md", "no"),
    ("deploy/app.yaml", "kind: Deployment\n"),
    ("deploy/secret.yaml", "no"),
    ("sub/.sourceignore", "*.txt\n"),
    ("sub/a.txt", "a"),
    ("sub/README.md", "no"),
];

/// Escaped keys.
const ODD: [(&str, &str); 5] = [
    ("a%20b/%C3%BC%2B%26.yaml", "odd"),
    ("-dash", "d"),
    ("100%25%20sure%3F.yaml", "percent"),
    ("%22quoted%22%20%3Ctag%3E%27s", "xml"),
    ("e%CC%81/%F0%9F%8E%89", "beyond the plane"),
];

impl Stores {
    /// None when a program is missing.
    pub fn fill() -> Option<Self> {
        let azure = Azurite::start()?;
        let host = format!("{}:80", Azurite::OTHER.1);
        let stores = Self {
            s3: Versity::start()?,
            gcs: FakeGcs::start()?,
            proxy: Proxy::leading(None, &[(&host, azure.address())]),
            azure,
        };
        thread::scope(|scope| {
            scope.spawn(|| fill_s3(&stores.s3));
            scope.spawn(|| fill_gcs(&stores.gcs));
            scope.spawn(|| fill_azure(&stores.azure));
        });
        Some(stores)
    }

    /// What changes between the rounds.
    pub fn go_on(&self) {
        for (key, text) in [("a.yaml", "a: 2\n"), ("new/b.yaml", "b: 1\n")] {
            self.s3.put(&format!("/moving/{key}"), text);
            self.gcs.put("moving", &key.replace('/', "%2F"), "", text.as_bytes());
            self.azure
                .put_blob(Azurite::ACCOUNT, &format!("moving/{key}"), text.as_bytes());
        }
        self.s3.put("/versioned/a.yaml", "a: 4\n");
        self.s3.send("DELETE", "/versioned/b.yaml", "").good();
        self.s3.put("/parts/large", "small now");
    }
}

/// Puts objects by several threads.
fn all(count: usize, put: impl Fn(usize) + Sync) {
    const THREADS: usize = 8;
    thread::scope(|scope| {
        for first in 0..THREADS {
            let put = &put;
            scope.spawn(move || (first..count).step_by(THREADS).for_each(put));
        }
    });
}

fn fill_s3(s3: &Versity) {
    let put = |bucket: &str, objects: &[(&str, &str)]| {
        s3.put(&format!("/{bucket}"), "");
        for (key, text) in objects {
            s3.put(&format!("/{bucket}/{key}"), *text);
        }
    };
    put("podinfo", &PODINFO);
    s3.put("/podinfo/folder/", "");
    put("ruled", &RULED);
    put("odd", &ODD);
    put("empty", &[]);
    put("moving", &[("a.yaml", "a: 1\n")]);
    put("public", &PODINFO);
    const PUBLIC: &str = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*",
        "Action": ["s3:ListBucket", "s3:GetObject"], "Resource": ["arn:aws:s3:::public", "arn:aws:s3:::public/*"]}]}"#;
    s3.put("/public?policy=", PUBLIC);

    put("versioned", &[("before.yaml", "before: 1\n")]);
    s3.put(
        "/versioned?versioning=",
        "<VersioningConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Status>Enabled</Status></VersioningConfiguration>",
    );
    for (key, text) in [
        ("a.yaml", "a: 1\n"),
        ("a.yaml", "a: 2\n"),
        ("b.yaml", "b: 1\n"),
        ("gone.yaml", "gone: 1\n"),
        ("a.yaml", "a: 3\n"),
    ] {
        s3.put(&format!("/versioned/{key}"), text);
    }
    s3.send("DELETE", "/versioned/gone.yaml", "").good();

    put("parts", &[("small", "one part")]);
    let part = |byte: u8, size: usize| vec![byte; size];
    s3.put_in_parts(
        "/parts/large",
        &[part(b'a', 5 << 20), part(b'b', 5 << 20), part(b'c', 7)],
    );
    s3.put_in_parts("/parts/sole", &[part(b'x', 10)]);

    // Put there by somebody who does not go through S3: it has no etag.
    put("foreign", &[("known.yaml", "known: 1\n")]);
    std::fs::write(s3.folder("foreign").join("unknown.yaml"), "unknown: 1\n").unwrap();

    put("many", &[]);
    all(MANY, |number| {
        let key = format!("/many/{:02}/{number:05}.yaml", number % 100);
        s3.put(&key, format!("number: {number}\n"));
    });
}

fn fill_gcs(gcs: &FakeGcs) {
    let put = |bucket: &str, objects: &[(&str, &str)]| {
        gcs.make_bucket(bucket);
        for (key, text) in objects {
            gcs.put(bucket, &key.replace('/', "%2F"), "", text.as_bytes());
        }
    };
    put("podinfo", &PODINFO);
    put("ruled", &RULED);
    put("odd", &ODD);
    put("empty", &[]);
    put("moving", &[("a.yaml", "a: 1\n")]);
    // Google unpacks what is stored in gzip's format.
    put("packed", &[("plain.txt", "as it is")]);
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&b"0123456789abcdef\n".repeat(100)).unwrap();
    gcs.put("packed", "packed.txt", "gzip", &packed.finish().unwrap());
}

fn fill_azure(azure: &Azurite) {
    let put = |container: &str, blobs: &[(&str, &str)]| {
        azure.make_container(Azurite::ACCOUNT, container);
        for (name, text) in blobs {
            azure.put_blob(Azurite::ACCOUNT, &format!("{container}/{name}"), text.as_bytes());
        }
    };
    put("podinfo", &PODINFO);
    put("ruled", &RULED);
    put("odd", &ODD);
    put("empty", &[]);
    put("moving", &[("a.yaml", "a: 1\n")]);
    let (other, _) = Azurite::OTHER;
    azure.make_container(other, "podinfo");
    azure.put_blob(other, "podinfo/app.yaml", b"kind: Deployment\n");
    put("many", &[]);
    all(MANY_BLOBS, |number| {
        let name = format!("many/{:02}/{number:05}.yaml", number % 100);
        azure.put_blob(Azurite::ACCOUNT, &name, format!("number: {number}\n").as_bytes());
    });
}
