//! Ports for programs with a fixed port.

use std::fs::File;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

const FIRST: u32 = 10_000;
const COUNT: u32 = 20_000;
/// Browsers refuse to open it.
const UNSAFE: u16 = 10_080;

/// A free port of 127.0.0.1. Each is returned once in this process, to no other process that asks here while this one
/// runs, and it is not in the kernel's ephemeral range (from 32768 on, unless the machine is set up differently): so it
/// stays free until a program listens on it, or for a test without a listener.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Other test processes on this machine start elsewhere.
    let start = std::process::id().wrapping_mul(97);
    loop {
        let place = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = u16::try_from(FIRST + place).unwrap();
        if port != UNSAFE && is_ours(port) && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Takes a port for as long as this process runs, by a lock on a file: a program that is still starting
/// does not listen yet.
fn is_ours(port: u16) -> bool {
    static TAKEN: Mutex<Vec<File>> = Mutex::new(Vec::new());
    let folder = std::env::temp_dir().join("bumpwright-test-ports");
    std::fs::create_dir_all(&folder).unwrap();
    let file = File::options()
        .create(true)
        .append(true)
        .open(folder.join(port.to_string()))
        .unwrap();
    let is_ours = file.try_lock().is_ok();
    if is_ours {
        TAKEN.lock().push(file);
    }
    is_ours
}
