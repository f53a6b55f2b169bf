//! HelmReleases of a fleet with charts of HTTP repositories: what is asked for, and with which login.

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::digests::sha256;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tarball;
use bumpwright_testkit::tls::Certificates;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A chart that installs a ConfigMap with its name and version.
fn archive(name: &str, version: &str) -> Vec<u8> {
    let metadata = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    let template =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Chart.Name }}-{{ .Chart.Version }}\"}\ndata: {}\n";
    let (head, map) = (format!("{name}/Chart.yaml"), format!("{name}/templates/map.yaml"));
    tarball::archive(&[
        (head.as_str(), metadata.as_bytes()),
        (map.as_str(), template.as_bytes()),
    ])
}

/// The answer of a repository at `/charts` with version 1.0.0 of the charts.
fn answer(request: &Request, charts: &[&str]) -> Reply {
    if request.path == "/charts/index.yaml" {
        let entries = charts.iter().map(|name| {
            format!("  {name}:\n  - name: {name}\n    version: 1.0.0\n    urls:\n    - {name}-1.0.0.tgz\n")
        });
        let index = format!("apiVersion: v1\nentries:\n{}", entries.collect::<String>());
        return Reply::text(200, &index);
    }
    let file = request.path.strip_prefix("/charts/");
    match file.and_then(|file| file.strip_suffix("-1.0.0.tgz")) {
        Some(name) => Reply::bytes(200, "application/gzip", archive(name, "1.0.0")),
        None => Reply::status(404),
    }
}

/// A fleet with the objects, and with a release of each chart in the HelmRepository `all`.
fn write_fleet(bench: &Bench, objects: &[Json], charts: &[&str], version: &str) {
    let releases = charts.iter().map(|name| {
        let chart = json!({"chart": name, "version": version, "sourceRef": {"kind": "HelmRepository", "name": "all"}});
        json!({
            "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": name, "namespace": "apps"}, "spec": {"interval": "1h", "chart": {"spec": chart}},
        })
    });
    let manifests = objects.iter().cloned().chain(releases);
    let manifests: Vec<String> = manifests.map(|object| object.to_string()).collect();
    bench.write("fleet/apps/objects.yaml", manifests.join("\n---\n"));
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

fn repository(url: &str, more: Json) -> Json {
    let mut spec = json!({"interval": "1h", "url": url});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository",
        "metadata": {"name": "all", "namespace": "apps"}, "spec": spec,
    })
}

fn secret(name: &str, data: Json) -> Json {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "apps"}, "stringData": data})
}

/// What `fleet` prints, both streams.
fn shown(bench: &Bench) -> String {
    let ran = bench.run(&["fleet", "--path", "fleet", "fleet/cluster", "-o", "yaml"]);
    ran.out + &ran.err
}

fn is_bob(request: &Request) -> bool {
    request.login() == Some(("bob".to_owned(), "s3cret".to_owned()))
}

/// How often the server was asked for a path below `/charts`.
fn asked(server: &StubHttp, path: &str) -> usize {
    let requests = server.requests();
    requests
        .iter()
        .filter(|request| request.path == format!("/charts/{path}"))
        .count()
}

/// HelmReleases are built on several threads, and two HelmRepositories may have one address.
#[test]
fn the_index_of_a_repository_is_fetched_once_for_all_charts() {
    const CHARTS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
    let server = StubHttp::start(|request| answer(request, &CHARTS));
    let bench = Bench::new();
    let mut other = repository(&server.url("charts"), json!({}));
    other["metadata"]["name"] = json!("other");
    let objects = [repository(&server.url("charts"), json!({})), other];
    write_fleet(&bench, &objects, &CHARTS, "1.x");
    let text = bench.read("fleet/apps/objects.yaml");
    bench.write(
        "fleet/apps/objects.yaml",
        text.replacen(
            r#""kind":"HelmRepository","name":"all""#,
            r#""kind":"HelmRepository","name":"other""#,
            1,
        ),
    );
    assert_ne!(bench.read("fleet/apps/objects.yaml"), text);
    let shown = shown(&bench);
    for chart in CHARTS {
        assert!(shown.contains(&format!("{chart}-1.0.0")), "{chart}: {shown}");
        assert_eq!(asked(&server, &format!("{chart}-1.0.0.tgz")), 1, "{chart}");
    }
    assert_eq!(asked(&server, "index.yaml"), 1);
}

