//! `bumpwright init`: from a folder and a real registry to policies and markers that `update` follows.

use std::net::TcpListener;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bumpwright_testkit::cli::{Bench, files};
use bumpwright_testkit::registry::{Access, Options, Registry};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;

use super::output_schema::verdicts;

/// A repository as `flux bootstrap` leaves it, with two workloads and a chart's values.
fn fleet(host: &str) -> Bench {
    let bench = Bench::new();
    let sync = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: flux-system\n  namespace: flux-system\n\
        spec:\n  interval: 1m\n  url: https://git.example.com/acme/fleet.git\n  ref: {branch: main}\n";
    bench.write("fleet/clusters/prod/flux-system/gotk-sync.yaml", sync);
    bench.write(
        "fleet/.github/workflows/ci.yaml",
        format!("container:\n  image: {host}/acme/web:1.4.0\n"),
    );
    bench.write(
        "fleet/apps/web.yaml",
        format!("kind: Deployment\nmetadata: {{name: web}}\nimage: {host}/acme/web:1.4.0\n---\nimage: {host}/acme/gone:1.0.0\n"),
    );
    bench.write(
        "fleet/apps/values.yaml",
        format!("image:\n  repository: {host}/acme/api\n  tag: main-0a1b2c3-1700000000\n"),
    );
    bench
}

fn registry() -> Option<Registry> {
    let registry = Registry::start()?;
    registry
        .images()
        .tags("acme/web", &["1.4.0", "1.5.0", "1.10.0", "2.0.0", "latest"]);
    let builds = [
        "main-0a1b2c3-1700000000",
        "main-1234567-1700000100",
        "dev-0a1b2c4-1800000000",
    ];
    registry.images().tags("acme/api", &builds);
    Some(registry)
}

/// Files of other formats are left alone, and each kind of them is named once.
#[test]
fn files_that_are_no_yaml_are_named() {
    let bench = Bench::new();
    bench.write("a/Dockerfile", "FROM ghcr.io/acme/base:1.0.0\n");
    bench.write("a/web/Dockerfile", "FROM ghcr.io/acme/base:1.0.0\n");
    bench.write("a/.env", "TAG=1.0.0\n");
    let ran = bench.ok(&["init", "a"]);
    for note in [
        "note: 2 Dockerfiles were left as they are (such as a/Dockerfile), since markers are proposed for YAML alone: \
         `bumpwright markers add --formats docker ",
        "note: 1 .env file was left as it is (a/.env), since markers are proposed for YAML alone: `bumpwright markers add --formats env ",
    ] {
        assert_eq!(ran.err.matches(note).count(), 1, "{note}\n{}", ran.err);
    }
}

#[test]
fn what_init_writes_is_what_update_follows() {
    let Some(registry) = registry() else { return };
    let bench = fleet(&registry.host());
    let ran = bench.run(&["init", "--write", "fleet"]);
    assert_eq!(ran.code, 2, "one registry has no such image\n{}\n{}", ran.out, ran.err);
    let file = "fleet/clusters/prod/image-automation.yaml";
    assert_eq!(
        ran.out,
        format!("marked 3 fields in 2 files; 5 objects in {file}\n"),
        "{}",
        ran.err
    );
    for part in [
        "policy: flux-system/web: ",
        "acme/web 1.4.0 → 1.10.0: 1.4.0 is one of several versions: the highest of major version 1\n",
        "note: flux-system/web: 2.0.0 is there too: change the range to take it\n",
        "error: fleet/apps/web.yaml:5:8: ",
        "note: 1 file in hidden folders, or hidden, were not looked at",
        "note: fleet/clusters/prod/flux-system/gotk-sync.yaml:1:1: GitRepository flux-system/flux-system has no secretRef, ",
        "note: the automation commits as Fleet Bot <fleet-bot@example.com>, which is a placeholder: name the account that pushes with --author ",
    ] {
        assert!(ran.err.contains(part), "{part}\n{}", ran.err);
    }
    let manifests = bench.read(file);
    assert!(manifests.contains("path: ./apps\n"), "{manifests}");
    let ran = bench.ok(&["update", "--dry-run", "fleet"]);
    for part in [
        "acme/web:1.4.0 → ",
        "acme/web:1.10.0",
        "main-0a1b2c3-1700000000 → main-1234567-1700000100",
        "2 fields in 2 files",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}\n{}", ran.out, ran.err);
    }
    // Only the image that has no registry is left.
    let before = files(&bench.path("fleet"));
    let ran = bench.run(&["init", "--write", "fleet"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, "nothing to propose\n"), "{}", ran.err);
    assert_eq!(files(&bench.path("fleet")), before);
}

