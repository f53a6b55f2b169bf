//! What belongs to one is not another's: tags of one image, branches of Applications, fields of both programs, runs
//! one after the other.

use std::collections::BTreeMap;

use bumpwright_adopt::{Adoption, Options, SourceFile, Weight, argocd_image_updater};
use bumpwright_api::{ImageUpdateAutomation, Object, UnknownFields};
use bumpwright_edit::{FileKind, scan};
use bumpwright_policy::PolicyName;

use super::adoptions::file;
use super::{PREFIX, SOURCE, adopted, application, new, remarks};

const TWO: &str = "images:\n- name: web\n  newName: acme/web\n  newTag: 1.2.0\n- name: web-next\n  newName: acme/web\n  newTag: 2.3.0\n";

pub(super) fn source(folder: &str) -> String {
    SOURCE.replace("apps/web", folder)
}

/// `path:line` of each marker, with its policy.
fn marked(adoption: &Adoption, files: &[SourceFile]) -> Vec<String> {
    let of_file = |edited: &bumpwright_adopt::Edited| {
        let path = files[edited.file].path.clone();
        let marked = edited.marked.clone().into_iter();
        marked
            .map(move |(place, setter, _)| format!("{path}:{} {setter}", place.line))
            .collect::<Vec<_>>()
    };
    adoption.edited.iter().flat_map(of_file).collect()
}

#[test]
fn of_two_tags_of_an_image_each_has_its_own_policy() {
    let pods = "a:\n- image: acme/web:1.2.0\n- image: acme/web:2.3.0\n";
    let semver = "image-list: a=acme/web:1.x, b=acme/web:2.x";
    for (annotations, path, text, expected) in [
        (
            vec![semver],
            "apps/web/kustomization.yaml",
            TWO,
            vec!["3 argocd:a:name", "4 argocd:a:tag", "6 argocd:b:name", "7 argocd:b:tag"],
        ),
        (
            vec![semver],
            "apps/web/pods.yaml",
            pods,
            vec!["2 argocd:a", "3 argocd:b"],
        ),
        (
            vec![
                "image-list: a=acme/web:1.2.0, b=acme/web:2.3.0",
                "update-strategy: digest",
            ],
            "apps/web/pods.yaml",
            pods,
            vec!["2 argocd:a", "3 argocd:b"],
        ),
        // One of the tags is nobody's, and stays.
        (
            vec!["image-list: a=acme/web:1.x"],
            "apps/web/pods.yaml",
            pods,
            vec!["2 argocd:a"],
        ),
        (
            vec![
                "image-list: a=acme/web",
                "a.update-strategy: name",
                "a.allow-tags: regexp:^1",
            ],
            "apps/web/pods.yaml",
            pods,
            vec!["2 argocd:a"],
        ),
    ] {
        let files = [
            file("web.yaml", &application("web", &annotations, SOURCE)),
            file(path, text),
        ];
        let adoption = adopted(&files);
        assert_eq!(remarks(&adoption, Weight::Left), [""; 0], "{annotations:?}");
        let expected: Vec<String> = expected.iter().map(|place| format!("{path}:{place}")).collect();
        assert_eq!(marked(&adoption, &files), expected, "{annotations:?}");
    }
    for (list, why) in [
        (
            "image-list: a=acme/web:>=1, b=acme/web:2.x",
            "\"2.3.0\" may be of several images",
        ),
        (
            "image-list: a=acme/web:1.x, b=acme/web:3.x",
            "which is not one of its own",
        ),
        (
            "image-list: a=acme/web:7.x",
            "the tag in use is \"1.2.0\", \"2.3.0\", which is not one of its own",
        ),
    ] {
        let files = [
            file("web.yaml", &application("web", &[list], SOURCE)),
            file("apps/web/pods.yaml", pods),
        ];
        let adoption = adopted(&files);
        let left = remarks(&adoption, Weight::Left);
        assert!(left.iter().any(|text| text.contains(why)), "{list}: {left:?}");
        assert_eq!(adoption.edited, [], "{list}");
    }
}

