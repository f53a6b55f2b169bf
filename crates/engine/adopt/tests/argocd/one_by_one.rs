//! Applications that move one by one have the same automations as all at once, and no automation takes the
//! policies of its neighbour.

use bumpwright_adopt::{SourceFile, Weight};

use super::adoptions::file;
use super::apart::{after, automations, hold_apart, labels, run, source};
use super::{adopted, application, remarks};

fn app(name: &str, method: &str, branch: &str) -> [SourceFile; 2] {
    let list = format!("image-list: {name}=acme/{name}:1.x");
    let method = format!("write-back-method: {method}");
    let source = source(&format!("apps/{name}")).replace("main", branch);
    [
        file(
            &format!("{name}.yaml"),
            &application(name, &[list.as_str(), method.as_str()], &source),
        ),
        file(&format!("apps/{name}/pod.yaml"), &format!("image: acme/{name}:1.0.0\n")),
    ]
}

/// The objects after the Applications of each step have moved, and the notes of the last one.
fn moved(steps: &[Vec<SourceFile>]) -> (Vec<SourceFile>, String, Vec<String>) {
    let (mut files, mut manifests, mut notes) = (Vec::new(), String::new(), Vec::new());
    for step in steps {
        files.extend(step.iter().cloned());
        let adoption = run(&files, &manifests);
        assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
        notes = remarks(&adoption, Weight::Note);
        (files, manifests) = after(&files, &manifests, &adoption);
    }
    hold_apart(&manifests, &files);
    (files, manifests, notes)
}

/// One that leaves the login to Argo CD is committed by the automation whose repository has a Secret, in any order.
#[test]
fn applications_with_and_without_a_secret_share_an_automation() {
    let secret = || app("a", "git:secret:argocd/git-creds", "main").to_vec();
    let none = || app("b", "git", "main").to_vec();
    for steps in [
        vec![[secret(), none()].concat()],
        vec![[none(), secret()].concat()],
        vec![secret(), none()],
        vec![none(), secret()],
    ] {
        let (_, manifests, notes) = moved(&steps);
        let made = automations(&manifests);
        assert_eq!(made.len(), 1, "{manifests}");
        assert_eq!(
            manifests.matches("kind: GitRepository\nmetadata").count(),
            1,
            "{manifests}"
        );
        assert_eq!(
            manifests.matches("  secretRef:\n    name: git-creds\n").count(),
            1,
            "{manifests}"
        );
        assert_eq!(made[0].1.spec.update.path.as_deref(), Some("./apps"));
        assert!(
            !notes.iter().any(|text| text.contains("credentials of Argo CD")),
            "{notes:?}"
        );
    }
}

/// Folders of another branch are written there alone, though the other automation looks at the folder above.
#[test]
fn policies_of_another_branch_have_a_label_of_their_own() {
    let files = [
        app("a", "git", "main"),
        app("b", "git", "main"),
        app("d", "git", "release"),
    ]
    .concat();
    let adoption = adopted(&files);
    assert_eq!(remarks(&adoption, Weight::Left), [""; 0]);
    let by_policy: Vec<(String, Vec<String>)> = labels(&adoption.manifests)
        .into_iter()
        .map(|(name, labels)| (name.name, labels.into_values().collect()))
        .collect();
    let expected = [("a", "fleet"), ("b", "fleet"), ("d", "fleet-2")];
    let expected: Vec<(String, Vec<String>)> = expected
        .iter()
        .map(|(name, label)| ((*name).to_owned(), vec![(*label).to_owned()]))
        .collect();
    assert_eq!(by_policy, expected);
    let (files, manifests) = after(&files, "", &adoption);
    hold_apart(&manifests, &files);
    let taken = automations(&manifests).into_iter().map(|(name, one)| {
        let selector = one.spec.policy_selector.unwrap();
        let own = labels(&manifests);
        let taken = own.iter().filter(|(_, labels)| selector.matches(labels).unwrap());
        (name.name, taken.count())
    });
    assert_eq!(
        taken.collect::<Vec<_>>(),
        [("fleet".to_owned(), 2), ("fleet-2".to_owned(), 1)]
    );
}
