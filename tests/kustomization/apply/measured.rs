//! The duration for many objects: the first time, unchanged, and read one by one.

use std::time::Instant;

use super::world::{World, config_map};

/// 2,000 objects of four kinds.
#[test]
#[ignore = "a measurement, of about a minute"]
fn two_thousand_objects() {
    let Some(mut world) = World::new() else { return };
    let kinds = |n: usize| {
        let service = format!("---\napiVersion: v1\nkind: Service\nmetadata: {{name: s{n}, namespace: NS}}\n");
        let account = format!("---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: a{n}, namespace: NS}}\n");
        let container = format!("{{name: c, image: 'x:{n}', ports: [{{containerPort: 80}}]}}");
        let deployment = format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d{n}, namespace: NS}}\nspec: {{replicas: 2, selector: \
             {{matchLabels: {{a: d{n}}}}}, template: {{metadata: {{labels: {{a: d{n}}}}}, spec: {{containers: [{container}]}}}}}}\n"
        );
        let spec = "spec: {selector: {a: b}, ports: [{port: 80}]}\n";
        config_map(&format!("c{n}"), "{k: v, more: lines}") + &service + spec + &account + &deployment
    };
    let objects: Vec<_> = (0..500).flat_map(|n| world.objects(&kinds(n))).collect();
    let round = |world: &mut World, what: &str| {
        let began = Instant::now();
        let mut changed = 0;
        let requests = world.requests(|world| {
            let applied = world.try_apply_objects(objects.clone()).unwrap();
            changed = applied.changes.changed().changes.len();
        });
        println!(
            "{what}: {:.2} s, {requests} requests, {changed} changed",
            began.elapsed().as_secs_f64()
        );
    };
    round(&mut world, "first apply");
    round(&mut world, "unchanged");
    world.memory.forget();
    round(&mut world, "unchanged, nothing remembered");
    let began = Instant::now();
    let pruned = world.prune("").unwrap().len();
    println!("pruned: {:.2} s, {pruned} objects", began.elapsed().as_secs_f64());
}
