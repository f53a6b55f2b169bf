//! Artifacts of real makers: `flux push artifact`, `oras push`, `helm push`, and copies by `crane` and `oras`. As
//! OCIRepositories, compared with Flux's source-controller; and as sources of `bumpwright fleet`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

use crate::rounds::{Case, Known, Rounds};
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::registries::{InMemory, Repository};
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::{repo, tool};

const FLUX: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";
const ACME: &str = "application/vnd.acme.files.v1.tar+gzip";
const CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const PROVENANCE: &str = "application/vnd.cncf.helm.chart.provenance.v1.prov";

/// Two registries with artifacts, and the folder in which they were made.
struct World {
    dir: tempfile::TempDir,
    first: Registry,
    second: InMemory,
}

impl World {
    fn build() -> Option<Self> {
        for program in ["flux", "oras", "helm", "crane"] {
            tool(program)?;
        }
        let world = Self {
            dir: tempfile::tempdir().unwrap(),
            first: Registry::start()?,
            second: InMemory::crane()?,
        };
        world.write("app/app.yaml", &map("app"));
        world.write("app/kustomization.yaml", "resources: [app.yaml]\n");
        world.write("app/bin/run.sh", "#!/bin/sh\n");
        world.write("other/other.yaml", &map("other"));
        world.write("notes.md", "notes\n");
        world.run("tar", &["-czf", "app.tar.gz", "-C", "app", "."], "");
        world.run("tar", &["-czf", "other.tar.gz", "-C", "other", "."], "");
        world.run("tar", &["-cf", "app.tar", "-C", "app", "."], "");
        world.by_flux();
        world.by_oras();
        world.by_helm();
        world.copies();
        Some(world)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs a program of the tools, or of the system, in the folder; returns what it prints.
    fn run(&self, program: &str, arguments: &[&str], input: &str) -> String {
        run(self.dir.path(), program, arguments, input)
    }

    fn by_flux(&self) {
        let push = |name: &str, more: &[&str], input: &str| {
            let address = format!("oci://{}/flux:{name}", self.first.host());
            let about = ["--source=https://git.example/app", "--revision=main@sha1:abc"];
            let arguments = joined(&[&["push", "artifact", &address], &about, more]);
            self.run("flux", &arguments, input);
        };
        push("1.0.0", &["--path=app"], "");
        push(
            "1.1.0-rc.1",
            &["--path=app", "--reproducible", "--annotations=acme.example/team=a b"],
            "",
        );
        push("file", &["--path=app/app.yaml"], "");
        push("input", &["--path=-"], &map("input"));
        push("less", &["--path=app", "--ignore-paths=bin/"], "");
        push("moving", &["--path=app"], "");
        let address = format!("oci://{}/flux:1.0.0", self.first.host());
        self.run("flux", &["tag", "artifact", &address, "--tag=stable"], "");
    }

    fn oras(&self, verb: &[&str], name: &str, more: &[&str]) {
        let image = format!("{}/oras:{name}", self.first.host());
        self.run("oras", &joined(&[verb, &["--plain-http", &image], more]), "");
    }

    fn by_oras(&self) {
        let (app, other) = (format!("app.tar.gz:{FLUX}"), format!("other.tar.gz:{ACME}"));
        let notes = "notes.md:text/markdown";
        let about = [
            "--annotation=org.opencontainers.image.source=https://git.example/app",
            "--annotation=org.opencontainers.image.revision=main@sha1:abc",
        ];
        self.oras(&["push"], "layers", &joined(&[&about, &[&app, &other, notes]]));
        self.oras(&["push"], "reversed", &[notes, &other, &app]);
        self.oras(&["push"], "twice", &[&format!("other.tar.gz:{FLUX}"), &app]);
        self.oras(&["push"], "folder", &["app"]);
        self.oras(&["push"], "nothing", &["--artifact-type=application/vnd.acme.nothing"]);
        self.write("config.json", "{}");
        let old = [
            "--image-spec=v1.0",
            "--config=config.json:application/vnd.acme.config+json",
        ];
        self.oras(&["push"], "old", &joined(&[&old, &[&app]]));
        self.oras(
            &["push"],
            "uncompressed",
            &["app.tar:application/vnd.oci.image.layer.v1.tar"],
        );
        self.oras(&["manifest", "index", "create"], "index", &["layers", "folder"]);
        self.oras(
            &["attach"],
            "layers",
            &["--artifact-type=application/vnd.acme.notes", notes],
        );
    }

    fn by_helm(&self) {
        self.write("chart/templates/app.yaml", &map("chart"));
        for version in ["1.2.3", "1.3.0+build.5", "2.0.0-rc.1"] {
            let chart = format!("apiVersion: v2\nname: app\nversion: {version}\nappVersion: '1'\n");
            self.write("chart/Chart.yaml", &chart);
            self.run("helm", &["package", "chart"], "");
        }
        self.write("app-1.2.3.tgz.prov", "a signature\n");
        let charts = format!("oci://{}/charts", self.first.host());
        for file in ["app-1.2.3.tgz", "app-1.3.0+build.5.tgz", "app-2.0.0-rc.1.tgz"] {
            self.run("helm", &["push", file, &charts, "--plain-http"], "");
        }
    }

    fn copies(&self) {
        let (first, second) = (self.first.host(), self.second.host());
        let (from, to) = (format!("{first}/flux:1.0.0"), format!("{second}/flux:1.0.0"));
        self.run("crane", &["copy", &from, &to], "");
        let (from, to) = (format!("{first}/oras:layers"), format!("{second}/oras:layers"));
        let plain = ["--from-plain-http", "--to-plain-http"];
        self.run("oras", &joined(&[&["copy", "--recursive"], &plain, &[&from, &to]]), "");
        // An image in the usual sense, whose layers are archives, too.
        let image = format!("{second}/image:1.0.0");
        self.run("crane", &["append", "--new_layer=app.tar.gz", "--new_tag", &image], "");
    }

    fn at(&self, name: &str, reference: Json) -> Json {
        json!({"url": format!("oci://{}/{name}", self.first.host()), "ref": reference})
    }

    fn copied(&self, name: &str, tag: &str) -> Json {
        json!({"url": format!("oci://{}/{name}", self.second.host()), "ref": {"tag": tag}})
    }
}

fn map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: apps\n")
}

