//! `bumpwright fleet check`: what operators make is there, hints name what could make an object, and what is
//! no secret is none.

use crate::fleet_check::{encrypted, found, kustomization, sound};
use bumpwright_testkit::cli::Bench;

/// `severity[rule] object: message | help` of all findings.
fn told(bench: &Bench) -> Vec<String> {
    let (_, _, document) = found(bench, &["clusters/prod"]);
    let text = |finding: &serde_json::Value, key: &str| finding[key].as_str().unwrap_or("-").to_owned();
    let findings = document["findings"].as_array().unwrap().iter();
    let told = findings.map(|finding| {
        let [severity, rule, object, message, help] =
            ["severity", "rule", "object", "message", "help"].map(|key| text(finding, key));
        format!("{severity}[{rule}] {object}: {message} | {help}")
    });
    told.filter(|text| !text.contains("[unknown-kind]")).collect()
}

/// A Kustomization that takes variables from a Secret, and one object with two of them.
fn with_variables(maker: &str) -> Bench {
    let bench = sound();
    let from = ", postBuild: {substituteFrom: [{kind: Secret, name: settings}]}";
    bench.write("clusters/prod/web.yaml", kustomization("web", "./apps/web", from));
    bench.write(
        "apps/web/variables.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: web}\ndata: {a: \"${KNOWN}\", b: \"${TYPO}\"}\n",
    );
    bench.write("clusters/prod/maker.yaml", maker);
    bench
}

const MISSING: &str = "Secret flux-system/settings";

#[test]
fn variables_are_checked_against_the_keys_that_operators_are_told() {
    let typo = "error[undefined-variable] ConfigMap web/c: ${TYPO} has no value | -".to_owned();
    let external = |data: &str| {
        format!(
            "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {{name: settings, namespace: flux-system}}\nspec: {data}\n"
        )
    };
    let sealed = "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: settings, namespace: flux-system}\nspec: \
                  {encryptedData: {KNOWN: AgBy}}\n";
    let copied = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: other}\n---\napiVersion: external-secrets.io/v1\nkind: \
                  ExternalSecret\nmetadata: {name: settings, namespace: other}\nspec:\n  data: [{secretKey: KNOWN}]\n  target: {template: \
                  {metadata: {annotations: {reflector.v1.k8s.emberstack.com/reflection-auto-enabled: 'true', \
                  reflector.v1.k8s.emberstack.com/reflection-auto-namespaces: 'flux-.*'}}}}\n";
    for maker in [
        external("{data: [{secretKey: KNOWN}]}"),
        external("{dataFrom: [{extract: {key: k}}], target: {template: {data: {KNOWN: '{{ .a }}'}}}}"),
        sealed.to_owned(),
        copied.to_owned(),
    ] {
        assert_eq!(told(&with_variables(&maker)), std::slice::from_ref(&typo), "{maker}");
    }
    // Where the vault only knows the keys, one note has all variables.
    let open = |maker: &str| {
        format!(
            "note[undefined-variable] Kustomization flux-system/web: ${{KNOWN}}, ${{TYPO}} have a value only if {MISSING} gives it | \
             {maker} makes it; which keys it has is not known here"
        )
    };
    let maker = external("{dataFrom: [{extract: {key: k}}]}");
    assert_eq!(
        told(&with_variables(&maker)),
        [open("ExternalSecret flux-system/settings")]
    );
}

