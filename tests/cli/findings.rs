//! Reports of findings, held to their formats by others: Python's jsonschema with
//! docs/reference/findings.schema.json, check-jsonschema with the official schema of SARIF 2.1.0, and xmlschema with
//! the schema of Jenkins (`fixtures/findings`).

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use bumpwright_findings::{Finding, Origin, Report, Rule, Severity};
use bumpwright_testkit::cli::Bench;
use serde_json::{Value, json};

use super::output_schema::verdicts;

const SCHEMA: &str = include_str!("../../docs/reference/findings.schema.json");
const JUNIT: &str = "fixtures/findings/junit-10.xsd";
/// What breaks lines, strings, elements, commands and terminals.
const HOSTILE: &str =
    "a\u{1b}[2J\u{9b}31m\r\n::error::\u{0}\u{fffe}\u{202e}<![CDATA[&\"']]>--> {0} [x](http://e) %0A,:\\";

/// Every rule once, with all parts and with as few as possible, and a finding whose every text is hostile.
fn report() -> Report {
    let full = |(n, rule): (usize, &Rule)| {
        Finding::new(*rule, format!("message {n}"))
            .at(format!("apps/{n}.yaml"), n + 1, 3)
            .object("Deployment web/web")
            .kustomization("flux-system/apps")
            .cluster("clusters/production")
            .help("a hint")
    };
    let mut findings: Vec<Finding> = Rule::ALL.iter().enumerate().map(full).collect();
    findings.extend(Severity::ALL.map(|severity| Finding::new(Rule::Limit, severity.as_str()).severity(severity)));
    findings.push(
        Finding::new(Rule::Schema, HOSTILE)
            .at(format!("/{HOSTILE}/ü ü"), 1, 1)
            .object(HOSTILE)
            .kustomization(HOSTILE)
            .cluster(HOSTILE)
            .help(HOSTILE),
    );
    let untouched = Origin {
        cluster: None,
        kustomization: Some("flux-system/infra".to_owned()),
        ..Origin::default()
    };
    Report::new(findings, [untouched], "1.2.3")
}

fn empty() -> Report {
    Report::new(vec![], [], "1.2.3")
}

#[test]
fn json_is_as_described() {
    let documents: Vec<Value> = [report(), empty()]
        .iter()
        .map(|report| serde_json::from_str(&report.json()).unwrap())
        .collect();
    assert_eq!(documents[0]["findings"].as_array().unwrap().len(), Rule::ALL.len() + 4);
    let mut wrong = vec![documents[0].clone(); 4];
    wrong[0]["version"] = json!(2);
    wrong[1]["findings"][0]["rule"] = json!("odd");
    wrong[2]["findings"][0]["novel"] = json!(1);
    wrong[3]["findings"][0]["place"] = json!({"path": "a", "line": 0, "column": 1});
    let Some(said) = verdicts(SCHEMA, &[documents, wrong].concat()) else {
        return;
    };
    let is_valid: Vec<bool> = said.iter().map(String::is_empty).collect();
    assert_eq!(is_valid, [true, true, false, false, false, false], "{said:?}");
}

/// Without a result there is a document with the error, which nobody takes for one without findings.
#[test]
fn without_a_result_the_document_has_the_error() {
    let bench = Bench::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/acme/fleet.git", silent.local_addr().unwrap());
    let late = bench.run(&["fleet", "check", &url, "--timeout", "500ms", "--output", "json"]);
    let document: Value = serde_json::from_str(&late.out).unwrap();
    let error = document["error"].as_str().unwrap();
    assert_eq!(
        (late.code, late.err.lines().last()),
        (2, Some(format!("error: {error}").as_str()))
    );
    assert!(error.ends_with("no answer within 500ms"), "{error}");
    let review = [
        "fleet",
        "review",
        "--from",
        "main",
        "--output",
        "json",
        &url,
        "--timeout",
        "500ms",
    ];
    let reviewed: Value = serde_json::from_str(&bench.run(&review).out).unwrap();
    assert_eq!(reviewed["error"], document["error"]);
    let nothing = json!({"version": 1});
    for schema in [SCHEMA, include_str!("../../docs/reference/review.schema.json")] {
        let Some(said) = verdicts(schema, &[document.clone(), nothing.clone()]) else {
            return;
        };
        let is_valid: Vec<bool> = said.iter().map(String::is_empty).collect();
        assert_eq!(is_valid, [true, false], "{said:?}");
    }
}

#[test]
fn rules_and_severities_of_the_schema_are_those_of_the_program() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let properties = &schema["$defs"]["finding"]["properties"];
    let rules: Vec<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    assert_eq!(properties["rule"]["enum"], json!(rules));
    let severities: Vec<&str> = Severity::ALL.iter().rev().map(|severity| severity.as_str()).collect();
    assert_eq!(properties["severity"]["enum"], json!(severities));
}

/// Returns whether a program accepts a text as a file that it is given last, and what it says.
/// None without the program.
fn accepts(program: &str, arguments: &[&Path], name: &str, text: &str) -> Option<(bool, String)> {
    let program = bumpwright_testkit::tool(program)?;
    let bench = Bench::new();
    let file = bench.write(name, text);
    let out = Command::new(program).args(arguments).arg(file).output().unwrap();
    let said = [out.stdout, out.stderr].concat();
    Some((out.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

#[test]
fn sarif_is_valid_by_the_official_schema() {
    let Some(schema) = bumpwright_testkit::tool("sarif-schema") else {
        return;
    };
    let arguments = [Path::new("--schemafile"), &schema];
    let check = |text: &str| accepts("check-jsonschema", &arguments, "log.sarif.json", text);
    for report in [report(), empty()] {
        let Some((valid, said)) = check(&report.sarif()) else {
            return;
        };
        assert!(valid, "{said}");
    }
    let mut broken: Value = serde_json::from_str(&report().sarif()).unwrap();
    broken["runs"][0]["results"][0]["level"] = json!("fatal");
    let (valid, said) = check(&broken.to_string()).unwrap();
    assert!(!valid && said.contains("level"), "{said}");
}

#[test]
fn junit_is_valid_by_the_schema_of_jenkins() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join(JUNIT);
    let arguments = [Path::new("--schema"), &schema];
    let check = |text: &str| accepts("xmlschema-validate", &arguments, "junit.xml", text);
    for report in [report(), empty()] {
        let Some((valid, said)) = check(&report.junit()) else {
            return;
        };
        assert!(valid, "{said}");
    }
    let broken = report().junit().replacen("<failure ", "<failure fatal=\"\" ", 1);
    let (valid, said) = check(&broken).unwrap();
    assert!(!valid && said.contains("is not valid"), "{said}");
}
