//! What only the process that reconciles knows; and pages from a machine of one's own.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{IMAGE_POLICY, IMAGE_REPOSITORY};

use super::seeded::{SECRET_WORD, account, exchange, seeded};

/// All tags of the repository with why they are left out, and the marked fields, are known without asking anybody.
#[test]
fn the_process_knows_all_tags_and_fields() {
    let Some(cluster) = seeded() else { return };
    let world = ImageWorld::bare(cluster, "ui-process");
    for number in 0..30 {
        world.publish("app", &format!("0.9.{number}"));
    }
    world.publish("app", "main");
    world.add_all("1h");
    let port = free_port();
    let controller = world.controller(&[&format!("--ui-addr=127.0.0.1:{port}")]);
    world.app_ready(IMAGE_REPOSITORY);
    world.app_ready(IMAGE_POLICY);
    world.settled();
    let page = || exchange(port, "GET", "/images/ui-process/app", &[], "").text();
    wait_for(|| page().contains("app.yaml"), page);
    let text = page();
    assert!(text.contains("0.9.0") && text.contains("0.9.29"), "{text}");
    assert!(text.contains("is not a version of three segments"), "{text}");
    world.release("1.1.0");
    world.in_git("1.1.0");
    wait_for(|| page().contains("1.1.0"), page);
    assert!(controller.is_running());
}

/// A server of pages on this machine, which ends with the test.
struct Local {
    child: Child,
    port: u16,
}

impl Local {
    fn start(kubeconfig: &std::path::Path, flags: &[&str]) -> Self {
        let mut child = Command::new(bumpwright_testkit::program())
            .args(["ui", "--ui-addr=127.0.0.1:0"])
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .strip_prefix("http://127.0.0.1:")
            .unwrap_or_else(|| panic!("{line:?}"));
        let port = address.trim_end_matches('/').parse().unwrap();
        Self { child, port }
    }

    fn page(&self, target: &str) -> String {
        let answer = exchange(self.port, "GET", target, &[], "");
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        answer.text()
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn somebody_with_a_kubeconfig_sees_what_it_may_list() {
    let Some(cluster) = seeded() else { return };
    let token = account(cluster, "okapi", "laptop", "ui-view");
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, cluster.kubeconfig_with(&token)).unwrap();
    let all = Local::start(&kubeconfig, &[]);
    let text = all.page("/kustomizations");
    assert!(
        text.contains("kustomizations are left out") && !text.contains("okapi-apps"),
        "{text}"
    );
    let own = Local::start(&kubeconfig, &["--namespace=okapi"]);
    let text = own.page("/kustomizations");
    assert!(
        text.contains("okapi-apps") && !text.contains("left out") && !text.contains(SECRET_WORD),
        "{text}"
    );
    assert!(own.page("/timeline").contains("okapi event"));
    assert!(own.page("/kustomizations/okapi/okapi-apps").contains("2 Current"));
    assert!(
        own.page("/objects/core/ConfigMap/okapi/okapi-map")
            .contains("okapi-map")
    );
    let strange = exchange(own.port, "GET", "/images", &[("Host", "evil.io")], "");
    assert_eq!(strange.status, 421);
}

/// With actions, the rights are those of the kubeconfig.
#[test]
fn somebody_with_a_kubeconfig_acts_with_it() {
    let Some(cluster) = seeded() else { return };
    let world = ImageWorld::bare(cluster, "ui-laptop");
    world.add(
        IMAGE_POLICY,
        "app",
        json!({"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": "*"}}}),
    );
    let local = Local::start(&cluster.kubeconfig(), &["--ui-actions", "--namespace=ui-laptop"]);
    let text = local.page("/images/ui-laptop/app");
    let csrf = text
        .split("name=\"csrf\"")
        .nth(1)
        .unwrap()
        .split("value=\"")
        .nth(1)
        .unwrap();
    let csrf = csrf.split('"').next().unwrap();
    let form =
        |csrf: &str| format!("csrf={csrf}&action=suspend&kind=ImagePolicy&namespace=ui-laptop&name=app&back=%2Fimages");
    assert_eq!(exchange(local.port, "POST", "/act", &[], &form("x")).status, 403);
    assert_eq!(exchange(local.port, "POST", "/act", &[], &form(csrf)).status, 303);
    assert_eq!(world.get(IMAGE_POLICY, "app")["spec"]["suspend"], true);
    let events = || cluster.get("/api/v1/namespaces/ui-laptop/events")["items"].to_string();
    until("an event says so", || events().contains("ActionRequested"));
}

#[test]
fn addresses_that_others_reach_are_refused() {
    for address in ["0.0.0.0:0", ":9393", "0"] {
        let out = Command::new(bumpwright_testkit::program())
            .args(["ui", "--ui-addr", address])
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(2), "{address}");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(said.contains("--ui-addr") && said.contains("127.0.0.1"), "{said}");
    }
}
