//! `values.yaml`, its schema, and the table of values in the chart's README; `BLESS=1` rewrites the table.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::chart;

const START: &str = "<!-- values -->\n";
const END: &str = "<!-- /values -->";

/// Longer defaults are left to the file.
const SHORT: usize = 40;

fn read(name: &str) -> String {
    std::fs::read_to_string(chart().join(name)).unwrap()
}

/// The keys of `values.yaml` with the comments above them, in their order.
fn documented(values: &str) -> Vec<(String, String)> {
    let (mut path, mut comment, mut all) = (Vec::<(usize, &str)>::new(), Vec::new(), Vec::new());
    for line in values.lines() {
        let words = line.trim_start();
        if let Some(words) = words.strip_prefix("# ") {
            comment.push(words);
            continue;
        }
        let key = words.split_once(':').map(|(key, _)| key);
        if let Some(key) = key.filter(|key| key.chars().all(char::is_alphanumeric)) {
            let indent = line.len() - words.len();
            path.retain(|(outer, _)| *outer < indent);
            path.push((indent, key));
            let names: Vec<&str> = path.iter().map(|(_, key)| *key).collect();
            all.push((names.join("."), comment.join(" ")));
        }
        comment.clear();
    }
    all
}

/// Where the schema ends: what is below belongs to Kubernetes. `global` is Helm's.
fn leaves(schema: &Json, above: &str) -> BTreeSet<String> {
    let properties = schema["properties"].as_object().unwrap().iter();
    let properties = properties.filter(|(name, _)| *name != "global");
    properties
        .flat_map(|(name, of)| match of.get("properties") {
            Some(_) => leaves(of, &format!("{above}{name}.")),
            None => [format!("{above}{name}")].into(),
        })
        .collect()
}

fn schema() -> Json {
    serde_json::from_str(&read("values.schema.json")).unwrap()
}

#[test]
fn the_schema_and_the_values_have_the_same_keys() {
    let leaves = leaves(&schema(), "");
    let documented = documented(&read("values.yaml"));
    for leaf in &leaves {
        let comment = documented.iter().find(|(name, _)| name == leaf);
        let comment = comment.unwrap_or_else(|| panic!("values.yaml has no {leaf}"));
        assert!(!comment.1.is_empty(), "values.yaml says nothing about {leaf}");
    }
    for (name, _) in &documented {
        let known = leaves.iter().any(|leaf| {
            [name.as_str(), leaf]
                .iter()
                .any(|one| *one == leaf || one.starts_with(&format!("{leaf}.")))
                || leaf.starts_with(&format!("{name}."))
        });
        assert!(known, "values.schema.json has no {name}");
    }
}

/// What no template can do without is required, so that null is refused; lists and maps may be taken away by null.
#[test]
fn the_schema_is_strict() {
    strict(&schema(), "");
}

fn strict(schema: &Json, at: &str) {
    assert_eq!(schema["additionalProperties"], false, "{at:?}");
    let required: BTreeSet<&str> = schema["required"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Json::as_str)
        .collect();
    for (name, of) in schema["properties"].as_object().unwrap() {
        let section = of.get("properties").is_some();
        if section {
            strict(of, &format!("{at}{name}."));
        }
        let reference = of["$ref"].as_str().unwrap_or_default();
        let may_go = name == "global"
            || ["#/definitions/strings", "#/definitions/named"].contains(&reference)
            || (!section && ["array", "object"].iter().any(|kind| of["type"] == *kind));
        assert!(
            required.contains(name.as_str()) != may_go || name == "accessModes",
            "{at}{name}"
        );
    }
}

#[test]
fn the_readme_has_all_values() {
    let leaves = leaves(&schema(), "");
    let text = read("values.yaml");
    let defaults: Json = serde_saphyr::from_str(&text).unwrap();
    let mut table = String::from("| value | default | |\n|---|---|---|\n");
    for (name, comment) in documented(&text).iter().filter(|(name, _)| leaves.contains(name)) {
        let default = defaults
            .pointer(&format!("/{}", name.replace('.', "/")))
            .unwrap()
            .to_string();
        let default = if default.len() <= SHORT {
            format!("`{default}`")
        } else {
            "[values.yaml](values.yaml)".to_owned()
        };
        table.push_str(&format!("| `{name}` | {default} | {comment} |\n"));
    }
    let readme = read("README.md");
    let (before, rest) = readme.split_once(START).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{START}{table}{END}{after}");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(chart().join("README.md"), &wanted).unwrap();
        return;
    }
    assert!(
        readme == wanted,
        "the table in deploy/chart/README.md is out of date: run this test with BLESS=1"
    );
}
