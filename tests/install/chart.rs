//! `deploy/chart`: the real helm makes the objects of `bumpwright install` and of kustomize, refuses values that are
//! none, and installs, upgrades and uninstalls at a real API server.

mod server;
mod tenant;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value as Json, json};

use super::deploy::{deploy, exported, kustomized, objects, text};
use bumpwright_testkit::cli::{Bench, files};
use bumpwright_testkit::registry::Registry;

const DEPLOYMENT: &str = "Deployment flux-system/bumpwright";

fn chart() -> PathBuf {
    deploy().join("chart")
}

/// Values for every switch and every field.
fn everything() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install/chart/everything.yaml")
}

/// helm without a cluster, and without what its user has configured. None when it is missing.
fn helm() -> Option<Command> {
    let mut helm = Command::new(bumpwright_testkit::tool("helm")?);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HELM_")) {
        helm.env_remove(name);
    }
    let nowhere = std::env::temp_dir().join("bumpwright-no-helm");
    helm.env("KUBECONFIG", nowhere.join("kubeconfig"));
    for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        helm.env(name, &nowhere);
    }
    Some(helm)
}

fn said(out: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    )
}

/// What `helm template` says with values (`name=value`).
fn template(namespace: &str, values: &[&str]) -> Option<Output> {
    let mut helm = helm()?;
    helm.args(["template", "bumpwright", "--namespace", namespace])
        .arg(chart());
    for value in values {
        helm.args(["--set", value]);
    }
    Some(helm.output().unwrap())
}

fn read(out: &Output) -> BTreeMap<String, Json> {
    assert!(out.status.success(), "{}", said(out));
    objects(&String::from_utf8_lossy(&out.stdout))
}

pub(crate) fn rendered(namespace: &str, values: &[&str]) -> Option<BTreeMap<String, Json>> {
    template(namespace, values).map(|out| read(&out))
}

/// Without the annotation by which Helm leaves an object in the cluster.
fn plain(mut all: BTreeMap<String, Json>) -> BTreeMap<String, Json> {
    for object in all.values_mut() {
        let Some(annotations) = object["metadata"].get_mut("annotations").and_then(Json::as_object_mut) else {
            continue;
        };
        annotations.remove("helm.sh/resource-policy");
        if annotations.is_empty() {
            object["metadata"].as_object_mut().unwrap().remove("annotations");
        }
    }
    all
}

fn assert_same(rendered: BTreeMap<String, Json>, expected: &BTreeMap<String, Json>, values: &[&str]) {
    let rendered = plain(rendered);
    let names = |all: &BTreeMap<String, Json>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&rendered), names(expected), "{values:?}");
    for (name, object) in expected {
        assert_eq!(&rendered[name], object, "{name} with {values:?}");
    }
}

