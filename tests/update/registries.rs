//! `bumpwright update` with queries of registries, as its user runs it (issue: `update` needs no cluster),
//! against a real registry.

use bumpwright_testkit::cli::{Bench, automation, git_repository};
use bumpwright_testkit::images::Media;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::registry::{Access, Options, Registry};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tls::Certificates;
use serde_json::Value as Json;

/// An ImageRepository; `rest` is indented YAML below `spec`.
fn image_repository(namespace: &str, name: &str, image: &str, rest: &str) -> String {
    format!(
        "---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
         spec:\n  interval: 1h\n  image: {image}\n{rest}"
    )
}

/// An ImagePolicy with a range; `annotations` is a flow mapping, `rest` is indented YAML below `spec`.
fn image_policy(namespace: &str, name: &str, range: &str, annotations: &str, rest: &str) -> String {
    format!(
        "---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\n\
         metadata: {{name: {name}, namespace: {namespace}, annotations: {annotations}}}\n\
         spec:\n  imageRepositoryRef: {{name: {name}}}\n  policy: {{semver: {{range: '{range}'}}}}\n{rest}"
    )
}

fn marked(image: &str, tag: &str, name: &str) -> String {
    format!("image: {image}:{tag} # {{\"$imagepolicy\": \"fs:{name}\"}}\n")
}

fn skips(document: &Json) -> Vec<(String, String)> {
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let skips = document["runs"][0]["skips"].as_array().unwrap().iter();
    skips
        .map(|skip| (text(&skip["reason"]), text(&skip["message"])))
        .collect()
}

#[test]
fn a_folder_gets_the_newest_tags_of_the_registry() {
    let Some(registry) = Registry::start() else { return };
    registry
        .images()
        .tags("team/app", &["1.0.0", "1.4.2", "1.10.0", "2.0.0-rc.1", "sha256-1.sig"]);
    registry.images().tags("team/web", &["3.0.0", "3.1.0"]);
    let (app, web) = (
        format!("{}/team/app", registry.host()),
        format!("{}/team/web", registry.host()),
    );
    let bench = Bench::new();
    bench.write(
        "apps/a.yaml",
        marked(&app, "1.0.0", "app") + &marked(&web, "3.0.0", "web"),
    );
    let manifests = [
        image_repository("fs", "app", &app, ""),
        image_policy("fs", "app", ">=1.0.0", "{}", ""),
        image_repository("fs", "web", &web, ""),
        image_policy("fs", "web", "3.x", "{}", ""),
    ];
    let file = bench.write("policies.yaml", manifests.concat());
    bench.ok(&["update", "apps", "-f", file.to_str().unwrap()]);
    assert_eq!(
        bench.read("apps/a.yaml"),
        marked(&app, "1.10.0", "app") + &marked(&web, "3.1.0", "web")
    );
    // Offline nothing is known, and no request is made.
    bench.write("apps/a.yaml", marked(&app, "1.0.0", "app"));
    let before = registry.requests().len();
    let (code, document) = bench.json(&["update", "apps", "-f", file.to_str().unwrap(), "--offline"]);
    assert_eq!((code, registry.requests().len()), (0, before));
    assert_eq!(skips(&document)[0].0, "PolicyNotReady");
}

#[test]
fn only_what_markers_name_is_scanned_and_each_repository_once() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("team/app", &["1.0.0", "1.1.0"]);
    registry.images().tags("team/other", &["1.0.0"]);
    let app = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    bench.write("a.yaml", marked(&app, "1.0.0", "app") + &marked(&app, "1.0.0", "twin"));
    let twin = image_policy("fs", "twin", "1.0.x", "{}", "").replace("Ref: {name: twin}", "Ref: {name: app}");
    let other = format!("{}/team/other", registry.host());
    let manifests = [
        image_repository("fs", "app", &app, ""),
        image_policy("fs", "app", "*", "{}", ""),
        twin,
        image_repository("fs", "other", &other, ""),
        image_policy("fs", "other", "*", "{}", ""),
    ];
    bench.write("policies/all.yaml", manifests.concat());
    // Policies and repositories of TARGET itself count, too (docs/cli.md, *TARGET*, rule 5).
    bench.ok(&["update"]);
    assert_eq!(
        bench.read("a.yaml"),
        marked(&app, "1.1.0", "app") + &marked(&app, "1.0.0", "twin")
    );
    let asked = registry
        .requests()
        .into_iter()
        .filter(|r| r.target.contains("/tags/list"));
    let asked: Vec<String> = asked.map(|r| r.target.split('?').next().unwrap().to_owned()).collect();
    assert_eq!(asked, ["/v2/team/app/tags/list"]);
}

