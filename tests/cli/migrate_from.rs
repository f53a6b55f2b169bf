//! `bumpwright migrate --from`: from the annotations of other programs to an update of the same fields.

use bumpwright_testkit::cli::{Bench, files};
use bumpwright_testkit::registry::Registry;

/// An Application with a chart, and one with a kustomization, as argocd-image-updater looks after them.
fn fleet(host: &str) -> Bench {
    let bench = Bench::new();
    let application = |name: &str, annotations: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: {name}\n  namespace: argocd\n  annotations:\n\
             {annotations}spec:\n  source:\n    repoURL: https://git.example.com/acme/fleet.git\n    targetRevision: main\n    path: \
             apps/{name}\n"
        )
    };
    let prefix = "    argocd-image-updater.argoproj.io";
    let web = format!(
        "{prefix}/image-list: web={host}/acme/web:~1.4\n{prefix}/web.ignore-tags: '*-debug'\n{prefix}/write-back-method: \
         git\n{prefix}/write-back-target: helmvalues:values.yaml\n"
    );
    let api = format!(
        "{prefix}/image-list: api={host}/acme/api\n{prefix}/api.update-strategy: alphabetical\n{prefix}/api.allow-tags: \
         'regexp:^20[0-9]{{2}}-'\n{prefix}/write-back-method: git\n{prefix}/write-back-target: kustomization\n"
    );
    bench.write("fleet/argocd/web.yaml", application("web", &web));
    bench.write("fleet/argocd/api.yaml", application("api", &api));
    bench.write(
        "fleet/apps/web/values.yaml",
        format!("image:\n  name: {host}/acme/web\n  tag: 1.4.0\nreplicas: 2\n"),
    );
    bench.write(
        "fleet/apps/api/kustomization.yaml",
        format!("images:\n- name: {host}/acme/api\n  newTag: 2026-01-02\n"),
    );
    bench
}

/// An annotation that its own program does not read was meant as another one; what holds for several is told with all.
#[test]
fn a_misspelt_annotation_is_told_and_a_remark_names_all_of_its_places() {
    let bench = fleet("ghcr.io");
    let from = ["migrate", "--from", "argocd-image-updater", "fleet"];
    let strategy = "    argocd-image-updater.argoproj.io/api.update-strategy: alphabetical\n";
    let web = bench.read("fleet/argocd/web.yaml");
    let api = bench.read("fleet/argocd/api.yaml").replace(strategy, "");
    bench.write("fleet/argocd/api.yaml", &api);
    let ran = bench.run(&from);
    assert!(
        ran.err
            .contains("note: fleet/argocd/api.yaml:7:5: semver: only tags of three numbers count here")
            && ran.err.contains("; the same at fleet/argocd/web.yaml:7:5\n"),
        "{}",
        ran.err
    );
    bench.write("fleet/argocd/web.yaml", web.replace("/image-list", "/image-lst"));
    bench.write(
        "fleet/argocd/api.yaml",
        api.replace("/write-back-method", "/write-back-methd"),
    );
    let ran = bench.run(&from);
    for told in [
        "skipped: fleet/argocd/web.yaml:7:5: Application argocd/web: image-lst has no effect: there is no image-list, so \
         argocd-image-updater does nothing here; did you mean image-list?\n",
        "it is not known; did you mean write-back-method?\n",
    ] {
        assert!(ran.err.contains(told), "{told}\n{}", ran.err);
    }
    assert_eq!(ran.code, 2);
}

