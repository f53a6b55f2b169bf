//! What an installation consists of, as typed: kinds by the names of their controllers, and webhooks.

use bumpwright_controllers::Kinds;

/// All names that `--components` accepts, besides `all`.
const NAMES: &str = "image-reflector, image-automation, source, helm, kustomize, webhooks";

/// The components of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Components {
    /// The kinds that the process reconciles.
    pub kinds: Kinds,
    /// Whether it listens for webhooks.
    pub webhooks: bool,
}

/// Why these are not components.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::cli) enum ComponentsError {
    #[error("--components: {0:?} is none of {NAMES}; all stands for all but helm and webhooks")]
    Unknown(String),
    #[error("--components: helm needs source, which serves its artifacts")]
    HelmWithoutSources,
    #[error("--components: none is named that reconciles anything; there are {NAMES}")]
    None,
    #[error(
        "--components: Kustomizations need sources: name source as well, or give --beside-flux where Flux's source-controller \
         serves them"
    )]
    NoSources,
}

impl Components {
    /// What `all` stands for, and webhooks.
    pub(in crate::cli) const ALL: Self = Self {
        kinds: Kinds::ALL,
        webhooks: true,
    };

    pub(in crate::cli) const EVERY: Self = Self {
        kinds: Kinds {
            helm: true,
            ..Kinds::ALL
        },
        webhooks: true,
    };

    /// Reads names; those of Flux's controllers are known, too.
    pub(in crate::cli) fn named(names: &[String]) -> Result<Self, ComponentsError> {
        let mut components = Self {
            kinds: Kinds::NONE,
            webhooks: false,
        };
        for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            match name.strip_suffix("-controller").unwrap_or(name) {
                "all" => components.kinds = Kinds::ALL,
                "webhooks" => components.webhooks = true,
                controller if components.kinds.add(controller) => {}
                _ => return Err(ComponentsError::Unknown(name.to_owned())),
            }
        }
        Ok(components)
    }

    /// The same, if an installation of them can work.
    pub(in crate::cli) fn checked(self, beside_flux: bool) -> Result<Self, ComponentsError> {
        match self.kinds {
            Kinds::NONE => Err(ComponentsError::None),
            kinds if kinds.kustomize && !kinds.source && !beside_flux => Err(ComponentsError::NoSources),
            kinds if kinds.helm && !kinds.source => Err(ComponentsError::HelmWithoutSources),
            _ => Ok(self),
        }
    }

    /// Whether any image kind is among them.
    pub(in crate::cli) fn has_images(self) -> bool {
        !self.images().is_empty()
    }

    /// The values of `--controllers` for image kinds.
    pub(super) fn images(self) -> Vec<&'static str> {
        let images = self.controllers().into_iter().filter(|name| name.starts_with("image-"));
        images.filter_map(|name| name.strip_suffix("-controller")).collect()
    }

    /// The names of Flux's controllers that these replace.
    pub(in crate::cli) fn controllers(self) -> Vec<&'static str> {
        let controllers = [
            ("image-reflector-controller", self.kinds.reflector),
            ("image-automation-controller", self.kinds.automation),
            ("source-controller", self.kinds.source),
            ("kustomize-controller", self.kinds.kustomize),
        ];
        controllers
            .into_iter()
            .filter_map(|(name, is_wanted)| is_wanted.then_some(name))
            .collect()
    }
}