#[test]
fn the_archive_of_a_range_is_fetched_once_unless_the_index_has_another_one() {
    let is_other = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&is_other);
    let server = StubHttp::start(move |request| {
        let other = archive("web", "1.0.0-other");
        match (request.path.as_str(), now.load(Ordering::SeqCst)) {
            ("/charts/index.yaml", true) => {
                let digest = sha256(&other);
                let entry = format!("{{name: web, version: 1.0.0, digest: {digest:?}, urls: [web-1.0.0.tgz]}}");
                Reply::text(200, &format!("apiVersion: v1\nentries:\n  web:\n  - {entry}\n"))
            }
            ("/charts/web-1.0.0.tgz", true) => Reply::bytes(200, "application/gzip", other),
            _ => answer(request, &["web"]),
        }
    });
    let bench = Bench::new();
    let objects = [repository(&server.url("charts"), json!({}))];
    for (version, indexes, archives) in [("1.x", 1, 1), ("1.x", 2, 1), ("", 3, 1), ("1.0.0", 3, 1)] {
        write_fleet(&bench, &objects, &["web"], version);
        let shown = shown(&bench);
        assert!(shown.contains("web-1.0.0"), "{version}: {shown}");
        let asked = (asked(&server, "index.yaml"), asked(&server, "web-1.0.0.tgz"));
        assert_eq!(asked, (indexes, archives), "{version}");
    }
    is_other.store(true, Ordering::SeqCst);
    write_fleet(&bench, &objects, &["web"], "1.x");
    for _ in 0..2 {
        let shown = shown(&bench);
        assert!(shown.contains("web-1.0.0-other"), "{shown}");
        assert_eq!(asked(&server, "web-1.0.0.tgz"), 2);
    }
}

/// An index of 30 MB, in the form that Helm writes, whose newest version of `web` is 1.0.0.
fn large_index() -> String {
    let mut index = "apiVersion: v1\nentries:\n".to_owned();
    for chart in ["db", "web"] {
        index.push_str(&format!("  {chart}:\n"));
        for version in 0..25_000 {
            let version = if version == 0 {
                "1.0.0".to_owned()
            } else {
                format!("0.{version}.0")
            };
            index.push_str(&format!(
                "  - apiVersion: v2\n    created: \"2026-01-01T00:00:00.123456789Z\"\n    description: {}\n    digest: \"\"\n    \
                 name: {chart}\n    urls:\n    - https://charts.example.com/a/long/path/{chart}-{version}.tgz\n    - {chart}-{version}.tgz\n    \
                 version: {version}\n",
                "what it is for ".repeat(27).trim_end()
            ));
        }
    }
    // The archives are here.
    index.replace("https://charts.example.com/a/long/path/web-1.0.0.tgz", "web-1.0.0.tgz")
}

#[test]
fn an_index_of_30_mb_takes_60_mb_of_memory_at_most() {
    let index = large_index();
    assert!(index.len() > 30_000_000, "{}", index.len());
    let large = StubHttp::start(move |request| match request.path.as_str() {
        "/charts/index.yaml" => Reply::text(200, &index),
        _ => answer(request, &[]),
    });
    let small = StubHttp::start(|request| answer(request, &["web"]));
    let peak = |server: &StubHttp| {
        let bench = Bench::new();
        write_fleet(&bench, &[repository(&server.url("charts"), json!({}))], &["web"], "1.x");
        let (ran, peak) = bench.weighed(&["fleet", "--path", "fleet", "fleet/cluster", "-o", "names"]);
        assert!(ran.out.contains("web-1.0.0"), "{}{}", ran.out, ran.err);
        peak
    };
    let (least, most) = (peak(&small), peak(&large));
    assert!(most < least + 60_000, "{most} KiB, with a small index {least} KiB");
}

#[test]
fn a_repository_with_a_password_and_client_certificates_is_reached_by_secrets_of_the_fleet() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let server = StubHttp::with(Some(certificates.server_config(true)), |request| {
        if is_bob(request) {
            answer(request, &["web"])
        } else {
            Reply::status(401)
        }
    });
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let login = secret("login", json!({"username": "bob", "password": "s3cret"}));
    let pair = json!({
        "ca.crt": text(&certificates.ca), "tls.crt": text(&certificates.client.0), "tls.key": text(&certificates.client.1),
    });
    let tls = secret("tls", pair);
    let references = json!({"secretRef": {"name": "login"}, "certSecretRef": {"name": "tls"}});
    let repository = repository(&server.url("charts"), references);
    for (secrets, is_reached) in [
        (vec![], false),
        (vec![login.clone()], false),
        (vec![tls.clone()], false),
        (vec![login.clone(), tls], true),
    ] {
        let bench = Bench::new();
        let objects = [vec![repository.clone()], secrets].concat();
        write_fleet(&bench, &objects, &["web"], "1.x");
        let shown = shown(&bench);
        assert_eq!(
            shown.contains("web-1.0.0"),
            is_reached,
            "{} objects: {shown}",
            objects.len()
        );
    }
    // Flux refuses half a pair, and so is it said here.
    let bench = Bench::new();
    let half = secret(
        "tls",
        json!({"ca.crt": text(&certificates.ca), "tls.crt": text(&certificates.client.0)}),
    );
    write_fleet(&bench, &[repository, login, half], &["web"], "1.x");
    let checked = bench.run(&["fleet", "check", "--path", "fleet", "fleet/cluster"]).out;
    let line = checked
        .lines()
        .find(|line| line.contains("missing-chart"))
        .unwrap_or_default();
    assert!(
        line.contains("HelmRepository/apps/all") && line.contains("tls.key"),
        "{checked}"
    );
}

