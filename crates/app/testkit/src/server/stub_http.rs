//! A server with the answers of a closure, by itself or in front of another server.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::sync::Arc;

use crate::program::reply::Reply;
use crate::server::http_server::{HttpServer, Request, read_body, read_headers};

/// The longest body that is ended by the connection.
const LONGEST_BODY: u64 = 1 << 30;

/// A running server; it ends when it is dropped. Its addresses and requests are those of [`HttpServer`].
pub struct StubHttp {
    server: HttpServer,
}

impl StubHttp {
    /// Starts a server with the replies of `answer`.
    pub fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(None, answer)
    }

    /// With TLS.
    pub fn with(
        tls: Option<Arc<rustls::ServerConfig>>,
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let server = HttpServer::start(tls, move |request, out| answer(request).send(request, out));
        Self { server }
    }

    /// Starts in front of a plain HTTP server: records its requests, and replies in its place if `answer` returns a
    /// reply.
    pub fn in_front_of(server: SocketAddr, answer: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) -> Self {
        Self::start(move |request| {
            answer(request).unwrap_or_else(|| {
                forward(server, request).unwrap_or_else(|error| Reply::text(502, &error.to_string()))
            })
        })
    }
}

impl Deref for StubHttp {
    type Target = HttpServer;

    fn deref(&self) -> &HttpServer {
        &self.server
    }
}

/// Forwards a request to another server, over a new connection. The host header is passed on, so that the
/// addresses in the answer are those of the stub.
pub fn forward(server: SocketAddr, request: &Request) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(server)?;
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
    for (name, value) in &request.headers {
        if !["connection", "transfer-encoding", "content-length"].contains(&name.as_str()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    head.push_str(&format!(
        "content-length: {}\r\nconnection: close\r\n\r\n",
        request.body.len()
    ));
    stream.write_all(&[head.as_bytes(), &request.body].concat())?;
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    answer.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
    let mut reply = Reply::status(status.ok_or_else(|| io::Error::other(format!("no HTTP: {line:?}")))?);
    let mut headers = read_headers(&mut answer)?;
    if request.method != "HEAD" {
        reply.body = read_body(&mut answer, &headers, LONGEST_BODY)?;
        headers.remove("content-length");
    }
    for name in ["connection", "transfer-encoding"] {
        headers.remove(name);
    }
    reply.headers.extend(headers);
    Ok(reply)
}