/// Values, and the flags of `install` that mean the same.
const FLAGS: &[(&str, &[&str], &[&str])] = &[
    (
        "flux-system",
        &[
            "createNamespace=true",
            "controllers.source=true",
            "controllers.kustomize=true",
            "webhooks.enabled=true",
        ],
        &["--components=all,webhooks"],
    ),
    (
        "flux-system",
        &[
            "createNamespace=true",
            "controllers.imageReflector=false",
            "controllers.imageAutomation=false",
            "controllers.source=true",
        ],
        &["--components=source"],
    ),
    ("flux-system", &["createNamespace=true"], &[]),
    ("flux-system", &["besideFlux=true"], &["--beside-flux"]),
    (
        "flux-system",
        &["besideFlux=true", "watchAllNamespaces=false"],
        &["--beside-flux", "--watch-all-namespaces=false"],
    ),
    (
        "flux-system",
        &[
            "besideFlux=true",
            "workloadIdentity=true",
            "promotion=true",
            "reviews=true",
            "ui.enabled=true",
            "ui.actions=true",
        ],
        &[
            "--beside-flux",
            "--workload-identity",
            "--promotion",
            "--ui",
            "--ui-actions",
            "--reviews",
        ],
    ),
    (
        "tenant",
        &[
            "besideFlux=true",
            "watchAllNamespaces=false",
            "workloadIdentity=true",
            "promotion=true",
            "reviews=true",
            "ui.enabled=true",
        ],
        &[
            "--namespace=tenant",
            "--beside-flux",
            "--watch-all-namespaces=false",
            "--workload-identity",
            "--promotion",
            "--ui",
            "--reviews",
        ],
    ),
    (
        "flux-system",
        &["besideFlux=true", "networkPolicy.create=false", "logLevel=debug"],
        &["--beside-flux", "--network-policy=false", "--log-level=debug"],
    ),
    (
        "flux-system",
        &["besideFlux=true", "controllers.imageAutomation=false"],
        &["--beside-flux", "--controllers=image-reflector"],
    ),
    (
        "flux-system",
        &["besideFlux=true", "controllers.imageReflector=false"],
        &["--beside-flux", "--controllers=image-automation"],
    ),
    (
        "images",
        &[
            "createNamespace=true",
            "workloadIdentity=true",
            "image.repository=registry.example.com:5000/ops/bumpwright",
            "image.tag=v9.9.9",
        ],
        &[
            "--namespace=images",
            "--workload-identity",
            "--image=registry.example.com:5000/ops/bumpwright:v9.9.9",
        ],
    ),
    (
        "flux-system",
        &[
            "besideFlux=true",
            "image.digest=sha256:4f8c2b7ad1e09365c8b1f0e2a7d9436b5e1c08f2937da64b0c5e8f1a2d3b4c59",
        ],
        &[
            "--beside-flux",
            "--image=ghcr.io/bumpwright/bumpwright@sha256:4f8c2b7ad1e09365c8b1f0e2a7d9436b5e1c08f2937da64b0c5e8f1a2d3b4c59",
        ],
    ),
];

#[test]
fn values_make_what_the_flags_of_install_make() {
    for (namespace, values, flags) in FLAGS {
        let Some(rendered) = rendered(namespace, values) else {
            return;
        };
        assert_same(rendered, &exported(flags), values);
    }
}

/// Only the namespace is not there, since `helm install --create-namespace` makes it.
#[test]
fn the_default_is_the_installation() {
    let Some(rendered) = rendered("flux-system", &[]) else {
        return;
    };
    let mut expected = exported(&[]);
    assert!(expected.remove("Namespace /flux-system").is_some());
    assert_same(rendered, &expected, &[]);
}

/// Values, and the kustomization over `deploy/` that means the same.
const COMPONENTS: &[(&[&str], &str)] = &[
    (
        &["controllers.source=true"],
        "resources: [DEPLOY]\ncomponents: [DEPLOY/source-controller]\n",
    ),
    (
        &["webhooks.enabled=true"],
        "resources: [DEPLOY]\ncomponents: [DEPLOY/webhooks]\n",
    ),
    (
        &["shards.replicas=3"],
        "resources: [DEPLOY]\ncomponents: [DEPLOY/shards]\n",
    ),
    (
        &[
            "controllers.source=true",
            "controllers.kustomize=true",
            "webhooks.enabled=true",
            "workloadIdentity=true",
        ],
        "resources: [DEPLOY]\ncomponents: [DEPLOY/workload-identity, DEPLOY/source-controller, \
         DEPLOY/kustomize-controller, DEPLOY/webhooks]\n",
    ),
    (
        &[
            "podMonitor.create=true",
            "prometheusRule.create=true",
            "dashboard.create=true",
        ],
        "resources: [DEPLOY, DEPLOY/monitoring]\n",
    ),
];

#[test]
fn values_make_what_the_components_make() {
    for (values, kustomization) in COMPONENTS {
        let values = [&["createNamespace=true"][..], values].concat();
        let Some(expected) = kustomized(kustomization) else {
            return;
        };
        let Some(rendered) = rendered("flux-system", &values) else {
            return;
        };
        assert_same(rendered, &expected, &values);
    }
}

