//! Objects that were removed from a Kustomization (K-020 to K-031).

use std::time::Duration;

use bumpwright_apply::terminated;
use serde_json::json;

use super::world::{World, config_map};
use bumpwright_testkit::waiting::until;

#[test]
fn stale_objects_are_deleted_in_reverse_order() {
    let Some(mut world) = World::new() else { return };
    let service =
        "---\napiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: NS}\nspec: {ports: [{port: 1}]}\n";
    let all = format!("{}{}{service}", config_map("c1", "{}"), config_map("c2", "{}"));
    world.apply(&all);
    assert_eq!(world.prune(&all).unwrap(), Vec::<String>::new());
    let pruned = world.prune(&config_map("c1", "{}")).unwrap();
    assert_eq!(pruned, ["Service/NS/s deleted", "ConfigMap/NS/c2 deleted"]);
    assert!(world.is_there("v1", "ConfigMap", "c1"));
    assert!(!world.is_there("v1", "ConfigMap", "c2"));
    // Those that are gone still count as deleted.
    assert_eq!(
        world.prune("").unwrap(),
        [
            "Service/NS/s deleted",
            "ConfigMap/NS/c2 deleted",
            "ConfigMap/NS/c1 deleted"
        ]
    );
}

/// The next kind's turn comes when all of one kind are deleted.
#[test]
fn kinds_are_deleted_one_after_the_other() {
    let Some(mut world) = World::new() else { return };
    let secret = |name: &str| format!("---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: NS}}\n");
    world.apply(&["a", "b"].map(|name| config_map(name, "{}") + &secret(name)).concat());
    let mut pruned = Vec::new();
    let methods = world.methods(|world| pruned = world.prune("").unwrap());
    let deleted = ["Secret/NS/b", "Secret/NS/a", "ConfigMap/NS/b", "ConfigMap/NS/a"].map(|id| format!("{id} deleted"));
    assert_eq!(pruned, deleted);
    for kind in methods.chunks(4) {
        let mut kind = kind.to_vec();
        kind.sort();
        assert_eq!(kind, ["DELETE", "DELETE", "GET", "GET"], "{methods:?}");
    }
}

/// K-024, K-164, K-174; objects that moved to another Kustomization are not ours any more.
#[test]
fn what_is_to_be_kept_is_skipped() {
    let Some(mut world) = World::new() else { return };
    let names = ["a", "b", "c", "d", "e"];
    world.apply(&names.map(|name| config_map(name, "{}")).concat());
    let wish = |field: &str, key: &str, value: &str| json!({"metadata": {field: {format!("kustomize.toolkit.fluxcd.io/{key}"): value}}});
    world.edit("a", "x", &wish("annotations", "prune", "Disabled"));
    world.edit("b", "x", &wish("labels", "reconcile", "disabled"));
    world.edit("c", "x", &wish("annotations", "ssa", "Ignore"));
    world.edit("d", "x", &wish("labels", "name", "another"));
    let words = |name: &str, word: &str| format!("ConfigMap/NS/{name} {word}");
    let expected = [
        words("e", "deleted"),
        words("d", "skipped"),
        words("c", "skipped"),
        words("b", "skipped"),
        words("a", "skipped"),
    ];
    assert_eq!(world.prune("").unwrap(), expected);
}

/// A definition that went took its objects along; one that lost a version did not.
#[test]
fn kinds_that_are_gone_have_no_objects() {
    let Some(mut world) = World::new() else { return };
    let group = format!("{}.example.com", world.namespace);
    let version = |name: &str, served: bool| {
        let storage = name == "v2";
        format!(
            "  - name: {name}\n    served: {served}\n    storage: {storage}\n    schema: {{openAPIV3Schema: {{type: object}}}}\n"
        )
    };
    let definition = |versions: String| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: cogs.{group}}}\nspec:\n  \
             group: {group}\n  names: {{kind: Cog, plural: cogs}}\n  scope: Namespaced\n  versions:\n{versions}"
        )
    };
    world
        .server
        .apply(&definition(version("v1", true) + &version("v2", true)));
    let cog =
        |name: &str| format!("---\napiVersion: {group}/v1\nkind: Cog\nmetadata: {{name: {name}, namespace: NS}}\n");
    world.apply(&(cog("a") + &cog("b")));
    let definition = definition(version("v1", false) + &version("v2", true));
    let body: serde_json::Value = serde_saphyr::from_str(&definition).unwrap();
    let path = format!("{}?fieldManager=test&force=true", world.server.path_of(&body));
    world
        .server
        .request("PATCH", &path, "application/apply-patch+yaml", &body.to_string());
    let base = format!("/apis/{group}/v1");
    until("v1 is gone", || {
        world.server.request("GET", &base, "", "").status == 404
    });
    assert_eq!(world.prune(&cog("a")).unwrap(), ["Cog/NS/b deleted"]);
    world.server.request("DELETE", &world.server.path_of(&body), "", "");
    let base = format!("/apis/{group}");
    until("the group is gone", || {
        world.server.request("GET", &base, "", "").status == 404
    });
    world.connect();
    assert_eq!(world.prune("").unwrap(), ["Cog/NS/b deleted", "Cog/NS/a deleted"]);
}