/// Arguments in parts.
pub fn joined<'a>(parts: &[&[&'a str]]) -> Vec<&'a str> {
    parts.concat()
}

/// Runs a program of the tools, or of the system, which must succeed; returns what it prints.
pub fn run(folder: &Path, program: &str, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new(tool(program).unwrap());
    repo::hermetic(&mut command);
    command.args(arguments).current_dir(folder).env("HOME", folder);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8(out.stdout).unwrap()
}

fn selecting(mut spec: Json, media_type: &str, operation: &str) -> Json {
    spec["layerSelector"] = json!({"mediaType": media_type, "operation": operation});
    spec
}

fn cases(world: &World) -> Vec<Case> {
    let flux = |tag: &str| world.at("flux", json!({"tag": tag}));
    let oras = |tag: &str| world.at("oras", json!({"tag": tag}));
    let chart = |reference: Json| world.at("charts/app", reference);
    let mut cases = Vec::new();
    let mut add = |name, spec| {
        cases.push(Case {
            name,
            spec,
            change: None,
        })
    };
    add("flux-tag", flux("1.0.0"));
    add("flux-tagged-again", flux("stable"));
    add("flux-newest", world.at("flux", json!({"semver": ">=1.0.0-0"})));
    add("flux-of-a-file", flux("file"));
    add("flux-of-input", flux("input"));
    add("flux-less", flux("less"));
    add("flux-copied-layer", selecting(flux("1.0.0"), FLUX, "copy"));
    add("flux-copied-by-crane", world.copied("flux", "1.0.0"));
    add("oras-first", oras("layers"));
    add("oras-selected", selecting(oras("layers"), ACME, "extract"));
    add("oras-selected-text", selecting(oras("layers"), "text/markdown", "copy"));
    add(
        "oras-text-is-no-archive",
        selecting(oras("layers"), "text/markdown", "extract"),
    );
    add(
        "oras-without-that-type",
        selecting(oras("layers"), "text/plain", "copy"),
    );
    add("oras-reversed", oras("reversed"));
    add("oras-reversed-selected", selecting(oras("reversed"), FLUX, "extract"));
    add("oras-twice", selecting(oras("twice"), FLUX, "extract"));
    add("oras-folder", oras("folder"));
    add("oras-nothing", oras("nothing"));
    add("oras-nothing-copied", selecting(oras("nothing"), "", "copy"));
    add("oras-old", oras("old"));
    add("oras-uncompressed", oras("uncompressed"));
    add("oras-uncompressed-copied", selecting(oras("uncompressed"), "", "copy"));
    add("oras-index", oras("index"));
    add(
        "oras-copied-by-oras",
        selecting(world.copied("oras", "layers"), ACME, "copy"),
    );
    add("chart", chart(json!({"tag": "1.2.3"})));
    add("chart-copied", selecting(chart(json!({"tag": "1.2.3"})), CHART, "copy"));
    add(
        "chart-signature",
        selecting(chart(json!({"tag": "1.2.3"})), PROVENANCE, "copy"),
    );
    add(
        "chart-newest",
        selecting(chart(json!({"semver": "*"})), CHART, "extract"),
    );
    add("chart-newest-without-type", chart(json!({"semver": "*"})));
    add(
        "chart-candidate",
        selecting(chart(json!({"semver": ">=1.0.0-0"})), CHART, "copy"),
    );
    add("image", world.copied("image", "1.0.0"));
    cases.push(Case {
        name: "then-moved",
        spec: flux("moving"),
        change: None,
    });
    cases.push(Case {
        name: "then-copied",
        spec: oras("layers"),
        change: Some(json!({"layerSelector": {"mediaType": ACME, "operation": "copy"}})),
    });
    cases
}

