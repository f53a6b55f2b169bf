//! The definitions at a real API server: which objects it accepts and refuses, its defaults, the columns of
//! `kubectl get`.
//!
//! The verdicts are those of Flux's own definitions at the same server, except for docs/decisions.md *versions*:
//! one schema for all versions of a kind. Rows that only exist for that reason are marked.

use serde_json::{Value as Json, json};

use super::{definition, kept};
use bumpwright_testkit::apiserver::Cluster;

const IMAGE: &str = "image.toolkit.fluxcd.io";
const SOURCE: &str = "source.toolkit.fluxcd.io";
const KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io";

/// Group, kind, and the least that its spec must have.
const KINDS: &[(&str, &str, &str)] = &[
    (
        IMAGE,
        "ImagePolicy",
        "{imageRepositoryRef: {name: app}, policy: {semver: {range: 1.x}}}",
    ),
    (IMAGE, "ImageRepository", "{image: ghcr.io/org/app, interval: 5m}"),
    (
        IMAGE,
        "ImageUpdateAutomation",
        "{interval: 30m, sourceRef: {name: fleet}}",
    ),
    (
        SOURCE,
        "GitRepository",
        "{url: 'https://example.com/fleet', interval: 5m}",
    ),
    (
        SOURCE,
        "OCIRepository",
        "{url: 'oci://ghcr.io/org/fleet', interval: 5m}",
    ),
    (
        SOURCE,
        "Bucket",
        "{bucketName: fleet, endpoint: s3.example.com, interval: 5m}",
    ),
    (
        SOURCE,
        "HelmChart",
        "{chart: web, sourceRef: {kind: HelmRepository, name: charts}, interval: 5m}",
    ),
    (SOURCE, "HelmRepository", "{url: 'https://charts.example.com'}"),
    (SOURCE, "ExternalArtifact", "{}"),
    (
        KUSTOMIZE,
        "Kustomization",
        "{interval: 5m, prune: true, sourceRef: {kind: GitRepository, name: fleet}}",
    ),
];

/// The server with all definitions. None when its programs are missing.
fn cluster() -> Option<&'static Cluster> {
    static APPLIED: std::sync::Once = std::sync::Once::new();
    let cluster = Cluster::shared()?;
    APPLIED.call_once(|| kept().values().for_each(|definition| cluster.apply(definition)));
    Some(cluster)
}

/// An object `test` of `Kind/version`: the least spec of its kind with a merge patch (RFC 7386, in YAML) upon it.
fn object(kind_version: &str, patch: &str) -> Json {
    let (kind, version) = kind_version.split_once('/').unwrap();
    let (group, _, least) = KINDS.iter().find(|(_, of, _)| *of == kind).unwrap();
    let mut spec: Json = serde_saphyr::from_str(least).unwrap();
    merge(&mut spec, &serde_saphyr::from_str(patch).unwrap());
    json!({"apiVersion": format!("{group}/{version}"), "kind": kind, "metadata": {"name": "test"}, "spec": spec})
}

/// A merge patch: null removes.
fn merge(into: &mut Json, patch: &Json) {
    let Json::Object(changes) = patch else {
        return into.clone_from(patch);
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, change) in changes {
        let fields = into.as_object_mut().unwrap();
        if change.is_null() {
            fields.remove(key);
        } else {
            merge(fields.entry(key).or_insert(Json::Null), change);
        }
    }
}

/// As many patterns as a repository of images may have, and one more.
const TWENTY_FIVE: &str =
    "{exclusionList: [a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a]}";
const TWENTY_SIX: &str =
    "{exclusionList: [a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a]}";

