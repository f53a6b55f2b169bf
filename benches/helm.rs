//! Renders many releases of one chart in one process and prints what that took: `wall-ns bytes` of the whole.
//!
//! `benches/helm.py` compares it with a loop of `helm template`. The chart is read once, and its templates are parsed once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::path::Path;
use std::time::Instant;

use bumpwright_chart::read_chart;
use bumpwright_helm::{
    Capabilities, ParsedTemplates, Release, Seeded, Selection, Settings, read_values, render_sharing,
};

// As in the program that ships.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let [chart, releases] = &arguments[..] else {
        println!("helm CHART RELEASES: run benches/helm.py");
        return;
    };
    let start = Instant::now();
    let chart = read_chart(Path::new(chart)).unwrap();
    let capabilities = Capabilities::default();
    let (mut bytes, parsed) = (0, ParsedTemplates::default());
    for number in 0..releases.parse::<usize>().unwrap() {
        let values = read_values(format!("replicas: {number}\n").as_bytes()).unwrap();
        let release = Release {
            name: format!("web-{number}"),
            namespace: "apps".to_owned(),
            is_upgrade: false,
        };
        let chance = Seeded::new(release.name.as_bytes());
        let rendered = render_sharing(
            &chart,
            &values,
            &release,
            &capabilities,
            Settings::default(),
            &chance,
            &parsed,
        )
        .unwrap();
        bytes += rendered.text(&Selection::default()).unwrap().len();
    }
    println!("{} {bytes}", start.elapsed().as_nanos());
}
