//! From files and answers of registries to objects, markers and reasons.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod charts;
mod places;

use std::ops::Range;

use bumpwright_adopt::{Files, SourceFile};
use bumpwright_api::{RepositoryKind, UnknownFields};
use bumpwright_edit::{FileKind, scan};
use bumpwright_policy::PolicyName;
use bumpwright_propose::{Answers, Listing, Options, Proposal, Rendered, Survey, propose, survey};

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile {
        name: path.to_owned(),
        root: 0,
        path: path.to_owned(),
        bytes: text.as_bytes().to_vec(),
    }
}

fn options() -> Options {
    Options {
        namespace: "flux-system".to_owned(),
        author: ("Fleet Bot".to_owned(), "bot@example.com".to_owned()),
        ..Options::default()
    }
}

fn surveyed(files: &Files<'_>, only: &[String]) -> Survey {
    let spans = |text: &str| -> Vec<Range<usize>> {
        let sites = scan(FileKind::Yaml, text.as_bytes()).sites;
        sites.into_iter().map(|site| site.span).collect()
    };
    let marked: Vec<_> = files.parsed.iter().map(|file| spans(file.text)).collect();
    survey(files, &marked, only, &Rendered::default())
}

/// A proposal whose objects fit their schemas.
fn proposed(sources: &[SourceFile], registry: &[(&str, &str)], options: &Options) -> (Survey, Proposal) {
    let files = Files::read(sources);
    let survey = surveyed(&files, &[]);
    let answers: Answers = registry
        .iter()
        .map(|(image, tags)| {
            let mut tags: Vec<String> = tags.split_whitespace().map(str::to_owned).collect();
            tags.sort_unstable_by(|one, other| other.cmp(one));
            (listing(image), Ok(tags))
        })
        .collect();
    let proposal = propose(&files, &survey, &answers, options);
    if !proposal.manifests.is_empty() {
        let read = bumpwright_api::read("new.yaml", proposal.manifests.as_bytes(), UnknownFields::Refuse);
        let documents = read.unwrap_or_else(|error| panic!("{error}\n{}", proposal.manifests));
        assert_eq!(documents.len(), proposal.objects.len());
    }
    (survey, proposal)
}

/// `ghcr.io/acme/web`, or `helm:charts.example.com/web`.
fn listing(text: &str) -> Listing {
    let (kind, image) = match text.split_once(':') {
        Some(("helm", image)) => (RepositoryKind::Helm, image),
        Some(("git-tags", image)) => (RepositoryKind::GitTags, image),
        _ => (RepositoryKind::Oci, text),
    };
    let image = image.to_owned();
    Listing { image, kind }
}

fn new(sources: &[SourceFile], proposal: &Proposal, n: usize) -> String {
    let edited = proposal.edited.iter().find(|(file, _)| *file == n);
    let new = edited.and_then(|(_, marking)| marking.new.clone());
    String::from_utf8(new.unwrap_or_else(|| sources[n].bytes.clone())).unwrap()
}

fn whys(proposal: &Proposal) -> Vec<String> {
    let left = proposal.left.iter();
    left.map(|left| format!("{}:{} {}: {}", left.file, left.place.line, left.image, left.why))
        .collect()
}

const SOURCE: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: fleet\n  namespace: flux-system\n\
    spec: {url: 'https://git.example.com/fleet.git', interval: 1m}\n";