/// A folder of plain manifests has no cluster that knows the new kinds.
#[test]
fn without_flux_the_objects_are_for_commands_and_the_next_steps_are_told() {
    let Some(registry) = registry() else { return };
    let bench = Bench::new();
    let web = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  containers:\n  - image: {}/acme/web:1.4.0\n",
        registry.host()
    );
    bench.write("apps/web.yaml", web);
    let hint = bench.ok(&["update", "--dry-run", "apps"]).err;
    assert!(
        hint.starts_with("note: there are no markers: `bumpwright init` proposes"),
        "{hint}"
    );
    let ran = bench.ok(&["init", "--write", "apps"]);
    let file = "apps/.bumpwright/image-automation.yaml";
    assert_eq!(
        ran.out,
        format!("marked 1 field in 1 file; 2 objects in {file}\n"),
        "{}",
        ran.err
    );
    let next = "note: there is no Flux in these files, so no ImageUpdateAutomation is needed: `bumpwright update --dry-run apps` shows";
    assert!(ran.err.contains(next) && !ran.err.contains("--source"), "{}", ran.err);
    assert!(!bench.read(file).contains("ImageUpdateAutomation"));
    let ran = bench.ok(&["update", "apps"]);
    assert!(ran.out.contains("acme/web:1.10.0"), "{}\n{}", ran.out, ran.err);
    // Its own objects are no sign of Flux.
    let again = bench.ok(&["init", "apps"]);
    assert_eq!(again.out, "nothing to propose\n", "{}", again.err);
    assert!(again.err.contains("done: marked already: "), "{}", again.err);
}

/// Without a folder of `flux bootstrap`: where something applies the objects, and otherwise that nothing does.
#[test]
fn the_objects_are_put_where_something_applies_them() {
    let Some(registry) = registry() else { return };
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: flux-system}\n\
                  spec: {interval: 1m, url: 'https://git.example.com/acme/fleet.git', ref: {branch: main}}\n";
    let kustomization = |name: &str, path: &str| {
        format!(
            "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
             spec: {{interval: 1m, prune: true, path: {path}, sourceRef: {{kind: GitRepository, name: fleet}}}}\n"
        )
    };
    let sync = |cluster: &str| format!("{source}{}", kustomization("sync", &format!("./clusters/{cluster}")));
    let unknown = "is known to apply fleet/image-automation.yaml: give ";
    for (files, file, note) in [
        (
            vec![("clusters/prod/sync.yaml", sync("prod"))],
            "fleet/clusters/prod/image-automation.yaml",
            "",
        ),
        (
            vec![
                ("clusters/prod/sync.yaml", sync("prod")),
                (
                    "clusters/prod/kustomization.yaml",
                    "resources: [sync.yaml]\n".to_owned(),
                ),
            ],
            "fleet/clusters/prod/image-automation.yaml",
            "add image-automation.yaml to `resources` of fleet/clusters/prod/kustomization.yaml",
        ),
        (
            vec![
                ("clusters/prod/sync.yaml", sync("prod")),
                ("clusters/test/sync.yaml", sync("test")),
            ],
            "fleet/image-automation.yaml",
            "there are several clusters, fleet/clusters/prod, fleet/clusters/test: give the folder",
        ),
        (
            vec![(
                "gitops/apps.yaml",
                format!("{source}{}", kustomization("apps", "./apps")),
            )],
            "fleet/apps/image-automation.yaml",
            "",
        ),
        (
            vec![("gitops/source.yaml", source.to_owned())],
            "fleet/image-automation.yaml",
            unknown,
        ),
    ] {
        let bench = Bench::new();
        let web = format!(
            "kind: Deployment\nmetadata: {{name: web}}\nimage: {}/acme/web:1.4.0\n",
            registry.host()
        );
        bench.write("fleet/apps/web.yaml", web);
        for (path, text) in files {
            bench.write(&format!("fleet/{path}"), text);
        }
        let ran = bench.ok(&["init", "--write", "fleet"]);
        assert!(bench.path(file).is_file(), "{file}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(note), "{note}: {}", ran.err);
        let warned = ran.err.contains("appl") && ran.err.contains("--export-to");
        assert_eq!(warned, note.contains("give"), "{}", ran.err);
    }
}

