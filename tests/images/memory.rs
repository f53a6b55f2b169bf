//! The memory of an idle controller with many objects.

use std::time::Duration;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::{until_within, wait_for};
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, git_repository};

const IMAGES: usize = 100;
const AUTOMATIONS: usize = 30;

/// What may be held, in KiB. The code itself, which is larger without optimization, is not counted. The system's
/// allocator keeps more than the one of what ships.
const MOST: u64 = if cfg!(feature = "jemalloc") { 40 << 10 } else { 64 << 10 };

/// 100 images with 10 tags each, 100 policies, 30 automations with a repository each.
#[test]
fn an_idle_controller_is_small() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "memory", "1h");
    for n in 0..IMAGES {
        let image = format!("image{n}");
        for tag in 0..10 {
            world.publish(&image, &format!("1.{tag}.0"));
        }
        world.add_image(&image, "1h");
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
        conditions() == (IMAGES + 1, AUTOMATIONS + 1)
    });
    for n in 0..AUTOMATIONS {
        world.ready(AUTOMATION, &format!("auto{n}"), "True", |_, _| true);
    }
    let figures = || {
        (
            controller.memory("VmHWM"),
            controller.memory("VmRSS"),
            controller.memory("RssAnon"),
        )
    };
    // Threads end and pages are given back after a while.
    wait_for(
        || figures().2 <= MOST,
        || format!("peak, resident, own: {:?} KiB", figures()),
    );
    println!(
        "{AUTOMATIONS} automations, {IMAGES} images: peak, resident, own = {:?} KiB",
        figures()
    );
}

fn automation(world: &ImageWorld<'_>, n: usize) {
    let name = format!("auto{n}");
    let path = format!("{name}.git");
    let repo = world.repository(&path);
    let file = world.marked("1.0.0");
    repo.commit("main", "first", &[Change::File("app.yaml", file.as_bytes())]);
    world.add(GIT_REPOSITORY, &name, git_repository(&world.git.url(&path)));
    world.add(AUTOMATION, &name, bumpwright_testkit::world::automation(&name));
}