/// What stays with argocd-image-updater has no marker, even if something else would have one there.
#[test]
fn no_field_is_in_charge_of_both_programs() {
    let values = "image:\n  name: acme/web\n  tag: 1.0.0\nside:\n  image: acme/side:1.0.0\n";
    let side = "side.helm.image-spec: side.image";
    for (name, lists) in [
        // Another image of the same Application.
        (
            "one",
            vec![vec![
                "image-list: web=acme/web:1.x, side=acme/side",
                side,
                "side.update-strategy: newest-build",
            ]],
        ),
        // The same field, for another Application.
        (
            "strategy",
            vec![
                vec!["image-list: web=acme/web:1.x"],
                vec!["image-list: web=acme/web", "web.update-strategy: latest"],
            ],
        ),
        // By way of a third that shares a field with each.
        (
            "third",
            vec![
                vec!["image-list: web=acme/web:1.x"],
                vec!["image-list: web=acme/web:1.x, side=acme/side:1.x", side],
                vec!["image-list: side=acme/side", side, "side.update-strategy: newest-build"],
            ],
        ),
        (
            "range",
            vec![
                vec!["image-list: web=acme/web:1.x"],
                vec!["image-list: web=acme/web:2.x"],
            ],
        ),
        (
            "push",
            vec![
                vec!["image-list: web=acme/web:1.x"],
                vec!["image-list: web=acme/web:1.x", "git-branch: 'main:review'"],
            ],
        ),
        (
            "login",
            vec![vec![
                "image-list: web=acme/web:1.x, side=acme/side:1.x",
                side,
                "side.pull-secret: env:LOGIN",
            ]],
        ),
    ] {
        let mut files = vec![
            file("apps/web/values.yaml", values),
            file("apps/web/Chart.yaml", "name: web\n"),
        ];
        for (n, annotations) in lists.iter().enumerate() {
            let path = format!("{n}.yaml");
            files.push(file(&path, &application(&format!("app-{n}"), annotations, SOURCE)));
        }
        let adoption = adopted(&files);
        assert_eq!(adoption.edited, [], "{name}: {:#?}", adoption.remarks);
        let stay = adoption
            .remarks
            .iter()
            .filter(|remark| remark.text.starts_with("its annotations stay"));
        assert_eq!(stay.count(), lists.len(), "{name}: {:#?}", adoption.remarks);
    }
}

pub(super) fn automations(manifests: &str) -> Vec<(PolicyName, ImageUpdateAutomation)> {
    let read = bumpwright_api::read("new.yaml", manifests.as_bytes(), UnknownFields::Refuse).unwrap();
    let found = read.into_iter().filter_map(|document| match document.object {
        Object::ImageUpdateAutomation(one) => {
            let namespace = one.metadata.namespace.clone().unwrap_or_default();
            Some((PolicyName::new(namespace, one.metadata.name.clone()), one))
        }
        _ => None,
    });
    found.collect()
}

/// The labels of the policies.
pub(super) fn labels(manifests: &str) -> BTreeMap<PolicyName, BTreeMap<String, String>> {
    let read = bumpwright_api::read("new.yaml", manifests.as_bytes(), UnknownFields::Refuse).unwrap();
    let found = read.into_iter().filter_map(|document| match document.object {
        Object::ImagePolicy(one) => {
            let namespace = one.metadata.namespace.clone().unwrap_or_default();
            Some((
                PolicyName::new(namespace, one.metadata.name.clone()),
                one.metadata.labels.clone(),
            ))
        }
        _ => None,
    });
    found.collect()
}

fn branches(one: &ImageUpdateAutomation) -> (String, String) {
    let git = one.spec.git.as_ref().unwrap();
    let branch = git.checkout.as_ref().unwrap().reference.branch.clone().unwrap();
    let push = git.push.as_ref().and_then(|push| push.branch.clone());
    (branch.clone(), push.unwrap_or(branch))
}

