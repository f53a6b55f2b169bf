//! Policies over versions that are not tags of a registry (`bumpwright.dev/kind`): charts of a Helm repository, tags
//! of a Git repository.

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::git_http::{GitHttp, Options};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::stub_http::StubHttp;

/// An ImageRepository of this kind and a policy over its versions.
fn policy(kind: &str, image: &str, rest: &str) -> String {
    format!(
        "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\n\
         metadata: {{name: web, namespace: fs, annotations: {{bumpwright.dev/kind: {kind}}}}}\nspec: {{image: {image}, interval: 1h{rest}}}\n\
         ---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {{name: web, namespace: fs}}\n\
         spec: {{imageRepositoryRef: {{name: web}}, policy: {{semver: {{range: 1.x}}}}}}\n"
    )
}

const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec:\n  chart:\n    spec:\n      \
                       chart: web\n      version: 1.0.0 # {\"$imagepolicy\": \"fs:web:tag\"}\n";

const INDEX: &str = "apiVersion: v1\nentries:\n  api:\n  - {version: 1.9.0}\n  web:\n  - name: web\n    version: 2.0.0\n  - name: web\n    \
                     version: 1.2.0\n  - name: web\n    version: 1.10.0\n";

#[test]
fn charts_of_a_helm_repository_have_policies() {
    let server = StubHttp::start(|request| {
        let is_known = request.header("authorization") == Some("Basic dTpw"); // u:p
        match request.path.as_str() {
            "/charts/index.yaml" => Reply::text(200, INDEX),
            "/private/index.yaml" if is_known => Reply::text(200, INDEX),
            "/private/index.yaml" => Reply::status(401),
            _ => Reply::status(404),
        }
    });
    let bench = Bench::new();
    let update = |image: &str, rest: &str| {
        bench.write("release.yaml", RELEASE);
        bench.write("p.yaml", policy("helm", &format!("{}/{image}", server.host()), rest));
        bench.json(&["update"])
    };
    let message = |run: &serde_json::Value| run["runs"][0]["skips"][0]["message"].as_str().unwrap().to_owned();
    let (_, run) = update("charts/web", "");
    assert_eq!(
        bench.read("release.yaml"),
        RELEASE.replace("1.0.0", "1.10.0"),
        "{run:#}"
    );
    let (_, run) = update("charts/none", "");
    assert!(
        message(&run).contains("/charts/index.yaml: the index has no chart \"none\""),
        "{run:#}"
    );
    let (_, run) = update("nothing/web", "");
    assert!(
        message(&run).contains("/nothing/index.yaml: the server answers 404"),
        "{run:#}"
    );
    let (_, run) = update("private/web", "");
    assert!(message(&run).contains("401"), "{run:#}");
    let config = format!(
        r#"{{"auths": {{"{}": {{"username": "u", "password": "p"}}}}}}"#,
        server.host()
    );
    bench.write(
        "s.yaml",
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: login, namespace: fs}}\ntype: kubernetes.io/dockerconfigjson\n\
             stringData: {{.dockerconfigjson: '{config}'}}\n"
        ),
    );
    update("private/web", ", secretRef: {name: login}");
    let (_, run) = bench.json(&["update", "-f", "p.yaml", "-f", "s.yaml"]);
    assert_eq!(
        bench.read("release.yaml"),
        RELEASE.replace("1.0.0", "1.10.0"),
        "{run:#}"
    );
    bench.write("p.yaml", policy("docker", "charts.example.com/web", ""));
    let (_, run) = bench.json(&["update"]);
    assert!(message(&run).contains("bumpwright.dev/kind"), "{run:#}");
}

/// The same policy, whose tags have a prefix in front of the version.
fn filtered(kind: &str, image: &str, pattern: &str) -> String {
    policy(kind, image, "").replace(
        "policy: {semver",
        &format!("filterTags: {{pattern: '{pattern}', extract: '$v'}}, policy: {{semver"),
    )
}

