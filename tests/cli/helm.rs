//! `bumpwright helm template`: flags, files, registries and repositories. What charts render to is held by the recorded
//! cases of the `helm` crate.

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::registry::{Access, Options, Registry};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tarball;
use bumpwright_testkit::tls::Certificates;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::Path;
use std::sync::Arc;

const DEPLOYMENT: &str = "\
kind: Deployment
metadata:
  name: {{ .Release.Name }}-{{ .Chart.Version }}
  namespace: {{ .Release.Namespace }}
spec:
  replicas: {{ .Values.replicas }}
  image: {{ .Values.image | quote }}
  kube: {{ .Capabilities.KubeVersion.Version }} {{ .Capabilities.APIVersions.Has \"example.com/v1\" }} {{ .Release.IsUpgrade }}
";

fn files(version: &str) -> Vec<(String, String)> {
    let own = [
        ("Chart.yaml", format!("apiVersion: v2\nname: web\nversion: {version}\n")),
        ("values.yaml", "replicas: 1\nimage: web:1\n".to_owned()),
        ("templates/deployment.yaml", DEPLOYMENT.to_owned()),
        (
            "templates/hook.yaml",
            "kind: Job\nmetadata:\n  name: hook\n  annotations:\n    helm.sh/hook: test\n".to_owned(),
        ),
        ("crds/a.yaml", "kind: CustomResourceDefinition\n".to_owned()),
    ];
    own.map(|(name, text)| (name.to_owned(), text)).to_vec()
}

fn bench() -> Bench {
    let bench = Bench::new();
    for (name, text) in files("1.0.0") {
        bench.write(&format!("web/{name}"), text);
    }
    bench
}

fn archive(version: &str) -> Vec<u8> {
    let files = files(version);
    let named: Vec<(String, &[u8])> = files
        .iter()
        .map(|(name, text)| (format!("web/{name}"), text.as_bytes()))
        .collect();
    let entries: Vec<(&str, &[u8])> = named.iter().map(|(name, text)| (&**name, *text)).collect();
    tarball::archive(&entries)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The output; the command must succeed.
fn rendered(bench: &Bench, arguments: &[&str]) -> String {
    let ran = bench.run(&[&["helm", "template"], arguments].concat());
    assert_eq!((ran.code, &*ran.err), (0, ""), "{arguments:?}");
    ran.out
}

/// The error; the command must fail and print nothing else.
fn refused(bench: &Bench, arguments: &[&str]) -> String {
    let ran = bench.run(&[&["helm", "template"], arguments].concat());
    assert_eq!((ran.code, &*ran.out), (2, ""), "{arguments:?}: {}", ran.err);
    ran.err
}

#[test]
fn a_chart_is_rendered_with_values_of_files_and_flags() {
    let bench = bench();
    bench.write("a.yaml", "replicas: 2\n");
    bench.write("b.yaml", "replicas: 3\n");
    let out = rendered(
        &bench,
        &[
            "shop",
            "./web",
            "-n",
            "first",
            "-n",
            "blue",
            "-f",
            "a.yaml,b.yaml",
            "--set",
            "image=-web:2",
            "--kube-version",
            "1.30",
            "--api-versions",
            "example.com/v1",
            "--is-upgrade",
            "--skip-tests",
            "--wait",
            "--timeout",
            "5m",
            "--labels",
            "a=b",
        ],
    );
    assert_eq!(
        out,
        "---\n# Source: web/templates/deployment.yaml\nkind: Deployment\nmetadata:\n  name: shop-1.0.0\n  namespace: blue\n\
         spec:\n  replicas: 3\n  image: \"-web:2\"\n  kube: v1.30 true true\n"
    );
    let out = rendered(&bench, &["web", "--include-crds"]);
    let sources: Vec<_> = out.lines().filter_map(|line| line.strip_prefix("# Source: ")).collect();
    assert_eq!(
        sources,
        [
            "web/crds/a.yaml",
            "web/templates/deployment.yaml",
            "web/templates/hook.yaml"
        ]
    );
    assert!(out.contains("name: release-name-1.0.0\n"), "{out}");
    let out = rendered(
        &bench,
        &[
            "web",
            "--name-template",
            "{{ lower \"ABC\" }}",
            "-s",
            "templates/hook.yaml",
        ],
    );
    assert_eq!(out.lines().nth(1), Some("# Source: web/templates/hook.yaml"));
    assert!(rendered(&bench, &["web", "-g"]).contains("name: web-1"));
}

#[test]
fn a_file_is_written_for_each_template() {
    let bench = bench();
    bench.write("out/shop/web/templates/hook.yaml", "of before\n");
    let said = rendered(
        &bench,
        &["shop", "web", "--output-dir", "out", "--release-name", "--include-crds"],
    );
    assert_eq!(
        said,
        "wrote out/web/crds/a.yaml\nwrote out/shop/web/templates/deployment.yaml\nwrote out/shop/web/templates/hook.yaml\n\n"
    );
    assert!(
        bench
            .read("out/shop/web/templates/hook.yaml")
            .starts_with("---\n# Source: web/templates/hook.yaml\nkind: Job\n")
    );
}

#[test]
fn what_cannot_be_done_is_refused_with_the_way_out() {
    let bench = bench();
    for (arguments, wanted) in [
        (&["web", "--validate"][..], "kubectl apply --dry-run=server"),
        (&["web", "--dry-run=server"], "asks a cluster"),
        (&["web", "--post-renderer", "sed"], "pipe the output"),
        (&["web", "--verify"], "provenance"),
        (&["web", "--password", "x"], "--password-file"),
        (&["web", "--enable-dns"], "name servers"),
        (
            &["a", "web", "-g"],
            "cannot set --generate-name and also specify a name",
        ),
        (&["a", "web", "more"], "unexpected arguments: more"),
        (&["web", "-f", "none.yaml"], "open none.yaml: no such file or directory"),
        (&["web", "-f", "https://example.com/v.yaml"], "download it before"),
        (&["web", "--kube-version", "x"], "invalid kube version 'x'"),
        (&["./none"], "path \"./none\" not found"),
        (&["stable/web"], "--repo URL"),
        (&["none"], "--repo URL"),
        (&["git://example.com/web"], "not a scheme of charts"),
        (&["web", "--set", "replicas"], "has no value"),
        (
            &["web", "-s", "templates/none.yaml"],
            "could not find template templates/none.yaml in chart",
        ),
    ] {
        let error = refused(&bench, arguments);
        assert!(error.contains(wanted), "{arguments:?}: {error}");
    }
    bench.write("web/templates/broken.yaml", "a: b: c\n");
    let error = refused(&bench, &["web"]);
    assert!(
        error.contains("YAML parse error on web/templates/broken.yaml") && error.contains("--debug"),
        "{error}"
    );
    let ran = bench.run(&["helm", "template", "web", "--debug"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.out.contains("# Source: web/templates/broken.yaml\na: b: c\n"),
        "{}",
        ran.out
    );
}

/// A registry with versions of the chart, and docker's login for it.
fn registry(bench: &Bench) -> Option<Registry> {
    let registry = Registry::with(&Options {
        access: Access::Password("bob", "s3cret"),
        ..Options::default()
    })?;
    let images = registry.images();
    for version in ["1.0.0", "1.2.0+build.7", "2.0.0-rc.1"] {
        let archive = archive(version);
        let config = images.blob("charts/web", b"{}");
        let layer = images.blob("charts/web", &archive);
        let digest = images.manifest(
            "charts/web",
            &json!({
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": {"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": config, "size": 2},
                "layers": [{
                    "mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "digest": layer, "size": archive.len(),
                }],
            }),
        );
        images.tag("charts/web", &version.replace('+', "_"), &digest);
    }
    let login = json!({"auths": {registry.host(): {"username": "bob", "password": "s3cret"}}});
    let folder = bench.home.path().join(".docker");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.json"), login.to_string()).unwrap();
    Some(registry)
}

#[test]
fn a_chart_of_a_registry_is_pulled_with_the_own_login() {
    let bench = Bench::new();
    let Some(registry) = registry(&bench) else {
        return;
    };
    let url = format!("oci://{}/charts/web", registry.host());
    let version = |url: &str, arguments: &[&str]| {
        let out = rendered(&bench, &[&["--plain-http", "a", url], arguments].concat());
        let name = out.lines().find_map(|line| line.strip_prefix("  name: a-")).unwrap();
        name.to_owned()
    };
    assert_eq!(version(&url, &[]), "1.2.0+build.7");
    assert_eq!(version(&url, &["--version", "1.0.x"]), "1.0.0");
    assert_eq!(version(&url, &["--version", "1.2.0+build.7"]), "1.2.0+build.7");
    assert_eq!(version(&url, &["--devel"]), "2.0.0-rc.1");
    assert_eq!(version(&format!("{url}:1.0.0"), &[]), "1.0.0");
    let error = refused(&bench, &["--plain-http", &format!("{url}:1.0.0"), "--version", "1.2.0"]);
    assert!(error.contains("mismatch"), "{error}");
    let error = refused(&bench, &["--plain-http", &url, "--version", "9.x"]);
    assert!(error.contains("9.x"), "{error}");
}

/// The same registry as a HelmRepository of a fleet.
#[test]
fn a_fleet_renders_charts_of_an_oci_repository() {
    let bench = Bench::new();
    let Some(registry) = registry(&bench) else {
        return;
    };
    let url = format!("oci://{}/charts", registry.host());
    let manifests = format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: charts, namespace: apps}}\n\
         spec: {{type: oci, insecure: true, interval: 1h, url: '{url}'}}\n---\n\
         apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: apps}}\n\
         spec: {{interval: 1h, chart: {{spec: {{chart: web, version: '1.x', sourceRef: {{kind: HelmRepository, name: charts}}}}}}}}\n"
    );
    write_fleet(&bench, &manifests);
    let ran = bench.run(&["fleet", "--path", "fleet", "fleet/cluster", "-o", "yaml"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("web-1.2.0+build.7"), "{}\n{}", ran.out, ran.err);
}

