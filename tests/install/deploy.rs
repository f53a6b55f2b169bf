//! `deploy/` and `bumpwright install`: kustomize and the command make the same objects, a real API server accepts them,
//! and the controllers can work with the granted rights.

mod containerfile;
mod dashboard;
pub(super) mod rights;
mod server;
mod shards;
mod switching;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};

use bumpwright_testkit::cli::Bench;

pub(super) fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")
}

pub(crate) fn text<'a>(value: &'a Json, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

/// Objects by what the API server knows them by.
pub(super) fn objects(yaml: &str) -> BTreeMap<String, Json> {
    let documents = serde_saphyr::from_multiple::<Json>(yaml).unwrap();
    let count = documents.len();
    let all: BTreeMap<String, Json> = documents
        .into_iter()
        .map(|object| {
            let (kind, name) = (text(&object, "/kind"), text(&object, "/metadata/name"));
            (
                format!("{kind} {}/{name}", text(&object, "/metadata/namespace")),
                object,
            )
        })
        .collect();
    assert_eq!(all.len(), count, "an object comes twice");
    all
}

pub(crate) fn exported(arguments: &[&str]) -> BTreeMap<String, Json> {
    objects(&Bench::new().ok(&[&["install", "--export"], arguments].concat()).out)
}

/// The container of the Deployment finds in an image what it expects: `config` is the one of the image.
pub(crate) fn assert_runs(config: &Json) {
    let all = exported(&[]);
    let pod = &all["Deployment flux-system/bumpwright"]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    // Arguments take the place of the image's.
    assert_eq!(config["Entrypoint"], json!(["/bumpwright"]));
    assert_eq!(container["command"], Json::Null);
    assert_eq!(config["Cmd"], json!([container["args"][0]]));
    let user = pod["securityContext"]["runAsUser"].as_u64().unwrap();
    let group = pod["securityContext"]["runAsGroup"].as_u64().unwrap();
    // A number: the kubelet cannot tell whether a name is root's.
    assert_eq!(config["User"], format!("{user}:{group}"));
    let ports = container["ports"].as_array().unwrap().iter();
    let ports: BTreeSet<u64> = ports.map(|port| port["containerPort"].as_u64().unwrap()).collect();
    let named: BTreeSet<String> = ports.iter().map(|port| format!("{port}/tcp")).collect();
    let exposed: BTreeSet<String> = config["ExposedPorts"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(exposed, named);
    let help = Bench::new().ok(&["controller", "--help"]).out;
    for port in ports {
        assert!(help.contains(&format!("[default: :{port}]")), "{port}: {help}");
    }
    let mounts = container["volumeMounts"].as_array().unwrap();
    let environment = config["Env"].as_array().unwrap();
    for variable in ["TMPDIR=/tmp", "HOME=/tmp"] {
        assert!(environment.contains(&json!(variable)), "{environment:?}");
    }
    assert!(mounts.iter().any(|mount| mount["mountPath"] == "/tmp"));
    let storage = |mount: &Json| {
        container["args"]
            .as_array()
            .unwrap()
            .contains(&json!(format!("--storage-path={}", text(mount, "/mountPath"))))
    };
    assert!(mounts.iter().any(storage), "{mounts:?}");
}

/// A folder with a kustomization of a user's own, which names folders of `deploy/` by `DEPLOY`.
fn beside_deploy(kustomization: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    // Resources are named relative to the kustomization, below no symlink.
    let root = folder.path().canonicalize().unwrap();
    let up = "../".repeat(root.components().count() - 1);
    let target = format!(
        "{up}{}",
        deploy()
            .canonicalize()
            .unwrap()
            .display()
            .to_string()
            .trim_start_matches('/')
    );
    std::fs::write(
        root.join("kustomization.yaml"),
        kustomization.replace("DEPLOY", &target),
    )
    .unwrap();
    (folder, root)
}

/// What kustomize makes of a kustomization of a user's own, which names folders of `deploy/` by
/// `DEPLOY`. None without kustomize.
pub(crate) fn kustomized(kustomization: &str) -> Option<BTreeMap<String, Json>> {
    let kustomize = bumpwright_testkit::tool("kustomize")?;
    let (_folder, root) = beside_deploy(kustomization);
    let out = Command::new(kustomize).arg("build").arg(&root).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(objects(&String::from_utf8(out.stdout).unwrap()))
}

/// What `bumpwright build` makes of it.
fn built(kustomization: &str) -> BTreeMap<String, Json> {
    let (_folder, root) = beside_deploy(kustomization);
    objects(&Bench::new().ok(&["build", root.to_str().unwrap()]).out)
}

fn assert_same(kustomization: &str, arguments: &[&str]) {
    let Some(kustomized) = kustomized(kustomization) else {
        return;
    };
    let exported = exported(arguments);
    let names = |all: &BTreeMap<String, Json>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&kustomized), names(&exported), "{arguments:?}");
    for (name, object) in &kustomized {
        assert_eq!(object, &exported[name], "{name} with {arguments:?}");
    }
}