#[test]
fn policies_of_several_clusters_in_one_repository_are_not_mixed_up() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("team/app", &["1.0.0", "1.1.0"]);
    let app = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    let field = marked(&app, "0.9.0", "app");
    for (cluster, range) in [("production", "1.0.x"), ("staging", "*")] {
        bench.write(&format!("fleet/{cluster}/a.yaml"), &field);
        let policy = image_policy("fs", "app", range, "{}", "");
        bench.write(
            &format!("fleet/{cluster}/policies.yaml"),
            image_repository("fs", "app", &app, "") + &policy,
        );
    }
    let (code, document) = bench.json(&["update", "fleet", "--strict"]);
    assert_eq!(code, 3);
    let found = skips(&document);
    assert_eq!(found.len(), 2);
    let (reason, message) = &found[0];
    assert_eq!(reason, "PolicyNotReady");
    assert!(
        message.contains("ImagePolicy fs/app stands twice and differs: fleet/production/policies.yaml:"),
        "{message}"
    );
    assert_eq!(bench.read("fleet/staging/a.yaml"), field);
    // Each cluster on its own, or with what is said on the command line.
    bench.ok(&["update", "fleet/production"]);
    assert_eq!(bench.read("fleet/production/a.yaml"), marked(&app, "1.0.0", "app"));
    bench.ok(&["update", "fleet", "-f", "fleet/staging/policies.yaml"]);
    assert_eq!(bench.read("fleet/staging/a.yaml"), marked(&app, "1.1.0", "app"));
    // Two repositories of one name that differ: none is asked.
    bench.write("twins/a.yaml", &field);
    let other = image_repository("fs", "app", &format!("{app}-other"), "");
    bench.write(
        "twins/one.yaml",
        image_repository("fs", "app", &app, "") + &image_policy("fs", "app", "*", "{}", ""),
    );
    bench.write("twins/two.yaml", other);
    let (_, document) = bench.json(&["update", "twins"]);
    let (reason, message) = &skips(&document)[0];
    assert_eq!(reason, "PolicyNotReady");
    assert!(
        message.contains("ImageRepository fs/app stands twice and differs"),
        "{message}"
    );
}

#[test]
fn n_053_a_repository_excludes_by_25_patterns_at_most() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("team/app", &["1.0.0", "1.1.0"]);
    let app = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    bench.write("a.yaml", marked(&app, "1.0.0", "app"));
    let run = |count: usize| {
        let patterns = vec!["'^1[.]1'"; count].join(", ");
        let spec = format!("  exclusionList: [{patterns}]\n");
        let manifests = image_repository("fs", "app", &app, &spec) + &image_policy("fs", "app", "*", "{}", "");
        let file = bench.write("policies.yaml", manifests);
        bench.json(&["update", "a.yaml", "-f", file.to_str().unwrap()])
    };
    let (code, document) = run(25);
    assert_eq!((code, skips(&document)), (0, Vec::new()));
    let (code, document) = run(26);
    let error = document["runs"][0]["error"].as_str().unwrap();
    assert!(
        code == 2 && error.ends_with("spec.exclusionList has 26 items, which is more than 25"),
        "{error}"
    );
}

