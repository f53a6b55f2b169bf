//! Actions are made with the rights of the person who asks, and told as events.

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{EVENT, IMAGE_POLICY, KUSTOMIZATION, ObjectKind};

use super::people::sign_in;
use super::seeded::{Answer, Pages, account, by_token, seeded};

/// The token that the forms of a session send back.
pub fn csrf(pages: &Pages, headers: &[(&str, &str)]) -> String {
    let text = pages.get("/images/okapi/okapi-web", headers).text();
    let field = text
        .split("name=\"csrf\"")
        .nth(1)
        .unwrap_or_else(|| panic!("no form in {text}"));
    let value = field.split("value=\"").nth(1).unwrap();
    value.split('"').next().unwrap().to_owned()
}

fn get(cluster: &Cluster, kind: ObjectKind, namespace: &str, name: &str) -> Json {
    let path = format!(
        "/apis/{}/namespaces/{namespace}/{}/{name}",
        kind.api_version, kind.plural
    );
    cluster.get(&path)
}

fn events_of(cluster: &Cluster, namespace: &str, person: &str) -> Vec<Json> {
    let list = cluster.get(&format!(
        "/api/{}/namespaces/{namespace}/{}",
        EVENT.api_version, EVENT.plural
    ));
    let items = list["items"].as_array().unwrap().clone();
    let is_of =
        |event: &Json| event["reason"] == "ActionRequested" && event["message"].as_str().unwrap().contains(person);
    items.into_iter().filter(is_of).collect()
}

/// Somebody who has signed in, and may see everything of okapi.
struct Signed<'a> {
    pages: &'a Pages,
    cookie: String,
    csrf: String,
}

impl<'a> Signed<'a> {
    fn new(cluster: &Cluster, pages: &'a Pages, name: &str, patches: &[&str]) -> Self {
        let token = account(cluster, "okapi", name, "ui-view");
        if !patches.is_empty() {
            let role = format!("{name}-patches");
            let object = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": role},
                "rules": [{"apiGroups": ["image.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io"],
                    "resources": patches, "verbs": ["patch"]}]});
            cluster.apply(&object.to_string());
            let subject = json!({"kind": "ServiceAccount", "name": name, "namespace": super::seeded::home(name)});
            super::seeded::bind(cluster, "okapi", &role, &role, &subject);
        }
        let cookie = sign_in(pages, &token);
        let csrf = csrf(pages, &[("Cookie", &cookie)]);
        Self { pages, cookie, csrf }
    }

    fn ask(&self, action: &str, kind: &str, namespace: &str, name: &str) -> Answer {
        let fields = [
            ("csrf", self.csrf.as_str()),
            ("action", action),
            ("kind", kind),
            ("namespace", namespace),
            ("name", name),
            ("back", "/images?q=x"),
        ];
        self.pages.post("/act", &[("Cookie", &self.cookie)], &fields)
    }
}

#[test]
fn somebody_with_rights_acts_by_name() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let ann = Signed::new(cluster, pages, "acts-ann", &["kustomizations", "imagepolicies"]);
    let done = ann.ask("suspend", "Kustomization", "okapi", "okapi-base");
    assert_eq!(
        (done.status, done.header("Location")),
        (303, "/images?done=suspend"),
        "{}",
        done.text()
    );
    assert_eq!(
        get(cluster, KUSTOMIZATION, "okapi", "okapi-base")["spec"]["suspend"],
        true
    );
    assert_eq!(ann.ask("resume", "Kustomization", "okapi", "okapi-base").status, 303);
    let resumed = get(cluster, KUSTOMIZATION, "okapi", "okapi-base");
    assert_eq!(resumed["spec"]["suspend"], false);
    let asked = |object: &Json| object["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"].clone();
    let first = asked(&resumed);
    assert!(first.is_string(), "{resumed:#}");
    assert_eq!(ann.ask("reconcile", "Kustomization", "okapi", "okapi-base").status, 303);
    assert_ne!(asked(&get(cluster, KUSTOMIZATION, "okapi", "okapi-base")), first);
    let failed = "state.bumpwright.dev/failed-versions";
    assert!(get(cluster, IMAGE_POLICY, "okapi", "okapi-web")["metadata"]["annotations"][failed].is_string());
    let released = ann.ask("release", "ImagePolicy", "okapi", "okapi-web");
    assert_eq!(released.status, 303, "{}", released.text());
    assert!(get(cluster, IMAGE_POLICY, "okapi", "okapi-web")["metadata"]["annotations"][failed].is_null());
    assert_eq!(ann.ask("release", "ImagePolicy", "okapi", "okapi-web").status, 409);
    assert_eq!(
        ann.ask("approve-prune", "Kustomization", "okapi", "okapi-base").status,
        409,
        "none is refused"
    );
    let approved = ann.ask("approve-prune", "Kustomization", "okapi", "okapi-prunes");
    assert_eq!(approved.status, 303, "{}", approved.text());
    let prunes = get(cluster, KUSTOMIZATION, "okapi", "okapi-prunes");
    assert_eq!(
        prunes["metadata"]["annotations"]["bumpwright.dev/approve-prune"],
        "main@sha1:abc"
    );
    let told = until("events say who it was", || {
        let told = events_of(cluster, "okapi", "system:serviceaccount:home-acts-ann:acts-ann");
        (told.len() >= 5).then_some(told)
    });
    assert!(
        told.iter().any(|event| event["involvedObject"]["name"] == "okapi-web"),
        "{told:#?}"
    );
    for action in ["release", "delete", ""] {
        assert_eq!(
            ann.ask(action, "Kustomization", "okapi", "okapi-base").status,
            400,
            "{action}"
        );
    }
    assert_eq!(ann.ask("suspend", "Secret", "okapi", "okapi-secret").status, 400);
}