#[test]
fn kustomize_makes_the_same_of_the_whole_folder() {
    assert_same("resources: [DEPLOY]\n", &[]);
}

#[test]
fn kustomize_makes_the_same_beside_flux() {
    assert_same("resources: [DEPLOY/beside-flux]\n", &["--beside-flux"]);
}

#[test]
fn kustomize_makes_the_same_for_one_namespace() {
    assert_same(
        "resources: [DEPLOY/beside-flux]\ncomponents: [DEPLOY/one-namespace]\n",
        &["--beside-flux", "--watch-all-namespaces=false"],
    );
}

/// The right to issue tokens comes with the gate that needs it, and not before.
#[test]
fn kustomize_makes_the_same_with_workload_identity() {
    assert_same(
        "resources: [DEPLOY]\ncomponents: [DEPLOY/workload-identity]\n",
        &["--workload-identity"],
    );
    assert_same(
        "resources: [DEPLOY/beside-flux]\ncomponents: [DEPLOY/one-namespace, DEPLOY/one-namespace/workload-identity]\n",
        &["--beside-flux", "--watch-all-namespaces=false", "--workload-identity"],
    );
    for flags in [&[][..], &["--watch-all-namespaces=false"], &["--beside-flux"]] {
        let all = exported(flags);
        assert!(!json!(all).to_string().contains("serviceaccounts/token"), "{flags:?}");
        let mut moved = exported(&[flags, &["--namespace=images", "--workload-identity"]].concat());
        moved.retain(|name, _| name.contains("workload-identity"));
        let text = json!(moved).to_string();
        assert_eq!(moved.len(), 2, "{text}");
        assert!(
            text.contains("serviceaccounts/token") && !text.contains("flux-system"),
            "{text}"
        );
    }
}

/// So do the rights to read workloads.
#[test]
fn kustomize_makes_the_same_with_promotion() {
    assert_same(
        "resources: [DEPLOY]\ncomponents: [DEPLOY/promotion]\n",
        &["--promotion"],
    );
    assert_same(
        "resources: [DEPLOY/beside-flux]\ncomponents: [DEPLOY/one-namespace, DEPLOY/one-namespace/promotion]\n",
        &["--beside-flux", "--watch-all-namespaces=false", "--promotion"],
    );
    assert!(!json!(exported(&[])).to_string().contains("statefulsets"));
}

/// And those to read what a review is made of.
#[test]
fn kustomize_makes_the_same_with_reviews() {
    assert_same("resources: [DEPLOY]\ncomponents: [DEPLOY/reviews]\n", &["--reviews"]);
    assert_same(
        "resources: [DEPLOY/beside-flux]\ncomponents: [DEPLOY/one-namespace, DEPLOY/one-namespace/reviews]\n",
        &["--beside-flux", "--watch-all-namespaces=false", "--reviews"],
    );
    assert!(!json!(exported(&[])).to_string().contains("reviews"));
}

