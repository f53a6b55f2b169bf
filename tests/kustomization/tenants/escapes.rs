//! The table of attempts: artifact and Kustomization, and the error.

use std::path::Path;

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::kustomize_world::map;
use bumpwright_testkit::tarball::{archive, header, packed};

/// The namespace of the attacker.
pub const OWN: &str = "tenant-own";
/// The namespace of the victim.
pub const OTHER: &str = "tenant-other";

/// One attempt.
pub struct Escape {
    pub name: &'static str,
    pub archive: Vec<u8>,
    pub spec: Json,
    /// Secrets of the tenant: name, and the text of its key `value`.
    pub secrets: Vec<(&'static str, String)>,
    /// The reason of Ready, which is False.
    pub reason: &'static str,
    /// Parts of its message.
    pub words: Vec<&'static str>,
}

const CANNOT: &str = "User \"system:serviceaccount:tenant-own:deployer\" cannot";

/// All attempts. `inside` is the address of a server that only the controller reaches; `folder` must stay empty.
pub fn escapes(cluster: &Cluster, inside: &str, folder: &Path) -> Vec<Escape> {
    let mut all = sources();
    all.extend(objects());
    all.extend(accounts());
    all.extend(kubeconfigs(cluster, folder));
    all.extend(names());
    all.extend(files(inside));
    all
}

fn escape(name: &'static str, spec: Json, reason: &'static str, words: &[&'static str]) -> Escape {
    of(
        name,
        archive(&[("map.yaml", map("stolen", "1").as_bytes())]),
        spec,
        reason,
        words,
    )
}

fn of(name: &'static str, archive: Vec<u8>, spec: Json, reason: &'static str, words: &[&'static str]) -> Escape {
    Escape {
        name,
        archive,
        spec,
        secrets: Vec::new(),
        reason,
        words: words.to_vec(),
    }
}

/// By naming a source of the other's (K-019, N-036).
fn sources() -> Vec<Escape> {
    let source = |name, kind: &str, words| {
        let spec = json!({"sourceRef": {"kind": kind, "name": "app", "namespace": OTHER}});
        escape(name, spec, "AccessDenied", &[words])
    };
    let blocked = "cross-namespace references have been blocked";
    let slashes = json!({"sourceRef": {"kind": "GitRepository", "name": "../../tenant-other/gitrepositories/app"}});
    let expression = json!({"dependsOn": [{"name": "app", "namespace": OTHER, "readyExpr": "has(dep.spec.prune)"}]});
    vec![
        source(
            "source-git",
            "GitRepository",
            "can't access 'GitRepository/tenant-other/app', cross-namespace references have been blocked",
        ),
        source("source-oci", "OCIRepository", blocked),
        source("source-bucket", "Bucket", blocked),
        source("source-external", "ExternalArtifact", blocked),
        // An expression reads any field of the other's Kustomization, and its result is visible.
        escape(
            "depends-expression",
            expression,
            "AccessDenied",
            &[
                "can't access 'Kustomization/tenant-other/app' by a readyExpr, cross-namespace references have been blocked",
            ],
        ),
        escape("source-slashes", slashes, "ArtifactFailed", &["may not contain '/'"]),
    ]
}

/// By objects that a tenant may not create (K-071, docs/behaviour/kustomize-controller.md, *Service accounts*).
fn objects() -> Vec<Escape> {
    let object = |name, object: Json, words: &[&'static str]| {
        let file = object.to_string();
        let spec = json!({"targetNamespace": null});
        of(
            name,
            archive(&[("object.yaml", file.as_bytes())]),
            spec,
            "ReconciliationFailed",
            words,
        )
    };
    let admin = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"});
    let me = json!([{"kind": "ServiceAccount", "name": "deployer", "namespace": OWN}]);
    let rbac = "rbac.authorization.k8s.io/v1";
    let namespaced =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stolen", "namespace": OTHER}});
    let overwritten = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds", "namespace": OTHER}});
    let binding = json!({
        "apiVersion": rbac, "kind": "RoleBinding", "metadata": {"name": "mine", "namespace": OTHER},
        "roleRef": admin, "subjects": me,
    });
    let cluster_binding = json!({
        "apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": {"name": "mine"}, "roleRef": admin, "subjects": me,
    });
    let nested = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "nested", "namespace": OTHER},
        "spec": {"interval": "1h", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}},
    });
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OTHER, "labels": {"mine": "yes"}}});
    vec![
        object(
            "object-elsewhere",
            namespaced,
            &["ConfigMap/tenant-other/stolen dry-run failed (Forbidden)", CANNOT],
        ),
        object(
            "object-of-other",
            overwritten,
            &["Secret/tenant-other/creds dry-run failed (Forbidden)", CANNOT],
        ),
        object("object-binding", binding, &["(Forbidden)", CANNOT]),
        object(
            "object-of-cluster",
            cluster_binding,
            &["ClusterRoleBinding/mine dry-run failed (Forbidden)", CANNOT],
        ),
        object(
            "object-namespace",
            namespace,
            &["Namespace/tenant-other dry-run failed (Forbidden)", CANNOT],
        ),
        object(
            "object-nested",
            nested,
            &["Kustomization/tenant-other/nested dry-run failed (Forbidden)", CANNOT],
        ),
        escape(
            "target-namespace",
            json!({"targetNamespace": OTHER}),
            "ReconciliationFailed",
            &["ConfigMap/tenant-other/stolen dry-run failed (Forbidden)", CANNOT],
        ),
    ]
}