/// Where CI commits, an automation would push as well, past the reviews.
#[test]
fn without_an_automation_ci_is_the_next_step() {
    let Some(registry) = registry() else { return };
    let bench = fleet(&registry.host());
    let web = format!("{}/acme/web", registry.host());
    let only = ["init", "fleet", "--image", &web];
    let placeholder = "which is a placeholder";
    let ran = bench.ok(&[&only[..], &["--author", "Bot <bot@acme.example>"]].concat());
    assert!(
        ran.out.contains("kind: ImageUpdateAutomation") && !ran.err.contains(placeholder),
        "{}{}",
        ran.out,
        ran.err
    );
    let ran = bench.ok(&[&only[..], &["--automation=false"]].concat());
    assert!(
        ran.out.contains("+kind: ImagePolicy\n") && !ran.out.contains("ImageUpdateAutomation"),
        "{}",
        ran.out
    );
    let next = "note: no ImageUpdateAutomation is proposed (--automation=false): `bumpwright update --dry-run fleet` shows what would change";
    assert!(ran.err.contains(next) && !ran.err.contains(placeholder), "{}", ran.err);
}

/// A second image goes where the policies of the first one are, not where another Kustomization looks.
#[test]
fn new_objects_go_behind_those_of_an_earlier_run() {
    let Some(registry) = registry() else { return };
    let host = registry.host();
    let bench = Bench::new();
    let apps = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: flux-system}\n\
                spec: {interval: 1m, url: 'https://git.example.com/acme/fleet.git', ref: {branch: main}}\n---\n\
                apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n\
                spec: {interval: 1m, prune: true, path: ./apps, sourceRef: {kind: GitRepository, name: fleet}}\n";
    bench.write("fleet/clusters/production/apps.yaml", apps);
    bench.write("fleet/apps/web.yaml", format!("image: {host}/acme/web:1.4.0\n"));
    let folder = ["--export-to", "fleet/clusters/production"];
    bench.ok(&[&["init", "--write", "fleet"], &folder[..]].concat());
    let file = "fleet/clusters/production/image-automation.yaml";
    let first = bench.read(file);
    let api = format!("image: {host}/acme/api:main-0a1b2c3-1700000000\n");
    bench.write("fleet/apps/api.yaml", api);
    for flags in [&folder[..], &[]] {
        let ran = bench.ok(&[&["init", "fleet"], flags].concat());
        assert!(ran.out.contains(&format!("--- a/{file}\n")), "{}\n{}", ran.out, ran.err);
        assert!(ran.out.contains("\n+  name: api\n") && bench.read(file) == first);
    }
    let ran = bench.ok(&["init", "--write", "fleet"]);
    assert_eq!(
        ran.out,
        format!("marked 1 field in 1 file; 2 objects in {file}\n"),
        "{}",
        ran.err
    );
    let both = bench.read(file);
    assert!(
        both.starts_with(&format!("{first}---\n# Proposed by bumpwright init.\n")),
        "{both}"
    );
    let ran = bench.ok(&["update", "--dry-run", "fleet"]);
    assert!(ran.out.contains("2 fields in 2 files"), "{}\n{}", ran.out, ran.err);
    // What is something else stays as it is.
    bench.write("fleet/apps/image-automation.yaml", "kind: Pod\n");
    bench.write("fleet/apps/side.yaml", format!("image: {host}/acme/web:2.0.0\n"));
    let ran = bench.run(&["init", "fleet", "--export-to", "fleet/apps"]);
    let refused = "fleet/apps/image-automation.yaml is there already, and is not overwritten";
    assert!(ran.code == 2 && ran.err.contains(refused), "{}", ran.err);
}

