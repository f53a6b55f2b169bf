//! argocd-image-updater: what becomes of its annotations and `ImageUpdater` objects (argocd-image-updater 1.3).

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod adoptions;

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
    let expected = "\
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
  name: fleet
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
  update:
    strategy: Setters
    path: ./apps/web
";
    assert_eq!(adoption.manifests, expected);
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
            Err("copy it to argocd"),
        ),
        (
            &[
                "image-list: web=acme/web",
                "write-back-method: git",
                "git-branch: 'main:iu-{{.SHA256}}'",
            ][..],
            Err("became \"iu\""),
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
                let kept = adoption
                    .edited
                    .iter()
                    .all(|edited| files[edited.file].path != "web.yaml");
                assert!(kept, "the annotations stay: {annotations:?}");
            }
        }
    }
}

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

/// What cannot be marked is told, with the place.
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
                "write-back-target: helmvalues",
            ],
            "apps/web/values.yaml",
            VALUES,
            "TAG@DIGEST into image.tag",
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
        let files = [
            file("web.yaml", &application("web", &annotations, SOURCE)),
            file(path, text),
        ];
        let adoption = adopted(&files);
        let left = remarks(&adoption, Weight::Left);
        assert!(left.len() == 1 && left[0].contains(why), "{why}: {left:?}");
        assert!(
            adoption.manifests.contains("kind: ImagePolicy"),
            "the policy is there all the same"
        );
    }
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

const UPDATER: &str = "\
apiVersion: argocd-image-updater.argoproj.io/v1alpha1
kind: ImageUpdater
metadata:
  name: all
  namespace: argocd
spec:
  commonUpdateSettings:
    ignoreTags: [latest]
  writeBackConfig:
    method: git
    gitConfig:
      repository: https://git.example.com/acme/fleet.git
      branch: main
      writeBackTarget: helmvalues:values.yaml
      pullRequest:
        github: {}
  applicationRefs:
    - namePattern: '*'
      images:
        - alias: any
          imageName: acme/web:1.x
    - namePattern: web-*
      labelSelectors:
        matchLabels: {tier: front}
      images:
        - alias: web
          imageName: acme/web:2.x
          commonUpdateSettings:
            ignoreTags: ['*-rc']
          manifestTargets:
            helm: {name: image.name, tag: image.tag}
    - namePattern: other
      useAnnotations: true
";

#[test]
fn image_updaters_say_it_for_the_applications_that_they_fit() {
    let labelled =
        application("web-a", &[], SOURCE).replace("  annotations:", "  labels: {tier: front}\n  annotations:");
    let files = [
        file("updater.yaml", UPDATER),
        file("web-a.yaml", &labelled),
        file("apps/web/values.yaml", "image:\n  name: acme/web\n  tag: 1.0.0\n"),
    ];
    let adoption = adopted(&files);
    let left = remarks(&adoption, Weight::Left);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(
        left.iter()
            .any(|text| text.starts_with("updater.yaml:18: no Application of the files is named \"*\""))
    );
    assert!(
        left.iter()
            .any(|text| text.starts_with("updater.yaml:32: no Application of the files is named \"other\""))
    );
    let manifests = &adoption.manifests;
    for part in [
        "range: '2.x'",
        "- '^.*-rc$'\n",
        "bumpwright.dev/pull-request: github",
        "push:\n      branch: image-updater\n",
    ] {
        assert!(manifests.contains(part), "{part}\n{manifests}");
    }
    assert!(
        !manifests.contains("- '^latest$'\n    - '^.*-rc$'"),
        "what is nearer replaces the list"
    );
    let values = new(&adoption, &files, "apps/web/values.yaml");
    assert!(values.contains("argocd:web:tag"), "{values}");
}

#[test]
fn sets_of_applications_are_read_where_no_generator_decides() {
    let annotations = |list: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata:\n  name: webs\n  namespace: argocd\nspec:\n  template:\n    \
             metadata:\n      name: '{{{{name}}}}-web'\n      annotations:\n        {PREFIX}/image-list: {list}\n        \
             {PREFIX}/write-back-target: helmvalues:/values.yaml\n        {PREFIX}/write-back-method: git\n    spec:\n      source:\n        \
             repoURL: https://git.example.com/acme/fleet\n        path: apps/{{{{name}}}}\n        targetRevision: main\n"
        )
    };
    let files = [
        file("set.yaml", &annotations("web=registry.example.com/acme/web:1.x")),
        file("values.yaml", VALUES),
    ];
    let adoption = adopted(&files);
    assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
    assert!(!new(&adoption, &files, "set.yaml").contains("annotations"));
    assert!(new(&adoption, &files, "values.yaml").contains("argocd:web:tag"));

    let files = [
        file("set.yaml", &annotations("'web=acme/{{name}}:1.x'")),
        file("values.yaml", VALUES),
    ];
    let adoption = adopted(&files);
    let left = remarks(&adoption, Weight::Left);
    assert!(
        left.len() == 1 && left[0].contains("depends on the generator"),
        "{left:?}"
    );
    assert_eq!(adoption.edited, []);
}

/// The author of the updater's commits; its other settings are told.
#[test]
fn the_configuration_has_the_author() {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-image-updater-config\ndata:\n  git.user: Bot\n  git.email: \
                  bot@example.com\n  git.commit-message-template: x\n  log.level: info\n";
    let files = [
        file("config.yaml", config),
        file(
            "web.yaml",
            &application(
                "web",
                &[
                    "image-list: web=registry.example.com/acme/web",
                    "write-back-target: helmvalues",
                ],
                SOURCE,
            ),
        ),
        file("apps/web/values.yaml", VALUES),
    ];
    let adoption = adopted(&files);
    assert!(
        adoption.manifests.contains("name: Bot\n        email: bot@example.com"),
        "{}",
        adoption.manifests
    );
    let left = remarks(&adoption, Weight::Left);
    assert!(
        left.len() == 1 && left[0].starts_with("config.yaml:8: git.commit-message-template: "),
        "{left:?}"
    );
}