/// The Kustomization that reconciles the entry takes variables from Secrets as the others do.
#[test]
fn variables_of_the_entry_may_come_from_a_secret_that_is_not_in_the_fleet() {
    let bench = sound();
    let file = bench.path("clusters/prod/sync.yaml");
    let sync = std::fs::read_to_string(&file).unwrap();
    let from = "spec: {interval: 5m, postBuild: {substituteFrom: [{kind: Secret, name: settings}]}, prune: true";
    let with_secret = sync.replace("spec: {interval: 5m, prune: true", from);
    assert_ne!(with_secret, sync);
    bench.write("clusters/prod/sync.yaml", with_secret);
    bench.write(
        "clusters/prod/variables.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: flux-system}\ndata: {a: \"${DOMAIN}\"}\n",
    );
    let note = format!(
        "note[undefined-variable] Kustomization flux-system/fleet: ${{DOMAIN}} has a value only if {MISSING} gives it | it is not in the \
         fleet, so its keys are not known here"
    );
    let all = told(&bench);
    assert!(all.contains(&note), "{all:#?}");
    assert!(!all.iter().any(|text| text.contains("has no value")), "{all:#?}");
    let shown = bench.run(&["fleet", "--offline", "clusters/prod"]).out;
    assert!(
        shown.contains(&format!("{MISSING} of substituteFrom is not in the fleet")),
        "{shown}"
    );
    // Another Kustomization gives it.
    bench.write(
        "apps/web/settings.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: settings, namespace: flux-system}\nstringData: {OTHER: a}\n",
    );
    let shown = bench.run(&["fleet", "--offline", "clusters/prod"]).out;
    assert!(!shown.contains("of substituteFrom is not in the fleet"), "{shown}");
}

/// Names with variables that only a Secret has may be those that others refer to.
#[test]
fn what_has_a_variable_in_its_name_may_be_what_is_referred_to() {
    let bench = sound();
    let from = ", postBuild: {substituteFrom: [{kind: Secret, name: settings}]}";
    bench.write("clusters/prod/web.yaml", kustomization("web", "./apps/web", from));
    bench.write(
        "apps/web/named.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: \"${CHART:=shop}\", namespace: web}\n\
         spec: {interval: 1h, url: 'oci://registry.example.com/charts/shop', ref: {tag: 1.0.0}}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"shop-${TIER}-values\", namespace: web}\ndata: {values.yaml: ''}\n",
    );
    let release = |source: &str, map: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: shop, namespace: web}}\nspec: {{interval: 1h, \
             chartRef: {{kind: OCIRepository, name: {source}}}, valuesFrom: [{{kind: ConfigMap, name: {map}}}]}}\n"
        )
    };
    let missing = |bench: &Bench| -> Vec<String> {
        let all = told(bench).into_iter();
        all.filter(|text| text.contains("[missing-source]") || text.contains("[missing-config-map]"))
            .collect()
    };
    bench.write("apps/web/release.yaml", release("shop", "shop-blue-values"));
    assert_eq!(missing(&bench), [""; 0]);
    bench.write("apps/web/release.yaml", release("shop", "store-blue-values"));
    assert!(
        matches!(missing(&bench).as_slice(), [text] if text.contains("ConfigMap web/store-blue-values is not in the fleet")),
        "{:#?}",
        missing(&bench)
    );
    // A name is another one in another namespace.
    bench.write(
        "apps/web/release.yaml",
        release("shop, namespace: other", "shop-blue-values"),
    );
    assert!(
        matches!(missing(&bench).as_slice(), [text] if text.contains("OCIRepository other/shop is not in the fleet")),
        "{:#?}",
        missing(&bench)
    );
}

#[test]
fn a_cluster_wide_secret_is_in_the_namespaces_that_it_selects() {
    let cluster_wide = |select: &str| {
        format!(
            "apiVersion: external-secrets.io/v1\nkind: ClusterExternalSecret\nmetadata: {{name: all}}\nspec:\n  externalSecretName: \
             settings\n  {select}\n  externalSecretSpec: {{dataFrom: [{{extract: {{key: k}}}}]}}\n---\napiVersion: v1\nkind: \
             Namespace\nmetadata: {{name: flux-system, labels: {{team: platform}}}}\n"
        )
    };
    for select in [
        "namespaceSelectors: [{matchLabels: {}}]",
        "namespaceSelectors: [{matchLabels: {team: web}}, {matchLabels: {team: platform}}]",
        "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: flux-system}}",
        "namespaces: [web, flux-system]",
    ] {
        let told = told(&with_variables(&cluster_wide(select)));
        assert!(
            matches!(told.as_slice(), [note] if note.ends_with("| ClusterExternalSecret all makes it; which keys it has is not known here")),
            "{select}: {told:#?}"
        );
    }
    for select in ["namespaceSelectors: [{matchLabels: {team: web}}]", "namespaces: [web]"] {
        let told = told(&with_variables(&cluster_wide(select)));
        let wanted = format!(
            "warning[missing-secret] Kustomization flux-system/web: {MISSING} is not in the fleet | ClusterExternalSecret all makes it, \
             but not in the namespace flux-system"
        );
        assert!(told.contains(&wanted), "{select}: {told:#?}");
    }
}