#[test]
fn a_downgrade_is_one_under_the_images_other_names_too() {
    let bench = Bench::new();
    let status = "status: {latestRef: {name: acme/app, tag: 1.0.0}}\n";
    let annotations = "{bumpwright.dev/allow-downgrade: 'false'}";
    let file = bench.write("p.yaml", image_policy("fs", "app", "*", annotations, "") + status);
    for image in ["acme/app", "docker.io/acme/app", "index.docker.io/acme/app"] {
        bench.write("a.yaml", marked(image, "2.0.0", "app"));
        let (_, document) = bench.json(&["update", "a.yaml", "--offline", "-f", file.to_str().unwrap()]);
        assert_eq!(skips(&document)[0].0, "WouldDowngrade", "{image}");
    }
    // Tags of another image say nothing about this one's.
    bench.write("a.yaml", marked("quay.io/acme/app", "2.0.0", "app"));
    bench.ok(&[
        "update",
        "a.yaml",
        "--offline",
        "--strict",
        "-f",
        file.to_str().unwrap(),
    ]);
}

#[test]
fn a_scan_that_fails_skips_its_policies_and_the_rest_goes_on() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("team/app", &["1.0.0", "1.1.0"]);
    let (app, gone) = (
        format!("{}/team/app", registry.host()),
        format!("{}/team/gone", registry.host()),
    );
    let bench = Bench::new();
    bench.write("a.yaml", marked(&app, "1.0.0", "app") + &marked(&gone, "1.0.0", "gone"));
    let manifests = [
        image_repository("fs", "app", &app, ""),
        image_policy("fs", "app", "*", "{}", ""),
        image_repository("fs", "gone", &gone, ""),
        image_policy("fs", "gone", "*", "{}", ""),
    ];
    let file = bench.write("policies/all.yaml", manifests.concat());
    let (code, document) = bench.json(&["update", "a.yaml", "-f", file.to_str().unwrap()]);
    assert_eq!(code, 2, "the registry failed a field");
    assert_eq!(
        bench.read("a.yaml"),
        marked(&app, "1.1.0", "app") + &marked(&gone, "1.0.0", "gone")
    );
    let skips = skips(&document);
    assert_eq!(skips.len(), 1);
    assert_eq!(skips[0].0, "ScanFailed");
    let message = &skips[0].1;
    assert!(
        message.contains("ImageRepository fs/gone") && message.contains("NAME_UNKNOWN"),
        "{message}"
    );
}

/// However a registry fails: no answer, no name, no login, too many requests. Nobody depends on `idle`, so that
/// nobody asks for it.
#[test]
fn a_registry_that_fails_is_an_error_of_the_command() {
    let refuses = |status: u16| StubHttp::start(move |_| Reply::status(status));
    let servers = [401, 403, 429, 500, 503].map(refuses);
    let closed = format!("127.0.0.1:{}", free_port());
    let hosts = servers
        .iter()
        .map(|server| server.host())
        .chain([closed, "no.such.name.invalid".to_owned()]);
    let bench = Bench::new();
    for host in hosts {
        let image = format!("{host}/team/app");
        let timeout = "  timeout: 1s\n  insecure: true\n";
        let manifests =
            |name: &str| image_repository("fs", name, &image, timeout) + &image_policy("fs", name, "*", "{}", "");
        let file = bench.write("policies/all.yaml", manifests("app") + &manifests("idle"));
        let file = file.to_str().unwrap();
        bench.write("a.yaml", marked(&image, "1.0.0", "app"));
        for strict in [
            None,
            Some("--strict=markers"),
            Some("--strict=problems"),
            Some("--strict"),
        ] {
            let arguments = ["update", "--dry-run", "a.yaml", "-f", file].into_iter().chain(strict);
            let ran = bench.run(&arguments.collect::<Vec<_>>());
            assert_eq!(ran.code, 2, "{image} {strict:?}: {}{}", ran.out, ran.err);
            assert!(
                ran.err
                    .contains("error: 1 field was left as it is, since its image could not be asked for"),
                "{}",
                ran.err
            );
        }
        assert_eq!(
            bench
                .run(&["update", "--dry-run", "--offline", "a.yaml", "-f", file])
                .code,
            0
        );
        bench.write("a.yaml", "image: nobody/depends:1.0.0\n");
        assert_eq!(
            bench.run(&["update", "--dry-run", "a.yaml", "-f", file]).code,
            0,
            "{image}"
        );
    }
}

