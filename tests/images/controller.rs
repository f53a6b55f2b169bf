//! `bumpwright controller` with a real API server: behaviour that Flux's controllers do not have. Shared
//! behaviour is in `tests/conformance/harness.rs`.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::git_http::Fault;
use bumpwright_testkit::image_world::{ImageWorld, add_choice};
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{
    AUTOMATION, EVENT, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, World, automation, git_repository,
};
use serde_json::{Value, json};

/// Two policies, a repository that names both, and the automation `all`; what images there are is up to the test.
struct Chosen<'a> {
    // Before the folder that has its log and storage goes.
    controller: Controller,
    world: World<'a>,
    repo: Repo,
}

impl<'a> Deref for Chosen<'a> {
    type Target = World<'a>;

    fn deref(&self) -> &World<'a> {
        &self.world
    }
}

fn marked(namespace: &str, one: &str, two: &str) -> String {
    format!(
        "one: ghcr.io/o/one:{one} # {{\"$imagepolicy\": \"{namespace}:one\"}}\n\
         two: ghcr.io/o/two:{two} # {{\"$imagepolicy\": \"{namespace}:two\"}}\n\
         odd: ghcr.io/o/odd:1.0.0 # {{\"$imagepolicy\": \"{namespace}:nobody\"}}\n"
    )
}

impl<'a> Chosen<'a> {
    /// With both policies at 1.0.0, and an automation with these annotations.
    fn start(cluster: &'a Cluster, namespace: &str, annotations: &Value) -> Self {
        Self::start_with(cluster, namespace, annotations, &json!({}))
    }

    /// The same, with these fields in the spec of the automation.
    fn start_with(cluster: &'a Cluster, namespace: &str, annotations: &Value, fields: &Value) -> Self {
        cluster.define();
        let world = World::new(cluster, namespace);
        let repo = world.repository("app.git");
        let file = marked(namespace, "1.0.0", "1.0.0");
        repo.commit("main", "first", &[Change::File("a.yaml", file.as_bytes())]);
        for policy in ["one", "two"] {
            add_choice(&world, policy, "1.0.0");
        }
        world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
        let mut spec = automation("app");
        for (field, value) in fields.as_object().unwrap() {
            spec[field] = value.clone();
        }
        world.annotated(AUTOMATION, "all", annotations, spec);
        let controller = world.controller(&["--controllers=image-automation"]);
        Self {
            controller,
            world,
            repo,
        }
    }

    /// Lets a policy choose another tag.
    fn choose(&self, policy: &str, tag: &str) {
        self.patch_status(IMAGE_POLICY, policy, &json!({"latestRef": {"tag": tag}}));
    }

    /// Waits until the automation is ready, with a message that `liked` accepts; returns the message.
    fn says(&self, liked: impl Fn(&str) -> bool) -> String {
        self.ready(AUTOMATION, "all", "True", |_, message| liked(message))
    }
}

#[test]
fn skipped_markers_are_told_in_the_message_and_in_a_metric() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = Chosen::start(cluster, "skips", &json!({}));
    let message = world.says(|message| message.starts_with("repository up-to-date"));
    assert!(
        message.contains("\na.yaml:3: there is no ImagePolicy skips/nobody"),
        "{message}"
    );
    let series = "bumpwright_skipped_markers{kind=\"ImageUpdateAutomation\",name=\"all\",namespace=\"skips\",reason=\"UnknownPolicy\"}";
    world.controller.counts(series, 1.0);
}

#[test]
fn a_dry_run_reports_the_diff_and_pushes_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = Chosen::start(cluster, "dry", &json!({"bumpwright.dev/dry-run": "true"}));
    world.says(|message| message.starts_with("dry run: repository up-to-date"));
    let before = world.repo.refs();
    world.choose("one", "1.1.0");
    let message = world.says(|message| message.starts_with("dry run: 1 change would be pushed to branch 'main'"));
    assert!(message.contains("\n+one: ghcr.io/o/one:1.1.0 #"), "{message}");
    assert_eq!(world.repo.refs(), before);
}

#[test]
fn changes_that_come_together_are_one_commit_when_they_may_settle() {
    // Long enough for both to come on a busy machine.
    let annotations = json!({"bumpwright.dev/settle": "4s", "bumpwright.dev/settle-at-most": "20s"});
    let Some(cluster) = Cluster::shared() else { return };
    let world = Chosen::start(cluster, "settle", &annotations);
    world.says(|message| message.starts_with("repository up-to-date"));
    world.choose("one", "1.1.0");
    world.choose("two", "1.2.0");
    until("there is a commit", || world.repo.log("main").len() > 1);
    assert_eq!(world.repo.log("main").len(), 2);
    let wanted = marked("settle", "1.1.0", "1.2.0");
    assert_eq!(world.repo.show("main", "a.yaml"), wanted.as_bytes());
}

