//! What a server that echoes bodies answers to clients that are slow, odd, or there when it stops.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::SocketAddr;
use std::time::Duration;

use bumpwright_http_server::{Body, Limits, blocking, listen, serve};
use bytes::Bytes;
use http::{Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const SOON: Duration = Duration::from_millis(50);

fn limits() -> Limits {
    Limits {
        body_size: 10,
        ..Limits::default()
    }
}

/// A server that echoes bodies, and panics at `/panic`; what stops it, and its end.
async fn server(limits: Limits) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<()>) {
    let listener = listen("127.0.0.1", 0).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let handler = |request: Request<Bytes>| {
        blocking(move || match request.uri().path() {
            "/panic" => panic!("as asked"),
            "/stream" => Response::new(stream()),
            _ => Response::new(Body::from(request.into_body())),
        })
    };
    let serving = tokio::spawn(serve(listener, limits, handler, async { drop(stopped.await) }));
    (address, stop, serving)
}

/// Three pieces, after longer than a response of known size may take.
fn stream() -> Body {
    let (send, receive) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        for piece in ["one ", "two ", "three"] {
            tokio::time::sleep(SOON).await;
            let _ = send.send(Bytes::from(piece)).await;
        }
    });
    Body::streamed(receive)
}

/// All that the server sends until it closes the connection.
async fn exchange(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn each_request_has_its_response() {
    let (address, _stop, _) = server(limits()).await;
    let get = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    for (request, status, text) in [
        (get, "200 OK", ""),
        (
            "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
            "200 OK",
            "hello",
        ),
        (
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello world",
            "413 Payload Too Large",
            "the body is larger than 10 bytes\n",
        ),
        (
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
            "400 Bad Request",
            "the body could not be read\n",
        ),
        (
            "GET / HTTP/1.1\r\n\r\n",
            "400 Bad Request",
            "400 Bad Request: missing required Host header",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "400 Bad Request",
            "400 Bad Request",
        ),
        (
            "GET /panic HTTP/1.1\r\nHost: h\r\n\r\n",
            "500 Internal Server Error",
            "500 Internal Server Error",
        ),
        ("\u{16}\u{3}\u{1}\r\n\r\n", "400 Bad Request", ""),
    ] {
        let answer = exchange(address, request).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(head.lines().next(), Some(&*format!("HTTP/1.1 {status}")), "{request:?}");
        assert!(head.contains("\r\nConnection: close"), "{head}");
        assert_eq!(body, text, "{request:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_read_ends_the_connection() {
    let (address, _stop, _) = server(Limits {
        body_size: 0,
        ..limits()
    })
    .await;
    let answer = exchange(address, "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\r\nConnection: close"), "{answer}");
}

#[tokio::test]
async fn slow_clients_are_cut_off() {
    let (address, _stop, _) = server(Limits {
        idle_time: SOON,
        head_time: SOON,
        body_time: SOON,
        ..limits()
    })
    .await;
    for (request, start) in [
        ("", ""),
        ("GET / HTTP/1.1\r\nHo", "HTTP/1.1 408 Request Timeout\r\n"),
        (
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhell",
            "HTTP/1.1 408 Request Timeout\r\n",
        ),
        // Idle after its response.
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\n"),
    ] {
        let answer = exchange(address, request).await;
        assert!(answer.starts_with(start), "{request:?}: {answer}");
    }
}

#[tokio::test]
async fn a_large_head_is_refused() {
    let (address, _stop, _) = server(limits()).await;
    let head = format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}", "a".repeat(100_000));
    let answer = exchange(address, &head).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn a_body_that_is_coming_in_does_not_keep_others_out() {
    let (address, _stop, _) = server(Limits {
        connections: 1,
        ..limits()
    })
    .await;
    let mut slow = TcpStream::connect(address).await.unwrap();
    let half = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe";
    slow.write_all(half).await.unwrap();
    tokio::time::sleep(SOON).await;
    let answer = exchange(address, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).await.unwrap();
    assert!(rest.is_empty(), "{rest:?}");
}

#[tokio::test]
async fn the_end_closes_connections_that_are_new_or_idle() {
    let (address, stop, serving) = server(limits()).await;
    let mut new = TcpStream::connect(address).await.unwrap();
    let mut idle = TcpStream::connect(address).await.unwrap();
    idle.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
    let mut start = [0; 12];
    idle.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    drop(stop);
    let mut rest = Vec::new();
    new.read_to_end(&mut rest).await.unwrap();
    assert!(rest.is_empty());
    idle.read_to_end(&mut rest).await.unwrap();
    serving.await.unwrap();
}

#[tokio::test]
async fn a_stream_may_take_its_time_and_is_sent_piece_by_piece() {
    let limits = Limits {
        stall_time: SOON,
        least_rate: 1 << 30,
        ..limits()
    };
    let (address, _stop, _) = server(limits).await;
    let request = "GET /stream HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    let answer = exchange(address, request).await;
    assert!(answer.contains("\r\nTransfer-Encoding: chunked"), "{answer}");
    assert!(
        answer.ends_with("4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_stream_ends_when_its_client_is_gone() {
    let listener = listen("127.0.0.1", 0).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (begun, mut streams) = tokio::sync::mpsc::channel(1);
    let handler = move |_: Request<Bytes>| {
        let begun = begun.clone();
        async move {
            let (send, receive) = tokio::sync::mpsc::channel::<Bytes>(1);
            begun.send(send).await.unwrap();
            Response::new(Body::streamed(receive))
        }
    };
    let limits = Limits {
        half_close: false,
        ..limits()
    };
    let _serving = tokio::spawn(serve(listener, limits, handler, std::future::pending()));
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
    let stream = streams.recv().await.unwrap();
    stream.send(Bytes::from("first")).await.unwrap();
    let _ = client.read(&mut [0; 512]).await.unwrap();
    drop(client);
    // Nothing is sent to it any more.
    let closed = tokio::time::timeout(Duration::from_secs(60), stream.closed()).await;
    assert!(closed.is_ok());
}
