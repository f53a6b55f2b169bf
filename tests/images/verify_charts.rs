//! `bumpwright.dev/verify: build` with charts of other sources: a registry and a chart repository, both with a
//! password; artifacts of other GitRepositories and Buckets.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::digests::sha256;
use bumpwright_testkit::registry::{Access, Options, Registry};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tarball::archive;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{
    AUTOMATION, BUCKET, EVENT, GIT_REPOSITORY, HELM_CHART, HELM_REPOSITORY, KUSTOMIZATION, OCI_REPOSITORY, SECRET,
    World, git_repository,
};
use serde_json::{Value, json};

use super::verify::{Folders, kustomization};

const LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// A chart that renders with no value `tag: 1.2.0`; nor does its version 1.2.0.
fn chart(version: &str) -> Vec<u8> {
    let metadata = format!("{{apiVersion: v2, name: web, version: {version}}}");
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {tag: {{ .Values.tag | quote }}}\n\
                    {{ if or (eq .Values.tag \"1.2.0\") (eq .Chart.Version \"1.2.0\") }}{{ fail \"not 1.2.0\" }}{{ end }}\n";
    archive(&[
        ("web/Chart.yaml", metadata.as_bytes()),
        ("web/values.yaml", b"tag: none\n"),
        ("web/templates/map.yaml", template.as_bytes()),
    ])
}

fn registry() -> Option<Registry> {
    let access = Access::Password("ann", "hunter22");
    let registry = Registry::with(&Options {
        access,
        ..Options::default()
    })?;
    let images = registry.images();
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        let archive = chart(version);
        let (config, layer) = (images.blob("charts/web", b"{}"), images.blob("charts/web", &archive));
        let manifest = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": config, "size": 2},
            "layers": [{"mediaType": LAYER, "digest": layer, "size": archive.len()}],
        });
        images.tag("charts/web", version, &images.manifest("charts/web", &manifest));
    }
    Some(registry)
}

fn repository() -> StubHttp {
    StubHttp::start(|request| {
        if request.login() != Some(("ann".to_owned(), "hunter22".to_owned())) {
            return Reply::status(401);
        }
        let archive = chart("1.0.0");
        match &*request.path {
            "/charts/index.yaml" => Reply::text(
                200,
                &format!(
                    "apiVersion: v1\nentries:\n  web:\n  - {{name: web, version: 1.0.0, digest: {:?}, urls: [web.tgz]}}\n",
                    sha256(&archive).trim_start_matches("sha256:")
                ),
            ),
            "/charts/web.tgz" => Reply::bytes(200, "application/gzip", archive),
            _ => Reply::status(404),
        }
    })
}

fn release(namespace: &str, name: &str, chart: &Value, tag: &str) -> String {
    let chart = chart.as_object().unwrap().iter();
    let chart: Vec<String> = chart.map(|(key, value)| format!("{key}: {value}")).collect();
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
         interval: 1h\n  {}\n  values:\n    tag: 1.0.0{tag}\n",
        chart.join("\n  ")
    )
}

/// A chart of a HelmRepository.
fn of(name: &str, namespace: &str) -> Value {
    let source = json!({"kind": "HelmRepository", "name": name, "namespace": namespace});
    json!({"chart": {"spec": {"chart": "web", "version": "1.0.0", "sourceRef": source}}})
}