/// By the name of a foreign account (K-179).
fn accounts() -> Vec<Escape> {
    let account = |name, account: &str, words: &[&'static str]| {
        escape(
            name,
            json!({"serviceAccountName": account}),
            "ReconciliationFailed",
            words,
        )
    };
    vec![
        account(
            "account-full",
            "system:serviceaccount:tenant-other:deployer",
            &["(Forbidden)", "cannot patch"],
        ),
        account(
            "account-slash",
            "tenant-other/deployer",
            &["(Forbidden)", "cannot patch"],
        ),
        account(
            "account-header",
            "x\r\nImpersonate-Group: system:masters",
            &["cannot be impersonated"],
        ),
    ]
}

/// By a kubeconfig with more than the address of a cluster (K-111).
fn kubeconfigs(cluster: &Cluster, folder: &Path) -> Vec<Escape> {
    let ca = cluster.kubeconfig_with("");
    let ca: Json = serde_json::from_str(&ca).unwrap();
    let known = ca["clusters"][0]["cluster"].clone();
    let config = |cluster: &Json, user: Json| {
        let mut config = ca.clone();
        config["clusters"][0]["cluster"] = cluster.clone();
        config["users"][0]["user"] = user;
        config.to_string()
    };
    let with = |name, text: String, words: &[&'static str]| {
        let spec = json!({"kubeConfig": {"secretRef": {"name": name}}, "targetNamespace": OTHER});
        let mut escape = escape(name, spec, "ReconciliationFailed", words);
        escape.secrets.push((name, text));
        escape
    };
    let own_file = cluster.kubeconfig().with_file_name("tokens.csv");
    let program = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [folder.join("ran")],
        "interactiveMode": "Never",
    });
    let insecure = json!({"server": cluster.url(), "insecure-skip-tls-verify": true});
    let files = json!({"server": cluster.url(), "certificate-authority": "/etc/ssl/certs/ca-certificates.crt"});
    let acting = json!({"as": "admin", "as-groups": ["system:masters"]});
    vec![
        with(
            "kubeconfig-exec",
            config(&known, json!({"exec": program})),
            &["system:anonymous"],
        ),
        with(
            "kubeconfig-token-file",
            config(&known, json!({"tokenFile": own_file})),
            &["user 'test' references a tokenFile, only an inline token is supported"],
        ),
        with(
            "kubeconfig-ca-file",
            config(&files, json!({"token": "x"})),
            &["cluster 'test' references a certificate-authority file, only certificate-authority-data is supported"],
        ),
        with(
            "kubeconfig-key-file",
            config(&known, json!({"client-certificate": own_file, "client-key": own_file})),
            &["user 'test' references a client-certificate file, only client-certificate-data is supported"],
        ),
        with(
            "kubeconfig-insecure",
            config(&insecure, json!({"token": cluster.token()})),
            &["stolen dry-run failed", "client error (Connect)"],
        ),
        with("kubeconfig-acting", config(&known, acting), &["system:anonymous"]),
        // Even an administrator's kubeconfig acts as the tenant's account there (K-106).
        with(
            "kubeconfig-impersonated",
            config(&known, json!({"token": cluster.token(), "as": "admin"})),
            &[CANNOT],
        ),
    ]
}

