//! Ports for programs that have to be told one.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u32 = 10_000;
const COUNT: u32 = 20_000;

/// A port of 127.0.0.1 on which nobody listens. It is given once in this process, and it is none of those that the kernel gives
/// to whoever wants just any port (from 32768 on, unless the machine is set up in another way): so it stays free until a
/// program listens on it, or for as long as nobody is to be there.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Other tests may run on this machine; they begin at another place.
    let start = std::process::id().wrapping_mul(97);
    loop {
        let place = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = u16::try_from(FIRST + place).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
