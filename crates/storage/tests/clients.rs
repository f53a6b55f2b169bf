//! Clients that are slow, many, or there when the server stops.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use std::io::Read;
use std::time::Duration;

use bumpwright_storage::Limits;
use support::server::Serving;
use support::world;

const SOON: Duration = Duration::from_millis(50);

/// Larger than what connections hold on their way.
fn large() -> Vec<u8> {
    (0..24_000_000_u32).map(|at| (at % 253) as u8).collect()
}

#[test]
fn a_client_that_says_nothing_more_is_sent_away() {
    let world = world();
    let limits = Limits {
        head_time: SOON,
        idle_time: SOON,
        ..Limits::default()
    };
    let serving = Serving::with_limits(&world.storage, limits);
    let mut silent = serving.connect();
    assert!(silent.is_over());
    let mut slow = serving.connect();
    slow.send("GET / HTTP/1.1\r\nHost: h\r\n");
    assert_eq!(slow.answer(true).status, 408);
    assert!(slow.is_over());
}

#[test]
fn a_head_without_end_is_refused() {
    let world = world();
    let serving = Serving::start(&world);
    let mut client = serving.connect();
    client.send(&format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}", "a".repeat(20_000)));
    assert_eq!(client.answer(true).status, 431);
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let world = world();
    let contents = large();
    let written = world.write("a.tar.gz", &contents);
    let limits = Limits {
        stall_time: SOON,
        least_rate: 1 << 40,
        ..Limits::default()
    };
    let serving = Serving::with_limits(&world.storage, limits);
    let mut client = serving.connect();
    client.send(&format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", written.path));
    // The server gives up while nothing is read here; what is on its way still arrives, and the rest never does.
    let other = serving.get("/");
    assert_eq!(other.status, 200);
    std::thread::sleep(20 * SOON);
    let mut got = Vec::new();
    let _ = client.stream.read_to_end(&mut got);
    assert!(got.len() < contents.len(), "{}", got.len());
}

#[test]
fn a_thousand_connections_are_served() {
    let world = world();
    let written = world.write("a.tar.gz", b"hello");
    let serving = Serving::start(&world);
    let mut clients: Vec<_> = (0..1000).map(|_| serving.connect()).collect();
    for _ in 0..2 {
        for client in &mut clients {
            client.send(&format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", written.path));
        }
        for client in &mut clients {
            assert_eq!(client.answer(true).body, b"hello");
        }
    }
}

#[test]
fn those_beyond_the_limit_wait_for_a_place() {
    let world = world();
    let limits = Limits {
        connections: 2,
        ..Limits::default()
    };
    let serving = Serving::with_limits(&world.storage, limits);
    let mut served = [serving.connect(), serving.connect()];
    for client in &mut served {
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(client.answer(true).status, 200);
    }
    let mut waiting = serving.connect();
    waiting.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    waiting.stream.get_ref().set_read_timeout(Some(SOON)).unwrap();
    assert!(waiting.stream.read(&mut [0]).is_err());
    drop(served);
    waiting
        .stream
        .get_ref()
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    assert_eq!(waiting.answer(true).status, 200);
}

#[test]
fn the_end_waits_for_answers_and_not_for_idle_clients() {
    let world = world();
    let contents = large();
    let written = world.write("a.tar.gz", &contents);
    let limits = Limits {
        end_time: Duration::from_secs(60),
        ..Limits::default()
    };
    let mut serving = Serving::with_limits(&world.storage, limits);
    let mut idle = serving.connect();
    idle.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(idle.answer(true).status, 200);
    let mut busy = serving.connect();
    busy.send(&format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", written.path));
    let mut first = [0; 17];
    busy.stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK\r\n");
    serving.tell_to_stop();
    assert!(idle.is_over());
    let mut rest = Vec::new();
    busy.stream.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(&contents));
    serving.join();
}
