//! Credentials in clear text outside of Secrets.

use super::*;

/// `line:column severity: message` of what is in clear text in `a/x.yaml` after a change of it.
fn clear(before: &str, after: &str) -> Vec<String> {
    let state = |text: &str| match text {
        "" => fleet(PRUNE, &[]),
        text => fleet(PRUNE, &[("a/x.yaml", text)]),
    };
    let review = reviewed(&state(before), &state(after));
    let findings = review
        .report
        .open()
        .filter(|finding| finding.rule.id() == "clear-text-secret");
    let shown = findings.map(|finding| {
        let place = finding.place.as_ref().unwrap();
        let (severity, message) = (finding.severity.as_str(), &finding.message);
        format!("{}:{} {severity}: {message}", place.line, place.column)
    });
    shown.collect()
}

fn map(data: &str) -> String {
    object("v1", "ConfigMap", &format!("data:\n{data}"))
}

fn pods(env: &str) -> String {
    object(
        "apps/v1",
        "Deployment",
        &format!(
            "spec:\n  selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    spec:\n      \
             containers:\n      - name: c\n        image: i:1\n        env:\n        {env}\n"
        ),
    )
}

fn release(values: &str) -> String {
    object(
        "helm.toolkit.fluxcd.io/v2",
        "HelmRelease",
        &format!(
            "spec:\n  interval: 1h\n  chart: {{spec: {{chart: w, sourceRef: {{kind: HelmRepository, name: r}}}}}}\n  values:\n    {values}\n"
        ),
    )
}

#[test]
fn credentials_that_a_change_brings_are_found_at_their_fields() {
    assert_eq!(
        clear(&map("  a: b"), &map("  a: b\n  db_password: hunter2")),
        ["6:16 warning: the value of db_password is in clear text, outside of a Secret"]
    );
    assert_eq!(
        clear(
            &pods("- {name: A, value: b}"),
            &pods("- {name: DB_PASSWORD, value: hunter2}\n        - {name: API_TOKEN, value: q7f0c9e1}")
        ),
        ["13:38 warning: the values of DB_PASSWORD, API_TOKEN are in clear text, outside of a Secret"]
    );
    assert_eq!(
        clear(&release("a: b"), &release("auth: {password: hunter2}")),
        ["8:22 warning: the value of password is in clear text, outside of a Secret"]
    );
    assert_eq!(
        clear(&release("a: b"), &release("uri: 'postgres://app:hunter2@db/app'")),
        ["8:10 warning: the value of uri is in clear text, outside of a Secret"]
    );
    let key = "spec:\n  identity: |\n    -----BEGIN EC PRIVATE KEY-----\n    MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY/PuoAoGCCqGSM49\n    \
               -----END EC PRIVATE KEY-----\n";
    let found = clear("", &object("example.com/v1", "Widget", key));
    assert!(
        found.len() == 1 && found[0].ends_with("the value of identity is in clear text, outside of a Secret"),
        "{found:#?}"
    );
}

#[test]
fn values_are_not_printed() {
    let state = |text: &str| fleet(PRUNE, &[("a/x.yaml", text)]);
    let review = reviewed(&state(&map("  a: b")), &state(&map("  db_password: hunter2")));
    let finding = review
        .report
        .open()
        .find(|finding| finding.rule.id() == "clear-text-secret");
    assert!(
        !format!("{finding:?}").contains("hunter2") && finding.is_some(),
        "{finding:?}"
    );
}

#[test]
fn what_was_there_before_and_what_is_configured_are_no_news() {
    // The same value in another field.
    let before = map("  password: hunter2");
    assert_eq!(clear(&before, &map("  password: hunter2\n  a: b")), [""; 0]);
    assert_eq!(clear(&before, &map("  db_password: hunter2")), [""; 0]);
    let settings = "  password: ${PASSWORD}\n  passwordKey: admin-password\n  secretName: web-tls01\n  tls: 'true'\n  \
                    token_file: /run/secrets/token\n  password_hint: changeme\n  url: postgres://app@db/app";
    assert_eq!(clear(&map("  a: b"), &map(settings)), [""; 0]);
    let reference = "- name: DB_PASSWORD\n          valueFrom: {secretKeyRef: {name: db, key: password}}";
    assert_eq!(clear("", &pods(reference)), [""; 0]);
    let values = "auth: {existingSecret: db-prod01, password: '', usePassword: true, port: 5432}";
    assert_eq!(clear("", &release(values)), [""; 0]);
}

#[test]
fn a_value_of_a_secret_is_found_where_a_file_repeats_it() {
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: n}\nstringData: {password: hunter2-hunter2}\n";
    let both = |data: &str| format!("{secret}---\n{}", map(data));
    let found = clear(&both("  a: b"), &both("  password: hunter2-hunter2"));
    assert_eq!(
        found,
        ["10:13 warning: the value of password is in clear text, outside of a Secret"]
    );
}

#[test]
fn a_value_of_a_secret_that_is_a_part_of_a_name_is_not_in_a_comment() {
    let files = |user: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: n}}\nstringData: {{user: {user}}}\n---\n\
             apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: of-{user}, namespace: n}}\n"
        )
    };
    let state = |user: &str| fleet(PRUNE, &[("a/x.yaml", &files(user))]);
    let text = reviewed(&state("lighthouse"), &state("operator")).markdown();
    assert!(text.contains("of-**"), "{text}");
    assert!(!text.contains("lighthouse") && !text.contains("operator"), "{text}");
}
