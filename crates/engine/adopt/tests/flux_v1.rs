//! Flux v1: what becomes of its annotations.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod adoptions;

use adoptions::{file, fitting};
use bumpwright_adopt::{Adoption, Options, SourceFile, Weight, flux_v1};

fn adopted(files: &[SourceFile]) -> Adoption {
    fitting(flux_v1(files, &Options::default()))
}

fn left(adoption: &Adoption) -> Vec<&str> {
    let left = adoption.remarks.iter().filter(|remark| remark.weight == Weight::Left);
    left.map(|remark| remark.text.as_str()).collect()
}

fn new(adoption: &Adoption, file: usize) -> &str {
    let edited = adoption.edited.iter().find(|edited| edited.file == file);
    std::str::from_utf8(
        &edited
            .unwrap_or_else(|| panic!("it is as it was: {:#?}", adoption.remarks))
            .new,
    )
    .unwrap()
}

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: web
  annotations:
    fluxcd.io/automated: \"true\" # by us
    filter.fluxcd.io/app: semver:~1.4
    flux.weave.works/tag.proxy: glob:1.27
    example.com/team: web
spec:
  template:
    spec:
      initContainers:
        - name: proxy
          image: nginx:1.27
      containers:
        - name: app
          image: ghcr.io/acme/web:1.4.0
";

const DAEMON: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: flux}
spec:
  template:
    spec:
      containers:
        - name: flux
          args:
            - --git-url=git@git.example.com:acme/fleet
            - --git-branch=main
            - --git-path=apps,base
            - --git-user=Flux
            - --git-email=flux@example.com
";

#[test]
fn workloads_get_policies_and_markers_and_lose_their_annotations() {
    let files = [file("apps/web.yaml", DEPLOYMENT), file("flux/flux.yaml", DAEMON)];
    let adoption = adopted(&files);
    assert_eq!(left(&adoption), [""; 0]);
    let expected = DEPLOYMENT
        .lines()
        .filter(|line| !line.contains("fluxcd.io/") && !line.contains("flux.weave.works/"))
        .map(|line| match line.trim() {
            "image: nginx:1.27" => format!("{line} # {{\"$imagepolicy\": \"flux-system:nginx\"}}\n"),
            "image: ghcr.io/acme/web:1.4.0" => format!("{line} # {{\"$imagepolicy\": \"flux-system:web\"}}\n"),
            _ => format!("{line}\n"),
        })
        .collect::<String>();
    assert_eq!(new(&adoption, 0), expected);
    for part in [
        "range: '~1.4'",
        "pattern: '^1\\.27$'",
        "url: ssh://git@git.example.com/acme/fleet\n",
        "name: Flux\n        email: flux@example.com",
        "path: ./\n",
    ] {
        assert!(adoption.manifests.contains(part), "{part}\n{}", adoption.manifests);
    }
}

#[test]
fn a_lock_is_a_hold() {
    let locked = DEPLOYMENT.replace(
        "    example.com/team",
        "    fluxcd.io/locked: 'true'\n    fluxcd.io/locked_user: Ann <ann@example.com>\n    fluxcd.io/locked_msg: not yet\n    example.com/team",
    );
    let adoption = adopted(&[file("web.yaml", &locked)]);
    assert_eq!(left(&adoption), [""; 0]);
    let hold = "bumpwright.dev/hold: 'locked by Ann <ann@example.com>: not yet'";
    assert_eq!(adoption.manifests.matches(hold).count(), 2, "{}", adoption.manifests);
    assert!(!new(&adoption, 0).contains("fluxcd.io"));
}

