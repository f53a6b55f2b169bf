//! What is dangerous about a change: each rule with cases that break it, and with cases near them that do not.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod counts;
mod credentials;
mod rights;
mod suspended;
mod uncompared;
mod versions;

use std::sync::Arc;
use std::time::Instant;

use bumpwright_budget::{BUILD_MEMORY, Memory, SINGLE};
use bumpwright_fleet::{
    CheckSettings, Fleet, Identity, Memo, Outside, Repository, Review, Settings, SourceError, SourceObject, State,
    check, review, view,
};
use bumpwright_kustomize::tree::{MemoryTree, Sealed, Tree, World};
use bumpwright_schemas::Schemas;

/// A repository in memory.
struct Files(MemoryTree);

impl Repository for Files {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Box::new(self.0.clone())
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
        panic!("no source has {ignore}")
    }
}

/// No network.
struct Nothing;

impl Outside for Nothing {
    fn world(&self) -> Box<dyn World + '_> {
        Box::new(Sealed)
    }

    fn source(&self, source: &SourceObject, _: &[serde_json::Value]) -> Result<Arc<dyn Repository>, Arc<SourceError>> {
        Err(Arc::new(SourceError::NotFetched(source.shown())))
    }
}

/// A Kustomization of the folder of its name.
fn kustomization(name: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: f}}\n\
         spec: {{interval: 1m, path: {name}, sourceRef: {{kind: GitRepository, name: f}}{more}}}\n"
    )
}

const SOURCE: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: f, namespace: f}\n\
    spec: {interval: 1m, url: https://example.com/f, ref: {branch: main}}\n";

/// The entry: a source, and Kustomizations of it.
fn entry(source: &str, spec: &str) -> String {
    let all = [
        source.to_owned(),
        kustomization("c", ", prune: true"),
        kustomization("a", spec),
        kustomization("b", spec),
    ];
    all.join("---\n")
}

/// A cluster whose entry has Kustomizations for `a` and `b`, each with more fields of its spec, and these files.
fn fleet(spec: &str, files: &[(&str, &str)]) -> (Files, Fleet) {
    let mut tree = MemoryTree::new();
    tree.add_file("c/entry.yaml", entry(SOURCE, spec).into_bytes());
    for keep in ["a/keep.yaml", "b/keep.yaml"] {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: keep-{}, namespace: n}}\n",
            &keep[..1]
        );
        tree.add_file(keep, text.into_bytes());
    }
    for (path, text) in files {
        tree.add_file(path, text.as_bytes().to_vec());
    }
    let files = Files(tree);
    let settings = Settings::new(Memory::single(SINGLE, BUILD_MEMORY).of(""));
    let fleet = view(&files, "c", &Nothing, &settings, &Memo::default()).unwrap();
    (files, fleet)
}

fn settings(threads: usize) -> CheckSettings {
    CheckSettings {
        registries: None,
        schemas: Schemas::bundled(None).unwrap(),
        identity: Identity { urls: Vec::new() },
        threads,
        deadline: None,
        strict_substitute: true,
    }
}

fn reviewed(before: &(Files, Fleet), after: &(Files, Fleet)) -> Review {
    reviewed_on(1, before, after)
}

fn reviewed_on(threads: usize, before: &(Files, Fleet), after: &(Files, Fleet)) -> Review {
    let state = |of: &'_ (Files, Fleet)| -> [Fleet; 1] { [of.1.clone()] };
    let (old, new) = (state(before), state(after));
    let before = State {
        fleets: &old,
        repository: &before.0,
    };
    let after = State {
        fleets: &new,
        repository: &after.0,
    };
    review(before, after, &settings(threads), "0")
}

/// `severity[rule] object: message` of all findings about a change of specs and files.
fn found(specs: [&str; 2], before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    let review = reviewed(&fleet(specs[0], before), &fleet(specs[1], after));
    let findings = review.report.open().filter(|finding| finding.rule.is_about_a_change());
    findings
        .map(|finding| {
            let object = finding.object.clone().unwrap_or_default();
            format!(
                "{}[{}] {object}: {}",
                finding.severity.as_str(),
                finding.rule,
                finding.message
            )
        })
        .collect()
}