/// An OCIRepository of a chart: a version is fetched once, a range is what was fetched last where there is no network,
/// and what has no layer of a chart is read as files.
#[test]
fn a_chart_of_an_ocirepository_is_fetched_once() {
    let bench = Bench::new();
    let Some(registry) = registry(&bench) else {
        return;
    };
    let host = registry.host();
    let layer = "layerSelector: {mediaType: application/vnd.cncf.helm.chart.content.v1.tar+gzip, operation: copy}";
    let fleet = |reference: &str, layer: &str| {
        let manifests = format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: web, namespace: apps}}\n\
             spec: {{insecure: true, interval: 1h, url: 'oci://{}/charts/web', ref: {{{reference}}}, {layer}}}\n---\n\
             apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: apps}}\n\
             spec: {{interval: 1h, chartRef: {{kind: OCIRepository, name: web}}}}\n",
            host
        );
        write_fleet(&bench, &manifests);
    };
    let shown = |arguments: &[&str]| {
        let ran = bench.run(&[&["fleet", "--path", "fleet", "fleet/cluster", "-o", "yaml"], arguments].concat());
        ran.out + &ran.err
    };
    let (old, new) = ("web-1.0.0", "web-1.2.0+build.7");
    fleet("tag: 1.0.0", "");
    assert!(shown(&[]).contains(old), "{}", shown(&[]));
    assert!(shown(&["--offline"]).contains(old), "{}", shown(&["--offline"]));
    fleet("tag: 1.2.0_build.7", "");
    let unknown = shown(&["--offline"]);
    assert!(
        unknown.contains("it is not kept on this machine (offline)"),
        "{unknown}"
    );
    fleet("tag: 1.0.0", layer);
    let unknown = shown(&["--offline"]);
    assert!(unknown.contains("not kept on this machine"), "{unknown}");
    assert!(shown(&[]).contains(old), "{}", shown(&[]));
    assert!(shown(&["--offline"]).contains(old), "{}", shown(&["--offline"]));
    fleet("semver: 1.x", layer);
    assert!(shown(&["--offline"]).contains(old), "{}", shown(&["--offline"]));
    assert!(shown(&[]).contains(new), "{}", shown(&[]));
    assert!(shown(&["--offline"]).contains(new), "{}", shown(&["--offline"]));
    // Of a range, the registry is asked which version that is, and not for its chart again.
    let layers = || {
        let requests = registry.requests();
        requests
            .iter()
            .filter(|request| request.target.contains("/blobs/"))
            .count()
    };
    let before = layers();
    assert!(before > 0);
    assert!(shown(&[]).contains(new), "{}", shown(&[]));
    assert_eq!(layers(), before);
    // What it pins is what is read, not the newest one of the tag that is beside it.
    fleet("tag: 1.0.0, digest: 'sha256:00'", layer);
    assert!(!shown(&["--offline"]).contains(old), "{}", shown(&["--offline"]));
    drop(registry);
    fleet("tag: 1.0.0", layer);
    assert!(shown(&[]).contains(old), "{}", shown(&[]));
}

