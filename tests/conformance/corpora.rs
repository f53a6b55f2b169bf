//! Suites over the recorded cases beside the project; each prints its figure and fails below its floor.

use std::fs;

use bumpwright_edit::{self as edit, Images, Reason, Verdict};
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_testkit::corpora::{corpora, report};
use serde::Deserialize;

#[derive(Deserialize)]
struct Policy {
    metadata: Metadata,
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    namespace: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    latest_ref: LatestRef,
}

impl Images for Policy {
    fn verdict(&self, policy: &PolicyName) -> Verdict<'_> {
        if *policy == PolicyName::new(&*self.metadata.namespace, &*self.metadata.name) {
            return Verdict::Image(&self.status.latest_ref);
        }
        Verdict::Skip(Reason::UnknownPolicy, format!("there is no policy {policy}"))
    }
}

/// Each file of `cases/format` becomes, byte for byte, the `.expected` beside it.
#[test]
fn format_cases() {
    let folder = corpora().join("cases/format");
    let Ok(policy) = fs::read_to_string(folder.join("_policy.yaml")) else {
        return println!("format cases: absent");
    };
    let policy: Policy = serde_saphyr::from_str(&policy).unwrap();
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".expected") && !name.starts_with('_'))
        .collect();
    names.sort();
    let mut passed = 0;
    for name in &names {
        let given = fs::read(folder.join(name)).unwrap();
        let expected = fs::read(folder.join(format!("{name}.expected"))).unwrap();
        let scan = edit::scan(edit::file_kind(name), &given);
        let plan = edit::plan(name, &scan, &policy);
        let got = edit::splice(&given, &plan).unwrap();
        if got == expected {
            passed += 1;
        } else {
            println!("{name}: differs\n{}", String::from_utf8_lossy(&got));
        }
    }
    report("format cases", passed, names.len(), 15);
}
