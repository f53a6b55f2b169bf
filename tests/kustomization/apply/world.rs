//! A Kustomization's objects in a namespace of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bumpwright_api::ObjectName;
use bumpwright_apply::{
    Applied, ChangeSet, Desired, Failed, Inventory, InventoryStore, Memory, PruneError, Settings, StoreError, apply,
    prune,
};
use bumpwright_kube::{Cluster, Connect};
use futures::future::{BoxFuture, FutureExt as _};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use bumpwright_testkit::apiserver::Cluster as Server;

/// Inventories as they were written down, and whether that can be done.
#[derive(Default)]
pub struct Kept {
    pub inventories: Mutex<Vec<Inventory>>,
    pub fails: bool,
}

impl InventoryStore for Kept {
    fn store<'a>(&'a self, inventory: &'a Inventory) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            self.inventories.lock().push(inventory.clone());
            if self.fails { Err("no room".into()) } else { Ok(()) }
        }
        .boxed()
    }
}

/// The server's answers to the client, and what happens after the next one to a GET.
#[derive(Default)]
struct Answers {
    methods: Mutex<Vec<String>>,
    then: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Answers {
    fn came(&self, method: &str) {
        self.methods.lock().push(method.to_owned());
        let then = match method {
            "GET" => self.then.lock().take(),
            _ => None,
        };
        if let Some(act) = then {
            act();
        }
    }
}

/// A Kustomization `apps` and the objects that it applies.
pub struct World {
    pub server: &'static Server,
    pub namespace: String,
    pub cluster: Cluster,
    pub settings: Settings,
    pub inventory: Inventory,
    pub memory: Memory,
    pub kept: Kept,
    answers: Arc<Answers>,
    runtime: tokio::runtime::Runtime,
}

impl World {
    /// None when there is no API server to be had.
    pub fn new() -> Option<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let server = Server::shared()?;
        let namespace = format!("apply-{}", NUMBER.fetch_add(1, Ordering::SeqCst));
        server.apply(&format!(
            "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {namespace}\n"
        ));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let answers = Arc::default();
        let cluster = runtime.block_on(connect(server, &answers));
        Some(Self {
            server,
            settings: Settings::new(ObjectName::new(&namespace, "apps")),
            namespace,
            cluster,
            inventory: Inventory::default(),
            memory: Memory::default(),
            kept: Kept::default(),
            answers,
            runtime,
        })
    }

    /// Goes on with a client that has not seen anything of the server.
    pub fn connect(&mut self) {
        self.cluster = self.runtime.block_on(connect(self.server, &self.answers));
    }

    /// Goes on with the rights of a ServiceAccount of the namespace.
    pub fn act_as(&mut self, name: &str) {
        let account = ObjectName::new(&self.namespace, name);
        self.cluster = self.block_on(async { self.cluster.as_account(&account) }).unwrap();
    }

    /// The documents of a text in which `NS` stands for the namespace.
    pub fn objects(&self, yaml: &str) -> Vec<Desired> {
        let yaml = yaml.replace("NS", &self.namespace);
        let objects: Vec<Json> = serde_saphyr::from_multiple(&yaml).unwrap();
        let desired = objects.into_iter().map(|object| Desired { object, origin: None });
        desired.collect()
    }

    pub fn try_apply_objects(&mut self, objects: Vec<Desired>) -> Result<Applied, Failed> {
        let (memory, keep) = ((&mut self.memory, Instant::now()), &self.kept);
        let apply = apply(&self.cluster, objects, &self.settings, &self.inventory, memory, keep);
        // As a controller does it: on a thread that may change in the middle.
        fn sendable<T: Send>(future: T) -> T {
            future
        }
        let applied = self.runtime.block_on(sendable(apply));
        self.inventory = match &applied {
            Ok(applied) => Inventory::of_changes(&applied.changes),
            Err(failed) => failed.inventory.clone(),
        };
        applied
    }

    pub fn try_apply(&mut self, yaml: &str) -> Result<Applied, Failed> {
        self.try_apply_objects(self.objects(yaml))
    }

    /// Applies, and gives a line for each object without the namespace.
    pub fn apply(&mut self, yaml: &str) -> Vec<String> {
        let applied = self.try_apply(yaml).unwrap_or_else(|failed| panic!("{failed}"));
        self.lines(&applied.changes)
    }