/// A cluster that applies a file of objects.
fn write_fleet(bench: &Bench, manifests: &str) {
    bench.write("fleet/apps/release.yaml", manifests);
    bench.write(
        "fleet/cluster/flux.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\n\
         spec: {interval: 1m, url: https://git.example.com/fleet.git}\n---\n\
         apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system, namespace: flux-system}\n\
         spec: {interval: 1m, path: ./cluster, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}\n---\n\
         apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n\
         spec: {interval: 1m, path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}\n",
    );
}

/// A repository with a password; its archives may be at another host.
fn repository(archives: Arc<dyn Fn(&str) -> String + Send + Sync>) -> StubHttp {
    StubHttp::start(move |request| {
        if request.login() != Some(("bob".to_owned(), "s3cret".to_owned())) {
            return Reply::text(401, "who are you?");
        }
        match &*request.path {
            "/charts/index.yaml" => {
                let entry = |version: &str, digest: &str| {
                    let url = archives(version);
                    format!("  - {{name: web, version: {version}, digest: {digest}, urls: [{url:?}]}}\n")
                };
                let good = sha256(&archive("1.0.0"));
                Reply::text(
                    200,
                    &format!(
                        "apiVersion: v1\nentries:\n  web:\n{}{}",
                        entry("1.0.0", &good),
                        entry("1.1.0", &"0".repeat(64))
                    ),
                )
            }
            path => match path
                .strip_prefix("/charts/web-")
                .and_then(|path| path.strip_suffix(".tgz"))
            {
                Some(version) => Reply::bytes(200, "application/gzip", archive(version)),
                None => Reply::status(404),
            },
        }
    })
}