/// Definitions have examples of variables in their descriptions, those of Flux too: they need not be substituted.
#[test]
fn a_variable_of_a_description_names_the_way_out() {
    let bench = sound();
    let variables = ", postBuild: {substitute: {KNOWN: a}}";
    bench.write("clusters/prod/web.yaml", kustomization("web", "./apps/web", variables));
    let definition = |annotations: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: gadgets.example.com{annotations}}}\n\
             spec:\n  group: example.com\n  scope: Namespaced\n  names: {{kind: Gadget, plural: gadgets}}\n  versions:\n  - name: v1\n    \
             served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        description: use \
             ${{var/a/b}}\n"
        )
    };
    bench.write("apps/web/gadgets.yaml", definition(""));
    let wanted = "error[undefined-variable] CustomResourceDefinition gadgets.example.com: ${var} has no value | it is in a description: \
                  give the object the annotation kustomize.toolkit.fluxcd.io/substitute: disabled";
    let all = told(&bench);
    assert!(all.iter().any(|text| text == wanted), "{all:#?}");
    let annotation = ", annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}";
    bench.write("apps/web/gadgets.yaml", definition(annotation));
    assert_eq!(told(&bench), [""; 0]);
}

/// SOPS leaves keys readable, so what is none of them has no value.
#[test]
fn variables_are_checked_against_the_keys_of_encrypted_secrets() {
    let secret = encrypted();
    let name = |line: &&str| line.trim_start().starts_with("name: ");
    let line = secret.lines().find(name).unwrap();
    let secret = secret.replace(line, "    name: settings");
    let namespace = |line: &&str| line.trim_start().starts_with("namespace: ");
    let line = secret.lines().find(namespace).unwrap().to_owned();
    let secret = secret.replace(&line, "    namespace: flux-system");
    let keys: Vec<&str> = secret
        .lines()
        .filter(|line| line.starts_with("    ") && line.contains(": ENC["))
        .filter_map(|line| line.trim().split(':').next())
        .collect();
    let bench = with_variables("");
    bench.write("clusters/prod/maker.yaml", secret.as_str());
    let known = format!(
        "data: {{a: \"${{{}}}\", b: \"${{TYPO}}\"}}",
        keys[0].replace(['-', '.'], "_")
    );
    bench.write(
        "apps/web/variables.yaml",
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: web}}\n{known}\n"),
    );
    let all = told(&bench);
    assert!(
        all.contains(&"error[undefined-variable] ConfigMap web/c: ${TYPO} has no value | -".to_owned()),
        "{all:#?}"
    );
    let known = keys[0].replace(['-', '.'], "_");
    bench.write(
        "apps/web/variables.yaml",
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: web}}\ndata: {{a: \"${{{known}:=plain}}\"}}\n"),
    );
    let note = format!(
        "note[undefined-variable] Kustomization flux-system/web: ${{{known}}} has its default here: {MISSING} may give another value | \
         its values are encrypted"
    );
    let all = told(&bench);
    assert!(all.contains(&note), "{all:#?}");
    let shown = bench
        .run(&["fleet", "--offline", "clusters/prod", "--output", "yaml"])
        .out;
    assert!(shown.contains("a: plain\n"), "{shown}");
}

/// What only a Secret knows has its default, so that numbers, durations and paths are such.
#[test]
fn a_default_stands_for_a_value_that_is_not_known() {
    let maker = "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: settings, namespace: flux-system}\n\
                 spec: {data: [{secretKey: KNOWN}]}\n";
    let bench = with_variables(maker);
    bench.write(
        "apps/web/variables.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: web}\ndata: {a: \"${KNOWN:=one}\", b: \"${OTHER:=two}\"}\n",
    );
    let note = |variables: &str, values: &str, help: &str| {
        format!(
            "note[undefined-variable] Kustomization flux-system/web: {variables} here: {MISSING} may give {values} | {help}"
        )
    };
    let maker_helps = "ExternalSecret flux-system/settings makes it; its values are not known here";
    assert_eq!(
        told(&bench),
        [note("${KNOWN} has its default", "another value", maker_helps)]
    );
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: flux-system}\n";
    bench.write("clusters/prod/maker.yaml", other);
    let all = told(&bench);
    let wanted = note(
        "${KNOWN}, ${OTHER} have their defaults",
        "other values",
        "it is not in the fleet",
    );
    assert!(all.contains(&wanted), "{all:#?}");
    let shown = bench
        .run(&["fleet", "--offline", "clusters/prod", "--output", "yaml"])
        .out;
    assert!(shown.contains("a: one\n") && shown.contains("b: two\n"), "{shown}");
}

