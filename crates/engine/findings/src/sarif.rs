//! A SARIF 2.1.0 log with what GitHub's code scanning asks for: all rules, a file for each result, and fingerprints.

use std::collections::BTreeMap;

use bumpwright_text::{Cuts, Parts};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::json::{OriginView, origin};
use crate::{Acceptance, Finding, Place, Report, Rule, Severity, terminal, words};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
const PROJECT: &str = "https://github.com/bumpwright/bumpwright";

pub(crate) fn render(report: &Report) -> String {
    let version = report.version();
    let mut fingerprints = BTreeMap::new();
    let results: Vec<Value> = report
        .findings()
        .iter()
        .map(|finding| result(finding, &mut fingerprints))
        .collect();
    let rules: Vec<Value> = Rule::ALL.iter().map(|rule| descriptor(*rule, version)).collect();
    let driver = json!({
        "name": "bumpwright", "informationUri": PROJECT, "version": version, "semanticVersion": version, "rules": rules,
    });
    let run = json!({ "tool": { "driver": driver }, "columnKind": "unicodeCodePoints", "results": results });
    let log = json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] });
    terminal::json(&format!("{log:#}\n")).into_owned()
}

/// The description of a rule.
fn descriptor(rule: Rule, version: &str) -> Value {
    let pages = format!("{PROJECT}/blob/v{version}");
    let meaning = rule.explanation().before("\n\n");
    let remedy = rule.explanation().tail(meaning.len() + 2);
    let linked = remedy.lines().map(|line| match line.strip_prefix("See: ") {
        Some(page) => format!("See: [{page}]({pages}/{page})"),
        None => line.to_owned(),
    });
    json!({
        "id": rule.id(),
        "shortDescription": { "text": rule.title() },
        "fullDescription": { "text": meaning.replace('\n', " ") },
        "help": { "text": remedy, "markdown": linked.collect::<Vec<_>>().join("\n") },
        "helpUri": format!("{pages}/docs/reference/findings.md#{}", rule.id()),
        "defaultConfiguration": { "level": level(rule.severity()) },
    })
}

fn result<'f>(finding: &'f Finding, seen: &mut BTreeMap<Identity<'f>, usize>) -> Value {
    let rule = finding.rule;
    let result = json!({
        "ruleId": rule.id(),
        "level": level(finding.severity),
        "message": { "text": message(finding) },
        "locations": [location(finding)],
        "partialFingerprints": { "bumpwright/v1": fingerprint(finding, seen) },
    });
    let index = Rule::ALL.iter().position(|one| *one == rule);
    let origins: Vec<OriginView<'_>> = finding.origins.iter().map(origin).collect();
    let properties = (!origins.is_empty()).then(|| json!({ "origins": origins }));
    let result = with(result, "ruleIndex", index.map(Value::from));
    let result = with(result, "suppressions", finding.acceptance.as_ref().map(suppressions));
    with(result, "properties", properties)
}

/// Code scanning closes what is suppressed.
fn suppressions(acceptance: &Acceptance) -> Value {
    let kind = if acceptance.is_in_source {
        "inSource"
    } else {
        "external"
    };
    json!([{ "kind": kind, "status": "accepted", "justification": words::acceptance(acceptance) }])
}

/// An object with one more entry, if there is one.
fn with(mut object: Value, key: &str, value: Option<Value>) -> Value {
    if let (Some(entries), Some(value)) = (object.as_object_mut(), value) {
        entries.insert(key.to_owned(), value);
    }
    object
}

/// SARIF has our words.
const fn level(severity: Severity) -> &'static str {
    severity.as_str()
}

/// The message, where it was found, and what to do. Brackets are kept from being read as a link.
fn message(finding: &Finding) -> String {
    let origins = words::origins(finding).map(|origins| format!("In {origins}."));
    let parts = [Some(words::headline(finding)), origins, finding.help.clone()];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n");
    text.replace("](", "] (")
}

/// Code scanning refuses results without a file: what is in none is at its cluster's entry.
fn location(finding: &Finding) -> Value {
    let cluster = finding.origins.iter().find_map(|origin| origin.cluster.as_deref());
    let path = finding.place.as_ref().map(|place| place.path.as_str());
    let uri = uri(path.or(cluster).unwrap_or("."));
    let physical = json!({ "artifactLocation": { "uri": uri, "uriBaseId": "%SRCROOT%" } });
    let region = |place: &Place| json!({ "startLine": place.line.max(1), "startColumn": place.column.max(1) });
    let physical = with(physical, "region", finding.place.as_ref().map(region));
    let logical = |object: &String| {
        let name = object.rsplit([' ', '/']).next().unwrap_or(object);
        json!([{ "name": name, "fullyQualifiedName": object, "kind": "resource" }])
    };
    let location = json!({ "physicalLocation": physical });
    with(location, "logicalLocations", finding.object.as_ref().map(logical))
}

/// A path as a relative reference: percent-encoded, and without what would begin a scheme or a host.
fn uri(path: &str) -> String {
    let path = path.trim_start_matches("./").trim_start_matches('/');
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/@+=,".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    if out.is_empty() { ".".to_owned() } else { out }
}

/// What a finding is recognised by when lines move.
type Identity<'f> = (Rule, Option<&'f str>, Option<&'f str>, &'f str);