const PRUNE: &str = ", prune: true";

/// Findings about one object that changes from one text to another; an empty text stands for a missing one.
fn one(before: &str, after: &str) -> Vec<String> {
    let file = |text| match text {
        "" => vec![],
        text => vec![("a/x.yaml", text)],
    };
    found([PRUNE, PRUNE], &file(before), &file(after))
}

/// An object in namespace `n`.
fn object(api: &str, kind: &str, rest: &str) -> String {
    format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: x, namespace: n}}\n{rest}\n")
}

fn contains(found: &[String], text: &str) {
    assert!(found.len() == 1 && found[0].contains(text), "{text}\n{found:#?}");
}

/// Both states are checked at the same time where there are threads.
#[test]
fn a_review_says_the_same_on_any_number_of_threads() {
    let job = |image: &str, more: &str| {
        let spec = format!("spec:\n  template: {{spec: {{containers: [{{name: c, image: '{image}'{more}}}]}}}}\n");
        object("batch/v1", "Job", &spec)
    };
    let (old, new) = (job("i:1", ", prot: 1"), job("i:2", ", port: 1"));
    let misspelt = object("v1", "ConfigMap", "dat: {a: b}");
    let before = fleet(
        PRUNE,
        &[("a/x.yaml", &old), ("b/y.yaml", &old), ("b/z.yaml", &misspelt)],
    );
    let after = fleet("", &[("a/x.yaml", &new), ("b/y.yaml", &old)]);
    let [one, two, many] = [1, 2, 8].map(|threads| reviewed_on(threads, &before, &after));
    assert!(one.report.open().count() > 0 && one.gone > 0, "{:#?}", one.report);
    for other in [two, many] {
        assert_eq!(other.json(), one.json());
        assert_eq!(other.markdown(), one.markdown());
    }
}

#[test]
fn fields_that_never_change_are_found() {
    let claims = |size: &str, more: &str| {
        object(
            "apps/v1",
            "StatefulSet",
            &format!(
                "spec:\n  serviceName: x\n  selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    \
                 spec: {{containers: [{{name: c, image: 'i:1'}}]}}\n  volumeClaimTemplates:\n  - metadata: {{name: d}}\n    \
                 spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: {size}}}}}{more}}}\n"
            ),
        )
    };
    contains(
        &one(&claims("1Gi", ""), &claims("2Gi", "")),
        "error[immutable-field] StatefulSet n/x: spec.volumeClaimTemplates of a StatefulSet never changes",
    );
    // Fields that the API server sets by itself are not changes.
    assert_eq!(
        one(&claims("1Gi", ""), &claims("1Gi", ", volumeMode: Filesystem")),
        [""; 0]
    );

    let claim = |spec: &str| {
        object(
            "v1",
            "PersistentVolumeClaim",
            &format!("spec: {{accessModes: [ReadWriteOnce], {spec}}}"),
        )
    };
    let sized = |size: &str| claim(&format!("resources: {{requests: {{storage: {size}}}}}"));
    contains(
        &one(&sized("10Gi"), &sized("9Gi")),
        "the claim shrinks from 10Gi to 9Gi: claims can only grow",
    );
    for grown in ["11Gi", "10240Mi", "1Ti", "10737418240"] {
        assert_eq!(one(&sized("10Gi"), &sized(grown)), [""; 0], "{grown}");
    }
    contains(
        &one(&claim("storageClassName: a"), &claim("storageClassName: b")),
        "spec.storageClassName of a PersistentVolumeClaim",
    );

    let deployment = |label: &str| {
        object(
            "apps/v1",
            "Deployment",
            &format!(
                "spec:\n  selector: {{matchLabels: {{a: {label}}}}}\n  template:\n    metadata: {{labels: {{a: {label}}}}}\n    \
                 spec: {{containers: [{{name: c, image: 'i:1'}}]}}\n"
            ),
        )
    };
    contains(
        &one(&deployment("b"), &deployment("c")),
        "error[immutable-field] Deployment n/x: spec.selector",
    );
    let forced = found(
        [PRUNE, ", prune: true, force: true"],
        &[("a/x.yaml", &deployment("b"))],
        &[("a/x.yaml", &deployment("c"))],
    );
    contains(
        &forced,
        "warning[immutable-field] Deployment n/x: spec.selector of a Deployment never changes; with force",
    );

    let binding = |role: &str| {
        object(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            &format!(
                "roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {role}}}\nsubjects: [{{kind: ServiceAccount, name: s, namespace: n}}]\n"
            ),
        )
    };
    contains(
        &one(&binding("r"), &binding("q")),
        "roleRef of a RoleBinding never changes",
    );

    let service = |spec: &str| object("v1", "Service", &format!("spec: {{ports: [{{port: 80}}]{spec}}}"));
    contains(
        &one(&service(""), &service(", clusterIP: None")),
        "spec.clusterIP of a Service",
    );
    assert_eq!(one(&service(", clusterIP: None"), &service("")), [""; 0]);
    assert_eq!(
        one(
            &service(", type: ExternalName, externalName: a"),
            &service(", clusterIP: 10.0.0.1")
        ),
        [""; 0]
    );

    let map = |text: &str| object("v1", "ConfigMap", text);
    contains(
        &one(
            &map("immutable: true\ndata: {a: b}"),
            &map("immutable: true\ndata: {a: c}"),
        ),
        "data of a ConfigMap never changes",
    );
    assert_eq!(
        one(&map("data: {a: b}"), &map("immutable: true\ndata: {a: c}")),
        [""; 0]
    );
    let secret = |kind: &str| object("v1", "Secret", &format!("type: {kind}\nstringData: {{}}"));
    contains(
        &one(&secret("Opaque"), &secret("example.com/b")),
        "type of a Secret never changes",
    );
}