/// Without the right to delete the objects stay in the inventory.
#[test]
fn what_cannot_be_deleted_survives() {
    let Some(mut world) = World::new() else { return };
    world.apply(&config_map("c1", "{}"));
    let rules = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: ro, namespace: NS}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ro, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ro}
subjects: [{kind: ServiceAccount, name: ro, namespace: NS}]
";
    world.server.apply(&rules.replace("NS", &world.namespace));
    world.act_as("ro");
    // The role counts after a moment.
    let error = until("it may read", || {
        let error = world.prune("").unwrap_err();
        error.to_string().contains("c1 delete failed: ").then_some(error)
    });
    let words = error.to_string().replace(&world.namespace, "NS");
    let expected = "delete failed, errors: ConfigMap/NS/c1 delete failed: configmaps \"c1\" is forbidden: User \
        \"system:serviceaccount:NS:ro\" cannot delete resource \"configmaps\" in API group \"\" in the namespace \"NS\";";
    assert_eq!(words, expected);
    assert_eq!(error.survivors, world.inventory.entries);
}

/// Without the right to see an object nothing is known of it, and it stays in the inventory.
#[test]
fn what_cannot_be_seen_survives() {
    let Some(mut world) = World::new() else { return };
    world.apply(&config_map("c1", "{}"));
    world.act_as("nobody");
    // The first time its kind is looked up too.
    world.prune("").unwrap_err();
    let mut error = None;
    let methods = world.methods(|world| error = world.prune("").err());
    let error = error.unwrap();
    let words = error.to_string();
    assert!(
        words.contains("c1 query failed: configmaps \"c1\" is forbidden"),
        "{words}"
    );
    assert_eq!(error.survivors, world.inventory.entries);
    assert_eq!(methods, ["GET"]);
}

/// The deletion is of the object that was looked at: one of the same name that came since may be anybody's.
#[test]
fn an_object_that_is_made_anew_meanwhile_stays() {
    let Some(mut world) = World::new() else { return };
    world.apply(&config_map("c1", "{}"));
    let (server, path) = (world.server, world.path("v1", "ConfigMap", "c1"));
    let another = world.objects(&config_map("c1", "{of: another}"))[0].object.to_string();
    world.after_the_next_look(move || {
        assert_eq!(server.request("DELETE", &path, "", "").status, 200);
        let (folder, _) = path.rsplit_once('/').unwrap();
        assert_eq!(server.request("POST", folder, "", &another).status, 201);
    });
    let error = world.prune("").unwrap_err();
    assert!(error.to_string().contains("c1 delete failed: "), "{error}");
    assert_eq!(world.config_map("c1")["data"]["of"], "another");
}

#[test]
fn an_object_that_somebody_else_deletes_meanwhile_is_gone() {
    let Some(mut world) = World::new() else { return };
    world.apply(&config_map("c1", "{}"));
    let (server, path) = (world.server, world.path("v1", "ConfigMap", "c1"));
    world.after_the_next_look(move || assert_eq!(server.request("DELETE", &path, "", "").status, 200));
    assert_eq!(world.prune("").unwrap(), ["ConfigMap/NS/c1 deleted"]);
}

#[test]
fn deletions_are_waited_for() {
    let Some(mut world) = World::new() else { return };
    world.apply(&config_map("c1", "{}"));
    world.edit("c1", "x", &json!({"metadata": {"finalizers": ["example.com/held"]}}));
    let stale = world.inventory.entries.clone();
    let pruned = world
        .block_on(bumpwright_apply::prune(&world.cluster, stale, &world.settings))
        .unwrap();
    let wait = |timeout| terminated(&world.cluster, &pruned, Duration::from_millis(20), timeout);
    let words = world.block_on(wait(Duration::from_millis(50))).unwrap_err();
    assert_eq!(
        words.to_string().replace(&world.namespace, "NS"),
        "ConfigMap/NS/c1 termination timeout: context deadline exceeded"
    );
    let (server, path) = (world.server, world.path("v1", "ConfigMap", "c1"));
    world.after_the_next_look(move || {
        let answer = server.merge_patch(&path, &json!({"metadata": {"finalizers": []}}));
        assert_eq!(answer.status, 200, "{}", answer.body);
    });
    world.block_on(wait(Duration::from_secs(60))).unwrap();
}
