//! Real key services: Vault and OpenBao in their development mode, unsealed and in memory, and local-kms (AWS
//! KMS); built by `tests/tools/prepare-real`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::program::running::{Client, Running};

/// The token that may do everything.
pub const ROOT: &str = "hunter2-root";

/// The words of an error of SOPS, without the line breaks and bars of its boxes.
pub fn unboxed(said: &str) -> String {
    let words = said.split_whitespace().filter(|word| *word != "|");
    words.collect::<Vec<_>>().join(" ")
}

/// Vault or OpenBao.
pub struct Vault {
    server: Running,
    client: Client,
    scheme: &'static str,
    ca: Option<PathBuf>,
}

impl Vault {
    /// `vault` or `bao`; none when it is missing.
    pub fn start(program: &str) -> Option<Self> {
        Self::with(program, false)
    }

    /// With TLS, by an authority of its own.
    pub fn with(program: &str, tls: bool) -> Option<Self> {
        let program = crate::tool(program)?;
        let server = Running::start(|port, folder| {
            // Otherwise it would also listen on the port after this one, which may be that of another test.
            let settings = folder.join("settings.hcl");
            std::fs::write(&settings, "disable_clustering = true\n").unwrap();
            let mut command = Command::new(&program);
            command.args([
                "server",
                &format!("-config={}", settings.display()),
                "-dev",
                "-dev-no-store-token",
                &format!("-dev-root-token-id={ROOT}"),
            ]);
            command.arg(format!("-dev-listen-address=127.0.0.1:{port}"));
            if tls {
                command
                    .arg("-dev-tls")
                    .arg(format!("-dev-tls-cert-dir={}", folder.display()));
            }
            command
        });
        // Its certificate is written before it listens.
        let ca = tls.then(|| {
            let files = std::fs::read_dir(server.folder()).unwrap();
            let mut paths = files.map(|file| file.unwrap().path());
            paths.find(|path| path.to_string_lossy().ends_with("-ca.pem")).unwrap()
        });
        let pem = ca.as_ref().map(|path| std::fs::read(path).unwrap());
        let vault = Self {
            server,
            client: Client::trusting(pem.as_deref()),
            scheme: if tls { "https" } else { "http" },
            ca,
        };
        // It listens before it is unsealed.
        let health = format!("{}/v1/sys/health", vault.address());
        let is_ready = || {
            let answer = vault.client.try_send("GET", &health, [("x-vault-token", ROOT)], b"");
            answer.is_ok_and(|answer| answer.status == 200)
        };
        crate::program::waiting::wait_for(is_ready, || vault.server.log());
        Some(vault)
    }

    /// As it is named in files of SOPS.
    pub fn address(&self) -> String {
        format!("{}://{}", self.scheme, self.server.address())
    }

    /// The file of the authority of its certificate.
    pub fn ca(&self) -> Option<&PathBuf> {
        self.ca.as_ref()
    }

    pub fn log(&self) -> String {
        self.server.log()
    }

    /// Sends a request for a path below `/v1/`, which may begin with a namespace.
    pub fn send(&self, method: &str, path: &str, token: &str, body: &Json) -> (u16, Json) {
        let url = format!("{}/v1/{path}", self.address());
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self
            .client
            .send(method, &url, [("x-vault-token", token)], text.as_bytes());
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
    }

    /// Writes as who may do everything.
    pub fn write(&self, path: &str, body: Json) -> Json {
        let (status, said) = self.send("POST", path, ROOT, &body);
        assert!((200..300).contains(&status), "{path}: {status} {said}");
        said
    }

    /// A key of a transit engine, which is mounted if need be, and a policy `NAME-decryptor` that allows to decrypt
    /// with it. The namespace is empty or `name/`.
    pub fn make_key(&self, namespace: &str, engine: &str, name: &str, kind: &str) {
        let mount = format!("{namespace}sys/mounts/{engine}");
        self.send("POST", &mount, ROOT, &json!({"type": "transit"}));
        self.write(&format!("{namespace}{engine}/keys/{name}"), json!({ "type": kind }));
        let rule = format!("path \"{engine}/decrypt/{name}\" {{ capabilities = [\"update\"] }}");
        let policy = format!("{namespace}sys/policies/acl/{name}-decryptor");
        self.write(&policy, json!({ "policy": rule }));
    }

    /// Seals it; nothing but to unseal it is answered then.
    pub fn seal(&self) {
        self.write("sys/seal", json!({}));
    }

    pub fn unseal(&self) {
        let log = self.log();
        let key = log
            .split("Unseal Key: ")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        self.write("sys/unseal", json!({ "key": key.unwrap() }));
    }

    /// A token with these fields (Vault, *Token auth method (API): create token*).
    pub fn token(&self, fields: Json) -> String {
        let said = self.write("auth/token/create", fields);
        said["auth"]["client_token"].as_str().unwrap().to_owned()
    }
}

/// local-kms, whose keys are real ones. It checks no signatures.
pub struct LocalKms {
    server: Running,
    client: Client,
}

impl LocalKms {
    pub const REGION: &'static str = "eu-west-1";

    /// None when it is missing.
    pub fn start() -> Option<Self> {
        let program = crate::tool("local-kms")?;
        let server = Running::start(|port, folder| {
            let mut command = Command::new(&program);
            command.env("PORT", port.to_string()).env("KMS_REGION", Self::REGION);
            command.env("KMS_DATA_PATH", folder.join("data"));
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

    /// Calls an operation, such as `CreateKey`.
    pub fn call(&self, operation: &str, body: &Json) -> Json {
        let url = format!("http://{}/", self.address());
        let target = format!("TrentService.{operation}");
        let scope = format!(
            "AWS4-HMAC-SHA256 Credential=AK/20260101/{}/kms/aws4_request",
            Self::REGION
        );
        let headers = [
            ("x-amz-target", target.as_str()),
            ("content-type", "application/x-amz-json-1.1"),
            ("authorization", &scope),
        ];
        let answer = self.client.send("POST", &url, headers, body.to_string().as_bytes());
        serde_json::from_slice(&answer.good().body).unwrap_or_default()
    }
}
