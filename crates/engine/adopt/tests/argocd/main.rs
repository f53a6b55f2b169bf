//! argocd-image-updater: what becomes of its annotations and `ImageUpdater` objects (argocd-image-updater 1.3).

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../adoptions/mod.rs"]
mod adoptions;
mod apart;
mod fields;
mod objects;
mod one_by_one;
mod stays;

use adoptions::{file, fitting};
use bumpwright_adopt::{Adoption, Options, SourceFile, Weight, argocd_image_updater};

const PREFIX: &str = "argocd-image-updater.argoproj.io";

/// An Application with these annotations, `KEY: VALUE` each, and this source.
fn application(name: &str, annotations: &[&str], source: &str) -> String {
    let lines: String = annotations
        .iter()
        .map(|line| format!("    {PREFIX}/{line}\n"))
        .collect();
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: {name}\n  namespace: argocd\n  annotations:\n\
         {lines}    keep: me\nspec:\n  source:\n{source}"
    )
}

const SOURCE: &str =
    "    repoURL: https://git.example.com/acme/fleet.git\n    targetRevision: main\n    path: apps/web\n";
const VALUES: &str = "image:\n  name: registry.example.com/acme/web\n  tag: 1.4.0\n";

/// The adoption; its objects fit their schemas, and a second run over its result finds nothing more.
fn adopted(files: &[SourceFile]) -> Adoption {
    fitting(argocd_image_updater(files, &Options::default()))
}

fn remarks(adoption: &Adoption, weight: Weight) -> Vec<String> {
    let wanted = adoption.remarks.iter().filter(|remark| remark.weight == weight);
    wanted
        .map(|remark| format!("{}:{}: {}", remark.file, remark.place.line, remark.text))
        .collect()
}

fn new<'a>(adoption: &'a Adoption, files: &[SourceFile], path: &str) -> &'a str {
    let edited = adoption.edited.iter().find(|edited| files[edited.file].path == path);
    std::str::from_utf8(
        &edited
            .unwrap_or_else(|| panic!("{path} is as it was: {:#?}", adoption.remarks))
            .new,
    )
    .unwrap()
}

const OBJECTS: &str = "\
# Made by bumpwright migrate --from argocd-image-updater.
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImageRepository
metadata:
  name: web
  namespace: argocd
spec:
  image: registry.example.com/acme/web
  interval: 2m
  secretRef:
    name: registry
  exclusionList:
    - '^.*-debug$'
    - '^latest$'
    - '^.*\\.sig$'
---
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImagePolicy
metadata:
  name: web
  namespace: argocd
  labels:
    automation: fleet-bump-web
spec:
  imageRepositoryRef:
    name: web
  filterTags:
    pattern: '^1\\.'
  policy:
    semver:
      range: '~1.4'
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: fleet
  namespace: argocd
spec:
  url: https://git.example.com/acme/fleet.git
  interval: 2m
  ref:
    branch: main
  secretRef:
    name: git-creds
---
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImageUpdateAutomation
metadata:
  name: fleet-bump-web
  namespace: argocd
spec:
  interval: 2m
  sourceRef:
    kind: GitRepository
    name: fleet
  git:
    checkout:
      ref:
        branch: main
    commit:
      author:
        name: argocd-image-updater
        email: noreply@argoproj.io
    push:
      branch: bump/web
  policySelector:
    matchLabels:
      automation: fleet-bump-web
  update:
    strategy: Setters
    path: ./apps/web
";

#[test]
fn an_application_becomes_a_policy_an_automation_and_markers() {
    let annotations = [
        "image-list: web=registry.example.com/acme/web:~1.4",
        "web.update-strategy: semver",
        "web.allow-tags: regexp:^1\\.",
        "web.ignore-tags: \"*-debug, latest\"",
        "web.pull-secret: pullsecret:argocd/registry",
        "write-back-method: git:secret:argocd/git-creds",
        "write-back-target: helmvalues",
        "git-branch: main:bump/web",
    ];
    let files = [
        file("argocd/web.yaml", &application("web", &annotations, SOURCE)),
        file("apps/web/values.yaml", VALUES),
    ];
    let adoption = adopted(&files);
    assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
    assert_eq!(
        new(&adoption, &files, "apps/web/values.yaml"),
        "image:\n  name: registry.example.com/acme/web # {\"$imagepolicy\": \"argocd:web:name\"}\n  tag: 1.4.0 # {\"$imagepolicy\": \
         \"argocd:web:tag\"}\n"
    );
    assert_eq!(
        new(&adoption, &files, "argocd/web.yaml"),
        application("web", &[], SOURCE),
        "its annotations are gone, and nothing else"
    );
    assert_eq!(adoption.manifests, OBJECTS);
}