#[test]
fn fields_of_all_kinds_get_markers_and_objects() {
    let sources = [
        file(
            "apps/web.yaml",
            "spec:\n  containers:\n  - image: ghcr.io/acme/web:1.4.0\n    env:\n    - value: ghcr.io/acme/web:1.4.0\n",
        ),
        file(
            "apps/kustomization.yaml",
            "images:\n- name: api\n  newName: ghcr.io/acme/api\n  newTag: main-0a1b2c3-1700000000\n",
        ),
        file(
            "apps/values.yaml",
            "image:\n  registry: docker.io\n  repository: acme/db\n  tag: '16.4'\nside:\n  repository: acme/side\n  tag: latest\n  digest: sha256:00\n",
        ),
        file("clusters/flux-system/gotk-sync.yaml", SOURCE),
    ];
    let registry = [
        ("ghcr.io/acme/web", "1.4.0 1.5.0 2.0.0"),
        ("ghcr.io/acme/api", "main-0a1b2c3-1700000000 main-0a1b2c4-1700000001"),
        ("docker.io/acme/db", "16 16.4 16.10"),
        ("acme/side", "latest"),
    ];
    let (_, proposal) = proposed(&sources, &registry, &options());
    assert_eq!(whys(&proposal), [""; 0]);
    assert_eq!(
        new(&sources, &proposal, 0),
        "spec:\n  containers:\n  - image: ghcr.io/acme/web:1.4.0 # {\"$imagepolicy\": \"flux-system:web\"}\n    env:\n    - value: \
         ghcr.io/acme/web:1.4.0 # {\"$imagepolicy\": \"flux-system:web\"}\n"
    );
    assert!(
        new(&sources, &proposal, 1)
            .contains("newName: ghcr.io/acme/api # {\"$imagepolicy\": \"flux-system:api:name\"}\n")
    );
    assert!(new(&sources, &proposal, 1).contains("1700000000 # {\"$imagepolicy\": \"flux-system:api:tag\"}\n"));
    assert!(
        new(&sources, &proposal, 2)
            .contains("repository: acme/db\n  tag: '16.4' # {\"$imagepolicy\": \"flux-system:db:tag\"}\n")
    );
    assert!(
        new(&sources, &proposal, 2).contains("digest: sha256:00 # {\"$imagepolicy\": \"flux-system:side:digest\"}\n")
    );
    let manifests = &proposal.manifests;
    for part in [
        "# 1.4.0 is one of several versions: the highest of major version 1\n# it chooses 1.5.0 now\n",
        "# 2.0.0 is there too: change the range to take it\n",
        "kind: ImageRepository\nmetadata:\n  name: web\n  namespace: flux-system\nspec:\n  image: ghcr.io/acme/web\n",
        "pattern: '^main-[0-9a-f]{7,40}-(?P<ts>[0-9]+)$'\n    extract: '$ts'\n  policy:\n    numerical:\n      order: asc\n",
        "    name: fleet\n  git:\n    commit:\n      author:\n        name: 'Fleet Bot'\n        email: bot@example.com\n",
        "        - {{ .OldValue }} -> {{ .NewValue }} ({{ .Setter }})\n",
        "  update:\n    strategy: Setters\n    path: ./apps\n",
        "digestReflectionPolicy: Always\n  interval: 10m\n",
    ] {
        assert!(manifests.contains(part), "{part}\n{manifests}");
    }
    assert_eq!(proposal.objects.len(), 9);
}

#[test]
fn uses_of_one_series_share_a_policy_and_others_have_their_own() {
    let sources = [file(
        "a.yaml",
        "image: nginx:1.27.3\n---\nimage: nginx:1.27.1\n---\nimage: nginx:1.27.1-alpine\n---\nimage: nginx:2.0.0\n---\nimage: nginx:1.27.3@sha256:00\n",
    )];
    let registry = [("nginx", "1.27.1 1.27.3 1.28.0 1.27.1-alpine 1.28.0-alpine 2.0.0")];
    let (_, proposal) = proposed(&sources, &registry, &options());
    let policies: Vec<(String, String)> = proposal
        .policies
        .iter()
        .map(|policy| {
            (
                policy.name.name.clone(),
                policy.current.iter().cloned().collect::<Vec<_>>().join(" "),
            )
        })
        .collect();
    let expected = [
        ("nginx-1", "1.27.1 1.27.3"),
        ("nginx-alpine-1", "1.27.1-alpine"),
        ("nginx-1-2", "1.27.3"),
        ("nginx-2", "2.0.0"),
    ];
    let expected: Vec<(String, String)> = expected
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect();
    assert_eq!(policies, expected, "{}", proposal.manifests);
    assert!(
        proposal.manifests.contains("range: '^1.27.1'\n"),
        "{}",
        proposal.manifests
    );
    assert_eq!(
        proposal
            .objects
            .iter()
            .filter(|(kind, _)| *kind == "ImageRepository")
            .count(),
        1
    );
    assert!(!proposal.has_flux, "no automation, and none is missed");
    assert_eq!(proposal.notes, [""; 0]);
}

