//! Reviews of pull requests on pages: each person sees of them what that person may list.

use serde_json::json;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::waiting::wait_for;

use super::seeded::{Answer, account_in, bind, exchange, home, seeded, token};
use crate::reviewed::{HIDDEN, PASSWORD, PUSHED, Reviewed, TITLE};
use crate::seed::{HOUR, ready};

fn get(port: u16, target: &str, token: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    exchange(port, "GET", target, &[("Authorization", &bearer)], "")
}

/// A role for the lists of some kinds.
fn role(cluster: &Cluster, name: &str, rules: &[(&str, &str)]) {
    let rule =
        |(group, resource): &(&str, &str)| json!({"apiGroups": [group], "resources": [resource], "verbs": ["list"]});
    let rules: Vec<_> = rules.iter().map(rule).collect();
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules});
    cluster.apply(&role.to_string());
}

const SOURCES: (&str, &str) = ("source.toolkit.fluxcd.io", "gitrepositories");
const KUSTOMIZATIONS: (&str, &str) = ("kustomize.toolkit.fluxcd.io", "kustomizations");

#[test]
fn each_person_sees_of_reviews_what_that_person_may_list() {
    let Some(cluster) = seeded() else { return };
    let name = "ui-reviews";
    let reviewed = Reviewed::start(cluster, name, &["--ui-auth=token"]);
    role(cluster, "ui-sources", &[SOURCES]);
    role(cluster, "ui-both", &[SOURCES, KUSTOMIZATIONS]);
    role(cluster, "ui-kustomizations", &[KUSTOMIZATIONS]);
    let person = |who: &str, role: &str| account_in(cluster, &home(who), name, who, role);
    let (sources, own) = (person("r-sources", "ui-sources"), person("r-own", "ui-both"));
    let kustomizations = person("r-kustomizations", "ui-kustomizations");
    let all = person("r-all", "ui-both");
    let subject = json!({"kind": "ServiceAccount", "name": "r-all", "namespace": home("r-all")});
    bind(cluster, &format!("{name}-other"), "r-all", "ui-both", &subject);
    let one = reviewed.path(1);
    let shown = |target: &str, token: &str| get(reviewed.port(), target, token);

    // All of it.
    let whole = || shown(&one, &all).text();
    wait_for(|| whole().contains(HIDDEN) && whole().contains("8Gi"), whole);
    let text = whole();
    for part in [
        "failure</span>",
        "claims can only grow",
        "<mark>10Gi</mark>",
        "web:<mark>1.1.0</mark>",
        "timeout <mark>60</mark>",
        "restarts",
        "&lt;img src=x",
        "data.password",
        "changed, not shown",
        "db/claim.yaml:8:16",
        "href=\"https://forge.example/\"",
        "ada",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        !text.contains(PASSWORD) && !text.contains(TITLE) && !text.contains("not all of it"),
        "{text}"
    );
    let list = shown("/reviews", &all).text();
    assert!(
        list.contains("5 objects differ") && list.contains("1 error<") && list.contains("Larger claim"),
        "{list}"
    );
    assert!(list.contains("href=\"/reviews\" aria-current=\"page\""), "{list}");
    assert!(shown(&reviewed.path(2), &all).text().contains("success</span>"));

    // Without the Kustomizations of the other namespace.
    let text = shown(&one, &own).text();
    assert!(text.contains("8Gi") && text.contains("This is not all of it"), "{text}");
    assert!(
        !text.contains(HIDDEN) && !text.contains("Kustomization ui-reviews-other"),
        "{text}"
    );
    let list = shown("/reviews", &own).text();
    assert!(
        list.contains("4 objects differ") && !list.contains("5 objects"),
        "{list}"
    );

    // The repository alone: that there is a request, and its verdict.
    let text = shown(&one, &sources).text();
    assert!(
        text.contains("failure</span>") && text.contains("This is not all of it"),
        "{text}"
    );
    for part in [
        "8Gi",
        HIDDEN,
        "claims can only grow",
        "Kustomization ui-reviews",
        "Deployment",
        "1 error",
    ] {
        assert!(!text.contains(part), "{part}: {text}");
    }

    // Nothing at all.
    let nobody = token_without_rights(cluster);
    for token in [&kustomizations, &nobody] {
        for target in [&one, &reviewed.path(99)] {
            let answer = shown(target, token);
            assert_eq!(answer.status, 404, "{}", answer.text());
            assert!(!answer.text().contains("img src=x"), "{}", answer.text());
        }
        let list = shown("/reviews", token).text();
        assert!(
            list.contains("No reviews.") && !list.contains("claim") && !list.contains("fleet"),
            "{list}"
        );
    }
}