    /// Fails to apply; the words, without the namespace.
    pub fn refused(&mut self, yaml: &str) -> String {
        let failed = self.try_apply(yaml).expect_err("it is refused");
        failed.to_string().replace(&self.namespace, "NS")
    }

    pub fn prune(&mut self, wanted: &str) -> Result<Vec<String>, PruneError> {
        let entries = self.objects(wanted).into_iter().map(|desired| bumpwright_apply::Entry {
            id: bumpwright_api::ObjectId::of(&desired.object),
            version: "v1".to_owned(),
        });
        let stale = self.inventory.without(&Inventory {
            entries: entries.collect(),
        });
        let pruned = self.runtime.block_on(prune(&self.cluster, stale, &self.settings))?;
        Ok(self.lines(&pruned))
    }

    pub fn lines(&self, changes: &ChangeSet) -> Vec<String> {
        let lines = changes.changes.iter().map(ToString::to_string);
        lines.map(|line| line.replace(&self.namespace, "NS")).collect()
    }

    /// What is done costs so many requests.
    pub fn requests(&mut self, act: impl FnOnce(&mut Self)) -> usize {
        self.methods(act).len()
    }

    /// The methods of the requests that are made meanwhile, in the order of their answers.
    pub fn methods(&mut self, act: impl FnOnce(&mut Self)) -> Vec<String> {
        let before = self.answers.methods.lock().len();
        act(self);
        self.answers.methods.lock().split_off(before)
    }

    /// Somebody else's deed, right after the server has answered the client's next GET.
    pub fn after_the_next_look(&self, act: impl FnOnce() + Send + 'static) {
        *self.answers.then.lock() = Some(Box::new(act));
    }

    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub fn path(&self, api_version: &str, kind: &str, name: &str) -> String {
        self.server.path_of(&json!({"apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": self.namespace}}))
    }

    pub fn config_map(&self, name: &str) -> Json {
        self.server.get(&self.path("v1", "ConfigMap", name))
    }

    pub fn deployment(&self, name: &str) -> Json {
        self.server.get(&self.path("apps/v1", "Deployment", name))
    }

    pub fn get(&self, api_version: &str, kind: &str, name: &str) -> Json {
        self.server.get(&self.path(api_version, kind, name))
    }

    pub fn is_there(&self, api_version: &str, kind: &str, name: &str) -> bool {
        let path = self.path(api_version, kind, name);
        self.server.request("GET", &path, "", "").status == 200
    }

    /// Changes a ConfigMap as somebody else, by a merge patch.
    pub fn edit(&self, name: &str, manager: &str, patch: &Json) {
        let path = format!("{}?fieldManager={manager}", self.path("v1", "ConfigMap", name));
        let answer = self.server.merge_patch(&path, patch);
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    /// Applies a manifest server-side as somebody else.
    pub fn apply_as(&self, manager: &str, yaml: &str) {
        for desired in self.objects(yaml) {
            let path = self.server.path_of(&desired.object);
            let path = format!("{path}?fieldManager={manager}&force=true");
            let body = desired.object.to_string();
            let answer = self
                .server
                .request("PATCH", &path, "application/apply-patch+yaml", &body);
            assert!(matches!(answer.status, 200 | 201), "{}", answer.body);
        }
    }
}

async fn connect(server: &Server, answers: &Arc<Answers>) -> Cluster {
    let answers = Arc::clone(answers);
    let told = Arc::new(move |_: &str, _: &str, method: &str| answers.came(method));
    let connect = Connect {
        kubeconfig: Some(server.kubeconfig()),
        ..Connect::default()
    };
    Cluster::connect(&connect, told).await.unwrap()
}

/// A ConfigMap with some data, in the namespace of the test.
pub fn config_map(name: &str, data: &str) -> String {
    format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: NS\ndata: {data}\n")
}

/// Managers of an object and what they did.
pub fn managers(object: &Json) -> Vec<String> {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let text = |entry: &Json, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    entries
        .iter()
        .map(|entry| format!("{} {}", text(entry, "manager"), text(entry, "operation")))
        .collect()
}
