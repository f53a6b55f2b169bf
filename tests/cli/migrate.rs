//! `migrate`: texts of older versions become texts of v1, compared with a migration of their trees that shares no code.

use std::path::PathBuf;

use bumpwright_migrate::{Migration, migrate};
use bumpwright_testkit::corpora::corpora;
use bumpwright_testkit::old_manifests::to_v1;
use proptest::prelude::*;
use serde_json::Value;

/// The new text; the old one when nothing changes.
fn new_text(old: &str) -> (String, Migration) {
    let migration = migrate(old.as_bytes());
    let new = migration
        .new
        .clone()
        .map_or_else(|| old.to_owned(), |new| String::from_utf8(new).unwrap());
    (new, migration)
}

fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The text after a migration that leaves nothing, checked against the migrated tree and a second run.
fn migrated(old: &str) -> String {
    let (new, migration) = new_text(old);
    assert_eq!(migration.left, [], "{old}");
    let expected: Vec<Value> = documents(old).into_iter().map(to_v1).collect();
    let found: Vec<Value> = documents(&new)
        .into_iter()
        .map(bumpwright_testkit::old_manifests::patches_read)
        .collect();
    assert_eq!(found, expected, "{old}\n{new}");
    assert_eq!(migrate(new.as_bytes()).new, None, "a second run changes nothing\n{new}");
    new
}

/// The first unmigrated place, as `line:column: reason`; nothing changes.
fn left(old: &str) -> String {
    let migration = migrate(old.as_bytes());
    assert_eq!(migration.new, None, "{old}");
    let left = migration.left.first().expect("something is left");
    format!("{}:{}: {}", left.place.line, left.place.column, left.reason)
}