/// What Kustomizations have not applied, by those alone, and what an automation pushed, by all.
#[test]
fn changes_of_the_cluster_itself_are_reviewed_and_nothing_is_posted() {
    let Some(cluster) = seeded() else { return };
    let name = "ui-behind";
    let reviewed = Reviewed::start(cluster, name, &["--ui-auth=token"]);
    role(cluster, "ui-behind-sources", &[SOURCES]);
    role(cluster, "ui-behind-both", &[SOURCES, KUSTOMIZATIONS]);
    let person = |who: &str, role: &str| account_in(cluster, &home(who), name, who, role);
    let (sources, all) = (
        person("b-sources", "ui-behind-sources"),
        person("b-all", "ui-behind-both"),
    );
    let subject = json!({"kind": "ServiceAccount", "name": "b-all", "namespace": home("b-all")});
    bind(cluster, &format!("{name}-other"), "b-all", "ui-behind-both", &subject);
    let shown = |target: &str, token: &str| get(reviewed.port(), target, token);
    let posted = reviewed.posted();

    let [before, after] = reviewed.fall_behind();
    let (behind, push) = (
        reviewed.path_of("not-applied", &before),
        reviewed.path_of("push", &after),
    );
    let text = || shown(&behind, &all).text();
    reviewed.looks_until(
        || text().contains("8Gi") && shown(&push, &all).text().contains("8Gi"),
        text,
    );
    let text = text();
    let title = format!("main at {}: not applied by db and web", &after[..7]);
    for part in [
        title.as_str(),
        "failure</span>",
        "claims can only grow",
        "BuildFailed: no such file",
        "suspended",
        "web:<mark>1.1.0</mark>",
        &before[..7],
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The Kustomization that has applied it is not behind.
    for part in [HIDDEN, PASSWORD, "at all", "This is not all of it"] {
        assert!(!text.contains(part), "{part}: {text}");
    }
    let text = shown(&push, &all).text();
    for part in [
        PUSHED,
        HIDDEN,
        "ImageUpdateAutomation ui-behind/all",
        "to <bdi>main</bdi>",
        "failure</span>",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains(PASSWORD), "{text}");
    let list = shown("/reviews", &all).text();
    for part in [
        "Pull requests</th>",
        "Not applied in the cluster</th>",
        "Pushed by automations</th>",
        &title,
        PUSHED,
    ] {
        assert!(list.contains(part), "{part}: {list}");
    }

    // Whoever may not list Kustomizations is told none of them.
    for target in [&behind, "/reviews"] {
        let text = shown(target, &sources).text();
        assert!(
            text.contains("not applied by Kustomizations that you may not list"),
            "{text}"
        );
        for part in ["by db", "BuildFailed", "8Gi"] {
            assert!(!text.contains(part), "{target} {part}: {text}");
        }
    }

    // A history that was rewritten is a note.
    let well = ready("True", "ReconciliationSucceeded", "Applied", HOUR);
    let lost = "0123456789".repeat(4);
    reviewed.applied("web", &lost, &well);
    let gone = reviewed.path_of("not-applied", &lost);
    let text = || shown(&gone, &all).text();
    reviewed.looks_until(|| text().contains("does not have the commit any more"), text);
    assert!(text().contains("not reviewed</span>"), "{}", text());
    assert!(
        shown(&behind, &all).text().contains("not applied by db<"),
        "{}",
        shown(&behind, &all).text()
    );

    // What is applied leaves the list.
    for kustomization in ["db", "web"] {
        reviewed.applied(kustomization, &after, &well);
    }
    let is_gone = |target: &str| shown(target, &all).status == 404;
    reviewed.looks_until(|| is_gone(&behind) && is_gone(&gone), || shown("/reviews", &all).text());
    assert!(shown(&push, &all).text().contains(PUSHED));
    assert_eq!(reviewed.posted(), posted);
}

fn token_without_rights(cluster: &Cluster) -> String {
    let _ = account_in(cluster, &home("r-nobody"), "okapi", "r-nobody", "");
    token(cluster, &home("r-nobody"), "r-nobody")
}

/// What an earlier process has reviewed is not known to be well.
#[test]
fn after_a_restart_a_review_is_not_there_until_there_is_a_new_head() {
    let Some(cluster) = seeded() else { return };
    let mut reviewed = Reviewed::start(cluster, "ui-reviewed", &[]);
    let shown =
        |reviewed: &Reviewed<'_>, number: u64| exchange(reviewed.port(), "GET", &reviewed.path(number), &[], "").text();
    wait_for(
        || shown(&reviewed, 2).contains("success</span>"),
        || shown(&reviewed, 2),
    );
    reviewed.restart();
    let before = "reviewed before, not kept here";
    wait_for(
        || shown(&reviewed, 2).contains(before),
        || shown(&reviewed, 2) + &reviewed.log(),
    );
    wait_for(|| shown(&reviewed, 1).contains(before), || shown(&reviewed, 1));
    let text = shown(&reviewed, 2);
    let main = text.split("<main").nth(1).unwrap();
    assert!(!main.contains("success") && !main.contains("differ"), "{main}");
    reviewed.push("30Gi");
    wait_for(
        || shown(&reviewed, 2).contains("<mark>30Gi</mark>"),
        || shown(&reviewed, 2),
    );
}