/// `spec.policyChangeDelay` of Flux 2.10.
#[test]
fn a_policy_change_delay_collects_changes() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = Chosen::start_with(cluster, "delay", &json!({}), &json!({"policyChangeDelay": "4s"}));
    world.says(|message| message.starts_with("repository up-to-date"));
    world.choose("one", "1.1.0");
    world.choose("two", "1.2.0");
    until("there is a commit", || world.repo.log("main").len() > 1);
    assert_eq!(world.repo.log("main").len(), 2);
    let wanted = marked("delay", "1.1.0", "1.2.0");
    assert_eq!(world.repo.show("main", "a.yaml"), wanted.as_bytes());
}

/// A policy that `spec.policySelector` leaves out starts no run; one without a selector runs for it.
#[test]
fn policies_that_are_not_selected_start_no_run() {
    let Some(cluster) = Cluster::shared() else { return };
    let selector = json!({"policySelector": {"matchLabels": {"team": "a"}}});
    let world = Chosen::start_with(cluster, "selected", &json!({}), &selector);
    let dry = json!({"bumpwright.dev/dry-run": "true"});
    world.annotated(AUTOMATION, "any", &dry, automation("app"));
    let any = |liked: &str| world.ready(AUTOMATION, "any", "True", |_, message| message.starts_with(liked));
    any("dry run: repository up-to-date");
    world.says(|message| message.starts_with("repository up-to-date"));
    let last_run = || world.get(AUTOMATION, "all")["status"]["lastAutomationRunTime"].clone();
    // What was seen at the start may still start a run.
    let before = loop {
        let at = last_run();
        std::thread::sleep(Duration::from_secs(2));
        if last_run() == at {
            break at;
        }
    };
    world.choose("one", "1.1.0");
    any("dry run: 1 change");
    assert_eq!(last_run(), before);
    world.patch(IMAGE_POLICY, "two", &json!({"metadata": {"labels": {"team": "a"}}}));
    world.choose("two", "1.2.0");
    until("there is a commit", || world.repo.log("main").len() > 1);
    let wanted = marked("selected", "1.0.0", "1.2.0");
    assert_eq!(world.repo.show("main", "a.yaml"), wanted.as_bytes());
}

#[test]
fn an_annotation_that_does_not_parse_stalls_the_automation() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = Chosen::start(cluster, "odd", &json!({"bumpwright.dev/dry-run": "yes"}));
    let message = world.ready(AUTOMATION, "all", "False", |_, message| message.contains("dry-run"));
    assert_eq!(
        message,
        "annotation bumpwright.dev/dry-run: \"yes\" is not \"true\" or \"false\""
    );
}

/// A template that cannot become a message is reported before there is anything to commit.
#[test]
fn a_template_that_cannot_become_a_message_is_reported_at_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = Chosen::start(cluster, "template", &json!({}));
    world.says(|message| message.starts_with("repository up-to-date"));
    for (template, wanted) in [
        ("{{ uper .Values.a }}", "function \"uper\" not defined"),
        (
            "{{ range .Changed.Changes }}{{ .Old }}{{ end }}",
            "can't evaluate field Old in type",
        ),
    ] {
        let commit = json!({"spec": {"git": {"commit": {"messageTemplate": template}}}});
        world.patch(AUTOMATION, "all", &commit);
        world.ready(AUTOMATION, "all", "False", |_, message| message.contains(wanted));
        until("an event tells it", || {
            let of = |event: &Value| {
                event["message"]
                    .as_str()
                    .is_some_and(|message| message.contains(wanted))
            };
            world.list(EVENT).iter().any(of)
        });
    }
    let sound = json!({"spec": {"git": {"commit": {"messageTemplate": "{{ len .Changed.Changes }}"}}}});
    world.patch(AUTOMATION, "all", &sound);
    world.says(|message| message.starts_with("repository up-to-date"));
    let revert = json!({"metadata": {"annotations": {"bumpwright.dev/revert-message": "{{ nope }}"}}});
    world.patch(AUTOMATION, "all", &revert);
    world.ready(AUTOMATION, "all", "False", |reason, message| {
        reason == "InvalidAnnotation" && message.contains("revert-message: unable to create")
    });
    assert_eq!(world.repo.log("main").len(), 1);
}

