//! Trees and specs compared with the results of fluxcd/pkg's generator and kustomize (`fixtures/overlay`).
//!
//! `BUMPWRIGHT_OVERLAYS=file` tries the cases of another file, as `fixtures/overlay/generate` makes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

#[path = "support/cases.rs"]
mod cases;

use bumpwright_corpora::{named_or_fixture, report, rows};
use bumpwright_kustomize::tree::Sealed;
use bumpwright_overlay::{OverlayError, Stages, prepare};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The difference from Flux in a case.
fn difference(case: &Value) -> Option<String> {
    let tree = cases::tree(case);
    let overlay = cases::overlay(&case["spec"]);
    let stage = case["stage"].as_str().unwrap_or_default();
    let wanted = case["error"].as_str().unwrap_or_default();
    let prepared = match prepare(&tree, &overlay) {
        Ok(prepared) => prepared,
        Err(error) => return refused(&error, stage, wanted),
    };
    if let Some(text) = case["kustomization"].as_str()
        && prepared.kustomization() != text
    {
        return Some(format!("kustomization:\n{}\nwanted:\n{text}", prepared.kustomization()));
    }
    let built = match prepared.build(&Sealed, &Stages::default()) {
        Ok(built) => built,
        Err(error) => return refused(&error, stage, wanted),
    };
    if !stage.is_empty() {
        return Some(format!("built, but Flux says at {stage}: {wanted}"));
    }
    let yaml = case["yaml"].as_str().unwrap_or_default();
    let digest: String = Sha256::digest(yaml).iter().map(|byte| format!("{byte:02x}")).collect();
    let text = |object: &Value, path: &str| {
        object
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let objects = built.objects.iter().map(|object| {
        let text = |path| text(&object.value, path);
        format!(
            "{} {} {}/{}",
            text("/apiVersion"),
            text("/kind"),
            text("/metadata/namespace"),
            text("/metadata/name")
        )
    });
    let objects: Vec<String> = objects.collect();
    let names = case["objects"].as_array().map(Vec::as_slice).unwrap_or_default();
    if objects != names {
        return Some(format!("objects: {objects:?}\nwanted: {names:?}"));
    }
    if built.digest != format!("sha256:{digest}") {
        let values: Vec<String> = built.objects.iter().map(|object| object.value.to_string()).collect();
        return Some(format!("values:\n{}\nwanted:\n{yaml}", values.join("\n")));
    }
    None
}

/// Errors before the build begin with Flux's words; those of the build with its prefix.
fn refused(error: &OverlayError, stage: &str, wanted: &str) -> Option<String> {
    // Recorded with a shorter number.
    let said = error
        .to_string()
        .replace("/tmp/kustomization-0000000000", "/tmp/kustomization-0");
    let fits = match stage {
        "" => false,
        "build" | "objects" => said.split(": ").next() == wanted.split(": ").next(),
        "path" => error.is_missing_path() && said == wanted,
        // Go prints a key that is not a string, too.
        _ => said.starts_with(wanted.split(", value: ").next().unwrap_or_default()),
    };
    (!fits).then(|| format!("{said}\nFlux at {stage:?}: {wanted}"))
}

/// Builds here that Flux rejects, because of a key in place of a text.
const TAKEN: [&str; 2] = [
    "random-11-129", // commonAnnotations with the key `n`, which is a truth value
    "random-11-200", // as the first
];

#[test]
fn builds_are_those_of_flux() {
    let table = rows(named_or_fixture("BUMPWRIGHT_OVERLAYS", "overlay/cases.jsonl"));
    let mut faults = Vec::new();
    for case in &table {
        let name = case["name"].as_str().unwrap();
        let difference = difference(case);
        let known = TAKEN.contains(&name) && difference.as_ref().is_some_and(|fault| fault.starts_with("built, "));
        faults.extend(difference.filter(|_| !known).map(|fault| format!("{name}: {fault}")));
    }
    let passed = table.len() - faults.len();
    println!("{}", faults.join("\n\n"));
    report("overlays", passed, table.len(), table.len());
    assert!(table.len() > 400, "only {} cases", table.len());
}