#[test]
fn what_is_held_on_purpose_is_told_apart_from_what_went_wrong() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("team/app", &["1.0.0", "1.1.0"]);
    let app = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    let codes = |range: &str, annotations: &str, rest: &str, marker: &str| {
        bench.write("a.yaml", marked(&app, "1.0.0", "app").replace("fs:app", marker));
        let manifests = image_repository("fs", "app", &app, "") + &image_policy("fs", "app", range, annotations, rest);
        let file = bench.write("policies/all.yaml", manifests);
        let code = |strict: &str| {
            bench
                .run(&["update", "--dry-run", "a.yaml", strict, "-f", file.to_str().unwrap()])
                .code
        };
        [code("--strict"), code("--strict=problems"), code("--strict=markers")]
    };
    for (range, annotations, rest, marker, expected) in [
        ("*", "{}", "", "fs:app", [0, 0, 0]),
        ("*", "{bumpwright.dev/hold: freeze}", "", "fs:app", [3, 0, 0]),
        ("*", "{bumpwright.dev/minimum-age: 876000h}", "", "fs:app", [3, 0, 0]),
        (
            "*",
            "{bumpwright.dev/promote-from: Kustomization/fs/staging}",
            "",
            "fs:app",
            [3, 0, 0],
        ),
        (
            "<1",
            "{bumpwright.dev/allow-downgrade: 'false'}",
            "",
            "fs:app",
            [3, 3, 0],
        ),
        ("*", "{}", "  suspend: true\n", "fs:app", [3, 0, 0]),
        (">9", "{}", "", "fs:app", [3, 3, 0]),
        ("*", "{bumpwright.dev/minimum-age: 3d}", "", "fs:app", [3, 3, 0]),
        ("*", "{}", "", "fs:app:digest", [3, 3, 0]),
        ("*", "{}", "", "fs:ap", [3, 3, 3]),
        ("*", "{}", "", "fs:app:ta", [3, 3, 3]),
    ] {
        assert_eq!(
            codes(range, annotations, rest, marker),
            expected,
            "{range} {annotations} {rest} {marker}"
        );
    }
}