#[test]
fn what_is_left_is_told_with_its_place_and_reason() {
    let sources = [
        file("a.yaml", "image: aa:0a1b2c3 # x\n"),
        file("b.yaml", "x: {image: 'bb:1.0.0'}\n"),
        file("c.yaml", "image: cc:${TAG}\nother:\n  image: cc@sha256:00\n"),
        file(
            "d/templates/x.yaml",
            "image: {{ .Values.image }}:{{ .Values.tag }}\n{{ if x }}\n",
        ),
        file("e.yaml", "image: ee:1.0.0\nsops:\n  mac: ENC[x]\n"),
        file(
            "f.yaml",
            "# This manifest was generated by flux. DO NOT EDIT.\nimage: ff:1.0.0\n---\nimage: ff:1.0.0\n",
        ),
        file("g.yaml", "image: gg:1.0.0\n"),
        file(
            "h/kustomization.yaml",
            "resources: [../g.yaml]\nimages:\n- name: gg\n  newTag: 1.1.0\n",
        ),
        file("i.yaml", "image: ii:0a1b2c3\n"),
        file("j.yaml", "repository: jj\ntag: latest\n"),
        file("k.yaml", "image: kk:1.0.0\n"),
        file("l.yaml", "image: 'l: no reference'\nlogo: {image: logo.png}\n"),
    ];
    let registry = [("ii", "0a1b2c3"), ("jj", "latest"), ("gg", "1.1.0")];
    let (_, proposal) = proposed(&sources, &registry, &options());
    let expected = [
        "a.yaml:1 aa: no marker can be put there: it has a comment",
        "b.yaml:1 bb: no marker can be put there: it is in a flow collection",
        "c.yaml:1 cc: it has a variable: mark",
        "c.yaml:3 cc: only a digest is in use",
        "d/templates/x.yaml:",
        "e.yaml:1 ee: the file is encrypted by SOPS",
        "f.yaml:2 ff: a program makes this file, as its head says: what it makes it from is the place (1 images more)",
        "g.yaml:1 gg: `images` of h/kustomization.yaml sets it",
        "i.yaml:1 ii: 0a1b2c3 names a commit",
        "j.yaml:2 jj: latest says no version, its publisher moves it: its digest is followed; but only a tag is written there",
        "k.yaml:1 kk: its registry was not asked",
    ];
    let whys = whys(&proposal);
    assert_eq!(whys.len(), expected.len(), "{whys:#?}");
    for (why, expected) in whys.iter().zip(expected) {
        assert!(why.starts_with(expected), "{why}\n{expected}");
    }
    assert!(whys[4].contains("it is a template"), "{}", whys[4]);
    assert_eq!(proposal.left.iter().filter(|left| left.is_error).count(), 1);
    assert!(new(&sources, &proposal, 7).contains("newTag: 1.1.0 # {\"$imagepolicy\": \"flux-system:gg:tag\"}"));
}

#[test]
fn what_is_there_is_used_and_its_names_are_taken() {
    let objects = "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {name: hub, namespace: flux-system}\n\
        spec: {image: acme/web, interval: 1m}\n---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\n\
        metadata: {name: web, namespace: flux-system}\nspec:\n  imageRepositoryRef: {name: hub}\n  policy: {semver: {range: 1.x}}\n---\n\
        apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageUpdateAutomation\nmetadata: {name: all, namespace: flux-system}\n\
        spec: {update: {path: ./clusters}}\n";
    let sources = [
        file("a.yaml", "image: acme/web:1.0.0\n---\nimage: acme/web:2.0.0\n"),
        file("objects.yaml", objects),
    ];
    let (_, proposal) = proposed(&sources, &[("acme/web", "1.0.0 1.1.0 2.0.0 2.1.0")], &options());
    let text = new(&sources, &proposal, 0);
    assert!(
        text.contains("1.0.0 # {\"$imagepolicy\": \"flux-system:web\"}"),
        "{text}"
    );
    assert!(
        text.contains("2.0.0 # {\"$imagepolicy\": \"flux-system:acme-web\"}"),
        "{text}"
    );
    assert_eq!(
        proposal.objects,
        [("ImagePolicy", PolicyName::new("flux-system", "acme-web"))]
    );
    assert!(proposal.manifests.contains("imageRepositoryRef:\n    name: hub\n"));
    assert_eq!(
        proposal.notes,
        ["ImageUpdateAutomation all looks at ./clusters only: widen its update.path to ./"]
    );
}

#[test]
fn the_source_is_named_the_only_one_or_that_of_flux() {
    let other = SOURCE.replace("fleet", "other");
    let sync = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system, namespace: flux-system}\n\
        spec:\n  sourceRef: {kind: GitRepository, name: other}\n";
    let app = file("a.yaml", "image: aa:1.0.0\n");
    let name = |sources: &[SourceFile], options: &Options| {
        let (_, proposal) = proposed(sources, &[("aa", "1.0.0")], options);
        let automation = proposal
            .objects
            .iter()
            .find(|(kind, _)| *kind == "ImageUpdateAutomation");
        automation
            .map(|(_, name)| name.name.clone())
            .ok_or(proposal.notes.join("\n"))
    };
    let one = [app.clone(), file("s.yaml", SOURCE)];
    let two = [app.clone(), file("s.yaml", SOURCE), file("o.yaml", &other)];
    let three = [two.as_slice(), &[file("k.yaml", sync)]].concat();
    assert_eq!(name(&one, &options()).unwrap(), "fleet");
    assert!(
        name(&two, &options())
            .unwrap_err()
            .contains("flux-system/fleet, flux-system/other")
    );
    assert_eq!(name(&three, &options()).unwrap(), "other");
    let given = Options {
        source: Some(PolicyName::new("tenants", "mine")),
        ..options()
    };
    assert_eq!(name(&two, &given).unwrap(), "mine");
    // Without Flux none is missed; with it, it cannot be made.
    assert_eq!(name(std::slice::from_ref(&app), &options()), Err(String::new()));
    let no_source =
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k, namespace: n}\n";
    let with_flux = [app, file("k.yaml", no_source)];
    assert!(name(&with_flux, &options()).unwrap_err().contains("--source"));
}

