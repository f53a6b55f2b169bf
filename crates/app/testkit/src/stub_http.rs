//! A server that answers what a closure says, by itself or in front of another server.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::sync::Arc;

use crate::http_server::{HttpServer, Request, read_body, read_headers};
use crate::reply::Reply;

/// What a server sends when its client's connection ends the body.
const LONGEST_BODY: u64 = 1 << 30;

/// A running server; it ends when it is dropped. Its addresses and requests are those of [`HttpServer`].
pub struct StubHttp {
    server: HttpServer,
}

impl StubHttp {
    /// Answers what `answer` gives, which sees the request's number among others.
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

    /// Stands in front of a server that speaks plain HTTP: shows what it is asked, and answers in its place what `answer`
    /// gives.
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

/// The answer of another server, over a connection of its own. The host that was asked for is passed on, so that the
/// addresses in the answer lead back to the stub.
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