/// The newest that is old enough is taken: that something newer comes every day holds nothing up.
#[test]
fn a_minimum_age_takes_the_newest_that_is_old_enough() {
    let Some(registry) = Registry::start() else { return };
    let images = registry.images();
    let now = bumpwright_gostd::Time::from(std::time::SystemTime::now());
    let image = |tag: &str, hours: i64| {
        let made = now.add(bumpwright_gostd::Duration(
            -hours * 3_600 * bumpwright_gostd::Duration::SECOND.0,
        ));
        let digest = images.image(
            "team/app",
            Media::Oci,
            "linux/amd64",
            Some(&made.written(bumpwright_gostd::RFC_3339)),
        );
        images.tag("team/app", tag, &digest);
    };
    image("1.0.0", 1_000);
    image("1.0.5", 200);
    image("1.1.0", 10);
    let app = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    let outcome = |held: &str, range: &str| {
        bench.write("a.yaml", marked(&app, held, "app"));
        let aged = "{bumpwright.dev/minimum-age: 72h}";
        let manifests = image_repository("fs", "app", &app, "") + &image_policy("fs", "app", range, aged, "");
        let file = bench.write("policies/all.yaml", manifests);
        let (_, document) = bench.json(&["update", "a.yaml", "-f", file.to_str().unwrap()]);
        let reason = skips(&document).into_iter().map(|(reason, _)| reason).next();
        let tag = bench
            .read("a.yaml")
            .split(' ')
            .nth(1)
            .unwrap()
            .rsplit(':')
            .next()
            .unwrap()
            .to_owned();
        (tag, reason)
    };
    let at = |tag: &str, reason: Option<&str>| (tag.to_owned(), reason.map(str::to_owned));
    assert_eq!(outcome("1.0.0", "*"), at("1.0.5", None));
    assert_eq!(outcome("1.0.5", "*"), at("1.0.5", None));
    // What is in use already, by hand, does not go back for its age; it does when the policy takes it no more.
    assert_eq!(outcome("1.1.0", "*"), at("1.1.0", Some("WouldDowngrade")));
    assert_eq!(outcome("1.1.0", "1.0.x"), at("1.0.5", None));
    assert_eq!(outcome("1.0.0", ">=1.1"), at("1.0.0", Some("TooYoung")));
    // With something newer every other hour, few ages are asked for.
    for n in 0..60 {
        image(&format!("1.2.{n}"), 120 - 2 * n);
    }
    let before = registry.requests().len();
    assert_eq!(outcome("1.0.5", "*"), at("1.2.24", None));
    let ages = registry.requests().split_off(before);
    let ages = ages.iter().filter(|request| request.target.contains("/manifests/1."));
    assert!(ages.count() <= 30, "each of twenty, and some more");
    let ran = bench.run(&["policy", "-f", "policies/all.yaml"]);
    assert!(
        ran.code == 0
            && ran.out.contains("  1.2.24  1.2.23, 1.2.22, 1.2.21")
            && ran.out.contains("is passed over: it was made at "),
        "{}",
        ran.out
    );
}

#[test]
fn an_empty_tag_is_no_image() {
    let registry = StubHttp::start(|request| match request.path.as_str() {
        "/v2/" => Reply::status(200),
        path if path.ends_with("/tags/list") => {
            Reply::json(&serde_json::json!({"name": "team/app", "tags": ["1.0.0", ""]}))
        }
        _ => Reply::status(404),
    });
    let app = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    let fields = marked(&app, "1.0.0", "app") + "tag: 1.0.0 # {\"$imagepolicy\": \"fs:app:tag\"}\n";
    bench.write("a.yaml", &fields);
    let policy =
        image_policy("fs", "app", "*", "{}", "").replace("semver: {range: '*'}", "alphabetical: {order: desc}");
    let file = bench.write("policies/all.yaml", image_repository("fs", "app", &app, "") + &policy);
    let (_, document) = bench.json(&["update", "a.yaml", "-f", file.to_str().unwrap()]);
    assert_eq!(bench.read("a.yaml"), fields);
    let skips = skips(&document);
    assert_eq!(skips.len(), 2);
    for (reason, message) in skips {
        assert_eq!(reason, "PolicyNotReady");
        assert!(
            message.contains(&format!("could not parse reference: {app}:")),
            "{message}"
        );
    }
    let ran = bench.run(&["policy", "-f", file.to_str().unwrap()]);
    assert!(
        ran.code == 2 && ran.out.contains("could not parse reference"),
        "{}",
        ran.out
    );
}

