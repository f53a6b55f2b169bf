//! Versions and ranges, compared with tables made by Masterminds/semver v3.5.0 and fluxcd/pkg/version v0.16.0.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use bumpwright_semver::{Constraint, Version};
use serde_json::Value;

/// Rows that must be right, of a hundred: results, and texts of errors and reasons.
const FLOORS: [usize; 2] = [100, 100];

/// What a row says about us.
#[derive(Default)]
struct Verdict {
    /// Results that differ.
    results: Vec<String>,
    /// Texts of errors and reasons that differ.
    texts: Vec<String>,
}

impl Verdict {
    fn result<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, ours: T, theirs: T) {
        if ours != theirs {
            self.results.push(format!("{what}: {ours:?}, not {theirs:?}"));
        }
    }

    /// Both accepted or both refused; when refused, with the same text.
    fn refusal(&mut self, what: &str, ours: Option<String>, theirs: Option<&str>) {
        self.result(what, ours.is_some(), theirs.is_some());
        if ours.as_deref() != theirs {
            self.texts.push(format!("{what}: {ours:?}, not {theirs:?}"));
        }
    }
}

#[test]
fn semver() {
    let rows: Vec<Value> = ["semver.jsonl", "semver_v321_diff.jsonl"]
        .into_iter()
        .flat_map(bumpwright_testkit::oracle::rows)
        .collect();
    if rows.is_empty() {
        println!("semver: absent");
        return;
    }
    let mut wrong = [0, 0];
    for row in &rows {
        let verdict = judge(row);
        for (count, faults) in wrong.iter_mut().zip([&verdict.results, &verdict.texts]) {
            *count += usize::from(!faults.is_empty());
        }
        for fault in verdict.results.iter().chain(&verdict.texts) {
            println!("{}: {fault}", row["id"]);
        }
    }
    println!("semver: {} of {}", rows.len() - wrong[0], rows.len());
    println!("semver texts: {} of {}", rows.len() - wrong[1], rows.len());
    if bumpwright_testkit::corpora::floors() {
        for (count, floor) in wrong.iter().zip(FLOORS) {
            assert!((rows.len() - count) * 100 >= floor * rows.len(), "below the floor");
        }
    }
}

fn judge(row: &Value) -> Verdict {
    let mut verdict = Verdict::default();
    match row["group"].as_str().unwrap() {
        "constraint" => constraint(row, &mut verdict),
        "parse" => parse(row, &mut verdict),
        "compare" => compare(row, &mut verdict),
        "sort" => sort(row, &mut verdict),
        other => panic!("group {other} is not known"),
    }
    verdict
}

fn constraint(row: &Value, verdict: &mut Verdict) {
    let parsed = Constraint::parse(text(row, "constraint"));
    verdict.refusal(
        "parse",
        parsed.as_ref().err().map(ToString::to_string),
        row["error"].as_str(),
    );
    let Ok(constraint) = parsed else { return };
    if let Some(string) = row["string"].as_str() {
        verdict.result("string", constraint.to_string().as_str(), string);
    }
    // A row of the older library has today's matches under another key.
    let matches = row.get("v350_match").unwrap_or(&row["match"]);
    for version in strings(matches) {
        let parsed = Version::parse(version).unwrap();
        verdict.result(version, constraint.check(&parsed), true);
        verdict.result(version, constraint.validate(&parsed).is_ok(), true);
    }
    let nomatch: BTreeMap<String, Vec<String>> = row
        .get("nomatch")
        .map(|map| serde_json::from_value(map.clone()).unwrap())
        .unwrap_or_default();
    for (version, reasons) in nomatch {
        let parsed = Version::parse(&version).unwrap();
        verdict.result(&version, constraint.check(&parsed), false);
        let ours = constraint.validate(&parsed).err();
        verdict.result(&version, ours.is_some(), true);
        if ours.as_ref() != Some(&reasons) {
            verdict.texts.push(format!("{version}: {ours:?}, not {reasons:?}"));
        }
    }
    if row.get("v350_match").is_some() {
        for version in strings(&row["match"]).filter(|version| !strings(matches).any(|other| other == *version)) {
            verdict.result(version, constraint.check(&Version::parse(version).unwrap()), false);
        }
    }
}

fn parse(row: &Value, verdict: &mut Verdict) {
    let version = text(row, "version");
    let refusal = |parsed: Result<Version, _>| {
        parsed
            .err()
            .map(|error: bumpwright_semver::VersionError| error.to_string())
    };
    verdict.refusal("lenient", refusal(Version::parse(version)), row["error"].as_str());
    verdict.refusal(
        "strict",
        refusal(Version::parse_strict(version)),
        row["strict_error"].as_str(),
    );
    verdict.refusal(
        "flux",
        refusal(Version::parse_flux(version)),
        row["flux_error"].as_str(),
    );
    let Ok(lenient) = Version::parse(version) else { return };
    fields(&lenient, row, verdict);
    for other in [Version::parse_strict(version), Version::parse_flux(version)]
        .into_iter()
        .flatten()
    {
        fields(&other, row, verdict);
    }
}

fn fields(version: &Version, row: &Value, verdict: &mut Verdict) {
    verdict.result("string", version.to_string().as_str(), text(row, "string"));
    verdict.result("original", version.original(), text(row, "original"));
    verdict.result("prerelease", version.prerelease(), text(row, "prerelease"));
    verdict.result("metadata", version.metadata(), text(row, "metadata"));
    let numbers = [version.major(), version.minor(), version.patch()];
    for (key, ours) in ["major", "minor", "patch"].into_iter().zip(numbers) {
        verdict.result(key, Some(ours), row[key].as_u64());
    }
    let next = [version.next_patch(), version.next_minor(), version.next_major()];
    for (key, ours) in ["inc_patch", "inc_minor", "inc_major"].into_iter().zip(next) {
        // Where there is no next version the original panics.
        let ours = ours.map_or("PANIC".to_owned(), |next| next.original().to_owned());
        verdict.result(key, ours.as_str(), text(row, key));
    }
}

fn compare(row: &Value, verdict: &mut Verdict) {
    let version = Version::parse(text(row, "version")).unwrap();
    let expected = row["compare"].as_array().unwrap();
    assert_eq!(expected.len(), row["others"].as_array().unwrap().len());
    for (other, expected) in strings(&row["others"]).zip(expected) {
        let ours = version.cmp(&Version::parse(other).unwrap());
        verdict.result(other, ours, expected.as_i64().unwrap().cmp(&0));
        verdict.result(
            other,
            version == Version::parse(other).unwrap(),
            ours == Ordering::Equal,
        );
    }
}

fn sort(row: &Value, verdict: &mut Verdict) {
    let mut versions: Vec<Version> = strings(&row["input"]).map(|one| Version::parse(one).unwrap()).collect();
    versions.sort();
    let ours: Vec<&str> = versions.iter().map(Version::original).collect();
    verdict.result("sorted", ours, strings(&row["sorted"]).collect());
}

fn text<'r>(row: &'r Value, key: &str) -> &'r str {
    row[key]
        .as_str()
        .unwrap_or_else(|| panic!("{}: {key} is not a string", row["id"]))
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().map(|one| one.as_str().unwrap())
}