/// Without the kinds of images, their definitions and the rights to write them are not there.
#[test]
fn without_images_there_is_nothing_of_them() {
    let on = ["createNamespace=true", "controllers.source=true"];
    let off = ["controllers.imageReflector=false", "controllers.imageAutomation=false"];
    let values = [&on[..], &off].concat();
    let (Some(mut expected), Some(rendered)) = (rendered("flux-system", &on), rendered("flux-system", &values)) else {
        return;
    };
    expected = plain(expected);
    expected.retain(|name, _| !name.ends_with(".image.toolkit.fluxcd.io") && !name.contains("bumpwright-images"));
    let container = &mut expected.get_mut(DEPLOYMENT).unwrap()["spec"]["template"]["spec"]["containers"][0];
    let arguments = container["args"].as_array_mut().unwrap();
    arguments.retain(|one| *one != "--controllers=image-reflector,image-automation");
    assert_same(rendered, &expected, &values);
}

/// Beside Flux, the definitions of sources and Kustomizations are Flux's: Helm would take them from it.
#[test]
fn beside_flux_its_definitions_are_left_alone() {
    let values = [
        "besideFlux=true",
        "controllers.source=true",
        "controllers.kustomize=true",
    ];
    let components =
        "resources: [DEPLOY/beside-flux]\ncomponents: [DEPLOY/source-controller, DEPLOY/kustomize-controller]\n";
    let (Some(rendered), Some(mut expected)) = (rendered("flux-system", &values), kustomized(components)) else {
        return;
    };
    expected
        .retain(|name, _| !name.starts_with("CustomResourceDefinition ") || name.ends_with(".image.toolkit.fluxcd.io"));
    assert_same(rendered, &expected, &values);
}

/// For one namespace nothing is granted outside of it, whatever is switched on, and inside the same as for all.
#[test]
fn rights_for_one_namespace_are_of_that_namespace() {
    let on = [
        "controllers.source=true",
        "controllers.kustomize=true",
        "webhooks.enabled=true",
        "workloadIdentity=true",
        "promotion=true",
        "reviews=true",
    ];
    let one = ["watchAllNamespaces=false", "rbac.aggregate=false", "crds.install=false"];
    let (Some(wide), Some(narrow)) = (rendered("tenant", &on), rendered("tenant", &[&on[..], &one].concat())) else {
        return;
    };
    let outside: Vec<&String> = narrow.keys().filter(|name| !name.contains(" tenant/")).collect();
    assert!(outside.is_empty(), "{outside:?}");
    let mut compared = 0;
    for (name, role) in narrow.iter().filter(|(name, _)| name.starts_with("Role ")) {
        let Some(of_all) = wide.get(&format!("ClusterRole /{}", text(role, "/metadata/name"))) else {
            assert_eq!(name, "Role tenant/bumpwright-leases");
            continue;
        };
        let mut rules = of_all["rules"].as_array().unwrap().clone();
        rules.retain(|rule| rule["resources"] != json!(["namespaces"]));
        assert_eq!(role["rules"], Json::Array(rules), "{name}");
        compared += 1;
    }
    assert_eq!(compared, 7);
    let admin = &narrow["RoleBinding tenant/bumpwright-kustomizations"];
    assert_eq!(text(admin, "/roleRef/name"), "cluster-admin");
}