/// What has no words is left, with its annotations.
#[test]
fn what_flux_chose_by_time_is_left() {
    for (from, to, why) in [
        ("semver:~1.4", "glob:master-*", "took the image that was built last"),
        (
            "    filter.fluxcd.io/app: semver:~1.4\n",
            "",
            "with glob:* Flux v1 took",
        ),
        ("semver:~1.4", "regexp:^v1", "took the image that was built last"),
        ("semver:~1.4", "semver:nope", "is no range of versions"),
        (
            "example.com/team: web",
            "fluxcd.io/ignore: 'true'",
            "kustomize.toolkit.fluxcd.io/reconcile",
        ),
    ] {
        let text = DEPLOYMENT.replace(from, to);
        let adoption = adopted(&[file("web.yaml", &text)]);
        let left = left(&adoption);
        assert!(left.len() == 1 && left[0].contains(why), "{to}: {left:?}");
        assert_eq!(
            adoption.edited,
            [],
            "the annotations stay, and no field has a marker: {to}"
        );
    }
    let manual = DEPLOYMENT.replace("fluxcd.io/automated: \"true\"", "fluxcd.io/automated: \"false\"");
    let adoption = adopted(&[file("web.yaml", &manual)]);
    assert_eq!((adoption.objects, adoption.edited.len()), (0, 0));
    assert!(adoption.remarks[0].text.contains("it is not automated"));
}

/// The daemon writes all of a workload's images, or none: so do the markers.
#[test]
fn a_workload_moves_as_a_whole() {
    let text = DEPLOYMENT.replace("glob:1.27", "glob:dev-*");
    let adoption = adopted(&[file("web.yaml", &text)]);
    assert_eq!(left(&adoption).len(), 1, "{:?}", adoption.remarks);
    assert_eq!(adoption.edited, []);
}

/// A second run adds to what the first one made.
#[test]
fn a_second_run_adds_to_what_is_there() {
    let mut files = vec![file("apps/web.yaml", DEPLOYMENT), file("flux/flux.yaml", DAEMON)];
    let first = adopted(&files);
    files[0].bytes.clone_from(&first.edited[0].new);
    files.push(file("apps/api.yaml", &DEPLOYMENT.replace("acme/web", "acme/api")));
    files.push(file("image-updates.yaml", &first.manifests));
    let options = Options {
        manifests: Some(3),
        ..Options::default()
    };
    let second = flux_v1(&files, &options);
    assert_eq!(
        second.objects, 2,
        "the repository and the policy of another image: {}",
        second.manifests
    );
    assert!(second.manifests.starts_with(&first.manifests), "{}", second.manifests);
    assert_eq!(second.manifests.matches("kind: ImageUpdateAutomation").count(), 1);
}

/// The images of HelmReleases, by the forms of values that Flux v1 knew.
#[test]
fn values_of_releases_are_marked() {
    let release = |annotations: &str, values: &str| {
        format!(
            "apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata:\n  name: web\n  annotations:\n    fluxcd.io/automated: 'true'\n\
             {annotations}spec:\n  values:\n{values}"
        )
    };
    for (annotations, values, marks) in [
        (
            "    fluxcd.io/tag.chart-image: semver:1.x\n",
            "    image: acme/web:1.0.0\n",
            vec!["image: acme/web:1.0.0 @"],
        ),
        (
            "    fluxcd.io/tag.chart-image: semver:1.x\n",
            "    image:\n      repository: acme/web\n      tag: 1.0.0\n",
            vec!["repository: acme/web @:name", "tag: 1.0.0 @:tag"],
        ),
        (
            "    fluxcd.io/tag.sidecar: semver:1.x\n",
            "    sidecar:\n      image:\n        registry: ghcr.io\n        repository: acme/web\n        tag: 1.0.0\n",
            vec!["tag: 1.0.0 @:tag"],
        ),
        (
            "    fluxcd.io/tag.main: semver:1.x\n    repository.fluxcd.io/main: main.name\n    tag.fluxcd.io/main: main.version\n",
            "    main:\n      name: acme/web\n      version: 1.0.0\n",
            vec!["name: acme/web @:name", "version: 1.0.0 @:tag"],
        ),
    ] {
        let text = release(annotations, values);
        let adoption = adopted(&[file("web.yaml", &text)]);
        assert_eq!(left(&adoption), [""; 0], "{values}");
        let new = new(&adoption, 0);
        assert_eq!(new.matches("$imagepolicy").count(), marks.len(), "{new}");
        for mark in marks {
            let (field, part) = mark.split_once(" @").unwrap();
            let line = format!("{field} # {{\"$imagepolicy\": \"flux-system:web{part}\"}}\n");
            assert!(new.contains(&line), "{line}{new}");
        }
        assert!(!new.contains("fluxcd.io/automated"));
    }
}