/// A version of a chart has build metadata, and each field that has one takes it as it is.
#[test]
fn versions_of_charts_have_build_metadata() {
    let index = "apiVersion: v1\nentries:\n  web:\n  - {name: web, version: 1.0.0+up2.0.0}\n  \
                 - {name: web, version: 1.0.1+up2.0.9}\n  - {name: web, version: 1.0.1+up2.0.10}\n";
    let server = StubHttp::start(move |request| match request.path.as_str() {
        "/Charts/index.yaml" => Reply::text(200, index),
        _ => Reply::status(404),
    });
    let bench = Bench::new();
    let image = format!("{}/Charts/web", server.host());
    bench.write("p.yaml", policy("helm", &image, ""));
    let marker = r##"# {"$imagepolicy": "fs:web:tag"}"##;
    let fields = [
        ("release.yaml", RELEASE.replace("1.0.0", "1.0.0+up2.0.0")),
        (
            "Chart.yaml",
            format!("dependencies:\n- name: web\n  version: \"1.0.0+up2.0.0\" {marker}\n"),
        ),
        (
            "kustomization.yaml",
            format!("helmCharts:\n- {{name: web, version: 1.0.0 {marker}\n}}\n"),
        ),
        (
            "app.yaml",
            format!("spec:\n  source:\n    chart: web\n    targetRevision: '1.0.0+up2.0.0' {marker}\n"),
        ),
    ];
    for (file, text) in &fields {
        bench.write(file, text);
    }
    let found = bench.run(&["policy", "-f", "p.yaml"]);
    assert!(
        found.code == 0 && found.out.contains(" 1.0.1+up2.0.10 "),
        "{}",
        found.out
    );
    let (code, run) = bench.json(&["update", "--strict"]);
    assert_eq!(code, 0, "{run:#}");
    for (file, text) in &fields {
        let expected = text
            .replace("1.0.0+up2.0.0", "1.0.1+up2.0.10")
            .replace("1.0.0 ", "1.0.1+up2.0.10 ");
        assert_eq!(bench.read(file), expected, "{run:#}");
    }
    // A version is no tag: what wants an image does not get one.
    bench.write("release.yaml", RELEASE.replace("fs:web:tag", "fs:web"));
    let (_, run) = bench.json(&["update"]);
    let message = run["runs"][0]["skips"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains(":tag"), "{run:#}");
    // By hand, and as a status of a cluster says.
    bench.write("release.yaml", RELEASE);
    bench.ok(&["update", "--offline", "--set", &format!("fs:web={image}:1.0.1+up2.0.9")]);
    assert_eq!(bench.read("release.yaml"), RELEASE.replace("1.0.0", "1.0.1+up2.0.9"));
    bench.write(
        "p.yaml",
        policy("helm", &image, "") + &format!("status: {{latestRef: {{name: {image}, tag: 1.0.1+up2.0.10}}}}\n"),
    );
    bench.ok(&["update", "--offline"]);
    assert_eq!(bench.read("release.yaml"), RELEASE.replace("1.0.0", "1.0.1+up2.0.10"));
}

#[test]
fn tags_of_git_repositories_have_packages_and_build_metadata() {
    let bench = Bench::new();
    let repo = bench.repository("Module.git");
    repo.commit("main", "first", &[Change::File("main.tf", b"")]);
    let of_packages = [
        "app/v1.0.0",
        "app/v1.10.0",
        "app@1.0.0",
        "app@1.10.0",
        "@acme/app@1.10.0",
    ];
    for tag in ["v1.0.0+k3s1", "v1.1.0+k3s9", "v1.1.0+k3s10", "v1.0.9"]
        .iter()
        .chain(&of_packages)
    {
        repo.git(&["tag", tag, "main"]);
    }
    let server = GitHttp::with(repo.dir.parent().unwrap(), Options::default());
    let image = format!("{}/Module.git", server.host());
    for (pattern, before, expected) in [
        ("", "v1.0.0+k3s1", "v1.1.0+k3s10"),
        ("^app/(?P<v>.*)$", "app/v1.0.0", "app/v1.10.0"),
        ("^app@(?P<v>.*)$", "app@1.0.0", "app@1.10.0"),
        ("^@acme/app@(?P<v>.*)$", "'@acme/app@1.0.0'", "'@acme/app@1.10.0'"),
    ] {
        bench.write(
            "p.yaml",
            match pattern {
                "" => policy("git-tags", &image, ""),
                pattern => filtered("git-tags", &image, pattern),
            },
        );
        let source = |tag: &str| {
            format!(
                "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nspec:\n  ref:\n    tag: {tag} # {{\"$imagepolicy\": \"fs:web:tag\"}}\n"
            )
        };
        bench.write("source.yaml", source(before));
        let found = bench.run(&["policy", "-f", "p.yaml"]);
        assert_eq!(found.code, 0, "{pattern}: {}", found.out);
        let (code, run) = bench.json(&["update", "--strict"]);
        assert_eq!((code, bench.read("source.yaml")), (0, source(expected)), "{run:#}");
    }
}