#[test]
fn deletions_of_what_holds_data_are_found_where_something_deletes() {
    let claim = object("v1", "PersistentVolumeClaim", "spec: {accessModes: [ReadWriteOnce]}");
    contains(
        &one(&claim, ""),
        "warning[deletion] PersistentVolumeClaim n/x: it is no longer in Kustomization f/a, which deletes it: its volume may be deleted",
    );
    // It has moved.
    assert_eq!(
        found([PRUNE, PRUNE], &[("a/x.yaml", &claim)], &[("b/x.yaml", &claim)]),
        [""; 0]
    );
    let kept = claim.replace(
        "namespace: n",
        "namespace: n, annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}",
    );
    assert_eq!(one(&kept, ""), [""; 0]);
    let plain = object("v1", "ConfigMap", "data: {}");
    contains(
        &one(&plain, ""),
        "note[deletion] Kustomization f/a: 1 object goes: 1 ConfigMap",
    );
    contains(
        &found(["", ""], &[("a/x.yaml", &plain)], &[]),
        "note[left-behind] Kustomization f/a: ConfigMap n/x stays in the cluster: it is no longer in Kustomization f/a, which does not prune",
    );
    for (kind, api, loss) in [
        ("Namespace", "v1", "everything in it is deleted"),
        ("StatefulSet", "apps/v1", "its pods are deleted"),
        (
            "Cluster",
            "postgresql.cnpg.io/v1",
            "what its operator has made for it may be deleted",
        ),
        (
            "CustomResourceDefinition",
            "apiextensions.k8s.io/v1",
            "all objects of its kind are deleted",
        ),
        (
            "NetworkPolicy",
            "networking.k8s.io/v1",
            "traffic that it refused is allowed",
        ),
    ] {
        contains(&one(&object(api, kind, ""), ""), loss);
    }
}