fn url(stub: &StubHttp, path: &str) -> String {
    format!("http://{}/{path}", stub.address())
}

fn password(bench: &Bench) -> String {
    let path = bench.write("password", "s3cret\n");
    path.display().to_string()
}

#[test]
fn a_chart_of_a_repository_is_found_in_its_index_and_compared_with_its_digest() {
    let bench = Bench::new();
    let stub = repository(Arc::new(|version| format!("web-{version}.tgz")));
    let (url, password) = (url(&stub, "charts/"), password(&bench));
    let login = ["--repo", &url, "--username", "bob", "--password-file", &password];
    let out = rendered(&bench, &[&["a", "web", "--version", "1.0"][..], &login].concat());
    assert!(out.contains("name: a-1.0.0\n"), "{out}");
    let error = refused(&bench, &[&["a", "web"][..], &login].concat());
    assert!(
        error.contains("web-1.1.0.tgz is not the archive that the index names"),
        "{error}"
    );
    let error = refused(&bench, &[&["a", "web", "--version", "7.x"][..], &login].concat());
    assert!(error.contains("chart \"web\" version \"7.x\" not found in"), "{error}");
    let error = refused(&bench, &["a", "web", "--repo", &url]);
    assert!(
        error.contains("is not a valid chart repository or cannot be reached") && error.contains("401"),
        "{error}"
    );
}

#[test]
fn the_login_of_a_repository_is_not_for_the_host_that_its_index_names() {
    let bench = Bench::new();
    let other = StubHttp::start(|_| Reply::bytes(200, "application/gzip", archive("1.0.0")));
    let at = url(&other, "web.tgz");
    let stub = repository(Arc::new(move |_| at.clone()));
    let (url, password) = (url(&stub, "charts"), password(&bench));
    let login = ["--repo", &url, "--username", "bob", "--password-file", &password];
    let arguments = [&["a", "web", "--version", "1.0.0"][..], &login].concat();
    rendered(&bench, &arguments);
    rendered(&bench, &[&arguments[..], &["--pass-credentials"]].concat());
    let logins: Vec<bool> = other
        .requests()
        .iter()
        .map(|request| request.login().is_some())
        .collect();
    assert_eq!(logins, [false, true]);
}

