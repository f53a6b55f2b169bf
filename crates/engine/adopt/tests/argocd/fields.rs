//! Which fields of the files get markers.

use super::adoptions::file;
use super::{SOURCE, VALUES, adopted, application, new, remarks};
use bumpwright_adopt::Weight;

/// Where the image is written: the field that counts in Argo CD.
#[test]
fn the_field_that_counts_is_marked() {
    let helm = "    repoURL: https://git.example.com/acme/fleet.git\n    targetRevision: main\n    path: apps/web\n    helm:\n";
    let list = "image-list: web=registry.example.com/acme/web:1.x";
    let image = "registry.example.com/acme/web";
    let overrides = "helm:\n  parameters:\n  - name: image.tag\n    value: 1.4.0\n    forcestring: true\n";
    let kustomization = format!("images:\n- name: web\n  newName: {image}\n  newTag: 1.4.0\n");
    for (annotations, source, files, marked) in [
        // The file of overrides takes precedence over values.
        (
            vec![list],
            SOURCE.to_owned(),
            vec![
                ("apps/web/Chart.yaml", "name: web\n".to_owned()),
                ("apps/web/values.yaml", VALUES.to_owned()),
                ("apps/web/.argocd-source-web.yaml", overrides.to_owned()),
            ],
            vec!["apps/web/.argocd-source-web.yaml:4", "apps/web/values.yaml:2"],
        ),
        // A parameter of the Application over its values.
        (
            vec![list, "web.helm.image-tag: tag"],
            format!(
                "{helm}      parameters:\n      - name: tag\n        value: 1.4.0\n      valuesObject:\n        tag: 1.0.0\n"
            ),
            vec![],
            vec!["web.yaml:18"],
        ),
        // Of files of values the last one.
        (
            vec![list, "web.helm.image-spec: web.images[0].ref"],
            format!("{helm}      valueFiles:\n      - base.yaml\n      - ../prod.yaml\n"),
            vec![
                (
                    "apps/web/base.yaml",
                    format!("web:\n  images:\n  - ref: {image}:1.0.0\n"),
                ),
                ("apps/prod.yaml", format!("web:\n  images:\n  - ref: {image}:1.4.0\n")),
            ],
            vec!["apps/prod.yaml:3"],
        ),
        // A kustomization by the name that it knows, also elsewhere.
        (
            vec![
                list,
                "web.kustomize.image-name: web",
                "write-back-target: kustomization:/base",
            ],
            SOURCE.to_owned(),
            vec![("base/kustomization.yaml", kustomization)],
            vec!["base/kustomization.yaml:3", "base/kustomization.yaml:4"],
        ),
        // Without an entry the fields below it.
        (
            vec![list],
            SOURCE.replace("apps/web", "./apps/web/"),
            vec![
                ("apps/web/kustomization.yaml", "resources: [pod.yaml]\n".to_owned()),
                (
                    "apps/web/pod.yaml",
                    format!("spec:\n  containers:\n  - image: {image}:1.4.0\n"),
                ),
            ],
            vec!["apps/web/pod.yaml:3"],
        ),
        // Images that Argo CD sets in a kustomization.
        (
            vec![list],
            format!("{}    kustomize:\n      images:\n      - {image}:1.4.0\n", SOURCE),
            vec![],
            vec!["web.yaml:16"],
        ),
    ] {
        let mut sources = vec![file("web.yaml", &application("web", &annotations, &source))];
        sources.extend(files.iter().map(|(path, text)| file(path, text)));
        let adoption = adopted(&sources);
        assert_eq!(remarks(&adoption, Weight::Left), [""; 0], "{annotations:?}");
        let mut found: Vec<String> = adoption
            .edited
            .iter()
            .flat_map(|edited| {
                let path = &sources[edited.file].path;
                edited
                    .marked
                    .iter()
                    .map(move |(place, ..)| format!("{path}:{}", place.line))
            })
            .collect();
        found.sort();
        assert_eq!(found, marked, "{annotations:?} {:#?}", adoption.remarks);
    }
}

