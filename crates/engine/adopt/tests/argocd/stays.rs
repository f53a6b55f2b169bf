//! What stays with argocd-image-updater, so that nothing loses its updates, and what of it is done by hand.

use bumpwright_adopt::Weight;

use super::adoptions::file;
use super::apart::run;
use super::{PREFIX, SOURCE, adopted, application, new, remarks};

/// argocd-image-updater takes `1.0` for a version and Flux does not: a policy would find no update.
#[test]
fn an_image_with_short_versions_stays() {
    for (list, tag, is_left) in [
        ("image-list: web=acme/web", "1.0", true),
        ("image-list: web=acme/web:1.x", "v1.2", true),
        ("image-list: web=acme/web:1.x", "1", true),
        ("image-list: web=acme/web:1.x", "1.0.0", false),
        // No version for either: what the first update replaces.
        ("image-list: web=acme/web:1.x", "latest", false),
        // Out of the range, and the others are likely to be alike.
        ("image-list: web=acme/web:2.x", "1.0", true),
    ] {
        let files = [
            file(
                "web.yaml",
                &application("web", &[list, "write-back-method: git"], SOURCE),
            ),
            file("apps/web/pod.yaml", &format!("image: acme/web:{tag}\n")),
        ];
        let adoption = adopted(&files);
        let left = remarks(&adoption, Weight::Left);
        let why = format!(
            "apps/web/pod.yaml:1:8: the tag in use is {tag:?}, a version for argocd-image-updater, but not for Flux"
        );
        assert_eq!(left.iter().any(|text| text.contains(&why)), is_left, "{tag}: {left:?}");
        assert_eq!(adoption.edited.is_empty(), is_left, "{tag}: {left:?}");
    }
}

/// A policy by hand, with the label of the automation.
fn own_policy(name: &str, image: &str, label: &str) -> String {
    format!(
        "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: {name}, namespace: argocd}}\nspec: {{image: \
         {image}, interval: 2m}}\n---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata:\n  name: {name}\n  namespace: \
         argocd\n  labels: {{{label}}}\nspec:\n  imageRepositoryRef: {{name: {name}}}\n  filterTags: {{pattern: '-(?P<ts>[0-9]+)$', \
         extract: $ts}}\n  policy: {{numerical: {{order: asc}}}}\n"
    )
}

/// What no policy can be made for is done with the marker of one that was written by hand.
#[test]
fn a_field_that_was_marked_by_hand_lets_its_application_move() {
    let annotations = [
        "image-list: worker=acme/worker",
        "worker.update-strategy: newest-build",
        "write-back-method: git",
    ];
    let overrides = |marker: &str| {
        let text = format!("helm:\n  parameters:\n  - name: image.tag\n    value: main-1{marker}\n");
        file("apps/web/.argocd-source-worker.yaml", &text)
    };
    let files = |marker: &str, label: &str| {
        [
            file("worker.yaml", &application("worker", &annotations, SOURCE)),
            file("apps/web/Chart.yaml", "name: worker\n"),
            file("apps/web/values.yaml", "image:\n  tag: main-0\n"),
            overrides(marker),
            file("policy.yaml", &own_policy("worker", "acme/worker", label)),
        ]
    };
    let marker = " # {\"$imagepolicy\": \"argocd:worker:tag\"}";
    for (marker, label, expected) in [
        (
            "",
            "automation: fleet",
            Some("put its marker at apps/web/.argocd-source-worker.yaml:4:12, and run again"),
        ),
        (
            marker,
            "team: x",
            Some("no automation takes ImagePolicy argocd/worker, whose marker is there"),
        ),
        (
            " # {\"$imagepolicy\": \"argocd:wrker:tag\"}",
            "automation: fleet",
            Some(
                "the marker at apps/web/.argocd-source-worker.yaml:4:12 names ImagePolicy argocd/wrker, which is not among the files; did \
                 you mean argocd:worker?",
            ),
        ),
        (marker, "automation: fleet", None),
    ] {
        let files = files(marker, label);
        let adoption = adopted(&files);
        let left = remarks(&adoption, Weight::Left);
        match expected {
            Some(why) => {
                assert!(left.len() == 1 && left[0].contains(why), "{why}: {left:?}");
                assert_eq!(adoption.edited, []);
            }
            None => {
                assert_eq!(left, [""; 0]);
                assert!(!new(&adoption, &files, "worker.yaml").contains(PREFIX));
                assert!(
                    adoption.manifests.contains("path: ./apps/web\n"),
                    "{}",
                    adoption.manifests
                );
                let notes = remarks(&adoption, Weight::Note);
                assert!(
                    notes
                        .iter()
                        .any(|text| text.contains("ImagePolicy argocd/worker chooses for it from now on")),
                    "{notes:?}"
                );
            }
        }
    }
}