/// Each marked field is written by one automation that reads its branch, and no automation
/// overwrites what another pushed.
pub(super) fn hold_apart(manifests: &str, files: &[SourceFile]) {
    let automations = automations(manifests);
    let labels = labels(manifests);
    let none = BTreeMap::new();
    for file in files {
        for site in scan(FileKind::Yaml, &file.bytes).sites {
            let mut by_branch: BTreeMap<String, usize> = BTreeMap::new();
            let policy = &site.setter.policy;
            for (name, one) in &automations {
                let path = one
                    .spec
                    .update
                    .path
                    .as_deref()
                    .unwrap_or_default()
                    .trim_start_matches("./")
                    .to_owned();
                let covers = path.is_empty() || file.path.starts_with(&format!("{path}/"));
                let own = labels.get(policy).unwrap_or(&none);
                let takes = one
                    .spec
                    .policy_selector
                    .as_ref()
                    .is_none_or(|selector| selector.matches(own).unwrap());
                if covers && takes && name.namespace == policy.namespace {
                    *by_branch.entry(branches(one).0).or_default() += 1;
                }
            }
            assert!(
                !by_branch.is_empty(),
                "{}: {policy} is nobody's\n{manifests}",
                file.path
            );
            assert!(
                by_branch.values().all(|count| *count == 1),
                "{}: {policy} {by_branch:?}\n{manifests}",
                file.path
            );
        }
    }
    let mut pushes: BTreeMap<String, Vec<bool>> = BTreeMap::new();
    for (_, one) in &automations {
        let (branch, push) = branches(one);
        pushes.entry(push.clone()).or_default().push(branch == push);
    }
    for (push, direct) in pushes {
        assert!(
            direct.len() == 1 || direct.iter().all(|direct| *direct),
            "{push}\n{manifests}"
        );
    }
}

/// The files after a run, and the file of objects.
pub(super) fn after(files: &[SourceFile], manifests: &str, adoption: &Adoption) -> (Vec<SourceFile>, String) {
    let mut files = files.to_vec();
    for edited in &adoption.edited {
        files[edited.file].bytes.clone_from(&edited.new);
    }
    let manifests = match adoption.manifests.as_str() {
        "" => manifests.to_owned(),
        new => new.to_owned(),
    };
    (files, manifests)
}

pub(super) fn run(files: &[SourceFile], manifests: &str) -> Adoption {
    let mut all = files.to_vec();
    let mut options = Options::default();
    if !manifests.is_empty() {
        options.manifests = Some(all.len());
        all.push(SourceFile {
            root: 99,
            ..file("image-updates.yaml", manifests)
        });
    }
    argocd_image_updater(&all, &options)
}

