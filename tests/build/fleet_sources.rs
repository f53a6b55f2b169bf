//! Where the files of a fleet come from: revisions, URLs, other repositories, registries, artifacts
//! made of the repository.

use std::process::Command;
use std::time::{Duration, Instant};

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::git_http::{Fault, GitHttp, Login, Options};
use bumpwright_testkit::moto::Moto;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{git, run};
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tool;

const ENTRY: &str = "clusters/production";

fn source(kind: &str, name: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: flux-system}}\nspec:\n  interval: 1h\n{spec}"
    )
}

fn kustomization(name: &str, kind: &str, source: &str, path: &str) -> String {
    format!(
        "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
         spec:\n  interval: 1h\n  prune: true\n  path: {path}\n  sourceRef: {{kind: {kind}, name: {source}}}\n"
    )
}

fn map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: apps}}\n")
}

/// What `flux bootstrap` writes for this repository.
fn sync(spec: &str) -> String {
    let url = "  url: https://git.example/acme/fleet\n  ref: {branch: main}\n";
    source("GitRepository", "flux-system", &format!("{url}{spec}"))
        + &kustomization("flux-system", "GitRepository", "flux-system", ENTRY)
}

/// A repository in `fleet`, with files but without a commit.
fn bench(files: &[(&str, &str)]) -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("fleet")).unwrap();
    for (path, text) in files {
        bench.write(&format!("fleet/{path}"), text);
    }
    run(git(&bench.path("fleet")).args(["init", "-q", "-b", "main"]));
    run(git(&bench.path("fleet")).args(["remote", "add", "origin", "git@git.example:acme/fleet.git"]));
    bench
}

fn commit(bench: &Bench, folder: &str) {
    run(git(&bench.path(folder)).args(["add", "-A", "-f"]));
    run(git(&bench.path(folder)).args(["commit", "-q", "-m", "a state"]));
}

/// Exit code, names of ConfigMaps with their Kustomization, standard error.
fn maps(bench: &Bench, arguments: &[&str]) -> (i32, Vec<String>, String) {
    let ran = bench.run(&[&["fleet", "--output", "names"], arguments].concat());
    let maps = ran.out.lines().filter_map(|line| {
        let (kustomization, object) = line.split_once('\t').unwrap();
        let name = object.split("/ConfigMap/apps/").nth(1)?;
        Some(format!("{}: {name}", kustomization.rsplit('/').next().unwrap()))
    });
    let mut maps: Vec<String> = maps.collect();
    maps.sort();
    (ran.code, maps, ran.err)
}

const LOCAL: &str = "fleet/clusters/production";

#[test]
fn a_revision_has_the_files_of_its_artifact() {
    let apps = kustomization("apps", "GitRepository", "flux-system", "./apps");
    let ignore = "  ignore: |\n    /*\n    !/clusters\n    !/apps\n    apps/spec.yaml\n";
    let bench = bench(&[
        ("clusters/production/sync.yaml", &sync(ignore)),
        ("clusters/production/apps.yaml", &apps),
        ("apps/one.yaml", &map("one")),
        ("apps/spec.yaml", &map("ignored-by-the-spec")),
        ("apps/deep/kept.yaml", &map("kept")),
        // Kept by the spec: the default patterns do not count then.
        ("apps/.sops.yaml", &map("sops")),
    ]);
    std::os::unix::fs::symlink("one.yaml", bench.path("fleet/apps/link.yaml")).unwrap();
    commit(&bench, "fleet");
    let expected = ["apps: kept", "apps: one", "apps: sops"].map(str::to_owned);
    for arguments in [&[LOCAL][..], &["--ref", "HEAD", LOCAL]] {
        assert_eq!(
            maps(&bench, arguments),
            (0, expected.to_vec(), String::new()),
            "{arguments:?}"
        );
    }
    // Another revision, of a folder that is not on disk any more.
    run(git(&bench.path("fleet")).args(["tag", "v1"]));
    run(git(&bench.path("fleet")).args(["mv", "apps", "others"]));
    run(git(&bench.path("fleet")).args(["mv", "clusters", "targets"]));
    commit(&bench, "fleet");
    assert_eq!(maps(&bench, &["--ref", "v1", LOCAL]).1, expected);
    assert_eq!(maps(&bench, &["--ref", "HEAD~1", LOCAL]).1, expected);
    let (code, _, error) = maps(&bench, &["--ref", "v2", LOCAL]);
    assert!(code == 2 && error.contains("\"v2\""), "{error}");
    // A bare repository.
    run(git(&bench.dir).args(["clone", "-q", "--bare", "fleet", "bare.git"]));
    assert_eq!(maps(&bench, &["--path", "bare.git", "--ref", "v1", ENTRY]).1, expected);
}