#[test]
fn without_write_a_diff_that_git_applies() {
    let Some(registry) = registry() else { return };
    let bench = fleet(&registry.host());
    let web = format!("{}/acme/web", registry.host());
    let before = files(&bench.path("fleet"));
    let ran = bench.ok(&[
        "init",
        "fleet",
        "--image",
        &web,
        "--secret-ref",
        "login",
        "--export-to",
        "fleet/apps/",
    ]);
    assert_eq!(files(&bench.path("fleet")), before);
    assert!(ran.err.contains("marks: fleet/apps/web.yaml:3:8\n"), "{}", ran.err);
    bench.write("change.patch", &ran.out);
    let applied = std::process::Command::new("git")
        .args(["apply", "change.patch"])
        .current_dir(&bench.dir)
        .status()
        .unwrap();
    assert!(applied.success(), "{}", ran.out);
    let manifests = bench.read("fleet/apps/image-automation.yaml");
    assert!(manifests.contains("secretRef:\n    name: login\n"), "{manifests}");
    // A file that is there is never overwritten.
    let values = [
        "init",
        "--write",
        "fleet",
        "--export-to",
        "fleet/apps/image-automation.yaml",
    ];
    let ran = bench.run(&values);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("is there already, and is not overwritten"),
        "{}",
        ran.err
    );
    assert_eq!(bench.read("fleet/apps/image-automation.yaml"), manifests);
    assert!(!bench.read("fleet/apps/values.yaml").contains("$imagepolicy"));
}

#[test]
fn programs_get_all_of_it_as_json() {
    let Some(registry) = registry() else { return };
    let bench = fleet(&registry.host());
    let (code, document) = bench.json(&["init", "fleet"]);
    assert_eq!(code, 2);
    let policies = document["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 2);
    assert_eq!(policies[0]["chosen"], "main-1234567-1700000100");
    assert_eq!(policies[1]["fields"][0]["line"], 3);
    assert_eq!(document["left"][0]["error"], true);
    assert_eq!(document["written"], false);
    assert_eq!(document["objects"].as_array().unwrap().len(), 5);
    let mut wrong = document.clone();
    wrong["policies"][0]["kind"] = "image".into();
    let nothing = bench.json(&["init", "fleet/.github"]).1;
    // A registry that never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    bench.write(
        "late/a.yaml",
        format!("image: {}/acme/web:1.4.0\n", silent.local_addr().unwrap()),
    );
    let (code, late) = bench.json(&["init", "late", "--timeout", "500ms"]);
    assert_eq!(code, 2, "{late:#}");
    let mut both = document.clone();
    both["error"] = late["error"].clone();
    assert!(
        both["error"]
            .as_str()
            .unwrap()
            .starts_with("not done within --timeout 500ms")
    );
    let schema = include_str!("../../docs/reference/init.schema.json");
    let Some(said) = verdicts(schema, &[document, nothing, late, wrong, both]) else {
        return;
    };
    let is_valid: Vec<bool> = said.iter().map(String::is_empty).collect();
    assert_eq!(is_valid, [true, true, true, false, false], "{said:?}");
}