#[test]
fn what_was_for_review_is_not_pushed_by_the_automation_beside_it() {
    let app = |name: &str, more: &[&str]| {
        let list = format!("image-list: web=acme/{name}:1.x");
        let annotations = [
            &[list.as_str(), "write-back-method: git", "write-back-target: helmvalues"],
            more,
        ]
        .concat();
        file(
            &format!("{name}.yaml"),
            &application(name, &annotations, &source(&format!("apps/{name}"))),
        )
    };
    let values = |name: &str| {
        file(
            &format!("apps/{name}/values.yaml"),
            &format!("image:\n  name: acme/{name}\n  tag: 1.0.0\n"),
        )
    };
    let files = [
        app("a", &[]),
        app("b", &["git-branch: 'main:review'"]),
        app("c", &[]),
        app("d", &["git-branch: 'release:review'"]),
        app("e", &["git-branch: 'main:bump-{{.SHA256}}'"]),
        app("f", &["git-branch: 'release:bump-{{.AppName}}'"]),
        app(
            "g",
            &[
                "git-branch: 'main:bump-{{.SHA256}}'",
                "git-repository: git@git.example.com:acme/fleet.git",
            ],
        ),
        values("a"),
        values("b"),
        values("c"),
        values("d"),
        values("e"),
        values("f"),
        values("g"),
    ];
    let adoption = adopted(&files);
    assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
    let (files, manifests) = after(&files, "", &adoption);
    hold_apart(&manifests, &files);
    let pushed: Vec<String> = automations(&manifests)
        .iter()
        .map(|(name, one)| format!("{} {} {}", name.name, branches(one).0, branches(one).1))
        .collect();
    let expected = [
        "fleet main main",
        "fleet-review main review",
        "fleet-release release review-release",
        "fleet-bump main bump",
        "fleet-bump-release release bump-release",
        "fleet-bump-2 main bump-main",
    ];
    assert_eq!(pushed.len(), expected.len(), "{pushed:?}");
    for (found, expected) in pushed.iter().zip(expected) {
        let last = |text: &str| text.split(' ').skip(1).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(last(found), last(expected), "{pushed:?}");
    }
    let told = adoption
        .remarks
        .iter()
        .filter(|remark| remark.text.contains("each would overwrite"));
    assert_eq!(told.count(), 3, "{:#?}", adoption.remarks);
}

/// Two branches of one repository have a field each, though the files are the same here.
#[test]
fn a_folder_that_two_branches_have_moves_for_both() {
    let list = [
        "image-list: web=registry.example.com/acme/web:1.x",
        "write-back-method: git",
    ];
    let files = [
        file("a.yaml", &application("a", &list, SOURCE)),
        file("b.yaml", &application("b", &list, &SOURCE.replace("main", "develop"))),
        file("apps/web/Chart.yaml", "name: web\n"),
        file("apps/web/values.yaml", super::VALUES),
    ];
    let adoption = adopted(&files);
    assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
    let (files, manifests) = after(&files, "", &adoption);
    hold_apart(&manifests, &files);
    assert_eq!(automations(&manifests).len(), 2);
    assert_eq!(manifests.matches("kind: ImagePolicy").count(), 1);
}

#[test]
fn a_second_run_adds_to_what_is_there() {
    let list = ["image-list: web=acme/web:1.x", "write-back-method: git"];
    let review = [
        "image-list: web=acme/web:1.x",
        "write-back-method: git",
        "git-branch: 'main:review'",
    ];
    let pod = "image: acme/web:1.0.0\n";
    let files = [
        file("a.yaml", &application("a", &list, &source("apps/a"))),
        file("apps/a/pod.yaml", pod),
        file("apps/b/pod.yaml", pod),
        file("apps/c/pod.yaml", pod),
    ];
    let first = run(&files, "");
    let (files, manifests) = after(&files, "", &first);
    let again = run(&files, &manifests);
    assert_eq!(
        (again.edited.len(), again.manifests.as_str(), again.objects),
        (0, "", 0)
    );
    // By hand, which is kept.
    let manifests = manifests
        .replace("  url: ", "  # ours\n  url: ")
        .replace("interval: 2m", "interval: 7m");
    let files = [
        files.as_slice(),
        &[
            file("b.yaml", &application("b", &list, &source("apps/b"))),
            file("c.yaml", &application("c", &review, &source("apps/c"))),
        ],
    ]
    .concat();
    let second = run(&files, &manifests);
    assert_eq!(remarks(&second, Weight::Left), [""; 0]);
    assert_eq!(
        second.objects, 2,
        "a policy and an automation for what is reviewed: {}",
        second.manifests
    );
    let (files, added) = after(&files, &manifests, &second);
    assert!(added.starts_with(&manifests.replace("./apps/a", "./apps")), "{added}");
    hold_apart(&added, &files);
    let third = run(&files, &added);
    assert_eq!((third.edited.len(), third.manifests.as_str()), (0, ""));
}

