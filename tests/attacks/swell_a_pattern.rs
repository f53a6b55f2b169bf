//! Patterns of a few kilobytes, whose programs take megabytes.

use serde_json::json;

use crate::siege::siege;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::world::{IMAGE_POLICY, IMAGE_REPOSITORY, OCI_REPOSITORY, World};

/// How many objects of each kind have one.
const AT_ONCE: usize = 8;

/// The largest that is taken, and ten times as much, which Go takes, in turns. Each object has another one.
fn pattern(number: usize) -> String {
    let times = [130, 1300][number % 2];
    format!("^[0-9.]*{number}{}$", "(?:[-a-z0-9]{1000})".repeat(times))
}

#[test]
fn in_policies_and_sources() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-swells-patterns");
    let registry = StubHttp::start(|request| match request.path.as_str() {
        "/v2/" => Reply::json(&json!({})),
        path if path.ends_with("/tags/list") => {
            let tags: Vec<String> = (0..100).map(|n| format!("1.0.{n}-{:a<100}", "")).collect();
            Reply::json(&json!({"name": "app", "tags": tags}))
        }
        _ => Reply::status(404),
    });
    let image = json!({"image": format!("{}/app", registry.host()), "interval": "1h", "insecure": true});
    world.add(IMAGE_REPOSITORY, "app", image);
    world.ready(IMAGE_REPOSITORY, "app", "True", |_, _| true);
    for number in 0..AT_ONCE {
        let name = format!("app-{number}");
        let policy = json!({"imageRepositoryRef": {"name": "app"}, "filterTags": {"pattern": pattern(number)},
            "policy": {"semver": {"range": ">=0.0.0-0"}}});
        world.add(IMAGE_POLICY, &name, policy);
        let reference = json!({"semver": ">=0.0.0-0", "semverFilter": pattern(number)});
        let url = format!("oci://{}/app", registry.host());
        let source = json!({"interval": "1h", "timeout": "20s", "url": url, "insecure": true, "ref": reference});
        world.add(OCI_REPOSITORY, &name, source);
    }
    for number in 0..AT_ONCE {
        for kind in [IMAGE_POLICY, OCI_REPOSITORY] {
            let said = world.ready(kind, &format!("app-{number}"), "False", |_, message| {
                !message.contains("rogressing")
            });
            assert_eq!(said.contains("expression too large"), number % 2 == 1, "{said:.200}");
        }
    }
    println!("peak {} KiB", siege.controller.memory("VmHWM"));
    siege.stands();
}