#[test]
fn a_hint_names_what_could_make_the_object() {
    let checks = ", healthChecks: [{apiVersion: apps/v1, kind: Deployment, name: vmagent-nas, namespace: web}]";
    let object = |api_version: &str, kind: &str, name: &str, namespace: &str| {
        format!(
            "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec: {{}}\n"
        )
    };
    let check = |maker: String| {
        let bench = sound();
        bench.write("clusters/prod/web.yaml", kustomization("web", "./apps/web", checks));
        bench.write("apps/web/maker.yaml", maker);
        let all = told(&bench);
        all.into_iter()
            .find(|text| text.contains("[health-check-not-built]"))
            .unwrap()
    };
    for (api_version, kind, name) in [
        ("image.toolkit.fluxcd.io/v1", "ImageRepository", "vmagent"),
        ("source.toolkit.fluxcd.io/v1", "HelmRepository", "vmagent"),
        ("source.toolkit.fluxcd.io/v1", "OCIRepository", "vmagent-nas"),
        ("notification.toolkit.fluxcd.io/v1", "Receiver", "nas"),
        ("external-secrets.io/v1", "ExternalSecret", "vmagent-nas"),
        ("monitoring.coreos.com/v1", "ServiceMonitor", "vmagent-nas"),
    ] {
        let text = check(object(api_version, kind, name, "web"));
        assert!(
            text.starts_with("warning[") && !text.contains("may make it"),
            "{kind}: {text}"
        );
    }
    // A release makes objects in its own namespace.
    let text = check(object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "vmagent", "other"));
    assert!(text.starts_with("warning["), "{text}");
    let text = check(object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "vmagent", "web"));
    assert!(
        text.starts_with("note[") && text.ends_with("HelmRelease web/vmagent may make it"),
        "{text}"
    );
    let text = check(object("operator.victoriametrics.com/v1beta1", "VMAgent", "nas", "web"));
    assert!(
        text.starts_with("note[") && text.ends_with("VMAgent web/nas may make it"),
        "{text}"
    );
}

#[test]
fn what_is_no_credential_may_be_in_a_secret() {
    let bench = sound();
    let secret = |data: &str| {
        bench.write(
            "apps/web/secret.yaml",
            format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: web}}\n{data}"),
        );
        told(&bench)
    };
    for data in [
        "stringData:\n  authorized_keys: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMgapzKxl5psYtNtqE5E7gJt6WC6677ClsT4S9fsx3Lk a@b\n",
        "data:\n  AZURE_CLIENT_ID: ZDg2NGIzY2EtMjM4Yy00NzRhLWE0MjYtNmU1MjYyMDdjZjRh\n  USE_AUTH: dHJ1ZQ==\n",
        "stringData:\n  url: https://git.example.com/acme/fleet\n  type: git\n  username: bot\n",
        "stringData:\n  password: ${PASSWORD}\n  token: op://vault/web/token\n",
    ] {
        assert_eq!(secret(data), [""; 0], "{data}");
    }
    let both = secret("stringData:\n  username: bot\n  password: hunter2\n");
    assert_eq!(
        both,
        ["error[clear-text-secret] Secret web/s: the value of password is in clear text | -"]
    );
    let unclear = secret("stringData:\n  something: hunter2!\n");
    assert!(unclear[0].starts_with("warning[clear-text-secret]"), "{unclear:#?}");
}