/// At the end it says how many Applications moved and which stay; counts of nothing are left out.
#[test]
fn the_last_line_says_what_moved_and_what_stays() {
    let bench = fleet("ghcr.io");
    let api = bench.read("fleet/argocd/api.yaml");
    bench.write("fleet/argocd/api.yaml", api.replace("alphabetical", "newest-build"));
    let from = ["migrate", "--from", "argocd-image-updater", "fleet"];
    let ran = bench.run(&from);
    let told = "note: 1 Application would move, 1 stays with argocd-image-updater: Application argocd/api\n";
    assert!(ran.err.contains(told), "{}", ran.err);
    let ran = bench.run(&[&from[..], &["--write"]].concat());
    assert_eq!(ran.code, 2);
    assert!(ran.err.ends_with(&told.replace("would move", "moved")), "{}", ran.err);
    bench.write("fleet/argocd/api.yaml", &api);
    let ran = bench.ok(&[&from[..], &["--write"]].concat());
    assert!(ran.err.ends_with("note: 1 Application moved\n"), "{}", ran.err);
    // Nothing but objects: no field was marked, and no annotation removed.
    let nothing = fleet("ghcr.io");
    nothing.write("fleet/.git/HEAD", "ref: refs/heads/main\n");
    nothing.write("fleet/apps/web/values.yaml", "image:\n  tag: 1.4.0 # ours\n");
    let args = [
        "migrate",
        "--from",
        "argocd-image-updater",
        "--write",
        "fleet/argocd/web.yaml",
        "fleet/apps/web",
    ];
    let ran = nothing.run(&args);
    assert_eq!(ran.out, "4 objects in image-updates.yaml\n", "{}", ran.err);
    assert!(
        ran.err
            .ends_with("note: 0 Applications moved, 1 stays with argocd-image-updater: Application argocd/web\n"),
        "{}",
        ran.err
    );
}