fn without_comments(text: &str) -> String {
    let bare = text.lines().map(|line| {
        if line.trim_start().starts_with('#') {
            ""
        } else {
            line.split(" #").next().unwrap_or_default().trim_end()
        }
    });
    let lines: Vec<&str> = bare.filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

const ORIGINAL: &str = "\
apiVersion: image.toolkit.fluxcd.io/v1alpha1
kind: ImageUpdateAutomation
spec:
  checkout:
    gitRepositoryRef:
      name: auto-repo
    branch: main
  interval: 5m
  # omit suspend, which has not changed
  update:
    strategy: Setters
    path: ./app
  commit:
    authorName: fluxbot
    authorEmail: fluxbot@example.com
    messageTemplate: |
      An automated update from FluxBot
      [ci skip]      
    signingKey:
      secretRef:
        name: git-pgp
  push:
    branch: auto
";

/// IUA-111 to IUA-115: the documented object, down to its blanks at line ends.
#[test]
fn the_documented_object_becomes_the_documented_result() {
    assert_eq!(
        migrated(ORIGINAL),
        "\
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImageUpdateAutomation
spec:
  sourceRef:
    kind: GitRepository
    name: auto-repo
  interval: 5m
  # omit suspend, which has not changed
  update:
    strategy: Setters
    path: ./app
  git:
    checkout:
      ref:
        branch: main
    commit:
      author:
        name: fluxbot
        email: fluxbot@example.com
      messageTemplate: |
        An automated update from FluxBot
        [ci skip]      
      signingKey:
        secretRef:
          name: git-pgp
    push:
      branch: auto
"
    );
}

/// IUA-006: from v1alpha2 on only the version changes, whatever the spelling.
#[test]
fn newer_versions_change_in_their_version_only() {
    for kind in ["ImageRepository", "ImagePolicy", "ImageUpdateAutomation"] {
        for version in ["v1alpha2", "v1beta1", "v1beta2"] {
            for spelling in [
                "kind: KIND\napiVersion: \"image.toolkit.fluxcd.io/VERSION\"   # VERSION\n\n\n",
                "{apiVersion: image.toolkit.fluxcd.io/VERSION, kind: KIND, spec: {x: image.toolkit.fluxcd.io}}",
                "\u{feff}\r\n---\r\napiVersion: 'image.toolkit.fluxcd.io/VERSION'\r\n'kind': KIND\r\n...\r\n",
                "? apiVersion\n: image.toolkit.fluxcd.io/VERSION\n? kind\n: KIND\nstatus: {latestImage: 'a:b'}",
            ] {
                let of = |version: &str| {
                    spelling
                        .replace("/VERSION", &format!("/{version}"))
                        .replace("KIND", kind)
                };
                assert_eq!(migrated(&of(version)), of("v1"));
            }
        }
    }
}

/// IUA-116: an automation without a checkout still uses the repository's own reference.
#[test]
fn no_branch_no_checkout() {
    let old = ORIGINAL
        .replace("    branch: main\n", "")
        .replace("  checkout:\n", "  # the source\n  checkout: # it\n");
    let new = migrated(&old);
    assert!(new.contains("  # the source\n  # it\n  sourceRef:\n"), "{new}");
    assert!(!new.contains("checkout"), "{new}");
}

#[test]
fn comments_markers_and_layout_move_with_their_fields() {
    let old = "\
apiVersion: image.toolkit.fluxcd.io/v1alpha1
kind: ImageUpdateAutomation
spec:
    # where from
    checkout: # out
        branch: # b
            main # {\"$imagepolicy\": \"a:b\"}
        # the source
        gitRepositoryRef: {name: auto-repo} # r

    # often
    interval: 5m
    # where to
    push: {branch: \"auto\"}
    suspend: false
    commit:

        # mail
        authorEmail: 'e@x'   # m

        messageTemplate: |+
            hello

              world
             

        # name
        authorName: n
          # deep
";
    let new = "\
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImageUpdateAutomation
spec:
    # the source
    sourceRef: {kind: GitRepository, name: auto-repo} # r

    # often
    interval: 5m
    suspend: false
    git:
        # where from
        checkout: # out
            ref:
                branch: # b
                    main # {\"$imagepolicy\": \"a:b\"}
        commit:
            author:

                # mail
                email: 'e@x'   # m
                # name
                name: n
                  # deep

            messageTemplate: |+
                hello

                  world
                 

        # where to
        push: {branch: \"auto\"}
";
    assert_eq!(migrated(old), new);
    assert_eq!(migrated(&old.replace('\n', "\r\n")), new.replace('\n', "\r\n"));
    let unfinished = old.strip_suffix("\n          # deep\n").unwrap();
    assert!(
        migrated(unfinished).ends_with("branch: \"auto\"}"),
        "the file ends as it did"
    );
}

#[test]
fn json_stays_json() {
    let old = "{
  \"apiVersion\": \"image.toolkit.fluxcd.io/v1alpha1\",
  \"kind\": \"ImageUpdateAutomation\",
  \"spec\": {
    \"checkout\": {
      \"gitRepositoryRef\": {
        \"name\": \"auto-repo\"
      },
      \"branch\": \"main\"
    },
    \"interval\": \"5m\",
    \"commit\": {
      \"authorName\": \"n\",
      \"messageTemplate\": \"x\",
      \"authorEmail\": \"e\"
    },
    \"push\": {
      \"branch\": \"auto\"
    }
  }
}
";
    let new = "{
  \"apiVersion\": \"image.toolkit.fluxcd.io/v1\",
  \"kind\": \"ImageUpdateAutomation\",
  \"spec\": {
    \"sourceRef\": {
      \"kind\": \"GitRepository\",
      \"name\": \"auto-repo\"
    },
    \"interval\": \"5m\",
    \"git\": {
      \"checkout\": {
        \"ref\": {
          \"branch\": \"main\"
        }
      },
      \"commit\": {
        \"author\": {
          \"name\": \"n\",
          \"email\": \"e\"
        },
        \"messageTemplate\": \"x\"
      },
      \"push\": {
        \"branch\": \"auto\"
      }
    }
  }
}
";
    assert_eq!(migrated(old), new);
    let small = |text: &str| serde_json::to_string(&serde_json::from_str::<Value>(text).unwrap()).unwrap();
    let minified = migrated(&small(old));
    assert_eq!(
        serde_json::from_str::<Value>(&minified).unwrap(),
        serde_json::from_str::<Value>(new).unwrap()
    );
    assert!(!minified.contains(' '), "{minified}");
}