const KNOWN: Known = Known {
    floor: 29,
    otherwise: &[
        ("oras-text-is-no-archive", OURS),
        ("oras-reversed", OURS),
        ("oras-nothing", OURS),
        ("oras-uncompressed", OURS),
    ],
};
const OURS: &str = "we say more of what is not an archive";

#[test]
fn artifacts_of_real_makers_are_as_fluxs() {
    let (Some(cluster), Some(world)) = (crate::rounds::cluster(), World::build()) else {
        return;
    };
    let (cases, kind) = (cases(&world), ("OCIRepository", "ocirepositories"));
    let mut rounds = Rounds::first(&cluster, kind, &[], &cases, &world.path("sides"), &[]);
    let digests = |name: &str| {
        let of = |side: &crate::observed::Side<'_>| side.status(name)["artifact"]["digest"].clone();
        rounds.sides.each_ref().map(of)
    };
    // A copied layer is the artifact, byte by byte.
    let layer = |name: &str, place: usize| {
        let manifest = Repository::new(&world.first.host(), name).get("layers");
        manifest["layers"][place]["digest"].clone()
    };
    for (name, place) in [("oras-copied-by-oras", 1), ("oras-selected-text", 2)] {
        let digest = layer("oras", place);
        assert_eq!(digests(name), [digest.clone(), digest], "{name}");
    }
    let revision = |name: &str| rounds.sides[1].status(name)["artifact"]["revision"].clone();
    assert_eq!(revision("flux-tag"), revision("flux-copied-by-crane"));
    world.write("app/app.yaml", &map("moved"));
    world.by_flux();
    rounds.second();
    rounds.report(&KNOWN);
}

fn document(kind: &str, group: &str, name: &str, spec: &Json) -> String {
    let api = format!("{group}.toolkit.fluxcd.io/v1");
    let metadata = json!({"name": name, "namespace": "flux-system"});
    format!(
        "---\n{}\n",
        json!({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec})
    )
}

#[test]
fn a_fleet_has_what_is_in_artifacts_of_real_makers() {
    let Some(world) = World::build() else { return };
    let sources = [
        ("flux", world.at("flux", json!({"semver": "1.x"})), "./", "app"),
        (
            "selected",
            selecting(world.at("oras", json!({"tag": "reversed"})), ACME, "extract"),
            "./",
            "other",
        ),
        ("folder", world.at("oras", json!({"tag": "folder"})), "./app", "app"),
        (
            "copied",
            selecting(world.copied("oras", "layers"), ACME, "copy"),
            "./",
            "other",
        ),
        (
            "chart",
            selecting(world.at("charts/app", json!({"semver": "1.x"})), CHART, "extract"),
            "./app/templates",
            "chart",
        ),
    ];
    let bench = Bench::new();
    let mut text = String::new();
    let mut expected = Vec::new();
    for (name, mut spec, path, map) in sources {
        spec["interval"] = json!("1h");
        text += &document("OCIRepository", "source", name, &spec);
        let source = json!({"kind": "OCIRepository", "name": name});
        let spec = json!({"interval": "1h", "prune": true, "path": path, "sourceRef": source});
        text += &document("Kustomization", "kustomize", name, &spec);
        expected.push(format!("{name}: {map}"));
    }
    bench.write("fleet/cluster/sources.yaml", text);
    repo::run(repo::git(&bench.path("fleet")).args(["init", "-q"]));
    let ran = bench.run(&["fleet", "--output", "names", "fleet/cluster"]);
    let built = ran.out.lines().filter_map(|line| {
        let (kustomization, object) = line.split_once('\t')?;
        let name = object.split("/ConfigMap/apps/").nth(1)?;
        Some(format!("{}: {name}", kustomization.rsplit('/').next()?))
    });
    let mut built: Vec<String> = built.collect();
    built.sort();
    expected.sort();
    assert_eq!((ran.code, built), (0, expected), "{}", ran.err);
}
