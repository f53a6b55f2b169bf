//! Buckets by the `flux` command: created with a key, shown, reconciled, suspended, deleted.

use super::{Flux, rows};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::moto::Moto;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::world::{BUCKET, World};

#[test]
fn buckets_are_created_shown_and_reconciled() {
    let (Some(cluster), Some(moto)) = (Cluster::shared(), Moto::start()) else {
        return;
    };
    let Some(flux) = Flux::new(cluster, "buckets") else {
        return;
    };
    cluster.define();
    let world = World::new(cluster, "buckets");
    moto.put("/podinfo", "");
    moto.put("/podinfo/app.yaml", "kind: Deployment\n");
    let address = format!("127.0.0.1:{}", free_port());
    let addresses = [
        format!("--storage-addr={address}"),
        format!("--storage-adv-addr={address}"),
    ];
    let starter = world.starter("controller").flags(&["--controllers=source"]);
    let _controller = starter.flags(&addresses).start();
    let said = flux.ok(&format!(
        "create source bucket app --bucket-name=podinfo --endpoint={} --insecure=true --access-key=a --secret-key=b \
         --interval=1h",
        moto.address()
    ));
    let revision = || {
        let artifact = world.get(BUCKET, "app")["status"]["artifact"].clone();
        artifact["revision"].as_str().unwrap().to_owned()
    };
    let first = revision();
    assert!(said.contains(&format!("fetched revision: {first}")), "{said}");
    assert_eq!(world.get(BUCKET, "app")["spec"]["secretRef"]["name"], "bucket-app");

    moto.put("/podinfo/app.yaml", "kind: StatefulSet\n");
    let said = flux.ok("reconcile source bucket app");
    assert_ne!(revision(), first);
    assert!(said.contains(&format!("fetched revision {}", revision())), "{said}");

    let shown = |command: &str, wanted: &str| {
        let table = rows(&flux.ok(command));
        let shown = table.iter().any(|row| row.contains("app") && row.contains(wanted));
        assert!(shown, "{wanted}: {table:#?}");
    };
    shown("get sources all", "False True stored artifact: revision");
    flux.ok("suspend source bucket app");
    shown("get sources bucket", "True True stored artifact: revision");
    flux.ok("resume source bucket app");
    flux.ok("delete source bucket app --silent");
    world.gone(BUCKET, "app");
}