/// What cannot be marked is reported, with the place.
#[test]
fn fields_that_cannot_be_marked_are_left() {
    let list = "image-list: web=registry.example.com/acme/web:1.x";
    for (annotations, path, text, why) in [
        (
            vec![list, "write-back-target: helmvalues"],
            "apps/web/other.yaml",
            "a: 1\n",
            "apps/web/values.yaml is not among the files",
        ),
        (
            vec![list, "write-back-target: helmvalues"],
            "apps/web/values.yaml",
            "image: {tag: 1.0.0}\n",
            "it is in a flow collection",
        ),
        (
            vec![list, "write-back-target: helmvalues"],
            "apps/web/values.yaml",
            "tag: 1\n",
            "has no field image.tag",
        ),
        (
            vec![list, "write-back-target: helmvalues"],
            "apps/web/values.yaml",
            "image:\n  name: other/web\n  tag: 1.0.0\n",
            "image.name holds \"other/web\"",
        ),
        (
            vec![
                "image-list: web=acme/web:latest",
                "web.update-strategy: digest",
                "write-back-target: kustomization",
            ],
            "apps/web/kustomization.yaml",
            "images:\n- name: acme/web\n  newTag: latest\n",
            "write digest with the one of now",
        ),
        (
            vec![list, "write-back-target: kustomization"],
            "apps/web/kustomization.yaml",
            "resources: []\n",
            "nor has images of its kustomization an entry",
        ),
    ] {
        is_left(&annotations, path, text, why);
    }
}

/// Nothing is marked, and this is said.
fn is_left(annotations: &[&str], path: &str, text: &str, why: &str) {
    let files = [
        file("web.yaml", &application("web", annotations, SOURCE)),
        file(path, text),
    ];
    let adoption = adopted(&files);
    let left = remarks(&adoption, Weight::Left);
    assert!(left.len() == 1 && left[0].contains(why), "{why}: {left:?}");
    assert_eq!(adoption.edited, [], "its annotations stay, and no field has a marker");
    assert!(
        adoption.manifests.contains("kind: ImagePolicy"),
        "the policy is there all the same"
    );
}

/// Tag and digest never get apart.
#[test]
fn a_tag_without_its_digest_is_left() {
    for (annotations, path, text, why) in [
        // The name that it results in is the image's: argocd-image-updater writes the digest there.
        (
            vec![
                "image-list: web=acme/web:latest",
                "web.update-strategy: digest",
                "write-back-target: kustomization",
            ],
            "apps/web/kustomization.yaml",
            "images:\n- name: site\n  newName: acme/web\n  newTag: latest\n",
            "apps/web/kustomization.yaml:4:11: write digest with the one of now",
        ),
        (
            vec!["image-list: web=acme/web:latest", "web.update-strategy: digest"],
            "apps/web/values.yaml",
            "side:\n  repository: acme/web\n  tag: latest\n",
            "apps/web/values.yaml:3:8: write digest with the one of now",
        ),
        (
            vec!["image-list: web=acme/web:latest", "web.update-strategy: digest"],
            "apps/web/pod.yaml",
            "image: acme/web:stable\n",
            "the tag in use is \"stable\", which is not one of its own",
        ),
        (
            vec!["image-list: web=acme/web:1.x", "write-back-target: kustomization"],
            "apps/web/kustomization.yaml",
            "images:\n- name: acme/web\n  newTag: 1.0.0\n  digest: sha256:00\n",
            "the digest would keep the old image",
        ),
        (
            vec![
                "image-list: web=registry.example.com/acme/web:1.x",
                "write-back-target: helmvalues",
            ],
            "apps/web/values.yaml",
            "image:\n  tag: 1.0.0\n  digest: sha256:00\n",
            "the digest would keep the old image",
        ),
    ] {
        is_left(&annotations, path, text, why);
    }
}