#[test]
fn secrets_of_the_manifests_open_the_registry() {
    let bench = Bench::new();
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let Some(registry) = Registry::with(&Options {
        access: Access::Password("puller", "s3cret"),
        tls: Some(&certificates),
        clients: true,
        ..Options::default()
    }) else {
        return;
    };
    registry.images().tags("team/app", &["1.0.0", "1.1.0"]);
    let app = format!("{}/team/app", registry.host());
    bench.write("a.yaml", marked(&app, "1.0.0", "app"));
    let indented = |text: String| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let pem = |bytes: &[u8]| indented(String::from_utf8(bytes.to_vec()).unwrap());
    let config = format!(
        "{{\"auths\": {{\"{}\": {{\"username\": \"puller\", \"password\": \"s3cret\"}}}}}}",
        registry.host()
    );
    let secrets = format!(
        "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: pull, namespace: fs}}\ntype: kubernetes.io/dockerconfigjson\n\
         stringData:\n  .dockerconfigjson: '{config}'\n\
         ---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: puller, namespace: fs}}\nimagePullSecrets: [{{name: pull}}]\n\
         ---\napiVersion: v1\nkind: Secret\nmetadata: {{name: certs, namespace: fs}}\nstringData:\n  ca.crt: |\n{}  tls.crt: |\n{}  \
         tls.key: |\n{}",
        pem(&certificates.ca),
        pem(&certificates.client.0),
        pem(&certificates.client.1),
    );
    let run = |spec: &str| {
        let manifests = [
            image_repository("fs", "app", &app, spec),
            image_policy("fs", "app", "*", "{}", ""),
            secrets.clone(),
        ];
        let file = bench.write("policies/all.yaml", manifests.concat());
        let (code, document) = bench.json(&[
            "update",
            "a.yaml",
            "--dry-run",
            "--exit-code",
            "-f",
            file.to_str().unwrap(),
        ]);
        let said = document.to_string();
        assert!(!said.contains("s3cret") && !said.contains("PRIVATE KEY"), "{said}");
        (
            code,
            skips(&document)
                .first()
                .map(|(_, message)| message.clone())
                .unwrap_or_default(),
        )
    };
    let by_secret = "  secretRef: {name: pull}\n  certSecretRef: {name: certs}\n";
    assert_eq!(run(by_secret), (1, String::new()));
    let by_account = "  serviceAccountName: puller\n  certSecretRef: {name: certs}\n";
    assert_eq!(run(by_account), (1, String::new()));
    let (code, message) = run("  certSecretRef: {name: certs}\n");
    assert!(code == 2 && message.contains("UNAUTHORIZED"), "{code} {message}");
    let (code, message) = run("  secretRef: {name: pull}\n");
    assert!(code == 2 && message.contains("TLS"), "{code} {message}");
    let (code, message) = run("  certSecretRef: {name: nowhere}\n");
    assert!(
        code == 2 && message.contains("secret 'fs/nowhere' not found"),
        "{code} {message}"
    );
}

/// A Secret that is there and has no login for the registry is named with what it lacks, and no value of it.
#[test]
fn a_secret_without_a_usable_login_is_named_when_the_registry_refuses() {
    let bench = Bench::new();
    let Some(registry) = Registry::with(&Options {
        access: Access::Password("puller", "s3cret"),
        ..Options::default()
    }) else {
        return;
    };
    registry.images().tags("team/app", &["1.0.0", "1.1.0"]);
    let host = registry.host();
    let app = format!("{host}/team/app");
    bench.write("a.yaml", marked(&app, "1.0.0", "app"));
    for (auths, lack) in [
        (
            format!("{{\"{host}\": {{\"user\": \"puller\", \"password\": \"s3cret\"}}}}"),
            format!("secret 'fs/pull': its entry for \"{host}\" has no 'username': "),
        ),
        (
            "{}".to_owned(),
            "secret 'fs/pull' has no login: its key '.dockerconfigjson' names no server: ".to_owned(),
        ),
        (
            "{\"ghcr.io\": {\"username\": \"puller\", \"password\": \"s3cret\"}}".to_owned(),
            format!("secret 'fs/pull' has no login for {app}: there is one for \"ghcr.io\": "),
        ),
    ] {
        let secret = format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: pull, namespace: fs}}\ntype: kubernetes.io/dockerconfigjson\n\
             stringData:\n  .dockerconfigjson: '{{\"auths\": {auths}}}'\n"
        );
        let manifests = [
            image_repository("fs", "app", &app, "  secretRef: {name: pull}\n  insecure: true\n"),
            image_policy("fs", "app", "*", "{}", ""),
            secret,
        ];
        let file = bench.write("policies/all.yaml", manifests.concat());
        let (code, document) = bench.json(&["update", "a.yaml", "--dry-run", "-f", file.to_str().unwrap()]);
        let all = skips(&document);
        let message = all.first().map(|(_, message)| message.as_str()).unwrap_or_default();
        assert!(code == 2 && message.contains("UNAUTHORIZED"), "{code} {message}");
        assert!(message.contains(&lack), "{lack}\n{message}");
        assert!(message.contains("kubectl create secret docker-registry"), "{message}");
        assert!(!document.to_string().contains("s3cret"), "{document}");
    }
}