/// Pages come with their rights and none other, and the right to impersonate with actions alone.
#[test]
fn kustomize_makes_the_same_with_pages() {
    assert_same("resources: [DEPLOY]\ncomponents: [DEPLOY/ui]\n", &["--ui"]);
    assert_same(
        "resources: [DEPLOY]\ncomponents: [DEPLOY/ui, DEPLOY/ui-actions]\n",
        &["--ui", "--ui-actions"],
    );
    assert_same(
        "resources: [DEPLOY/beside-flux]\ncomponents: [DEPLOY/one-namespace, DEPLOY/one-namespace/ui]\n",
        &["--beside-flux", "--watch-all-namespaces=false", "--ui"],
    );
    let (none, pages) = (json!(exported(&[])).to_string(), json!(exported(&["--ui"])).to_string());
    assert!(!none.contains("auth-delegator") && pages.contains("auth-delegator"));
    assert!(!pages.contains("impersonate"));
}

#[test]
fn kustomize_makes_the_same_with_changes() {
    let kustomization = r"
        resources: [DEPLOY]
        namespace: images
        images:
        - {name: ghcr.io/bumpwright/bumpwright, newName: 'registry.example.com:5000/ops/bumpwright', newTag: v9.9.9}
        patches:
        - target: {kind: ClusterRoleBinding, name: bumpwright-flux-system}
          patch: |
            - {op: replace, path: /metadata/name, value: bumpwright-images}
        - target: {kind: ClusterRoleBinding, name: bumpwright-images-flux-system}
          patch: |
            - {op: replace, path: /metadata/name, value: bumpwright-images-images}
        - target: {kind: NetworkPolicy}
          patch: |
            $patch: delete
            kind: NetworkPolicy
            metadata: {name: bumpwright}
        - target: {kind: Deployment}
          patch: |
            - {op: replace, path: /spec/template/spec/containers/0/args/4, value: --log-level=debug}
            - {op: replace, path: /spec/template/spec/containers/0/args/6, value: --controllers=image-automation}
    ";
    assert_same(
        &kustomization.replace("\n        ", "\n"),
        &[
            "--namespace=images",
            "--image=registry.example.com:5000/ops/bumpwright:v9.9.9",
            "--network-policy=false",
            "--log-level=debug",
            "--controllers=image-automation-controller",
        ],
    );
}

/// The kinds in the arguments of `deploy/base`.
const ARGUMENT: &str = "/spec/template/spec/containers/0/args/6";

/// Every set of kinds, alone and beside Flux; the other flags go through all their values on the way.
#[test]
fn kustomize_makes_the_same_of_every_set_of_kinds() {
    if bumpwright_testkit::tool("kustomize").is_none() {
        return;
    }
    let mut tried = 0;
    for set in 1..16_usize {
        for beside_flux in [false, true] {
            let (source, kustomize) = (set & 4 != 0, set & 8 != 0);
            if kustomize && !source && !beside_flux {
                continue;
            }
            let image_kinds = [(1, "image-reflector"), (2, "image-automation")];
            let images: Vec<&str> = image_kinds
                .iter()
                .filter(|(bit, _)| set & bit != 0)
                .map(|(_, name)| *name)
                .collect();
            let is_one = |bit: usize| (tried >> bit) & 1 == 1;
            let (one_namespace, webhooks, identity, open) = (is_one(0), is_one(1), is_one(2), is_one(3));
            tried += 1;
            let folder = if one_namespace {
                "DEPLOY/one-namespace"
            } else {
                "DEPLOY"
            };
            let components: Vec<String> = [
                (one_namespace, "DEPLOY/one-namespace".to_owned()),
                (images.is_empty(), "DEPLOY/no-images".to_owned()),
                (identity, format!("{folder}/workload-identity")),
                (source, format!("{folder}/source-controller")),
                (kustomize, format!("{folder}/kustomize-controller")),
                (webhooks, format!("{folder}/webhooks")),
            ]
            .into_iter()
            .filter_map(|(is_wanted, name)| is_wanted.then_some(name))
            .collect();
            let base = if beside_flux { "DEPLOY/beside-flux" } else { "DEPLOY" };
            let mut kustomization = format!(
                "resources: [{base}]\ncomponents: [{}]\npatches:\n",
                components.join(", ")
            );
            if images.len() == 1 {
                kustomization.push_str(&format!(
                    r#"- {{target: {{kind: Deployment}}, patch: '[{{"op": "replace", "path": "{ARGUMENT}", "value": "--controllers={}"}}]'}}"#,
                    images[0]
                ));
                kustomization.push('\n');
            }
            if open {
                kustomization.push_str(
                    r#"- {target: {kind: NetworkPolicy}, patch: '{"$patch": "delete", "kind": "NetworkPolicy", "metadata": {"name": "any"}}'}"#,
                );
            }
            let mut named = images;
            named.extend(source.then_some("source"));
            named.extend(kustomize.then_some("kustomize-controller"));
            named.extend(webhooks.then_some("webhooks"));
            let flags = [
                format!("--components={}", named.join(",")),
                format!("--watch-all-namespaces={}", !one_namespace),
                format!("--network-policy={}", !open),
            ];
            let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            flags.extend(beside_flux.then_some("--beside-flux"));
            flags.extend(identity.then_some("--workload-identity"));
            assert_same(&kustomization, &flags);
        }
    }
    assert_eq!(tried, 26);
}

