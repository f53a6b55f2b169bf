//! Many images with many tags, each of which is within bounds, and whose tags together would fill the
//! volume of the database.

use serde_json::json;

use crate::siege::{OUTSIDE, siege};
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::world::{IMAGE_POLICY, IMAGE_REPOSITORY, World, newest};

/// The bound of the database, and of a namespace.
const MOST: u64 = 1 << 20;
const HALF: u64 = MOST / 2;

/// A registry whose images have tags of 100 bytes; the name of an image ends in their number.
fn registry() -> StubHttp {
    StubHttp::start(|request| match request.path.as_str() {
        "/v2/" => Reply::json(&json!({})),
        path => match path.strip_suffix("/tags/list").and_then(|name| name.rsplit_once('-')) {
            Some((_, count)) => {
                let count: usize = count.parse().unwrap();
                let mut tags: Vec<String> = (0..count).map(|n| format!("1.0.{n}-{:x<92}", "")).collect();
                tags.push("2.0.0".to_owned());
                Reply::json(&json!({"name": "app", "tags": tags}))
            }
            None => Reply::status(404),
        },
    })
}

/// Two namespaces of a tenant take all that they get. A neighbour's scan is stored, what took most makes room for it
/// and says so, and the file stays as small as is documented.
#[test]
fn the_database_of_tags_is_shared() {
    let Some(siege) = siege() else { return };
    let registry = registry();
    let world = |name: &str| {
        let world = World::new(siege.cluster, name).labelled("siege", OUTSIDE);
        world.labelled("attack", "tags")
    };
    let add = |world: &World<'_>, name: &str, tags: usize| {
        let image = format!("{}/{name}-{tags}", registry.host());
        let spec = json!({"image": image, "interval": "1h", "insecure": true});
        world.add(IMAGE_REPOSITORY, name, spec);
    };
    let folder = tempfile::tempdir().unwrap();
    let flags = [
        "--controllers=image-reflector".to_owned(),
        "--watch-label-selector=attack=tags".to_owned(),
        format!("--tags-size={MOST}"),
    ];
    let controller = Controller::ours(&siege.cluster.kubeconfig(), "mallory-fills-tags-a", folder.path());
    let worlds = ["mallory-fills-tags-a", "mallory-fills-tags-b"].map(world);
    let controller = controller.flags(&flags).start();
    for mallory in &worlds {
        for name in ["one", "two"] {
            add(mallory, name, 2000);
            mallory.ready(IMAGE_REPOSITORY, name, "True", |_, _| true);
        }
        for n in 0..4 {
            add(mallory, &format!("more-{n}"), 2000 + n);
        }
        for n in 0..4 {
            mallory.ready(IMAGE_REPOSITORY, &format!("more-{n}"), "False", |_, message| {
                message.contains(&format!(
                    "more than {HALF} bytes of disk space; --tags-size raises the bound"
                ))
            });
        }
    }
    let neighbour = world("neighbour-of-full-tags");
    add(&neighbour, "app", 3000);
    neighbour.ready(IMAGE_REPOSITORY, "app", "True", |_, _| true);
    neighbour.add(IMAGE_POLICY, "app", newest("app"));
    neighbour.ready(IMAGE_POLICY, "app", "True", |_, message| message.contains("2.0.0"));
    let made_room = "made room for those of other namespaces";
    let log = controller.log();
    let line = log
        .lines()
        .find(|line| line.contains(made_room))
        .expect("a line of the log");
    let victim = |world: &&World<'_>| line.contains(&format!("ImageRepository {}/", world.namespace));
    let mallory = worlds.iter().find(victim).expect("a namespace of mallory's");
    let name = if line.contains("/one ") { "one" } else { "two" };
    // It is not read from what is gone, and there is no room for it now.
    mallory.request(IMAGE_REPOSITORY, name, "again");
    let said = mallory.ready(IMAGE_REPOSITORY, name, "False", |_, message| {
        message.contains(&format!(
            "all tags take more than {MOST} bytes of disk space; --tags-size raises the bound"
        ))
    });
    println!("{line}\n{said}");
    neighbour.request(IMAGE_POLICY, "app", "again");
    neighbour.ready(IMAGE_POLICY, "app", "True", |_, message| message.contains("2.0.0"));
    let size = std::fs::metadata(folder.path().join("data/tags.redb")).unwrap().len();
    println!("{size} bytes on disk");
    assert!(size <= 4 * MOST, "{size} bytes on disk");
    assert_eq!(controller.stop(), Some(0));
    siege.stands();
}