/// Kind and version, a patch of the least spec, and words of the refusal; none when the object is taken.
const VERDICTS: &[(&str, &str, &str)] = &[
    // ImagePolicy
    ("ImagePolicy/v1", "{}", ""),
    ("ImagePolicy/v1beta2", "{}", ""),
    ("ImagePolicy/v1beta1", "{}", ""),
    (
        "ImagePolicy/v1",
        "{imageRepositoryRef: null}",
        "spec.imageRepositoryRef: Required value",
    ),
    ("ImagePolicy/v1beta1", "{policy: null}", "spec.policy: Required value"),
    (
        "ImagePolicy/v1",
        "{imageRepositoryRef: {name: null}}",
        "spec.imageRepositoryRef.name: Required value",
    ),
    ("ImagePolicy/v1", "{policy: {semver: null}}", ""), // the controller refuses it
    (
        "ImagePolicy/v1",
        "{policy: {semver: {range: null}}}",
        "spec.policy.semver.range: Required value",
    ),
    (
        "ImagePolicy/v1",
        "{policy: {semver: null, alphabetical: {order: up}}}",
        r#"supported values: "asc", "desc""#,
    ),
    (
        "ImagePolicy/v1",
        "{policy: {semver: null, numerical: {order: ASC}}}",
        r#"supported values: "asc", "desc""#,
    ),
    (
        "ImagePolicy/v1",
        "{policy: {semver: {range: 1}}}",
        "must be of type string",
    ),
    (
        "ImagePolicy/v1",
        "{digestReflectionPolicy: Sometimes}",
        r#"supported values: "Always", "IfNotPresent", "Never""#,
    ),
    ("ImagePolicy/v1", "{digestReflectionPolicy: Always, interval: 5m}", ""),
    // N-042
    (
        "ImagePolicy/v1",
        "{digestReflectionPolicy: Always}",
        "spec.interval must be set when spec.digestReflectionPolicy is set to 'Always'",
    ),
    (
        "ImagePolicy/v1beta2",
        "{interval: 5m}",
        "spec.interval is only accepted when spec.digestReflectionPolicy is set to 'Always'",
    ),
    (
        "ImagePolicy/v1",
        "{digestReflectionPolicy: Always, interval: 5d}",
        "spec.interval in body should match",
    ),
    ("ImagePolicy/v1", "{filterTags: {pattern: '(', extract: $1}}", ""), // the controller refuses it
    ("ImagePolicy/v1", "{suspend: 'true'}", "must be of type boolean"),
    // ImageRepository
    ("ImageRepository/v1", "{}", ""),
    ("ImageRepository/v1", "{image: null}", "spec.image: Required value"),
    (
        "ImageRepository/v1beta1",
        "{interval: null}",
        "spec.interval: Required value",
    ),
    (
        "ImageRepository/v1beta1",
        "{interval: '-5m'}",
        "spec.interval in body should match",
    ),
    ("ImageRepository/v1", "{interval: 1.5h}", ""),
    (
        "ImageRepository/v1",
        "{timeout: 1h}",
        "spec.timeout in body should match",
    ),
    (
        "ImageRepository/v1",
        "{provider: gitlab}",
        r#"supported values: "generic", "aws", "azure", "gcp""#,
    ),
    (
        "ImageRepository/v1",
        "{provider: gcp, insecure: true, proxySecretRef: {name: p}}",
        "",
    ),
    (
        "ImageRepository/v1",
        "{secretRef: {}}",
        "spec.secretRef.name: Required value",
    ),
    (
        "ImageRepository/v1",
        "{accessFrom: {}}",
        "spec.accessFrom.namespaceSelectors: Required value",
    ),
    (
        "ImageRepository/v1",
        "{accessFrom: {namespaceSelectors: [{matchLabels: {team: a}}]}}",
        "",
    ),
    (
        "ImageRepository/v1",
        "{exclusionList: '^sha256'}",
        "must be of type array",
    ),
    // N-053
    ("ImageRepository/v1", TWENTY_FIVE, ""),
    ("ImageRepository/v1", TWENTY_SIX, "must have at most 25 items"),
    ("ImageRepository/v1beta2", TWENTY_SIX, "must have at most 25 items"),
    // ImageUpdateAutomation
    ("ImageUpdateAutomation/v1", "{}", ""), // IUA-010
    (
        "ImageUpdateAutomation/v1",
        "{interval: null}",
        "spec.interval: Required value",
    ),
    (
        "ImageUpdateAutomation/v1",
        "{sourceRef: null}",
        "spec.sourceRef: Required value",
    ),
    (
        "ImageUpdateAutomation/v1",
        "{sourceRef: {name: null}}",
        "spec.sourceRef.name: Required value",
    ),
    (
        "ImageUpdateAutomation/v1",
        "{sourceRef: {kind: OCIRepository}}",
        r#"supported values: "GitRepository""#,
    ), // IUA-017
    (
        "ImageUpdateAutomation/v1",
        "{git: {}}",
        "spec.git.commit: Required value",
    ),
    (
        "ImageUpdateAutomation/v1",
        "{git: {commit: {author: {name: Flux}}}}",
        "spec.git.commit.author.email: Required value",
    ),
    (
        "ImageUpdateAutomation/v1",
        "{git: {commit: {author: {email: f@example.com}}}}",
        "",
    ), // N-008
    (
        "ImageUpdateAutomation/v1",
        "{git: {commit: {author: {email: f@example.com}}, checkout: {}}}",
        "spec.git.checkout.ref: Required value",
    ),
    (
        "ImageUpdateAutomation/v1",
        "{git: {commit: {author: {email: f@example.com}, signingKey: {type: x509, secretRef: {name: k}}}}}",
        r#"supported values: "gpg", "ssh""#,
    ), // N-009
    (
        "ImageUpdateAutomation/v1",
        "{git: {commit: {author: {email: f@example.com}, messageTemplateValues: {n: 1}}}}",
        "must be of type string",
    ),
    (
        "ImageUpdateAutomation/v1",
        "{git: {commit: {author: {email: f@example.com}}, push: {refspec: 'refs/heads/a:refs/heads/b', options: {ci.skip: ''}}}}",
        "",
    ),
    (
        "ImageUpdateAutomation/v1",
        "{update: {strategy: Kustomize}}",
        r#"supported values: "Setters""#,
    ), // IUA-099
    ("ImageUpdateAutomation/v1beta1", "{update: {path: ./apps}}", ""),
    (
        "ImageUpdateAutomation/v1beta2",
        "{policySelector: {matchExpressions: [{key: a}]}}",
        "operator: Required value",
    ),
    (
        "ImageUpdateAutomation/v1beta1",
        "{policySelector: {matchLabels: {team: a}}}",
        "",
    ), // one schema: v1's field in v1beta1
    // GitRepository
    ("GitRepository/v1", "{}", ""),
    (
        "GitRepository/v1",
        "{url: 'git@example.com:fleet'}",
        "spec.url in body should match",
    ),
    (
        "GitRepository/v1",
        "{interval: soon}",
        "spec.interval in body should match",
    ),
    (
        "GitRepository/v1",
        "{provider: gitlab}",
        r#"supported values: "generic", "aws", "azure", "github""#,
    ),
    (
        "GitRepository/v1",
        "{serviceAccountName: git}",
        "serviceAccountName can only be set when provider is 'azure' or 'aws'",
    ),
    ("GitRepository/v1", "{serviceAccountName: git, provider: azure}", ""),
    (
        "GitRepository/v1",
        "{verify: {mode: Branch, secretRef: {name: k}}}",
        r#""head", "HEAD", "Tag", "TagAndHEAD""#,
    ),
    ("GitRepository/v1beta1", "{verify: {mode: head}}", ""), // one schema: so v1 does not want secretRef either
    (
        "GitRepository/v1beta2",
        "{gitImplementation: jgit}",
        r#"supported values: "go-git", "libgit2""#,
    ),
    ("GitRepository/v1beta1", "{timeout: 1h}", ""),
    ("GitRepository/v1", "{timeout: 1h}", ""), // one schema: v1beta1 has no pattern
    (
        "GitRepository/v1beta1",
        "{timeout: '1 hour'}",
        "spec.timeout in body should match",
    ), // no controller reads it
    (
        "GitRepository/v1",
        "{include: [{fromPath: a}]}",
        "spec.include[0].repository: Required value",
    ),
    // OCIRepository
    ("OCIRepository/v1", "{}", ""),
    (
        "OCIRepository/v1",
        "{url: 'https://ghcr.io/org/fleet'}",
        "spec.url in body should match",
    ),
    ("OCIRepository/v1", "{timeout: 1h}", "spec.timeout in body should match"),
    (
        "OCIRepository/v1",
        "{layerSelector: {operation: move}}",
        r#"supported values: "extract", "copy""#,
    ),
    (
        "OCIRepository/v1",
        "{verify: {matchOIDCIdentity: [{issuer: a}]}}",
        "subject: Required value",
    ),
    // Bucket
    ("Bucket/v1", "{}", ""),
    ("Bucket/v1", "{endpoint: null}", "spec.endpoint: Required value"),
    (
        "Bucket/v1",
        "{provider: gcp, sts: {provider: aws, endpoint: 'https://sts'}}",
        "STS configuration is only supported for the 'aws' and 'generic' Bucket providers",
    ),
    (
        "Bucket/v1",
        "{sts: {provider: aws, endpoint: 'https://sts'}}",
        "'ldap' is the only supported STS provider for the 'generic' Bucket provider",
    ),
    ("Bucket/v1", "{sts: {provider: ldap, endpoint: 'https://sts'}}", ""),
    (
        "Bucket/v1",
        "{serviceAccountName: s3}",
        "ServiceAccountName is not supported for the 'generic' Bucket provider",
    ),
    (
        "Bucket/v1",
        "{provider: aws, serviceAccountName: s3, secretRef: {name: s}}",
        "cannot set both .spec.secretRef and .spec.serviceAccountName",
    ),
    // ExternalArtifact
    ("ExternalArtifact/v1", "{}", ""),
    (
        "ExternalArtifact/v1",
        "{sourceRef: {name: a}}",
        "spec.sourceRef.kind: Required value",
    ),
    // Kustomization
    ("Kustomization/v1", "{}", ""),
    ("Kustomization/v1", "{prune: null}", "spec.prune: Required value"),
    (
        "Kustomization/v1",
        "{sourceRef: {kind: HelmRepository}}",
        r#""OCIRepository", "GitRepository", "Bucket", "ExternalArtifact""#,
    ),
    (
        "Kustomization/v1",
        "{targetNamespace: ''}",
        "spec.targetNamespace in body should be at least 1 chars long",
    ),
    (
        "Kustomization/v1",
        "{kubeConfig: {}}",
        "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef must be specified",
    ),
    (
        "Kustomization/v1",
        "{kubeConfig: {secretRef: {name: a}, configMapRef: {name: b}}}",
        "exactly one of",
    ),
    (
        "Kustomization/v1",
        "{deletionPolicy: Keep}",
        r#""MirrorPrune", "Delete", "WaitForTermination", "Orphan""#,
    ),
    (
        "Kustomization/v1",
        "{postBuild: {substitute: {replicas: 3}}}",
        "must be of type string",
    ), // K-096
    (
        "Kustomization/v1",
        "{postBuild: {substituteFrom: [{kind: Pod, name: a}]}}",
        r#"supported values: "Secret", "ConfigMap""#,
    ),
    (
        "Kustomization/v1",
        "{decryption: {provider: age}}",
        r#"supported values: "sops""#,
    ),
    (
        "Kustomization/v1beta1",
        "{validation: client, patchesJson6902: [{target: {}, patch: [{op: add, path: /a, value: {b: [1]}}]}]}",
        "",
    ),
    (
        "Kustomization/v1beta2",
        "{patchesJson6902: [{target: {}, patch: [{op: put, path: /a}]}]}",
        r#""test", "remove", "add", "replace", "move", "copy""#,
    ),
    (
        "Kustomization/v1beta1",
        "{validation: strict}",
        r#"supported values: "none", "client", "server""#,
    ),
];

