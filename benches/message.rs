//! Renders a commit message's template and prints the nanoseconds of each rendering, then the SHA-256 of the output.
//!
//! `benches/message.py` compares it with Go's `text/template` and Sprig. Both read the data before and parse the
//! template in every round; ours also converts the data to Go's values each time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::time::Instant;

use bumpwright_message as message;
use bumpwright_template::Limits;
use bumpwright_update::Machine;
use sha2::{Digest, Sha256};

// As in the program that ships.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let [template, data, rounds] = &arguments[..] else {
        println!("message TEMPLATE DATA ROUNDS: run benches/message.py");
        return;
    };
    let template = std::fs::read_to_string(template).unwrap();
    let data = message::read(&std::fs::read_to_string(data).unwrap()).unwrap();
    let mut output = Vec::new();
    for _ in 0..rounds.parse().unwrap() {
        let start = Instant::now();
        output = message::render(&template, &data, Limits::default(), &Machine).unwrap();
        println!("{}", start.elapsed().as_nanos());
    }
    println!(
        "{}",
        Sha256::digest(&output)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    );
}