#[test]
fn a_repository_behind_a_url_needs_no_clone() {
    let apps = kustomization("apps", "GitRepository", "flux-system", "./apps");
    let bench = bench(&[
        ("clusters/production/sync.yaml", &sync("")),
        ("clusters/production/apps.yaml", &apps),
        ("apps/one.yaml", &map("one")),
        ("apps/deep/.sourceignore", "ignored.yaml\n"),
        ("apps/deep/ignored.yaml", &map("ignored")),
        ("apps/deep/.git-notes/more.yaml", "notes: [\n"),
        (".sourceignore", ".git-notes/\n"),
    ]);
    commit(&bench, "fleet");
    run(git(&bench.path("fleet")).args(["tag", "v1"]));
    bench.write("fleet/apps/two.yaml", map("two"));
    commit(&bench, "fleet");
    run(git(&bench.dir).args(["clone", "-q", "--bare", "fleet", "served/fleet.git"]));
    let server = GitHttp::start(&bench.path("served"));
    let url = |rest: &str| format!("{}{rest}", server.url("fleet.git"));
    let two = ["apps: one", "apps: two"].map(str::to_owned).to_vec();
    let one = ["apps: one"].map(str::to_owned).to_vec();
    let entry = url("//clusters/production");
    assert_eq!(maps(&bench, &[&entry]), (0, two.clone(), String::new()));
    assert_eq!(maps(&bench, &[&url("//clusters/production?ref=v1")]).1, one);
    assert_eq!(maps(&bench, &["--ref", "v1", &entry]).1, one);
    // Entries are found as on disk.
    assert_eq!(maps(&bench, &[&url("")]).1, two);
    for (arguments, expected) in [
        (&["--ref", "v1", &url("//clusters?ref=v1")][..], "leave out its ?ref="),
        (&["--ref", "v9", &entry], "v9"),
        (&[&entry, LOCAL], "not of the same repository"),
        (&[&url("//clusters/none")], "no such file or directory"),
    ] {
        let (code, _, error) = maps(&bench, arguments);
        assert!(code == 2 && error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn other_repositories_are_fetched_side_by_side_within_their_time() {
    let bench = Bench::new();
    let serve = |name: &str, files: &[(&str, &str)]| {
        for (path, text) in files {
            bench.write(&format!("{name}/{path}"), text);
        }
        run(git(&bench.path(name)).args(["init", "-q", "-b", "main"]));
        commit(&bench, name);
        run(git(&bench.dir).args(["clone", "-q", "--bare", name, &format!("served/{name}.git")]));
    };
    serve(
        "tenant",
        &[("deploy/one.yaml", &map("tenant")), (".sourceignore", "*.md\n")],
    );
    serve("library", &[("base/two.yaml", &map("library"))]);
    let login = Login::Basic("ann".to_owned(), "hunter2".to_owned());
    let closed = GitHttp::with(
        &bench.path("served"),
        Options {
            login,
            ..Options::default()
        },
    );
    let open = GitHttp::start(&bench.path("served"));
    let hanging = GitHttp::start(&bench.path("served"));
    hanging.intercept(|_| Some(Fault::StallAfter(0)));
    let url = |server: &GitHttp, name: &str, rest: &str| {
        format!("  url: {}\n  ref: {{branch: main}}\n{rest}", server.url(name))
    };
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: flux-system}\nstringData: {username: ann, password: hunter2}\n";
    let files = [
        sync(""),
        secret.to_owned(),
        source("GitRepository", "library", &url(&open, "library.git", "")),
        source(
            "GitRepository",
            "tenant",
            &url(
                &closed,
                "tenant.git",
                "  secretRef: {name: login}\n  include: [{repository: {name: library}, fromPath: base, toPath: deploy/more}]\n",
            ),
        ),
        source("GitRepository", "black", &url(&hanging, "tenant.git", "")),
        source("GitRepository", "hole", &url(&hanging, "library.git", "")),
        source(
            "Bucket",
            "bucket",
            "  bucketName: x\n  endpoint: s3.example\n  provider: aws\n",
        ),
        kustomization("tenant", "GitRepository", "tenant", "./deploy"),
        kustomization("black", "GitRepository", "black", "./deploy"),
        kustomization("hole", "GitRepository", "hole", "./base"),
        kustomization("bucket", "Bucket", "bucket", "./"),
        kustomization("none", "GitRepository", "none", "./"),
        kustomization("apps", "GitRepository", "flux-system", "./apps"),
        kustomization("base", "GitRepository", "flux-system", "./base"),
    ];
    bench.write("fleet/clusters/production/all.yaml", files.concat());
    bench.write("fleet/apps/three.yaml", map("apps"));
    let base = format!("resources: ['{}']\n", hanging.url("tenant.git/map.yaml"));
    bench.write("fleet/base/kustomization.yaml", base);
    run(git(&bench.path("fleet")).args(["init", "-q", "-b", "main"]));
    let begun = Instant::now();
    let mut command = bench.command(&["fleet", "--timeout", "2s", "--output", "names", LOCAL]);
    let ran = bumpwright_testkit::cli::ran(command.env("BUMPWRIGHT_GIT_TOKEN", "token-of-ours").output().unwrap());
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    assert_eq!(ran.code, 1, "{}", ran.err);
    for name in [
        "/ConfigMap/apps/tenant",
        "/ConfigMap/apps/library",
        "/ConfigMap/apps/apps",
    ] {
        assert!(ran.out.contains(name), "{name}: {}\n{}", ran.out, ran.err);
    }
    for said in [
        "Kustomization flux-system/black: GitRepository/flux-system/black: ",
        "Kustomization flux-system/hole: GitRepository/flux-system/hole: ",
        "Kustomization flux-system/bucket: Bucket/flux-system/bucket: spec.endpoint: your own identity is not sent to s3.example, which is not an \
         address of aws; name a Secret with keys in spec.secretRef",
        "Kustomization flux-system/base: ",
        "Kustomization flux-system/none: GitRepository/flux-system/none is not in the fleet",
    ] {
        assert!(ran.err.contains(said), "{said}: {}", ran.err);
    }
    // Secrets of manifests and of the environment go to the servers that they are for.
    let sent = |server: &GitHttp| {
        let requests = server.requests();
        requests
            .iter()
            .filter_map(|seen| seen.header("authorization").map(str::to_owned))
            .collect::<Vec<_>>()
    };
    assert!(
        sent(&open).is_empty() && sent(&hanging).is_empty(),
        "{:?} {:?}",
        sent(&open),
        sent(&hanging)
    );
    assert!(sent(&closed).iter().all(|login| login.starts_with("Basic ")));
    let (code, maps, error) = maps(&bench, &["--offline", LOCAL]);
    assert_eq!((code, maps), (1, vec!["apps: apps".to_owned()]));
    assert!(
        error.contains("GitRepository/flux-system/tenant is unknown (offline)"),
        "{error}"
    );
}

#[test]
fn other_revisions_of_the_repository_come_from_the_clone() {
    let release = "  url: https://git.example/acme/fleet.git\n  ref: {tag: v1}\n";
    let files = [
        sync(""),
        source("GitRepository", "release", release),
        kustomization("apps", "GitRepository", "flux-system", "./apps"),
        kustomization("released", "GitRepository", "release", "./apps"),
    ];
    let bench = bench(&[
        ("clusters/production/all.yaml", &files.concat()),
        ("apps/one.yaml", &map("old")),
    ]);
    commit(&bench, "fleet");
    run(git(&bench.path("fleet")).args(["tag", "v1"]));
    bench.write("fleet/apps/one.yaml", map("new"));
    let expected = ["apps: new", "released: old"].map(str::to_owned).to_vec();
    assert_eq!(maps(&bench, &["--offline", LOCAL]), (0, expected, String::new()));
}

#[test]
fn images_of_registries_are_sources() {
    let Some((registry, flux)) = Registry::start().zip(tool("flux")) else {
        return;
    };
    let bench = Bench::new();
    for (tag, name) in [("1.0.0", "first"), ("1.2.0", "second"), ("2.0.0", "third")] {
        bench.write(&format!("{tag}/deploy/map.yaml"), map(name));
        bench.write(&format!("{tag}/deploy/ignored.yaml"), map("ignored"));
        let mut push = Command::new(&flux);
        push.args([
            "push",
            "artifact",
            &format!("oci://{}/manifests:{tag}", registry.host()),
        ]);
        push.args(["--source=https://git.example/x", "--revision=main@sha1:abc", "--path"]);
        run(push.arg(bench.path(tag)).env("HOME", bench.home.path()));
    }
    let url = format!("  url: oci://{}/manifests\n  insecure: true\n", registry.host());
    let layer = "  layerSelector: {mediaType: application/vnd.cncf.flux.content.v1.tar+gzip, operation: copy}\n";
    let files = [
        source(
            "OCIRepository",
            "range",
            &format!("{url}  ref: {{semver: 1.x}}\n  ignore: ignored.yaml\n"),
        ),
        source("OCIRepository", "tag", &format!("{url}  ref: {{tag: 2.0.0}}\n{layer}")),
        source("OCIRepository", "none", &format!("{url}  ref: {{tag: 9.9.9}}\n")),
        kustomization("range", "OCIRepository", "range", "./deploy"),
        kustomization("tag", "OCIRepository", "tag", "./deploy"),
        kustomization("none", "OCIRepository", "none", "./deploy"),
    ];
    bench.write("fleet/clusters/production/all.yaml", files.concat());
    run(git(&bench.dir.join("fleet")).args(["init", "-q"]));
    for (arguments, missing) in [
        (&[LOCAL][..], "OCIRepository/flux-system/none: "),
        (&["--offline", LOCAL], "none: it is not kept on this machine (offline)"),
    ] {
        let (code, maps, error) = maps(&bench, arguments);
        assert_eq!(maps, ["range: second", "tag: ignored", "tag: third"], "{error}");
        assert!(code == 1 && error.contains(missing), "{error}");
    }
    drop(registry);
    let (_, maps, error) = maps(&bench, &["--offline", LOCAL]);
    assert_eq!(maps, ["range: second", "tag: ignored", "tag: third"], "{error}");
}

const GENERATOR: &str = "---
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: fleet, namespace: flux-system}
spec:
  sources: [{alias: repo, kind: GitRepository, name: flux-system}]
  artifacts:
  - name: apps
    copy:
    - {from: '@repo/apps/base/**', to: '@artifact/base/'}
    - {from: '@repo/apps/production/**', to: '@artifact/production/'}
";

#[test]
fn artifacts_are_made_of_the_repository() {
    let files = [
        sync(""),
        kustomization("apps", "ExternalArtifact", "apps", "./production"),
        kustomization("other", "ExternalArtifact", "other", "./"),
    ];
    let bench = bench(&[
        ("clusters/production/all.yaml", &files.concat()),
        // It comes out of another Kustomization.
        (
            "clusters/production/more.yaml",
            &kustomization("generators", "GitRepository", "flux-system", "./generators"),
        ),
        ("generators/fleet.yaml", GENERATOR),
        ("apps/base/map.yaml", &map("base")),
        ("apps/base/kustomization.yaml", "resources: [map.yaml]\n"),
        (
            "apps/production/kustomization.yaml",
            "resources: [../base]\nnamePrefix: production-\n",
        ),
    ]);
    commit(&bench, "fleet");
    for arguments in [&[LOCAL][..], &["--ref", "main", LOCAL]] {
        let (code, maps, error) = maps(&bench, arguments);
        assert_eq!(maps, ["apps: production-base"], "{error}");
        assert!(
            code == 1 && error.contains("ExternalArtifact/flux-system/other: no ArtifactGenerator"),
            "{error}"
        );
    }
}

#[test]
fn what_an_operator_syncs_is_the_entry() {
    let instance = "apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: flux-system}
spec:
  sync: {kind: GitRepository, url: 'https://git.example/acme/fleet.git', ref: refs/heads/main, path: clusters/production}
  kustomize:
    patches:
    - target: {kind: GitRepository, name: flux-system}
      patch: |
        - {op: add, path: /spec/ignore, value: apps/ignored.yaml}
    - target: {kind: Kustomization, name: flux-system}
      patch: |
        - {op: add, path: /spec/postBuild, value: {substitute: {region: eu}}}
    - target: {kind: Deployment}
      patch: |
        - {op: remove, path: /spec/none}
";
    let named = map("one").replace("name: one", "name: '${region:=none}-one'");
    let apps = kustomization("apps", "GitRepository", "flux-system", "./apps");
    let operator = kustomization("operator", "GitRepository", "flux-system", "./operator");
    for (place, late) in [("clusters/production/flux.yaml", false), ("operator/flux.yaml", true)] {
        let bench = bench(&[
            ("clusters/production/apps.yaml", &apps),
            ("clusters/production/map.yaml", &named),
            ("apps/two.yaml", &map("two")),
            ("apps/ignored.yaml", &map("ignored")),
        ]);
        bench.write(&format!("fleet/{place}"), instance);
        if late {
            bench.write("fleet/clusters/production/operator.yaml", &operator);
        }
        let expected = ["apps: two", "flux-system: eu-one"].map(str::to_owned).to_vec();
        assert_eq!(maps(&bench, &[LOCAL]), (0, expected, String::new()), "{place}");
        let tree = bench.ok(&["fleet", LOCAL]).out;
        assert!(
            tree.contains("FluxInstance flux-system/flux  1 GitRepository, 1 Kustomization"),
            "{tree}"
        );
    }
}

#[test]
fn the_files_of_a_source_can_be_given() {
    let files = kustomization("cluster", "OCIRepository", "flux-system", "./clusters/production")
        + &kustomization("apps", "OCIRepository", "flux-system", "./apps")
        + &kustomization("other", "GitRepository", "other", "./");
    let bench = bench(&[
        ("kubernetes/clusters/production/all.yaml", &files),
        ("kubernetes/apps/one.yaml", &map("one")),
    ]);
    bench.write("elsewhere/two.yaml", map("two"));
    commit(&bench, "fleet");
    let entry = "fleet/kubernetes/clusters/production";
    let oci = ["--source", "OCIRepository/flux-system/flux-system=fleet/kubernetes"];
    let other = ["--source", "GitRepository/flux-system/other=elsewhere"];
    let expected = ["apps: one", "other: two"].map(str::to_owned).to_vec();
    for more in [&[entry][..], &["--ref", "HEAD", entry]] {
        let arguments = [&oci[..], &other, more].concat();
        assert_eq!(
            maps(&bench, &arguments),
            (0, expected.clone(), String::new()),
            "{more:?}"
        );
    }
    let (code, _, error) = maps(&bench, &["--source", "apps=x", entry]);
    assert!(
        code == 2 && error.contains("expected KIND/NAMESPACE/NAME=DIR"),
        "{error}"
    );
}

#[test]
fn a_remote_file_is_fetched_once_for_all_that_need_it() {
    let server = StubHttp::start(|_| Reply::text(200, &map("remote")));
    let url = format!("http://{}/map.yaml", server.address());
    let bench = bench(&[]);
    let mut all = sync("");
    for n in 0..8 {
        all += &kustomization(&format!("k{n}"), "GitRepository", "flux-system", &format!("./apps/{n}"));
        let text = format!("resources: ['{url}']\nnameSuffix: -{n}\n");
        bench.write(&format!("fleet/apps/{n}/kustomization.yaml"), text);
    }
    bench.write("fleet/clusters/production/all.yaml", all);
    let (code, maps, error) = maps(&bench, &[LOCAL]);
    assert_eq!((code, maps.len()), (0, 8), "{error}");
    let gets = server
        .requests()
        .iter()
        .filter(|request| request.path.ends_with("map.yaml"))
        .count();
    assert_eq!(gets, 1);
}

#[test]
fn two_states_of_a_repository_are_compared() {
    let apps = kustomization("apps", "GitRepository", "flux-system", "./apps");
    let with = |value: &str| format!("{}data: {{key: {value}}}\n", map("one"));
    let bench = bench(&[
        ("clusters/production/sync.yaml", &sync("")),
        ("clusters/production/apps.yaml", &apps),
        ("apps/one.yaml", &with("old")),
        ("apps/kept.yaml", &map("kept")),
    ]);
    commit(&bench, "fleet");
    run(git(&bench.path("fleet")).args(["tag", "v1"]));
    bench.write("fleet/apps/one.yaml", with("new"));
    commit(&bench, "fleet");
    run(git(&bench.path("fleet")).args(["tag", "v2"]));
    run(git(&bench.dir).args(["clone", "-q", "--bare", "fleet", "served/fleet.git"]));
    let server = GitHttp::start(&bench.path("served"));
    let url = format!("{}//{ENTRY}", server.url("fleet.git"));
    // What is not committed, with a file that git does not know.
    bench.write("fleet/apps/one.yaml", with("newest"));
    bench.write("fleet/apps/added.yaml", map("added"));
    let diff = |arguments: &[&str]| bench.run(&[&["fleet", "diff"], arguments].concat());
    for (arguments, shown) in [
        (
            &["--from", "v1", "--to", "v2", LOCAL][..],
            &["data.key: \"old\" → \"new\""][..],
        ),
        (&["--from", "v1", "--to", "v2", &url], &["data.key: \"old\" → \"new\""]),
        (
            &["--from", "v2", LOCAL],
            &["data.key: \"new\" → \"newest\"", "ConfigMap apps/added"],
        ),
    ] {
        let ran = diff(arguments);
        assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{arguments:?}: {}", ran.out);
        for text in shown {
            assert!(ran.out.contains(text), "{arguments:?} {text}: {}", ran.out);
        }
        assert!(!ran.out.contains("kept"), "{}", ran.out);
    }
    let ran = diff(&["--from", "v1", "--to", "v1", LOCAL]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    // A cluster that the first revision does not have.
    bench.write("fleet/clusters/staging/map.yaml", map("staging"));
    let ran = diff(&["--from", "v2", "--output", "json", "fleet/clusters/staging"]);
    assert!(
        ran.code == 1 && ran.out.contains("\"staging\""),
        "{} {}",
        ran.out,
        ran.err
    );
    let ran = diff(&["--from", "v9", LOCAL]);
    assert!(ran.code == 2 && ran.err.contains("\"v9\""), "{}", ran.err);
}

/// Objects of a bucket are files of a Kustomization, and have the chart of a release. Without a Secret
/// it is asked anonymously.
#[test]
fn a_bucket_is_fetched_with_the_keys_that_the_manifests_name() {
    let Some(moto) = Moto::start() else { return };
    moto.put("/maps", "");
    moto.put("/maps/deploy/map.yaml", map("of-bucket"));
    moto.put("/maps/deploy/left-out.yaml", map("ignored"));
    moto.put(
        "/maps/chart/Chart.yaml",
        "{apiVersion: v2, name: web, version: 1.0.0}\n",
    );
    moto.put("/maps/chart/templates/map.yaml", map("of-chart"));
    let spec = |secret: &str| {
        format!(
            "  bucketName: maps\n  endpoint: {}\n  insecure: true\n  ignore: left-out.yaml\n{secret}",
            moto.address()
        )
    };
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: flux-system}\nstringData: {accesskey: a, secretkey: b}\n";
    let release = "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: flux-system}\nspec:\n  \
                   interval: 1h\n  chart: {spec: {chart: ./chart, sourceRef: {kind: Bucket, name: open}}}\n";
    let all = [
        &sync(""),
        &source("Bucket", "keyed", &spec("  secretRef: {name: keys}\n")),
        &source("Bucket", "open", &spec("")),
        &kustomization("keyed", "Bucket", "keyed", "./deploy"),
        secret,
        release,
    ];
    let bench = bench(&[("clusters/production/all.yaml", &all.concat())]);
    let (code, maps, said) = maps(&bench, &[LOCAL]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(maps, ["keyed: of-bucket", "web: of-chart"], "{said}");
}