#[test]
fn the_server_takes_and_refuses_what_it_should() {
    let Some(cluster) = cluster() else { return };
    let mut wrong = Vec::new();
    for (kind_version, patch, words) in VERDICTS {
        let given = cluster.create(&object(kind_version, patch), "dryRun=All");
        let fits = match &given {
            Ok(_) => words.is_empty(),
            Err(said) => !words.is_empty() && said.contains(words),
        };
        if !fits {
            wrong.push(format!("{kind_version} {patch}: {given:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("crds: {} verdicts", VERDICTS.len());
}

/// Kind and version, a patch of the least spec, and what the server fills in.
const FILLED_IN: &[(&str, &str, &str)] = &[
    ("ImagePolicy/v1", "{}", "{digestReflectionPolicy: Never}"),
    (
        "ImagePolicy/v1",
        "{policy: {semver: null, numerical: {}}}",
        "{digestReflectionPolicy: Never, policy: {numerical: {order: asc}}}",
    ),
    (
        "ImageRepository/v1",
        "{}",
        "{provider: generic, exclusionList: ['^.*\\.sig$']}",
    ),
    ("ImageRepository/v1", "{exclusionList: []}", "{provider: generic}"),
    // IUA-013, IUA-017
    (
        "ImageUpdateAutomation/v1",
        "{}",
        "{sourceRef: {kind: GitRepository}, update: {strategy: Setters}}",
    ),
    (
        "ImageUpdateAutomation/v1beta1",
        "{update: {path: a}}",
        "{sourceRef: {kind: GitRepository}, update: {strategy: Setters}}",
    ),
    ("GitRepository/v1", "{}", "{timeout: 60s}"),
    (
        "GitRepository/v1beta2",
        "{verify: {secretRef: {name: k}}}",
        "{timeout: 60s, verify: {mode: HEAD}}",
    ),
    (
        "OCIRepository/v1",
        "{verify: {}}",
        "{timeout: 60s, provider: generic, verify: {provider: cosign}}",
    ),
    ("Bucket/v1", "{}", "{timeout: 60s, provider: generic}"),
    ("ExternalArtifact/v1", "{}", "{}"),
    // KB-010
    (
        "Kustomization/v1beta1",
        "{postBuild: {substituteFrom: [{kind: Secret, name: a}]}}",
        "{force: false, postBuild: {substituteFrom: [{kind: Secret, name: a, optional: false}]}}",
    ),
];

#[test]
fn the_server_fills_in_defaults_and_drops_unknown_fields() {
    let Some(cluster) = cluster() else { return };
    for (kind_version, patch, filled_in) in FILLED_IN {
        let mut sent = object(kind_version, patch);
        let mut expected = sent["spec"].clone();
        merge(&mut expected, &serde_saphyr::from_str(filled_in).unwrap());
        sent["spec"]["madeUp"] = json!({"by": "us"});
        let taken = cluster.create(&sent, "dryRun=All").unwrap();
        assert_eq!(taken["spec"], expected, "{kind_version} {patch}");
        let refusal = cluster.create(&sent, "dryRun=All&fieldValidation=Strict").unwrap_err();
        assert!(refusal.contains(r#"unknown field "spec.madeUp""#), "{refusal}");
    }
}

/// docs/decisions.md *versions* and C36: no field is lost in another version, nor in a status.
#[test]
fn an_object_is_the_same_in_all_versions() {
    let Some(cluster) = cluster() else { return };
    let mut policy = object("ImagePolicy/v1beta1", "{}");
    policy["metadata"]["name"] = json!("in-all-versions");
    policy["status"] = json!({"latestImage": "dropped: a status is written at its own path"});
    let mut policy = cluster.create(&policy, "").unwrap();
    assert_eq!(policy["status"], json!({"observedGeneration": -1}));

    let condition = json!({"type": "Ready", "status": "True", "reason": "Succeeded", "message": "chosen",
        "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 1});
    policy["spec"]["suspend"] = json!(true);
    policy["status"] = json!({
        "observedGeneration": 1, "conditions": [condition], "latestImage": "ghcr.io/org/app:1.2.3",
        "latestRef": {"name": "ghcr.io/org/app", "tag": "1.2.3", "digest": "sha256:1"},
        "observedPreviousImage": "ghcr.io/org/app:1.2.2", "observedPreviousRef": {"name": "a", "tag": "1.2.2"},
        "lastHandledReconcileAt": "now",
    });
    let written = policy.clone();
    cluster.put_status(&policy).unwrap();
    for version in ["v1beta1", "v1beta2", "v1"] {
        policy["apiVersion"] = json!(format!("{IMAGE}/{version}"));
        let read = cluster.get(&cluster.path_of(&policy));
        assert_eq!(read["status"], written["status"], "{version}");
        assert_eq!(read["spec"]["suspend"], Json::Null, "only the status is written");
        assert_eq!(read["spec"]["digestReflectionPolicy"], "Never");
    }

    let mut kustomization = object(
        "Kustomization/v1beta1",
        "{validation: client, patchesStrategicMerge: [{kind: A, spec: {b: [1, x]}}], healthCheckExprs: [{apiVersion: a/v1, current: 'true'}]}",
    );
    kustomization["metadata"]["name"] = json!("in-all-versions");
    let created = cluster.create(&kustomization, "fieldValidation=Strict").unwrap();
    let mut expected = kustomization["spec"].clone();
    expected["force"] = json!(false);
    assert_eq!(created["spec"], expected);
    kustomization["apiVersion"] = json!(format!("{KUSTOMIZE}/v1"));
    assert_eq!(cluster.get(&cluster.path_of(&kustomization))["spec"], expected);
}

#[test]
fn a_status_is_checked_too() {
    let Some(cluster) = cluster() else { return };
    let mut automation = object("ImageUpdateAutomation/v1", "{}");
    automation["metadata"]["name"] = json!("checked-status");
    let created = cluster.create(&automation, "").unwrap();
    for (status, words) in [
        (
            json!({"conditions": [{"type": "Ready"}]}),
            "status.conditions[0].reason: Required value",
        ),
        (json!({"lastPushTime": "yesterday"}), "status.lastPushTime"),
        (json!({"observedPolicies": {"a": {"name": "x"}}}), "tag: Required value"),
        (
            json!({"observedPolicies": {"a": {"name": "x", "tag": "1"}}, "lastPushCommit": "abc"}),
            "",
        ),
    ] {
        let mut object = created.clone();
        object["status"] = status.clone();
        match cluster.put_status(&object) {
            Ok(_) => assert_eq!(words, "", "{status}"),
            Err(said) => assert!(!words.is_empty() && said.contains(words), "{status}: {said}"),
        }
    }
}

/// N-002: columns, and the short names and categories by which `kubectl` finds a kind.
#[test]
fn kinds_are_found_and_shown_as_flux_shows_them() {
    let Some(cluster) = cluster() else { return };
    let age = "Age";
    for (kind, version, short_names, category, columns) in [
        (
            "ImagePolicy",
            "v1",
            &["imgpol", "imagepol"][..],
            "fluxcd-images",
            &["Name", "Image", "Tag", "Ready", "Status", age][..],
        ),
        (
            "ImagePolicy",
            "v1beta1",
            &["imgpol", "imagepol"],
            "fluxcd-images",
            &["Name", "LatestImage"],
        ),
        (
            "ImageRepository",
            "v1",
            &["imgrepo", "imagerepo"],
            "fluxcd-images",
            &["Name", "Image", "Tags", "Ready", "Status", "Last scan", age],
        ),
        (
            "ImageRepository",
            "v1beta1",
            &["imgrepo", "imagerepo"],
            "fluxcd-images",
            &["Name", "Last scan", "Tags"],
        ),
        (
            "ImageUpdateAutomation",
            "v1",
            &["iua", "imgupd", "imgauto"],
            "fluxcd-images",
            &["Name", "Ready", "Status", "Last run", age],
        ),
        (
            "ImageUpdateAutomation",
            "v1beta1",
            &["iua", "imgupd", "imgauto"],
            "fluxcd-images",
            &["Name", "Last run"],
        ),
        (
            "GitRepository",
            "v1",
            &["gitrepo"],
            "fluxcd-sources",
            &["Name", "URL", age, "Ready", "Status"],
        ),
        (
            "OCIRepository",
            "v1",
            &["ocirepo"],
            "fluxcd-sources",
            &["Name", "URL", "Ready", "Status", age],
        ),
        (
            "Bucket",
            "v1",
            &[],
            "fluxcd-sources",
            &["Name", "Endpoint", age, "Ready", "Status"],
        ),
        (
            "HelmChart",
            "v1",
            &["hc"],
            "fluxcd-sources",
            &[
                "Name",
                "Chart",
                "Version",
                "Source Kind",
                "Source Name",
                age,
                "Ready",
                "Status",
            ],
        ),
        (
            "HelmRepository",
            "v1",
            &["helmrepo"],
            "fluxcd-sources",
            &["Name", "URL", age, "Ready", "Status"],
        ),
        (
            "ExternalArtifact",
            "v1",
            &["ea"],
            "fluxcd-sources",
            &["Name", age, "Ready", "Status", "Source"],
        ),
        (
            "Kustomization",
            "v1beta2",
            &["ks"],
            "fluxcd-appliers",
            &["Name", age, "Ready", "Status"],
        ),
        (
            "Kustomization",
            "v1beta1",
            &["ks"],
            "fluxcd-appliers",
            &["Name", "Ready", "Status", age],
        ),
    ] {
        let (group, ..) = KINDS.iter().find(|(_, of, _)| *of == kind).unwrap();
        let plural = definition(kind)["spec"]["names"]["plural"].as_str().unwrap().to_owned();
        let base = format!("/apis/{group}/{version}");
        let resources = cluster.get(&base)["resources"].clone();
        let find = |name: &str| {
            resources
                .as_array()
                .unwrap()
                .iter()
                .find(|resource| resource["name"] == name)
                .cloned()
        };
        let resource = find(&plural).unwrap();
        assert_eq!(names(&resource["shortNames"]), short_names, "{kind}");
        assert_eq!(names(&resource["categories"]), ["all", "fluxcd", category], "{kind}");
        assert_eq!(resource["namespaced"], true);
        assert!(
            find(&format!("{plural}/status")).is_some(),
            "{kind} has no status subresource"
        );
        let table = cluster.table(&format!("{base}/{plural}"));
        let titles: Vec<Json> = table["columnDefinitions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| column["name"].clone())
            .collect();
        assert_eq!(titles, columns, "{kind} {version}");
    }
}

fn names(list: &Json) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str).collect()
}

/// No complaint of the server about a definition: names that are taken, schemas that are not structural.
#[test]
fn the_definitions_are_established_without_complaint() {
    let Some(cluster) = cluster() else { return };
    let list = cluster.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
    let items = list["items"].as_array().unwrap();
    assert_eq!(items.len(), KINDS.len());
    for item in items {
        let conditions = item["status"]["conditions"].as_array().unwrap();
        let mut held: Vec<&str> = conditions
            .iter()
            .filter(|condition| condition["status"] == "True")
            .map(|condition| condition["type"].as_str().unwrap())
            .collect();
        held.sort_unstable();
        assert_eq!(held, ["Established", "NamesAccepted"], "{}", item["metadata"]["name"]);
    }
}
