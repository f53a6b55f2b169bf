//! The container image: built as `make image` builds it, pushed to a registry, pulled, compared with `deploy/`, and run
//! as a runtime runs it. `Containerfile` is another way to one like it: `tests/install/deploy/containerfile.rs`.

mod container;
mod controllers;
mod repository;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value as Json;

use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::{run, run_text};
use bumpwright_testkit::{has, program, tool};

/// The image of the program under test.
struct Image {
    layout: PathBuf,
    /// The configuration, as the registry has it.
    config: Json,
    /// The files, as a registry's client puts the layers together.
    files: PathBuf,
}

impl Image {
    /// Built once. None when a part is missing.
    fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Image>> = OnceLock::new();
        SHARED.get_or_init(Self::make).as_ref()
    }

    fn make() -> Option<Self> {
        let (crane, registry) = (tool("crane")?, Registry::start()?);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("image");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let (layout, files) = (folder.join("layout"), folder.join("files.tar"));
        run(build(&small_program(&folder), &layout)?.env("LC_ALL", "C"));
        // Pushed with a tag, and from then on by digest.
        let ask = |arguments: &[&str]| run_text(Command::new(&crane).args(arguments).env("DOCKER_CONFIG", &folder));
        let name = format!("{}/bumpwright", registry.host());
        let tag = format!("{name}:v1");
        ask(&["push", layout.to_str().unwrap(), &tag]);
        assert_eq!(ask(&["digest", &tag]), digest(&layout));
        let pulled = format!("{name}@{}", digest(&layout));
        ask(&["validate", "--remote", &pulled]);
        ask(&["export", &pulled, files.to_str().unwrap()]);
        let config = serde_json::from_str(&ask(&["config", &pulled])).unwrap();
        Some(Self { layout, config, files })
    }

    /// The manifest, from the layout.
    fn manifest(&self) -> Json {
        json_of(&blob(&self.layout, &digest(&self.layout)))
    }

    /// The text of a file.
    fn read(&self, path: &str) -> String {
        run_text(Command::new("tar").arg("-xOf").arg(&self.files).arg(path))
    }

    /// Mode, owner, size and path of each entry, links with ` -> ` and their target.
    fn entries(&self) -> Vec<[String; 4]> {
        let list = run_text(Command::new("tar").args(["--numeric-owner", "-tvf"]).arg(&self.files));
        let entry = |line: &str| {
            let mut words = line.split_whitespace().map(str::to_owned);
            let mut next = || words.next().unwrap();
            let (mode, owner, size, _, _) = (next(), next(), next(), next(), next());
            [mode, owner, size, words.collect::<Vec<_>>().join(" ")]
        };
        list.lines().map(entry).collect()
    }
}

/// A build of a program's image; compresses quickly.
fn build(program: &Path, layout: &Path) -> Option<Command> {
    let packages = tool("image-packages")?;
    let mut command = Command::new("sh");
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/image/build"))
        .arg(program);
    command.arg(packages).arg(layout);
    command.env("GZIP_LEVEL", "1");
    command
        .env("SOURCE_DATE_EPOCH", "1767323045")
        .env("REVISION", "4".repeat(40));
    Some(command)
}

/// The program under test without its debug information: a third of the bytes.
fn small_program(folder: &Path) -> PathBuf {
    let small = folder.join("bumpwright");
    run(Command::new("strip").arg("-o").arg(&small).arg(program()));
    small
}