/// `~/.netrc` counts for the host that it names. A host that the index names does not get the
/// login, whatever the flags.
#[test]
fn the_login_of_netrc_is_for_the_repository_only() {
    let bench = Bench::new();
    let other = StubHttp::start(|_| Reply::bytes(200, "application/gzip", archive("1.0.0")));
    let at = url(&other, "web.tgz");
    let stub = repository(Arc::new(move |_| at.clone()));
    let address = url(&stub, "charts");
    let arguments = [
        "a",
        "web",
        "--version",
        "1.0.0",
        "--repo",
        &address,
        "--pass-credentials",
    ];
    let netrc = |text: &str| fs::write(bench.home.path().join(".netrc"), text).unwrap();
    netrc("machine charts.example.com login bob password s3cret\ndefault login bob password s3cret\n");
    let error = refused(&bench, &arguments);
    assert!(error.contains("401") && !error.contains("s3cret"), "{error}");
    assert!(stub.requests().iter().all(|request| request.login().is_none()));
    netrc("machine 127.0.0.1 login bob password s3cret\n");
    rendered(&bench, &arguments);
    let logins: Vec<bool> = other
        .requests()
        .iter()
        .map(|request| request.login().is_some())
        .collect();
    assert_eq!(logins, [false]);
    // What the user says counts more.
    let wrong = bench.write("wrong", "wrong\n").display().to_string();
    let error = refused(
        &bench,
        &[&arguments[..], &["--username", "bob", "--password-file", &wrong]].concat(),
    );
    assert!(error.contains("401"), "{error}");
}

/// A program of the oldest kind of attack: an archive that is small, and large when it is unpacked.
#[test]
fn an_archive_that_swells_is_refused() {
    let bench = Bench::new();
    let zeros = vec![b' '; 120 << 20];
    let chart = b"apiVersion: v2\nname: web\nversion: 1.0.0\n";
    let bomb = tarball::archive(&[("web/Chart.yaml", &chart[..]), ("web/files/zeros", &zeros)]);
    bench.write("bomb.tgz", &bomb);
    let error = refused(&bench, &["bomb.tgz"]);
    assert!(error.contains("unable to load chart archive"), "{error}");
    assert!(!Path::new(&bench.path("zeros")).exists());
}

/// A schema that is at an https URL is fetched from hosts that the user allows, with what it refers to in turn.
#[test]
fn schemas_are_fetched_from_allowed_hosts_only() {
    let Some(tls) = Certificates::make() else { return };
    let bench = bench();
    let server = StubHttp::with(Some(tls.server_config(false)), |request| match &*request.path {
        "/values.json" => Reply::text(
            200,
            r#"{"properties": {"replicas": {"$ref": "defs/count.json#/definitions/count"}}}"#,
        ),
        "/defs/count.json" => Reply::text(200, r#"{"definitions": {"count": {"type": "integer", "maximum": 3}}}"#),
        _ => Reply::status(404),
    });
    let host = format!("localhost:{}", server.address().port());
    let base = format!("https://{host}/");
    let schema = |path: &str| {
        bench.write(
            "web/values.schema.json",
            json!({"$ref": format!("{base}{path}")}).to_string(),
        );
    };
    schema("values.json");
    let ca = bench.write("ca.crt", &tls.ca).display().to_string();
    let error = refused(&bench, &["web", "web"]);
    assert!(
        error.contains(&format!(r#"failing loading "{base}values.json""#)),
        "{error}"
    );
    assert!(
        error.ends_with(&format!("to fetch it from there: --schema-host {host}\n")),
        "{error}"
    );
    assert_eq!(server.count(), 0);

    let allowed = ["web", "web", "--schema-host", &host, "--ca-file", &ca];
    assert!(rendered(&bench, &allowed).contains("replicas: 1"));
    assert_eq!(server.count(), 2, "each schema once");
    let error = refused(&bench, &[&allowed[..], &["--set", "replicas=4"]].concat());
    assert!(error.contains("- at '/replicas': maximum: got 4, want 3"), "{error}");

    // One that is written otherwise than its URL is: fetched once, too.
    server.clear();
    let written = base.replace("localhost", "LOCALHOST");
    bench.write(
        "web/values.schema.json",
        json!({"$ref": format!("{written}values.json")}).to_string(),
    );
    assert!(rendered(&bench, &allowed).contains("replicas: 1"));
    assert_eq!(server.count(), 2);
    schema("values.json");

    // Allowed is a host, not what it leads to.
    let error = refused(&bench, &["web", "web", "--schema-host", "example.com"]);
    assert!(error.contains("failing loading"), "{error}");
    schema("none.json");
    let error = refused(&bench, &allowed);
    assert!(
        error.contains(&format!("failed to fetch the schema {base}none.json: 404")),
        "{error}"
    );
}
