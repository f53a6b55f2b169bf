//! `bumpwright fleet check`: what every API server refuses, though the schema allows it.

use crate::fleet_check::{found, sound};

/// The lines of the rule, with the message of each.
fn refused(manifest: &str) -> Vec<String> {
    let bench = sound();
    bench.write("apps/web/more.yaml", manifest);
    let (code, lines, document) = found(&bench, &["clusters/prod"]);
    let messages = document["findings"].as_array().unwrap().iter();
    let all = lines
        .into_iter()
        .zip(messages.map(|finding| finding["message"].as_str().unwrap()));
    let of_rule = all.filter_map(|(line, message)| {
        let place = line.strip_suffix(" error[refused-object]")?;
        Some(format!("{place} {message}"))
    });
    let refused: Vec<String> = of_rule.collect();
    assert_eq!(code == 1, !refused.is_empty(), "{document:#}");
    refused
}

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: web}
spec:
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      volumes: [{name: data}]
      containers:
      - name: api
        image: ghcr.io/acme/api:1.0.0
        env: [{name: A, value: a}]
        volumeMounts: [{name: data, mountPath: /data}]
";

#[test]
fn a_deployment_that_no_server_takes_is_an_error_at_its_field() {
    assert_eq!(refused(DEPLOYMENT), [""; 0]);
    for (from, to, expected) in [
        (
            "labels: {app: api}",
            "labels: {app: apo}",
            "apps/web/more.yaml:7:24 spec.template.metadata.labels: Invalid value: \"app=apo\": `selector` does not match template `labels`: \
             it wants app=api",
        ),
        (
            "name: data, ",
            "name: dta, ",
            "apps/web/more.yaml:14:31 spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"dta\"",
        ),
        (
            "image: ghcr.io/acme/api:1.0.0",
            "image: ''",
            "apps/web/more.yaml:12:16 spec.template.spec.containers[0].image: Required value",
        ),
        (
            "[{name: A, value: a}]",
            "[{name: A, value: a}, {name: A, value: b}]",
            "apps/web/more.yaml:13:36 spec.template.spec.containers[0].env[1]: duplicate entries for key [name=\"A\"]",
        ),
    ] {
        let text = DEPLOYMENT.replace(from, to);
        assert_ne!(text, DEPLOYMENT);
        assert_eq!(refused(&text), [expected], "{to}");
    }
    // An object that is put over one of somebody else need not be whole, and one that is left alone is not applied.
    let imageless = DEPLOYMENT.replace("image: ghcr.io/acme/api:1.0.0", "image: ''");
    for (field, wish) in [
        ("annotations", "ssa: Merge"),
        ("labels", "ssa: merge"),
        ("annotations", "ssa: Ignore"),
        ("labels", "reconcile: Disabled"),
    ] {
        let wish = format!("metadata: {{{field}: {{kustomize.toolkit.fluxcd.io/{wish}}}, name: api, ");
        let wishing = imageless.replace("metadata: {name: api, ", &wish);
        assert_ne!(wishing, imageless);
        assert_eq!(refused(&wishing), [""; 0], "{field} {wish}");
    }
}

#[test]
fn what_is_missing_is_reported_at_what_should_have_it() {
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: api, namespace: web}\nspec:\n  selector: {app: api}\n";
    assert_eq!(refused(service), ["apps/web/more.yaml:4:1 spec.ports: Required value"]);
    let cron = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a, namespace: web}\nspec:\n  schedule: '0 3 * *'\n  jobTemplate:\n    \
                spec:\n      template:\n        spec:\n          restartPolicy: Never\n          containers:\n          - {name: a, image: 'a:1'}\n";
    assert_eq!(
        refused(cron),
        [
            "apps/web/more.yaml:5:13 spec.schedule: Invalid value: \"0 3 * *\": expected exactly 5 fields, found 4: [0 3 * *]"
        ]
    );
}
