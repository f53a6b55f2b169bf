//! What a commit changes in clusters, for people.

use anstyle::{AnsiColor, Style};

use crate::cli::words;
use bumpwright_update::{ChangedObject, ChangedWorkload, Impact, KustomizationName};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const OLD: Style = AnsiColor::Red.on_default();
const NEW: Style = AnsiColor::Green.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();

/// The lines about the impact of a change.
pub(crate) fn lines(impact: &Impact) -> Vec<String> {
    let mut lines = vec![format!("{BOLD}impact{BOLD:#} {}", impact.headline())];
    for name in &impact.kustomizations {
        lines.push(format!("  Kustomization {}", words::inline(&name.to_string())));
        let is_here = |own: &KustomizationName| own == name;
        lines.extend(objects(impact, &is_here).into_iter().map(|line| format!("    {line}")));
    }
    let is_elsewhere = |own: &KustomizationName| !impact.kustomizations.contains(own);
    lines.extend(
        objects(impact, &is_elsewhere)
            .into_iter()
            .map(|line| format!("  {line}")),
    );
    for marker in &impact.dead_markers {
        let place = format!("{}:{}:{}", marker.path, marker.line, marker.column);
        lines.push(format!(
            "  {WARN}dead marker{WARN:#} {} changes nothing in these clusters {DIM}({}){DIM:#}",
            words::inline(&place),
            words::inline(&marker.setter)
        ));
    }
    let notes = impact.notes.iter();
    lines.extend(notes.map(|note| format!("  {DIM}note:{DIM:#} {}", words::printable(note))));
    lines
}

/// The lines of the workloads and other objects of some Kustomizations.
fn objects(impact: &Impact, is_meant: &dyn Fn(&KustomizationName) -> bool) -> Vec<String> {
    let workloads = impact.workloads.iter().filter(|one| is_meant(&one.kustomization));
    let objects = impact.objects.iter().filter(|one| is_meant(&one.kustomization));
    let object = |object: &ChangedObject| {
        let name = object.object.to_string();
        let rest = format!("{}{}", object.summary(), by(&object.release));
        format!("{} {DIM}({rest}){DIM:#}", words::inline(&name))
    };
    workloads.map(workload).chain(objects.map(object)).collect()
}

/// A line with all images that change.
fn workload(workload: &ChangedWorkload) -> String {
    let images = workload.images.iter().map(|image| {
        let [container, old, new] = [&image.container, &image.old, &image.new].map(|text| words::inline(text));
        match (&*old, &*new) {
            ("", new) => format!("  {container}: {NEW}{new}{NEW:#}"),
            (old, "") => format!("  {container}: {OLD}{old}{OLD:#} → none"),
            (old, new) => format!("  {container}: {OLD}{old}{OLD:#} → {NEW}{new}{NEW:#}"),
        }
    });
    let images: String = images.collect();
    let restarts = if workload.restarts { "restarts" } else { "" };
    let rest = [workload.summary().as_str(), restarts].map(str::to_owned);
    let rest: Vec<String> = rest.into_iter().filter(|word| !word.is_empty()).collect();
    let name = workload.object.to_string();
    let rest = rest.join(", ") + &by(&workload.release);
    format!("{}{images} {DIM}({rest}){DIM:#}", words::inline(&name))
}

/// `, by HelmRelease namespace/name`
fn by(release: &str) -> String {
    match release {
        "" => String::new(),
        release => format!(", by HelmRelease {}", words::inline(release)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_update::{ContainerImage, DeadMarker, ObjectAction, ObjectIdentifier};

    #[test]
    fn a_container_that_goes_has_no_new_image() {
        let of = |old: &str, new: &str| {
            let image = ContainerImage {
                container: "web".to_owned(),
                old: old.to_owned(),
                new: new.to_owned(),
            };
            let line = workload(&ChangedWorkload {
                images: vec![image],
                ..ChangedWorkload::default()
            });
            anstream::adapter::strip_str(&line).to_string()
        };
        assert!(of("o/web:1", "").ends_with("  web: o/web:1 → none (configured)"));
        assert!(of("", "o/web:1").ends_with("  web: o/web:1 (configured)"));
    }

    #[test]
    fn the_lines_name_what_changes() {
        let object = |kind: &str, name: &str| ObjectIdentifier {
            kind: kind.to_owned(),
            name: name.to_owned(),
            namespace: "shop".to_owned(),
            ..ObjectIdentifier::default()
        };
        let impact = Impact {
            kustomizations: vec![KustomizationName {
                cluster: "clusters/a".to_owned(),
                namespace: "fs".to_owned(),
                name: "apps".to_owned(),
            }],
            unknown: 0,
            releases: Vec::new(),
            workloads: vec![ChangedWorkload {
                object: object("Deployment", "web"),
                images: vec![ContainerImage {
                    container: "web".to_owned(),
                    old: "o/web:1".to_owned(),
                    new: "o/web:2".to_owned(),
                }],
                restarts: true,
                ..ChangedWorkload::default()
            }],
            objects: vec![ChangedObject {
                object: object("ConfigMap", "env-\u{1b}"),
                release: "shop/web".to_owned(),
                action: ObjectAction::Created,
                ..ChangedObject::default()
            }],
            dead_markers: vec![DeadMarker {
                path: "old.yaml".to_owned(),
                line: 3,
                column: 8,
                setter: "fs:web".to_owned(),
            }],
            notes: vec!["fs/broken did not build before either".to_owned()],
        };
        let shown: Vec<String> = lines(&impact)
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string())
            .collect();
        let expected = [
            "impact 1 Kustomization changes: 1 workload, 1 other object; 1 workload restarts; 1 dead marker",
            "  Kustomization clusters/a: fs/apps",
            "  Deployment shop/web  web: o/web:1 → o/web:2 (configured, restarts)",
            "  ConfigMap shop/env-\\u{1b} (created, by HelmRelease shop/web)",
            "  dead marker old.yaml:3:8 changes nothing in these clusters (fs:web)",
            "  note: fs/broken did not build before either",
        ];
        assert_eq!(shown, expected);
    }
}