/// The newest images come to the fields that argocd-image-updater would have written.
#[test]
fn after_the_migration_the_newest_images_are_written_where_they_were() {
    let Some(registry) = Registry::start() else { return };
    registry
        .images()
        .tags("acme/web", &["1.4.0", "1.4.9", "1.4.10-debug", "1.5.0"]);
    registry
        .images()
        .tags("acme/api", &["2026-01-02", "2026-02-01", "latest", "zz"]);
    let bench = fleet(&registry.host());
    let ran = bench.run(&["migrate", "--from", "argocd-image-updater", "--write", "fleet"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert!(
        ran.out
            .ends_with("marked 3 fields and removed 9 annotations in 4 files; 6 objects in image-updates.yaml\n"),
        "{}",
        ran.out
    );
    let ran = bench.ok(&["update", "-f", "image-updates.yaml", "fleet"]);
    assert!(
        ran.out.contains("edited 2 fields in 2 files"),
        "{}\n{}",
        ran.out,
        ran.err
    );
    let host = registry.host();
    assert_eq!(
        bench.read("fleet/apps/web/values.yaml"),
        format!(
            "image:\n  name: {host}/acme/web # {{\"$imagepolicy\": \"argocd:web:name\"}}\n  tag: 1.4.9 # {{\"$imagepolicy\": \
             \"argocd:web:tag\"}}\nreplicas: 2\n"
        )
    );
    let api = bench.read("fleet/apps/api/kustomization.yaml");
    let marked = "newTag: \"2026-02-01\" # {\"$imagepolicy\": \"argocd:api:tag\"}\n";
    assert!(api.ends_with(marked), "{api}");
    let ran = bench.ok(&["migrate", "--from", "argocd-image-updater", "--write", "fleet"]);
    assert_eq!(ran.out, "nothing to change\n");
}

/// Automations side by side: what the selector of one leaves to another is no news, and what nobody takes is.
#[test]
fn fields_that_another_automation_takes_are_not_reported_as_skipped() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("acme/web", &["1.4.0", "1.4.9"]);
    let host = registry.host();
    let bench = Bench::new();
    let policy = |name: &str| {
        format!(
            "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: {name}, namespace: argocd}}\nspec: {{image: \
             {host}/acme/web, interval: 2m}}\n---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {{name: {name}, \
             namespace: argocd, labels: {{automation: {name}}}}}\nspec:\n  imageRepositoryRef: {{name: {name}}}\n  policy: {{semver: {{range: \
             1.x}}}}\n---\n"
        )
    };
    let automation = |name: &str| {
        format!(
            "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageUpdateAutomation\nmetadata: {{name: {name}, namespace: argocd}}\nspec:\n  \
             interval: 2m\n  sourceRef: {{kind: GitRepository, name: fleet}}\n  git:\n    commit: {{author: {{email: a@example.com}}}}\n  \
             policySelector: {{matchLabels: {{automation: {name}}}}}\n  update: {{strategy: Setters, path: ./apps}}\n---\n"
        )
    };
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: argocd}\nspec: {url: \
                  https://git.example.com/acme/fleet.git, interval: 2m, ref: {branch: main}}\n";
    let objects: String = [policy("a"), policy("b"), policy("c"), automation("a"), automation("b")].concat() + source;
    bench.write("objects.yaml", &objects);
    for name in ["a", "b", "c"] {
        let text = format!("image: {host}/acme/web:1.4.0 # {{\"$imagepolicy\": \"argocd:{name}\"}}\n");
        bench.write(&format!("fleet/apps/{name}.yaml"), text);
    }
    let ran = bench.ok(&["update", "-f", "objects.yaml", "--dry-run", "fleet"]);
    let all = format!("{}{}", ran.out, ran.err);
    assert!(
        !all.contains("leaves ImagePolicy argocd/a out") && !all.contains("leaves ImagePolicy argocd/b out"),
        "{all}"
    );
    assert_eq!(all.matches("leaves ImagePolicy argocd/c out").count(), 2, "{all}");
    // An automation of another namespace does not take it either, and one that is suspended takes nothing.
    let other = automation("a")
        .replace("{name: a, namespace: argocd}", "{name: a, namespace: other}")
        .replace("name: fleet}", "name: fleet, namespace: argocd}");
    let suspended = automation("c").replace("interval: 2m", "interval: 2m\n  suspend: true");
    bench.write("more.yaml", format!("{objects}---\n{other}{suspended}"));
    let ran = bench.ok(&["update", "-f", "more.yaml", "--dry-run", "fleet"]);
    let all = format!("{}{}", ran.out, ran.err);
    assert_eq!(all.matches("leaves ImagePolicy argocd/c out").count(), 2, "{all}");
    let ran = bench.ok(&["update", "-f", "objects.yaml", "--dry-run", "--verbose", "fleet"]);
    let all = format!("{}{}", ran.out, ran.err);
    assert!(all.contains("leaves ImagePolicy argocd/a out"), "{all}");
}

/// A folder that the repository of an Application does not have is a slip: an automation for it would change nothing.
#[test]
fn an_application_with_a_folder_that_its_repository_does_not_have_is_an_error() {
    let bench = fleet("registry.example.com");
    let git = |arguments: &[&str]| {
        let ran = std::process::Command::new("git")
            .args(arguments)
            .current_dir(bench.path("fleet"))
            .status();
        assert!(ran.unwrap().success());
    };
    git(&["init", "--quiet"]);
    git(&["remote", "add", "origin", "git@git.example.com:acme/fleet.git"]);
    let web = bench.read("fleet/argocd/web.yaml");
    bench.write(
        "fleet/argocd/web.yaml",
        web.replace("path: apps/web", "path: apps/gone"),
    );
    let before = files(&bench.path("fleet"));
    let ran = bench.run(&["migrate", "--from", "argocd-image-updater", "--write", "fleet"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains("error: fleet/argocd/web.yaml:15:11: ")
            && ran
                .err
                .contains("/fleet has no apps/gone; correct the path, or leave its file out; nothing was written"),
        "{}",
        ran.err
    );
    assert_eq!(files(&bench.path("fleet")), before);
    assert!(!bench.path("image-updates.yaml").exists());
    // Of another repository nothing is known.
    git(&["remote", "set-url", "origin", "git@git.example.com:acme/argocd.git"]);
    let ran = bench.run(&["migrate", "--from", "argocd-image-updater", "fleet"]);
    assert!(!ran.err.contains(" has no apps/gone"), "{}", ran.err);
}

#[test]
fn without_write_a_diff_that_git_applies() {
    let bench = fleet("registry.example.com");
    let before = files(&bench.path("fleet"));
    let ran = bench.ok(&["migrate", "--from", "argocd-image-updater", "fleet"]);
    assert_eq!(files(&bench.path("fleet")), before);
    assert!(!bench.path("image-updates.yaml").exists());
    assert!(ran.err.contains("note: fleet/argocd/web.yaml:"), "{}", ran.err);
    bench.write("change.patch", &ran.out);
    let applied = std::process::Command::new("git")
        .args(["apply", "change.patch"])
        .current_dir(&bench.dir)
        .status();
    assert!(applied.unwrap().success(), "{}", ran.out);
    let manifests = bench.read("image-updates.yaml");
    assert!(manifests.contains("kind: ImageUpdateAutomation"), "{manifests}");
    let ran = bench.ok(&["migrate", "--from", "argocd-image-updater", "--write", "fleet"]);
    assert_eq!(
        ran.out, "nothing to change\n",
        "the diff is what --write would have done"
    );
    let ran = bench.ok(&["migrate", "--from", "argocd-image-updater", "fleet"]);
    assert_eq!(ran.out, "");
    assert!(
        ran.err.starts_with("note: nothing was found to adopt in "),
        "{}",
        ran.err
    );
}

/// One Application after the other: each run adds to the file of objects, which keeps what was written there by hand.
#[test]
fn a_second_run_adds_to_the_file_of_objects() {
    let bench = fleet("registry.example.com");
    bench.write("fleet/.git/HEAD", "ref: refs/heads/main\n");
    let migrate = ["migrate", "--from", "argocd-image-updater", "--write"];
    bench.ok(&[&migrate[..], &["fleet/argocd/web.yaml", "fleet/apps"]].concat());
    let first = bench.read("image-updates.yaml").replace("interval: 2m", "interval: 7m");
    bench.write("image-updates.yaml", &first);
    let ran = bench.ok(&[&migrate[..], &["fleet"]].concat());
    assert!(
        ran.out
            .ends_with("marked 1 field and removed 5 annotations in 2 files; 2 objects in image-updates.yaml\n"),
        "{}",
        ran.out
    );
    let second = bench.read("image-updates.yaml");
    assert!(
        second.starts_with(&first.replace("path: ./apps/web", "path: ./apps")),
        "{second}"
    );
    assert_eq!(second.matches("kind: ImageUpdateAutomation").count(), 1);
    let ran = bench.ok(&[&migrate[..], &["fleet"]].concat());
    assert_eq!(ran.out, "nothing to change\n");
}

#[test]
fn new_objects_go_where_they_are_wanted() {
    let bench = fleet("registry.example.com");
    let args = [
        "migrate",
        "--from",
        "argocd-image-updater",
        "--namespace",
        "images",
        "fleet",
    ];
    let ran = bench.ok(&[&args[..], &["--manifests", "-"]].concat());
    assert!(ran.out.starts_with("# Made by bumpwright migrate"), "{}", ran.out);
    assert_eq!(ran.out.matches("namespace: images\n").count(), 6);
    let told = "note: the changes of 4 files are not shown beside the objects: leave out --manifests - to see them\n";
    assert!(ran.err.contains(told), "{}", ran.err);
    bench.write("mine.yaml", "mine: 1\n");
    let before = files(&bench.path("fleet"));
    let ran = bench.run(&[&args[..], &["--manifests", "mine.yaml", "--write"]].concat());
    assert_eq!(ran.code, 2);
    assert!(
        ran.err
            .contains("error: mine.yaml exists and is not a file of manifests"),
        "{}",
        ran.err
    );
    assert_eq!(bench.read("mine.yaml"), "mine: 1\n");
    assert_eq!(files(&bench.path("fleet")), before);
    let ran = bench.run(&["migrate", "--namespace", "images", "fleet"]);
    assert_eq!(ran.code, 2, "--namespace is for --from");
}

/// What is left is a failure, told with its place, and the rest is done all the same.
#[test]
fn what_is_left_is_a_failure_and_flux_v1_is_read_too() {
    let bench = Bench::new();
    let deployment = |name: &str, pattern: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n  namespace: apps\n  annotations:\n    fluxcd.io/automated: \
             'true'\n    fluxcd.io/tag.app: {pattern}\nspec:\n  template:\n    spec:\n      containers:\n      - name: app\n        image: \
             ghcr.io/acme/{name}:1.0.0\n"
        )
    };
    bench.write("web.yaml", deployment("web", "semver:1.x"));
    bench.write("api.yaml", deployment("api", "glob:main-*"));
    let ran = bench.run(&["migrate", "--from", "flux-v1", "--write", "."]);
    assert_eq!(ran.code, 2, "{}\n{}", ran.out, ran.err);
    assert!(
        ran.err.contains(
            "skipped: api.yaml:8:5: Deployment apps/api: container app has no policy: with glob:main-* Flux v1 took"
        ),
        "{}",
        ran.err
    );
    assert_eq!(bench.read("api.yaml"), deployment("api", "glob:main-*"));
    assert!(!bench.read("web.yaml").contains("fluxcd.io"));
    let ran = bench.ok(&["update", "--set", "flux-system:web=ghcr.io/acme/web:1.2.0", "."]);
    assert!(ran.out.contains("1.0.0 → ghcr.io/acme/web:1.2.0"), "{}", ran.out);
}

