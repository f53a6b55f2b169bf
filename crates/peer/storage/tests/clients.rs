//! Clients that are slow, many, or connected when the server stops.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::Read;
use std::time::Duration;

use bumpwright_storage::{Limits, limits};
use support::server::Serving;
use support::world;

const SOON: Duration = Duration::from_millis(50);

/// Larger than the buffers of connections.
fn large() -> Vec<u8> {
    (0..=250_u8).collect::<Vec<u8>>().repeat(80_000)
}

#[test]
fn a_client_that_asks_for_nothing_is_sent_away() {
    let world = world();
    let limits = Limits {
        idle_time: SOON,
        ..limits()
    };
    let serving = Serving::with_limits(&world.storage, limits);
    assert!(serving.connect().is_over());
}

#[test]
fn a_client_that_does_not_finish_its_request_is_sent_away() {
    let world = world();
    let limits = Limits {
        head_time: SOON,
        ..limits()
    };
    let serving = Serving::with_limits(&world.storage, limits);
    let mut client = serving.connect();
    client.send("GET / HTTP/1.1\r\nHost: h\r\n");
    assert_eq!(client.answer(true).status, 408);
    assert!(client.is_over());
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
        connections: 1,
        ..limits()
    };
    let serving = Serving::with_limits(&world.storage, limits);
    let mut client = serving.connect();
    client.send(&format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", written.path));
    // There is one slot: a second client is answered after the first one was disconnected.
    assert_eq!(serving.get("/").status, 200);
    let mut got = Vec::new();
    let _ = client.stream.read_to_end(&mut got);
    assert!(got.len() < contents.len(), "{}", got.len());
}

#[test]
fn a_client_that_reads_slower_than_the_least_rate_is_cut_off() {
    let world = world();
    let contents = large();
    let written = world.write("a.tar.gz", &contents);
    let limits = Limits {
        stall_time: SOON,
        least_rate: u64::MAX,
        connections: 1,
        ..limits()
    };
    let serving = Serving::with_limits(&world.storage, limits);
    let mut client = serving.connect();
    client.send(&format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", written.path));
    // It does read, a little each time, and never stalls for long.
    let (mut bytes, mut number) = (vec![0; 64 << 10], 0);
    while let Ok(read @ 1..) = client.stream.read(&mut bytes) {
        number += read;
        std::thread::sleep(SOON / 50);
    }
    assert!(number < contents.len(), "{number}");
}

#[test]
fn hundreds_of_connections_are_served() {
    let world = world();
    let written = world.write("a.tar.gz", b"hello");
    // Each takes two of the open files of this process, often limited to 1,024.
    let serving = Serving::start(&world);
    let mut clients: Vec<_> = (0..400).map(|_| serving.connect()).collect();
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
fn those_beyond_the_limit_take_the_places_of_idle_ones() {
    let world = world();
    let limits = Limits {
        connections: 2,
        ..limits()
    };
    let serving = Serving::with_limits(&world.storage, limits);
    let mut served = [serving.connect(), serving.connect()];
    for client in &mut served {
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(client.answer(true).status, 200);
    }
    let mut third = serving.connect();
    third.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(third.answer(true).status, 200);
    let [mut first, mut second] = served;
    assert!(first.is_over(), "who has been silent for longest goes");
    second.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(second.answer(true).status, 200);
}

#[test]
fn the_end_waits_for_answers_and_not_for_idle_clients() {
    let world = world();
    let contents = large();
    let written = world.write("a.tar.gz", &contents);
    let limits = Limits {
        end_time: Duration::from_secs(60),
        ..limits()
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
    serving.signal_stop();
    assert!(idle.is_over());
    let mut rest = Vec::new();
    busy.stream.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(&contents));
    serving.join();
}
