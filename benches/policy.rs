//! Chooses a tag by a policy and prints the nanoseconds of each choice, then the tag.
//!
//! `benches/policy.py` compares it with Masterminds/semver and Go's `regexp`. Both read the tags before and parse the
//! policy in every round.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::time::Instant;

use bumpwright_policy::{FilterSpec, ImagePolicy, RuleSpec};
use serde_json::Value as Json;

// As in the program that ships.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let [document, rounds] = &arguments[..] else {
        println!("policy DOCUMENT ROUNDS: run benches/policy.py");
        return;
    };
    let document: Json = serde_json::from_str(&std::fs::read_to_string(document).unwrap()).unwrap();
    let text = |key: &str| document[key].as_str().map(str::to_owned);
    let semver = text("semver");
    let rule = RuleSpec {
        numerical: semver.is_none().then(String::new),
        semver,
        alphabetical: None,
    };
    let filter = text("pattern").map(|pattern| FilterSpec {
        pattern,
        extract: text("extract").unwrap_or_default(),
    });
    let tags: Vec<String> = serde_json::from_value(document["tags"].clone()).unwrap();
    let mut chosen = "";
    for _ in 0..rounds.parse().unwrap() {
        let start = Instant::now();
        let policy = ImagePolicy::new(&rule, filter.as_ref()).unwrap();
        chosen = policy.latest(&tags).unwrap();
        println!("{}", start.elapsed().as_nanos());
    }
    println!("{chosen}");
}