/// What modules of Terraform, remote bases of kustomize and releases of forges have in their addresses.
#[test]
fn versions_in_addresses_are_escaped_where_they_have_to_be() {
    let bench = Bench::new();
    let repo = bench.repository("k3s.git");
    repo.commit("main", "first", &[Change::File("main.tf", b"")]);
    for tag in ["v1.0.0+k3s1", "v1.1.0+k3s2", "vpc/v1.0.0", "vpc/v1.1.0"] {
        repo.git(&["tag", tag, "main"]);
    }
    let server = GitHttp::with(repo.dir.parent().unwrap(), Options::default());
    let image = format!("{}/k3s.git", server.host());
    let rule = |files: &str, pattern: &str, policy: &str| {
        format!("- {{files: '{files}', pattern: '{pattern}', policy: 'fs:{policy}', part: tag}}\n")
    };
    bench.write(
        ".bumpwright.yaml",
        format!(
            "rules:\n{}{}{}",
            rule("*.tf", "k3s[.]git[?]ref=(?P<tag>[^\"]+)", "web"),
            rule("kustomization.yaml", "download/(?P<tag>[^/]+)/", "web"),
            rule("kustomization.yaml", "ref=(?P<tag>[^&\\n]+)", "vpc")
        ),
    );
    let vpc = filtered("git-tags", &image, "^vpc/(?P<v>.*)$").replace("name: web", "name: vpc");
    bench.write("p.yaml", policy("git-tags", &image, "") + "---\n" + &vpc);
    let module =
        |tag: &str| format!("module \"k3s\" {{\n  source = \"git::https://example.com/k3s.git?ref={tag}\"\n}}\n");
    let bases = |tag: &str, vpc: &str| {
        format!(
            "resources:\n- https://example.com/releases/download/{tag}/crd.yaml\n- https://example.com/r//vpc?ref={vpc}&timeout=9s\n"
        )
    };
    for (before, after) in [("v1.0.0", "v1.1.0+k3s2"), ("v1.0.0%2Bk3s1", "v1.1.0%2Bk3s2")] {
        bench.write("main.tf", module(before));
        bench.write("kustomization.yaml", bases(before, "vpc/v1.0.0"));
        let (code, run) = bench.json(&["update", "--strict"]);
        assert_eq!((code, bench.read("main.tf")), (0, module("v1.1.0%2Bk3s2")), "{run:#}");
        assert_eq!(bench.read("kustomization.yaml"), bases(after, "vpc/v1.1.0"), "{run:#}");
        // It is found again.
        let (code, run) = bench.json(&["update", "--strict", "--exit-code"]);
        assert_eq!(code, 0, "{run:#}");
    }
}

/// The chart of a registry has `_` in its tags, and `+` in the versions of releases.
#[test]
fn charts_of_a_registry_are_chosen_by_their_versions() {
    let server = StubHttp::start(|request| match request.path.as_str() {
        "/v2/" => Reply::status(200),
        "/v2/charts/web/tags/list" => {
            Reply::json(&serde_json::json!({"tags": ["1.0.0_up2.0.0", "1.0.1_up2.0.1", "1.1.0-rc.1_up3.0.0"]}))
        }
        _ => Reply::status(404),
    });
    let bench = Bench::new();
    bench.write("p.yaml", policy("oci", &format!("{}/charts/web", server.host()), ""));
    let marker = r##"# {"$imagepolicy": "fs:web:tag"}"##;
    let release = RELEASE.replace("1.0.0", "1.0.0+up2.0.0");
    let source = format!("kind: OCIRepository\nspec:\n  ref:\n    tag: 1.0.0_up2.0.0 {marker}\n");
    bench.write("release.yaml", &release);
    bench.write("source.yaml", &source);
    let (code, run) = bench.json(&["update", "--strict"]);
    assert_eq!(code, 0, "{run:#}");
    assert_eq!(
        bench.read("release.yaml"),
        release.replace("1.0.0+up2.0.0", "1.0.1+up2.0.1")
    );
    assert_eq!(
        bench.read("source.yaml"),
        source.replace("1.0.0_up2.0.0", "1.0.1_up2.0.1")
    );
}

#[test]
fn tags_of_a_git_repository_have_policies() {
    let bench = Bench::new();
    let repo = bench.repository("module.git");
    repo.commit("main", "first", &[Change::File("main.tf", b"")]);
    for tag in ["v1.0.0", "v1.4.0", "v1.10.0", "v2.0.0", "nightly"] {
        repo.git(&["tag", tag, "main"]);
    }
    let server = GitHttp::with(repo.dir.parent().unwrap(), Options::default());
    let module = "module \"web\" {\n  source = \"git::https://example.com/web.git?ref=v1.0.0\"\n}\n";
    bench.write("main.tf", module);
    bench.write(
        ".bumpwright.yaml",
        "rules:\n- {files: '*.tf', pattern: 'web\\.git\\?ref=(?P<tag>[^\"]+)', policy: 'fs:web', part: tag}\n",
    );
    bench.write(
        "p.yaml",
        policy("git-tags", &format!("{}/module.git", server.host()), ""),
    );
    let (_, run) = bench.json(&["update"]);
    assert_eq!(bench.read("main.tf"), module.replace("v1.0.0", "v1.10.0"), "{run:#}");
}
