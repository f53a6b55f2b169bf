//! Real object stores, empty at first, built by `tests/tools/prepare-real`: versitygw (S3), fake-gcs-server (Google
//! Cloud Storage) and Azurite (Azure Blob Storage).

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

use crate::program::running::{Answer, Client, Running};
use crate::server::http_server::Request;
use crate::signature::aws_signature::AwsKey;
use crate::signature::tls::Certificates;

/// versitygw over a folder: it checks signatures, regions and policies, has versions and uploads of several parts.
pub struct Versity {
    server: Running,
    client: Client,
    /// When it was started; a signature is good for 15 minutes around it.
    date: String,
}

impl Versity {
    /// The key that may do everything.
    pub const KEY: AwsKey<'static> = AwsKey {
        id: "AKVERSITY",
        secret: "hunter2/hunter2+hunter2=",
        region: "eu-west-1",
        service: "s3",
    };

    /// None when it is missing.
    pub fn start() -> Option<Self> {
        let program = crate::tool("versitygw")?;
        let server = Running::start(|port, folder| {
            for name in ["objects", "versions"] {
                fs::create_dir(folder.join(name)).unwrap();
            }
            let mut command = Command::new(&program);
            command.args(["--port", &format!("127.0.0.1:{port}"), "--keep-alive", "--quiet"]);
            command.args(["--access", Self::KEY.id, "--secret", Self::KEY.secret]);
            command.args(["--region", Self::KEY.region, "posix", "--versioning-dir"]);
            command.arg(folder.join("versions")).arg(folder.join("objects"));
            command
        });
        let date = Command::new("date").args(["-u", "+%Y%m%dT%H%M%SZ"]).output().unwrap();
        Some(Self {
            server,
            client: Client::new(),
            date: String::from_utf8(date.stdout).unwrap().trim().to_owned(),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The folder of a bucket's objects.
    pub fn folder(&self, bucket: &str) -> PathBuf {
        self.server.folder().join("objects").join(bucket)
    }

    pub fn log(&self) -> String {
        self.server.log()
    }

    /// Sends a signed request for an escaped path and query.
    pub fn send(&self, method: &str, target: &str, body: impl Into<Vec<u8>>) -> Answer {
        let mut request = Request {
            method: method.to_owned(),
            target: target.to_owned(),
            path: String::new(),
            query: String::new(),
            headers: [("host".to_owned(), self.address().to_string())].into(),
            connection: 0,
            number: 0,
            body: body.into(),
        };
        Self::KEY.sign(&mut request, &self.date);
        let headers = request.headers.iter().filter(|(name, _)| *name != "host");
        let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
        let url = format!("http://{}{target}", self.address());
        self.client.send(method, &url, headers, &request.body)
    }

    /// `PUT` of a bucket, a setting of it, or an object.
    pub fn put(&self, target: &str, body: impl Into<Vec<u8>>) -> Answer {
        self.send("PUT", target, body).good()
    }

    /// An upload of several parts; all but the last one need 5 MiB.
    pub fn put_in_parts(&self, target: &str, parts: &[Vec<u8>]) {
        let begun = self.send("POST", &format!("{target}?uploads="), "").good().text();
        let id = begun.split("<UploadId>").nth(1).and_then(|rest| rest.split('<').next());
        let id = id.unwrap();
        let mut list = String::new();
        for (number, part) in (1..).zip(parts) {
            let answer = self.put(&format!("{target}?partNumber={number}&uploadId={id}"), part.clone());
            let etag = answer.header("etag");
            list.push_str(&format!(
                "<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
            ));
        }
        let list = format!("<CompleteMultipartUpload>{list}</CompleteMultipartUpload>");
        self.send("POST", &format!("{target}?uploadId={id}"), list).good();
    }
}

/// fake-gcs-server, which keeps everything in memory and asks nobody who they are.
pub struct FakeGcs {
    server: Running,
    client: Client,
}

impl FakeGcs {
    /// None when it is missing.
    pub fn start() -> Option<Self> {
        let program = crate::tool("fake-gcs-server")?;
        let server = Running::start(|port, _| {
            let mut command = Command::new(&program);
            command.args([
                "-scheme",
                "http",
                "-host",
                "127.0.0.1",
                "-backend",
                "memory",
                "-log-level",
                "warn",
            ]);
            command.args(["-port", &port.to_string(), "-public-host", &format!("127.0.0.1:{port}")]);
            command
        });
        Some(Self {
            server,
            client: Client::new(),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn make_bucket(&self, name: &str) {
        let url = format!("http://{}/storage/v1/b?project=test", self.address());
        let body = json!({ "name": name }).to_string();
        self.client
            .send("POST", &url, [("content-type", "application/json")], body.as_bytes())
            .good();
    }

    /// `name` is escaped. `encoding` is that of what is stored, if any.
    pub fn put(&self, bucket: &str, name: &str, encoding: &str, body: &[u8]) {
        let mut url = format!(
            "http://{}/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}",
            self.address()
        );
        if !encoding.is_empty() {
            url.push_str(&format!("&contentEncoding={encoding}"));
        }
        self.client
            .send("POST", &url, [("content-type", "application/octet-stream")], body)
            .good();
    }
}

/// Azurite, which checks keys, shared access signatures and the claims of tokens.
pub struct Azurite {
    server: Running,
    client: Client,
    is_tls: bool,
}

/// A shared access signature.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    pub account: &'a str,
    /// The container; without one for all of the account.
    pub container: Option<&'a str>,
    /// `r`, `l`, `w`, `c`, in this order: `rwlc`.
    pub permissions: &'a str,
    /// As in `2030-01-01T00:00:00Z`.
    pub expires: &'a str,
}

impl<'a> Access<'a> {
    /// To list and read a container of [`Azurite::ACCOUNT`].
    pub fn to_read(container: &'a str) -> Self {
        Self {
            account: Azurite::ACCOUNT,
            container: Some(container),
            permissions: "rl",
            expires: "2099-01-01T00:00:00Z",
        }
    }
}

impl Azurite {
    /// The account of [`Azurite::endpoint`]: the first label of its host, and the first part of its path, since the
    /// host is an address.
    pub const ACCOUNT: &'static str = "127";
    /// An account with a host of its own, to which a proxy has to lead.
    pub const OTHER: (&'static str, &'static str) = ("fleet", "fleet.blob.core.windows.net");
    /// The key of both.
    pub const KEY: &'static str = "aHVudGVyMi9odW50ZXIyK2h1bnRlcjI9aHVudGVyMi9odW50ZXIyK2h1bnRlcjI9";

    const VERSION: &'static str = "2021-12-02";

    /// None when it is missing.
    pub fn start() -> Option<Self> {
        Self::with(None)
    }

    /// With TLS, which it wants for tokens. The certificates have to be for `localhost`.
    pub fn with(tls: Option<&Certificates>) -> Option<Self> {
        let program = crate::tool("azurite")?;
        let server = Running::start(|port, folder| {
            let mut command = Command::new(&program);
            command.args(["--blobHost", "127.0.0.1", "--blobPort", &port.to_string(), "--silent"]);
            command.args(["--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"]);
            if let Some(certificates) = tls {
                for (name, bytes) in [("cert", &certificates.server.0), ("key", &certificates.server.1)] {
                    let file = folder.join(name);
                    fs::write(&file, bytes).unwrap();
                    command.arg(format!("--{name}")).arg(file);
                }
                command.args(["--oauth", "basic"]);
            }
            let accounts = [Self::ACCOUNT, Self::OTHER.0].map(|name| format!("{name}:{}", Self::KEY));
            command.env("AZURITE_ACCOUNTS", accounts.join(";"));
            command
        });
        Some(Self {
            server,
            client: Client::trusting(tls.map(|certificates| certificates.ca.as_slice())),
            is_tls: tls.is_some(),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The endpoint of the account.
    pub fn endpoint(&self) -> String {
        self.endpoint_of(Self::ACCOUNT)
    }

    fn endpoint_of(&self, account: &str) -> String {
        let at = if self.is_tls {
            "https://localhost"
        } else {
            "http://127.0.0.1"
        };
        format!("{at}:{}/{account}", self.address().port())
    }

    pub fn log(&self) -> String {
        self.server.log()
    }

    /// The parameters of a shared access signature (Azure Storage, *Create a service SAS*, *Create an account SAS*).
    pub fn signature(access: Access<'_>) -> String {
        let Access {
            account,
            container,
            permissions,
            expires,
        } = access;
        let version = Self::VERSION;
        let (text, own) = match container {
            Some(container) => (
                format!("{permissions}\n\n{expires}\n/blob/{account}/{container}\n\n\n\n{version}\nc\n\n\n\n\n\n\n"),
                "sr=c".to_owned(),
            ),
            None => (
                format!("{account}\n{permissions}\nb\nco\n\n{expires}\n\n\n{version}\n\n"),
                "ss=b&srt=co".to_owned(),
            ),
        };
        let key = STANDARD.decode(Self::KEY).unwrap();
        let mac = Hmac::<Sha256>::new_from_slice(&key).unwrap().chain_update(text);
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        let escaped: String = url::form_urlencoded::byte_serialize(signature.as_bytes()).collect();
        format!(
            "sv={version}&{own}&sp={permissions}&se={}&sig={escaped}",
            expires.replace(':', "%3A")
        )
    }

    pub fn make_container(&self, account: &str, name: &str) {
        self.put(account, &format!("{name}?restype=container"), [], b"");
    }

    /// `name` is `container/blob`, escaped.
    pub fn put_blob(&self, account: &str, name: &str, body: &[u8]) {
        self.put(account, name, [("x-ms-blob-type", "BlockBlob")], body);
    }

    fn put<'h>(&self, account: &str, target: &str, headers: impl IntoIterator<Item = (&'h str, &'h str)>, body: &[u8]) {
        let signature = Self::signature(Access {
            account,
            container: None,
            permissions: "rwlc",
            expires: "2099-01-01T00:00:00Z",
        });
        let join = if target.contains('?') { '&' } else { '?' };
        let url = format!("{}/{target}{join}{signature}", self.endpoint_of(account));
        self.client.send("PUT", &url, headers, body).good();
    }
}