#[test]
fn repositories_that_are_there_log_in_and_new_ones_do_as_they_do() {
    let access = Access::Password("robot", "s3cret");
    let Some(registry) = Registry::with(&Options {
        access,
        ..Options::default()
    }) else {
        return;
    };
    let host = registry.host();
    let images = registry.images();
    images.tags("acme/web", &["1.0.0", "1.1.0"]);
    images.tags("acme/api", &["2.0.0", "2.3.0"]);
    let bench = Bench::new();
    bench.write(
        "fleet/a.yaml",
        format!("image: {host}/acme/web:1.0.0\n---\nimage: {host}/acme/api:2.0.0\n"),
    );
    let there = format!(
        "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: web, namespace: flux-system}}\n\
         spec: {{image: {host}/acme/web, interval: 1h, secretRef: {{name: login}}}}\n"
    );
    bench.write("fleet/repository.yaml", there);
    let ran = bench.run(&["init", "fleet"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    let reason = "; Secret flux-system/login, which it logs in with in the cluster, is not among -f\n";
    assert_eq!(ran.err.matches(reason).count(), 2, "{}", ran.err);
    let login = STANDARD.encode("robot:s3cret");
    let configuration = format!("{{\"auths\": {{\"{host}\": {{\"auth\": \"{login}\"}}}}}}");
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: login, namespace: flux-system}}\ntype: kubernetes.io/dockerconfigjson\n\
         stringData:\n  .dockerconfigjson: '{configuration}'\n"
    );
    bench.write("secret.yaml", secret);
    let ran = bench.ok(&["init", "fleet", "-f", "secret.yaml", "--write"]);
    assert!(
        ran.out.starts_with("marked 2 fields in 1 file; 3 objects"),
        "{}\n{}",
        ran.out,
        ran.err
    );
    assert!(!ran.err.contains("your own login"), "{}", ran.err);
    let manifests = bench.read("fleet/image-automation.yaml");
    let new = format!(
        "  name: api\n  namespace: flux-system\nspec:\n  image: {host}/acme/api\n  interval: 10m\n  secretRef:\n    name: login\n"
    );
    assert!(manifests.contains(&new), "{manifests}");
}

#[test]
fn charts_of_helm_repositories_are_followed() {
    let index = "entries:\n  web:\n  - {version: 1.2.0}\n  - {version: 1.10.0}\n  - {version: 2.0.0}\n";
    let server = StubHttp::start(|request| match request.path.as_str() {
        "/charts/index.yaml" => Reply::text(200, index),
        _ => Reply::status(404),
    });
    let bench = Bench::new();
    let release = format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web}}\nspec:\n  chart:\n    spec:\n      chart: web\n      \
         version: 1.2.0\n      sourceRef: {{kind: HelmRepository, name: acme}}\n---\napiVersion: source.toolkit.fluxcd.io/v1\n\
         kind: HelmRepository\nmetadata: {{name: acme}}\nspec: {{url: 'http://{}/charts', interval: 1h}}\n",
        server.host()
    );
    bench.write("fleet/release.yaml", release);
    let ran = bench.ok(&["init", "fleet", "--write"]);
    assert!(ran.err.contains("/charts/web 1.2.0 → 1.10.0: "), "{}", ran.err);
    let ran = bench.ok(&["update", "fleet"]);
    assert!(
        ran.out.contains("1.2.0 → 1.10.0  (flux-system:web-chart:tag)"),
        "{}\n{}",
        ran.out,
        ran.err
    );
    assert!(
        bench
            .read("fleet/release.yaml")
            .contains("version: 1.10.0 # {\"$imagepolicy\": \"flux-system:web-chart:tag\"}\n")
    );
}