#[test]
fn equal_images_of_applications_share_a_policy_and_an_automation() {
    let list = "image-list: web=registry.example.com/acme/web:1.x";
    let source = |folder: &str| SOURCE.replace("apps/web", folder);
    let files = [
        file("a.yaml", &application("a", &[list], &source("apps/a"))),
        file("b.yaml", &application("b", &[list], &source("apps/b"))),
        file(
            "c.yaml",
            &application(
                "c",
                &["image-list: web=registry.example.com/acme/web:2.x"],
                &source("apps/c"),
            ),
        ),
        file("apps/a/Chart.yaml", "name: a\n"),
        file("apps/a/values.yaml", VALUES),
        file("apps/b/values.yaml", VALUES),
        file("apps/b/Chart.yaml", "name: b\n"),
        file("apps/c/values.yaml", VALUES),
        file("apps/c/Chart.yaml", "name: c\n"),
    ];
    let adoption = adopted(&files);
    assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
    assert_eq!(adoption.objects, 5, "{}", adoption.manifests);
    assert!(adoption.manifests.contains("path: ./apps\n"));
    assert!(new(&adoption, &files, "apps/c/values.yaml").contains("argocd:c-web:tag"));
}

/// What an Application says of Git, and what has to be done besides.
#[test]
fn the_write_back_becomes_a_source_and_a_push() {
    let list = "image-list: web=registry.example.com/acme/web:1.x";
    for (annotations, source, parts, told) in [
        (
            vec![
                list,
                "write-back-method: git:secret:keys",
                "git-repository: git@git.example.com:acme/fleet.git",
                "git-branch: ':next'",
            ],
            SOURCE.to_owned(),
            vec![
                "url: ssh://git@git.example.com/acme/fleet.git\n",
                "name: keys\n",
                "push:\n      branch: next\n",
                "ref:\n    branch: main\n",
            ],
            "add them",
        ),
        (
            vec![list, "write-back-method: git"],
            SOURCE.replace("main", "HEAD"),
            vec!["ref:\n    branch: main\n"],
            "targetRevision is HEAD",
        ),
        (
            vec![list],
            SOURCE.to_owned(),
            vec!["path: ./apps/web\n"],
            "it is written into apps/web/values.yaml now, for all that use that file",
        ),
    ] {
        let files = [
            file("web.yaml", &application("web", &annotations, &source)),
            file("apps/web/Chart.yaml", "name: web\n"),
            file("apps/web/values.yaml", VALUES),
        ];
        let adoption = adopted(&files);
        for part in parts {
            assert!(adoption.manifests.contains(part), "{part}\n{}", adoption.manifests);
        }
        let is_told = adoption.remarks.iter().any(|remark| remark.text.contains(told));
        assert!(is_told, "{:#?}", adoption.remarks);
    }
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

/// Requests at GitLab are push options; signatures are verified by the Secret with the key.
#[test]
fn requests_and_signatures_are_said() {
    let verified = "  imagesVerification:\n    cosignKey: {secretName: keys, key: cosign.pub}\n  commonUpdateSettings:\n    ignore";
    let updater = UPDATER
        .replace("github: {}", "gitlab: {}\n        labels: [images]")
        .replace("  commonUpdateSettings:\n    ignore", verified);
    let labelled =
        application("web-a", &[], SOURCE).replace("  annotations:", "  labels: {tier: front}\n  annotations:");
    let files = [
        file("updater.yaml", &updater),
        file("web-a.yaml", &labelled),
        file("apps/web/values.yaml", "image:\n  name: acme/web\n  tag: 1.0.0\n"),
    ];
    let adoption = adopted(&files);
    for part in [
        "options:\n        merge_request.create: ''\n        merge_request.target: main\n",
        "bumpwright.dev/verify-provider: cosign\n    bumpwright.dev/verify-secret: keys\n",
    ] {
        assert!(adoption.manifests.contains(part), "{part}\n{}", adoption.manifests);
    }
    let left = remarks(&adoption, Weight::Left);
    assert!(
        left.iter().any(|text| text.contains("requests get no labels")),
        "{left:?}"
    );
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

/// A second run over marked fields finds them marked.
#[test]
fn marked_fields_are_known_again() {
    let annotations = [
        "image-list: web=registry.example.com/acme/web:1.x",
        "web.pull-secret: env:LOGIN",
    ];
    let mut files = [
        file("web.yaml", &application("web", &annotations, SOURCE)),
        file("apps/web/pod.yaml", "image: registry.example.com/acme/web:1.4.0\n"),
    ];
    let first = adopted(&files);
    files[1].bytes = first.edited[0].new.clone();
    let second = adopted(&files);
    assert_eq!(second.edited, []);
    assert_eq!((second.manifests, second.remarks), (first.manifests, first.remarks));
}

/// Patches of Applications have no source of their own.
#[test]
fn objects_without_a_source_are_left() {
    let text = application("web", &["image-list: web=acme/web:1.x"], "").replace("spec:\n  source:\n", "");
    let adoption = adopted(&[file("web.yaml", &text)]);
    let left = remarks(&adoption, Weight::Left);
    assert!(left.len() == 1 && left[0].contains("it has no source"), "{left:?}");
    assert_eq!((adoption.objects, adoption.edited.len()), (0, 0));
}
