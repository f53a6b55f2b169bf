//! Refused objects: nothing of their stage is applied, and all of them are reported. First lines are
//! recorded from Flux's controller.

use serde_json::json;

use super::world::{World, config_map};

#[test]
fn all_objects_that_are_refused_are_named() {
    let Some(mut world) = World::new() else { return };
    let yaml = format!(
        "{}{}{}---\napiVersion: nope.example.com/v1\nkind: Widget\nmetadata: {{name: w, namespace: NS}}\n\
         ---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: NS-two}}\n",
        config_map("bad", "[]"),
        config_map("good", "{}"),
        config_map("lost", "{}").replace("namespace: NS", "namespace: nowhere"),
    );
    let mut objects = world.objects(&yaml);
    objects[3].origin = Some("app/widget.yaml:3".to_owned());
    let failed = world.try_apply_objects(objects).unwrap_err();
    let words = failed.to_string().replace(&world.namespace, "NS");
    let lines: Vec<&str> = words.split('\n').collect();
    let typed = "ConfigMap/NS/bad dry-run failed: failed to create typed patch object (NS/bad; /v1, Kind=ConfigMap): \
        .data: expected map, got &{[]}";
    let expected = [
        typed,
        "ConfigMap/nowhere/lost not found: namespaces \"nowhere\" not found",
        "Widget/NS/w dry-run failed: no matches for kind \"Widget\" in version \"nope.example.com/v1\"",
        "  in app/widget.yaml:3",
        "Namespace/NS-two created",
        "",
    ];
    assert_eq!(lines, expected);
    assert!(!world.is_there("v1", "ConfigMap", "good"));
    let entries = world
        .inventory
        .entries
        .iter()
        .map(|entry| entry.id.to_string().replace(&world.namespace, "NS"));
    assert_eq!(
        entries.collect::<Vec<_>>(),
        ["Namespace/NS-two"],
        "the stage before has been applied, and is not forgotten"
    );
}

#[test]
fn words_are_those_of_flux() {
    let Some(mut world) = World::new() else { return };
    for (yaml, words) in [
        (
            config_map("c1", "{}").replace("  namespace: NS\n", ""),
            "ConfigMap/c1 namespace not specified: the server could not find the requested resource\n",
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s1, namespace: NS}\ndata: {a: 'abc!'}\n".to_owned(),
            "Secret/NS/s1 dry-run failed: failed to convert new object (NS/s1; /v1, Kind=Secret) to proper version: unable to \
             convert unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 3\n",
        ),
        (
            "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: app, namespace: NS, annotations: {id: 123}}\n"
                .to_owned(),
            "ServiceAccount/NS/app dry-run failed: failed to create typed patch object (NS/app; /v1, Kind=ServiceAccount): \
             .metadata.annotations.id: expected string, got &value.valueUnstructured{Value:123}\n",
        ),
        (
            "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: NS}\nspec: {ports: [{port: 0, targetPort: 1}]}\n"
                .to_owned(),
            "Service/NS/web dry-run failed (Invalid): Service \"web\" is invalid: spec.ports[0].port: Invalid value: 0: must be \
             between 1 and 65535, inclusive\n",
        ),
    ] {
        assert_eq!(world.refused(&yaml), words);
    }
}

/// docs/decisions.md, *SOPS Secret without decryption*: with `data` and with `stringData`.
#[test]
fn encrypted_secrets_are_refused() {
    let Some(mut world) = World::new() else { return };
    for field in ["data", "stringData"] {
        let yaml = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: creds, namespace: NS}}\n{field}: {{a: 'ENC[AES256_GCM,data:x]'}}\n\
             sops: {{version: 3.9.0}}\n"
        );
        let words =
            "Secret/NS/creds is SOPS encrypted, configuring decryption is required for this secret to be reconciled";
        assert_eq!(world.refused(&yaml), words);
        assert!(!world.is_there("v1", "Secret", "creds"));
    }
}

/// docs/decisions.md, *ciphertext in objects*: nothing is applied, and the field is named.
#[test]
fn ciphertext_is_refused() {
    let Some(mut world) = World::new() else { return };
    for (yaml, words) in [
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: creds, namespace: NS}\nstringData: {a: 'ENC[AES256_GCM,data:x]'}\n",
            "Secret/NS/creds: stringData.a holds what SOPS encrypted, and nothing decrypts it: ",
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: creds, namespace: NS}\ndata: {a: RU5DW0FFUzI1Nl9HQ00sZGF0YTp4XQ==}\n",
            "Secret/NS/creds: data.a holds what SOPS encrypted, and nothing decrypts it: ",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: creds, namespace: NS}\ndata: {a: 'ENC[x]'}\nsops: {mac: 'ENC[x]'}\n",
            "ConfigMap/NS/creds is SOPS encrypted, configuring decryption is required for this object to be reconciled",
        ),
    ] {
        let told = world.refused(yaml);
        assert!(told.starts_with(words) && !told.contains("AES256"), "{told}");
        assert!(!world.is_there("v1", "Secret", "creds") && !world.is_there("v1", "ConfigMap", "creds"));
    }
}

/// A rule that cannot be read stops everything, in the words of Flux.
#[test]
fn wrong_rules_are_refused() {
    let Some(mut world) = World::new() else { return };
    world.settings.ignore = serde_json::from_value(json!([{"paths": ["/a"], "target": {"kind": "("}}])).unwrap();
    let words = world.refused(&config_map("c1", "{}"));
    assert!(
        words.starts_with("failed to create ignore rule selector: invalid kind regex: "),
        "{words}"
    );
}

/// What others build on has to be there in time.
#[test]
fn a_namespace_that_is_going_is_waited_for_in_vain() {
    let Some(mut world) = World::new() else { return };
    let yaml = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-going}\n";
    world.apply(yaml);
    // Deletions do not complete here: there are no controllers.
    let path = format!("/api/v1/namespaces/{}-going", world.namespace);
    world.server.request("DELETE", &path, "", "");
    world.settings.timeout = std::time::Duration::from_millis(100);
    assert_eq!(
        world.refused(yaml),
        "timeout waiting for: [Namespace/NS-going status: 'Terminating']\n"
    );
}
