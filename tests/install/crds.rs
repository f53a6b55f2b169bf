//! The definitions of the kinds: `crds/` is the output of `bumpwright crds`, schemas and Rust types have the same
//! fields, and a real API server accepts, refuses and defaults as it should.

mod fields;
mod server;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value as Json;

use bumpwright_testkit::cli::{Bench, files};

/// `crds/` of this repository, by file name.
fn kept() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let texts = files(&folder).into_iter();
    texts
        .map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap()))
        .collect()
}

/// The definition of a kind, from `crds/`.
fn definition(kind: &str) -> Json {
    let all = kept();
    let mut found = all.values().map(|text| serde_saphyr::from_str::<Json>(text).unwrap());
    found
        .find(|definition| definition["spec"]["names"]["kind"] == kind)
        .unwrap_or_else(|| panic!("crds/ has no {kind}"))
}

#[test]
fn the_folder_holds_what_the_command_writes() {
    let bench = Bench::new();
    bench.ok(&["crds", "--export", "made/here"]);
    let made: BTreeMap<String, String> = files(&bench.path("made/here"))
        .into_iter()
        .map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap()))
        .collect();
    let kept = kept();
    assert_eq!(
        made.keys().collect::<Vec<_>>(),
        kept.keys().collect::<Vec<_>>(),
        "run `bumpwright crds --export crds`"
    );
    for (name, text) in &made {
        assert_eq!(text, &kept[name], "crds/{name}: run `bumpwright crds --export crds`");
    }
}

#[test]
fn without_a_folder_all_are_printed_as_one_stream() {
    let printed = Bench::new().ok(&["crds"]).out;
    let names: Vec<String> = serde_saphyr::from_multiple::<Json>(&printed)
        .unwrap()
        .iter()
        .map(|document| document["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "imagepolicies.image.toolkit.fluxcd.io",
            "imagerepositories.image.toolkit.fluxcd.io",
            "imageupdateautomations.image.toolkit.fluxcd.io",
            "kustomizations.kustomize.toolkit.fluxcd.io",
            "buckets.source.toolkit.fluxcd.io",
            "externalartifacts.source.toolkit.fluxcd.io",
            "gitrepositories.source.toolkit.fluxcd.io",
            "helmcharts.source.toolkit.fluxcd.io",
            "helmrepositories.source.toolkit.fluxcd.io",
            "ocirepositories.source.toolkit.fluxcd.io",
        ]
    );
    let files: String = kept().into_values().collect();
    assert_eq!(printed, files, "files are the stream cut into pieces");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let bench = Bench::new();
    bench.write("taken", "a file");
    let ran = bench.run(&["crds", "--export", "taken"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err.starts_with("error: cannot make the folder taken: "),
        "{}",
        ran.err
    );
}

/// docs/decisions.md *versions*: all versions served, stored as v1, not converted, and one schema for all.
#[test]
fn a_kind_serves_all_its_versions_with_one_schema() {
    for (kind, versions) in [
        ("ImagePolicy", &["v1", "v1beta2", "v1beta1"][..]),
        ("ImageRepository", &["v1", "v1beta2", "v1beta1"]),
        ("ImageUpdateAutomation", &["v1", "v1beta2", "v1beta1"]),
        ("GitRepository", &["v1", "v1beta2", "v1beta1"]),
        ("Bucket", &["v1", "v1beta2", "v1beta1"]),
        ("HelmChart", &["v1", "v1beta2", "v1beta1"]),
        ("HelmRepository", &["v1", "v1beta2", "v1beta1"]),
        ("Kustomization", &["v1", "v1beta2", "v1beta1"]),
        ("OCIRepository", &["v1", "v1beta2"]),
        ("ExternalArtifact", &["v1"]),
    ] {
        let definition = definition(kind);
        assert_eq!(definition["spec"]["conversion"]["strategy"], "None");
        let list = definition["spec"]["versions"].as_array().unwrap();
        let names: Vec<&str> = list.iter().map(|version| version["name"].as_str().unwrap()).collect();
        assert_eq!(names, versions, "{kind}");
        for version in list {
            assert_eq!(version["served"], true);
            assert_eq!(version["storage"], version["name"] == "v1", "{kind}");
            assert_eq!(version["schema"], list[0]["schema"], "{kind}");
        }
    }
}