#[test]
fn a_kustomization_that_goes_takes_its_objects_with_it_or_leaves_them() {
    let claim = object("v1", "PersistentVolumeClaim", "spec: {accessModes: [ReadWriteOnce]}");
    let with = |spec: &str| {
        let owned = kustomization("d", spec);
        let files = [("c/d.yaml", owned.as_str()), ("d/x.yaml", claim.as_str())];
        let all = found([PRUNE, PRUNE], &files, &[("d/x.yaml", &claim)]);
        let (counts, others): (Vec<String>, Vec<String>) =
            all.into_iter().partition(|text| text.contains("it goes, with"));
        let is_deleted = others.iter().any(|text| text.contains("[deletion]"));
        assert_eq!(counts.len(), usize::from(is_deleted), "{counts:#?}");
        for count in counts {
            let wanted = "note[deletion] Kustomization f/d: it goes, with 1 object: 1 PersistentVolumeClaim";
            assert_eq!(count, wanted);
        }
        others
    };
    contains(
        &with(PRUNE),
        "warning[deletion] PersistentVolumeClaim n/x: it is no longer in Kustomization f/d",
    );
    contains(
        &with(", prune: true, deletionPolicy: Orphan"),
        "note[left-behind] Kustomization f/d: PersistentVolumeClaim n/x stays",
    );
    contains(&with(", deletionPolicy: Delete"), "warning[deletion]");
    contains(&with(", prune: true, suspend: true"), "note[left-behind]");
}

#[test]
fn what_is_suspended_is_not_applied_and_what_is_resumed_is_all_at_once() {
    let map = |data: &str| object("v1", "ConfigMap", &format!("data: {{a: {data}}}"));
    let suspended = ", prune: true, suspend: true";
    let (before, after) = (map("b"), map("c"));
    let (before, after) = ([("a/x.yaml", before.as_str())], [("a/x.yaml", after.as_str())]);
    contains(
        &found([suspended, suspended], &before, &after),
        "warning[suspended-change] Kustomization f/a: it is suspended: the object of it that changes is not applied",
    );
    let resumed = found([suspended, PRUNE], &before, &before);
    assert_eq!(resumed.len(), 2, "{resumed:#?}");
    assert!(
        resumed[0].starts_with("warning[resumed] Kustomization f/a: the Kustomization is resumed"),
        "{resumed:#?}"
    );
    let paused = found([PRUNE, suspended], &before, &before);
    assert!(
        paused[0].starts_with("note[suspended-change] Kustomization f/a: the Kustomization is suspended"),
        "{paused:#?}"
    );
}

#[test]
fn pods_with_more_rights_on_their_node_are_found() {
    let pods = |spec: &str| {
        object(
            "apps/v1",
            "Deployment",
            &format!(
                "spec:\n  selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    spec: {{{spec}}}\n"
            ),
        )
    };
    let container = |more: &str| format!("containers: [{{name: c, image: 'i:1'{more}}}]");
    let plain = pods(&container(""));
    for (more, right) in [
        (
            container(", securityContext: {privileged: true}"),
            "privileged in container c",
        ),
        (
            container(", securityContext: {capabilities: {add: [CHOWN, SYS_ADMIN]}}"),
            "capability SYS_ADMIN in container c",
        ),
        (
            container(", ports: [{containerPort: 80, hostPort: 80}]"),
            "the node's port 80 in container c",
        ),
        (format!("{}, hostNetwork: true", container("")), "hostNetwork"),
        (
            format!("{}, volumes: [{{name: v, hostPath: {{path: /etc}}}}]", container("")),
            "the node's files in /etc",
        ),
        (
            format!(
                "{}, securityContext: {{seccompProfile: {{type: Unconfined}}}}",
                container("")
            ),
            "no seccomp profile",
        ),
    ] {
        contains(&one(&plain, &pods(&more)), right);
        contains(&one("", &pods(&more)), right);
        // It had it before.
        assert_eq!(
            one(&pods(&more), &pods(&more).replace("i:1", "i:1.1")),
            [""; 0],
            "{more}"
        );
    }
    assert_eq!(
        one(
            &plain,
            &pods(&container(
                ", securityContext: {privileged: false, capabilities: {add: [CHOWN]}}"
            ))
        ),
        [""; 0]
    );
    let none = plain.replace("spec:\n  selector", "spec:\n  replicas: 0\n  selector");
    contains(
        &one(&plain, &none),
        "warning[scaled-to-zero] Deployment n/x: spec.replicas is 0: it has no pods",
    );
    assert_eq!(one(&none, &none.replace("i:1", "i:1.1")), [""; 0]);
}