/// Builds with a number in their tags have a policy, if not the same one.
#[test]
fn a_number_in_the_tags_of_builds_is_a_way_out() {
    for (allowed, is_named) in [("regexp:-(?P<ts>[0-9]+)$", true), ("regexp:-(?P<name>[a-z]+)$", false)] {
        let allowed = format!("web.allow-tags: '{allowed}'");
        let annotations = [
            "image-list: web=acme/web",
            "web.update-strategy: newest-build",
            allowed.as_str(),
        ];
        let files = [
            file("web.yaml", &application("web", &annotations, SOURCE)),
            file("apps/web/pod.yaml", "image: acme/web:main-1\n"),
        ];
        let left = remarks(&adopted(&files), Weight::Left);
        let way = "its allow-tags have one, for filterTags.extract: $ts with policy.numerical; or write a policy by hand, put its marker at \
                   apps/web/pod.yaml:1:8, and run again";
        assert_eq!((left.len(), left[0].contains(way)), (1, is_named), "{left:?}");
    }
}

/// Of the files that a generator takes those with a marker count, and their folder is that of the automation.
#[test]
fn a_set_moves_when_its_files_are_marked() {
    let set = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata:\n  name: teams\n  namespace: argocd\nspec:\n  template:\n    \
         metadata:\n      name: '{{{{path.basename}}}}'\n      annotations:\n        {PREFIX}/image-list: \
         team=acme/team:1.x\n        {PREFIX}/write-back-method: git\n    spec:\n      source:\n        \
         repoURL: https://git.example.com/acme/fleet.git\n        path: '{{{{path}}}}'\n        targetRevision: main\n        helm: \
         {{releaseName: team}}\n"
    );
    let values = |name: &str, marker: &str| {
        let text = format!("image:\n  name: acme/team\n  tag: 1.0.0{marker}\n");
        file(&format!("teams/{name}/values.yaml"), &text)
    };
    let before = [file("set.yaml", &set), values("a", ""), values("b", "")];
    let adoption = run(&before, "");
    let left = remarks(&adoption, Weight::Left);
    assert!(
        left.len() == 1 && left[0].contains("--policy argocd:team --write`, then run again"),
        "{left:?}"
    );
    assert_eq!(adoption.edited, []);
    // It would change nothing, or fail on a branch that does not exist.
    let manifests = adoption.manifests;
    let waits = "  suspend: true # none of its Applications has moved yet\n";
    assert_eq!(manifests.matches(waits).count(), 1, "{manifests}");
    let again = run(&before, &manifests);
    assert_eq!((again.manifests.as_str(), again.edited.len()), ("", 0));
    let marker = " # {\"$imagepolicy\": \"argocd:team:tag\"}";
    let after = [file("set.yaml", &set), values("a", marker), values("b", marker)];
    let adoption = run(&after, &manifests);
    assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
    assert!(!new(&adoption, &after, "set.yaml").contains(PREFIX));
    let active = manifests
        .replace(waits, "  suspend: false\n")
        .replace("path: ./\n", "path: ./teams\n");
    assert_eq!(adoption.manifests, active);
    // What somebody else has suspended stays so.
    let paused = manifests.replace(waits, "  suspend: true\n");
    let adoption = run(&after, &paused);
    assert!(adoption.manifests.is_empty() || adoption.manifests.contains("  suspend: true\n"));
    let notes = remarks(&adoption, Weight::Note);
    assert!(
        notes
            .iter()
            .any(|text| text.contains("it is suspended, so that nothing updates")),
        "{notes:?}"
    );
    // Somebody has removed the annotations by hand.
    let gone: String = set
        .lines()
        .filter(|line| !line.contains(PREFIX))
        .map(|line| line.to_owned() + "\n")
        .collect();
    let after = [file("set.yaml", &gone), values("a", marker), values("b", "")];
    let adoption = run(&after, &manifests);
    assert_eq!(adoption.manifests, active.replace("./teams\n", "./teams/a\n"));
    let wider = [file("set.yaml", &gone), values("a", marker), values("b", marker)];
    assert_eq!(run(&wider, &adoption.manifests).manifests, active);
    assert_eq!(run(&wider, &active).manifests, "");
}

