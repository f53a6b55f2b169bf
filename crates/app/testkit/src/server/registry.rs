//! The real registry (distribution v3, or v2) on a free port, with a temporary folder, built by `tests/tools/prepare`.
//! Others are in [`crate::server::registries`].

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;

use crate::fixture::images::Images;
use crate::server::token_server::TokenServer;
use crate::signature::tls::Certificates;

/// The required login.
#[derive(Clone, Copy, Default)]
pub enum Access<'a> {
    #[default]
    Anybody,
    /// User name and password, by Basic authentication.
    Password(&'a str, &'a str),
    /// A token of this server.
    Token(&'a TokenServer),
}

/// The major of distribution.
#[derive(Clone, Copy, Default)]
pub enum Release {
    #[default]
    Three,
    /// Built by `tests/tools/prepare-real`. Its tokens are of another form: it takes no [`Access::Token`].
    Two,
}

/// Which registry is started, and how it is reached.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    pub release: Release,
    pub access: Access<'a>,
    /// The address of the registry that it is a cache of ("pull-through").
    pub cache_of: Option<&'a str>,
    /// TLS with the server's certificate.
    pub tls: Option<&'a Certificates>,
    /// Whether a client certificate of the same authority is required.
    pub clients: bool,
}

/// A line of the access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    pub status: u16,
    pub user_agent: String,
}

/// A registry, which runs until it is dropped.
pub struct Registry {
    address: SocketAddr,
    tls: bool,
    dir: tempfile::TempDir,
    child: Child,
}

impl Registry {
    /// Plain HTTP without login. None when the program is missing.
    pub fn start() -> Option<Self> {
        Self::with(&Options::default())
    }

    pub fn with(options: &Options<'_>) -> Option<Self> {
        let program = match options.release {
            Release::Three => crate::tool("registry")?,
            Release::Two => crate::tool("registry2")?,
        };
        // In memory where possible: on a disk thousands of small folders take many seconds.
        let dir = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let config = dir.path().join("config.yml");
        fs::write(&config, configuration(dir.path(), options)).unwrap();
        let log = |name: &str| File::create(dir.path().join(name)).unwrap();
        let child = Command::new(program)
            .arg("serve")
            .arg(&config)
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdin(Stdio::null())
            .stdout(log("access.log"))
            .stderr(log("registry.log"))
            .spawn()
            .unwrap();
        let mut registry = Self {
            address: ([127, 0, 0, 1], 0).into(),
            tls: options.tls.is_some(),
            dir,
            child,
        };
        registry.address = registry.await_address();
        Some(registry)
    }

    /// Waits for the port that it has chosen.
    fn await_address(&mut self) -> SocketAddr {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let log = self.log();
            let said = log.split("listening on ").nth(1).and_then(|rest| {
                let word = rest.split([',', '"', '\n']).next()?;
                word.parse().ok()
            });
            if let Some(address) = said {
                return address;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none() && Instant::now() < end,
                "the registry does not start: {log}"
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `localhost:port`, for which the test certificates are made too: the registry in an image's name.
    pub fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    /// The URL of a path without leading slash.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}/{path}", self.host())
    }

    /// The images, which can be changed while it runs.
    pub fn images(&self) -> Images {
        Images::below(self.dir.path())
    }

    /// Its access log so far, which is written before an answer ends. To see the headers of
    /// requests, put a `StubHttp` in front.
    pub fn requests(&self) -> Vec<Logged> {
        let log = fs::read_to_string(self.dir.path().join("access.log")).unwrap();
        log.lines().filter_map(logged).collect()
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("registry.log")).unwrap()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The configuration as JSON, which is YAML.
fn configuration(dir: &Path, options: &Options<'_>) -> String {
    use serde_json::json;
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let mut config = json!({
        "version": "0.1",
        "log": {"level": "info"},
        "storage": {"filesystem": {"rootdirectory": dir}, "maintenance": {"uploadpurging": {"enabled": false}}},
        "http": {"addr": "127.0.0.1:0", "secret": "for tests"},
    });
    if let Some(address) = options.cache_of {
        config["proxy"] = json!({"remoteurl": address});
    }
    if let Some(certificates) = options.tls {
        let (certificate, key) = &certificates.server;
        config["http"]["tls"] = json!({
            "certificate": file("server.crt", certificate),
            "key": file("server.key", key),
        });
        if options.clients {
            config["http"]["tls"]["clientcas"] = json!([file("ca.crt", &certificates.ca)]);
        }
    }
    match options.access {
        Access::Anybody => {}
        Access::Password(user, password) => {
            let line = format!("{user}:{}\n", bcrypt_hash(password));
            config["auth"] = json!({"htpasswd": {"realm": "test", "path": file("htpasswd", line.as_bytes())}});
        }
        Access::Token(server) => {
            config["auth"] = json!({"token": {
                "realm": server.realm(),
                "service": server.service(),
                "issuer": server.issuer(),
                "jwks": file("jwks.json", server.jwks().to_string().as_bytes()),
            }});
        }
    }
    config.to_string()
}

/// A hash for htpasswd, with the lowest cost of bcrypt.
fn bcrypt_hash(password: &str) -> String {
    let (cost, salt) = (4, [7; 16]);
    let hash = bcrypt::bcrypt(cost, salt, &[password.as_bytes(), b"\0"].concat());
    let encode = |bytes: &[u8]| bcrypt::BASE_64.encode(bytes);
    format!("$2y${cost:02}${}{}", encode(&salt), encode(&hash[..23]))
}

/// Apache's combined format: `127.0.0.1 - - [time] "GET /v2/ HTTP/1.1" 200 2 "referrer" "agent"`.
fn logged(line: &str) -> Option<Logged> {
    let quoted: Vec<&str> = line.split('"').collect();
    let mut request = quoted.get(1)?.split(' ');
    Some(Logged {
        method: request.next()?.to_owned(),
        target: request.next()?.to_owned(),
        status: quoted.get(2)?.split_whitespace().next()?.parse().ok()?,
        user_agent: (*quoted.get(5)?).to_owned(),
    })
}