/// argocd-image-updater writes `TAG@DIGEST` into the field for a tag with the digest strategy, and so does the marker.
#[test]
fn tag_and_digest_in_one_field_get_one_marker() {
    let digest = "web.update-strategy: digest";
    let list = "image-list: web=acme/web:latest";
    let pinned = "latest@sha256:4f8c2b7a";
    for (annotations, path, text, field) in [
        // As Helm's parameter, with a digest or before the first one.
        (
            vec![list, digest, "write-back-target: helmvalues"],
            "apps/web/values.yaml",
            format!("image:\n  tag: {pinned}\n"),
            format!("  tag: {pinned}"),
        ),
        (
            vec![list, digest, "write-back-target: helmvalues"],
            "apps/web/values.yaml",
            "image:\n  tag: latest\n".to_owned(),
            "  tag: latest".to_owned(),
        ),
        (
            vec![list, digest, "write-back-target: kustomization"],
            "apps/web/kustomization.yaml",
            format!("images:\n- name: acme/web\n  newTag: {pinned}\n"),
            format!("  newTag: {pinned}"),
        ),
        (
            vec![list, digest],
            "apps/web/pod.yaml",
            format!("side:\n  repository: acme/web\n  tag: {pinned}\n"),
            format!("  tag: {pinned}"),
        ),
    ] {
        let files = [
            file("web.yaml", &application("web", &annotations, SOURCE)),
            file(path, &text),
        ];
        let adoption = adopted(&files);
        assert_eq!(remarks(&adoption, Weight::Left), [""; 0], "{annotations:?} {text}");
        let new = new(&adoption, &files, path);
        let marked = format!("{field} # {{\"$imagepolicy\": \"argocd:web:tag@digest\"}}\n");
        assert!(new.contains(&marked), "{new}");
        assert!(adoption.manifests.contains("digestReflectionPolicy: Always"));
    }
    // Another strategy writes tags alone, and would lose the digest.
    let semver = ["image-list: web=acme/web:1.x", "write-back-target: helmvalues"];
    let why = "apps/web/values.yaml:2:8: the digest behind the tag would keep the old image";
    let text = "image:\n  tag: 1.0.0@sha256:4f8c2b7a\n";
    is_left(&semver, "apps/web/values.yaml", text, why);
}

/// A registry in a field of its own stays as it is: only the tag changes.
#[test]
fn a_name_without_its_registry_has_no_marker() {
    let files = [
        file(
            "web.yaml",
            &application(
                "web",
                &[
                    "image-list: web=registry.example.com/acme/web:1.x",
                    "web.helm.image-name: image.repository",
                    "web.helm.image-tag: image.tag",
                    "write-back-target: helmvalues",
                ],
                SOURCE,
            ),
        ),
        file(
            "apps/web/values.yaml",
            "image:\n  registry: registry.example.com\n  repository: acme/web\n  tag: 1.0.0\n",
        ),
    ];
    let adoption = adopted(&files);
    let values = new(&adoption, &files, "apps/web/values.yaml");
    assert_eq!(values.matches("$imagepolicy").count(), 1, "{values}");
    assert!(values.ends_with("tag: 1.0.0 # {\"$imagepolicy\": \"argocd:web:tag\"}\n"));
}

/// A chart of a registry whose values are in another source.
#[test]
fn values_beside_a_chart_are_found() {
    let sources = "  sources:
  - repoURL: https://charts.example.com
    chart: web
    targetRevision: 1.0.0
    helm:
      valueFiles: [$values/apps/web/values.yaml]
  - repoURL: https://git.example.com/acme/fleet.git
    targetRevision: stable
    ref: values
";
    let text = application("web", &["image-list: web=registry.example.com/acme/web:1.x"], "");
    let files = [
        file("web.yaml", &text.replace("  source:\n", sources)),
        file("apps/web/values.yaml", VALUES),
    ];
    let adoption = adopted(&files);
    assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
    assert!(new(&adoption, &files, "apps/web/values.yaml").contains("argocd:web:tag"));
    let manifests = &adoption.manifests;
    assert!(manifests.contains("url: https://git.example.com/acme/fleet.git\n"));
    assert!(manifests.contains("branch: stable\n"));
}

/// An image that a kustomization knows by another name, set by Argo CD, keeps it: no marker does that.
#[test]
fn images_with_another_name_in_front_are_left() {
    let source = format!("{SOURCE}    kustomize:\n      images:\n      - web=registry.example.com/acme/web:1.4.0\n");
    let text = application("web", &["image-list: web=registry.example.com/acme/web:1.x"], &source);
    let adoption = adopted(&[file("web.yaml", &text)]);
    let left = remarks(&adoption, Weight::Left);
    assert!(
        left.len() == 1 && left[0].contains("has another name before ="),
        "{left:?}"
    );
}

/// Fields that have their markers already are known again.
#[test]
fn marked_fields_are_known_again() {
    let annotations = ["image-list: web=registry.example.com/acme/web:1.x"];
    let pod = "image: registry.example.com/acme/web:1.4.0 # {\"$imagepolicy\": \"argocd:web\"}\n";
    let files = [
        file("web.yaml", &application("web", &annotations, SOURCE)),
        file("apps/web/pod.yaml", pod),
    ];
    let adoption = adopted(&files);
    assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
    assert_eq!(adoption.edited.len(), 1);
    assert!(!new(&adoption, &files, "web.yaml").contains("argocd-image-updater"));
}
