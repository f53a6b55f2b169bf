//! Who applies the Kustomizations beside our image controllers: a story is played with both.

use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::tool;
use bumpwright_testkit::world::World;

/// Who reconciles the Kustomizations.
#[derive(Clone, Copy, PartialEq)]
pub enum Applier {
    Ours,
    /// Flux's kustomize-controller.
    Flux,
}

impl Applier {
    /// Whether its program is there.
    pub fn is_there(self) -> bool {
        self == Self::Ours || tool("kustomize-controller").is_some()
    }

    /// The flag for a controller of ours with these kinds, and with Kustomizations unless Flux's has them.
    pub fn kinds(self, others: &str) -> String {
        match self {
            Self::Ours => format!("--controllers=kustomize,{others}"),
            Self::Flux => format!("--controllers={others}"),
        }
    }

    /// Starts Flux's controller for a namespace, unless ours applies there.
    pub fn start(self, world: &World<'_>) -> Option<Controller> {
        if self == Self::Ours {
            return None;
        }
        let folder = world.folder_of("flux");
        let kubeconfig = world.cluster.kubeconfig();
        let starter = Controller::of_flux("kustomize-controller", &kubeconfig, &world.namespace, &folder)?;
        let flags = [
            "--watch-all-namespaces=false",
            "--events-addr=",
            "--requeue-dependency=1s",
        ];
        Some(starter.flags(&flags).start())
    }
}
