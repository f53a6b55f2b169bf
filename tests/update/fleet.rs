//! The example fleet is consistent: its policies have images, its markers name them, its bytes are the announced ones.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bumpwright_api::{ObjectName, Objects, UnknownFields, read};

fn fleet() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fleet")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path))
        } else {
            found.push(path)
        }
    }
    found.sort();
    found
}

fn objects() -> Objects {
    let mut objects = Objects::default();
    for folder in ["clusters", "policies"] {
        for file in files(&fleet().join(folder)) {
            let text = std::fs::read(&file).unwrap();
            let documents = read(&file.display().to_string(), &text, UnknownFields::Refuse).unwrap();
            assert!(!documents.is_empty(), "{file:?}");
            objects.insert_all(documents).unwrap();
        }
    }
    objects
}

/// The setters of all markers below `apps/`.
fn setters() -> Vec<String> {
    let marker = "# {\"$imagepolicy\": \"";
    let texts = files(&fleet().join("apps"))
        .into_iter()
        .map(|file| std::fs::read_to_string(file).unwrap());
    let lines: Vec<String> = texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let after = lines.iter().filter_map(|line| line.split_once(marker));
    after
        .map(|(_, rest)| rest.split('"').next().unwrap().to_owned())
        .collect()
}

#[test]
fn every_policy_has_an_image_and_a_marker() {
    let objects = objects();
    let used: BTreeSet<String> = setters()
        .iter()
        .map(|setter| setter.split(':').nth(1).unwrap().to_owned())
        .collect();
    for policy in objects.image_policies() {
        let latest = policy.latest_ref().unwrap().expect("an image");
        assert!(latest.name.starts_with("ghcr.io/acme/"), "{latest}");
        assert!(used.contains(&policy.metadata.name), "{}", policy.metadata.name);
    }
    assert_eq!(objects.image_policies().count(), 5);
}

#[test]
fn one_marker_has_a_typo() {
    let objects = objects();
    let setters = setters();
    let unknown = setters.iter().filter(|setter| {
        let mut parts = setter.split(':');
        let name = ObjectName::new(parts.next().unwrap(), parts.next().unwrap());
        objects.image_policy(&name).is_none()
    });
    assert_eq!(unknown.collect::<Vec<_>>(), ["flux-system:porxy"]);
    assert_eq!(setters.len(), 12);
}

#[test]
fn the_automation_finds_its_repository() {
    let objects = objects();
    let automation = objects.automations().next().unwrap();
    let repository = objects.git_repository(&automation.source_name()).unwrap();
    let checkout = automation.checkout_ref(repository.spec.reference.as_ref()).unwrap();
    assert_eq!(checkout.branch.as_deref(), Some("main"));
    assert!(fleet().join(automation.spec.update.path.as_deref().unwrap()).is_dir());
}

#[test]
fn the_bytes_are_ugly_as_described() {
    let text = |path: &str| std::fs::read_to_string(fleet().join(path)).unwrap();
    let worker = text("apps/worker/cronjob.yaml");
    assert!(worker.matches('\n').count() > 10 && worker.matches('\n').count() == worker.matches("\r\n").count());
    assert!(!worker.ends_with('\n'));
    assert!(text("apps/web/deployment.yaml").contains("\n\n\n"));
    assert!(text("apps/api/deployment.yaml").contains("&image ghcr.io/acme/api"));
}
