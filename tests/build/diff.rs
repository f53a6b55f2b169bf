//! `bumpwright diff` as its user runs it (docs/cli.md, *Other commands*, *Exit codes*).

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::repo::git;

const APP: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - {name: main, image: 'web:1.0'}
      - {name: side, image: 'side:1'}
";

fn bench() -> Bench {
    let bench = Bench::new();
    for side in ["old", "new"] {
        bench.write(&format!("{side}/app.yaml"), APP);
        let generators = "configMapGenerator:\n- {name: settings, literals: [a=1]}\nsecretGenerator:\n- {name: key, literals: [token=hunter2]}\n";
        bench.write(
            &format!("{side}/kustomization.yaml"),
            format!("resources: [app.yaml]\n{generators}"),
        );
    }
    bench
}

#[test]
fn equal_builds_give_nothing_and_exit_code_0() {
    let bench = bench();
    let ran = bench.run(&["diff", "old", "new"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
}

#[test]
fn objects_and_fields_that_differ_are_told_but_no_secret() {
    let bench = bench();
    let app = APP.replace("web:1.0", "web:1.1").replace("replicas: 1", "paused: true");
    bench.write("new/app.yaml", app);
    let generators = "configMapGenerator:\n- {name: settings, literals: [a=2]}\n- {name: more, literals: [x=y]}\nsecretGenerator:\n- {name: key, literals: [token=hunter3]}\n";
    bench.write("new/kustomization.yaml", format!("resources: [app.yaml]\n{generators}"));
    let ran = bench.run(&["diff", "old", "new"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[0], "+ ConfigMap more", "{}", ran.out);
    assert_eq!(lines[1], "~ ConfigMap settings");
    assert_eq!(lines[2], "    data.a: \"1\" → \"2\"");
    assert!(lines[3].starts_with("    metadata.name: \"settings-"), "{}", ran.out);
    let deployment = lines
        .iter()
        .position(|line| *line == "~ Deployment.apps shop/web")
        .unwrap();
    assert_eq!(lines[deployment + 1], "    + spec.paused: true");
    assert_eq!(
        lines[deployment + 2],
        "    spec.template.spec.containers[main].image: \"web:1.0\" → \"web:1.1\""
    );
    assert_eq!(lines[deployment + 3], "    - spec.replicas: 1");
    assert!(ran.out.contains("    data.token: ** (changed)"), "{}", ran.out);
    for value in ["hunter", "aHVudGVy"] {
        assert!(!ran.out.contains(value), "{}", ran.out);
    }
    let json = bench.run(&["diff", "old", "new", "--output", "json"]);
    let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.code, &document["version"]), (1, &1.into()));
    assert_eq!(document["objects"][0]["change"], "added");
    assert_eq!(document["objects"][1]["fields"][0]["new"], "2");
}

#[test]
fn two_revisions_of_a_repository_are_compared() {
    let bench = bench();
    let run = |arguments: &[&str]| assert!(git(&bench.dir).args(arguments).output().unwrap().status.success());
    run(&["init", "-q", "-b", "main"]);
    run(&["add", "."]);
    run(&["commit", "-q", "-m", "one"]);
    run(&["tag", "v1"]);
    bench.write("new/app.yaml", APP.replace("web:1.0", "web:1.1"));
    run(&["commit", "-q", "-a", "-m", "two"]);
    // What is not committed is in neither.
    bench.write("new/app.yaml", "broken: [");
    let ran = bench.run(&["diff", "--from", "v1", "--to", "main", "new"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let image = "    spec.template.spec.containers[main].image: \"web:1.0\" → \"web:1.1\"\n";
    assert_eq!(ran.out, format!("~ Deployment.apps shop/web\n{image}"));
    assert_eq!(bench.run(&["diff", "--from", "v1", "--to", "v1", "new"]).code, 0);
    let ran = bench.run(&["diff", "--from", "v0", "--to", "main", "new"]);
    assert!(ran.code == 2 && ran.err.contains("\"v0\""), "{}", ran.err);
}

#[test]
fn revisions_of_bare_repositories_and_of_urls_are_compared() {
    let bench = bench();
    let run = |arguments: &[&str]| assert!(git(&bench.dir).args(arguments).output().unwrap().status.success());
    std::fs::rename(bench.path("new"), bench.path("kustomization")).unwrap();
    for file in ["app.yaml", "kustomization.yaml"] {
        std::fs::rename(bench.path("kustomization").join(file), bench.path(file)).unwrap();
    }
    run(&["init", "-q", "-b", "main"]);
    run(&["add", "."]);
    run(&["commit", "-q", "-m", "one"]);
    run(&["tag", "v1"]);
    bench.write("app.yaml", APP.replace("web:1.0", "web:1.1"));
    bench.write("old/app.yaml", APP.replace("web:1.0", "web:1.2"));
    run(&["commit", "-q", "-a", "-m", "two"]);
    run(&["clone", "-q", "--bare", ".", "bare.git"]);
    let differs = |from: &str, to: &str, target: &str, image: &str| {
        let ran = bench.run(&["diff", "--from", from, "--to", to, target]);
        assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{target}");
        let line = format!("containers[main].image: \"web:1.0\" → \"{image}\"\n");
        assert!(ran.out.contains(&line), "{target}: {}", ran.out);
    };
    // Git itself resolves revisions of a local repository.
    differs("main~1", "main", "bare.git", "web:1.1");
    differs("v1", "HEAD", ".git", "web:1.1");
    let url = format!("file://{}", bench.path("bare.git").display());
    differs("v1", "main", &url, "web:1.1");
    differs("v1", "main", &format!("{url}//old"), "web:1.2");
    let ran = bench.run(&["diff", "--from", "v0", "--to", "main", &url]);
    assert!(ran.code == 2 && ran.err.contains("v0"), "{}", ran.err);
    let ran = bench.run(&["diff", "--from", "v1", "--to", "main", &format!("{url}?ref=v1")]);
    assert!(ran.code == 2 && ran.err.contains("leave out its ?ref="), "{}", ran.err);
    let ran = bench.run(&["diff", "--from", "v0", "--to", "main", "bare.git"]);
    assert!(ran.code == 2 && ran.err.contains("\"v0\""), "{}", ran.err);
}

#[test]
fn what_is_wrong_with_either_side_is_told() {
    let bench = bench();
    bench.write("old/app.yaml", "a: [");
    bench.write("new/kustomization.yaml", "resorces: []\n");
    let ran = bench.run(&["diff", "old", "new"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err.contains("old/app.yaml:") && ran.err.contains("new/kustomization.yaml:1:1"),
        "{}",
        ran.err
    );
    for arguments in [
        &["diff", "old"][..],
        &["diff"],
        &["diff", "old", "new", "--from", "a", "--to", "b"],
        &["diff", "--from", "a"],
    ] {
        assert_eq!(bench.run(arguments).code, 2, "{arguments:?}");
    }
}
