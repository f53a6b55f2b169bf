//! Policies over versions that are not tags of a registry (`bumpwright.dev/kind`): charts of a Helm repository, tags of a Git repository.

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
