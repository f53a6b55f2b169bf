//! Streams of changes, and clients that read slowly or ask for too much.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use bumpwright_testkit::waiting::until;

use super::seeded::{Pages, account, account_in, by_token, seeded};

/// A stream of events.
struct Stream(TcpStream, Vec<u8>);

impl Stream {
    fn open(pages: &Pages, token: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", pages.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let request = format!("GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        Self(stream, Vec::new())
    }

    /// All that has come.
    fn text(&mut self) -> String {
        let mut bytes = [0; 4096];
        if let Ok(number @ 1..) = self.0.read(&mut bytes) {
            self.1.extend_from_slice(&bytes[..number]);
        }
        String::from_utf8_lossy(&self.1).into_owned()
    }

    fn status(&mut self) -> String {
        until("there is an answer", || self.text().contains("\r\n\r\n"));
        self.text().split(' ').nth(1).unwrap().to_owned()
    }
}

#[test]
fn a_message_says_that_something_changed_and_only_to_those_who_may_see_it() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let tenant = account(cluster, "okapi", "watcher", "ui-view");
    let (mut all, mut own) = (Stream::open(pages, cluster.token()), Stream::open(pages, &tenant));
    for stream in [&mut all, &mut own] {
        assert_eq!(stream.status(), "200");
        assert!(stream.text().contains("text/event-stream"));
        until("the stream knows what there is", || stream.text().contains("id: "));
    }
    let path = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/zebra/kustomizations/zebra-base";
    let change = |path: &str, text: &str| {
        let patch = json!({"spec": {"path": text}});
        assert_eq!(cluster.merge_patch(path, &patch).status, 200);
    };
    change(path, "./first");
    until("who sees everything is told", || all.text().contains("data: changed"));
    change(
        "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/okapi/kustomizations/okapi-base",
        "./second",
    );
    until("the tenant is told of the own", || own.text().contains("data: changed"));
    assert_eq!(own.text().matches("data: ").count(), 1, "{}", own.text());
}

#[test]
fn streams_of_one_person_are_bounded() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let (greedy, other) = (
        account(cluster, "okapi", "greedy", "ui-view"),
        account_in(cluster, "home-greedy", "okapi", "modest", "ui-view"),
    );
    let mut streams: Vec<Stream> = (0..5).map(|_| Stream::open(pages, &greedy)).collect();
    streams.iter_mut().for_each(|stream| assert_eq!(stream.status(), "200"));
    assert_eq!(Stream::open(pages, &greedy).status(), "429");
    // Somebody who makes ServiceAccounts gets no more by that.
    assert_eq!(Stream::open(pages, &other).status(), "429");
    assert_eq!(Stream::open(pages, cluster.token()).status(), "200");
    assert!(
        pages.page("/images", &greedy).contains("okapi-web"),
        "pages are not streams"
    );
}

/// Many clients that ask for pages and take nothing.
#[test]
fn a_slow_reader_slows_nobody() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let tenant = account(cluster, "okapi", "slow", "ui-view");
    assert!(pages.page("/kustomizations", &tenant).contains("okapi-apps"));
    let request = format!("GET /kustomizations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {tenant}\r\n\r\n");
    let tarpits: Vec<TcpStream> = (0..150)
        .map(|number| {
            let mut stream = TcpStream::connect(("127.0.0.1", pages.port)).unwrap();
            // Whole requests, begun ones, and silence.
            let part = match number % 3 {
                0 => request.as_str(),
                1 => &request[..request.len() / 2],
                _ => "",
            };
            let _ = stream.write_all(part.as_bytes());
            stream
        })
        .collect();
    for _ in 0..5 {
        let began = Instant::now();
        assert!(pages.page("/images", cluster.token()).contains("okapi-web"));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
    let (status, _) = pages.controller.probe("healthz").unwrap();
    assert_eq!(status, 200);
    drop(tarpits);
}

#[test]
fn large_requests_are_refused() {
    let (Some(_), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let long = "x".repeat(20 << 10);
    assert_eq!(pages.post("/sign-in", &[], &[("token", &long)]).status, 413);
    assert!((400..500).contains(&pages.get("/", &[("Authorization", &format!("Bearer {long}"))]).status));
}
