//! moto, a mock of AWS' services (PyPI: `moto[s3,server]`, fetched by `tests/tools/prepare`). It checks no signatures:
//! put `StubHttp` in front.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::program::reply::Reply;
use crate::server::http_server::Request;
use crate::server::stub_http::forward;

/// A running server, empty at first; it ends when it is dropped.
pub struct Moto {
    child: Child,
    address: SocketAddr,
}

impl Moto {
    /// None when it is missing. A page of a list has three objects.
    pub fn start() -> Option<Self> {
        let mut child = Command::new(crate::tool("moto_server")?)
            .args(["-H", "127.0.0.1", "-p", "0"])
            .env("MOTO_S3_DEFAULT_MAX_KEYS", "3")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let address = lines.find_map(|line| {
            let rest = line.split("Running on http://").nth(1)?.to_owned();
            rest.split_whitespace().next()?.parse().ok()
        });
        // It logs each request to the pipe, which must be read.
        thread::spawn(move || lines.for_each(drop));
        Some(Self {
            child,
            address: address.expect("moto says where it listens"),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends `PUT` of an escaped path. The object is public.
    pub fn put(&self, target: &str, body: impl Into<Vec<u8>>) -> Reply {
        let address = self.address.to_string();
        let headers = [
            ("host", address.as_str()),
            // Overwriting requires an identity.
            (
                "authorization",
                "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request",
            ),
            ("x-amz-acl", "public-read"),
        ];
        let request = Request {
            method: "PUT".to_owned(),
            target: target.to_owned(),
            path: String::new(),
            query: String::new(),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            connection: 0,
            number: 0,
            body: body.into(),
        };
        let reply = forward(self.address, &request).unwrap();
        assert_eq!(reply.status, 200, "{target}: {}", String::from_utf8_lossy(&reply.body));
        reply
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