/// A file whose kind and name are encrypted, too.
#[test]
fn files_that_are_encrypted_as_a_whole_are_told_of_and_may_have_anything() {
    let bench = sound();
    let value = "ENC[AES256_GCM,data:aaaa,iv:aaaa,tag:aaaa,type:str]";
    let file = format!(
        "apiVersion: {value}\nkind: {value}\nmetadata:\n    name: {value}\ndata:\n    k: {value}\nsops:\n    age:\n        - recipient: \
         age1wdapsm2nw9pr0nmak892gqwat44uhay7d7z5fqtwgsmm6ecatggsfql3yx\n          enc: x\n    lastmodified: \
         \"2026-01-01T00:00:00Z\"\n    mac: {value}\n    version: 3.9.1\n"
    );
    bench.write("apps/web/whole.yaml", file.as_str());
    bench.write("apps/web/other.yaml", file.replace("data:aaaa", "data:bbbb"));
    let decryption = ", decryption: {provider: sops}, kubeConfig: {secretRef: {name: other}}";
    let place = |severity: &str, rule: &str| {
        ["other", "whole"].map(|name| format!("apps/web/{name}.yaml:1:1 {severity}[{rule}]"))
    };
    assert_eq!(found(&bench, &["clusters/prod"]).1, place("error", "build-failed"));
    bench.write("clusters/prod/web.yaml", kustomization("web", "./apps/web", decryption));
    let all = found(&bench, &["clusters/prod"]).1;
    let [first, second] = place("note", "unknown-kind");
    // The Secret with the access to the other cluster may be in one of them.
    assert_eq!(
        all,
        [
            first,
            second,
            "clusters/prod/web.yaml:5:157 note[missing-secret]".to_owned()
        ]
    );
}

/// A patch that several Kustomizations have is meant for some of them.
#[test]
fn a_patch_is_told_once_and_only_if_it_is_for_no_object_at_all() {
    let bench = sound();
    let patch = |name: &str| {
        format!(
            ", patches: [{{target: {{kind: Deployment, name: {name}}}, patch: '[{{\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {{}}}}]'}}]"
        )
    };
    let write = |name: &str| {
        bench.write(
            "clusters/prod/web.yaml",
            kustomization("web", "./apps/web", &patch(name)),
        );
        bench.write(
            "clusters/prod/other.yaml",
            kustomization("other", "./apps/other", &patch(name)),
        );
        bench.write(
            "clusters/prod/third.yaml",
            kustomization("third", "./apps/third", &patch(name)),
        );
    };
    for folder in ["other", "third"] {
        bench.write(
            &format!("apps/{folder}/a.yaml"),
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: {folder}}}\n"),
        );
        bench.write(
            &format!("apps/{folder}/kustomization.yaml"),
            "resources: [a.yaml]\ncomponents: [../../shared]\n",
        );
    }
    bench.write(
        "shared/kustomization.yaml",
        "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nimages: [{name: x, newTag: '1'}]\n",
    );
    write("web");
    assert_eq!(found(&bench, &["clusters/prod"]).1, [""; 0]);
    assert!(
        !bench
            .run(&["fleet", "--offline", "clusters/prod"])
            .out
            .contains("matches no object")
    );
    write("wep");
    let (_, places, document) = found(&bench, &["clusters/prod"]);
    assert_eq!(
        places,
        ["clusters/prod/other.yaml:1:1 warning[unmatched-patch]"],
        "{document:#}"
    );
    assert_eq!(document["findings"][0]["origins"].as_array().unwrap().len(), 3);
    let shown = bench.run(&["fleet", "--offline", "clusters/prod"]).out;
    assert_eq!(shown.matches("matches no object").count(), 1, "{shown}");
    // In a file that several read, it is at its place.
    write("web");
    bench.write(
        "shared/kustomization.yaml",
        "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\npatches:\n- target: {kind: ConfigMap, name: b}\n  patch: \
         '[{\"op\": \"add\", \"path\": \"/data\", \"value\": {}}]'\n",
    );
    assert_eq!(
        found(&bench, &["clusters/prod"]).1,
        ["shared/kustomization.yaml:4:3 warning[unmatched-patch]"]
    );
    bench.write(
        "apps/other/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: other}\n",
    );
    assert_eq!(found(&bench, &["clusters/prod"]).1, [""; 0]);
}
