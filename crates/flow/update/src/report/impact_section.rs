//! The impact of a commit as a section of Markdown, for summaries and pull requests.

use std::fmt::Write as _;

use bumpwright_forge::markdown::{cell, code};
use bumpwright_message::{ChangedObject, ChangedWorkload, DeadMarker, Impact};
use bumpwright_text::Excerpt;

/// The most rows of a list; the rest is counted.
const SHOWN: usize = 50;

/// The longest text of a cell, in characters.
const LONGEST: usize = 200;

/// The section, with a heading of this level and an empty line at its end.
#[must_use]
pub fn impact_section(impact: &Impact, level: usize) -> String {
    let mut out = format!("{} Impact\n\n{}\n\n", "#".repeat(level), impact.headline());
    if !impact.kustomizations.is_empty() {
        let names = some(&impact.kustomizations, |name| format!("`{}`", cut(&name.to_string())));
        let _ = writeln!(out, "Kustomizations: {}\n", names.join(", "));
    }
    if !impact.workloads.is_empty() {
        out += "| Workload | Kustomization | Container | Old | New | |\n|---|---|---|---|---|---|\n";
        out += &some(&impact.workloads, workload).concat();
        more(&mut out, impact.workloads.len());
        out.push('\n');
    }
    if !impact.objects.is_empty() {
        out += "| Object | Kustomization | |\n|---|---|---|\n";
        out += &some(&impact.objects, object).concat();
        more(&mut out, impact.objects.len());
        out.push('\n');
    }
    if !impact.dead_markers.is_empty() {
        out += "These fields change nothing in these clusters:\n\n";
        out += &some(&impact.dead_markers, dead_marker).concat();
        more(&mut out, impact.dead_markers.len());
        out.push('\n');
    }
    for note in impact.notes.iter().take(SHOWN) {
        let _ = writeln!(out, "> {}\n", cell(note));
    }
    out
}

fn some<T>(items: &[T], text: impl Fn(&T) -> String) -> Vec<String> {
    items.iter().take(SHOWN).map(text).collect()
}

fn more(out: &mut String, count: usize) {
    if count > SHOWN {
        let _ = writeln!(out, "\nand {} more", count - SHOWN);
    }
}

/// A row for each image, or one without.
fn workload(workload: &ChangedWorkload) -> String {
    let restarts = if workload.restarts { "restarts" } else { "" };
    let rest = match (workload.summary().as_str(), restarts) {
        ("configured", restarts) => restarts.to_owned(),
        (word, "") => word.to_owned(),
        (word, restarts) => format!("{word}, {restarts}"),
    };
    let row = |container: &str, old: &str, new: &str| {
        let cells = [&workload.object.to_string(), &workload.owner(), container, old, new];
        let cells = cells.map(|text| match text {
            "" => String::new(),
            text => format!("`{}`", cut(text)),
        });
        format!("| {} | {rest} |\n", cells.join(" | "))
    };
    match workload.images.as_slice() {
        [] => row("", "", ""),
        images => images
            .iter()
            .map(|image| row(&image.container, &image.old, &image.new))
            .collect(),
    }
}

fn object(object: &ChangedObject) -> String {
    let (name, owner) = (cut(&object.object.to_string()), cut(&object.owner()));
    format!("| `{name}` | `{owner}` | {} |\n", object.summary())
}

fn dead_marker(marker: &DeadMarker) -> String {
    let place = cut(&format!("{}:{}:{}", marker.path, marker.line, marker.column));
    format!("- `{place}` (`{}`)\n", cut(&marker.setter))
}

/// A text as code in a cell, truncated.
fn cut(text: &str) -> String {
    code(&text.excerpt(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_message::{ContainerImage, KustomizationName, ObjectAction, ObjectIdentifier};

    fn name(name: &str) -> KustomizationName {
        KustomizationName {
            namespace: "fs".to_owned(),
            name: name.to_owned(),
            ..KustomizationName::default()
        }
    }

    fn identifier(kind: &str, name: &str) -> ObjectIdentifier {
        ObjectIdentifier {
            kind: kind.to_owned(),
            namespace: "shop".to_owned(),
            name: name.to_owned(),
            ..ObjectIdentifier::default()
        }
    }

    fn impact() -> Impact {
        let image = |container: &str, new: &str| ContainerImage {
            container: container.to_owned(),
            old: "o/web:1".to_owned(),
            new: new.to_owned(),
        };
        Impact {
            kustomizations: vec![name("apps"), name("jobs")],
            workloads: vec![
                ChangedWorkload {
                    object: identifier("Deployment", "web"),
                    kustomization: name("apps"),
                    images: vec![image("web", "o/web:2"), image("`in|it", "o/web:2")],
                    restarts: true,
                    ..ChangedWorkload::default()
                },
                ChangedWorkload {
                    object: identifier("CronJob", "job"),
                    kustomization: name("jobs"),
                    release: "shop/job".to_owned(),
                    action: ObjectAction::Created,
                    ..ChangedWorkload::default()
                },
            ],
            objects: vec![ChangedObject {
                object: identifier("ConfigMap", "env"),
                kustomization: name("apps"),
                fields: 2,
                ..ChangedObject::default()
            }],
            dead_markers: vec![DeadMarker {
                path: "old.yaml".to_owned(),
                line: 3,
                column: 8,
                setter: "fs:web".to_owned(),
            }],
            notes: vec!["fs/broken did not <b>build</b> before".to_owned()],
            unknown: 0,
            releases: Vec::new(),
        }
    }

    #[test]
    fn a_section_has_tables_and_hostile_text_stays_in_its_cell() {
        let expected = "\
### Impact

2 Kustomizations change: 2 workloads, 1 other object; 1 workload restarts; 1 dead marker

Kustomizations: `fs/apps`, `fs/jobs`

| Workload | Kustomization | Container | Old | New | |
|---|---|---|---|---|---|
| `Deployment shop/web` | `fs/apps` | `web` | `o/web:1` | `o/web:2` | restarts |
| `Deployment shop/web` | `fs/apps` | `'in\\|it` | `o/web:1` | `o/web:2` | restarts |
| `CronJob shop/job` | `fs/jobs: HelmRelease shop/job` |  |  |  | created |

| Object | Kustomization | |
|---|---|---|
| `ConfigMap shop/env` | `fs/apps` | configured, 2 fields |

These fields change nothing in these clusters:

- `old.yaml:3:8` (`fs:web`)

> fs/broken did not &lt;b&gt;build&lt;/b&gt; before

";
        assert_eq!(impact_section(&impact(), 3), expected);
    }

    #[test]
    fn long_lists_are_counted() {
        let mut long = impact();
        long.objects = vec![long.objects.first().cloned().unwrap_or_default(); 60];
        let text = impact_section(&long, 2);
        assert!(
            text.contains("\nand 10 more\n") && text.starts_with("## Impact"),
            "{text}"
        );
        assert_eq!(Impact::default().headline(), "nothing changes in these clusters");
    }
}