/// Runs that find nothing new write their event once.
#[test]
fn no_change_is_said_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = Chosen::start(cluster, "quiet", &json!({}));
    world.says(|message| message.starts_with("repository up-to-date"));
    for at in ["1", "2", "3", "4"] {
        world.request(AUTOMATION, "all", at);
        until("it has run", || {
            world.get(AUTOMATION, "all")["status"]["lastHandledReconcileAt"] == at
        });
    }
    let said = |event: &&Value| {
        event["message"]
            .as_str()
            .is_some_and(|message| message.starts_with("no change"))
    };
    let counts = || {
        let events = world.list(EVENT);
        let counts = events.iter().filter(said).map(|event| event["count"].clone());
        counts.collect::<Vec<Value>>()
    };
    until("it is said", || !counts().is_empty());
    world.choose("one", "1.1.0");
    until("there is a commit", || world.repo.log("main").len() == 2);
    world.request(AUTOMATION, "all", "5");
    until("it is said once more after a change", || counts() == [json!(2)]);
}

/// docs/cli.md, *Annotations*: a key that a kind does not have was meant to do something that would not happen.
#[test]
fn an_annotation_that_there_is_not_stalls_objects_of_all_kinds() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "unknown-keys", "1h");
    let _controller = world.controller(&["--controllers=image-reflector,image-automation,source"]);
    for (kind, key, hint) in [
        (IMAGE_POLICY, "minimumAge", "did you mean bumpwright.dev/minimum-age?"),
        (AUTOMATION, "hold", "it is for objects of kind ImagePolicy"),
        (
            GIT_REPOSITORY,
            "settle",
            "it is for objects of kind ImageUpdateAutomation",
        ),
        (IMAGE_REPOSITORY, "quick", "there is kind"),
    ] {
        world.ready(kind, "app", "True", |_, _| true);
        let key = format!("bumpwright.dev/{key}");
        let annotated = |value: Value| json!({"metadata": {"annotations": {&key: value}}});
        world.patch(kind, "app", &annotated(json!("1h")));
        let message = world.ready(kind, "app", "False", |reason, _| reason == "InvalidAnnotation");
        assert_eq!(message, format!("annotation {key} is unknown: {hint}"));
        world.patch(kind, "app", &annotated(Value::Null));
        world.ready(kind, "app", "True", |_, _| true);
    }
}

/// The counters of pushes and requests match those of the Git server and the API server.
#[test]
fn pushes_races_and_requests_are_counted() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = Chosen::start(cluster, "counts", &json!({}));
    world.says(|message| message.starts_with("repository up-to-date"));
    let count = |series: &str| world.controller.metric(series);
    assert_eq!(count("bumpwright_pushes_total"), Some(0.0));
    let (rival, once) = (world.repo.clone(), AtomicBool::new(true));
    world.git.before_push(move |_| {
        if once.swap(false, Ordering::SeqCst) {
            rival.commit("main", "rival", &[Change::File("b.txt", b"b")]);
        }
    });
    world.choose("one", "1.1.0");
    world.controller.counts("bumpwright_pushes_total", 1.0);
    assert_eq!(world.repo.log("main").len(), 3, "first, the rival's, ours");
    world.controller.counts("bumpwright_push_races_total", 1.0);
    // One may be under way.
    let seen = || world.git.requests().len() as f64;
    wait_for(
        || count("bumpwright_git_requests_total") == Some(seen()),
        || format!("{:?} requests of {}", count("bumpwright_git_requests_total"), seen()),
    );
    let host = world.cluster.url().trim_start_matches("https://");
    let answered = |code: &str, method: &str| {
        let series = format!("rest_client_requests_total{{code=\"{code}\",host=\"{host}\",method=\"{method}\"}}");
        count(&series).unwrap_or_default()
    };
    assert!(answered("200", "GET") > 3.0 && answered("200", "PATCH") > 1.0 && answered("201", "POST") > 0.0);
    let status = |reason: &str, status: &str| {
        let object = "kind=\"ImageUpdateAutomation\",name=\"all\",namespace=\"counts\"";
        count(&format!(
            "bumpwright_object_status{{{object},reason=\"{reason}\",status=\"{status}\"}}"
        ))
    };
    let refused = || count("bumpwright_login_failures_total{server=\"git\"}");
    assert_eq!((status("Succeeded", "ready"), refused()), (Some(1.0), Some(0.0)));
    world.git.intercept(|_| Some(Fault::Unauthorized("closed".to_owned())));
    world.request(AUTOMATION, "all", "refused");
    until("the refusal is counted", || {
        status("GitOperationFailed", "failing") == Some(1.0) && refused() > Some(0.0)
    });
    assert_eq!(status("Succeeded", "ready"), None);
}
