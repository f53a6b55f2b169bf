//! Policies, compared with a table made by image-reflector-controller's own `internal/policy`.

use bumpwright_policy::{FilterSpec, ImagePolicy, RuleSpec};
use bumpwright_testkit::oracle::{Tally, rows};
use serde_json::Value as Json;

#[test]
fn policies() {
    let mut tally = Tally::new("policies");
    for row in rows("policies.jsonl") {
        let id = row["id"].as_str().unwrap();
        let ours = choose(&row);
        if row["nondeterministic"] == true {
            one_of(&mut tally, id, &row, ours);
            continue;
        }
        match (ours, row["latest"].as_str(), row["error"].as_str()) {
            (Ok(ours), Some(theirs), None) => tally.output(id, ours.as_bytes(), theirs.as_bytes()),
            (Err(ours), None, Some(theirs)) => {
                tally.stage(id, stage(&ours), stage(theirs));
                tally.text(id, &ours, theirs);
            }
            (ours, latest, error) => tally.wrong(id, &format!("{ours:?} instead of {latest:?} {error:?}")),
        }
    }
    tally.report();
}

/// The choice or the error; a survey of the same tags must come to the same.
fn choose(row: &Json) -> Result<String, String> {
    let rule = RuleSpec {
        semver: row["policy"]["semver"]["range"].as_str().map(str::to_owned),
        alphabetical: order(row, "alphabetical"),
        numerical: order(row, "numerical"),
    };
    let filter = row.get("filterTags").map(|filter| FilterSpec {
        pattern: text(&filter["pattern"]),
        extract: text(&filter["extract"]),
    });
    let tags: Vec<String> = row["tags"].as_array().into_iter().flatten().map(text).collect();
    let policy = ImagePolicy::new(&rule, filter.as_ref()).map_err(|error| error.to_string())?;
    let latest = policy.latest(&tags).map(str::to_owned);
    assert_eq!(policy.survey(&tags).unwrap().latest, latest, "{row}");
    latest.map_err(|error| error.to_string())
}

/// The order of a rule that is there, empty when it does not say.
fn order(row: &Json, rule: &str) -> Option<String> {
    row["policy"].get(rule).map(|rule| text(&rule["order"]))
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

/// Whether a policy is wrong by itself or only finds nothing.
fn stage(error: &str) -> &'static str {
    if error.starts_with("invalid policy: ") || error.starts_with("failed to filter tags: ") {
        "policy"
    } else {
        "tags"
    }
}

/// Any listed choice is right, and any listed error.
fn one_of(tally: &mut Tally, id: &str, row: &Json, ours: Result<String, String>) {
    let listed = |key: &str, text: &str| {
        let texts = row[key].as_array().map(Vec::as_slice).unwrap_or_default();
        texts.iter().any(|listed| listed.as_str() == Some(text))
    };
    match ours {
        Ok(tag) if listed("one_of", &tag) => tally.output(id, b"", b""),
        Err(text) if listed("one_of_errors", &text) => tally.text(id, "", ""),
        ours => tally.wrong(
            id,
            &format!("{ours:?} is none of {} {}", row["one_of"], row["one_of_errors"]),
        ),
    }
}