#[test]
fn lists_and_streams_are_looked_through() {
    let old = "\
# first
apiVersion: image.toolkit.fluxcd.io/v1beta2
kind: ImagePolicy
---
apiVersion: apps/v1
kind: Deployment
spec: {template: {apiVersion: x}}
---
apiVersion: v1
kind: List
items:
- apiVersion: image.toolkit.fluxcd.io/v1alpha1
  kind: ImageUpdateAutomation
  spec:
    push:
      branch: b
    checkout:
      gitRepositoryRef: {name: a}
      branch: m
- apiVersion: image.toolkit.fluxcd.io/v1beta1
  kind: ImageRepositoryList
  items: [{apiVersion: image.toolkit.fluxcd.io/v1beta1, kind: ImageRepository}]
";
    let (new, migration) = new_text(old);
    assert_eq!(migration.migrated.len(), 4);
    assert_eq!(migrated(old), new);
    assert!(
        new.contains("    git:\n      checkout:\n        ref:\n          branch: m\n      push:\n        branch: b\n"),
        "{new}"
    );
    assert!(new.starts_with("# first\n") && !new.contains("v1beta"), "{new}");
}

/// References name versions too, also in objects that are of v1 already.
#[test]
fn references_follow() {
    let old = "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
spec:
  sourceRef: {apiVersion: source.toolkit.fluxcd.io/v1beta2, kind: GitRepository, name: a}
  healthChecks:
  - apiVersion: apps/v1
    kind: Deployment
  - apiVersion: kustomize.toolkit.fluxcd.io/v1beta1
    kind: Kustomization
";
    let new = old.replace("/v1beta2", "/v1").replace("/v1beta1", "/v1");
    assert_eq!(new_text(old).0, new);
}

/// C05, C10: `validation` goes, inline patches become text in the order in which kustomize applies them.
#[test]
fn kustomizations_keep_their_patches() {
    let old = "\
apiVersion: kustomize.toolkit.fluxcd.io/v1beta1
kind: Kustomization
spec:
  # kept
  validation: client # gone
  patchesJson6902:
  - target: {version: v1, kind: Deployment, name: podinfo}
    patch:
    # why
    - op: add
      path: /metadata/annotations/key
      value: value
    - {op: remove, path: /x}
  prune: true
  patches:
    - patch: |-
        a: b
      target: {kind: Pod}
  # merges
  patchesStrategicMerge:
  - apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: podinfo # n
    spec: |
      x

        y
  # second
  - kind: X
";
    assert_eq!(
        migrated(old),
        "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
spec:
  # kept
  prune: true
  patches:
    # merges
    - patch: |-
        apiVersion: apps/v1
        kind: Deployment
        metadata:
          name: podinfo # n
        spec: |
          x

            y
    # second
    - patch: |-
        kind: X
    - patch: |-
        a: b
      target: {kind: Pod}
    - target: {version: v1, kind: Deployment, name: podinfo}
      patch: |-
        # why
        - op: add
          path: /metadata/annotations/key
          value: value
        - {op: remove, path: /x}
"
    );
    let notes = migrate(old.as_bytes()).notes;
    assert_eq!(notes.iter().map(|note| note.place.line).collect::<Vec<_>>(), [5, 6]);
}