fn json_of(file: &Path) -> Json {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn blob(layout: &Path, digest: &str) -> PathBuf {
    layout.join("blobs").join(digest.replace(':', "/"))
}

/// The digest of the only image of a layout.
fn digest(layout: &Path) -> String {
    let index = json_of(&layout.join("index.json"));
    assert_eq!(index["manifests"].as_array().unwrap().len(), 1);
    index["manifests"][0]["digest"].as_str().unwrap().to_owned()
}

/// Wherever and by whomever it is built.
#[test]
fn the_same_inputs_make_the_same_image() {
    let Some(image) = Image::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let layout = folder.path().join("layout");
    let program = image.layout.with_file_name("bumpwright");
    let again = build(&program, &layout).unwrap();
    let mut elsewhere = Command::new("sh");
    elsewhere
        .args(["-c", "umask 077; exec sh \"$@\"", "sh"])
        .args(again.get_args());
    elsewhere.envs(again.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(elsewhere
        .env("TZ", "Asia/Tokyo")
        .env("LC_ALL", "C.UTF-8")
        .current_dir("/"));
    assert_eq!(digest(&layout), digest(&image.layout));
    run(Command::new("diff").arg("-r").arg(&layout).arg(&image.layout));
}

#[test]
fn a_library_that_no_package_has_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let layout = folder.path().join("layout");
    let Some(mut build) = build(Path::new("/usr/bin/git"), &layout) else {
        return;
    };
    let out = build.output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(
        said.contains("no package in ") && said.contains(", which the binary needs; add its package"),
        "{said}"
    );
    assert!(!layout.exists());
}

#[test]
fn the_image_is_what_the_deployment_expects() {
    let Some(image) = Image::shared() else { return };
    crate::deploy::assert_runs(&image.config["config"]);
    assert_eq!(image.config["os"], "linux");
    assert_eq!(image.config["created"], "2026-01-02T03:04:05Z");
    let labels = &image.config["config"]["Labels"];
    assert_eq!(labels, &image.manifest()["annotations"]);
    let label = |name: &str| labels[format!("org.opencontainers.image.{name}")].as_str().unwrap();
    assert_eq!(label("version"), concat!("v", env!("CARGO_PKG_VERSION")));
    assert_eq!(label("revision"), "4".repeat(40));
    assert_eq!(label("created"), "2026-01-02T03:04:05Z");
    assert_eq!(label("licenses"), "Apache-2.0");
    for name in ["title", "description", "source"] {
        assert!(!label(name).is_empty(), "{name}");
    }
}

/// Nothing but the program can be started, and without it the image is small.
#[test]
fn there_is_only_what_the_program_needs() {
    let Some(image) = Image::shared() else { return };
    let entries = image.entries();
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let programs: BTreeSet<String> = entries
        .iter()
        .filter(|[mode, ..]| mode.starts_with("-rwx"))
        .map(|[.., path]| name(path))
        .filter(|name| !name.starts_with("ld-linux"))
        .collect();
    assert_eq!(programs, ["bumpwright", "libc.so.6"].map(str::to_owned).into());
    let others = entries.iter().filter(|[.., path]| path != "bumpwright");
    let size: u64 = others.map(|[_, _, size, _]| size.parse::<u64>().unwrap()).sum();
    // With a program of 34 MB the image has less than 50.
    assert!(size < 10_000_000, "{size}");
    let of = |wanted: &str| {
        let found = entries.iter().find(|[.., path]| path == wanted);
        let [mode, owner, ..] = found.unwrap_or_else(|| panic!("{wanted}: {entries:?}"));
        format!("{mode} {owner}")
    };
    assert_eq!(of("data"), "drwxr-xr-x 65532/65532");
    assert_eq!(of("tmp"), "drwxrwxrwt 0/0");
    assert_eq!(of("bumpwright"), "-rwxr-xr-x 0/0");
    for [mode, owner, _, path] in &entries {
        let is_open = path == "tmp" || mode.starts_with('l') || mode.as_bytes()[8] == b'-';
        assert!(is_open && (owner == "0/0" || path == "data"), "{mode} {owner} {path}");
    }
    assert!(image.read("etc/passwd").contains("nonroot:x:65532:65532:"));
    assert!(image.read("etc/group").contains("nonroot:x:65532:"));
    assert_eq!(image.manifest()["layers"].as_array().unwrap().len(), 2);
}

/// Scanners read the distribution and, without a database of dpkg's, a file for each package.
#[test]
fn packages_are_recorded_with_their_copyrights() {
    let Some(image) = Image::shared() else { return };
    let entries = image.entries();
    let paths: Vec<&str> = entries.iter().map(|[.., path]| path.as_str()).collect();
    assert!(image.read("usr/lib/os-release").contains("\nID="));
    let packages: Vec<&str> = paths
        .iter()
        .filter_map(|path| {
            path.strip_prefix("var/lib/dpkg/status.d/")
                .filter(|name| !name.is_empty())
        })
        .collect();
    for wanted in ["base-files", "ca-certificates", "libc6", "libgcc-s1"] {
        assert!(packages.contains(&wanted), "{packages:?}");
    }
    for package in packages {
        let control = image.read(&format!("var/lib/dpkg/status.d/{package}"));
        for field in [
            format!("Package: {package}"),
            "\nVersion: ".to_owned(),
            "\nArchitecture: ".to_owned(),
        ] {
            assert!(control.contains(&field), "{package}: {control}");
        }
        // A link names the package of the same source that has it.
        let doc = format!("usr/share/doc/{package}");
        let of = paths.iter().find_map(|path| path.strip_prefix(&format!("{doc} -> ")));
        let copyright = format!("usr/share/doc/{}/copyright", of.unwrap_or(package));
        assert!(image.read(&copyright).len() > 500, "{copyright}");
    }
    assert!(
        image
            .read("usr/share/doc/bumpwright/copyright")
            .contains("Apache License")
    );
}

/// As many certificates as the package has, each of them whole.
#[test]
fn the_authorities_are_those_of_the_package() {
    let Some(image) = Image::shared() else { return };
    if !has("openssl", "openssl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bundle.crt");
    let path = "etc/ssl/certs/ca-certificates.crt";
    fs::write(&bundle, image.read(path) + "\n").unwrap();
    let read = "openssl crl2pkcs7 -nocrl -certfile \"$1\" | openssl pkcs7 -print_certs -noout | grep -c ^subject";
    let count = run_text(Command::new("sh").args(["-c", read, "sh"]).arg(&bundle));
    let list = "dpkg-deb -c \"$1\"/ca-certificates_*.deb | grep -c '/mozilla/.*\\.crt$'";
    let wanted = run_text(
        Command::new("sh")
            .args(["-c", list, "sh"])
            .arg(tool("image-packages").unwrap()),
    );
    assert_eq!(count, wanted);
    let environment = image.config["config"]["Env"].as_array().unwrap();
    assert!(
        environment.contains(&format!("SSL_CERT_FILE=/{path}").into()),
        "{environment:?}"
    );
}
