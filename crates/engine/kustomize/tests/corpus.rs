//! The recorded builds of the real kustomize: output byte for byte, failures as failures.
//!
//! `BUMPWRIGHT_CASE=id` runs one case (or all whose id contains it) and shows the difference.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

mod programs;

use bumpwright_corpora::{corpora, report, rows};
use bumpwright_kustomize::tree::{LoadRestrictions, MemoryTree};
use bumpwright_kustomize::{Options, Order, build};
use programs::OnDisk;
use serde_json::Value;
use std::collections::BTreeMap;

/// Of all cases, so many must pass. Only ever raised.
const FLOOR: usize = 601;
/// Where the case's files stand; recorded texts have `@ROOT@` for it.
const ROOT: &str = "/case";

#[test]
fn builds_are_those_of_the_real_kustomize() {
    let wanted = std::env::var("BUMPWRIGHT_CASE").ok();
    let mut families: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let (mut passed, mut total, mut failed) = (0, 0, Vec::new());
    for case in rows(corpora().join("kustomize/cases.jsonl")) {
        let id = case["id"].as_str().unwrap();
        if wanted.as_ref().is_some_and(|wanted| !id.contains(wanted)) {
            continue;
        }
        let outcome = run(&case, wanted.is_some());
        total += 1;
        passed += usize::from(outcome.is_ok());
        for tag in tags(&case) {
            let family = families.entry(tag).or_default();
            family.0 += usize::from(outcome.is_ok());
            family.1 += 1;
        }
        if let Err(difference) = outcome {
            let first = difference.lines().next().unwrap_or_default();
            failed.push(format!("  {id}: {first}"));
            if wanted.is_some() {
                println!("--- {id}\n{difference}");
            }
        }
    }
    if wanted.is_some() {
        println!("kustomize corpus: {passed} of {total} asked for");
        return;
    }
    for (tag, (passed, total)) in &families {
        if passed < total {
            println!("  {tag}: {passed} of {total}");
        }
    }
    failed.iter().for_each(|failed| println!("{failed}"));
    report("kustomize corpus", passed, total, FLOOR);
}

fn tags(case: &Value) -> Vec<String> {
    let tags = case["kind_tags"].as_array().unwrap().iter();
    let tags = tags.map(|tag| tag.as_str().unwrap().to_owned());
    tags.chain([format!("expect:{}", case["expect"].as_str().unwrap())])
        .collect()
}

/// Nothing, or what differs.
fn run(case: &Value, show: bool) -> Result<(), String> {
    let mut tree = MemoryTree::new();
    for (path, text) in case["files"].as_object().unwrap() {
        tree.add_file(&format!("{ROOT}/{path}"), text.as_str().unwrap());
    }
    let world = OnDisk::new(case, ROOT);
    let target = format!("{ROOT}/{}", case["target"].as_str().unwrap());
    let expected = case["expected"].as_str().unwrap();
    let built = || build(&tree, &target, &options(&case["options"]), &world);
    let output = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(built)) {
        Ok(Ok(built)) => built.to_yaml().map_err(|error| error.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => return Err("panicked".to_owned()),
    };
    match (case["expect"].as_str().unwrap(), output) {
        ("output", Ok(output)) => {
            let output = world.with_root(&output);
            if output == expected {
                Ok(())
            } else {
                Err(difference(expected, &output))
            }
        }
        ("output", Err(error)) => Err(format!("error: {error}")),
        (_, Ok(_)) => Err(format!("no error, but: {expected}")),
        (_, Err(error)) => {
            if show {
                println!("ours:\n{error}\nkustomize's:\n{expected}");
            }
            Ok(())
        }
    }
}

fn options(given: &Value) -> Options {
    let on = |name: &str| given[name].as_bool().unwrap_or_default();
    Options {
        restrictions: match given["load_restrictor"].as_str() {
            Some("LoadRestrictionsNone") => LoadRestrictions::None,
            _ => LoadRestrictions::RootOnly,
        },
        order: match given["reorder"].as_str() {
            Some("none") => Some(Order::Fifo),
            Some("legacy") => Some(Order::Legacy),
            _ => None,
        },
        managed_by_label: on("add_managed_by_label"),
        plugins: on("enable_alpha_plugins"),
        functions: on("enable_exec"),
        helm: on("enable_helm"),
        ..Options::default()
    }
}

/// The first lines that differ, with their number.
fn difference(expected: &str, output: &str) -> String {
    let (mut wanted, mut got) = (expected.lines(), output.lines());
    let mut shown = Vec::new();
    for number in 1.. {
        let pair = (wanted.next(), got.next());
        if pair == (None, None) || shown.len() >= 20 {
            break;
        }
        if pair.0 != pair.1 {
            shown.push(format!(
                "{number}: {:?} wanted, {:?} got",
                pair.0.unwrap_or("<end>"),
                pair.1.unwrap_or("<end>")
            ));
        }
    }
    shown.join("\n")
}