/// Helm reads no file outside of the chart, so it has copies; `BLESS=1` copies again.
#[test]
fn files_are_those_of_deploy() {
    let bless = std::env::var_os("BLESS").is_some();
    let of = |folder: &Path| -> BTreeMap<String, Vec<u8>> {
        let mut all = files(folder);
        all.retain(|name, _| name.contains(".toolkit.fluxcd.io_") && !name.contains('/'));
        all.into_iter().collect()
    };
    let copies = chart().join("files/crds");
    for (from, name) in [
        ("base/crds", "base"),
        ("sources", "sources"),
        ("source-controller", "source-controller"),
        ("helm", "helm"),
        ("kustomize-controller", "kustomize-controller"),
    ] {
        let (wanted, folder) = (of(&deploy().join(from)), copies.join(name));
        if bless {
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).unwrap();
            for (file, bytes) in &wanted {
                std::fs::write(folder.join(file), bytes).unwrap();
            }
        }
        let kept = of(&folder);
        assert!(!kept.is_empty());
        assert!(
            kept == wanted,
            "deploy/chart/files/crds/{name} differs from deploy/{from}: run this test with BLESS=1"
        );
    }
    for name in ["dashboard.json", "rules.yaml"] {
        let (from, to) = (deploy().join("monitoring").join(name), chart().join("files").join(name));
        if bless {
            std::fs::copy(&from, &to).unwrap();
        }
        assert!(
            std::fs::read(from).unwrap() == std::fs::read(to).unwrap(),
            "deploy/chart/files/{name}: run this test with BLESS=1"
        );
    }
}

#[test]
fn lint_finds_nothing() {
    for values in [None, Some(everything())] {
        let Some(mut helm) = helm() else { return };
        helm.args(["lint", "--strict", "--namespace=flux-system"]).arg(chart());
        helm.args(values.iter().map(|path| format!("--values={}", path.display())));
        let out = helm.output().unwrap();
        assert!(
            out.status.success() && said(&out).contains("0 chart(s) failed"),
            "{}",
            said(&out)
        );
    }
}

#[test]
fn values_that_are_none_are_refused() {
    for (value, words) in [
        ("imagee.tag=v1", "at '': additional properties 'imagee' not allowed"),
        ("image.tga=v1", "at '/image': additional properties 'tga' not allowed"),
        (
            "controllers.charts=true",
            "at '/controllers': additional properties 'charts' not allowed",
        ),
        (
            "controllers.source=maybe",
            "at '/controllers/source': got string, want boolean",
        ),
        (
            "logLevel=loud",
            "at '/logLevel': value must be one of 'trace', 'debug', 'info', 'error'",
        ),
        (
            "watchAllNamespaces=null",
            "at '': missing property 'watchAllNamespaces'",
        ),
        (
            "image.digest=sha256:12",
            "at '/image/digest': 'sha256:12' does not match pattern",
        ),
        (
            "extraArgs={concurrent=2}",
            "at '/extraArgs/0': 'concurrent=2' does not match pattern",
        ),
        ("storage.size=ten", "at '/storage/size': 'ten' does not match pattern"),
        ("podLabels.a=1", "at '/podLabels/a': got number, want string"),
        (
            "controllers.imageReflector=false,controllers.imageAutomation=false",
            "controllers: none is switched on",
        ),
        (
            "controllers.source=true,replicas=2",
            "replicas: with controllers.source there can only be one, since only the leader serves artifacts",
        ),
        (
            "shards.replicas=2,storage.claim.existing=mine",
            "shards.replicas: each pod has a volume of its own; take storage.claim.existing away",
        ),
        (
            "controllers.kustomize=true",
            "controllers.kustomize: Kustomizations need controllers.source, or besideFlux",
        ),
        (
            "serviceAccount.create=false",
            "serviceAccount.name: name the ServiceAccount that is there, or set serviceAccount.create",
        ),
    ] {
        let Some(out) = template("flux-system", &[value]) else {
            return;
        };
        assert!(
            !out.status.success() && said(&out).contains(words),
            "{value}: {}",
            said(&out)
        );
    }
}