/// Renovate's settings and comments become policies and markers; what cannot is told.
#[test]
fn what_renovate_looks_after_becomes_policies() {
    let bench = Bench::new();
    bench.write(
        "renovate.json5",
        "// ours\n{\n  extends: ['config:recommended', 'github>acme/presets'],\n  ignorePaths: ['**/legacy/**'],\n  automerge: true,\n  \
         packageRules: [\n    {matchPackageNames: ['ghcr.io/acme/**'], minimumReleaseAge: '3 days'},\n    \
         {matchPackageNames: ['postgres'], allowedVersions: '<16'},\n    {matchPackageNames: ['/redis$/'], enabled: false},\n    \
         {matchCurrentAge: '> 1 year', enabled: false},\n  ],\n}\n",
    );
    bench.write(
        "apps/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n        - name: web\n          \
         image: ghcr.io/acme/web:1.2.3\n        - name: redis\n          image: docker.io/redis:7.0.0\n        - name: db\n          \
         image: postgres:15.2.1-alpine\n          env:\n            - name: TOOL\n              # renovate: datasource=docker depName=ghcr.io/acme/tool\n              \
         value: 2.0.1\n            - name: NODE\n              # renovate: datasource=npm depName=react\n              value: 18.0.0\n            - name: API\n              \
         # renovate: datasource=github-releases depName=kubernetes-sigs/gateway-api\n              value: v1.1.0\n",
    );
    bench.write("apps/legacy/old.yaml", "image: ghcr.io/acme/old:1.0.0\n");
    let ran = bench.run(&["migrate", "--from", "renovate", "--write", "."]);
    assert_eq!(ran.code, 2, "something was left: {}\n{}", ran.out, ran.err);
    let file = bench.read("apps/web.yaml");
    for marked in [
        "image: ghcr.io/acme/web:1.2.3 # {\"$imagepolicy\": \"flux-system:web\"}",
        "image: postgres:15.2.1-alpine # {\"$imagepolicy\": \"flux-system:postgres\"}",
        "value: 2.0.1 # {\"$imagepolicy\": \"flux-system:tool:tag\"}",
        "value: v1.1.0 # {\"$imagepolicy\": \"flux-system:gateway-api:tag\"}",
    ] {
        assert!(file.contains(marked), "{marked}\n{file}");
    }
    assert_eq!(file.matches("$imagepolicy").count(), 4, "{file}");
    assert_eq!(bench.read("apps/legacy/old.yaml"), "image: ghcr.io/acme/old:1.0.0\n");

    let manifests = bench.read("image-updates.yaml");
    assert!(
        manifests.starts_with("# Made by bumpwright migrate --from renovate."),
        "{manifests}"
    );
    for part in [
        "bumpwright.dev/minimum-age: '72h'",
        "range: '<16'",
        "bumpwright.dev/kind: git-tags",
        "image: github.com/kubernetes-sigs/gateway-api",
    ] {
        assert!(manifests.contains(part), "{part}\n{manifests}");
    }
    for told in [
        "renovate.json5:3:12: the preset github>acme/presets is elsewhere and was not read",
        "renovate.json5:10:5: a rule with matchCurrentAge is not applied",
        "renovate.json5:5:14: automerge is about Renovate's requests",
        "docker.io/redis: Renovate leaves it alone (a rule of packageRules)",
        "Renovate leaves its file alone (ignorePaths)",
        "versions of npm are not followed here: leave the field to Renovate",
        "no registry was asked",
    ] {
        assert!(ran.err.contains(told), "{told}\n{}", ran.err);
    }

    // Again: nothing is left to say of the fields that have a marker.
    let again = bench.run(&["migrate", "--from", "renovate", "--write", "."]);
    assert_eq!(bench.read("apps/web.yaml"), file, "{}", again.err);
    assert_eq!(bench.read("image-updates.yaml"), manifests, "{}", again.err);
    let nothing = Bench::new();
    nothing.write("a.yaml", "a: 1\n");
    let ran = nothing.run(&["migrate", "--from", "renovate", "."]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no settings of Renovate were found"), "{}", ran.err);
}
