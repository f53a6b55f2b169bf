//! Where the objects and the settings of a fleet come from, and where commits go.

use super::adoptions::file;
use super::{PREFIX, SOURCE, VALUES, adopted, application, new, remarks};
use bumpwright_adopt::Weight;

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

/// The variable of a plugin for a tag gets the digest, too, with the digest strategy.
#[test]
fn a_variable_of_a_plugin_gets_tag_and_digest() {
    let updater = "\
apiVersion: argocd-image-updater.argoproj.io/v1alpha1
kind: ImageUpdater
metadata:
  name: all
  namespace: argocd
spec:
  writeBackConfig:
    method: git
  applicationRefs:
    - namePattern: web
      images:
        - alias: web
          imageName: acme/web:latest
          commonUpdateSettings:
            updateStrategy: digest
          manifestTargets:
            plugin: {tag: TAG}
";
    let source = format!("{SOURCE}    plugin:\n      env:\n      - name: TAG\n        value: latest\n");
    let files = [
        file("updater.yaml", updater),
        file("web.yaml", &application("web", &[], &source)),
    ];
    let adoption = adopted(&files);
    assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
    let new = new(&adoption, &files, "web.yaml");
    assert!(
        new.contains("value: latest # {\"$imagepolicy\": \"argocd:web:tag@digest\"}"),
        "{new}"
    );
}

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

/// The author of the updater's commits; its other settings are reported.
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

/// Such as one with another login: a policy of any of them that says the same is used.
#[test]
fn of_several_repositories_of_an_image_the_one_with_the_policy_counts() {
    let object = |kind: &str, name: &str, spec: &str| {
        let (version, labels) = ("image.toolkit.fluxcd.io/v1", "labels: {automation: fleet}");
        format!(
            "---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: argocd, {labels}}}\nspec: {spec}\n"
        )
    };
    let repository = |name: &str, more: &str| {
        let spec = format!("{{image: registry.example.com/acme/web, interval: 5m{more}}}");
        object("ImageRepository", name, &spec)
    };
    let policy = object(
        "ImagePolicy",
        "web",
        "{imageRepositoryRef: {name: web-own}, policy: {semver: {range: 1.x}}}",
    );
    let objects = [
        repository("a-web", ""),
        repository("web-own", ", secretRef: {name: own}"),
        policy,
    ]
    .concat();
    let files = [
        file(
            "a.yaml",
            &application("a", &["image-list: web=registry.example.com/acme/web:1.x"], SOURCE),
        ),
        file("apps/web/Chart.yaml", "name: a\n"),
        file("apps/web/values.yaml", VALUES),
        file("objects.yaml", &objects),
    ];
    let adoption = adopted(&files);
    assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
    assert!(
        !adoption.manifests.contains("kind: ImagePolicy"),
        "{}",
        adoption.manifests
    );
    assert!(new(&adoption, &files, "apps/web/values.yaml").contains("argocd:web:tag"));
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

/// Of GitRepositories of one address and branch the first is used, and that is said.
#[test]
fn of_two_sources_that_would_do_the_first_is_used() {
    let source = |name: &str, secret: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: {name}, namespace: argocd}}\n\
             spec:\n  url: https://git.example.com/acme/fleet.git\n  interval: 1m\n  ref: {{branch: main}}\n  \
             secretRef: {{name: {secret}}}\n"
        )
    };
    let annotations = [
        "image-list: web=registry.example.com/acme/web:~1.4",
        "write-back-method: git",
        "write-back-target: helmvalues",
        "git-branch: main",
    ];
    let made = |sources: String| {
        let files = [
            file("argocd/sources.yaml", &sources),
            file("argocd/web.yaml", &application("web", &annotations, SOURCE)),
            file("apps/web/values.yaml", VALUES),
        ];
        let adoption = adopted(&files);
        assert!(
            adoption.manifests.contains("kind: GitRepository\n    name: one\n"),
            "{}",
            adoption.manifests
        );
        let notes = adoption
            .remarks
            .iter()
            .filter(|remark| remark.subject.starts_with("GitRepository "));
        let notes = notes.map(|note| format!("{}:{}: {}: {}", note.file, note.place.line, note.subject, note.text));
        notes.collect::<Vec<String>>()
    };
    assert_eq!(made(source("one", "a")), [""; 0]);
    let notes = made(format!("{}---\n{}", source("one", "a"), source("two", "b")));
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].starts_with("argocd/sources.yaml:1: GitRepository argocd/one: it is used, as the first in the files")
            && notes[0].contains("; argocd/two would do as well: "),
        "{notes:?}"
    );
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

/// Patches of Applications have no source of their own.
#[test]
fn objects_without_a_source_are_left() {
    let text = application("web", &["image-list: web=acme/web:1.x"], "").replace("spec:\n  source:\n", "");
    let adoption = adopted(&[file("web.yaml", &text)]);
    let left = remarks(&adoption, Weight::Left);
    assert!(left.len() == 1 && left[0].contains("it has no source"), "{left:?}");
    assert_eq!((adoption.objects, adoption.edited.len()), (0, 0));
}