/// `~/.netrc` is what the user has where the Secret of a HelmRepository is not in the fleet. A host that the repository
/// redirects to, or that its index names, does not get the login.
#[test]
fn the_login_of_netrc_is_used_where_the_fleet_has_none() {
    let other = StubHttp::start(|request| match request.path.as_str() {
        "/charts/index.yaml" => answer(request, &["web"]),
        _ => Reply::bytes(200, "application/gzip", archive("web", "1.0.0")),
    });
    let (index, web) = (other.url("charts/index.yaml"), other.url("web.tgz"));
    let server = StubHttp::start(move |request| match request.path.as_str() {
        _ if !is_bob(request) => Reply::status(401),
        "/moved/index.yaml" => Reply::status(302).header("Location", &index),
        "/charts/index.yaml" => {
            let entry = format!("{{name: web, version: 1.0.0, urls: [{web:?}]}}");
            Reply::text(200, &format!("apiVersion: v1\nentries:\n  web:\n  - {entry}\n"))
        }
        "/moved/web-1.0.0.tgz" => Reply::bytes(200, "application/gzip", archive("web", "1.0.0")),
        _ => Reply::status(404),
    });
    let more = json!({"secretRef": {"name": "absent"}, "passCredentials": true});
    for (path, netrc, is_rendered) in [
        ("charts", "", false),
        ("charts", "default login bob password s3cret\n", false),
        ("charts", "machine localhost login bob password s3cret\n", true),
        ("moved", "machine localhost login bob password s3cret\n", true),
    ] {
        let bench = Bench::new();
        std::fs::write(bench.home.path().join(".netrc"), netrc).unwrap();
        write_fleet(&bench, &[repository(&server.url(path), more.clone())], &["web"], "1.x");
        let shown = shown(&bench);
        assert_eq!(shown.contains("web-1.0.0"), is_rendered, "{path} {netrc}: {shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }
    assert_eq!(other.count(), 2);
    assert!(other.requests().iter().all(|request| request.login().is_none()));
    // A Secret of the fleet counts more.
    let bench = Bench::new();
    std::fs::write(
        bench.home.path().join(".netrc"),
        "machine localhost login bob password s3cret\n",
    )
    .unwrap();
    let wrong = secret("absent", json!({"username": "bob", "password": "wrong"}));
    write_fleet(
        &bench,
        &[repository(&server.url("charts"), more), wrong],
        &["web"],
        "1.x",
    );
    let shown = shown(&bench);
    assert!(!shown.contains("web-1.0.0"), "{shown}");
}

/// Flux has no chart from such addresses, whether it can be reached here or not.
#[test]
fn an_address_that_is_not_of_http_is_an_error() {
    let server = StubHttp::start(|request| match request.path.as_str() {
        "/charts/index.yaml" => Reply::text(
            200,
            "apiVersion: v1\nentries:\n  web:\n  - {name: web, version: 1.0.0, urls: ['file:///srv/web-1.0.0.tgz']}\n",
        ),
        _ => Reply::status(404),
    });
    let in_index = server.url("charts");
    for (url, flags, wanted) in [
        (in_index.as_str(), vec![], "file:///srv/web-1.0.0.tgz"),
        ("file:///srv/charts", vec![], "file:///srv/charts"),
        ("file:///srv/charts", vec!["--offline"], "file:///srv/charts"),
    ] {
        let bench = Bench::new();
        write_fleet(&bench, &[repository(url, json!({}))], &["web"], "1.x");
        let arguments = [vec!["fleet", "check", "--path", "fleet", "fleet/cluster"], flags].concat();
        let ran = bench.run(&arguments);
        let line = ran
            .out
            .lines()
            .find(|line| line.contains("-chart]"))
            .unwrap_or_default();
        assert!(
            line.contains("error[missing-chart]") && line.contains(wanted),
            "{}{}",
            ran.out,
            ran.err
        );
        assert_eq!(ran.code, 1, "{}", ran.out);
    }
}
