//! Which fields hold an image, and which of them count: what kustomizations set, what has no tag, names of keys.

use super::{file, new, options, proposed, whys};

const POD: &str = "spec:\n  containers:\n  - image: acme/web:1.0.0\n";

/// The paths that got markers, and what was left.
fn marked(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let sources: Vec<_> = files.iter().map(|(path, text)| file(path, text)).collect();
    let registry = [("acme/web", "1.0.0 1.1.0"), ("hub.example.com/web", "1.0.0 1.1.0")];
    let (_, proposal) = proposed(&sources, &registry, &options());
    let edited = proposal.edited.iter().map(|(n, _)| sources[*n].path.clone());
    (edited.collect(), whys(&proposal))
}

/// Markers are at these paths, and this is said of the others.
fn holds(name: &str, files: &[(&str, String)], expected: &[&str], left: &str) {
    let mut sources: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    sources.push(("b/pod.yaml", POD));
    let (edited, left) = (marked(&sources), left);
    assert_eq!(edited.0, expected, "{name}: {:?}", edited.1);
    match left {
        "" => assert_eq!(edited.1, [""; 0], "{name}"),
        left => assert!(edited.1.iter().any(|why| why.contains(left)), "{name}: {:?}", edited.1),
    }
}

const SETS: &str = "images:\n- name: acme/web\n  newTag: 1.0.0\n";

fn of(resources: &str, more: &str) -> String {
    format!("resources: [{resources}]\n{more}")
}

#[test]
fn images_of_a_kustomization_set_what_it_builds_and_nothing_else() {
    for (name, files, expected, left) in [
        (
            "another folder",
            vec![
                ("a/kustomization.yaml", SETS.to_owned()),
                ("b/kustomization.yaml", of("pod.yaml", "")),
            ],
            vec!["a/kustomization.yaml", "b/pod.yaml"],
            "",
        ),
        (
            "no kustomization at all",
            vec![("a/kustomization.yaml", SETS.to_owned())],
            vec!["a/kustomization.yaml", "b/pod.yaml"],
            "",
        ),
        (
            "its own folder",
            vec![("b/kustomization.yaml", of("pod.yaml", SETS))],
            vec!["b/kustomization.yaml"],
            "`images` of b/kustomization.yaml sets it: the field there counts",
        ),
        (
            "one of two overlays",
            vec![
                ("a/kustomization.yaml", of("../b", SETS)),
                ("b/kustomization.yaml", of("pod.yaml", "")),
                ("c/kustomization.yaml", of("../b", "")),
            ],
            vec!["a/kustomization.yaml", "b/pod.yaml"],
            "",
        ),
        (
            "both overlays",
            vec![
                ("a/kustomization.yaml", of("../b", SETS)),
                ("b/kustomization.yaml", of("pod.yaml", "")),
                ("c/kustomization.yaml", of("../b/", SETS)),
            ],
            vec!["a/kustomization.yaml", "c/kustomization.yaml"],
            "`images` of a/kustomization.yaml, c/kustomization.yaml set it: the fields there count",
        ),
        (
            "an overlay over the entry of the base",
            vec![
                ("a/kustomization.yaml", of("../b", SETS)),
                ("b/kustomization.yaml", of("pod.yaml", SETS)),
            ],
            vec!["a/kustomization.yaml"],
            "b/kustomization.yaml:4 acme/web: `images` of a/kustomization.yaml sets it",
        ),
    ] {
        holds(name, &files, &expected, left);
    }
}

#[test]
fn renames_components_and_flux_are_on_the_way() {
    let flux =
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web}\nspec:\n  path: ./b\n";
    let flux_sets = format!("{flux}  images:\n  - name: acme/web\n    newTag: 1.0.0\n");
    for (name, files, expected, left) in [
        (
            "another name on the way",
            vec![
                (
                    "a/kustomization.yaml",
                    of("../b", "images:\n- name: hub.example.com/web\n  newTag: 1.0.0\n"),
                ),
                (
                    "b/kustomization.yaml",
                    of(
                        "pod.yaml",
                        "images:\n- name: acme/web\n  newName: hub.example.com/web\n",
                    ),
                ),
            ],
            vec!["a/kustomization.yaml"],
            "`images` of a/kustomization.yaml sets it",
        ),
        (
            "a component",
            vec![
                ("b/kustomization.yaml", of("pod.yaml", "components: [../c]\n")),
                ("c/kustomization.yaml", format!("kind: Component\n{SETS}")),
            ],
            vec!["c/kustomization.yaml"],
            "`images` of c/kustomization.yaml sets it",
        ),
        (
            "an empty tag",
            vec![(
                "b/kustomization.yaml",
                of("pod.yaml", "images:\n- name: acme/web\n  newTag: \"\"\n"),
            )],
            vec!["b/pod.yaml"],
            "acme/web: its newTag is empty, so that the tag in the manifest counts",
        ),
        (
            "a variable",
            vec![(
                "b/kustomization.yaml",
                of("pod.yaml", "images:\n- name: acme/web\n  newTag: ${TAG}\n"),
            )],
            vec![],
            "`images` of b/kustomization.yaml sets it",
        ),
        (
            "Flux, without images",
            vec![("flux.yaml", flux.to_owned())],
            vec!["b/pod.yaml"],
            "",
        ),
        (
            "Flux, with images",
            vec![("flux.yaml", flux_sets)],
            vec!["flux.yaml"],
            "`images` of flux.yaml sets it",
        ),
    ] {
        holds(name, &files, &expected, left);
    }
}