#[test]
fn where_something_else_commits_there_is_no_automation() {
    let sources = [file("a.yaml", "image: aa:1.0.0\n"), file("s.yaml", SOURCE)];
    let kinds = |options: &Options| {
        let (_, proposal) = proposed(&sources, &[("aa", "1.0.0")], options);
        let kinds: Vec<&str> = proposal.objects.iter().map(|(kind, _)| *kind).collect();
        (kinds.join(" "), proposal.has_flux)
    };
    let without = Options {
        without_automation: true,
        ..options()
    };
    let objects = "ImageRepository ImagePolicy".to_owned();
    assert_eq!(kinds(&options()), (format!("{objects} ImageUpdateAutomation"), true));
    assert_eq!(kinds(&without), (objects, true));
}

#[test]
fn a_second_run_proposes_nothing() {
    let sources = [file("a.yaml", "image: aa:1.0.0\n"), file("s.yaml", SOURCE)];
    let registry = [("aa", "1.0.0 1.1.0")];
    let (_, proposal) = proposed(&sources, &registry, &options());
    let again = [
        file("a.yaml", &new(&sources, &proposal, 0)),
        file("s.yaml", SOURCE),
        file("image-automation.yaml", &proposal.manifests),
    ];
    let (survey, proposal) = proposed(&again, &registry, &options());
    assert_eq!((proposal.manifests.as_str(), proposal.edited.len()), ("", 0));
    assert_eq!(survey.done.into_iter().collect::<Vec<_>>(), ["aa"]);
    assert_eq!((proposal.left, proposal.notes), (Vec::new(), Vec::new()));
}

#[test]
fn only_images_that_were_asked_for() {
    let sources = [file(
        "a.yaml",
        "image: aa:1.0.0\n---\nimage: docker.io/library/bb:1.0.0\n",
    )];
    let files = Files::read(&sources);
    let survey = surveyed(&files, &["bb".to_owned()]);
    assert_eq!(
        survey.images.keys().map(ToString::to_string).collect::<Vec<_>>(),
        ["docker.io/library/bb"]
    );
}

#[test]
fn hostile_values_reach_no_manifest() {
    let sources = [file(
        "a.yaml",
        "image: \"aa:1.0.0\\n# x\\x1b[31m\"\n---\nimage: \"aa\\x1b:1.0.0\"\n---\nimage: aa:1.0.0\n",
    )];
    let tags = "1.0.0 1.1.0 \u{1b}[31m 1.2.0\u{85}- {{x}} 'x #y";
    let (_, proposal) = proposed(&sources, &[("aa", tags)], &options());
    assert!(
        !proposal.manifests.contains(['\u{1b}', '\u{85}']) && !proposal.manifests.contains("{{x}}"),
        "{}",
        proposal.manifests
    );
    assert_eq!(proposal.policies.len(), 1);
}

/// A policy that chooses nothing is passed over with a note, and another one is proposed.
#[test]
fn a_policy_that_chooses_nothing_is_told() {
    let objects = "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {name: web, namespace: flux-system}\nspec: {image: \
                   ghcr.io/acme/web, interval: 5m}\n---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {name: web, \
                   namespace: flux-system}\nspec:\n  imageRepositoryRef: {name: web}\n  filterTags: {pattern: '^v(?P<v>.*)$', extract: $vx}\n  \
                   policy: {semver: {range: '*'}}\n";
    let sources = [
        file("images.yaml", objects),
        file(
            "pod.yaml",
            "kind: Pod\nspec:\n  containers:\n  - image: ghcr.io/acme/web:v1.0.0\n",
        ),
    ];
    let (_, proposal) = proposed(&sources, &[("ghcr.io/acme/web", "v1.0.0 v1.1.0")], &options());
    let note = proposal.notes.iter().find(|note| note.contains("passed over"));
    let note = note.unwrap_or_else(|| panic!("{:?}", proposal.notes));
    assert!(
        note.contains("ImagePolicy flux-system/web") && note.contains("has no group vx"),
        "{note}"
    );
    assert!(proposal.policies.iter().all(|policy| !policy.is_known));
}