/// `server` in the repository is what a user would like to be asked with the login of the cluster's `http`.
#[test]
fn charts_are_fetched_with_the_logins_of_the_cluster_from_its_addresses() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(registry) = registry() else { return };
    let (namespace, other) = ("verify-charts", "verify-charts-other");
    let (server, thief) = (repository(), StubHttp::start(|_| Reply::status(404)));
    let neighbour = World::new(cluster, other);
    let marker = format!(" # {{\"$imagepolicy\": \"{namespace}:one:tag\"}}");
    let mut ranged = of("http", namespace);
    ranged["chart"]["spec"]["version"] = json!("1.x");
    let releases = [
        ("http", of("http", namespace)),
        ("ranged", ranged),
        ("oci", of("oci", namespace)),
        ("foreign", of("http", other)),
        ("moved", of("moved", namespace)),
    ];
    let releases: Vec<String> = releases
        .iter()
        .map(|(name, chart)| release(namespace, name, chart, &marker))
        .collect();
    let by_reference = json!({"chartRef": {"kind": "OCIRepository", "name": "image"}});
    let image = format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: image, namespace: {namespace}}}\nspec:\n  \
         interval: 1h\n  url: oci://{}/charts/web\n  insecure: true\n  secretRef: {{name: docker}}\n  ref:\n    tag: 1.0.0{marker}\n",
        registry.host()
    );
    let moved = format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: moved, namespace: {namespace}}}\nspec:\n  \
         interval: 1h\n  url: {}\n  secretRef: {{name: basic}}\n",
        thief.url("charts")
    );
    let image_release = release(namespace, "image", &by_reference, "");
    let all = [&releases[..], &[image, moved, image_release]].concat().join("---\n");
    let files = [Change::File("app/all.yaml", all.as_bytes())];
    let annotations = json!({"bumpwright.dev/verify": "build"});
    let folders = Folders::with(cluster, namespace, &annotations, &[], &files);
    let world = &folders.world;
    let login = json!({"type": "Opaque", "stringData": {"username": "ann", "password": "hunter22"}});
    let docker = json!({"auths": {registry.host(): {"username": "ann", "password": "hunter22"}}});
    world.put(SECRET, "basic", login.clone());
    neighbour.put(SECRET, "basic", login);
    world.put(
        SECRET,
        "docker",
        json!({"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": docker.to_string()}}),
    );
    let basic = json!({"name": "basic"});
    let http = json!({"interval": "1h", "url": server.url("charts"), "secretRef": basic});
    world.add(HELM_REPOSITORY, "http", http.clone());
    world.add(HELM_REPOSITORY, "moved", http.clone());
    neighbour.add(HELM_REPOSITORY, "http", http);
    let oci = format!("oci://{}/charts", registry.host());
    world.add(
        HELM_REPOSITORY,
        "oci",
        json!({"interval": "1h", "type": "oci", "insecure": true, "url": oci, "secretRef": basic}),
    );
    world.add(
        OCI_REPOSITORY,
        "image",
        json!({
            "interval": "1h", "insecure": true, "url": format!("{oci}/web"), "ref": {"tag": "1.0.0"}, "secretRef": {"name": "docker"},
        }),
    );
    let source = json!({"kind": "GitRepository", "name": "app"});
    world.add(KUSTOMIZATION, "app", kustomization("./app", &source));
    folders.choose("1.2.0");
    let message = world.ready(AUTOMATION, "all", "False", |reason, _| reason == "VerifyFailed");
    for name in ["http", "oci", "image"] {
        let part = format!("HelmRelease {namespace}/{name} of Kustomization {namespace}/app would fail");
        assert!(message.contains(&part), "{part}: {message}");
    }
    assert!(!message.contains("foreign") && !message.contains("moved"), "{message}");
    folders.choose("1.1.0");
    let is_pushed = || String::from_utf8_lossy(&folders.repo.show("main", "app/all.yaml")).contains("tag: 1.1.0");
    until("the commit is pushed", is_pushed);
    let says = |text: &str| {
        let events = world.list(EVENT);
        events
            .iter()
            .any(|event| event["message"].as_str().is_some_and(|message| message.contains(text)))
    };
    for note in [
        format!(
            "HelmRelease {namespace}/foreign of Kustomization {namespace}/app: what it installs is not seen: chart web: HelmRepository/{other}/http \
             is in another namespace than the automation: its login is not used"
        ),
        format!("HelmRepository/{namespace}/moved has another spec.url in the cluster"),
    ] {
        until(&note, || says(&note));
    }
    let unseen = |name: &str| {
        format!("HelmRelease {namespace}/{name} of Kustomization {namespace}/app: what it installs is not")
    };
    assert!(["http", "oci", "image"].iter().all(|name| !says(&unseen(name))));
    assert!(!says("hunter22"));
    assert_eq!(thief.requests().len(), 0);
    // Each of several verifications has fetched two charts, and the index that both are in once.
    let asked = |path: &str| server.requests().iter().filter(|request| request.path == path).count();
    let (indexes, archives) = (asked("/charts/index.yaml"), asked("/charts/web.tgz"));
    assert!(indexes < archives, "{indexes} {archives}");
}