/// An automation of somebody else's that would write the fields, too.
#[test]
fn an_automation_that_takes_all_policies_is_no_neighbour() {
    let list = [
        "image-list: web=acme/web:1.x",
        "write-back-method: git",
        "git-branch: 'main:review'",
    ];
    let there = "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageUpdateAutomation\nmetadata: {name: all, namespace: argocd}\n\
        spec:\n  sourceRef: {kind: GitRepository, name: all}\n  git: {commit: {author: {email: a@b.c}}}\n  update: {path: ./PATH}\n";
    for (path, is_left) in [("apps", true), ("", true), ("apps/other", false)] {
        let files = [
            file("a.yaml", &application("a", &list, &source("apps/a"))),
            file("apps/a/pod.yaml", "image: acme/web:1.0.0\n"),
            file("there.yaml", &there.replace("PATH", path)),
        ];
        let adoption = adopted(&files);
        let left = remarks(&adoption, Weight::Left);
        assert_eq!(
            left.iter()
                .any(|text| text.contains("ImageUpdateAutomation argocd/all looks at")),
            is_left,
            "{left:?}"
        );
        assert_eq!(adoption.edited.is_empty(), is_left, "{path}");
    }
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn of<'t>(&mut self, words: &[&'t str]) -> &'t str {
        words[self.below(words.len())]
    }
}

const FOLDERS: [&str; 5] = ["apps", "apps/a", "apps/a/x", "apps/b", "infra"];

fn random_application(dice: &mut Dice, n: usize) -> SourceFile {
    let images = [
        "web=acme/web:1.x",
        "next=acme/web:2.x",
        "api=acme/api:1.x",
        "api=acme/api:2.x",
        "side=acme/side:latest",
    ];
    let mut list = vec![dice.of(&images)];
    if dice.below(2) == 0 {
        list.push(dice.of(&images));
    }
    let list = format!("image-list: {}", list.join(", "));
    let branch = dice.of(&[
        "main",
        "main:review",
        "release:review",
        ":review",
        "main:iu-{{.SHA256}}",
        "release",
        "release:iu-{{.X}}",
    ]);
    let branch = format!("git-branch: '{branch}'");
    let more = dice.of(&[
        "api.update-strategy: newest-build",
        "side.update-strategy: digest",
        "web.pull-secret: env:X",
        "x.y: z",
    ]);
    let repository = dice.of(&[
        "https://git.example.com/acme/fleet.git",
        "git@git.example.com:acme/fleet.git",
    ]);
    let source = source(dice.of(&FOLDERS)).replace("https://git.example.com/acme/fleet.git", repository);
    let annotations = [list.as_str(), branch.as_str(), more, "write-back-method: git"];
    file(
        &format!("argocd/{n}.yaml"),
        &application(&format!("app-{n}"), &annotations, &source),
    )
}

fn random_files(dice: &mut Dice) -> Vec<SourceFile> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        let mut text = String::new();
        for _ in 0..=dice.below(3) {
            let image = dice.of(&[
                "acme/web:1.0.0",
                "acme/web:2.0.0",
                "acme/api:1.0.0",
                "acme/side:latest",
                "acme/api:2.1.0",
            ]);
            text.push_str(&format!("---\nimage: {image}\n"));
        }
        files.push(file(&format!("{folder}/pod.yaml"), &text));
    }
    files
}