/// By names that change an address as a part of it.
fn names() -> Vec<Escape> {
    let slashes = "../../tenant-other/secrets/creds";
    let from = |kind: &str, name: &str| json!({"postBuild": {"substituteFrom": [{"kind": kind, "name": name}]}});
    let decryption =
        json!({"decryption": {"provider": "sops", "secretRef": {"name": "../../tenant-other/secrets/keys"}}});
    let kubeconfig = json!({"kubeConfig": {"secretRef": {"name": "../../tenant-other/secrets/cluster"}}});
    let depends = json!({"dependsOn": [{"name": "../../tenant-other/kustomizations/app"}]});
    vec![
        escape(
            "substitute-secret",
            from("Secret", slashes),
            "BuildFailed",
            &["may not contain '/'"],
        ),
        escape(
            "substitute-map",
            from("ConfigMap", "../../tenant-other/configmaps/settings"),
            "BuildFailed",
            &["may not contain '/'"],
        ),
        escape(
            "substitute-absent",
            from("Secret", "creds"),
            "BuildFailed",
            &["secrets \"creds\" not found"],
        ),
        escape("decryption-secret", decryption, "BuildFailed", &["may not contain '/'"]),
        escape(
            "kubeconfig-secret",
            kubeconfig,
            "ReconciliationFailed",
            &["may not contain '/'"],
        ),
        escape("depends", depends, "DependencyNotReady", &["may not contain '/'"]),
    ]
}

/// By files that are not in the artifact: through paths, links, bases and programs.
fn files(inside: &str) -> Vec<Escape> {
    let kustomization = |name, text: String, words: &[&'static str]| {
        of(
            name,
            archive(&[("kustomization.yaml", text.as_bytes())]),
            json!({}),
            "BuildFailed",
            words,
        )
    };
    let linked = |target| packed([(header("app", 0, b'2', target), b"".as_slice())]);
    let linked_file = packed([
        (
            header("kustomization.yaml", 29, b'0', ""),
            b"resources: [secret.yaml]     ".as_slice(),
        ),
        (header("secret.yaml", 0, b'2', "/etc/passwd"), b"".as_slice()),
    ]);
    let generator = "configMapGenerator: [{name: stolen, files: [/etc/passwd]}]".to_owned();
    let up = "configMapGenerator: [{name: stolen, files: [../../../../../../../../etc/passwd]}]".to_owned();
    let helm = "helmCharts: [{name: stolen, repo: https://charts.example.com}]".to_owned();
    let program = "generators: [\"{apiVersion: v1, kind: X, metadata: {name: x, annotations: {config.kubernetes.io/function: \
                   'exec: {path: /bin/true}'}}}\"]";
    let missing = "kustomization path not found";
    vec![
        escape(
            "path-up",
            json!({"path": "../../../../../etc"}),
            "ArtifactFailed",
            &[missing],
        ),
        escape("path-absolute", json!({"path": "/etc"}), "ArtifactFailed", &[missing]),
        of(
            "link-folder",
            linked("/etc"),
            json!({"path": "./app"}),
            "ArtifactFailed",
            &[missing],
        ),
        of("link-file", linked_file, json!({}), "BuildFailed", &["secret.yaml"]),
        kustomization("file-absolute", generator, &["/etc/passwd"]),
        kustomization("file-up", up, &["etc/passwd"]),
        kustomization(
            "base-http",
            format!("resources: [\"{inside}base.yaml\"]"),
            &["base.yaml", "--no-remote-bases"],
        ),
        kustomization(
            "base-git",
            format!("resources: [\"{inside}repo.git//deploy?ref=main\"]"),
            &["repo.git"],
        ),
        kustomization("base-file", "resources: [\"file:///etc\"]".to_owned(), &["file:///etc"]),
        kustomization(
            "base-git-file",
            "resources: [\"git::file:///srv/repo.git//deploy\"]".to_owned(),
            &["/srv/repo.git"],
        ),
        kustomization("helm", helm, &["helm"]),
        kustomization("program", program.to_owned(), &["external plugins disabled"]),
    ]
}
