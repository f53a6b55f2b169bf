//! A reverse proxy that signs people in by name and password (HTTP Basic), and tells the server behind it in headers
//! who they are, with a secret that proves it. Answers are passed on as they come, streams too. As nginx does unless
//! told otherwise, the server behind it gets its own address as `Host`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::time::Duration;

use crate::program::reply::Reply;
use crate::server::http_server::{HttpServer, Out, Request};

/// Somebody who may sign in, and what is told of them.
pub struct Guest {
    pub name: &'static str,
    pub password: &'static str,
    /// Separated by commas.
    pub groups: &'static str,
}

/// A running proxy; it ends when it is dropped. Its address and requests are those of [`HttpServer`].
pub struct SignInProxy(HttpServer);

impl Deref for SignInProxy {
    type Target = HttpServer;

    fn deref(&self) -> &HttpServer {
        &self.0
    }
}

impl SignInProxy {
    /// In front of a server.
    pub fn start(server: SocketAddr, secret: &'static str, guests: &'static [Guest]) -> Self {
        Self(HttpServer::start(None, move |request, out| {
            let login = request.login();
            let known = |guest: &&Guest| {
                login
                    .as_ref()
                    .is_some_and(|login| (login.0.as_str(), login.1.as_str()) == (guest.name, guest.password))
            };
            match guests.iter().find(known) {
                Some(guest) => pass_on(server, secret, guest, request, out),
                None => Reply::text(401, "sign in\n")
                    .header("WWW-Authenticate", "Basic realm=\"proxy\"")
                    .send(request, out),
            }
        }))
    }
}

/// What a client says of these itself is left out.
const OWN: [&str; 10] = [
    "authorization",
    "connection",
    "content-length",
    "host",
    "transfer-encoding",
    "x-bumpwright-secret",
    "x-forwarded-groups",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-user",
];

fn pass_on(server: SocketAddr, secret: &str, guest: &Guest, request: &Request, out: &mut Out<'_>) -> io::Result<bool> {
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
    let kept = request.headers.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
    kept.for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    head.push_str(&format!(
        "host: {server}\r\nx-forwarded-host: {}\r\nx-forwarded-user: {}\r\nx-forwarded-groups: {}\r\nx-bumpwright-secret: {secret}\r\n",
        request.header("host").unwrap_or_default(),
        guest.name,
        guest.groups,
    ));
    head.push_str(&format!(
        "content-length: {}\r\nconnection: close\r\n\r\n",
        request.body.len()
    ));
    let mut behind = TcpStream::connect(server)?;
    behind.write_all(&[head.as_bytes(), &request.body].concat())?;
    behind.set_read_timeout(Some(Duration::from_millis(50)))?;
    let mut buffer = vec![0; 16 << 10];
    loop {
        match behind.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(read) => {
                out.write_all(&buffer[..read])?;
                out.flush()?;
            }
            // A client that leaves a stream ends it at the server, too.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !out.is_left() && !out.stopped() => {}
            Err(error) => return Err(error),
        }
    }
}