/// After the way back, whose markers may stay, another image of the Application keeps it.
#[test]
fn markers_of_earlier_are_told_where_an_application_stays() {
    let lists = [
        "image-list: web=acme/web:1.x, api=acme/api",
        "api.update-strategy: newest-build",
        "write-back-method: git",
    ];
    let app = application("web", &lists, SOURCE);
    let values = |marker: &str| {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  containers:\n  - name: web\n    image: acme/web:1.0.0{marker}\n  - name: \
             api\n    image: acme/api:b1\n"
        );
        file("apps/web/pod.yaml", &text)
    };
    let told = |marker: &str| remarks(&adopted(&[file("app.yaml", &app), values(marker)]), Weight::Left);
    let both = "apps/web/pod.yaml:7:12 has a marker of ImagePolicy argocd/web, so argocd-image-updater and the automation both write";
    assert!(
        !told("").iter().any(|text| text.contains("both write")),
        "{:?}",
        told("")
    );
    let left = told(" # {\"$imagepolicy\": \"argocd:web\"}");
    assert!(left.iter().any(|text| text.contains(both)), "{left:?}");
}

/// A slip, and a revision that cannot be committed to.
#[test]
fn an_application_without_a_method_or_a_branch_stays() {
    let list = "image-list: web=acme/web:1.x";
    let commit = "0123456789abcdef0123456789abcdef01234567";
    for (annotations, revision, why) in [
        (
            vec![list, "write-back-method: gti"],
            "main",
            "web.yaml:8: write-back-method: \"gti\" is not a method, so argocd-image-updater updates nothing; write git or argocd, \
             then run again; did you mean git?",
        ),
        (
            vec![list, "write-back-method: git"],
            "v1.2.3",
            "targetRevision \"v1.2.3\" is a tag, and commits need a branch: name one in git-branch",
        ),
        (vec![list, "write-back-method: git"], commit, "is a commit, and"),
    ] {
        let source = SOURCE.replace("main", revision);
        let files = [
            file("web.yaml", &application("web", &annotations, &source)),
            file("apps/web/pod.yaml", "image: acme/web:1.0.0\n"),
        ];
        let adoption = adopted(&files);
        let left = remarks(&adoption, Weight::Left);
        assert!(left.len() == 1 && left[0].contains(why), "{why}: {left:?}");
        assert_eq!(adoption.edited, []);
        assert!(
            !adoption.manifests.contains("kind: GitRepository"),
            "{}",
            adoption.manifests
        );
    }
    let named = [list, "write-back-method: git", "git-branch: v1.2.3"];
    let files = [
        file(
            "web.yaml",
            &application("web", &named, &SOURCE.replace("main", "v1.2.3")),
        ),
        file("apps/web/pod.yaml", "image: acme/web:1.0.0\n"),
    ];
    let adoption = adopted(&files);
    assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
    assert!(
        adoption.manifests.contains("branch: v1.2.3\n"),
        "{}",
        adoption.manifests
    );
}

/// A chart of Applications: its templates are no YAML, which nobody has to correct.
#[test]
fn a_template_of_a_chart_is_no_broken_file() {
    let list = ["image-list: web=acme/web:1.x", "write-back-method: git"];
    let text = application("web", &list, SOURCE);
    let looped = format!("{{{{- range .Values.apps }}}}\n{text}{{{{- end }}}}\n");
    for (path, why) in [
        ("chart/templates/app.yaml", "it is a template of a Helm chart"),
        ("apps/app.yaml", "the file does not parse"),
    ] {
        let adoption = adopted(&[file(path, &looped)]);
        let left = remarks(&adoption, Weight::Left);
        assert!(left.len() == 1 && left[0].contains(why), "{left:?}");
    }
}

/// All that is in the way is said at once.
#[test]
fn all_obstacles_of_an_image_are_reported_together() {
    let annotations = [
        "image-list: web=acme/web:1.x",
        "web.helm.image-name: image.repository",
        "web.helm.image-tag: image.tag",
        "write-back-method: git",
        "write-back-target: helmvalues:values-prod.yaml",
    ];
    let files = [
        file("web.yaml", &application("web", &annotations, SOURCE)),
        file("apps/web/values-prod.yaml", "image:\n  tag: 1.0.0 # ours\n"),
    ];
    let adoption = adopted(&files);
    let left = remarks(&adoption, Weight::Left);
    let missing = "apps/web/values-prod.yaml has no field image.repository: write acme/web there, then run again; and \
                   apps/web/values-prod.yaml:2:8: no marker can be put there";
    assert!(left.len() == 1 && left[0].contains(missing), "{left:?}");
    assert_eq!(adoption.edited, []);
}
