//! `bumpwright build` as its user runs it: from disk, from repositories, with plugins, to files.

use std::os::unix::fs::{PermissionsExt, symlink};

use bumpwright_testkit::cli::{Bench, files};
use bumpwright_testkit::repo::{Change, Repo};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  a: b\n";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("base/kustomization.yaml", "resources: [map.yaml]\n");
    bench.write("base/map.yaml", MAP);
    bench.write("overlay/kustomization.yaml", "resources: [../base]\nnamePrefix: my-\n");
    bench
}

const BUILT: &str = "apiVersion: v1\ndata:\n  a: b\nkind: ConfigMap\nmetadata:\n  name: my-settings\n";

#[test]
fn a_folder_is_built_from_anywhere() {
    let bench = bench();
    assert_eq!(bench.ok(&["build", "overlay"]).out, BUILT);
    let absolute = bench.path("overlay");
    assert_eq!(bench.ok(&["build", absolute.to_str().unwrap()]).out, BUILT);
    let inside = bench
        .command(&["build"])
        .current_dir(bench.path("overlay"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(inside.stdout).unwrap(), BUILT);
}

#[test]
fn what_is_not_there_is_named_as_it_was_given() {
    let bench = bench();
    assert_eq!(
        bench.run(&["build", "/nothere"]).err,
        "error: /nothere: no such file or directory\n"
    );
    assert_eq!(
        bench.run(&["build", "nothere"]).err,
        "error: nothere: no such file or directory\n"
    );
    let repo = Repo::init(bench.path("repo.git"));
    repo.commit("main", "m", &[Change::File("map.yaml", MAP.as_bytes())]);
    let url = format!("file://{}//nothere", repo.dir.display());
    let ran = bench.run(&["build", &url]);
    assert_eq!(ran.err, format!("error: {url}: no such file or directory\n"));
}

#[test]
fn a_folder_that_is_no_kustomization_is_told_with_those_that_are() {
    let bench = bench();
    bench.write("apps/web/kustomization.yaml", "resources: []\n");
    bench.write("apps/web/base/kustomization.yaml", "resources: []\n");
    bench.write("apps/teams/api/Kustomization", "resources: []\n");
    bench.write("apps/.hidden/kustomization.yaml", "resources: []\n");
    bench.write("plain/map.yaml", MAP);
    for (folder, hint) in [
        ("apps", "; there is one in apps/web, apps/teams/api\n"),
        (
            "plain",
            "; `bumpwright kustomize create --autodetect`, run there, makes one of its manifests\n",
        ),
        (
            "overlai",
            "error: overlai: no such file or directory; did you mean overlay?\n",
        ),
        ("aps/web/bas", "; did you mean apps/web/base?\n"),
    ] {
        let ran = bench.run(&["build", folder]);
        assert!(ran.code == 2 && ran.err.ends_with(hint), "{hint}\n{}", ran.err);
    }
    assert!(bench.run(&["build", "apps"]).err.contains("unable to find one of"));
    let inside = bench
        .command(&["build"])
        .current_dir(bench.path("apps"))
        .output()
        .unwrap();
    let said = String::from_utf8(inside.stderr).unwrap();
    assert!(said.ends_with("; there is one in web, teams/api\n"), "{said}");
}

#[test]
fn a_server_is_named_once_and_without_a_login() {
    let bench = bench();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let failed = format!("http://{nobody}/o/r: the connection failed: ");
    let repository = format!("http://u:hunter2@{nobody}/o/r");
    let ran = bench.run(&["build", &repository]);
    assert!(ran.err.starts_with(&format!("error: {failed}")), "{}", ran.err);
    let resources = format!("resources: [\"{repository}\", \"{repository}/x.yaml\"]\n");
    bench.write("overlay/kustomization.yaml", resources);
    let both = bench.run(&["build", "overlay"]).err;
    let place = "overlay/kustomization.yaml:1:13: ";
    assert!(both.contains(&format!("{place}{failed}")), "{both}");
    assert!(!both.contains("hunter2") && !ran.err.contains("hunter2"), "{both}");
    let none = format!("file://{}", bench.path("none").display());
    assert_eq!(
        bench.run(&["build", &none]).err,
        format!("error: {none}: repository not found: there is no such file or folder\n")
    );
}

#[test]
fn what_is_missing_is_told_with_the_way_out() {
    let bench = bench();
    let told = |arguments: &[&str]| bench.run(arguments).err;
    assert!(told(&["build", ""]).contains("the folder's name is empty; leave it out"));
    let gone = "error: /nothere: No such file or directory\n";
    assert_eq!(told(&["diff", "--from", "a", "--to", "b", "/nothere"]), gone);
    assert_eq!(
        told(&["diff", "--from", "a", "--to", "b", "base"]),
        "error: base: not a git repository (or any of the parent directories): .git\n"
    );
    bench.write("overlay/kustomization.yaml", "helmCharts:\n- {name: x, version: '1'}\n");
    let helm = ["build", "overlay", "--enable-helm", "--helm-command", "none-of-these"];
    let said = told(&helm);
    assert!(
        said.contains("there is no program none-of-these on the PATH; install it"),
        "{said}"
    );
}

/// Our own texts: kustomize need not be installed.
#[test]
fn a_warning_says_what_to_write_instead() {
    let bench = bench();
    bench.write("overlay/kustomization.yaml", "bases: [../base]\n");
    let ran = bench.ok(&["build", "overlay"]);
    assert_eq!(
        ran.err,
        "warning: overlay/kustomization.yaml:1:8: the field 'bases' is deprecated: put its entries into 'resources'\n"
    );
}

#[test]
fn output_goes_to_a_file_or_into_a_folder() {
    let bench = bench();
    assert_eq!(bench.ok(&["build", "overlay", "-o", "all.yaml"]).out, "");
    assert_eq!(bench.read("all.yaml"), BUILT);
    std::fs::create_dir(bench.path("out")).unwrap();
    let two = "resources: [map.yaml]\nconfigMapGenerator:\n- name: G\n  namespace: ns\n  literals: [x=y]\n";
    bench.write("base/kustomization.yaml", two);
    bench.ok(&["build", "base", "-o", "out"]);
    let mut names: Vec<_> = std::fs::read_dir(bench.path("out"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names[0], "default_v1_configmap_settings.yaml");
    assert_eq!(names[1], "ns_v1_configmap_g-6gc9d749f7.yaml");
    assert_eq!(
        bench.read("out/default_v1_configmap_settings.yaml"),
        BUILT.replace("my-", "")
    );
}

/// Names of objects are what their author wrote: none leads out of the folder of `-o`.
#[test]
fn no_object_is_written_outside_of_the_folder() {
    let bench = bench();
    let outside = bench.path("outside");
    let absolute = outside.join("x").display().to_string();
    let long = "x".repeat(300);
    let cases = [
        ("v1", "ConfigMap", "ns", "../x"),
        ("v1", "ConfigMap", "ns", "/../../outside/x"),
        ("v1", "ConfigMap", "ns", "a/b"),
        ("v1", "ConfigMap", "ns", "a\\0b"),
        ("v1", "ConfigMap", "../outside", "x"),
        ("v1", "ConfigMap", absolute.as_str(), "x"),
        ("../outside/v1", "Thing", "ns", "x"),
        ("a/b/c", "Thing", "ns", "x"),
        ("v1", "../../outside/Thing", "ns", "x"),
        ("v1", "ConfigMap", "ns", long.as_str()),
    ];
    for (version, kind, namespace, name) in cases {
        let all = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: first, namespace: default}}\n---\n\
             apiVersion: {version}\nkind: {kind}\nmetadata: {{name: \"{name}\", namespace: \"{namespace}\"}}\n"
        );
        bench.write("base/map.yaml", all);
        for folder in ["out", "outside"] {
            let _ = std::fs::remove_dir_all(bench.path(folder));
            std::fs::create_dir(bench.path(folder)).unwrap();
        }
        let before = files(&bench.dir);
        let ran = bench.run(&["build", "base", "-o", "out"]);
        assert_eq!(ran.code, 2, "{kind} {namespace}/{name}");
        assert!(
            ran.err.contains(&format!("error: {kind} ")) && ran.err.contains("-o FILE writes all"),
            "{}",
            ran.err
        );
        assert_eq!(files(&bench.dir), before, "{kind} {namespace}/{name}");
    }
    // Dots alone are a name like any other.
    bench.write("base/map.yaml", MAP.replace("settings", "\"..\""));
    bench.ok(&["build", "base", "-o", "out"]);
    assert!(bench.path("out/v1_configmap_...yaml").is_file());
}

#[test]
fn what_stands_in_the_folder_leads_nowhere_else_and_no_object_replaces_another() {
    let bench = bench();
    let secret = bench.write("secret", "mine");
    std::fs::create_dir(bench.path("out")).unwrap();
    symlink(&secret, bench.path("out/v1_configmap_settings.yaml")).unwrap();
    let ran = bench.run(&["build", "base", "-o", "out"]);
    assert_eq!((ran.code, bench.read("secret").as_str()), (2, "mine"));
    assert!(
        ran.err.contains("ConfigMap settings") && ran.err.contains("is not a file"),
        "{}",
        ran.err
    );
    std::fs::remove_file(bench.path("out/v1_configmap_settings.yaml")).unwrap();
    bench.write(
        "base/map.yaml",
        format!("{MAP}---\n{}", MAP.replace("settings", "Settings")),
    );
    let ran = bench.run(&["build", "base", "-o", "out"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("ConfigMap settings cannot") && ran.err.contains("that of ConfigMap Settings, too"),
        "{}",
        ran.err
    );
    assert_eq!(std::fs::read_dir(bench.path("out")).unwrap().count(), 0);
}

#[test]
fn nothing_outside_of_the_root_is_read_unless_allowed() {
    let bench = bench();
    bench.write("secret.yaml", MAP);
    let secret = bench.path("secret.yaml");
    symlink(&secret, bench.path("overlay/link.yaml")).unwrap();
    for resource in ["../secret.yaml", "link.yaml", secret.to_str().unwrap()] {
        bench.write("overlay/kustomization.yaml", format!("resources: ['{resource}']\n"));
        let ran = bench.run(&["build", "overlay"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{resource}: {}", ran.err);
        assert!(ran.err.contains("overlay/kustomization.yaml:1:13"), "{}", ran.err);
        assert!(!ran.err.contains("a: b"), "{}", ran.err);
        let ran = bench.run(&["build", "overlay", "--load-restrictor", "LoadRestrictionsNone"]);
        assert_eq!(ran.code, 0, "{resource}: {}", ran.err);
    }
}

#[test]
fn repositories_are_built_by_url_reference_and_folder() {
    let bench = bench();
    let library = Repo::init(bench.path("repo-1.git"));
    let files = [
        Change::File("map.yaml", MAP.as_bytes()),
        Change::File("kustomization.yaml", b"resources: [map.yaml]\n"),
    ];
    let module = library.commit("main", "m", &files);
    let repo = Repo::init(bench.path("repo-2.git"));
    let kustomization = b"resources: [../lib, plain.yaml]\n";
    let plain = MAP.replace("settings", "plain");
    let gitmodules = format!(
        "[submodule \"lib\"]\n\tpath = lib\n\turl = file://{}\n",
        library.dir.display()
    );
    let first = repo.commit(
        "main",
        "m",
        &[
            Change::File("app/kustomization.yaml", kustomization),
            Change::File("app/plain.yaml", plain.as_bytes()),
            Change::File(".gitmodules", gitmodules.as_bytes()),
            Change::Submodule("lib", &module),
        ],
    );
    repo.commit(
        "next",
        "m",
        &[
            Change::File("app/kustomization.yaml", b"resources: [link.yaml]\n"),
            Change::File("app/plain.yaml", plain.as_bytes()),
            Change::Symlink("app/link.yaml", "plain.yaml"),
        ],
    );
    let url = |query: &str| format!("file://{}//app{query}", repo.dir.display());
    let names = |url: &str| -> Vec<String> {
        let out = bench.ok(&["build", url]).out;
        out.lines()
            .filter_map(|line| line.strip_prefix("  name: "))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(names(&url("")), ["plain", "settings"]);
    assert_eq!(names(&url(&format!("?ref={first}"))), ["plain", "settings"]);
    assert_eq!(names(&url("?ref=next&submodules=false")), ["plain"]);

    // A base in a repository, and what is wrong with it.
    bench.write(
        "overlay/kustomization.yaml",
        format!("resources:\n- {}\n", url("?ref=next")),
    );
    assert_eq!(bench.ok(&["build", "overlay"]).out.matches("name: plain").count(), 1);
    bench.write(
        "overlay/kustomization.yaml",
        format!("resources:\n- {}\n", url("?ref=nope")),
    );
    let ran = bench.run(&["build", "overlay"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("overlay/kustomization.yaml:2:3") && ran.err.contains("nope"),
        "{}",
        ran.err
    );
}

#[test]
fn plugins_run_only_when_they_are_allowed() {
    let bench = bench();
    bench.write("overlay/kustomization.yaml", "generators: [made.yaml]\n");
    bench.write(
        "overlay/made.yaml",
        "apiVersion: example.com/v1\nkind: Made\nmetadata: {name: x}\nargsOneLiner: one two\n",
    );
    let program = "#!/bin/sh\ngrep -q 'kind: Made' \"$1\" || exit 3\nprintf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: made}\\ndata: {args: \"%s %s\", here: \"%s\"}\\n' \"$2\" \"$3\" \"$(basename \"$PWD\")\"\n";
    let file = bench.write("plugins/example.com/v1/made/Made", program);
    let home = bench.path("plugins");
    let run = |flags: &[&str]| {
        let mut command = bench.command(&[&["build", "overlay"], flags].concat());
        command.env("KUSTOMIZE_PLUGIN_HOME", &home).output().unwrap()
    };
    assert_eq!(run(&[]).status.code(), Some(2));
    let nowhere = |home: &str| {
        let mut command = bench.command(&["build", "overlay", "--enable-alpha-plugins"]);
        let ran = command.env("KUSTOMIZE_PLUGIN_HOME", home).output().unwrap();
        String::from_utf8(ran.stderr).unwrap()
    };
    let said = nowhere("");
    assert!(
        said.contains(": no plugin can be run: there is no folder of plugins; set KUSTOMIZE_PLUGIN_HOME to it")
            && said.matches("KUSTOMIZE_PLUGIN_HOME").count() == 1,
        "{said}"
    );
    let said = nowhere("/nothere");
    assert!(
        said.contains("KUSTOMIZE_PLUGIN_HOME names /nothere, which is not a folder"),
        "{said}"
    );
    let refused = run(&["--enable-alpha-plugins"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && said.contains("execut"), "{said}");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    for flag in ["--enable-alpha-plugins", "--enable_alpha_plugins"] {
        let ran = run(&[flag]);
        let (out, err) = (
            String::from_utf8(ran.stdout).unwrap(),
            String::from_utf8(ran.stderr).unwrap(),
        );
        assert!(
            out.contains("args: one two\n") && out.contains("here: overlay\n"),
            "{out}{err}"
        );
    }
}

/// P-008: plugins are in `$XDG_CONFIG_HOME/kustomize/plugin/${apiVersion}/LOWERCASE(${kind})`; P-009: that is below
/// `$HOME/.config` where nothing else is said.
#[test]
fn plugins_are_looked_for_where_configurations_are() {
    let bench = bench();
    bench.write("overlay/kustomization.yaml", "generators: [made.yaml]\n");
    let config = "apiVersion: example.com/v1\nkind: MadeHere\nmetadata: {name: x}\n";
    bench.write("overlay/made.yaml", config);
    let place = |home: &str| {
        let program =
            format!("#!/bin/sh\nprintf '{{apiVersion: v1, kind: ConfigMap, metadata: {{name: of-{home}}}}}'\n");
        let file = bench.write(
            &format!("{home}/kustomize/plugin/example.com/v1/madehere/MadeHere"),
            program,
        );
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let run = |xdg: Option<&str>| {
        let mut command = bench.command(&["build", "overlay", "--enable-alpha-plugins"]);
        command.env("HOME", bench.path("home")).env_remove("XDG_CONFIG_HOME");
        if let Some(xdg) = xdg {
            command.env("XDG_CONFIG_HOME", bench.path(xdg));
        }
        let ran = command.output().unwrap();
        String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap()
    };
    let without = run(None);
    assert!(without.contains("there is no folder of plugins"), "{without}");
    place("home/.config");
    assert!(run(None).contains("name: of-home/.config"), "{}", run(None));
    place("xdg");
    let from_xdg = run(Some("xdg"));
    assert!(from_xdg.contains("name: of-xdg"), "{from_xdg}");
    assert!(run(None).contains("name: of-home/.config"), "only where it is set");
}

#[test]
fn a_program_can_run_in_a_repository() {
    let bench = bench();
    let repo = Repo::init(bench.path("repo-3.git"));
    let function = "apiVersion: example.com/v1\nkind: F\nmetadata:\n  name: f\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./f.sh}\n";
    let program = b"#!/bin/sh\nsed 's/name: settings/name: settled/'\n";
    repo.commit(
        "main",
        "m",
        &[
            Change::File(
                "app/kustomization.yaml",
                b"resources: [map.yaml]\ntransformers: [f.yaml]\n",
            ),
            Change::File("app/map.yaml", MAP.as_bytes()),
            Change::File("app/f.yaml", function.as_bytes()),
            Change::Executable("app/f.sh", program),
        ],
    );
    let url = format!("file://{}//app", repo.dir.display());
    let out = bench
        .ok(&["build", &url, "--enable-alpha-plugins", "--enable-exec"])
        .out;
    assert!(out.contains("name: settled"), "{out}");
}

#[test]
fn a_closed_pipe_is_success() {
    let bench = bench();
    let mut child = bench
        .command(&["build", "overlay"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}