/// An image that is asked for is found, or it is said what was looked at.
#[test]
fn an_image_that_is_nowhere_is_told_with_what_was_looked_at() {
    let bench = Bench::new();
    bench.write(
        "a.yaml",
        "containers:\n- image: nginx\n---\nargs: [--image, ghcr.io/acme/job]\n",
    );
    bench.write("b.yaml", "image: {repository: docker.io/acme/web, tag: ''}\n");
    for (image, told) in [
        (
            "nginx",
            "left: a.yaml:2:10: nginx: no tag is written, so that it is `latest` at all times",
        ),
        ("acme/web", "left: b.yaml:1:46: docker.io/acme/web: its tag is empty"),
        (
            "ghcr.io/acme/job",
            "note: no field has the image ghcr.io/acme/job: 2 YAML files were looked at, which have 2 images besides; its name is at \
             a.yaml:4, in a field that is none of an image: mark that by `bumpwright markers add --field a.yaml:4`",
        ),
        (
            "ghcr.io/acme/web",
            "note: no field has the image ghcr.io/acme/web: 2 YAML files were looked at; did you mean docker.io/acme/web?",
        ),
    ] {
        let ran = bench.ok(&["init", "--image", image]);
        assert_eq!(ran.out, "nothing to propose\n");
        assert!(ran.err.contains(told), "{told}\n{}", ran.err);
    }
    let (code, document) = bench.json(&["init", "--image", "acme/none"]);
    assert_eq!(code, 0);
    let note = document["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with("no field has the image acme/none: 2 YAML files"),
        "{note}"
    );
}

/// A marker whose policy is nowhere would keep its field from getting another: that is told with the way out.
#[test]
fn a_marker_whose_policy_is_nowhere_is_told() {
    let bench = Bench::new();
    let marked = "image: ghcr.io/acme/web:1.0.0 # {\"$imagepolicy\": \"flux-system:gone\"}\n";
    bench.write("a.yaml", marked);
    bench.write("b.yaml", "image: ghcr.io/acme/web:1.0.0 # pinned\n");
    let ran = bench.ok(&["init"]);
    let told = "note: markers name policies that none of these files has (1 in all), such as flux-system:gone at a.yaml:1:8: if it is \
                nowhere else, `bumpwright markers remove --policy flux-system:gone --write .` makes its fields free for another\n";
    assert!(ran.err.contains(told), "{}", ran.err);
    let told = "left: b.yaml:1:8: ghcr.io/acme/web: no marker can be put there: it has a comment, and a marker has to be the only one: \
                move that to a line of its own\n";
    assert!(ran.err.contains(told), "{}", ran.err);
    bench.ok(&["markers", "remove", "--policy", "flux-system:gone", "--write"]);
    assert_eq!(bench.read("a.yaml"), "image: ghcr.io/acme/web:1.0.0\n");
    bench.write("a.yaml", marked);
    bench.write(
        "policy.yaml",
        "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {name: gone}\n",
    );
    let ran = bench.ok(&["init"]);
    assert!(!ran.err.contains("markers name policies"), "{}", ran.err);
}

/// The others are looked at all the same.
#[test]
fn a_file_that_does_not_parse_is_an_error_and_a_template_is_none() {
    let bench = Bench::new();
    bench.write("a.yaml", "a: [1\nb: {image: ghcr.io/acme/web:1.0.0}\n");
    let ran = bench.run(&["init"]);
    assert!(
        ran.code == 2 && ran.err.contains("error: a.yaml:2:2: the file does not parse"),
        "{} {}",
        ran.code,
        ran.err
    );
    bench.write(
        "a.yaml",
        "{{ if .Values.a }}\nimage: ghcr.io/acme/web:1.0.0\n{{ end }}\n",
    );
    assert_eq!(bench.ok(&["init"]).code, 0);
}