#[test]
fn steps_of_versions_are_found_once() {
    let pods = |image: &str| {
        object(
            "apps/v1",
            "Deployment",
            &format!(
                "spec:\n  selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    \
                 spec: {{containers: [{{name: c, image: '{image}'}}]}}\n"
            ),
        )
    };
    let step = |from: &str, to: &str| one(&pods(from), &pods(to));
    contains(
        &step("r.io/o/i:1.9.0", "r.io/o/i:2.0.0"),
        "note[major-version] Deployment n/x: image r.io/o/i goes from 1.9.0 to 2.0.0",
    );
    contains(
        &step("o/i:v1.10.0", "o/i:v1.9.0"),
        "warning[older-version] Deployment n/x: image o/i goes from v1.10.0 to v1.9.0",
    );
    for (from, to) in [
        ("o/i:1.9.0", "o/i:1.10.0"),
        ("o/i:1.0.0", "o/i:1.0.0-alpine"),
        ("o/i:20240131", "o/i:20250131"),
        ("o/i:1.0.0", "o/j:2.0.0"),
        ("o/i:latest", "o/i:2.0.0"),
        ("host:5000/i", "host:6000/i"),
    ] {
        assert_eq!(step(from, to), [""; 0], "{from} {to}");
    }
    // At the field of the image.
    let state = |image: &str| fleet(PRUNE, &[("a/x.yaml", &pods(image))]);
    let older = reviewed(&state("o/i:2.0.0"), &state("o/i:1.0.0"));
    let places = older
        .report
        .open()
        .filter(|finding| finding.rule.id() == "older-version");
    let places: Vec<(usize, usize)> = places
        .filter_map(|finding| finding.place.as_ref())
        .map(|place| (place.line, place.column))
        .collect();
    assert_eq!(places, [(8, 42)]);
    let other = |image: &str| pods(image).replace("name: x", "name: y");
    let twice = found(
        [PRUNE, PRUNE],
        &[("a/x.yaml", &pods("i:1.0.0")), ("b/y.yaml", &other("i:1.0.0"))],
        &[("a/x.yaml", &pods("i:2.0.0")), ("b/y.yaml", &other("i:2.0.0"))],
    );
    contains(&twice, "image i goes from 1.0.0 to 2.0.0, in 2 objects");
}

#[test]
fn what_was_found_before_is_no_news() {
    let broken = object("v1", "ConfigMap", "data: {a: 1}");
    let state = |text: &str| fleet(PRUNE, &[("a/x.yaml", text)]);
    let new = reviewed(&state(&object("v1", "ConfigMap", "data: {a: b}")), &state(&broken));
    assert_eq!((new.report.findings().len(), new.gone), (1, 0), "{:#?}", new.report);
    let same = reviewed(&state(&broken), &state(&broken.replace("a: 1", "a: 1, b: c")));
    assert_eq!((same.report.findings().len(), same.gone), (0, 0), "{:#?}", same.report);
    let mended = reviewed(&state(&broken), &state(&object("v1", "ConfigMap", "data: {a: b}")));
    assert_eq!(
        (mended.report.findings().len(), mended.gone),
        (0, 1),
        "{:#?}",
        mended.report
    );
    assert!(
        mended.summary().ends_with("; 1 finding of before is gone"),
        "{}",
        mended.summary()
    );
    let nothing = reviewed(&state(&broken), &state(&broken));
    assert!(
        nothing.is_empty() && nothing.markdown().starts_with("## Nothing changes in the clusters\n"),
        "{}",
        nothing.markdown()
    );
}