/// A hash of the identity, with the number of the finding among equal ones. The key that code scanning itself compares,
/// `primaryLocationLineHash`, is left to its upload action, which computes it from the file.
fn fingerprint<'f>(finding: &'f Finding, seen: &mut BTreeMap<Identity<'f>, usize>) -> String {
    let path = finding.place.as_ref().map(|place| place.path.as_str());
    let identity = (finding.rule, path, finding.object.as_deref(), finding.message.as_str());
    let count = seen.entry(identity).or_default();
    *count += 1;
    let mut hash = Sha256::new();
    for part in [Some(finding.rule.id()), path, identity.2, Some(identity.3)] {
        part.into_iter().for_each(|text| hash.update(text));
        hash.update([0_u8]);
    }
    let digest = hash.finalize();
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{hex}:{count}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::report::tests::{hostile, report};

    fn run(report: &Report) -> Value {
        let log: Value = serde_json::from_str(&report.sarif()).unwrap();
        assert_eq!((&log["version"], &log["$schema"]), (&json!("2.1.0"), &json!(SCHEMA)));
        log["runs"][0].clone()
    }

    #[test]
    fn rules_are_described_once_with_their_pages() {
        let driver = &run(&report())["tool"]["driver"];
        assert_eq!(driver["rules"].as_array().unwrap().len(), Rule::ALL.len());
        let rule = &driver["rules"][Rule::ALL.iter().position(|rule| *rule == Rule::DeadMarker).unwrap()];
        assert_eq!(rule["id"], "dead-marker");
        assert_eq!(rule["shortDescription"]["text"], Rule::DeadMarker.title());
        assert_eq!(rule["defaultConfiguration"]["level"], "warning");
        let page = "https://github.com/bumpwright/bumpwright/blob/v1.2.3/docs";
        assert_eq!(rule["helpUri"], format!("{page}/reference/findings.md#dead-marker"));
        let help = rule["help"]["markdown"].as_str().unwrap();
        assert!(help.starts_with("What to do: add the file"), "{help}");
        assert!(
            help.ends_with(&format!("See: [docs/start/markers.md]({page}/start/markers.md)")),
            "{help}"
        );
    }

    #[test]
    fn a_result_has_file_object_and_fingerprint() {
        let results = run(&report())["results"].clone();
        let result = &results[2];
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(Rule::ALL[index], Rule::MissingSource);
        assert_eq!(
            *result,
            json!({
                "ruleId": "missing-source", "ruleIndex": index, "level": "error",
                "message": { "text": "Kustomization flux-system/apps: GitRepository flux-system/flet is not in the fleet\n\
                    In Kustomization flux-system/apps of clusters/a, clusters/b.\ndid you mean flux-system/fleet?" },
                "locations": [{
                    "physicalLocation": {
                        "artifactLocation": { "uri": "clusters/base/apps.yaml", "uriBaseId": "%SRCROOT%" },
                        "region": { "startLine": 12, "startColumn": 5 },
                    },
                    "logicalLocations": [{
                        "name": "apps", "fullyQualifiedName": "Kustomization flux-system/apps", "kind": "resource",
                    }],
                }],
                "partialFingerprints": result["partialFingerprints"],
                "properties": { "origins": [
                    { "cluster": "clusters/a", "kustomization": "flux-system/apps" },
                    { "cluster": "clusters/b", "kustomization": "flux-system/apps" },
                ] },
            })
        );
        let physical = &results[3]["locations"][0]["physicalLocation"];
        assert_eq!(
            *physical,
            json!({ "artifactLocation": { "uri": "clusters/b", "uriBaseId": "%SRCROOT%" } })
        );
    }

    #[test]
    fn fingerprints_stay_when_lines_move_and_differ_else() {
        let finding = |line| Finding::new(Rule::Schema, "m").at("a.yaml", line, 3).object("A b");
        let of = |findings: Vec<Finding>| -> Vec<String> {
            let results = run(&Report::new(findings, [], ""))["results"].clone();
            let results = results.as_array().unwrap().iter();
            results
                .map(|result| {
                    result["partialFingerprints"]["bumpwright/v1"]
                        .as_str()
                        .unwrap()
                        .to_owned()
                })
                .collect()
        };
        let one = of(vec![finding(1)]);
        assert!(one[0].ends_with(":1") && one[0].len() == 34, "{one:?}");
        assert_eq!(of(vec![finding(9)]), one);
        let two = of(vec![finding(1), finding(2)]);
        assert_eq!(
            (&two[0], two[1].as_str()),
            (&one[0], one[0].replace(":1", ":2").as_str())
        );
        let mut renamed = finding(1);
        renamed.object = Some("A c".to_owned());
        let other = Finding::new(Rule::Schema, "n").at("a.yaml", 1, 3).object("A b");
        let elsewhere = Finding::new(Rule::Schema, "m").at("b.yaml", 1, 3).object("A b");
        for changed in [renamed, other, elsewhere] {
            assert_ne!(of(vec![changed.clone()]), one, "{changed:?}");
        }
    }

    #[test]
    fn paths_are_relative_references() {
        for (path, wanted) in [
            ("apps/web.yaml", "apps/web.yaml"),
            ("./a b/ü#?.yaml", "a%20b/%C3%BC%23%3F.yaml"),
            ("c:/x%41", "c%3A/x%2541"),
            ("//host/x", "host/x"),
            ("a\\b\n", "a%5Cb%0A"),
            (".", "."),
            ("", "."),
            ("..", ".."),
        ] {
            assert_eq!(uri(path), wanted, "{path:?}");
        }
    }

    #[test]
    fn hostile_texts_make_no_links_and_move_no_cursor() {
        let text = hostile().sarif();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        let result = &run(&hostile())["results"][0];
        let message = result["message"]["text"].as_str().unwrap();
        assert!(
            !message.contains("](") && message.contains("] (http://evil)"),
            "{message}"
        );
        let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            .as_str()
            .unwrap();
        assert!(
            uri.starts_with("dir%20with%20space/%1B%5B2J%C2%9B31m%0D%0A%3A%3Aerror%20file="),
            "{uri}"
        );
    }
}
