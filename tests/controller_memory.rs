//! What a controller holds in memory when it has much to look after and nothing to do.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod support;

use std::time::Duration;

use serde_json::json;
use support::apiserver::Cluster;
use support::controller_process::{until, until_within};
use support::image_world::{IMAGES, ImageWorld};
use support::repo::{Change, Repo};

const IMAGES_COUNT: usize = 100;
const AUTOMATIONS: usize = 30;

/// What may be held, in KiB. The code itself, which is larger without optimization, is not counted.
const MOST: u64 = 40 << 10;

/// 100 images with 10 tags each, 100 policies, 30 automations with a repository each.
#[test]
fn an_idle_controller_is_small() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "memory", "1h");
    for n in 0..IMAGES_COUNT {
        let image = format!("image{n}");
        for tag in 0..10 {
            world.publish(&image, &format!("1.{tag}.0"));
        }
        world.image(&image, "1h");
    }
    for n in 0..AUTOMATIONS {
        automation(&world, n);
    }
    let controller = world.controller(&[]);
    let conditions = || {
        let page = controller.metrics();
        let counted = |kind: &str| {
            let prefix = format!("gotk_reconcile_duration_seconds_count{{kind=\"{kind}\"");
            page.lines().filter(|line| line.starts_with(&prefix)).count()
        };
        (counted("ImagePolicy"), counted("ImageUpdateAutomation"))
    };
    until_within(Duration::from_secs(300), "all is reconciled", || {
        (conditions() == (IMAGES_COUNT + 1, AUTOMATIONS + 1)).then_some(())
    });
    for n in 0..AUTOMATIONS {
        world.await_ready("imageupdateautomations", &format!("auto{n}"), "True", |_, _| true);
    }
    let figures = || {
        (
            controller.memory("VmHWM"),
            controller.memory("VmRSS"),
            controller.memory("RssAnon"),
        )
    };
    let mut least = figures();
    // Threads end and pages are given back after a while.
    let small = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        until("it is small", || {
            least = figures();
            (least.2 <= MOST).then_some(())
        });
    }));
    println!("{AUTOMATIONS} automations, {IMAGES_COUNT} images: peak, resident, own = {least:?} KiB");
    assert!(small.is_ok(), "peak, resident, own: {least:?} KiB");
}

fn automation(world: &ImageWorld<'_>, n: usize) {
    let name = format!("auto{n}");
    let repo = Repo::init(world.folder.path().join(format!("git/{name}.git")));
    let file = world.marked("1.0.0");
    repo.commit("main", "first", &[Change::File("app.yaml", file.as_bytes())]);
    world.apply(
        "source.toolkit.fluxcd.io/v1",
        "GitRepository",
        &name,
        json!({"interval": "1h", "url": world.git.url(&format!("{name}.git")), "ref": {"branch": "main"}}),
    );
    world.apply(
        IMAGES,
        "ImageUpdateAutomation",
        &name,
        json!({
            "interval": "1h", "sourceRef": {"kind": "GitRepository", "name": name}, "update": {"path": "./"},
            "git": {"commit": {"author": {"name": "bot", "email": "bot@example.com"}}},
        }),
    );
}