#[test]
fn all_is_the_whole_product_and_moves_as_a_whole() {
    let components = "DEPLOY/source-controller, DEPLOY/kustomize-controller";
    let kustomization = format!("resources: [DEPLOY]\ncomponents: [{components}]\n");
    assert_same(&kustomization, &["--components=all"]);
    assert_eq!(
        exported(&["--components=all"]),
        exported(&["--controllers=source,kustomize,image-reflector,image-automation"])
    );
    let text = json!(exported(&["--components=all,webhooks", "--namespace=images"])).to_string();
    assert!(
        text.contains("--webhook-addr") && !text.contains("flux-system"),
        "{text}"
    );
}

/// The component is put over everything else, whatever that is.
#[test]
fn kustomize_makes_the_same_with_shards() {
    let count = |members: u32| format!("replicas: [{{name: bumpwright, count: {members}}}]\n");
    assert_same(
        &format!("resources: [DEPLOY]\ncomponents: [DEPLOY/shards]\n{}", count(2)),
        &["--shards=2"],
    );
    let components = "DEPLOY/workload-identity, DEPLOY/source-controller, DEPLOY/kustomize-controller, DEPLOY/webhooks, DEPLOY/ui, DEPLOY/shards";
    assert_same(
        &format!("resources: [DEPLOY]\ncomponents: [{components}]\n{}", count(5)),
        &["--components=all,webhooks", "--workload-identity", "--ui", "--shards=5"],
    );
    let components = "DEPLOY/one-namespace, DEPLOY/no-images, DEPLOY/one-namespace/kustomize-controller, DEPLOY/shards";
    assert_same(
        &format!(
            "resources: [DEPLOY/beside-flux]\ncomponents: [{components}]\n{}",
            count(256)
        ),
        &[
            "--beside-flux",
            "--watch-all-namespaces=false",
            "--components=kustomize",
            "--shards=256",
        ],
    );
}