/// An artifact with the chart in `charts/web`.
fn artifact() -> Vec<u8> {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {tag: {{ .Values.tag | quote }}}\n\
                    {{ if eq .Values.tag \"1.2.0\" }}{{ fail \"not 1.2.0\" }}{{ end }}\n";
    archive(&[
        ("charts/web/Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}"),
        ("charts/web/values.yaml", b"tag: none\n"),
        ("charts/web/templates/map.yaml", template.as_bytes()),
    ])
}

/// The status of a source that has this artifact at a server.
pub fn status(server: &StubHttp, bytes: &[u8]) -> Value {
    json!({"artifact": {
        "path": "charts.tar.gz", "url": server.url("charts.tar.gz"), "revision": "main@sha1:0000000000000000000000000000000000000000",
        "digest": sha256(bytes), "size": bytes.len(), "lastUpdateTime": "2026-01-02T03:04:05Z",
    }})
}

/// A chart in the files of a source.
fn in_files(kind: &str, name: &str, namespace: &str) -> Value {
    let source = json!({"kind": kind, "name": name, "namespace": namespace});
    json!({"chart": {"spec": {"chart": "./charts/web", "sourceRef": source}}})
}

/// Sources that only the cluster has, one that the files have as well, one that they would move, and one of a neighbour
/// that takes a login.
#[test]
fn charts_in_the_files_of_other_sources_come_from_their_artifacts() {
    let Some(cluster) = Cluster::shared() else { return };
    let (namespace, other) = ("verify-artifacts", "verify-artifacts-other");
    let bytes = artifact();
    let sent = bytes.clone();
    let server = StubHttp::start(move |_| Reply::bytes(200, "application/gzip", sent.clone()));
    let neighbour = World::new(cluster, other);
    let marker = format!(" # {{\"$imagepolicy\": \"{namespace}:one:tag\"}}");
    let releases = [
        ("git", in_files("GitRepository", "charts", namespace)),
        ("bucket", in_files("Bucket", "charts", namespace)),
        ("chart", json!({"chartRef": {"kind": "HelmChart", "name": "web"}})),
        ("foreign", in_files("GitRepository", "charts", other)),
        ("moved", in_files("GitRepository", "moved", namespace)),
        ("absent", in_files("GitRepository", "absent", namespace)),
    ];
    let releases: Vec<String> = releases
        .iter()
        .map(|(name, chart)| release(namespace, name, chart, &marker))
        .collect();
    let source = |kind: &str, name: &str, spec: &Value| {
        json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec,
        })
        .to_string()
            + "\n"
    };
    let git = |name: &str| git_repository(&format!("https://git.example.com/{name}.git"));
    let bucket = json!({"interval": "1h", "endpoint": "minio.example.com", "bucketName": "charts"});
    let sources = [
        source("Bucket", "charts", &bucket),
        source("GitRepository", "moved", &git("elsewhere")),
    ];
    let all = [&releases[..], &sources].concat().join("---\n");
    let files = [Change::File("app/all.yaml", all.as_bytes())];
    let folders = Folders::with(
        cluster,
        namespace,
        &json!({"bumpwright.dev/verify": "build"}),
        &[],
        &files,
    );
    let world = &folders.world;
    let with_artifact = |world: &World<'_>, kind, name: &str, spec: Value| {
        world.add(kind, name, spec);
        world.patch_status(kind, name, &status(&server, &bytes));
    };
    with_artifact(world, GIT_REPOSITORY, "charts", git("charts"));
    with_artifact(world, GIT_REPOSITORY, "moved", git("moved"));
    with_artifact(world, BUCKET, "charts", bucket);
    let mut private = git("charts");
    private["secretRef"] = json!({"name": "basic"});
    with_artifact(&neighbour, GIT_REPOSITORY, "charts", private);
    let of_git = json!({"kind": "GitRepository", "name": "charts"});
    world.add(
        HELM_CHART,
        "web",
        json!({"interval": "1h", "chart": "charts/web", "sourceRef": of_git}),
    );
    let source = json!({"kind": "GitRepository", "name": "app"});
    world.add(KUSTOMIZATION, "app", kustomization("./app", &source));
    folders.choose("1.2.0");
    let message = world.ready(AUTOMATION, "all", "False", |reason, _| reason == "VerifyFailed");
    for name in ["git", "bucket", "chart"] {
        let part = format!("HelmRelease {namespace}/{name} of Kustomization {namespace}/app would fail");
        assert!(message.contains(&part), "{part}: {message}");
    }
    for name in ["foreign", "moved", "absent"] {
        assert!(!message.contains(&format!("{namespace}/{name} ")), "{message}");
    }
    folders.choose("1.1.0");
    let is_pushed = || String::from_utf8_lossy(&folders.repo.show("main", "app/all.yaml")).contains("tag: 1.1.0");
    until("the commit is pushed", is_pushed);
    let says = |text: &str| {
        let events = world.list(EVENT);
        events
            .iter()
            .any(|event| event["message"].as_str().is_some_and(|message| message.contains(text)))
    };
    for note in [
        format!("GitRepository/{other}/charts is in another namespace than the automation: its login is not used"),
        format!("GitRepository/{namespace}/moved has another spec.url in the cluster"),
        format!("GitRepository/{namespace}/absent is not in the fleet"),
    ] {
        until(&note, || says(&note));
    }
    // Both sources have the same archive.
    assert_eq!(server.requests().len(), 1);
}
