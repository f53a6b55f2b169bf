//! Takes the sources as they are, with shuttle's locks in place of their own.

use std::path::Path;

/// Source, name of the copy, and what is replaced in it.
const SOURCES: &[(&str, &str, &[(&str, &str)])] = &[
    (
        "peer/single-flight/src/lib.rs",
        "single_flight.rs",
        &[
            ("use parking_lot::", "use crate::locks::"),
            ("use std::sync::Arc;", "use shuttle::sync::Arc;"),
        ],
    ),
    (
        "app/runtime/src/work/queue.rs",
        "queue.rs",
        &[
            ("use parking_lot::", "use crate::locks::"),
            ("use std::sync::{Arc, Weak};", "use shuttle::sync::{Arc, Weak};"),
            ("use tokio::time::Instant;", "use crate::still::Instant;"),
            ("tokio::time::timeout_at", "crate::still::timeout_at"),
            ("use bumpwright_api::ObjectName;", "use crate::still::ObjectName;"),
            (
                "use crate::{ControllerMetrics, Working};",
                "use crate::still::{ControllerMetrics, Working};",
            ),
            ("pub(crate) fn set_revision", "pub fn set_revision"),
            (
                "use super::permits::{ParkedRequests, WorkerPermit};",
                "use crate::still::{ParkedRequests, WorkerPermit};",
            ),
        ],
    ),
    (
        "app/runtime/src/work/timers.rs",
        "timers.rs",
        &[
            ("use tokio::time::Instant;", "use crate::still::Instant;"),
            ("use bumpwright_api::ObjectName;", "use crate::still::ObjectName;"),
        ],
    ),
    (
        "app/runtime/src/work/namespaces.rs",
        "namespaces.rs",
        &[
            ("use tokio::time::Instant;", "use crate::still::Instant;"),
            ("use bumpwright_api::ObjectName;", "use crate::still::ObjectName;"),
        ],
    ),
];

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let out = std::env::var("OUT_DIR").expect("Cargo sets it");
    for (source, name, replaced) in SOURCES {
        let path = crates.join(source);
        println!("cargo::rerun-if-changed={}", path.display());
        let text = std::fs::read_to_string(&path).expect("the source is there");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let mut text: String = text
            .lines()
            .filter(|line| !line.starts_with("//!") && !line.starts_with("#!["))
            .map(|line| format!("{line}\n"))
            .collect();
        for (from, to) in *replaced {
            assert!(text.contains(from), "{source} has no {from:?} any more");
            text = text.replace(from, to);
        }
        std::fs::write(Path::new(&out).join(name), text).expect("the copy is written");
    }
}