#[test]
fn shards_move_as_a_whole_with_their_image_and_flags() {
    let all = exported(&[
        "--shards=3",
        "--namespace=images",
        "--image=registry.example.com/ops/bumpwright:v9",
        "--log-level=debug",
    ]);
    assert!(!all.keys().any(|name| name.starts_with("Deployment")));
    let set = &all["StatefulSet images/bumpwright"];
    let container = &set["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(set["spec"]["replicas"], 3);
    assert_eq!(text(container, "/image"), "registry.example.com/ops/bumpwright:v9");
    let arguments = json!(container["args"]).to_string();
    assert!(
        arguments.contains("--log-level=debug") && arguments.contains("\"--shards\""),
        "{arguments}"
    );
    assert_eq!(
        text(set, "/spec/serviceName"),
        text(&all["Service images/bumpwright-shards"], "/metadata/name")
    );
    assert_eq!(
        container["volumeMounts"][0]["name"],
        set["spec"]["volumeClaimTemplates"][0]["metadata"]["name"]
    );
    assert!(!json!(all).to_string().contains("flux-system"));
}

/// A namespace may end as the one in the files does.
#[test]
fn every_object_is_in_the_namespace_that_is_named() {
    let all = exported(&["--components=all,webhooks", "--ui", "--namespace=my-flux-system"]);
    let text = json!(all).to_string().replace("my-flux-system", "");
    assert!(!text.contains("flux-system"), "{text}");
    assert!(!json!(all).to_string().contains("my-my-"));
}

/// What listens, what leads there, what lets it in, and the right to ask; all else stays as it is.
#[test]
fn webhooks_are_a_component() {
    let base = kustomized("resources: [DEPLOY]\n");
    let with = kustomized("resources: [DEPLOY]\ncomponents: [DEPLOY/webhooks]\n");
    let (Some(base), Some(mut with)) = (base, with) else {
        return;
    };
    let mut more: Vec<String> = with.keys().filter(|name| !base.contains_key(*name)).cloned().collect();
    more.sort();
    assert_eq!(
        more,
        [
            "ClusterRole /bumpwright-webhooks",
            "ClusterRoleBinding /bumpwright-webhooks-flux-system",
            "NetworkPolicy flux-system/bumpwright-webhooks",
            "Service flux-system/bumpwright-webhooks",
        ]
    );
    let service = &with["Service flux-system/bumpwright-webhooks"]["spec"];
    let pod = with["Deployment flux-system/bumpwright"]["spec"]["template"].clone();
    let container = &pod["spec"]["containers"][0];
    let port = container["ports"].as_array().unwrap().last().unwrap();
    assert_eq!(service["ports"][0]["targetPort"], port["name"]);
    assert_eq!(service["selector"]["app"], pod["metadata"]["labels"]["app"]);
    let ingress = &with["NetworkPolicy flux-system/bumpwright-webhooks"]["spec"]["ingress"][0];
    assert_eq!(ingress["ports"][0]["port"], port["containerPort"]);
    let flag = container["args"].as_array().unwrap().last().unwrap();
    assert_eq!(flag, &json!(format!("--webhook-addr=:{}", port["containerPort"])));
    with.retain(|name, _| base.contains_key(name));
    let container =
        &mut with.get_mut("Deployment flux-system/bumpwright").unwrap()["spec"]["template"]["spec"]["containers"][0];
    container["args"].as_array_mut().unwrap().pop();
    container["ports"].as_array_mut().unwrap().pop();
    assert_eq!(with, base);
}

/// kustomize reads no file outside its folder, so `deploy/` has copies.
#[test]
fn definitions_are_those_of_the_folder_of_definitions() {
    let crds = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let mut count = 0;
    for folder in [
        "base/crds",
        "sources",
        "source-controller",
        "helm",
        "kustomize-controller",
    ] {
        for entry in std::fs::read_dir(deploy().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap();
            if !name.to_str().unwrap().contains(".toolkit.fluxcd.io_") {
                continue;
            }
            let (here, there) = (std::fs::read(&path).unwrap(), std::fs::read(crds.join(name)).unwrap());
            assert!(here == there, "copy crds/{} to deploy/{folder}", name.display());
            count += 1;
        }
    }
    assert_eq!(count, 10);
}

/// The restricted profile of the pod security standards, and a root file system that nothing can write to.
#[test]
fn the_pod_is_confined() {
    let all = exported(&[]);
    let pod = &all["Deployment flux-system/bumpwright"]["spec"]["template"]["spec"];
    let security = &pod["securityContext"];
    assert_eq!(security["runAsNonRoot"], true);
    assert_eq!(security["seccompProfile"]["type"], "RuntimeDefault");
    assert!(security["runAsUser"].as_u64().unwrap() > 0);
    let containers = pod["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    let container = &containers[0]["securityContext"];
    assert_eq!(container["readOnlyRootFilesystem"], true);
    assert_eq!(container["allowPrivilegeEscalation"], false);
    assert_eq!(container["capabilities"], json!({"drop": ["ALL"]}));
    // What it writes to is mounted.
    let mounts: Vec<&str> = containers[0]["volumeMounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mount| text(mount, "/mountPath"))
        .collect();
    assert_eq!(mounts, ["/data", "/tmp"]);
    assert_eq!(
        all["ServiceAccount flux-system/bumpwright"]["automountServiceAccountToken"],
        false
    );
}

/// The arguments of the Deployment are ones that the command takes.
#[test]
fn the_process_understands_its_arguments() {
    for flags in [
        &[][..],
        &[
            "--beside-flux",
            "--watch-all-namespaces=false",
            "--workload-identity",
            "--controllers=image-reflector",
        ],
        &["--components=all,webhooks", "--watch-all-namespaces=false"],
        &["--components=all", "--watch-all-namespaces=false", "--shards=2"],
    ] {
        let all = exported(flags);
        let workload = all
            .iter()
            .find(|(name, _)| name.ends_with("Set flux-system/bumpwright") || name.starts_with("Deployment"));
        let container = &workload.unwrap().1["spec"]["template"]["spec"]["containers"][0];
        let arguments: Vec<&str> = container["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one.as_str().unwrap())
            .collect();
        let bench = Bench::new();
        // A file that is not there ends it before it does anything.
        let ran = bench.run(&[&arguments[..], &["--kubeconfig=absent"]].concat());
        assert_eq!(ran.code, 2, "{}", ran.err);
        let words = if flags.is_empty() {
            "RUNTIME_NAMESPACE"
        } else {
            "--watch-all-namespaces=false needs RUNTIME_NAMESPACE"
        };
        assert!(ran.err.contains(words), "{}", ran.err);
    }
}

#[test]
fn what_would_not_fit_into_a_manifest_is_refused() {
    for (flag, words) in [
        (
            "--namespace=Flux",
            "--namespace: \"Flux\" is not a valid namespace name",
        ),
        (
            "--namespace=a\nb: c",
            "--namespace: \"a\\nb: c\" is not a valid namespace name",
        ),
        (
            "--image=ghcr.io/acme/bumpwright",
            "--image: \"ghcr.io/acme/bumpwright\" is not an image with a tag or a digest",
        ),
        (
            "--image=localhost:5000/bumpwright",
            "is not an image with a tag or a digest",
        ),
        ("--image=a:b\n  - x", "is not an image with a tag or a digest"),
        ("--log-level=loud", "--log-level: "),
        (
            "--shards=0",
            "--shards: at least 2 processes share objects, not 0; without the flag",
        ),
        (
            "--shards=1",
            "--shards: at least 2 processes share objects, not 1; without the flag",
        ),
        ("--shards=257", "--shards: at most 256 processes share objects, not 257"),
        ("--controllers=charts", "--components: \"charts\" is none of"),
        (
            "--components=helm",
            "--components: helm needs source, which serves its artifacts",
        ),
        ("--controllers=", "--components: none is named"),
        (
            "--components=webhooks",
            "--components: none is named that reconciles anything",
        ),
        (
            "--components=kustomize",
            "--components: Kustomizations need sources: name source as well, or give --beside-flux",
        ),
    ] {
        let ran = Bench::new().run(&["install", "--export", flag]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{flag}");
        assert!(ran.err.contains(words), "{flag}: {}", ran.err);
    }
}

/// The version of the program is the version of what it installs.
#[test]
fn versions_agree() {
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    let all = exported(&[]);
    let deployment = &all["Deployment flux-system/bumpwright"];
    assert_eq!(text(deployment, "/metadata/labels/app.kubernetes.io~1version"), version);
    let image = text(deployment, "/spec/template/spec/containers/0/image");
    assert!(image.ends_with(&format!(":{version}")), "{image}");
}