/// A page without the tokens of its forms, which are others on each page, and without its foot, which has the time.
fn without_tokens(page: &str) -> String {
    let (page, _) = page.split_once("<footer>").unwrap_or((page, ""));
    let is_token = |word: &&str| word.len() == 96 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    page.split('"').filter(|word| !is_token(word)).collect()
}

/// The controller itself may do everything here; a person who may not, does not.
#[test]
fn nobody_acts_with_the_rights_of_the_controller() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let bob = Signed::new(cluster, pages, "looks-bob", &[]);
    for action in ["suspend", "resume", "reconcile"] {
        let before = get(cluster, KUSTOMIZATION, "okapi", "okapi-apps");
        let refused = bob.ask(action, "Kustomization", "okapi", "okapi-apps");
        assert_eq!(refused.status, 403, "{}", refused.text());
        assert!(refused.text().contains("cannot patch"), "{}", refused.text());
        let after = get(cluster, KUSTOMIZATION, "okapi", "okapi-apps");
        assert_eq!(
            before["metadata"]["resourceVersion"],
            after["metadata"]["resourceVersion"]
        );
    }
    let unseen = bob.ask("suspend", "Kustomization", "zebra", "zebra-apps");
    assert_eq!(unseen.status, 404, "{}", unseen.text());
    let nowhere = bob.ask("suspend", "Kustomization", "nobody", "nobody-apps");
    let shown = |text: &str| without_tokens(text).replace("nobody", "zebra");
    assert_eq!(shown(&nowhere.text()), shown(&unseen.text()));
    assert!(events_of(cluster, "okapi", "looks-bob").is_empty());
}

#[test]
fn forms_of_other_sites_and_sessions_do_nothing() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let ann = Signed::new(cluster, pages, "forms-ann", &["imagerepositories", "imagepolicies"]);
    let eve = Signed::new(cluster, pages, "forms-eve", &[]);
    let again = sign_in(pages, &super::seeded::token(cluster, "home-forms-ann", "forms-ann"));
    let object = || get(cluster, IMAGE_POLICY, "okapi", "okapi-web")["spec"]["suspend"].clone();
    let send = |headers: &[(&str, &str)], csrf: &str| {
        let fields = [
            ("csrf", csrf),
            ("action", "suspend"),
            ("kind", "ImagePolicy"),
            ("namespace", "okapi"),
            ("name", "okapi-web"),
        ];
        pages.post("/act", headers, &fields).status
    };
    let own = ("Cookie", ann.cookie.as_str());
    for (headers, csrf) in [
        (&[own][..], ""),
        (&[own], "0000"),
        (&[own], eve.csrf.as_str()),
        (&[("Cookie", again.as_str())], ann.csrf.as_str()),
        (&[own, ("Origin", "https://evil.io")], &ann.csrf),
        (&[own, ("Origin", "null")], &ann.csrf),
        (&[own, ("Sec-Fetch-Site", "cross-site")], &ann.csrf),
        (&[own, ("Sec-Fetch-Site", "same-site")], &ann.csrf),
    ] {
        assert_eq!(send(headers, csrf), 403, "{headers:?}");
        assert_ne!(object(), true);
    }
    let origin = format!("http://localhost:{}", pages.port);
    assert_eq!(
        send(
            &[own, ("Origin", &origin), ("Sec-Fetch-Site", "same-origin")],
            &ann.csrf
        ),
        303
    );
    assert_eq!(object(), true);
}
