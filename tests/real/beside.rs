//! Flux's controllers and ours, started for the same objects, and their words in a form that is comparable: without
//! times, hashes, ports and namespaces.

use bumpwright_re2::{Budget, Regexp};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::world::World;

/// Whose controllers reconcile a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Flux,
    Ours,
}

/// Flux's controllers of the kinds that we serve too.
const OF_FLUX: [&str; 4] = [
    "source-controller",
    "kustomize-controller",
    "image-reflector-controller",
    "image-automation-controller",
];

/// Only the namespace of the world.
pub const ALONE: &str = "--watch-all-namespaces=false";

impl Side {
    /// The Deployments of its controllers, in their order.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Flux => &OF_FLUX,
            Self::Ours => &["bumpwright"],
        }
    }

    /// Starts its controllers of all kinds for the namespace of a world, which send events to this address. None
    /// where one is missing.
    pub fn controllers(self, world: &World<'_>, events: &str) -> Option<Vec<Controller>> {
        let address = format!("127.0.0.1:{}", free_port());
        let served = ["--storage-addr", "--storage-adv-addr"].map(|flag| format!("{flag}={address}"));
        let flags = [
            "--requeue-dependency=1s".to_owned(),
            format!("--events-addr={events}"),
            "--feature-gates=ExternalArtifact=true".to_owned(),
        ];
        if self == Self::Ours {
            let all = "--controllers=source,kustomize,image-reflector,image-automation";
            let (kubeconfig, folder) = (world.cluster.kubeconfig(), world.folder_of("ours"));
            // With the pauses between retries that Flux's have, too.
            let starter = Controller::ours(&kubeconfig, &world.namespace, &folder).flags(&[ALONE, all]);
            return Some(vec![starter.flags(&served).flags(&flags).start()]);
        }
        let start = |name: &&str| {
            let folder = world.folder_of(name);
            std::fs::create_dir_all(folder.join("data")).unwrap();
            let starter = Controller::of_flux(name, &world.cluster.kubeconfig(), &world.namespace, &folder)?;
            let starter = starter.flags(&[ALONE, &flags[1]]);
            let storage = format!("--storage-path={}", folder.join("data").display());
            let starter = match *name {
                "source-controller" => starter.flags(&served).flags(&[&storage, &flags[0]]),
                "kustomize-controller" => starter.flags(&[&flags[0], &flags[2]]),
                "image-reflector-controller" => starter.flags(&[&storage]),
                _ => starter,
            };
            Some(starter.start())
        };
        OF_FLUX.iter().map(start).collect()
    }
}

/// Applies definitions out of a folder of the tools: those whose file names begin so. None where the folder is missing.
pub fn define(cluster: &Cluster, folder: &str, beginnings: &[&str]) -> Option<()> {
    let folder = bumpwright_testkit::tool(folder)?;
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if beginnings.iter().any(|beginning| name.starts_with(beginning)) {
            cluster.apply(&std::fs::read_to_string(file).unwrap());
        }
    }
    Some(())
}

/// What differs from side to side and from run to run, and what stands for it.
const ANYWHERE: [(&str, &str); 8] = [
    (
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d| [+-]\d{4} [A-Z]+)",
        "TIME",
    ),
    (r"(localhost|127\.0\.0\.1):\d+", "HOST"),
    (r"(sha1|sha256):[0-9a-f]{7,64}", "${1}:HASH"),
    (r"\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b", "HASH"),
    (r"'[0-9a-f]{7}'", "'HASH'"),
    // How often an event was repeated.
    (r" \(x\d+ over [^)]*\)", ""),
    (r"\b(\d+h)?((\d+m)?\d+(\.\d+)?(ms|µs|ns|s)|\d+m)\b", "SPAN"),
    (r"/tmp/[^ :']*", "FOLDER"),
];

/// Texts of the controllers of a namespace, comparable.
pub struct Comparable {
    rules: Vec<(Regexp, String)>,
}

impl Comparable {
    /// With further rules, which come first.
    pub fn new(namespace: &str, more: &[(&str, &str)]) -> Self {
        let namespace = (format!(r"\b{namespace}\b"), "NAMESPACE".to_owned());
        let owned = |(pattern, by): &(&str, &str)| ((*pattern).to_owned(), (*by).to_owned());
        let rules = more
            .iter()
            .map(owned)
            .chain([namespace])
            .chain(ANYWHERE.iter().map(owned));
        Self {
            rules: rules.map(|(pattern, by)| (Regexp::new(pattern).unwrap(), by)).collect(),
        }
    }

    pub fn text(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        for (pattern, by) in &self.rules {
            let mut budget = Budget::new(1 << 32, 1 << 28);
            bytes = pattern.replace_all(&bytes, by.as_bytes(), &mut budget).unwrap();
        }
        String::from_utf8(bytes).unwrap()
    }
}