#[test]
fn rules_and_folders_without_images_propose_nothing() {
    let bench = Bench::new();
    bench.write("a.yaml", "image: ghcr.io/acme/web:1.0.0\n");
    bench.write(
        ".bumpwright.yaml",
        "rules:\n- files: '*.yaml'\n  path: $.image\n  policy: flux-system:web\n",
    );
    let ran = bench.ok(&["init"]);
    assert_eq!(ran.out, "nothing to propose\n");
    assert!(
        ran.err.contains("done: marked already: ghcr.io/acme/web"),
        "{}",
        ran.err
    );
    let ran = bench.run(&["init", "--namespace", "A b"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("is not the name of an object"), "{}", ran.err);
}

/// A chart is asked which values are images: keys of any name, names that it completes, and values that
/// it does not read.
#[test]
fn charts_say_which_values_are_images() {
    let Some(registry) = registry() else { return };
    let host = registry.host();
    let bench = Bench::new();
    let template = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{template: {{spec: {{containers: [\n  \
         {{name: web, image: '{host}/acme/{{{{ .Values.web.path }}}}:{{{{ .Values.web.release }}}}'}},\n  \
         {{name: api, image: '{{{{ .Values.api }}}}', args: ['{{{{ .Values.level }}}}']}}]}}}}}}\n"
    );
    bench.write("fleet/chart/Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}");
    bench.write("fleet/chart/templates/web.yaml", template);
    let release = |chart: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: shop}}\nspec:\n  interval: 1h\n  \
             chart: {{spec: {{chart: {chart}, sourceRef: {{kind: GitRepository, name: fleet}}}}}}\n  values:\n    web:\n      path: web\n      \
             release: 1.4.0\n    api: {host}/acme/api:main-0a1b2c3-1700000000\n    level: 1.4.0\n    image:\n      \
             repository: {host}/acme/gone\n      tag: 1.0.0\n"
        )
    };
    bench.write(
        "fleet/source.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: shop}\nspec: {interval: 1m, url: 'https://git.example.com/fleet'}\n",
    );
    bench.write("fleet/release.yaml", release("./chart"));
    let ran = bench.ok(&["init", "--write", "fleet"]);
    let written = bench.read("fleet/release.yaml");
    let marked: Vec<&str> = written.lines().filter(|line| line.contains("$imagepolicy")).collect();
    assert_eq!(marked.len(), 2, "{written}\n{}", ran.err);
    assert!(
        marked[0]
            .trim_start()
            .starts_with("release: 1.4.0 # {\"$imagepolicy\": \"flux-system:web:tag\"}"),
        "{written}"
    );
    assert!(marked[1].trim_start().starts_with("api: "), "{written}");
    assert!(
        ran.err.contains("no template of its chart reads it with these values"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("guessed"), "{}", ran.err);
    // Without the chart the keys are believed, and that is told.
    bench.write("fleet/release.yaml", release("./none"));
    let ran = bench.run(&["init", "fleet"]);
    assert!(
        ran.err.contains("which values of HelmRelease shop/web are images is guessed by their keys, since the chart was not rendered: "),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("acme/gone"), "{}", ran.err);
    let ran = bench.run(&["init", "--helm=false", "fleet"]);
    assert!(!ran.err.contains("guessed"), "{}", ran.err);
}

/// A version that the chart makes another text of is told, whatever its key is called; so is a reference with
/// expressions of a template.
#[test]
fn what_a_template_makes_something_else_of_is_told() {
    let bench = Bench::new();
    bench.write("fleet/chart/Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}");
    bench.write(
        "fleet/chart/templates/web.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [\n  \
         {name: web, image: '{{ .Values.engine }}:v{{ .Values.release }}'}]}\n",
    );
    bench.write(
        "fleet/release.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\nspec:\n  interval: 1h\n  \
         chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: fleet}}}\n  values:\n    engine: registry.example.com/web\n    \
         release: 1.4.0\n",
    );
    bench.write(
        "fleet/source.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: shop}\nspec: {interval: 1m, url: 'https://git.example.com/fleet'}\n",
    );
    bench.write(
        "fleet/values.yaml",
        "image: 'registry.example.com/api:{{ .Values.tag }}'\nother:\n  image: '{{ .Values.name }} and more: {{ .Values.tag }}'\n",
    );
    let err = bench.run(&["init", "fleet"]).err;
    for told in [
        "release.yaml:9:14: registry.example.com/web: its chart makes another text of it, which a marker cannot write\n",
        "values.yaml:1:8: registry.example.com/api: it has a variable: mark the field that the variable comes from\n",
    ] {
        assert!(err.contains(told), "{told} {err}");
    }
    assert!(!err.contains("{{ .Values.name }}"), "{err}");
}