#[test]
fn n_041_digests_are_reflected() {
    let Some(registry) = Registry::start() else { return };
    let digest = registry.images().tags("team/app", &["1.0.0", "1.1.0"]);
    let app = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    let fields = |tag: &str, digest: &str| {
        format!(
            "image: {app}:{tag}{digest} # {{\"$imagepolicy\": \"fs:app\"}}\n\
             digest: \"{}\" # {{\"$imagepolicy\": \"fs:app:digest\"}}\n",
            digest.trim_start_matches('@')
        )
    };
    bench.write("a.yaml", fields("1.0.0", ""));
    let manifests = |rest: &str| image_repository("fs", "app", &app, "") + &image_policy("fs", "app", "*", "{}", rest);
    let run = |rest: &str| {
        let file = bench.write("policies/all.yaml", manifests(rest));
        bench.json(&["update", "a.yaml", "-f", file.to_str().unwrap()])
    };
    let (code, document) = run("  digestReflectionPolicy: Always\n");
    let error = document["runs"][0]["error"].as_str().unwrap();
    assert!(
        code == 2 && error.ends_with("spec.interval must be set when spec.digestReflectionPolicy is set to 'Always'"),
        "{error}"
    );
    run("  digestReflectionPolicy: Always\n  interval: 10m\n");
    assert_eq!(bench.read("a.yaml"), fields("1.1.0", &format!("@{digest}")));
    bench.write("a.yaml", fields("1.0.0", ""));
    let (_, document) = run("");
    assert_eq!(skips(&document)[0].0, "NoDigest");
}

#[test]
fn n_041_a_digest_in_git_is_kept_until_the_tag_changes() {
    let Some(registry) = Registry::start() else { return };
    let images = registry.images();
    let first = images.tags("team/app", &["1.0.0"]);
    let app = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    let fields = |tag: &str, digest: &str| {
        format!(
            "tag: {tag} # {{\"$imagepolicy\": \"fs:app:tag\"}}\ndigest: {digest} # {{\"$imagepolicy\": \"fs:app:digest\"}}\n"
        )
    };
    bench.write("a.yaml", fields("1.0.0", &first));
    let run = |rest: &str| {
        let manifests = image_repository("fs", "app", &app, "") + &image_policy("fs", "app", "*", "{}", rest);
        let file = bench.write("policies/all.yaml", manifests);
        bench.ok(&["update", "a.yaml", "-f", file.to_str().unwrap()]);
        bench.read("a.yaml")
    };
    // The tag is pushed again.
    let second = images.image("team/app", Media::Oci, "linux/arm64", None);
    images.tag("team/app", "1.0.0", &second);
    assert_eq!(run("  digestReflectionPolicy: IfNotPresent\n"), fields("1.0.0", &first));
    assert_eq!(
        run("  digestReflectionPolicy: Always\n  interval: 1m\n"),
        fields("1.0.0", &second)
    );
    images.tag("team/app", "1.1.0", &first);
    assert_eq!(run("  digestReflectionPolicy: IfNotPresent\n"), fields("1.1.0", &first));
}