/// Each field of the values is where it belongs; the objects that come with flags and components are compared above.
#[test]
fn every_value_arrives() {
    let Some(mut helm) = helm() else { return };
    helm.args(["template", "bumpwright", "--namespace=flux-system", "--values"])
        .arg(everything())
        .arg(chart());
    let all = read(&helm.output().unwrap());
    let given: Json = serde_saphyr::from_str(&std::fs::read_to_string(everything()).unwrap()).unwrap();
    let deployment = &all[DEPLOYMENT];
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    for name in [
        "priorityClassName",
        "tolerations",
        "affinity",
        "topologySpreadConstraints",
        "imagePullSecrets",
    ] {
        assert_eq!(pod[name], given[name], "{name}");
    }
    for (list, value) in [
        (&container["args"], &given["extraArgs"]),
        (&container["env"], &given["extraEnv"]),
        (&container["volumeMounts"], &given["extraVolumeMounts"]),
        (&pod["volumes"], &given["extraVolumes"]),
    ] {
        assert_eq!(list.as_array().unwrap().last(), Some(&value[0]));
    }
    assert_eq!(
        container["image"],
        format!(
            "registry.example:5000/ops/bumpwright:v9.9.9@{}",
            text(&given, "/image/digest")
        )
    );
    assert_eq!(container["imagePullPolicy"], "Always");
    let template = &deployment["spec"]["template"]["metadata"];
    assert_eq!(template["labels"]["azure.workload.identity/use"], "true");
    assert_eq!(template["annotations"]["example.com/note"], "yes");
    assert_eq!(deployment["spec"]["strategy"], json!({"type": "Recreate"}));
    assert_eq!(pod["volumes"][0]["persistentVolumeClaim"]["claimName"], "bumpwright");
    assert_eq!(pod["volumes"][1]["emptyDir"]["sizeLimit"], "5Gi");
    let claim = &all["PersistentVolumeClaim flux-system/bumpwright"];
    assert_eq!(
        claim["spec"],
        json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "20Gi"}}})
    );
    let budget = &all["PodDisruptionBudget flux-system/bumpwright"]["spec"];
    assert_eq!(budget["minAvailable"], "50%");
    assert_eq!(budget["maxUnavailable"], Json::Null);
    let monitor = &all["PodMonitor flux-system/bumpwright"];
    assert_eq!(text(monitor, "/metadata/labels/release"), "prometheus");
    assert_eq!(monitor["spec"]["podMetricsEndpoints"][0]["interval"], "30s");
    let rule = &all["PrometheusRule flux-system/bumpwright"];
    assert_eq!(text(rule, "/metadata/labels/role"), "alert-rules");
    let account = &all["ServiceAccount flux-system/updates"];
    assert_eq!(
        account["metadata"]["annotations"],
        given["serviceAccount"]["annotations"]
    );
    assert_eq!(pod["serviceAccountName"], "updates");
    for (name, object) in &all {
        assert_eq!(text(object, "/metadata/labels/team"), "platform", "{name}");
        for subject in object["subjects"].as_array().into_iter().flatten() {
            assert_eq!(subject["name"], "updates", "{name}");
        }
    }
    understood(container);
}

/// The process takes its arguments: a file that is not there ends it before it does anything.
fn understood(container: &Json) {
    let arguments = container["args"].as_array().unwrap().iter();
    let arguments: Vec<&str> = arguments.map(|one| one.as_str().unwrap()).collect();
    let ran = Bench::new().run(&[&arguments[..], &["--kubeconfig=absent"]].concat());
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("RUNTIME_NAMESPACE"), "{}", ran.err);
}

