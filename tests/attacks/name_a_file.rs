//! Files of the controller's machine in place of addresses, in a cluster whose definitions accept everything:
//! the refusal must not depend on the patterns of installed definitions.

use serde_json::{Value as Json, json};

use crate::siege::siege;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::kustomize_world::map;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::world::{
    AUTOMATION, BUCKET, GIT_REPOSITORY, KUSTOMIZATION, OCI_REPOSITORY, SECRET, World, automation, git_repository,
};

/// Removes all patterns, rules and enumerations from a definition's schema.
fn loosen(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            // Fields of these names would be objects.
            fields.retain(|name, value| {
                !matches!(name.as_str(), "pattern" | "enum" | "x-kubernetes-validations") || value.is_object()
            });
            fields.values_mut().for_each(loosen);
        }
        Json::Array(values) => values.iter_mut().for_each(loosen),
        _ => {}
    }
}

/// A cluster of its own whose definitions check hardly anything.
fn loose() -> Option<Cluster> {
    let cluster = Cluster::start()?;
    cluster.define();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let mut definition: Json = serde_saphyr::from_str(&text).unwrap();
        loosen(&mut definition["spec"]);
        cluster.apply(&definition.to_string());
    }
    Some(cluster)
}

/// A repository of this machine that does not belong to the tenant.
fn private(world: &World<'_>) -> Repo {
    let repo = Repo::init(world.folder.path().join("private.git"));
    let file = format!(
        "image: ghcr.io/o/app:1.0.0 # {{\"$imagepolicy\": \"{}:app\"}}\n",
        world.namespace
    );
    repo.commit(
        "main",
        "first",
        &[
            Change::File("a.yaml", file.as_bytes()),
            Change::File("map.yaml", map("stolen", "hunter2").as_bytes()),
        ],
    );
    repo
}

/// `file://`, a path, or the like in each field with an address: the repository of a source and of
/// an automation, a submodule, a base, a bucket, an artifact, a kubeconfig.
#[test]
fn where_an_address_is_asked_for() {
    let Some(siege) = siege() else { return };
    let Some(cluster) = loose() else { return };
    let world = World::new(&cluster, "mallory-files");
    let secret = private(&world);
    let path = world.folder.path().join("private.git").display().to_string();
    let address = format!("127.0.0.1:{}", free_port());
    let controller = world.controller(&[
        "--controllers=source,kustomize,image-automation",
        &format!("--storage-addr={address}"),
        &format!("--storage-adv-addr={address}"),
    ]);
    add_choice(&world, "app", "2.0.0");
    let urls = [
        format!("file://{path}"),
        path.clone(),
        format!(" {path}"),
        format!("FILE://{path}"),
    ];
    for (i, url) in urls.iter().enumerate() {
        let name = format!("url-{i}");
        world.add(GIT_REPOSITORY, &name, git_repository(url));
        world.add(AUTOMATION, &name, automation(&name));
    }
    for i in 0..urls.len() {
        let name = format!("url-{i}");
        let liked = |_: &str, said: &str| !said.is_empty() && !said.contains("hunter2");
        world.ready(GIT_REPOSITORY, &name, "False", liked);
        world.ready(AUTOMATION, &name, "False", |_, said| {
            said.contains("none of http://, https:// and ssh://")
        });
    }
    assert_eq!(secret.log("main").len(), 1, "nothing is pushed");

    // A repository of the tenant's own that leads there: by a submodule, by a base.
    let own = world.repository("own.git");
    let modules = format!("[submodule \"m\"]\n\tpath = m\n\turl = file://{path}\n");
    own.commit(
        "main",
        "first",
        &[
            Change::File(".gitmodules", modules.as_bytes()),
            Change::File(
                "kustomization.yaml",
                format!("resources: ['git::file://{path}?ref=main']\n").as_bytes(),
            ),
        ],
    );
    world.add(GIT_REPOSITORY, "own", git_repository(&world.git.url("own.git")));
    world.ready(GIT_REPOSITORY, "own", "True", |_, _| true);
    let kustomization = json!({"interval": "1h", "retryInterval": "1s", "path": "./", "prune": true,
        "sourceRef": {"kind": "GitRepository", "name": "own"}, "targetNamespace": world.namespace});
    world.add(KUSTOMIZATION, "base", kustomization.clone());
    world.ready(KUSTOMIZATION, "base", "False", |why, said| {
        why == "BuildFailed" && !said.contains("hunter2")
    });
    let mut above = kustomization.clone();
    above["path"] = json!("../../../../../../../etc");
    world.add(KUSTOMIZATION, "above", above);
    world.ready(KUSTOMIZATION, "above", "False", |_, said| !said.is_empty());

    // A kubeconfig with files and programs of the machine.
    for (name, user) in [
        ("token", json!({"tokenFile": "/etc/hostname"})),
        (
            "key",
            json!({"client-certificate": "/etc/hostname", "client-key": "/etc/hostname"}),
        ),
    ] {
        let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": format!("https://{address}")}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": user}]});
        world.put(SECRET, name, json!({"stringData": {"value": kubeconfig.to_string()}}));
        let plain = world.repository(&format!("{name}.git"));
        plain.commit("main", "first", &[Change::File("map.yaml", map(name, "1").as_bytes())]);
        world.add(
            GIT_REPOSITORY,
            name,
            git_repository(&world.git.url(&format!("{name}.git"))),
        );
        let mut spec = kustomization.clone();
        spec["sourceRef"]["name"] = json!(name);
        spec["kubeConfig"] = json!({"secretRef": {"name": name}});
        world.add(KUSTOMIZATION, name, spec);
        world.ready(KUSTOMIZATION, name, "False", |_, said| {
            said.contains("only an inline token") || said.contains("only client-")
        });
    }

    // Stores and registries.
    world.add(
        BUCKET,
        "s3",
        json!({"interval": "1h", "bucketName": "b", "endpoint": format!("file://{path}")}),
    );
    world.add(
        BUCKET,
        "azure",
        json!({"interval": "1h", "provider": "azure", "bucketName": "b", "endpoint": format!("file://{path}")}),
    );
    world.add(
        OCI_REPOSITORY,
        "file",
        json!({"interval": "1h", "url": format!("file://{path}")}),
    );
    for (kind, name) in [(BUCKET, "s3"), (BUCKET, "azure"), (OCI_REPOSITORY, "file")] {
        world.ready(kind, name, "False", |_, said| {
            !said.is_empty() && !said.contains("hunter2")
        });
    }

    // A submodule that is wanted.
    let mut spec = git_repository(&world.git.url("own.git"));
    spec["recurseSubmodules"] = json!(true);
    let commit = secret.rev("main").unwrap();
    own.commit("main", "second", &[Change::Submodule("m", &commit)]);
    world.add(GIT_REPOSITORY, "modules", spec);
    world.ready(GIT_REPOSITORY, "modules", "False", |_, said| {
        said.contains("submodules must be at http://")
    });
    assert!(!controller.log().contains("hunter2"));
    siege.stands();
}