#[test]
fn guards_hold_images_back() {
    let Some(registry) = Registry::start() else { return };
    let images = registry.images();
    let old = images.image("team/app", Media::Oci, "linux/amd64", Some("2020-01-01T00:00:00Z"));
    let unknown = images.image("team/app", Media::Oci, "linux/amd64", None);
    images.tag("team/app", "1.1.0", &old);
    images.tag("team/app", "1.2.0", &unknown);
    let app = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    let outcome = |held: &str, range: &str, annotations: &str| {
        let digest = "digest: sha256:00 # {\"$imagepolicy\": \"fs:app:digest\"}\n";
        bench.write("a.yaml", marked(&app, held, "app") + digest);
        let rest = "  digestReflectionPolicy: IfNotPresent\n";
        let manifests = image_repository("fs", "app", &app, "") + &image_policy("fs", "app", range, annotations, rest);
        let file = bench.write("policies/all.yaml", manifests);
        let (_, document) = bench.json(&["update", "a.yaml", "-f", file.to_str().unwrap()]);
        let written = bench.read("a.yaml") != marked(&app, held, "app") + digest;
        (
            written,
            skips(&document)
                .into_iter()
                .map(|(reason, _)| reason)
                .collect::<Vec<_>>(),
        )
    };
    let twice = |reason: &str| (false, vec![reason.to_owned(); 2]);
    let done = || (true, Vec::new());
    assert_eq!(outcome("1.0.0", "1.1.x", "{bumpwright.dev/minimum-age: 72h}"), done());
    assert_eq!(
        outcome("1.0.0", "1.2.x", "{bumpwright.dev/minimum-age: 72h}"),
        twice("TooYoung")
    );
    // What another stage proves is seen in a cluster alone.
    assert_eq!(
        outcome(
            "1.0.0",
            "1.1.x",
            "{bumpwright.dev/promote-from: Kustomization/fs/staging}"
        ),
        twice("NotProven")
    );
    assert_eq!(
        outcome("1.0.0", "1.1.x", "{bumpwright.dev/soak: 24h}"),
        twice("PolicyNotReady")
    );
    assert_eq!(
        outcome("1.0.0", "1.1.x", "{bumpwright.dev/hold: freeze}"),
        twice("Held")
    );
    let past = "{bumpwright.dev/hold: freeze, bumpwright.dev/hold-until: '2020-01-01T00:00:00Z'}";
    assert_eq!(outcome("1.0.0", "1.1.x", past), done());
    assert_eq!(
        outcome("1.0.0", "1.1.x", "{bumpwright.dev/hold-until: soon}"),
        twice("PolicyNotReady")
    );
    assert_eq!(
        outcome("1.9.0", "1.1.x", "{bumpwright.dev/allow-downgrade: 'false'}"),
        twice("WouldDowngrade")
    );
    assert_eq!(
        outcome("1.0.0", "1.1.x", "{bumpwright.dev/allow-downgrade: 'false'}"),
        done()
    );
    assert_eq!(outcome("1.9.0", "1.1.x", "{}"), done());
}

#[test]
fn a_remote_with_its_own_policies_gets_a_commit() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("team/app", &["1.0.0", "1.1.0"]);
    let app = format!("{}/team/app", registry.host());
    let bench = Bench::new();
    let repo = bench.repository("fleet.git");
    let policies = image_repository("fs", "app", &app, "") + &image_policy("fs", "app", "*", "{}", "");
    let field = marked(&app, "1.0.0", "app");
    let files = [
        Change::File("apps/a.yaml", field.as_bytes()),
        Change::File("policies.yaml", policies.as_bytes()),
    ];
    repo.commit("main", "first", &files);
    let url = format!("file://{}", repo.dir.display());
    let manifests = git_repository("fs", "fleet", &url, "  ref: {branch: main}\n")
        + &automation(
            "fs",
            "all",
            "fleet",
            "",
            "  update: {path: ./apps, strategy: Setters}\n",
        );
    let file = bench.write("automation.yaml", manifests);
    bench.ok(&["update", "-f", file.to_str().unwrap()]);
    assert_eq!(
        repo.show("main", "apps/a.yaml"),
        marked(&app, "1.1.0", "app").into_bytes()
    );
    let ran = bench.ok(&["update", "-f", file.to_str().unwrap()]);
    assert!(ran.out.contains("nothing to change"), "{}", ran.out);
}