/// Whatever the Applications say: no field has two automations, and none that argocd-image-updater still
/// writes has a marker.
#[test]
fn random_applications_are_kept_apart_run_after_run() {
    let mut dice = Dice(20_261_128);
    let (mut moved, mut stayed) = (0, 0);
    for _ in 0..400 {
        let mut files = random_files(&mut dice);
        let mut manifests = String::new();
        let mut count = 0;
        for _ in 0..2 {
            for _ in 0..=dice.below(3) {
                files.push(random_application(&mut dice, count));
                count += 1;
            }
            let adoption = run(&files, &manifests);
            let marked: Vec<(String, usize)> = adoption
                .edited
                .iter()
                .flat_map(|edited| {
                    edited
                        .marked
                        .iter()
                        .map(|mark| (files[edited.file].path.clone(), mark.0.line))
                })
                .collect();
            (files, manifests) = after(&files, &manifests, &adoption);
            hold_apart(&manifests, &files);
            for one in files.iter().filter(|file| file.path.starts_with("argocd/")) {
                let text = std::str::from_utf8(&one.bytes).unwrap();
                if text.contains(PREFIX) {
                    stayed += 1;
                    nothing_of_it_is_marked(text, &files, &marked);
                } else {
                    moved += 1
                }
            }
            let again = run(&files, &manifests);
            assert_eq!(
                (again.edited.len(), again.manifests.as_str()),
                (0, ""),
                "{manifests}\n{:#?}",
                again.remarks
            );
        }
    }
    assert!(moved > 150 && stayed > 150, "{moved} {stayed}");
}

/// No field of an image of the list, below the Application's folder, has got a marker.
fn nothing_of_it_is_marked(application: &str, files: &[SourceFile], marked: &[(String, usize)]) {
    let after = |key: &str| {
        application
            .split_once(key)
            .unwrap()
            .1
            .lines()
            .next()
            .unwrap()
            .trim()
            .to_owned()
    };
    let folder = after("    path: ");
    let names: Vec<String> = after("/image-list: ")
        .split(',')
        .map(|part| part.split_once('=').unwrap().1.to_owned())
        .collect();
    for file in files.iter().filter(|file| file.path.starts_with(&format!("{folder}/"))) {
        let sites = scan(FileKind::Yaml, &file.bytes).sites;
        for site in sites
            .iter()
            .filter(|site| marked.contains(&(file.path.clone(), site.line)))
        {
            let (image, tag) = site.value.split_once(':').unwrap();
            let is_its = names.iter().any(|name| {
                let (own, range) = name.split_once(':').unwrap();
                own == image && (range == tag || range.starts_with(&tag[..1]))
            });
            assert!(!is_its, "{}: {} is marked\n{application}", file.path, site.value);
        }
    }
}

/// Rules of an `ImageUpdater` move for all of their Applications, or for none.
#[test]
fn rules_move_as_a_whole() {
    let updater = "apiVersion: argocd-image-updater.argoproj.io/v1alpha1\nkind: ImageUpdater\nmetadata: {name: all, namespace: argocd}\n\
        spec:\n  writeBackConfig: {method: git}\n  applicationRefs:\n  - namePattern: a*\n    images:\n    - {alias: web, imageName: 'acme/web:1.x'}\n  \
        - namePattern: b*\n    images:\n    - {alias: web, imageName: 'acme/web:1.x'}\n";
    let pod = |name: &str, tag: &str| file(&format!("apps/{name}/pod.yaml"), &format!("image: acme/web{tag}\n"));
    let app = |name: &str| {
        let text = application(name, &[], &source(&format!("apps/{name}")));
        file(&format!("{name}.yaml"), &text)
    };
    let files = [
        file("updater.yaml", updater),
        app("a1"),
        app("a2"),
        app("b1"),
        pod("a1", ":1.0.0"),
        pod("a2", ""),
        pod("b1", ":1.0.0"),
    ];
    let adoption = adopted(&files);
    assert_eq!(marked(&adoption, &files), ["apps/b1/pod.yaml:1 argocd:web"]);
    assert!(new(&adoption, &files, "apps/b1/pod.yaml").contains("argocd:web"));
    let notes = remarks(&adoption, Weight::Note);
    let told = "what its rules for \"b*\" say is said by the new objects: take them out with the commit of the markers, or both write the same fields; ";
    assert!(
        notes
            .iter()
            .any(|text| text.contains(told) && text.ends_with("those for \"a*\" have to stay")),
        "{notes:#?}"
    );
}