#[test]
fn images_without_a_tag_are_told() {
    for (text, why) in [
        (
            "containers:\n- name: a\n  image: web\n",
            "web: no tag is written, so that it is `latest` at all times",
        ),
        ("initContainers:\n- {image: acme/web}\n", "acme/web: no tag is written"),
        ("image: ghcr.io/acme/web\n", "ghcr.io/acme/web: no tag is written"),
        (
            "sidecarImage: localhost:5000/web\n",
            "localhost:5000/web: no tag is written",
        ),
        (
            "image:\n  repository: acme/web\n",
            "acme/web: no tag is written, so that the chart's own counts",
        ),
        (
            "image:\n  repository: acme/web\n  tag: ''\n",
            "its tag is empty, so that the chart's own counts",
        ),
        (
            "image:\n  repository: acme/web\n  digest: sha256:00\n",
            "acme/web: only a digest is in use",
        ),
        (
            "images:\n- name: acme/web\n  digest: sha256:00\n",
            "acme/web: only a digest is in use",
        ),
        ("containers:\n- image: ${IMAGE}\n", "it has a variable"),
        ("hub: ghcr.io/acme\nimage: pg\n", "ghcr.io/acme/pg: no tag is written"),
        (
            "hub: ghcr.io/acme/\nimage: pg:16.4\n",
            "ghcr.io/acme/pg: its registry is in a field beside it",
        ),
        (
            "registry: ghcr.io\nimage: acme/web:1.0.0\n",
            "ghcr.io/acme/web: its registry is in a field beside it",
        ),
    ] {
        let (edited, left) = marked(&[("a.yaml", text)]);
        assert_eq!(edited, [""; 0], "{text}");
        assert!(left.len() == 1 && left[0].contains(why), "{text}: {left:?}");
    }
    for quiet in [
        "logo: {image: logo.png}\n",
        "image: ''\n",
        "image: https://example.com/logo.png\n",
        "repository: https://charts.example.com\nname: web\nversion: 1.0.0\n",
        "package: {name: web, version: 1.0.0}\n",
        "image:\n  pullPolicy: Always\n",
    ] {
        let (edited, left) = marked(&[("a.yaml", quiet)]);
        assert_eq!((edited.len(), left.as_slice()), (0, &[][..] as &[String]), "{quiet}");
    }
    // The field there counts, and that is marked.
    let kustomization = "resources: [pod.yaml]\nimages:\n- name: acme/web\n  newTag: 1.0.0\n";
    let pod = "containers:\n- image: acme/web\n";
    let (edited, left) = marked(&[("kustomization.yaml", kustomization), ("pod.yaml", pod)]);
    assert_eq!((edited, left), (vec!["kustomization.yaml".to_owned()], Vec::new()));
}

#[test]
fn names_and_tags_are_found_by_many_keys() {
    for (text, markers) in [
        (
            "imageName: acme/web\nimageTag: 1.0.0\n",
            vec!["acme/web # :name", "1.0.0 # :tag"],
        ),
        (
            "image: acme/web\nimageTag: 1.0.0\n",
            vec!["acme/web # :name", "1.0.0 # :tag"],
        ),
        (
            "webImage: acme/web\nwebImageTag: 1.0.0\n",
            vec!["acme/web # :name", "1.0.0 # :tag"],
        ),
        (
            "image:\n  name: acme/web\n  version: 1.0.0\n",
            vec!["acme/web # :name", "1.0.0 # :tag"],
        ),
        (
            "image:\n  name: acme/web\n  tag: 1.0.0\n",
            vec!["acme/web # :name", "1.0.0 # :tag"],
        ),
        (
            "a:\n  name: hub.example.com/web\n  version: 1.0.0\n",
            vec!["hub.example.com/web # :name", "1.0.0 # :tag"],
        ),
        ("hub: hub.example.com\nimage: web\ntag: 1.0.0\n", vec!["1.0.0 # :tag"]),
        (
            "registry: hub.example.com\nimage: web\ntag: 1.0.0\n",
            vec!["1.0.0 # :tag"],
        ),
        (
            "image: acme/web\ntag: 1.0.0\n",
            vec!["acme/web # :name", "1.0.0 # :tag"],
        ),
    ] {
        let sources = [file("values.yaml", text)];
        let registry = [("acme/web", "1.0.0 1.1.0"), ("hub.example.com/web", "1.0.0 1.1.0")];
        let (_, proposal) = proposed(&sources, &registry, &options());
        let new = new(&sources, &proposal, 0);
        assert_eq!(
            new.matches("$imagepolicy").count(),
            markers.len(),
            "{new} {:?}",
            whys(&proposal)
        );
        for marker in markers {
            let (value, part) = marker.split_once(" # ").unwrap();
            let line = format!("{value} # {{\"$imagepolicy\": \"flux-system:web{part}\"}}\n");
            assert!(new.contains(&line), "{line}{new}");
        }
    }
}