#[test]
fn fields_of_sources_without_a_meaning_go() {
    let old = "\
apiVersion: source.toolkit.fluxcd.io/v1beta2
kind: GitRepository
spec:
  url: x
  gitImplementation: go-git
  accessFrom:
    namespaceSelectors: []
  interval: 1m
---
{\"apiVersion\":\"source.toolkit.fluxcd.io/v1beta1\",\"kind\":\"Bucket\",\"spec\":{\"a\":1,\"accessFrom\":{}}}
";
    assert_eq!(
        migrated(old),
        "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
spec:
  url: x
  interval: 1m
---
{\"apiVersion\":\"source.toolkit.fluxcd.io/v1\",\"kind\":\"Bucket\",\"spec\":{\"a\":1}}
"
    );
}

/// Objects whose meaning would change, or that cannot be rewritten safely, are kept and reported.
#[test]
fn the_rest_is_left_with_a_reason() {
    let alpha = |spec: &str| {
        format!("apiVersion: image.toolkit.fluxcd.io/v1alpha1\nkind: ImageUpdateAutomation\nspec:{spec}\n")
    };
    let kustomization =
        |spec: &str| format!("apiVersion: kustomize.toolkit.fluxcd.io/v1beta1\nkind: Kustomization\nspec:{spec}\n");
    for (text, reason) in [
        (alpha(" {push: &p {branch: x}}"), "3:17: spec.push uses an anchor"),
        (
            alpha("\n  commit:\n    <<: {authorName: x}"),
            "5:5: spec.commit uses an anchor, an alias, a merge key or a tag",
        ),
        (alpha(" &s\n  <<: {push: {branch: x}}"), "4:3: spec uses an anchor"),
        (
            format!("x: &s {{push: {{branch: x}}}}\n{}", alpha(" *s")),
            "4:7: spec uses an anchor",
        ),
        (
            alpha("\n  push:\n    branch: x\n  git: {}"),
            "6:3: spec.push and spec.git are fields of different versions",
        ),
        (
            alpha("\n  push:\n    branch: x\n    refspec: y"),
            "6:5: spec.push.refspec is not a field of v1alpha1",
        ),
        (
            alpha("\n  commit: text"),
            "4:11: spec.commit is not a mapping with fields",
        ),
        (
            alpha("\n  ? push\n  : branch: x"),
            "4:5: spec.push is written in a way that is not rewritten",
        ),
        (
            alpha("\n  interval: 1m\n  interval: 2m"),
            "5:3: duplicate key \"interval\"",
        ),
        (alpha("\n\tpush: {}"), "4:2: the file does not parse: tabs"),
        (
            alpha("\n  push: {branch: x}\n").replace("v1alpha1", "v1beta1"),
            "4:3: spec.push is not a field of v1beta1",
        ),
        (
            alpha("").replace("v1alpha1", "v2alpha1"),
            "1:1: version v2alpha1 of ImageUpdateAutomation is not known",
        ),
        (
            alpha("").replace("v1alpha1", "v2"),
            "1:1: version v2 of ImageUpdateAutomation is not known",
        ),
        (
            alpha("").replace("image.", "&v image."),
            "1:16: apiVersion uses an anchor",
        ),
        (
            alpha("").replace("image.", "\"\\x69mage.").replace("alpha1", "beta1\""),
            "",
        ),
        (
            kustomization("\n  a: b\n  validation: none"),
            "5:3: spec.validation is none",
        ),
        (
            kustomization(" {serviceAccountName: a, kubeConfig: {}}"),
            "3:8: v1beta1 ignores spec.serviceAccountName",
        ),
        (
            kustomization("\n  patchesStrategicMerge:\n  - a: b # {\"$imagepolicy\": \"a:b\"}"),
            "5:5: v1 has this patch as text",
        ),
        (
            kustomization("\n  patchesStrategicMerge: [{a: b}]"),
            "4:3: spec.patchesStrategicMerge is written in a way",
        ),
        (
            kustomization("\n  patchesJson6902:\n  - target: {name: a.b}\n    patch:\n    - op: x"),
            "5:20: a target of patchesJson6902 has a name",
        ),
        (
            "apiVersion: source.toolkit.fluxcd.io/v1beta2\nkind: HelmChart\nspec: {valuesFile: x}".to_owned(),
            "3:8: spec.valuesFile does not exist",
        ),
    ] {
        if reason.is_empty() {
            assert_eq!(migrate(text.as_bytes()).new, None, "an escape hides the group\n{text}");
            continue;
        }
        let found = left(&text);
        assert!(found.starts_with(reason), "{text}\n{found}");
    }
    let latin = b"# gr\xfc\xdfe\napiVersion: image.toolkit.fluxcd.io/v1beta1\nkind: ImagePolicy\n";
    assert!(migrate(latin).left[0].reason.to_string().contains("not UTF-8"));
}

/// An unmigrated object does not affect others.
#[test]
fn the_others_are_migrated_all_the_same() {
    let old = "apiVersion: image.toolkit.fluxcd.io/v1beta1\nkind: ImagePolicy\nspec: {a: 1, a: 2}\n---\n";
    let (new, migration) = new_text(&format!("{old}{ORIGINAL}"));
    assert_eq!((migration.left.len(), migration.migrated.len()), (1, 1));
    assert_eq!(new, format!("{old}{}", migrated(ORIGINAL)));
}

/// A comment that stands deeper than its field does not become part of the message that it comes to stand below.
#[test]
fn deep_comments_stay_comments() {
    let old = "\
apiVersion: image.toolkit.fluxcd.io/v1alpha1
kind: ImageUpdateAutomation
spec:
      # deep
  push:
    branch: auto
  commit:
    authorEmail: e
    messageTemplate: >
      text
";
    let new = "\
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImageUpdateAutomation
spec:
  git:
    commit:
      author:
        email: e
      messageTemplate: >
        text
    # deep
    push:
      branch: auto
";
    assert_eq!(migrated(old), new);
}

/// C31, C32, and versions outside of objects: reported, not changed.
#[test]
fn what_users_should_know_is_told() {
    let old = "\
apiVersion: image.toolkit.fluxcd.io/v1beta1
kind: ImageUpdateAutomation
spec:
  git:
    commit: {messageTemplate: '{{ .Updated.Images }}', author: {email: e}}
    push: {refspec: 'a:b'}
---
data: 'apiVersion: image.toolkit.fluxcd.io/v1beta1'
";
    let (new, migration) = new_text(old);
    assert_eq!(new, old.replacen("/v1beta1", "/v1", 1));
    let notes: Vec<_> = migration
        .notes
        .iter()
        .map(|note| (note.place.line, note.text.as_str()))
        .collect();
    assert!(
        matches!(&notes[..], [(5, a), (6, b), (8, c)]
        if a.contains(".Changed") && b.contains("push.refspec") && c.contains("image.toolkit.fluxcd.io/v1beta1")),
        "{notes:?}"
    );
}

/// Comments of a text, without what surrounds them.
fn comments(text: &str) -> Vec<String> {
    let mut all: Vec<String> = text
        .lines()
        .filter_map(|line| {
            let (before, comment) = line.split_once('#')?;
            (before.is_empty() || before.ends_with(' ')).then(|| comment.trim().to_owned())
        })
        .collect();
    all.sort();
    all
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    /// However an automation is written: its tree is migrated, its comments are all there, and twice is once.
    #[test]
    fn an_automation_is_migrated_however_it_is_written(choices in prop::collection::vec(any::<u8>(), 0..120)) {
        let old = bumpwright_testkit::old_manifests::automation_text(&choices);
        if (old.contains("|+") || old.contains(">+")) && !migrate(old.as_bytes()).left.is_empty() {
            // Blank lines below would become part of a block scalar that keeps them: left, and told.
            prop_assert_eq!(migrate(old.as_bytes()).new, None);
            return Ok(());
        }
        let new = migrated(&old);
        prop_assert_eq!(comments(&new), comments(&old), "{}\n{}", old, new);
        let bare = new.replace("\r\n", "").matches('\n').count();
        prop_assert!(if old.contains('\r') { bare == 0 } else { !new.contains('\r') }, "line ends stay what they are\n{:?}", new);
    }

    /// Whatever damage a text has: it is not made worse, nothing panics, and what changes reads as it should.
    #[test]
    fn damaged_texts_are_migrated_well_or_left(choices in prop::collection::vec(any::<u8>(), 0..120), at in any::<prop::sample::Index>(), damage in 0..bumpwright_testkit::corpora::ugly_yaml::DAMAGE.len()) {
        let mut old = bumpwright_testkit::old_manifests::automation_text(&choices);
        let places: Vec<usize> = old.char_indices().map(|(at, _)| at).collect();
        old.insert_str(places[at.index(places.len())], bumpwright_testkit::corpora::ugly_yaml::DAMAGE[damage]);
        let (new, migration) = new_text(&old);
        if migration.new.is_some() && let (Some(before), Some(after)) = (documents_of(&old), documents_of(&new)) {
            let expected: Vec<Value> = before.into_iter().map(to_v1).collect();
            prop_assert_eq!(after, expected, "{}\n{}", old, new);
            prop_assert_eq!(migrate(new.as_bytes()).new, None);
        }
    }
}

fn example(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = corpora().join("contract/examples").join(folder);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        path.extension()
            .is_some_and(|end| end == "yaml")
            .then_some((path, text))
    };
    files.into_iter().filter_map(read).collect()
}

/// Every example of ImageUpdateAutomation v1beta1, *Migrating from v1alpha1*: what stands above `# becomes`
/// becomes what stands below.
#[test]
fn the_steps_of_the_document_are_taken() {
    let steps: Vec<_> = example("004")
        .into_iter()
        .filter(|(_, text)| text.contains("# becomes"))
        .collect();
    if steps.is_empty() {
        return println!("examples of moving to v1: absent");
    }
    assert_eq!(steps.len(), 4);
    for (path, text) in steps {
        let (before, after) = text.split_once("# becomes").unwrap();
        let whole = |text: &str| {
            if text.contains("apiVersion") {
                format!("{text}\nkind: ImageUpdateAutomation\n")
            } else {
                format!("apiVersion: image.toolkit.fluxcd.io/v1alpha1\nkind: ImageUpdateAutomation\n{text}")
            }
        };
        let to = |text: &str| whole(text).replace("v1alpha1", "v1").replace("v1beta1", "v1");
        let new = migrated(&whole(before));
        assert_eq!(documents(&new), documents(&to(after)), "{}", path.display());
    }
    let texts = example("004");
    let find = |name: &str| {
        &texts
            .iter()
            .find(|(path, _)| path.to_string_lossy().contains(name))
            .unwrap()
            .1
    };
    let result = migrated(find("migrating-from-v1alpha1-original"));
    let wanted = find("overall-result").replace("v1beta1", "v1");
    assert_eq!(without_comments(&result), without_comments(&wanted), "IUA-115");
}

/// All examples of all documents go through: migrated as their trees are, or left with a reason.
#[test]
fn the_examples_of_the_documents_go_through() {
    let (mut seen, mut changed) = (0, 0);
    for folder in ["000", "001", "002", "003", "004"] {
        for (path, text) in example(folder) {
            seen += 1;
            if documents_of(&text).is_none() {
                continue;
            }
            let (new, migration) = new_text(&text);
            assert_eq!(migration.left, [], "{}", path.display());
            changed += usize::from(new != text);
            migrated(&text);
        }
    }
    if seen == 0 {
        return println!("examples: absent");
    }
    println!("examples: {seen} read, {changed} migrated");
    assert!(changed >= 17, "{changed}");
}

fn documents_of(text: &str) -> Option<Vec<Value>> {
    serde_saphyr::from_multiple(text).ok()
}

/// The objects that the recorded scenarios apply, as JSON and as YAML within a list, and the
/// files of their repositories.
#[test]
fn the_recorded_scenarios_go_through() {
    let root = corpora().join("harness/scenarios/image");
    let Ok(entries) = std::fs::read_dir(&root) else {
        return println!("scenarios: absent");
    };
    let (mut objects, mut changed) = (0, 0);
    for entry in entries {
        let path = entry.unwrap().path().join("scenario.yaml");
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let (new, migration) = new_text(&text);
        assert_eq!(
            (new.as_str(), migration.left.len()),
            (text.as_str(), 0),
            "a scenario is not an object: {}",
            path.display()
        );
        let Some(scenario) = documents_of(&text).and_then(|all| all.into_iter().next()) else {
            continue;
        };
        for object in applied(&scenario) {
            objects += 1;
            let json = serde_json::to_string_pretty(&object).unwrap();
            changed += usize::from(migrated(&json) != json);
        }
    }
    println!("scenarios: {objects} objects, {changed} migrated");
    assert!(objects > 100 && changed >= 3, "{objects} {changed}");
}

fn applied(scenario: &Value) -> Vec<Value> {
    let steps = scenario["steps"].as_array().cloned().unwrap_or_default();
    steps
        .iter()
        .filter_map(|step| step["apply"].as_array())
        .flatten()
        .filter(|object| object.is_object())
        .cloned()
        .collect()
}

/// Not even parsed.
#[test]
fn other_files_are_passed_over() {
    for text in [
        "",
        "a: [",
        "{{ if }}\nkind: x",
        "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\n\t",
    ] {
        assert_eq!(migrate(text.as_bytes()), Migration::default());
    }
}