/// What a default has and a user does not want is taken away by null; a claim of the user's own is mounted.
#[test]
fn defaults_can_be_taken_away() {
    let Some(all) = rendered(
        "flux-system",
        &[
            "podSecurityContext.runAsUser=null",
            "nodeSelector=null",
            "podAnnotations=null",
            "storage.claim.existing=mine",
            "serviceAccount.create=false",
            "serviceAccount.name=theirs",
            "rbac.create=false",
            "rbac.aggregate=false",
            "crds.keep=false",
        ],
    ) else {
        return;
    };
    let template = &all[DEPLOYMENT]["spec"]["template"];
    let pod = &template["spec"];
    assert_eq!(pod["securityContext"].get("runAsUser"), None);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod.get("nodeSelector"), None);
    assert_eq!(template["metadata"].get("annotations"), None);
    assert_eq!(pod["volumes"][0]["persistentVolumeClaim"]["claimName"], "mine");
    assert_eq!(pod["serviceAccountName"], "theirs");
    let kinds: Vec<&str> = all.values().map(|object| text(object, "/kind")).collect();
    for kind in [
        "ServiceAccount",
        "PersistentVolumeClaim",
        "ClusterRole",
        "Role",
        "RoleBinding",
    ] {
        assert!(!kinds.contains(&kind), "{kind}");
    }
    assert!(!json!(all).to_string().contains("helm.sh/"));
}

/// Helm hands `global` to the charts that another one depends on.
#[test]
fn it_can_be_a_dependency() {
    let Some(mut helm) = helm() else { return };
    let folder = tempfile::tempdir().unwrap();
    let platform = folder.path().join("platform");
    let inside = platform.join("charts/bumpwright");
    for (name, bytes) in files(&chart()) {
        let path = inside.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let metadata = "apiVersion: v2\nname: platform\nversion: 1.0.0\ndependencies: [{name: bumpwright, version: 0.x}]\n";
    std::fs::write(platform.join("Chart.yaml"), metadata).unwrap();
    std::fs::write(
        platform.join("values.yaml"),
        "global: {region: eu}\nbumpwright: {logLevel: debug}\n",
    )
    .unwrap();
    let out = helm
        .args(["template", "platform", "--namespace=flux-system"])
        .arg(&platform)
        .output()
        .unwrap();
    let args = &read(&out)[DEPLOYMENT]["spec"]["template"]["spec"]["containers"][0]["args"];
    assert!(args.as_array().unwrap().contains(&json!("--log-level=debug")), "{args}");
}

/// As it is published: packed, pushed to a registry, and installed from there.
#[test]
fn it_comes_from_a_registry_as_it_went() {
    let (Some(direct), Some(registry)) = (rendered("flux-system", &[]), Registry::start()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let out = helm()
            .unwrap()
            .current_dir(folder.path())
            .env("HELM_CACHE_HOME", folder.path().join("cache"))
            .args(arguments)
            .output()
            .unwrap();
        assert!(out.status.success(), "{arguments:?}: {}", said(&out));
        out
    };
    run(&["package", &chart().display().to_string()]);
    let version = env!("CARGO_PKG_VERSION");
    let charts = format!("oci://{}/charts", registry.address());
    run(&["push", &format!("bumpwright-{version}.tgz"), &charts, "--plain-http"]);
    let name = format!("{charts}/bumpwright");
    let pulled = run(&[
        "template",
        "bumpwright",
        &name,
        "--version",
        version,
        "--plain-http",
        "--namespace=flux-system",
    ]);
    assert!(read(&pulled) == direct);
}

/// No hooks and nothing that asks the cluster: what is rendered is what is installed, wherever it is rendered.
#[test]
fn nothing_depends_on_the_cluster() {
    for (name, bytes) in files(&chart().join("templates")) {
        let text = String::from_utf8(bytes).unwrap();
        for word in [
            "helm.sh/hook",
            "lookup",
            ".Capabilities",
            "IsUpgrade",
            "IsInstall",
            "rand",
            "now",
        ] {
            let mut words = text.split(|c: char| !(c.is_alphanumeric() || "./".contains(c)));
            assert!(!words.any(|one| one == word), "{name}: {word}");
        }
    }
}

/// The version of the program is that of the chart.
#[test]
fn versions_agree() {
    let text = std::fs::read_to_string(chart().join("Chart.yaml")).unwrap();
    let metadata: Json = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(metadata["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(metadata["appVersion"], concat!("v", env!("CARGO_PKG_VERSION")));
}