#[test]
fn a_comment_has_few_lines_and_is_never_too_long() {
    let map = |n: usize, text: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{n}, namespace: n}}\ndata: {{a: '{text}'}}\n")
    };
    let many = |text: &str| (0..2_000).map(|n| map(n, text)).collect::<Vec<_>>().join("---\n");
    let broken = |n: usize| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: z{n}, namespace: n}}\ndata: {{'@org/team|': {n}}}\n"
        )
    };
    let broken = (0..200).map(broken).collect::<Vec<_>>().join("---\n");
    let (old, new) = (many("</details>```@org/team"), many("```</details>|@org/team"));
    let before = fleet(PRUNE, &[("a/x.yaml", &old)]);
    let after = fleet(PRUNE, &[("a/x.yaml", &new), ("b/x.yaml", &broken)]);
    let text = reviewed(&before, &after).markdown();
    assert!(text.chars().count() < 65_000, "{}", text.len());
    let (seen, depth, is_code) = unfolded(&text);
    assert!(seen <= 30 && depth == 0 && !is_code, "{seen} {depth}\n{text}");
    let outside: String = text.split("```").step_by(2).collect();
    assert!(!outside.contains("@org"), "a mention");
    assert!(
        text.contains("All 201 findings") && text.contains("more objects differ"),
        "{}",
        &text[..4000]
    );
}

/// The lines of a comment that are seen at once, the depth of folds at its end, and whether a block of
/// code is open there.
fn unfolded(text: &str) -> (usize, usize, bool) {
    let (mut seen, mut depth, mut is_code) = (0, 0, false);
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        // The title of an outer fold is seen.
        seen += usize::from(depth == 0);
        depth += usize::from(!is_code && line.starts_with("<details>"));
        if !is_code && line == "</details>" {
            depth -= 1;
        }
    }
    (seen, depth, is_code)
}

#[test]
fn a_comment_about_many_clusters_has_few_lines() {
    let map = |text: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m, namespace: n}}\ndata: {{a: {text}}}\n")
    };
    let (before, old) = fleet(PRUNE, &[("a/x.yaml", &map("b"))]);
    let (after, new) = fleet(PRUNE, &[("a/x.yaml", &map("c"))]);
    for count in [1, 20, 60] {
        let all = |fleet: &Fleet| {
            let named = |n: usize| {
                let mut one = fleet.clone();
                one.entry = format!("clusters/my_{n}");
                one
            };
            (0..count).map(named).collect::<Vec<_>>()
        };
        let (old, new) = (all(&old), all(&new));
        let before = State {
            fleets: &old,
            repository: &before,
        };
        let after = State {
            fleets: &new,
            repository: &after,
        };
        let text = review(before, after, &settings(1), "0").markdown();
        let (seen, depth, is_code) = unfolded(&text);
        assert!(seen <= 30 && depth == 0 && !is_code, "{count}: {seen} {depth}\n{text}");
        for n in 0..count {
            let title = format!("<summary>Objects of clusters/my_{n}: 1 changed</summary>");
            assert!(text.contains(&title), "{title}\n{text}");
        }
        let is_shared = text
            .lines()
            .any(|line| line.contains(" more clusters: ") && line.contains("changed"));
        assert_eq!(is_shared, count == 60, "{text}");
    }
}

#[test]
fn a_time_limit_that_was_reached_is_the_only_finding() {
    let faulty = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: n}\ndate: {}\n";
    let (before, old) = fleet(PRUNE, &[]);
    let (after, new) = fleet(PRUNE, &[("a/x.yaml", faulty)]);
    let (old, new) = ([old], [new]);
    let before = State {
        fleets: &old,
        repository: &before,
    };
    let after = State {
        fleets: &new,
        repository: &after,
    };
    let late = "the time limit was reached: not all rules were checked";
    for (deadline, is_late) in [(None, false), (Some(Instant::now()), true)] {
        let settings = CheckSettings {
            deadline,
            ..settings(1)
        };
        let new_findings = review(before, after, &settings, "0").report.findings().to_vec();
        for found in [new_findings, check(&new, after.repository, &settings)] {
            let messages: Vec<&str> = found.iter().map(|one| one.message.as_str()).collect();
            assert!(!messages.is_empty());
            assert_eq!(messages == [late], is_late, "{messages:?}");
        }
    }
}