/// Each strategy, with what it becomes or why it is left.
#[test]
fn strategies_become_rules_or_are_left() {
    for (annotations, expected) in [
        (&["image-list: web=acme/web"][..], Ok("semver:\n      range: '*'")),
        (&["image-list: acme/web:1.x-0"][..], Ok("range: '1.x-0'")),
        (
            &["image-list: web=acme/web", "web.update-strategy: name"][..],
            Ok("alphabetical:\n      order: asc\n"),
        ),
        (
            &["image-list: web=acme/web", "update-strategy: alphabetical"][..],
            Ok("alphabetical:\n      order: asc\n"),
        ),
        (
            &["image-list: web=acme/web", "web.ignore-tags: \"*\""][..],
            Ok("bumpwright.dev/hold: 'web.ignore-tags was *'"),
        ),
        (&["image-list: web=acme/web:latest"][..], Err("no range of versions")),
        (
            &["image-list: web=acme/web", "web.update-strategy: newest-build"][..],
            Err("have the time in the tag"),
        ),
        (
            &["image-list: web=acme/web", "web.update-strategy: latest"][..],
            Err("have the time in the tag"),
        ),
        (
            &["image-list: web=acme/web", "web.update-strategy: digest"][..],
            Err("follows one tag"),
        ),
        (
            &["image-list: web=acme/web", "web.allow-tags: regexp:["][..],
            Err("finds no tag"),
        ),
        (
            &["image-list: web=acme/web", "web.allow-tags: v1"][..],
            Err("neither regexp:PATTERN nor any"),
        ),
        (
            &["image-list: web=acme/web", "web.pull-secret: env:LOGIN"][..],
            Err("variables of the environment"),
        ),
        (
            &["image-list: web=acme/web", "web.pull-secret: secret:argocd/x#y"][..],
            Err("is not read"),
        ),
        (
            &["image-list: web=acme/web", "web.pull-secret: pullsecret:other/x"][..],
            Ok("secretRef:\n    name: x\n"),
        ),
        (
            &[
                "image-list: web=acme/web",
                "write-back-method: git",
                "git-branch: 'main:iu-{{.SHA256}}'",
            ][..],
            Ok("push:\n      branch: iu\n"),
        ),
        (
            &["image-list: web=acme/web:1.x", "web.platforms: linux/arm64"][..],
            Ok("range: '1.x'"),
        ),
        (
            &[
                "image-list: web=acme/web:1.0.0",
                "web.update-strategy: digest",
                "web.platforms: linux/arm64, linux/amd64",
            ][..],
            Err("only an image that is built for linux/arm64, linux/amd64 is taken"),
        ),
    ] {
        let values = "image:\n  name: acme/web\n  tag: 1.0.0\n";
        let text = application("web", annotations, SOURCE);
        let files = [
            file("web.yaml", &text),
            file("apps/web/Chart.yaml", "name: web\n"),
            file("apps/web/values.yaml", values),
        ];
        let adoption = adopted(&files);
        let left = remarks(&adoption, Weight::Left);
        match expected {
            Ok(part) => {
                assert_eq!(left, [""; 0], "{annotations:?}");
                assert!(
                    adoption.manifests.contains(part),
                    "{annotations:?}\n{}",
                    adoption.manifests
                );
                assert!(!new(&adoption, &files, "web.yaml").contains(PREFIX));
            }
            Err(why) => {
                assert!(left.len() == 1 && left[0].contains(why), "{annotations:?}: {left:?}");
                assert_eq!(
                    adoption.edited,
                    [],
                    "the annotations stay, and there is no marker: {annotations:?}"
                );
            }
        }
    }
}