/// Values in files of their own: what a generator makes a ConfigMap of, and the chart's `valuesFiles`.
#[test]
fn charts_say_which_values_in_files_are_images() {
    let Some(registry) = registry() else { return };
    let host = registry.host();
    let bench = Bench::new();
    bench.write("fleet/chart/Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0}");
    bench.write(
        "fleet/chart/templates/web.yaml",
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec: {{containers: [\n  \
             {{name: web, image: '{host}/acme/web:{{{{ .Values.web.release }}}}'}}, {{name: api, image: '{host}/acme/web:{{{{ .Values.api }}}}'}}]}}\n"
        ),
    );
    bench.write(
        "fleet/chart/prod.yaml",
        "api: 1.4.0\nimage:\n  tag: 1.0.0\n  repository: acme/gone\n",
    );
    bench.write(
        "fleet/apps/kustomization.yaml",
        "namespace: shop\nresources: [release.yaml]\nconfigMapGenerator:\n- name: web-values\n  files: [values.yaml=web/values.yaml]\n",
    );
    bench.write("fleet/apps/web/values.yaml", "web:\n  release: 1.4.0\n");
    bench.write(
        "fleet/apps/release.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec:\n  interval: 1h\n  chart:\n    spec:\n      \
         chart: ./chart\n      valuesFiles: [chart/prod.yaml]\n      sourceRef: {kind: GitRepository, name: fleet, namespace: shop}\n  \
         valuesFrom: [{kind: ConfigMap, name: web-values}]\n",
    );
    bench.write(
        "fleet/source.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: shop}\nspec: {interval: 1m, url: 'https://git.example.com/fleet'}\n",
    );
    let marker = |tag: &str| format!("{tag}: 1.4.0 # {{\"$imagepolicy\": \"flux-system:web:tag\"}}");
    let add = [
        "markers",
        "add",
        "--image",
        &format!("{host}/acme/web"),
        "--policy",
        "flux-system:web",
        "--write",
    ];
    let ran = bench.ok(&[&add[..], &["fleet"]].concat());
    let files = ["fleet/apps/web/values.yaml", "fleet/chart/prod.yaml"];
    let [values, prod] = files.map(|file| bench.read(file));
    assert!(
        values.contains(&marker("release")) && prod.contains(&marker("api")),
        "{values}{prod}{}",
        ran.err
    );
    assert!(ran.out.ends_with("marked 2 fields in 2 files\n"), "{}", ran.out);
    bench.write(files[0], values.replace(&marker("release"), "release: 1.4.0"));
    bench.write(files[1], prod.replace(&marker("api"), "api: 1.4.0"));
    let ran = bench.ok(&["init", "--write", "fleet"]);
    let [values, prod] = files.map(|file| bench.read(file));
    assert!(
        values.contains(&marker("release")) && prod.contains(&marker("api")),
        "{values}{prod}{}",
        ran.err
    );
    assert!(
        ran.err.contains("no template of its chart reads it with these values"),
        "{}",
        ran.err
    );
    // Fields whose keys look like an image that the chart does not make are left, and without the chart the keys count.
    let add = [
        "markers",
        "add",
        "--image",
        "acme/gone",
        "--policy",
        "flux-system:gone",
        "fleet",
    ];
    let ran = bench.ok(&add);
    assert!(
        ran.out.is_empty()
            && ran
                .err
                .contains("fleet/chart/prod.yaml:3:8: no template of its chart reads it"),
        "{}{}",
        ran.out,
        ran.err
    );
    let ran = bench.ok(&[&add[..], &["--helm=false"]].concat());
    assert!(ran.out.contains("flux-system:gone:tag"), "{}{}", ran.out, ran.err);
    bench.write("fleet/chart/Chart.yaml", "broken");
    let ran = bench.ok(&add);
    assert!(
        ran.out.contains("flux-system:gone:tag")
            && ran
                .err
                .contains("which values of chart/prod.yaml are images is guessed by their keys"),
        "{}{}",
        ran.out,
        ran.err
    );
}
